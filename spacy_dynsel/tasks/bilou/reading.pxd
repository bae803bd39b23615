from libc.stdint cimport int32_t

from ...core.program cimport LexemeRecC
from ...core.typedefs cimport uint16_t
from ...spacy_io.tokens cimport SequenceC
from .scratch cimport Scratch
from .task cimport ACTION, TaskC


cdef void prepare_counts(const TaskC* task, Scratch* s) noexcept nogil
cdef void drop_spaces(Scratch* s, int n_words) noexcept nogil
cdef void fill_spaces(
    const TaskC* task, Scratch* s, const SequenceC* doc, uint16_t* actions, int32_t* leads
) noexcept nogil
cdef void arrange(
    const TaskC* task,
    Scratch* s,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
) noexcept nogil


cdef inline void act(
    const TaskC* task, Scratch* s, int step, int action
) noexcept nogil:
    """Note the action of a step."""
    s.actions[step] = action
    s.dynamic[s.positions[step] * task.n_dynamic + ACTION] = action + 1
    if action > 0 and task.remembers:
        s.stats[s.words[step]].n_entities += 1
