"""Learning which links make trees, and what their labels are."""
from libc.stdint cimport int32_t, int64_t

from ...core.learner cimport Learner
from ...core.link_learner cimport LinkLearner
from ...core.vectors cimport bare_vector
from ..arc_eager.features cimport Features
from ..arc_eager.train cimport TransitionExamples
from .model cimport LinkModel
from .search cimport LinkModelC, LinkWork

# What moves by less is left alone.
cdef double LEAST_GRADIENT


cdef class LinkExamples(TransitionExamples):
    cdef LinkWork work
    cdef LinkModelC model
    cdef LinkModel model_places              # what notes where gold links stand
    cdef LinkLearner filter_learner
    cdef LinkLearner learner
    cdef bare_vector[int32_t] gold_heads     # of the tree to learn
    cdef bare_vector[int] gold_siblings
    cdef bare_vector[int] siblings
    cdef bare_vector[int] room
    cdef bare_vector[double] shares
    cdef bint has_tree                       # whether there is one
    cdef float cost
    cdef int n_wrong

    cdef int _check_model(
        self, LinkModel model, Features labels, Learner learner
    ) except -1
    cdef bint take_gold(self) noexcept nogil
    cdef void order_gold(self) noexcept nogil
    cdef void start_gold(self) noexcept nogil
    cdef void parse(self) noexcept nogil
    cdef int get_gold(self, int child) noexcept nogil
    cdef void find_gold_links(self) noexcept nogil
    cdef void add_costs(self, int64_t right, int64_t wrong) noexcept nogil
    cdef void learn_tree(self) noexcept nogil
    cdef void move(self, const int32_t* heads, int i, float g) noexcept nogil
    cdef void move_sibling(
        self, const int* siblings, const int32_t* heads, int i, float g
    ) noexcept nogil
    cdef void move_trees(self) noexcept nogil
    cdef void teach_filter(self) noexcept nogil
    cdef double _teach_labels(
        self, Features labels, Learner learner, float drop, float exploration
    ) except? -1 nogil
    cdef int _guess_labels(self, Features labels, Learner learner) except -1 nogil
