from ...core.program cimport ContextC, LexemeRecC
from ...core.typedefs cimport score_t, uint16_t
from .actions cimport KEEP_C, mirror
from .scratch cimport Scratch
from .task cimport ACTION, TaskC


cdef inline void act(
    const TaskC* task, Scratch* s, int step, int action
) noexcept nogil:
    """Note the action of a step."""
    s.actions[step] = action
    s.dynamic[s.positions[step] * task.n_dynamic + ACTION] = action + 1
    if action > 0 and task.remembers:
        s.stats[s.words[step]].n_entities += 1


cdef inline void add_support(
    const TaskC* task, uint16_t action, score_t support, score_t* scores
) noexcept nogil:
    """Add to the score of the action that a first pass has chosen."""
    if action != KEEP_C:
        scores[mirror(action) if task.backwards else action] += support


cdef void prepare_counts(const TaskC* task, Scratch* s) noexcept nogil
cdef void drop_spaces(Scratch* s, int n_words) noexcept nogil
cdef void arrange(
    const TaskC* task,
    Scratch* s,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
    bint alone,
) noexcept nogil
cdef void look(
    const TaskC* task, Scratch* s, int step, LexemeRecC* absent, LexemeRecC** places,
    ContextC* context,
) noexcept nogil
