"""Docs with their gold trees."""
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from ...core.learner cimport Learner
from ...core.typedefs cimport uint8_t
from ...spacy_io.tokens cimport ParseTokenC
from ..examples cimport Examples
from .features cimport Features, TagMap
from .system cimport GoldTree, LoggedC, SentenceC


cdef class TransitionExamples(Examples):
    cdef vector[ParseTokenC] tokens
    cdef vector[int] ends             # of sentences
    cdef vector[int] docs_of          # the first token of a sentence's doc
    cdef const int32_t[::1] heads
    cdef const int32_t[::1] labels
    cdef int highest                  # of the labels
    cdef TagMap tags
    # Of one sentence
    cdef SentenceC sentence
    cdef SentenceC branch
    cdef vector[uint8_t] all_labels
    cdef vector[int] local_labels     # or NONE
    cdef vector[int] local_of
    cdef GoldTree gold

    cdef int _check_sizes(self, Py_ssize_t n, const uint8_t[::1] starts) except -1
    cdef int _check_learners(
        self, Features actions, Features labels, Learner action_learner, Learner label_learner
    ) except -1
    cdef int _check_boundaries(
        self, Features features, Learner learner, Py_ssize_t n_starts
    ) except -1
    cdef int _load_all(self) except -1 nogil
    cdef int _load(self, int number) except -1 nogil
    cdef void _hide_words(self, Learner learner, float word_dropout) noexcept nogil
    cdef int _is_right(self, const SentenceC* s, int token) noexcept nogil
    cdef LoggedC _decide(
        self,
        SentenceC* s,
        Features actions,
        Features labels,
        Learner action_learner,
        Learner label_learner,
        int action,
    ) noexcept nogil
