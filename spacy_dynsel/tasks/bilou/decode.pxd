from ...core.typedefs cimport score_t, uint16_t
from .actions cimport KEEP_C, mirror
from .task cimport TaskC


cdef int check_first(
    const TaskC* task, const uint16_t[::1] actions, const score_t[::1] support, size_t n
) except -1


cdef inline void add_support(
    const TaskC* task, uint16_t action, score_t support, score_t* scores
) noexcept nogil:
    """Add to the score of the action that a first pass has chosen."""
    if action != KEEP_C:
        scores[mirror(action) if task.backwards else action] += support
