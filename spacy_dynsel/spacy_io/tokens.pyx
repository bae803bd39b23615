"""Reading the tokens of Docs: words, white space, the starts of sentences."""
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector
from spacy.strings cimport StringStore
from spacy.structs cimport TokenC
from spacy.tokens.doc cimport Doc

import numpy as np
from spacy.strings import get_string_id

from ..core.hashing cimport fold
from ..core.lexicon cimport UNKNOWN, find_record
from .lexemes cimport is_space, make_record

from ..base.errors import Errors
from .lexemes import is_blank_line


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


cdef bint has_entity(const SequenceC* sequence, int token) noexcept nogil:
    """Whether a token is part of an entity that is set, or blocked."""
    cdef int iob = (<const TokenC*>sequence.tokens)[token].ent_iob
    return iob == 3 or iob == 1


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
    const SequenceC* sequence, const LexiconC* lexicon, LexemeRecC** records
) noexcept nogil:
    """Look up the records of all tokens. RETURNS: Whether there is a record for each;
    those that are missing are NULL."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef bint complete = True
    cdef int i
    for i in range(sequence.length):
        records[i] = find_record(lexicon, tokens[i].lex.orth)
        complete &= records[i] != NULL
    return complete


cdef int make_records(
    const SequenceC* sequence,
    const int* words,
    int n,
    LexemeRecC** records,
    object doc,
    Lexicon lexicon,
    LexemeReader reader,
    Arena scratch,
) except -1:
    """Make the records that are missing for some tokens of a sequence. What the lexicon
    has no room for is made in the scratch memory and lives as long as that is not
    cleared.

    words: [n] Which tokens these are; NULL for the first ones.
    """
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef StringStore strings = (<Doc?>doc).vocab.strings
    cdef int i
    for i in range(n):
        if records[i] == NULL:
            records[i] = make_record(
                tokens[i if words == NULL else words[i]].lex, strings, lexicon, reader,
                scratch,
            )
    return 0


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


def find_sentences(list docs not None) -> tuple:
    """Where the words and the sentences of docs are, as the docs say.

    RETURNS (tuple): Which of all tokens are words; the number of tokens up to the end of
        each doc; the sentences, as pairs of start and end, counted in words (int64).
    """
    cdef Doc doc
    cdef Py_ssize_t d
    cdef int64_t n_tokens = 0
    cdef int64_t n_words = 0
    cdef int i
    cdef bint starts
    cdef vector[int64_t] bounds
    places = np.empty(count_tokens(docs), dtype="int64")
    ends = np.empty(len(docs), dtype="int64")
    cdef int64_t[::1] place_view = places
    cdef int64_t[::1] end_view = ends
    for d in range(len(docs)):
        doc = docs[d]
        # One at white space is as good as one at the next word.
        starts = True
        for i in range(doc.length):
            starts |= doc.c[i].sent_start == 1
            if not is_space(doc.c[i].lex):
                if starts:
                    bounds.push_back(n_words)
                starts = False
                place_view[n_words] = n_tokens + i
                n_words += 1
        n_tokens += doc.length
        end_view[d] = n_tokens
    bounds.push_back(n_words)
    borders = np.array(bounds, dtype="int64")
    ranges = np.stack([borders[:-1], borders[1:]], axis=1)
    return places[:n_words].copy(), ends, ranges


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


def find_bare(list docs not None, bint with_tags) -> list:
    """The numbers of the docs that have words, and no tags; or no parts of speech."""
    cdef Doc doc
    cdef int number, i
    cdef bint has_words, is_bare
    bare = []
    for number in range(len(docs)):
        doc = docs[number]
        has_words = False
        is_bare = True
        for i in range(doc.length):
            # White space may have them all the same.
            if not is_space(doc.c[i].lex):
                has_words = True
                is_bare = (doc.c[i].tag if with_tags else <int>doc.c[i].pos) == 0
                if not is_bare:
                    break
        if has_words and is_bare:
            bare.append(number)
    return bare


def read_orths(Doc doc not None):
    """The string IDs of token.orth."""
    orths = np.empty(doc.length, dtype="uint64")
    cdef uint64_t[::1] view = orths
    for i in range(doc.length):
        view[i] = doc.c[i].lex.orth
    return orths


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
