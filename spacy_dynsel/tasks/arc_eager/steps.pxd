"""Parsing a sentence in small steps."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from ...core.forms.line_table cimport FarC, ShortLineTableC, Sums
from ...core.forms.slots cimport NarrowScorerC, WideScorerC
from ...core.leads cimport NO_RIVAL
from ...core.typedefs cimport atom_t, feat_t, int16_t, score_t, uint8_t, uint64_t
from ...core.vectors cimport bare_vector
from .features cimport MAX_SLOTS, FeaturesC
from .places cimport MAX_PLACES
from .rules cimport RulesC
from .system cimport N_ACTIONS, NONE, LoggedC, SentenceC

cdef enum:
    MAX_KEYS = 256


cdef struct ParserC:
    const NarrowScorerC* actions
    const WideScorerC* labels
    const NarrowScorerC* boundaries
    const FeaturesC* action_features
    const FeaturesC* label_features
    const FeaturesC* boundary_features
    const int* action_margins
    const int* label_margins
    const int* boundary_margins
    const score_t* limits
    int n_lexical
    int n_branches           # to try for a sentence
    int branch_lead          # for decisions with less than this lead
    float scale              # of the scores of actions
    const ShortLineTableC* ranks      # the weights of the reranker, or NULL
    PyObject* rank_features
    const RulesC* rules      # for the links of a single doc, or NULL
    bint keeps_log           # of the decisions about a sentence
    bint keeps_leads         # of labels and of the reranker
    bint splits_blank_lines


cdef struct ChangeC:
    int token
    int head
    int label


cdef struct SwapC:
    # A branch that is better than what it parts from, by its score.
    int64_t score
    int first                # into the changes
    int end


cdef cppclass Run:
    # A sentence on its way, first as a whole, then the branches where it was unsure.
    SentenceC s
    SentenceC branch
    SentenceC* now           # one of these two
    bare_vector[LoggedC] log
    bare_vector[uint64_t] state_keys  # by step, those in which there was a decision
    bare_vector[int] chosen           # where to branch, into the log
    int n_chosen
    int n_tried
    bare_vector[feat_t] rank_keys     # of which n_rank_keys are in use
    bare_vector[int16_t] signs
    size_t n_rank_keys
    bare_vector[uint8_t] changed
    bare_vector[int] room             # see classify
    bare_vector[ChangeC] changes
    bare_vector[SwapC] swaps
    bare_vector[int] rank_leads       # by token, if leads are kept
    LoggedC logged
    int phase
    int stage
    int action
    int head
    int dependent
    Sums sums
    FarC far
    score_t* scores          # [width]
    size_t offset            # of its doc among all tokens
    int places[MAX_PLACES]
    atom_t values[MAX_SLOTS]
    feat_t keys[MAX_KEYS]
    int n_keys


cdef struct ChoiceC:
    int label
    int second               # or NONE
    int lead


cdef inline ChoiceC choose(const Sums* sums, int valid) noexcept nogil:
    """The best and the second-best of up to four labels."""
    cdef ChoiceC choice
    cdef int label, score
    cdef int best = -NO_RIVAL
    cdef int second = -NO_RIVAL
    choice.label = NONE
    choice.second = NONE
    for label in range(N_ACTIONS):
        if valid >> label & 1:
            score = sums.of[label]
            if score > best:
                second = best
                choice.second = choice.label
                best = score
                choice.label = label
            elif score > second:
                second = score
                choice.second = label
    choice.lead = best - second if choice.second != NONE else NO_RIVAL
    return choice


cdef bint start_run(const ParserC* parser, Run* run) noexcept nogil
cdef bint advance(
    const ParserC* parser, Run* run, uint64_t* action_counts, uint64_t* label_counts
) noexcept nogil
