from ...core.program cimport ContextC, LexemeRecC
from .scratch cimport Scratch
from .task cimport TaskC


cdef void gather_words(const TaskC* task, Scratch* s) noexcept nogil
cdef void find_places(
    const TaskC* task, Scratch* s, int step, LexemeRecC* absent, LexemeRecC** places
) noexcept nogil
cdef void look(
    const TaskC* task,
    Scratch* s,
    int step,
    LexemeRecC* absent,
    LexemeRecC** places,
    ContextC* context,
) noexcept nogil
