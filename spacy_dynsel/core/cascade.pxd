"""Lattices of label n-grams, and the levels of a cascade that search them; see the
headers. Where memory runs out, functions without "except +" unwind as in C++: call them
below run_workers only."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector


cdef extern from "lattice.hpp" namespace "dynsel" nogil:
    const int LABEL_BITS
    const int MAX_ORDER

    cdef cppclass EdgeC "dynsel::Edge":
        uint64_t gram
        int64_t score
        int label()

    cdef cppclass LatticeC "dynsel::Lattice":
        int order
        int length
        vector[uint32_t] columns
        vector[EdgeC] edges
        size_t n_states()
        size_t edges_from(int t)
        void expand(
            const vector[uint8_t]& kept, const vector[int64_t]& scores, int n_labels,
            LatticeC& next
        ) except +

    cdef cppclass Search:
        vector[int64_t] scores
        vector[uint8_t] kept
        vector[double] counts
        vector[uint32_t] path
        void run(const LatticeC& lattice) except +
        void find_path(const LatticeC& lattice) except +
        bool find_true_path(const LatticeC& lattice, const int32_t* labels) except +
        int64_t edge_gap(const LatticeC& lattice, size_t edge)
        size_t n_cliques(const LatticeC& lattice, bool by_state)
        double mean_gap(const LatticeC& lattice, bool by_state)
        double find_limit(const LatticeC& lattice, bool by_state, double alpha)
        void keep(const LatticeC& lattice, bool by_state, double limit) except +
        size_t count_kept(const LatticeC& lattice, bool by_state, double limit)
        void find_marginals(const LatticeC& lattice, double unit) except +
        void find_gaps(
            const LatticeC& lattice, bool by_state, const int32_t* labels, double* gaps
        )


cdef extern from "gram_weights.hpp" namespace "dynsel" nogil:
    const int SCORE_BITS
    const double SCORE_UNIT

    cdef cppclass RowTable:
        size_t width
        vector[uint64_t] keys
        vector[float] values
        size_t claim(uint64_t key) except +

    cdef cppclass Positions:
        const uint32_t* keys
        const int64_t* offsets
        const uint8_t* allowed

    cdef cppclass GramScratch:
        pass

    cdef cppclass GramWeights:
        RowTable table
        int n_labels
        bool pairs
        bool adagrad
        float eta
        float delta
        void score(
            const LatticeC& lattice, const Positions& positions, GramScratch& at,
            vector[int64_t]& scores
        ) except +
        void add_position(const uint32_t* keys, size_t n_keys, float* sums)
        void add_context(uint64_t gram, int n, float* sums)
        void average()
        void tidy(float least)
        int find_exponent()


cdef extern from "cascade.hpp" namespace "dynsel" nogil:
    cdef cppclass CascadeScratch:
        LatticeC lattice
        Search search
        GramScratch grams

    cdef cppclass Thinner:
        double rate
        uint64_t state
        Positions thin(const Positions& whole, int length) except +

    void start_lattice(
        int first_order, int n_labels, int length, const uint8_t* allowed,
        CascadeScratch& at
    ) except +
    double learn_filter(
        GramWeights& weights, const LatticeC& lattice, const Positions& positions,
        const int32_t* labels, bool by_state, double alpha, double margin,
        CascadeScratch& at
    ) except +
    double learn_marginals(
        GramWeights& weights, const LatticeC& lattice, const Positions& positions,
        const int32_t* labels, CascadeScratch& at
    ) except +
    double learn_labels(
        GramWeights& weights, const LatticeC& lattice, const Positions& positions,
        const int32_t* labels, double cost, CascadeScratch& at
    ) except +


cdef extern from "packed_cascade.hpp" namespace "dynsel" nogil:
    cdef cppclass StoredRows:
        const uint64_t* keys
        const uint32_t* starts
        const uint16_t* labels
        const int16_t* values
        size_t n
        int shift

    cdef cppclass PackedWeights:
        int n_labels
        int n_levels
        void init(int n_labels, bool pairs, const vector[StoredRows]& levels) except +

    cdef cppclass PackedScratch:
        pass

    cdef cppclass PackedCascade:
        PackedWeights weights
        int first_order
        bool by_state
        void decode(
            const Positions& positions, int length, const double* alphas,
            PackedScratch& at, int32_t* labels, double* leads, int64_t* counts
        )
