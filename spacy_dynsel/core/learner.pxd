from libc.math cimport INFINITY
from libcpp.vector cimport vector

from .label_parts cimport LabelParts, PartsC
from .program cimport ContextC, Program
from .typedefs cimport feat_t, uint8_t, uint64_t
from .weight_table cimport EntryC, WeightTable


cdef enum Objective:
    ALL_PREFIXES = 0
    FIRST_SATISFIED = 1
    FULL = 2


cdef enum Optimizer:
    ADAGRAD = 0
    RDA = 1


cdef enum Cost:
    CORRECT = 0
    WRONG = 1
    INVALID = 2


cdef inline void find_best(
    const float* scores, const uint8_t* costs, int n_labels, int* good, int* bad
) noexcept nogil:
    """The best correct and the best wrong label, or -1; ties go to the lower one."""
    cdef float best_good = -INFINITY
    cdef float best_bad = -INFINITY
    cdef int label
    good[0] = -1
    bad[0] = -1
    for label in range(n_labels):
        if costs[label] == WRONG:
            if scores[label] > best_bad:
                best_bad = scores[label]
                bad[0] = label
        elif costs[label] == CORRECT:
            if scores[label] > best_good:
                best_good = scores[label]
                good[0] = label


cdef inline void find_best_left(
    const float* scores,
    const uint8_t* costs,
    const int* labels,
    int n,
    int* good,
    int* bad,
) noexcept nogil:
    """The same among some labels, in their order."""
    cdef float best_good = -INFINITY
    cdef float best_bad = -INFINITY
    cdef int i, label
    good[0] = -1
    bad[0] = -1
    for i in range(n):
        label = labels[i]
        if costs[label] == WRONG:
            if scores[label] > best_bad:
                best_bad = scores[label]
                bad[0] = label
        elif costs[label] == CORRECT and scores[label] > best_good:
            best_good = scores[label]
            good[0] = label


cdef struct FeatureC:
    feat_t key
    int template             # its rank; -1 for a pair
    int stage                # the first of the prefixes that contain it
    int n_outputs            # those that it can have weights for
    EntryC* row              # its weights


cdef struct MoveC:
    # The gradient of a label's score after a stage.
    int stage
    int label
    float gradient


cdef struct StepC:
    int guess                # the best valid label, by the last prefix looked at
    int best_correct         # the best correct one, or -1
    int best_wrong           # the best wrong one, or -1
    float loss


cdef class Learner:
    cdef readonly Program program
    cdef readonly int n_labels
    cdef readonly LabelParts parts    # None if labels are wholes only
    cdef PartsC c_parts
    cdef int n_outputs
    cdef vector[int] reach            # by template: the outputs that it has weights for
    cdef int objective
    cdef int optimizer
    cdef float eta
    cdef float delta
    cdef float l1
    cdef float l2
    cdef int cutoff
    cdef uint64_t random_state
    cdef uint64_t n_steps
    cdef bint corrects       # see _correct
    cdef float largest       # the size that corrected weights can have
    cdef vector[float] margins
    cdef WeightTable table
    # Of one decision: its features in the order of their stages, the scores of the first
    # n_scored of them, and where these have to move.
    cdef vector[FeatureC] features
    cdef int n_features
    cdef int n_scored
    cdef vector[float] scores         # by label
    cdef vector[float] sums           # by output, if labels have parts
    cdef vector[int] left             # the labels that can still win, if they have parts
    cdef vector[int] all_labels       # the same before a decision
    cdef vector[MoveC] moves
    cdef vector[float] gradient
    cdef vector[uint8_t] is_touched
    cdef vector[int] touched
    cdef uint64_t row_stamp           # counts the rows that moved,
    cdef vector[uint64_t] stamps      # and says by output which was the last

    cdef int count(self, const ContextC* context) except -1 nogil
    cdef int step(
        self, const ContextC* context, const uint8_t* costs, float drop, StepC* result
    ) except -1 nogil
    cdef int guess(self, const ContextC* context, const uint8_t* costs) noexcept nogil
    cdef int guess_early(
        self, const ContextC* context, const uint8_t* costs, int n_templates
    ) noexcept nogil
    cdef float random(self) noexcept nogil
    cdef int end_sequence(self, bint is_last) except -1 nogil

    # The parts of a step.
    cdef void gather(self, const ContextC* context, int n_templates) noexcept nogil
    cdef void hide(self, const ContextC* context, float drop) noexcept nogil
    cdef int claim_rows(self) except -1 nogil
    cdef void score(self, int stage) noexcept nogil
    cdef int add_gradient(self, int stage, int label, float gradient) except -1 nogil
    cdef int apply_gradient(self) except -1 nogil

    cdef int _resize(self, int n_labels) except -1
    cdef void _find_rows(self, bint counts) noexcept nogil
    cdef void _expand(self) noexcept nogil
    cdef int _end_step(self, const StepC* result) except -1 nogil
    cdef int _move_row(self, FeatureC* feature) except -1 nogil
    cdef void _move_weight(self, float* value, float* squares, float g) noexcept nogil
    cdef int _touch(self, size_t first, size_t end) except -1 nogil
    cdef int _touch_label(self, int label, float gradient) except -1 nogil
    cdef int _touch_output(self, int output, float gradient) except -1 nogil
    cdef void _clear_touched(self) noexcept nogil
    cdef void _combine(self) noexcept nogil
    cdef void _rule_out(self, const uint8_t* costs, float limit) noexcept nogil
    cdef int _find_moves(self, const uint8_t* costs, StepC* result) except -1 nogil
    cdef int _correct(self, const uint8_t* costs, StepC* result) except -1 nogil
    cdef int _raise_lead(self, int good, int bad, float missing) except -1 nogil
    cdef int _change(self, EntryC* row, int output, float change) except -1 nogil
    cdef float _value(self, float value, float squares) noexcept nogil
