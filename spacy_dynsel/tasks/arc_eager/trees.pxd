cdef enum:
    # Kinds of trees.
    PROJECTIVE
    CROSSING
    CYCLIC

cdef enum:
    # The numbers for each token that classify needs room for.
    CLASSIFY_ROOM = 5

cdef int classify(const int* heads, int n, int* room) noexcept nogil
