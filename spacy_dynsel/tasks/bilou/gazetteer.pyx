"""Lists of names, compiled for matching.

The phrases of all lists are kept in two hash tables. The first one has every beginning
of an entry, by its words in lower case, so that a match can be followed word by word;
the second one has whole entries as they are written, to tell a match in the same case.
For each list the longest match counts, the leftmost first, and matches of one list do
not overlap.
"""
import numpy as np

from ...base.errors import Errors

from ...core.hashing cimport fold, mix
from ...core.lexicon cimport Arena
from ...core.program cimport LexemeRecC
from ...core.typedefs cimport atom_t, uint8_t
from .actions cimport find_kind, mirror_kind
from .task cimport LISTS, N_COLUMNS

MAX_LISTS = MAX_LISTS_C
MAX_ENTRY_TOKENS = MAX_ENTRY_TOKENS_C
# Codes of a token: 0, or 1 + 2 * kind + whether the case is the same.
N_CODES = N_CODES_C

cdef enum:
    EMPTY = 0
    SEED = 0x5EED


cdef inline uint64_t extend(uint64_t state, atom_t word) noexcept nogil:
    state = mix(state, word)
    # An empty place has the key 0.
    return state if state else 1


def compile_lists(list lists) -> dict:
    """Bring lists of entries into the arrays that a Gazetteer is made of.

    lists (list): For each list its entries: pairs of the string IDs of their words, as
        they are and in lower case.
    RETURNS (dict): Sorted arrays of keys, with the lists that each belongs to.
    """
    folded = {}
    exact = {}
    cdef uint64_t state
    for number, entries in enumerate(lists):
        bit = 1 << number
        for words, lowers in entries:
            state = SEED
            for lower in lowers:
                state = extend(state, fold(lower))
                folded.setdefault(state, 0)
            folded[state] |= bit
            state = SEED
            for word in words:
                state = extend(state, fold(word))
            exact[state] = exact.get(state, 0) | bit
    arrays = {}
    for name, table in (("folded", folded), ("exact", exact)):
        keys = np.array(sorted(table), dtype="uint64")
        arrays[f"{name}_keys"] = keys
        arrays[f"{name}_lists"] = np.array(
            [table[key] for key in keys.tolist()], dtype="uint32"
        )
    return arrays


cdef int fill_table(
    const uint64_t[::1] keys, const uint32_t[::1] lists, vector[PhraseC]& places
) except -1:
    cdef PhraseC empty
    cdef size_t size = 16
    cdef size_t place
    cdef Py_ssize_t i
    if keys.shape[0] != lists.shape[0]:
        raise ValueError(Errors.DS216.format(what="the phrases of gazetteers"))
    empty.key = EMPTY
    empty.lists = 0
    while size < 2 * <size_t>keys.shape[0]:
        size *= 2
    places.assign(size, empty)
    for i in range(keys.shape[0]):
        place = keys[i] & (size - 1)
        while places[place].key != EMPTY:
            place = (place + 1) & (size - 1)
        places[place].key = keys[i]
        places[place].lists = lists[i]
    return 0


cdef class Gazetteer:
    """Finds the entries of some lists.

    arrays (dict): See compile_lists.
    n_lists (int): The number of lists.
    lexical (list[str]): The lexical columns; "lower" and "word" are among them.
    """

    def __init__(self, dict arrays not None, int n_lists, list lexical not None):
        if not 0 <= n_lists <= MAX_LISTS_C:
            raise ValueError(Errors.DS216.format(what=f"{n_lists} gazetteers"))
        fill_table(arrays["folded_keys"], arrays["folded_lists"], self._folded)
        fill_table(arrays["exact_keys"], arrays["exact_lists"], self._exact)
        self.c.folded.places = self._folded.data()
        self.c.folded.mask = self._folded.size() - 1
        self.c.exact.places = self._exact.data()
        self.c.exact.mask = self._exact.size() - 1
        self.c.n_lists = n_lists
        self.c.lower_column = lexical.index("lower")
        self.c.word_column = lexical.index("word")


cdef inline const PhraseC* find_phrase(
    const PhraseTableC* table, uint64_t key
) noexcept nogil:
    """The place of a phrase, or an empty one."""
    cdef size_t place = key & table.mask
    while table.places[place].key != EMPTY and table.places[place].key != key:
        place = (place + 1) & table.mask
    return &table.places[place]


cdef void match_lists(
    const GazetteerC* gazetteer,
    LexemeRecC** records,
    int n,
    uint8_t* codes,
) noexcept nogil:
    """Find the entries of all lists in the tokens of a sentence.

    records: [n] The lexemes, in the order of the text.
    codes: [n][n_lists] Filled in: see N_CODES. Zeros before.
    """
    cdef int[MAX_LISTS_C] ends          # of the match from here, for each list
    cdef int[MAX_LISTS_C] covered       # up to where there was one before
    cdef const PhraseC* phrase
    cdef uint64_t state, exact
    cdef uint32_t found
    cdef int start, end, number, i, kind
    cdef uint8_t same
    for number in range(gazetteer.n_lists):
        covered[number] = 0
    for start in range(n):
        state = SEED
        found = 0
        for end in range(start, min(n, start + MAX_ENTRY_TOKENS_C)):
            state = extend(state, records[end].atoms[gazetteer.lower_column])
            phrase = find_phrase(&gazetteer.folded, state)
            if phrase.key == EMPTY:
                break
            if phrase.lists:
                found |= phrase.lists
                for number in range(gazetteer.n_lists):
                    if phrase.lists >> number & 1:
                        ends[number] = end + 1
        if not found:
            continue
        for number in range(gazetteer.n_lists):
            if not found >> number & 1 or start < covered[number]:
                continue
            end = ends[number]
            covered[number] = end
            exact = SEED
            for i in range(start, end):
                exact = extend(exact, records[i].atoms[gazetteer.word_column])
            same = find_phrase(&gazetteer.exact, exact).lists >> number & 1
            for i in range(start, end):
                kind = find_kind(i == start, i + 1 == end)
                codes[i * gazetteer.n_lists + number] = <uint8_t>(1 + 2 * kind + same)


cdef void look_up_lists(
    const GazetteerC* gazetteer, Scratch* s, int n_dynamic, bint backwards
) noexcept nogil:
    """Fill the columns of the lists for the words of a doc, sentence by sentence.

    n_dynamic: The number of columns.
    backwards: Whether sentences are read from right to left.
    """
    cdef int n = <int>s.tokens.size()
    cdef int n_lists = gazetteer.n_lists
    cdef int start = 0
    cdef int end, i, number, kind
    cdef atom_t* columns
    cdef uint8_t code
    cdef uint64_t state
    s.codes.assign(<size_t>n * n_lists, 0)
    for end in range(1, n + 1):
        if end == n or s.tokens[end].starts:
            match_lists(
                gazetteer, s.token_records.data() + start, end - start,
                s.codes.data() + <size_t>start * n_lists,
            )
            start = end
    for i in range(n):
        columns = s.dynamic.data() + s.position_of[i] * n_dynamic
        state = 0
        for number in range(n_lists):
            code = s.codes[<size_t>i * n_lists + number]
            if not code:
                continue
            if backwards:
                kind = (code - 1) // 2
                code = <uint8_t>(1 + 2 * mirror_kind(kind) + (code - 1) % 2)
            columns[N_COLUMNS + number] = code
            state = mix(state, <uint64_t>(number * 16 + code))
        if state:
            columns[LISTS] = fold(state)


def match_words(dict arrays, int n_lists, words, lowers):
    """The codes of words, given by their string IDs. For tests.

    RETURNS (array): Codes, of shape (words, lists).
    """
    cdef Gazetteer gazetteer = Gazetteer(arrays, n_lists, ["lower", "word"])
    cdef Arena arena = Arena()
    cdef vector[LexemeRecC*] records
    cdef LexemeRecC* record
    if len(words) != len(lowers):
        raise ValueError(Errors.DS216.format(what="words and their lower forms"))
    codes = np.zeros((len(words), n_lists), dtype="uint8")
    cdef uint8_t[:, ::1] view = codes
    for word, lower in zip(words, lowers):
        record = <LexemeRecC*>arena.alloc(sizeof(LexemeRecC) + sizeof(atom_t))
        record.atoms[0] = fold(lower)
        record.atoms[1] = fold(word)
        records.push_back(record)
    if len(words) and n_lists:
        match_lists(&gazetteer.c, records.data(), len(words), &view[0, 0])
    return codes
