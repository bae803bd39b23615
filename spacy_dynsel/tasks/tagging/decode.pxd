from ...core.program cimport ProgramC

cdef enum:
    REACH_C = 3


cdef bint is_first_stage_free(const ProgramC* program) noexcept nogil
cdef bint looks_ahead(const ProgramC* program) noexcept nogil
cdef int check_program(const ProgramC* program) except -1
