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
    size_t mask
    uint32_t epoch
    bare_vector[WordC] stats
    bare_vector[int] counts           # by label, see remember
    bare_vector[int] counted          # the labels that were counted
    int n_counted
    bare_vector[score_t] scores       # [AHEAD_TOKENS][width]
    bare_vector[score_t] closed_limits     # [2][width], by IS_LAST
    bare_vector[score_t] open_limits  # [width]
    bare_vector[uint8_t] costs


cdef inline void open_table(Scratch* s, int n_words) noexcept nogil:
    """Empty the table of a doc's words, with room for so many."""
    cdef size_t place, size = 16
    cdef SlotC empty
    while size < 2 * <size_t>n_words:
        size *= 2
    if s.table.size() < size:
        empty.word = 0
        empty.epoch = 0
        empty.id = 0
        s.table.assign(size, empty)
        s.epoch = 0
    s.mask = size - 1
    s.epoch += 1
    if s.epoch == 0:
        for place in range(s.table.size()):
            s.table[place].epoch = 0
        s.epoch = 1


cdef inline int find_word(Scratch* s, atom_t word, int new_id) noexcept nogil:
    """RETURNS: The number of a word. One that was not met before gets the new one."""
    cdef size_t place = word & s.mask
    while s.table[place].epoch == s.epoch and s.table[place].word != word:
        place = (place + 1) & s.mask
    if s.table[place].epoch != s.epoch:
        s.table[place].epoch = s.epoch
        s.table[place].word = word
        s.table[place].id = new_id
    return s.table[place].id
