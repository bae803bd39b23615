from libcpp.vector cimport vector

from ..program cimport AtomC, ContextC, LexemeRecC, MAX_ATOMS, Program, ProgramC
from ..typedefs cimport atom_t, feat_t, int8_t, score_t, uint16_t, uint32_t, uint64_t

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
    const uint32_t* index    # [buckets + 1] into slots
    const uint32_t* narrow   # slots, for up to 256 labels, or NULL
    const uint64_t* wide     # slots, for more
    int shift                # a key's bucket is key >> shift
    const score_t* bias      # [width] added to all scores, or NULL


cdef struct LimitC:
    # How many values of a column the tables have room for.
    int column
    uint64_t n_values


cdef struct DecisionC:
    int label                # the best one so far, if the decision is not made yet
    int stage                # where the decision was made, from 0
    bint is_made


cdef inline void add_slots(
    const CachedScorerC* scorer, feat_t key, score_t* scores
) noexcept nogil:
    """Add the weights of one feature to the scores."""
    cdef uint32_t bucket = key >> scorer.shift
    cdef uint32_t check = key & 0xFFFF
    cdef uint32_t i, slot
    cdef uint64_t slot_wide
    if scorer.narrow != NULL:
        for i in range(scorer.index[bucket], scorer.index[bucket + 1]):
            slot = scorer.narrow[i]
            if slot >> 16 == check:
                scores[(slot >> 8) & 0xFF] += <int8_t>(slot & 0xFF)
    else:
        for i in range(scorer.index[bucket], scorer.index[bucket + 1]):
            slot_wide = scorer.wide[i]
            if slot_wide >> 48 == check:
                scores[(slot_wide >> 8) & 0xFFFF] += <int8_t>(slot_wide & 0xFF)


cdef inline void prefetch_rows(const LexemeRecC* record) noexcept nogil:
    """Prefetch the rows of a record, which stand before it."""
    cdef const char* line = <const char*>record.rows
    while line < <const char*>record:
        DYNSEL_PREFETCH(line)
        line += 64


cdef void fill_rows(const CachedScorerC* scorer, LexemeRecC* record, score_t* rows) noexcept nogil
cdef void sum_fused(
    const CachedScorerC* scorer, int stage, const ContextC* context, score_t* sums
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


cdef class CachedScorer:
    cdef readonly Program program
    cdef readonly object index
    cdef readonly object slots
    cdef readonly float scale
    cdef readonly dict cardinalities
    cdef readonly object bias
    cdef vector[StageC] _stages
    cdef vector[FusedC] _fused
    cdef vector[int] _fused_templates
    cdef vector[TableC] _tables
    cdef vector[LimitC] lexical_limits
    cdef vector[LimitC] dynamic_limits
    cdef vector[int] _hashed
    cdef object _table_rows
    cdef CachedScorerC c

    cdef int _compile(self) except -1
    cdef int _add_table(self, list atoms, list templates, score_t* rows) except -1
