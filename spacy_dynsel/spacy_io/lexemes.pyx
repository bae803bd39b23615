"""What words look like: the atoms of lexemes."""
from spacy.attrs cimport (
    IS_ALPHA,
    IS_BRACKET,
    IS_CURRENCY,
    IS_DIGIT,
    IS_LOWER,
    IS_PUNCT,
    IS_QUOTE,
    IS_TITLE,
    IS_UPPER,
    LIKE_EMAIL,
    LIKE_NUM,
    LIKE_URL,
)

import numpy as np
from spacy.lang.lex_attrs import LEX_ATTRS, word_shape
from spacy.strings import get_string_id

from ..core.hashing cimport fold, hash_bytes, mix
from ..core.lexicon cimport FIRST_VALUE, UNKNOWN, find_record
from ..core.search cimport find_place
from .layout cimport TextC, get_text

from ..base.errors import Errors

cdef enum Kind:
    WORD
    LOWER
    NORM
    SHAPE
    FLAGS
    CLASS
    CLUSTER
    CASE
    PREFIX
    SUFFIX

AFFIXES = range(1, 6)
CLUSTER_BITS = (4, 6, 10, 20)

# The columns of a lexeme: what can be said about a word without its neighbours.
LEXICAL_COLUMNS = {
    "word": (WORD, 0),
    "lower": (LOWER, 0),
    "norm": (NORM, 0),
    "shape": (SHAPE, 0),
    "flags": (FLAGS, 0),
    "class": (CLASS, 0),
    "cluster": (CLUSTER, 0),
    "case": (CASE, 0),
    **{f"cluster{bits}": (CLUSTER, bits) for bits in CLUSTER_BITS},
    **{f"prefix{size}": (PREFIX, size) for size in AFFIXES},
    **{f"suffix{size}": (SUFFIX, size) for size in AFFIXES},
}

cdef attr_t FLAG_MASK = (
    (<attr_t>1 << IS_ALPHA) | (<attr_t>1 << IS_BRACKET) | (<attr_t>1 << IS_CURRENCY)
    | (<attr_t>1 << IS_DIGIT) | (<attr_t>1 << IS_LOWER) | (<attr_t>1 << IS_PUNCT)
    | (<attr_t>1 << IS_QUOTE) | (<attr_t>1 << IS_SPACE) | (<attr_t>1 << IS_TITLE)
    | (<attr_t>1 << IS_UPPER) | (<attr_t>1 << LIKE_EMAIL) | (<attr_t>1 << LIKE_NUM)
    | (<attr_t>1 << LIKE_URL)
)

N_CASES = N_CASES_C

cdef enum:
    # Longer runs of the same white space are rare.
    MAX_RUN = 8
    N_COMMON_SPACES = 4 * MAX_RUN

cdef uint64_t[N_COMMON_SPACES] COMMON_SPACES


def _fill_common_spaces() -> None:
    for i, space in enumerate(("\n", " ", "\t", "\r\n")):
        for j in range(MAX_RUN):
            COMMON_SPACES[i * MAX_RUN + j] = get_string_id(space * (j + 1))


_fill_common_spaces()


cdef enum Character:
    # What flags say beyond spaCy's own.
    HAS_UPPER = 1
    HAS_DIGIT = 2
    HAS_HYPHEN = 4
    HAS_PERIOD = 8
    HAS_APOSTROPHE = 16
    HAS_NON_ASCII = 32
    STARTS_UPPER = 64


cdef class LexemeReader:
    """Reads the atoms of lexemes.

    columns (list[str]): The columns to read, see LEXICAL_COLUMNS.
    class_keys (array), class_values (array): The ambiguity class of words, by their
        lower form, sorted.
    cluster_keys (array), cluster_values (array): The Brown cluster of words, by their
        exact form, sorted. Words without one try their lower form.
    """

    def __init__(
        self,
        list columns not None,
        class_keys,
        class_values,
        cluster_keys,
        cluster_values,
    ):
        cdef ColumnC column
        if (
            self.columns is not None
            or len(class_keys) != len(class_values)
            or len(cluster_keys) != len(cluster_values)
        ):
            raise ValueError(Errors.DS216.format(what="the tables of a lexeme reader"))
        self.columns = columns
        for name in columns:
            column.kind, column.size = LEXICAL_COLUMNS[name]
            self._columns.push_back(column)
        self.class_keys = class_keys
        self.class_values = class_values
        self.cluster_keys = cluster_keys
        self.cluster_values = cluster_values
        self._class_keys = class_keys
        self._class_values = class_values
        self._cluster_keys = cluster_keys
        self._cluster_values = cluster_values
        for name in columns:
            self._limits.push_back(self._find_limit(*LEXICAL_COLUMNS[name]))

    def _find_limit(self, kind, size) -> int:
        """More than the values of a column, or 0 if they are hashes."""
        if kind == CASE:
            return FIRST_VALUE + N_CASES_C
        if kind == CLASS:
            return max(<int>FIRST_VALUE, int(np.max(self.class_values, initial=0)) + 1)
        if kind == CLUSTER and size:
            return FIRST_VALUE + (1 << size)
        if kind == CLUSTER:
            return max(<int>FIRST_VALUE, int(np.max(self.cluster_values, initial=0)) + 1)
        return 0

    cdef int check(self, Lexicon lexicon) except -1:
        """Raise an error unless the records of a lexicon have these columns."""
        if (
            lexicon.c.table == NULL
            or lexicon.absent == NULL
            or self._limits.size() != self._columns.size()
            or <size_t>lexicon.n_columns != self._columns.size()
        ):
            raise ValueError(Errors.DS216.format(what="a lexicon and its columns"))
        return 0

    cdef int check_program(self, Lexicon lexicon, Program program) except -1:
        """Raise an error unless templates look at such records."""
        self.check(lexicon)
        if (
            program is None
            or program.c.n_templates == 0
            or program.c.n_columns > lexicon.n_columns
        ):
            raise ValueError(Errors.DS216.format(what="templates and a lexicon"))
        return 0

    cdef int check_scorer(self, Lexicon lexicon, WordScorer scorer) except -1:
        """Raise an error unless a scorer and the records of a lexicon fit."""
        cdef size_t i
        cdef uint64_t limit
        self.check_program(lexicon, scorer.program)
        if not scorer.is_made() or not lexicon.has_rows(scorer):
            raise ValueError(Errors.DS216.format(what="a scorer and a lexicon"))
        for i in range(scorer.lexical_limits.size()):
            limit = self._limits[scorer.lexical_limits[i].column]
            if limit == 0 or limit > scorer.lexical_limits[i].n_values:
                raise ValueError(Errors.DS216.format(what="a scorer and its columns"))
        return 0

    def __reduce__(self):
        return (
            LexemeReader,
            (
                self.columns, self.class_keys, self.class_values,
                self.cluster_keys, self.cluster_values,
            ),
        )

    cdef int read(
        self, object strings, const LexemeC* lexeme, atom_t* atoms
    ) except -1:
        cdef LexemeC lex = lexeme[0]
        cdef TextC word
        cdef TextC lower
        cdef ColumnC column
        cdef uint32_t value
        cdef int i, n_bytes
        # Symbols and the strings of foreign vocabularies are not in the map; then
        # these variables keep their bytes alive.
        _word_bytes = get_text(strings, lex.orth, &word)
        lowered = complete_lexeme(strings, &lex)
        if lowered is None:
            lower_bytes = get_text(strings, lex.lower, &lower)
        else:
            lower_bytes = lowered.encode("utf8")
            lower.start = lower_bytes
            lower.n_bytes = len(lower_bytes)
        for i in range(<int>self._columns.size()):
            column = self._columns[i]
            if column.kind == WORD:
                atoms[i] = fold(lex.orth)
            elif column.kind == LOWER:
                atoms[i] = fold(lex.lower)
            elif column.kind == NORM:
                atoms[i] = fold(lex.norm)
            elif column.kind == SHAPE:
                atoms[i] = fold(lex.shape)
            elif column.kind == FLAGS:
                atoms[i] = fold(mix(lex.flags & FLAG_MASK, characters(&word)))
            elif column.kind == CLASS:
                atoms[i] = find_value(self._class_keys, self._class_values, lex.lower)
            elif column.kind == CLUSTER:
                value = find_value(self._cluster_keys, self._cluster_values, lex.orth)
                if value == UNKNOWN:
                    value = find_value(self._cluster_keys, self._cluster_values, lex.lower)
                if value == UNKNOWN or column.size == 0:
                    atoms[i] = value
                else:
                    # The paths are stored with their bits reversed: the first
                    # branching is the lowest bit.
                    atoms[i] = FIRST_VALUE + (
                        (value - FIRST_VALUE) & ((1 << column.size) - 1)
                    )
            elif column.kind == CASE:
                atoms[i] = FIRST_VALUE + get_case(&lex, &word, &lower)
            elif column.kind == PREFIX:
                atoms[i] = hash_affix(lower.start, prefix_bytes(&lower, column.size))
            else:
                n_bytes = suffix_bytes(&lower, column.size)
                atoms[i] = hash_affix(lower.start + lower.n_bytes - n_bytes, n_bytes)
        return 0


cdef object complete_lexeme(object strings, LexemeC* lex):
    """Fill in from the string what the vocabulary leaves empty. RETURNS: The lower form
    if it was missing, else None."""
    lowered = None
    if lex.lower and lex.norm and lex.shape and lex.flags:
        return None
    text = strings[lex.orth]
    if not lex.lower:
        lowered = text.lower()
        lex.lower = get_string_id(lowered)
    if not lex.norm:
        lex.norm = lex.lower
    if not lex.shape:
        lex.shape = get_string_id(word_shape(text))
    if not lex.flags:
        for attribute, getter in LEX_ATTRS.items():
            if attribute < 64 and getter(text):
                lex.flags |= <attr_t>1 << <int>attribute
    return lowered


cdef inline bint starts_character(unsigned char byte) noexcept nogil:
    return byte & 0xC0 != 0x80


cdef int prefix_bytes(const TextC* text, int n_characters) noexcept nogil:
    """How many bytes the first characters take."""
    cdef int i
    for i in range(text.n_bytes):
        if starts_character(text.start[i]):
            if n_characters == 0:
                return i
            n_characters -= 1
    return text.n_bytes


cdef int suffix_bytes(const TextC* text, int n_characters) noexcept nogil:
    """How many bytes the last characters take."""
    cdef int i
    for i in range(text.n_bytes - 1, -1, -1):
        if starts_character(text.start[i]):
            n_characters -= 1
            if n_characters == 0:
                return text.n_bytes - i
    return text.n_bytes


cdef atom_t hash_affix(const unsigned char* start, int n_bytes) noexcept nogil:
    """All digits count as one."""
    cdef unsigned char[24] buffer
    cdef int i
    n_bytes = min(n_bytes, 24)
    for i in range(n_bytes):
        buffer[i] = b"0" if b"0" <= start[i] <= b"9" else start[i]
    return fold(hash_bytes(buffer, n_bytes))


cdef uint64_t characters(const TextC* text) noexcept nogil:
    cdef uint64_t found = 0
    cdef int i
    cdef unsigned char byte
    for i in range(text.n_bytes):
        byte = text.start[i]
        if b"A" <= byte <= b"Z":
            found |= HAS_UPPER
            if i == 0:
                found |= STARTS_UPPER
        elif b"0" <= byte <= b"9":
            found |= HAS_DIGIT
        elif byte == b"-":
            found |= HAS_HYPHEN
        elif byte == b".":
            found |= HAS_PERIOD
        elif byte == b"'":
            found |= HAS_APOSTROPHE
        elif byte >= 128:
            found |= HAS_NON_ASCII
    return found


cdef int get_case(
    const LexemeC* lex, const TextC* word, const TextC* lower
) noexcept nogil:
    """The pattern of capital letters."""
    cdef attr_t flags = lex.flags
    cdef int n
    if flags & (<attr_t>1 << IS_SPACE):
        return SPACE
    if flags & (<attr_t>1 << IS_LOWER):
        return LOWER_CASE
    if flags & (<attr_t>1 << IS_UPPER):
        n = prefix_bytes(word, 1)
        if n == word.n_bytes or (n + 1 == word.n_bytes and word.start[n] == b"."):
            return INITIAL
        return UPPER_CASE
    if flags & (<attr_t>1 << IS_TITLE):
        return TITLE_CASE
    if lex.orth != lex.lower:
        # Neither of these, but something was lowered: capitals inside the word.
        if word.start[0] != lower.start[0] or (
            word.n_bytes > 1 and word.start[0] >= 128 and word.start[1] != lower.start[1]
        ):
            return MIXED_FROM_UPPER
        return MIXED_FROM_LOWER
    if flags & (<attr_t>1 << IS_ALPHA):
        return CASELESS
    if characters(word) & HAS_DIGIT:
        return NUMBER
    return SYMBOLS


cdef uint32_t find_value(
    const uint64_t[::1] keys, const uint32_t[::1] values, uint64_t key
) noexcept nogil:
    """The value of a key; UNKNOWN where it is missing."""
    cdef Py_ssize_t place = find_place(keys, key)
    return UNKNOWN if place < 0 else values[place]


cdef bint is_common_space(uint64_t orth) noexcept nogil:
    """Whether a lexeme is white space, for vocabularies that set no flags."""
    cdef int i
    for i in range(N_COMMON_SPACES):
        if orth == COMMON_SPACES[i]:
            return True
    return False


cdef LexemeRecC* make_record(
    const LexemeC* lexeme,
    StringStore strings,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except NULL:
    # It may have come up since, in the same sequence or in another thread.
    cdef LexemeRecC* record = find_record(&lexicon.c, lexeme.orth)
    cdef bint keep = not lexicon.is_full()
    if record != NULL:
        return record
    record = lexicon.new_record(lexeme.orth, lexicon.arena if keep else scratch)
    reader.read(strings, lexeme, record.atoms)
    lexicon.finish_record(record)
    if is_space(lexeme):
        # No template sees white space: there is room to say what it is. These values
        # are good for any column, should another vocabulary take it for a word.
        record.atoms[0] = UNKNOWN
        if is_blank_line(strings[lexeme.orth]):
            record.atoms[0] = BLANK_LINE
    if keep:
        lexicon.publish(record)
    return record


def is_blank_line(str text not None) -> bool:
    """Whether white space holds two line breaks, or the one that ends a paragraph."""
    n_breaks = text.count("\n") + text.count("\r") - text.count("\r\n")
    return n_breaks >= 2 or "\u2029" in text
