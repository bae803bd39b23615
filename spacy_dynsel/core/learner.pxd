from libcpp.vector cimport vector

from .program cimport ContextC, Program, ProgramC
from .typedefs cimport feat_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "pages.hpp" namespace "dynsel" nogil:
    cdef cppclass LargePages[T]:
        pass


cdef enum Cost:
    CORRECT = 0
    WRONG = 1
    INVALID = 2


cdef struct WeightC:
    float value              # the weight (adagrad) or its summed gradient (rda)
    float squares            # the summed squares of its gradients
    uint32_t label


cdef struct EntryC:
    feat_t key
    uint32_t start           # into the pool of weights; without any, how often it was seen
    uint16_t n               # the number of its weights
    uint16_t kind            # see learner.pyx


cdef struct StepC:
    int guess                # the best valid label, by the last prefix looked at
    int best_correct         # the best correct one, or -1
    float loss


cdef class Learner:
    cdef readonly Program program
    cdef readonly int n_labels
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
    cdef vector[EntryC, LargePages[EntryC]] entries
    cdef size_t n_entries
    cdef vector[WeightC, LargePages[WeightC]] weights
    cdef vector[vector[uint32_t]] free_blocks
    # Scratch of one step
    cdef vector[float] scores
    cdef vector[float] gradient
    cdef vector[int] touched
    cdef vector[EntryC*] active      # the rows of a decision's features, or NULL
    cdef vector[feat_t] keys
    cdef vector[int] good
    cdef vector[int] bad

    cdef int count(self, const ContextC* context) except -1 nogil
    cdef int step(
        self, const ContextC* context, const uint8_t* costs, float drop, StepC* result
    ) except -1 nogil
    cdef int guess(self, const ContextC* context, const uint8_t* costs) noexcept nogil
    cdef int guess_early(
        self, const ContextC* context, const uint8_t* costs, int n_templates
    ) noexcept nogil
    cdef float random(self) noexcept nogil

    cdef int _activate(self, const ContextC* context, float drop) except -1 nogil
    cdef void _find_best(self, const uint8_t* costs, int* good, int* bad) noexcept nogil
    cdef int _correct(self, const uint8_t* costs, StepC* result) except -1 nogil
    cdef int _move(self, int n_templates, int good, int bad, float missing) except -1 nogil
    cdef int _change(self, EntryC* entry, int label, float change) except -1 nogil
    cdef EntryC* _see(self, feat_t key) noexcept nogil
    cdef EntryC* _find_row(self, feat_t key) noexcept nogil
    cdef EntryC* _claim_row(self, feat_t key) noexcept nogil
    cdef size_t _find_place(self, feat_t key) noexcept nogil
    cdef int _make_room(self, size_t n) except -1 nogil
    cdef int _grow(self, size_t size) except -1 nogil
    cdef WeightC* _find_weight(self, EntryC* entry, int label) except NULL nogil
    cdef int _move_row(self, EntryC* entry) except -1 nogil
    cdef void _add_scores(self, const EntryC* entry) noexcept nogil
    cdef float _value(self, const WeightC* weight) noexcept nogil
