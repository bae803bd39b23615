from ...core.forms.cached cimport CachedScorer
from ...core.lexicon cimport Lexicon
from ...core.program cimport Program
from ...core.typedefs cimport score_t, uint16_t, uint64_t
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport EntityTokenC
from .gazetteer cimport Gazetteer, GazetteerC

cdef enum:
    REACH_C = 2
    N_PLACES = 9

cdef enum:
    # What the task itself writes for a token.
    ACTION
    TAG
    SEEN
    SEEN_LAST
    SEEN_SHARES
    CASES
    LISTS
    # Here start the columns of the single lists.
    N_COLUMNS


cdef struct TaskC:
    int n_types
    int n_dynamic
    bint backwards
    bint keeps               # whether entities that are set stay
    bint remembers           # whether templates look at other occurrences of a word
    int n_lexical
    int lower_column
    int case_column
    const uint64_t* types    # [n_types] their string IDs
    const GazetteerC* gazetteer    # or NULL


cdef class Task:
    cdef TaskC c
    cdef object types
    cdef Gazetteer gazetteer

    cdef int check(self, Lexicon lexicon, LexemeReader reader) except -1
    cdef int check_program(self, Program program, int n_labels) except -1
    cdef int check_scorer(self, CachedScorer scorer) except -1
    cdef int check_first(
        self, const uint16_t[::1] actions, const score_t[::1] support, size_t n_tokens
    ) except -1


cdef int preset_action(
    const TaskC* task, const EntityTokenC* tokens, int n, int i
) noexcept nogil
