"""The only module that reads and writes spaCy's C structs."""
from libc.stdint cimport int32_t
from libc.string cimport memset
from preshed.maps cimport map_get
from spacy.attrs cimport (
    IS_ALPHA,
    IS_BRACKET,
    IS_CURRENCY,
    IS_DIGIT,
    IS_LOWER,
    IS_PUNCT,
    IS_QUOTE,
    IS_SPACE,
    IS_TITLE,
    IS_UPPER,
    LIKE_EMAIL,
    LIKE_NUM,
    LIKE_URL,
)
from spacy.strings cimport StringStore, Utf8Str
from spacy.structs cimport LexemeC, TokenC
from spacy.tokens.doc cimport Doc, set_children_from_heads
from spacy.typedefs cimport attr_t

import numpy as np
import spacy.about
from spacy.lang.lex_attrs import LEX_ATTRS, word_shape
from spacy.strings import get_string_id
from spacy.vocab import Vocab

from ..core.hashing cimport fold, hash_bytes, mix
from ..core.leads cimport NO_DECISION
from ..core.lexicon cimport FIRST_VALUE, UNKNOWN, find_record

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
SPACE_TAG = SPACE_TAG_C

# What marks white space where a vocabulary sets no flags at all.
cdef enum:
    MAX_RUN = 8
    N_COMMON_SPACES = 4 * MAX_RUN

cdef uint64_t[N_COMMON_SPACES] COMMON_SPACES


def _fill_common_spaces() -> None:
    for i, space in enumerate(("\n", " ", "\t", "\r\n")):
        for j in range(MAX_RUN):
            COMMON_SPACES[i * MAX_RUN + j] = get_string_id(space * (j + 1))


_fill_common_spaces()

cdef enum:
    # See restore_arcs.
    MAX_SEARCH = 1000


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

    cdef int check_scorer(self, Lexicon lexicon, CachedScorer scorer) except -1:
        """Raise an error unless a scorer and the records of a lexicon fit."""
        cdef size_t i
        cdef uint64_t limit
        self.check_program(lexicon, scorer.program)
        if scorer.c.stages == NULL or not lexicon.has_rows(scorer):
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

    cdef int read(self, object strings, const void* lexeme, atom_t* atoms) except -1:
        cdef LexemeC lex = (<const LexemeC*>lexeme)[0]
        cdef TextC word
        cdef TextC lower
        cdef ColumnC column
        cdef uint32_t value
        cdef int i, n_bytes
        # Symbols and the strings of foreign vocabularies are not in the map; then
        # these variables keep their bytes alive.
        word_bytes = get_text(strings, lex.orth, &word)
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


cdef struct TextC:
    const unsigned char* start
    int n_bytes


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


cdef object get_text(StringStore strings, attr_t orth, TextC* text):
    """The UTF-8 bytes of a string. RETURNS: Their owner, or None if that is the store."""
    cdef const Utf8Str* stored = <const Utf8Str*>map_get(strings._map.c_map, orth)
    cdef int i
    if stored == NULL:
        owned = strings[orth].encode("utf8")
        text.start = owned
        text.n_bytes = len(owned)
        return owned
    # Up to 7 bytes in place; else behind a pointer, the length in front, as a run of
    # 255s and a rest.
    if 0 < stored.s[0] < sizeof(stored.s):
        text.start = &stored.s[1]
        text.n_bytes = stored.s[0]
        return None
    text.n_bytes = 0
    i = 0
    while stored.p[i] == 255:
        text.n_bytes += 255
        i += 1
    text.n_bytes += stored.p[i]
    text.start = &stored.p[i + 1]
    return None


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
    """Binary search; UNKNOWN where the key is missing."""
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = keys.shape[0]
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < keys.shape[0] and keys[low] == key:
        return values[low]
    return UNKNOWN


cdef size_t read_docs(list docs, vector[SequenceC]& whole) except? 0:
    """Each doc as one sequence. RETURNS: The number of tokens."""
    cdef Doc doc
    cdef SequenceC sequence
    cdef int i
    sequence.offset = 0
    for i in range(len(docs)):
        if not isinstance(docs[i], Doc):
            raise TypeError(Errors.DS215.format(found=type(docs[i])))
        doc = docs[i]
        sequence.doc = i
        sequence.tokens = doc.c
        sequence.length = doc.length
        whole.push_back(sequence)
        sequence.offset += doc.length
    return sequence.offset


cdef size_t count_tokens(list docs) except? 0:
    """The number of tokens of some docs."""
    cdef size_t n_tokens = 0
    for doc in docs:
        if not isinstance(doc, Doc):
            raise TypeError(Errors.DS215.format(found=type(doc)))
        n_tokens += (<Doc>doc).length
    return n_tokens


cdef int sentence_end(const SequenceC* sequence, int start) noexcept nogil:
    """The end of the sentence that starts at a token: the next start that is set."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef int end = start + 1
    while end < sequence.length and tokens[end].sent_start != 1:
        end += 1
    return end


cdef inline bint is_space(const LexemeC* lex) noexcept nogil:
    cdef int i
    if lex.flags:
        return lex.flags >> IS_SPACE & 1
    for i in range(N_COMMON_SPACES):
        if lex.orth == COMMON_SPACES[i]:
            return True
    return False


cdef int read_words(
    const SequenceC* sequence, int start, int end, uint64_t* orths, int* words
) noexcept nogil:
    """Read the words among the tokens start : end, all but white space.

    orths, words: [end - start] Where to put their orths and which tokens they are.
    RETURNS: Their number.
    """
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef int n = 0
    cdef int i
    for i in range(start, end):
        orths[n] = tokens[i].lex.orth
        words[n] = i
        n += not is_space(tokens[i].lex)
    return n


cdef int read_neighbours(
    const SequenceC* sequence,
    int start,
    int end,
    int step,
    int most,
    uint64_t* orths,
    int* words,
) noexcept nogil:
    """Read the first words among the tokens from start to end, which is not reached, in
    steps of 1 or -1; arrays are filled in the same direction. RETURNS: Their number."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef int n = 0
    while n < most and start != end:
        if not is_space(tokens[start].lex):
            orths[n * step] = tokens[start].lex.orth
            words[n * step] = start
            n += 1
        start += step
    return n


cdef int read_entity_words(
    const SequenceC* sequence, EntityTokenC* result
) noexcept nogil:
    """What entity recognition has to know about words besides their lexemes. What white
    space begins, a sentence or an entity, begins with the next word. RETURNS: The
    number of words."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef int n = 0
    cdef int i
    cdef bint starts = False
    cdef bint begins = False
    cdef bint is_barred = False
    for i in range(sequence.length):
        starts |= tokens[i].sent_start == 1
        if is_space(tokens[i].lex):
            begins |= tokens[i].ent_iob == 3
            is_barred |= tokens[i].ent_iob == 3 or tokens[i].ent_iob == 1
            continue
        result[n].token = i
        result[n].tag = UNKNOWN
        if tokens[i].tag:
            result[n].tag = fold(tokens[i].tag)
        result[n].type = tokens[i].ent_type
        result[n].iob = <uint8_t>tokens[i].ent_iob
        if begins and result[n].iob == 1:
            result[n].iob = 3
        result[n].starts = starts
        result[n].is_barred = is_barred
        starts = begins = is_barred = False
        n += 1
    return n


cdef void fill_spaces(
    const SequenceC* sequence, bint keeps, uint16_t* actions, int32_t* leads
) noexcept nogil:
    """Give white space its actions: within an entity it goes on, elsewhere it is
    outside.

    keeps: Whether white space of an entity that was set keeps its annotation.
    actions: [length] Those of words are there.
    leads: [length] Where to note that nothing was decided, or NULL.
    """
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef uint16_t inside = 0
    cdef int i, kind
    for i in range(sequence.length):
        if is_space(tokens[i].lex):
            actions[i] = inside
            if keeps and (tokens[i].ent_iob == 3 or tokens[i].ent_iob == 1):
                actions[i] = KEEP_C
            if leads != NULL:
                leads[i] = NO_DECISION
            continue
        inside = 0
        if actions[i] != KEEP_C and actions[i] != 0:
            kind = (actions[i] - 1) % 4
            if kind < 2:
                inside = <uint16_t>(actions[i] - kind + 1)


cdef void read_parse_tokens(
    const SequenceC* sequence, ParseTokenC* result
) noexcept nogil:
    """What parsing has to know about tokens besides their lexemes."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef int i
    for i in range(sequence.length):
        result[i].tag = tokens[i].tag
        result[i].lower = tokens[i].lex.lower
        result[i].pos = <uint8_t>tokens[i].pos
        result[i].sent_start = <int8_t>tokens[i].sent_start
        result[i].is_space = is_space(tokens[i].lex)
        result[i].is_blank_line = False


cdef bint find_records(
    const SequenceC* sequence,
    int start,
    int n,
    const LexiconC* lexicon,
    LexemeRecC* before_start,
    LexemeRecC* after_end,
    LexemeRecC** records,
) noexcept nogil:
    """Look up the records of the tokens start : start + n of a sequence, which may
    reach beyond its ends. RETURNS: Whether there is a record for each; those that are
    missing are NULL."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef bint complete = True
    cdef int first = max(0, -start)
    cdef int end = min(n, sequence.length - start)
    cdef int i
    for i in range(min(first, n)):
        records[i] = before_start
    for i in range(max(end, 0), n):
        records[i] = after_end
    for i in range(first, end):
        records[i] = find_record(lexicon, tokens[start + i].lex.orth)
        complete &= records[i] != NULL
    return complete


cdef int make_records(
    const SequenceC* sequence,
    int start,
    int n,
    LexemeRecC** records,
    object doc,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except -1:
    """Make the records that find_records did not find. What the lexicon has no room
    for is made in the scratch memory and lives as long as that is not cleared."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef StringStore strings = (<Doc?>doc).vocab.strings
    cdef int i
    for i in range(n):
        if records[i] == NULL:
            records[i] = make_record(
                tokens[start + i].lex, strings, lexicon, reader, scratch
            )
    return 0


cdef int make_word_records(
    const SequenceC* sequence,
    const int* words,
    int n,
    LexemeRecC** records,
    object doc,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except -1:
    """Make the records that are missing for some words of a sequence, see
    make_records."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef StringStore strings = (<Doc?>doc).vocab.strings
    cdef int i
    for i in range(n):
        if records[i] == NULL:
            records[i] = make_record(
                tokens[words[i]].lex, strings, lexicon, reader, scratch
            )
    return 0


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


def write_tags(
    list docs not None,
    const uint16_t[::1] labels not None,
    const uint64_t[::1] tags not None,
    bint overwrite,
    uint64_t space_tag,
) -> None:
    """Set token.tag.

    docs (list[Doc]): The docs.
    labels (array): The label of each token of all docs, SPACE_TAG for white space.
    tags (array): The string ID for each label.
    overwrite (bool): Whether to replace tags that are set.
    space_tag (int): The string ID of the tag of white space.
    """
    cdef Doc doc
    cdef Py_ssize_t offset = count_tokens(docs)
    cdef Py_ssize_t i
    cdef bint is_good = offset == labels.shape[0]
    if is_good:
        offset = 0
        for doc in docs:
            for i in range(doc.length):
                is_good &= labels[offset + i] < tags.shape[0] or (
                    labels[offset + i] == SPACE_TAG_C and is_space(doc.c[i].lex)
                )
            offset += doc.length
    if not is_good:
        raise ValueError(
            Errors.DS045.format(n_predictions=labels.shape[0], n_tokens=offset)
        )
    offset = 0
    for doc in docs:
        for i in range(doc.length):
            if overwrite or doc.c[i].tag == 0:
                if labels[offset + i] == SPACE_TAG_C:
                    doc.c[i].tag = space_tag
                else:
                    doc.c[i].tag = tags[labels[offset + i]]
        offset += doc.length


def write_entities(
    list docs not None,
    const uint16_t[::1] actions not None,
    const uint64_t[::1] types not None,
) -> bool:
    """Set the entities of docs as spaCy's own component does: tokens of entities that
    were set before are left alone, and so are blocked ones; all others are inside of
    a new entity or outside of any.

    docs (list[Doc]): The docs.
    actions (array): The action of each token of all docs, or KEEP.
    types (array): The string ID for each entity type.
    RETURNS (bool): False, and nothing is set, if the actions do not fit the docs or the
        types.
    """
    cdef Doc doc
    cdef size_t offset = count_tokens(docs)
    cdef int i, kind, type_, open_type
    cdef attr_t kb_id = 0
    if offset != <size_t>actions.shape[0]:
        return False
    for i in range(actions.shape[0]):
        if actions[i] != KEEP_C and actions[i] > 4 * types.shape[0]:
            return False
    offset = 0
    for doc in docs:
        open_type = -1
        for i in range(doc.length):
            if actions[offset + i] == KEEP_C:
                open_type = -1
            elif actions[offset + i] == 0:
                open_type = -1
                if doc.c[i].ent_iob == 0:
                    doc.c[i].ent_iob = 2
            else:
                kind = (actions[offset + i] - 1) % 4
                type_ = (actions[offset + i] - 1) // 4
                if (kind == 1 or kind == 2) and open_type == type_:
                    doc.c[i].ent_iob = 1
                else:
                    doc.c[i].ent_iob = 3
                    kb_id = doc.c[i].ent_kb_id
                doc.c[i].ent_type = types[type_]
                doc.c[i].ent_kb_id = kb_id
                open_type = type_ if kind < 2 else -1
        offset += doc.length
    return True


KEEP = KEEP_C


cdef inline Py_ssize_t get_dep(uint16_t label, Py_ssize_t n_deps) noexcept nogil:
    """Where the string ID of a label is, see write_parses."""
    return label if label < 1 << 15 else label + n_deps - (1 << 16)


def write_parses(
    list docs not None,
    const int32_t[::1] heads not None,
    const uint16_t[::1] labels not None,
    const uint8_t[::1] starts not None,
    const uint64_t[::1] deps not None,
) -> None:
    """Set the heads, the labels and the sentences of docs. Trees are projective.

    docs (list[Doc]): The docs.
    heads (array): For each token of all docs the index of its head within the doc, its
        own for a root.
    labels (array): For each token an index into deps, counted from the end for numbers
        from the end of their range.
    starts (array): For each token whether a sentence starts there.
    deps (array): String IDs.
    """
    cdef Doc doc
    cdef size_t offset = 0
    cdef size_t n_tokens = count_tokens(docs)
    cdef Py_ssize_t label
    cdef int i, head
    cdef TokenC* tokens
    if <size_t>heads.shape[0] != n_tokens or labels.shape[0] != heads.shape[0] or (
        starts.shape[0] != heads.shape[0]
    ):
        raise ValueError(
            Errors.DS045.format(n_predictions=heads.shape[0], n_tokens=n_tokens)
        )
    for doc in docs:
        for i in range(doc.length):
            label = get_dep(labels[offset + i], deps.shape[0])
            head = heads[offset + i]
            if not 0 <= label < deps.shape[0] or not 0 <= head < doc.length:
                raise ValueError(
                    Errors.DS045.format(n_predictions=heads.shape[0], n_tokens=n_tokens)
                )
        offset += doc.length
    offset = 0
    for doc in docs:
        tokens = doc.c
        for i in range(doc.length):
            label = get_dep(labels[offset + i], deps.shape[0])
            head = heads[offset + i]
            tokens[i].head = head - i
            tokens[i].dep = deps[label]
            tokens[i].sent_start = 1 if starts[offset + i] else -1
            tokens[i].l_kids = 0
            tokens[i].r_kids = 0
            tokens[i].l_edge = i
            tokens[i].r_edge = i
        # In a projective tree the left edge of a token comes from tokens before it.
        for i in range(doc.length):
            head = i + tokens[i].head
            if i < head:
                tokens[head].l_kids += 1
                tokens[head].l_edge = min(tokens[head].l_edge, tokens[i].l_edge)
        for i in range(doc.length - 1, -1, -1):
            head = i + tokens[i].head
            if i > head:
                tokens[head].r_kids += 1
                tokens[head].r_edge = max(tokens[head].r_edge, tokens[i].r_edge)
        offset += doc.length


def restore_arcs(Doc doc not None, list lifted not None, dict labels not None) -> None:
    """Give arcs that were lifted back to the heads that their labels speak of: the
    first token below the head that has the right label, level by level. That is what
    spaCy's deprojectivize does, whose time grows faster than with the square of the
    length; here, at most MAX_SEARCH tokens are looked at for an arc.

    doc (Doc): A doc whose trees are projective.
    lifted (list[int]): The tokens with such labels, in order.
    labels (dict): For the string ID of such a label those of its two parts: the label
        without more, and that of the former head.
    """
    cdef vector[int] first           # the dependents of a token
    cdef vector[int] next_one
    cdef vector[int] queue
    cdef TokenC* tokens = doc.c
    cdef int i, token, child, found, place, n_seen
    cdef attr_t wanted
    # All that can fail comes before the first change.
    first.assign(doc.length, -1)
    next_one.assign(doc.length, -1)
    queue.reserve(MAX_SEARCH + 1)
    for token in lifted:
        if not 0 <= token < doc.length:
            raise IndexError(token)
        _, wanted = labels[tokens[token].dep]
    for i in range(doc.length - 1, -1, -1):
        if tokens[i].head and not is_space(tokens[i].lex):
            next_one[i] = first[i + tokens[i].head]
            first[i + tokens[i].head] = i
    for token in lifted:
        tokens[token].dep, wanted = labels[tokens[token].dep]
        queue.assign(1, token + tokens[token].head)
        found = -1
        place = 0
        n_seen = 0
        while found == -1 and place < <int>queue.size() and n_seen < MAX_SEARCH:
            child = first[queue[place]]
            while child != -1 and n_seen < MAX_SEARCH:
                n_seen += 1
                # Arcs that were given back before are no longer among these.
                if child != token and child + tokens[child].head == queue[place]:
                    if tokens[child].dep == wanted:
                        found = child
                        break
                    queue.push_back(child)
                child = next_one[child]
            place += 1
        if found != -1:
            tokens[token].head = found - token
    set_children_from_heads(tokens, 0, doc.length)


def read_parse(Doc doc not None) -> tuple:
    """The index of each token's head, or -1 where none is set; and the string IDs of
    token.dep."""
    heads = np.empty(doc.length, dtype="int32")
    deps = np.empty(doc.length, dtype="uint64")
    cdef int32_t[::1] head_view = heads
    cdef uint64_t[::1] dep_view = deps
    for i in range(doc.length):
        head_view[i] = i + doc.c[i].head
        if doc.c[i].head == 0 and doc.c[i].dep == 0:
            head_view[i] = -1
        dep_view[i] = doc.c[i].dep
    return heads, deps


def read_pos(Doc doc not None):
    """token.pos."""
    pos = np.empty(doc.length, dtype="uint8")
    cdef uint8_t[::1] view = pos
    for i in range(doc.length):
        view[i] = <uint8_t>doc.c[i].pos
    return pos


def have_same_words(Doc one not None, Doc other not None) -> bool:
    """Whether two docs have the same words, whatever white space stands between them,
    so that no alignment is needed."""
    cdef int i = 0
    cdef int j = 0
    while True:
        while i < one.length and is_space(one.c[i].lex):
            i += 1
        while j < other.length and is_space(other.c[j].lex):
            j += 1
        if i == one.length or j == other.length:
            return i == one.length and j == other.length
        if one.c[i].lex.orth != other.c[j].lex.orth:
            return False
        i += 1
        j += 1


def find_words(Doc doc not None):
    """Which tokens are words: all but white space."""
    # As numpy likes indices: where it converts them, or what is assigned to them, bit by
    # bit, and memory runs out, it crashes. So take and put are what to use with others.
    words = np.empty(doc.length, dtype=np.intp)
    cdef Py_ssize_t[::1] view = words
    cdef int i, n = 0
    for i in range(doc.length):
        if not is_space(doc.c[i].lex):
            view[n] = i
            n += 1
    return words[:n]


def hand_on_starts(const int32_t[::1] starts not None, const Py_ssize_t[::1] words not None):
    """What is known about sentence starts, for words: one at white space is as good as
    one at the next word.

    starts (array): For each token 1 for a start, -1 for none, 0 where it is not known.
    words (array): The tokens that are words.
    """
    result = np.empty(words.shape[0], dtype="int32")
    cdef int32_t[::1] view = result
    cdef int i, token = 0
    for i in range(words.shape[0]):
        view[i] = starts[words[i]]
        while token < words[i]:
            if starts[token] == 1:
                view[i] = 1
            token += 1
        token += 1
    return result


def find_blank_lines(Doc doc not None):
    """For each word whether there is a blank line between it and the word before."""
    cdef StringStore strings = doc.vocab.strings
    words = find_words(doc)
    result = np.zeros(len(words), dtype=bool)
    cdef const Py_ssize_t[::1] view = words
    cdef Py_ssize_t i, token
    for i in range(1, view.shape[0]):
        for token in range(view[i - 1] + 1, view[i]):
            if is_blank_line(strings[doc.c[token].lex.orth]):
                result[i] = True
    return result


def read_tags(Doc doc not None):
    """The string IDs of token.tag."""
    tags = np.empty(doc.length, dtype="uint64")
    cdef uint64_t[::1] view = tags
    for i in range(doc.length):
        view[i] = doc.c[i].tag
    return tags


def find_untagged(list docs not None) -> list:
    """The numbers of the docs that have words and no tags."""
    cdef Doc doc
    cdef int number, i
    cdef bint has_words, has_tags
    untagged = []
    for number in range(len(docs)):
        doc = docs[number]
        has_words = False
        has_tags = False
        for i in range(doc.length):
            has_words |= doc.c[i].lex.flags & (<attr_t>1 << IS_SPACE) == 0
            has_tags = doc.c[i].tag != 0
            if has_tags:
                break
        if has_words and not has_tags:
            untagged.append(number)
    return untagged


def read_entities(Doc doc not None) -> tuple:
    """token.ent_iob and the string IDs of token.ent_type."""
    iobs = np.empty(doc.length, dtype="int32")
    types = np.empty(doc.length, dtype="uint64")
    cdef int32_t[::1] iob_view = iobs
    cdef uint64_t[::1] type_view = types
    for i in range(doc.length):
        iob_view[i] = doc.c[i].ent_iob
        type_view[i] = doc.c[i].ent_type
    return iobs, types


def read_lowers(Doc doc not None):
    """The string IDs of token.lower; where the vocabulary has none, those of the words
    in lower case."""
    lowers = np.empty(doc.length, dtype="uint64")
    cdef uint64_t[::1] view = lowers
    for i in range(doc.length):
        view[i] = doc.c[i].lex.lower
        if view[i] == 0:
            view[i] = get_string_id(doc.vocab.strings[doc.c[i].lex.orth].lower())
    return lowers


def read_sent_starts(Doc doc not None):
    """token.sent_start: 1 for a start, -1 for none, 0 where it is not known."""
    starts = np.empty(doc.length, dtype="int32")
    cdef int32_t[::1] view = starts
    for i in range(doc.length):
        view[i] = doc.c[i].sent_start
    return starts


def _check_layout() -> None:
    """Compare what this module reads with what spaCy says, so that another layout of
    spaCy's structs is an error now and not silent corruption later."""
    vocab = Vocab()
    # Kept: what is read of a text lives as long as this.
    strings = vocab.strings
    cdef Doc doc = Doc(
        vocab,
        words=["dynsel", "layout"],
        tags=["X", "Y"],
        pos=["NOUN", "VERB"],
        heads=[0, 0],
        deps=["ROOT", "W"],
        ents=["O", "B-Z"],
    )
    checks = {
        "LexemeC.orth": (doc.c[1].lex.orth, strings["layout"]),
        "TokenC.tag": (doc.c[1].tag, strings["Y"]),
        "TokenC.sent_start": (doc.c[1].sent_start, -1),
        "TokenC.pos": (doc.c[1].pos, strings["VERB"]),
        "TokenC.head": (doc.c[1].head, -1),
        "TokenC.dep": (doc.c[1].dep, strings["W"]),
        "TokenC.l_edge": (doc.c[1].l_edge, 1),
        "TokenC.r_kids": (doc.c[0].r_kids, 1),
        "TokenC.ent_iob": (doc.c[1].ent_iob, 3),
        "TokenC.ent_type": (doc.c[1].ent_type, strings["Z"]),
        "Doc.length": (doc.length, 2),
    }
    cdef TextC text
    get_text(strings, doc.c[1].lex.orth, &text)
    checks["Utf8Str"] = (text.start[:text.n_bytes], b"layout")
    for what, (read, expected) in checks.items():
        if read != expected:
            raise ImportError(
                Errors.DS061.format(version=spacy.about.__version__, what=what)
            )


_check_layout()
