from libcpp.vector cimport vector


cdef class ScriptSet:
    cdef readonly tuple labels
    cdef list _scripts       # by label
    cdef dict _lower         # labels by the ending that they replace, for forms in lower
    cdef dict _exact         # case, and for forms as they are
    cdef dict _whole_lower   # by the whole form
    cdef dict _whole_exact
    cdef int _longest        # of the endings

    cdef int find(self, str form, vector[int]& found) except -1
    cdef int _add_candidates(
        self, str form, str base, dict endings, dict whole, vector[int]& found
    ) except -1
    cpdef str apply(self, int label, str form)
