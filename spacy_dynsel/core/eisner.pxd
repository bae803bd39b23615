"""Exact search among projective trees; see the header."""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp cimport bool
from libcpp.vector cimport vector


cdef extern from "eisner.hpp" namespace "dynsel" nogil:
    const int ROOT_HEAD

    cdef cppclass LinkC "dynsel::Link":
        int32_t head
        int32_t child
        int64_t score

    cdef cppclass TreeForest:
        int n
        vector[LinkC] links
        vector[uint32_t] given
        vector[uint32_t] sibling_starts
        vector[int64_t] sibling_scores
        void set_links(
            int n_words, const LinkC* first, size_t n_links, bool with_siblings
        ) except +
        uint32_t rank(uint32_t link)
        bool search() except +
        int64_t best_score()
        void find_heads(int32_t* heads) except +
        void find_gaps(int64_t* gaps) except +
        bool find_marginals(double scale, double* marginals) except +
        bool find_kth(size_t k) except +
        int64_t kth_score(size_t k)
        void find_kth_heads(size_t k, int32_t* heads) except +
