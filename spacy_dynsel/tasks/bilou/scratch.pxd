"""The memory of a thread that reads docs."""
from ...core.program cimport LexemeRecC
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint32_t
from ...core.vectors cimport bare_vector
from ...spacy_io.tokens cimport EntityTokenC


cdef struct SlotC:
    # An entry of the table of a doc's words; those of earlier docs count as empty.
    atom_t word
    uint32_t epoch
    int id


cdef struct WordC:
    # What is known about a word of the doc, in all its forms.
    int n_lower
    int n_title              # within sentences
    int n_upper
    int n_capital            # all that are not in lower case
    int n
    int latest               # the step of its latest occurrence
    int n_entities           # how many of its occurrences were labelled as entities


cdef cppclass Scratch:
    # Memory of one worker, reused for all docs. Arrays are by token that is a word, by
    # position (steps with room between sentences), or by step in reading order.
    bare_vector[EntityTokenC] tokens
    bare_vector[LexemeRecC*] token_records
    bare_vector[LexemeRecC*] records  # by position
    bare_vector[atom_t] dynamic       # by position, [n_dynamic] each
    bare_vector[int] positions        # by step
    bare_vector[int] token_of         # by step: which token of the doc it is
    bare_vector[int] position_of      # by token
    bare_vector[uint8_t] codes        # by token, [n_lists] each
    bare_vector[uint8_t] flags        # by step
    bare_vector[int] actions          # by step; before its decision, that of fixed ones
    bare_vector[int] words            # by step, into stats
    bare_vector[int] before           # by step: that of the same word before, or NONE
    bare_vector[int] after
    bare_vector[SlotC] table
    uint32_t epoch
    bare_vector[WordC] stats
    bare_vector[int] counts           # by label, see remember
    bare_vector[int] counted          # the labels that were counted
    int n_counted
    bare_vector[score_t] scores       # [AHEAD_TOKENS][width]
    bare_vector[score_t] closed_limits     # [2][width], by IS_LAST
    bare_vector[score_t] open_limits  # [width]
    bare_vector[uint8_t] costs
