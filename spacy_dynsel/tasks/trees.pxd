cdef enum:
    # Kinds of trees.
    PROJECTIVE
    CROSSING
    CYCLIC

cdef int classify(const int* heads, int n) noexcept nogil
