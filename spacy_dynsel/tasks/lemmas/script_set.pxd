from libcpp.vector cimport vector


cdef struct PieceC:
    # A text among the characters of a set.
    int first
    int length


cdef struct InnerC:
    PieceC old
    PieceC new
    bint everywhere


cdef struct ScriptC:
    # As much of a script as says where it applies.
    int case
    bint is_whole
    PieceC prefix            # the old ones
    PieceC suffix
    int first_inner
    int end_inner
    bint has_new             # whether something comes at one of the ends


cdef class ScriptSet:
    cdef readonly tuple labels
    cdef list _scripts       # by label
    cdef vector[ScriptC] _checks
    cdef vector[InnerC] _inner
    cdef vector[Py_UCS4] _characters

    cdef int find(self, str form, vector[int]& found) except -1
    cdef PieceC _keep(self, str text) except *
    cdef bint _fits(
        self, const ScriptC* script, const Py_UCS4* base, int length,
        vector[Py_UCS4]& stem,
    ) except -1 nogil
    cdef bint _replace(self, const InnerC* change, vector[Py_UCS4]& stem) except -1 nogil
    cpdef str apply(self, int label, str form)
