"""A faster spaCy tokenizer, and with spacy_io the only module that reads and writes
spaCy's C structs."""
from cpython.unicode cimport Py_UNICODE_ISSPACE
from cymem.cymem cimport Pool
from preshed.maps cimport PreshMap
from spacy.attrs cimport NORM, ORTH
from spacy.strings cimport StringStore, hash_string
from spacy.structs cimport LexemeC, TokenC
from spacy.tokenizer cimport Tokenizer
from spacy.tokens.doc cimport Doc
from spacy.typedefs cimport hash_t
from spacy.vocab cimport Vocab

from contextlib import contextmanager

import spacy.about

from .chunks cimport ChunkC, ChunkTable, PieceC, char_t, get_pieces
from ..core.typedefs cimport uint8_t, uint16_t, uint32_t, uint64_t

from ..base.atomic import new_lock
from ..base.errors import Errors

cdef extern from "Python.h":
    int PyUnicode_KIND(str text)
    const void* PyUnicode_DATA(str text)

cdef enum:
    # Longer chunks hardly come again, and without a bound one of them could be of any
    # size.
    MAX_CHARS = 128
    # What English needs for a token and the space after it, about; but a long text
    # may have few tokens.
    CHARS_OF_TOKEN = 5
    FIRST_RESERVE = 4096
    # From here on spaCy refuses a text.
    MAX_LENGTH = 1 << 30

DEFAULT_CACHE_SIZE = 50_000


cdef class CachedTokenizer(Tokenizer):
    """spaCy's tokenizer with a cache that also keeps chunks which special cases apply
    to, and which works within memory zones. A chunk is a run of characters between
    spaces. Its tokens are those of spaCy's tokenizer: what is not in the cache is left
    to the latter, and so are special cases across chunks. Those are made ready when the
    first text comes: loading a pipeline would make them twice, in vain where no text
    follows.

    max_cache_size (int): How many chunks to keep at most. A cache that is full is
        emptied.

    The other arguments are those of spaCy's tokenizer.
    """

    # Chunks made outside of memory zones. Their lexemes live as long as the vocab, and
    # are up to date as long as this is its map of lexemes.
    cdef ChunkTable _chunks
    cdef PreshMap _lexemes
    # Chunks made in a memory zone, and the zone.
    cdef ChunkTable _zone_chunks
    cdef Pool _zone
    # Changes with every change after which a chunk may have other tokens.
    cdef size_t _version
    # Whether there are rules that spaCy's tokenizer has not been given yet, and the zone
    # in which it was given the others, None for the vocabulary's own memory.
    cdef bint _is_waiting
    cdef Pool _ready_in
    cdef object _lock

    def __cinit__(self, *args, **kwargs):
        self._lock = new_lock()
        self._chunks = ChunkTable()
        self._zone_chunks = ChunkTable()

    def __init__(
        self,
        vocab,
        rules=None,
        prefix_search=None,
        suffix_search=None,
        infix_finditer=None,
        token_match=None,
        url_match=None,
        faster_heuristics=True,
        max_cache_size=DEFAULT_CACHE_SIZE,
    ):
        super().__init__(
            vocab,
            rules,
            prefix_search,
            suffix_search,
            infix_finditer,
            token_match,
            url_match,
            faster_heuristics,
            max_cache_size,
        )

    @classmethod
    def from_tokenizer(cls, tokenizer, max_cache_size=DEFAULT_CACHE_SIZE):
        """A tokenizer with the vocabulary and the rules of another one."""
        # Languages without spaces between words have tokenizers of another kind.
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(Errors.DS220.format(found=tokenizer))
        return cls(
            tokenizer.vocab,
            tokenizer.rules,
            tokenizer.prefix_search,
            tokenizer.suffix_search,
            tokenizer.infix_finditer,
            tokenizer.token_match,
            tokenizer.url_match,
            tokenizer.faster_heuristics,
            max_cache_size,
        )

    def __reduce__(self):
        args = (
            self.vocab,
            self.rules,
            self.prefix_search,
            self.suffix_search,
            self.infix_finditer,
            self.token_match,
            self.url_match,
            self.faster_heuristics,
            self.max_cache_size,
        )
        return (self.__class__, args)

    @property
    def n_cached(self):
        """How many chunks are kept now."""
        return self._chunks.n_chunks + self._zone_chunks.n_chunks

    def _load_special_cases(self, special_cases):
        # spaCy's tokenizer calls this for all rules at once.
        for string, substrings in sorted((special_cases or {}).items()):
            substrings = list(substrings)
            if not is_plain(string, substrings):
                self._validate_special_case(string, substrings)
            self._rules[string] = substrings
            self._is_waiting = True

    def add_special_case(self, str string, substrings):
        """Add a special case, see spaCy's tokenizer."""
        self._make_ready()
        super().add_special_case(string, substrings)

    def explain(self, text):
        """Say by which rule each token was found, see spaCy's tokenizer."""
        self._make_ready()
        return super().explain(text)

    cdef int _make_ready(self) except -1:
        """Give spaCy's tokenizer the rules that wait."""
        if self.vocab is None:
            raise ValueError(Errors.DS216.format(what="a tokenizer that was never made"))
        if self._is_waiting or self._ready_in is not None:
            with self._lock:
                if self._ready_in is not None and self._ready_in is not self.vocab.mem:
                    # Their lexemes were those of a zone that is over.
                    self._flush_specials()
                    self._is_waiting = True
                if self._is_waiting:
                    self._give_rules()
        return 0

    cdef int _give_rules(self) except -1:
        cdef Vocab vocab = self.vocab
        cdef StringStore strings = vocab.strings
        cdef Pool mem = vocab.mem
        cdef Pool string_mem = strings.mem
        # What the vocabulary keeps does not end with a zone; but lexemes that a zone has
        # already cannot be made to stay.
        if vocab._transient_orths.empty() and strings._transient_keys.empty():
            vocab.mem = vocab._non_temp_mem
            strings.mem = strings._non_temp_mem
        try:
            for string, substrings in sorted(self._rules.items()):
                Tokenizer.add_special_case(self, string, substrings)
            self._ready_in = None if vocab.mem is vocab._non_temp_mem else vocab.mem
            self._is_waiting = False
        finally:
            vocab.mem = mem
            strings.mem = string_mem
        return 0

    def _flush_cache(self):
        # spaCy's tokenizer calls this whenever its rules change.
        super()._flush_cache()
        self._forget()

    cdef int _forget(self) except -1:
        self._chunks.clear()
        self._zone_chunks.clear()
        self._version += 1
        return 0

    @contextmanager
    def memory_zone(self, mem=None):
        """Keep what is learned from now on for this block only, see
        Language.memory_zone."""
        self._make_ready()
        self._zone = self.vocab.mem
        try:
            yield mem
        finally:
            self._zone = None
            self._zone_chunks.clear()
            self._version += 1

    def __call__(self, str string):
        """Tokenize a text.

        string (str): The text.
        RETURNS (Doc): The tokens.
        """
        if len(string) >= MAX_LENGTH:
            self._make_ready()
            return super().__call__(string)
        cdef int n = len(string)
        cdef const void* chars = PyUnicode_DATA(string)
        cdef int bytes_of_char = PyUnicode_KIND(string)
        cdef Doc doc
        self._make_ready()
        doc = Doc(self.vocab)
        if self._lexemes is not self.vocab._by_orth:
            self._forget()
            self._lexemes = self.vocab._by_orth
        reserve(doc, min(n // CHARS_OF_TOKEN, <int>FIRST_RESERVE))
        if bytes_of_char == 1:
            self._tokenize_chunks(doc, string, <const uint8_t*>chars, n)
        elif bytes_of_char == 2:
            self._tokenize_chunks(doc, string, <const uint16_t*>chars, n)
        else:
            self._tokenize_chunks(doc, string, <const uint32_t*>chars, n)
        self._apply_special_cases(doc)
        return doc

    cdef int _tokenize_chunks(
        self, Doc doc, str string, const char_t* chars, int n
    ) except -1:
        """A chunk is a run of characters that all are white space, or none of them. One
        space after a chunk of the latter kind belongs to its last token."""
        cdef ChunkC* chunk
        cdef uint64_t hash
        cdef bint in_space
        cdef int start
        cdef int i = 0
        while i < n:
            start = i
            in_space = Py_UNICODE_ISSPACE(chars[i])
            # FNV-1a, by characters.
            hash = <uint64_t>0xCBF29CE484222325
            while i < n and Py_UNICODE_ISSPACE(chars[i]) == in_space:
                hash = (hash ^ chars[i]) * <uint64_t>0x100000001B3
                i += 1
            hash ^= hash >> 32
            chunk = self._find(&chars[start], i - start, hash)
            if chunk != NULL and doc.length + <int>chunk.n_pieces > doc.max_length:
                # Allocation may let other threads run, and they may clear the cache.
                reserve(doc, 2 * doc.max_length + chunk.n_pieces)
                chunk = self._find(&chars[start], i - start, hash)
            if chunk != NULL:
                push_pieces(doc, chunk)
            else:
                self._tokenize_chunk(doc, string[start:i], &chars[start], i - start, hash)
            if i < n and chars[i] == c" ":
                doc.c[doc.length - 1].spacy = True
                i += 1
        return 0

    cdef inline ChunkC* _find(
        self, const char_t* chars, size_t n, uint64_t hash
    ) noexcept:
        cdef ChunkC* chunk = self._chunks.find(chars, n, hash)
        if chunk == NULL and self._zone is not None and self._zone is self.vocab.mem:
            chunk = self._zone_chunks.find(chars, n, hash)
        return chunk

    cdef int _tokenize_chunk(
        self, Doc doc, str string, const char_t* chars, size_t n, uint64_t hash
    ) except -1:
        """Let spaCy's tokenizer do a chunk, and keep what it did."""
        cdef hash_t key = hash_string(string)
        cdef int start = doc.length
        cdef size_t version = self._version
        # Its own cache leaves out what comes after a special case.
        cdef int has_special = True
        if not self._try_specials_and_cache(key, doc, &has_special, True):
            self._tokenize(doc, string, key, &has_special, True)
        cdef ChunkTable table
        if self.vocab.mem is self.vocab._non_temp_mem:
            table = self._chunks
        elif self.vocab.mem is self._zone:
            table = self._zone_chunks
        else:
            # In a zone that nobody told us about, so that we cannot know its end.
            return 0
        # Other threads may have changed the rules, or may have been faster.
        if n > MAX_CHARS or version != self._version or table.find(chars, n, hash):
            return 0
        if <int>table.n_chunks >= self.max_cache_size:
            table.clear()
        if self.max_cache_size <= 0:
            return 0
        cdef ChunkC* chunk = table.add(chars, n, hash, doc.length - start)
        cdef PieceC* pieces = get_pieces(chunk)
        cdef int i
        for i in range(start, doc.length):
            pieces[i - start].lexeme = doc.c[i].lex
            pieces[i - start].norm = doc.c[i].norm
            pieces[i - start].length = doc.c[i].lex.length
        return 0


cdef bint is_plain(str string, list substrings) except -1:
    """Whether a special case is surely well-formed."""
    for substring in substrings:
        if type(substring) is not dict or not isinstance(substring.get(ORTH), str):
            return False
        if len(substring) > 1 and (len(substring) > 2 or NORM not in substring):
            return False
    return "".join([substring[ORTH] for substring in substrings]) == string


cdef int reserve(Doc doc, int n_tokens) except -1:
    """Make room for a number of tokens."""
    if n_tokens > doc.max_length:
        doc._realloc(n_tokens)
    return 0


cdef void push_pieces(Doc doc, ChunkC* chunk) noexcept:
    """What Doc.push_back does with a token that no space follows, but without a look
    at the lexemes."""
    cdef const PieceC* pieces = get_pieces(chunk)
    cdef TokenC* token = &doc.c[doc.length]
    cdef const TokenC* last = token - 1
    cdef int idx = 0
    cdef int i
    if doc.length != 0:
        idx = last.idx + last.lex.length + last.spacy
    else:
        token.sent_start = 1
    for i in range(<int>chunk.n_pieces):
        token.lex = <const LexemeC*>pieces[i].lexeme
        token.norm = pieces[i].norm
        token.idx = idx
        token.l_edge = doc.length + i
        token.r_edge = doc.length + i
        idx += pieces[i].length
        token += 1
    doc.length += chunk.n_pieces


def _check_layout() -> None:
    """Compare with spaCy's tokenizer, so that another layout of its structs is an error
    now and not silent corruption later."""
    vocab = Vocab()
    rules = {"b.": [{"ORTH": "b", "NORM": "B"}, {"ORTH": "."}]}
    text = "a  b. a b."
    expected = Tokenizer(vocab, rules)(text).to_array(LAYOUT)
    tokenizer = CachedTokenizer(vocab, rules)
    for _ in range(2):
        if not (tokenizer(text).to_array(LAYOUT) == expected).all():
            raise ImportError(
                Errors.DS061.format(version=spacy.about.__version__, what="Tokenizer")
            )


LAYOUT = ["ORTH", "NORM", "SPACY", "IDX", "SENT_START"]
_check_layout()
