from libcpp.vector cimport vector

from ..pairs cimport MemberC, MemberTable, PairC
from ..program cimport AtomC, ContextC, LexemeRecC, MAX_ATOMS, ProgramC
from ..typedefs cimport feat_t, int8_t, score_t, uint16_t
from .packing cimport PackedC
from .word_scorer cimport WordScorer

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef extern from "kernels.hpp" namespace "dynsel" nogil:
    cdef struct Verdict:
        score_t label
        score_t close

    cdef struct Kernels:
        const char* name
        void (*sum_rows)(
            score_t* sums, const score_t** rows, int n_rows, int width
        ) noexcept nogil
        Verdict (*judge)(
            const score_t* scores, const score_t* limits, int width, int margin
        ) noexcept nogil
        void (*add_bytes)(
            score_t* sums, const int8_t** rows, int n_rows, int width
        ) noexcept nogil

    int LANES
    int N_KERNELS
    const Kernels* get_kernels(int kind)
    int best_kind()
    const Kernels* best_kernels()


cdef enum:
    MAX_ROWS = 64            # fused rows and tables of one stage, at most


cdef struct FusedC:
    # Templates over one lexeme: their sum is a row of the lexeme's record.
    int place
    int row
    int first                # into fused_templates
    int end


cdef struct TableC:
    # Templates over atoms of few values: their sum is a row of a table.
    int n_atoms
    AtomC[MAX_ATOMS] atoms
    size_t[MAX_ATOMS] strides
    score_t* rows


cdef struct StageC:
    # One stage: ranges of fused rows, tables, and hashed templates.
    int first_fused
    int end_fused
    int first_table
    int end_table
    int first_hashed
    int end_hashed
    int first_loose          # templates that are not fused
    int end_loose


cdef struct CachedScorerC:
    const ProgramC* program
    const Kernels* kernels
    int n_labels
    int width                # labels, padded
    int n_rows               # fused rows of a lexeme
    int n_stages
    StageC* stages
    FusedC* fused
    int n_fused
    int* fused_templates
    TableC* tables
    int* hashed              # [templates]
    int* loose               # [templates]
    MemberTable* members     # of induced pairs, or NULL
    size_t member_offset     # where they stand after the rows of a lexeme
    PackedC packed
    const score_t* bias      # [width] added to all scores, or NULL


cdef struct DecisionC:
    int label                # the best one so far, if the decision is not made yet
    int stage                # where the decision was made, from 0
    bint is_made


cdef inline void prefetch_rows(const LexemeRecC* record) noexcept nogil:
    """Prefetch the rows of a record, which stand before it."""
    cdef const char* line = <const char*>record.rows
    while line < <const char*>record:
        DYNSEL_PREFETCH(line)
        line += 64


cdef void sum_fused(
    const CachedScorerC* scorer, int stage, const ContextC* context, score_t* sums
) noexcept nogil
cdef void add_stage(
    const CachedScorerC* scorer, int s, const ContextC* context, score_t* scores
) noexcept nogil
cdef DecisionC decide(
    const CachedScorerC* scorer,
    const ContextC* context,
    const score_t* limits,
    const int* margins,
    score_t* scores,
    int first_stage=*,
    int end_stage=*,
) noexcept nogil


cdef class CachedScorer(WordScorer):
    cdef readonly dict cardinalities
    cdef vector[StageC] _stages
    cdef vector[FusedC] _fused
    cdef vector[int] _fused_templates
    cdef vector[TableC] _tables
    cdef vector[int] _hashed
    cdef vector[int] _loose
    cdef vector[PairC] _pairs
    cdef MemberTable _members
    cdef object _table_rows
    cdef CachedScorerC c

    cdef int _compile(self, set by_key) except -1
    cdef int _add_table(self, list atoms, list templates, score_t* rows) except -1
