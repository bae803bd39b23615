"""Reading what lemmas depend on, and writing lemmas."""
from preshed.maps cimport map_get
from spacy.strings cimport StringStore
from spacy.structs cimport TokenC
from spacy.tokens.doc cimport Doc

import numpy as np
from spacy.morphology import Morphology
from spacy.strings import get_string_id
from spacy.symbols import NAMES

from ..core.typedefs cimport uint16_t
from .lexemes cimport is_space
from .tokens cimport count_tokens

from ..base.errors import Errors

SPACE_LEMMA = SPACE_LEMMA_C
NO_LEMMA = NO_LEMMA_C
TABLE_LEMMA = TABLE_LEMMA_C

# What token.morph is where it was set to no features.
cdef uint64_t EMPTY_MORPH = get_string_id(Morphology.EMPTY_MORPH)
# Smaller string IDs are symbols, which each vocabulary knows.
cdef uint64_t N_SYMBOLS = len(NAMES)


cdef inline uint64_t get_morph(const TokenC* token) noexcept nogil:
    return 0 if token.morph == EMPTY_MORPH else token.morph


cdef void read_lemma_tokens(
    const SequenceC* sequence, int start, int end, LemmaTokenC* result
) noexcept nogil:
    """What the lemmas of the tokens start : end depend on."""
    cdef const TokenC* tokens = <const TokenC*>sequence.tokens
    cdef int i
    for i in range(start, end):
        result[i - start].orth = tokens[i].lex.orth
        result[i - start].morph = get_morph(&tokens[i])
        result[i - start].pos = <uint8_t>tokens[i].pos
        result[i - start].is_space = is_space(tokens[i].lex)


cdef str read_form(const SequenceC* sequence, int token, object doc):
    """The text of a token."""
    cdef StringStore strings = (<Doc?>doc).vocab.strings
    return strings[(<const TokenC*>sequence.tokens)[token].lex.orth]


cdef int read_atoms(
    const SequenceC* sequence, int token, object doc, LexemeReader reader, atom_t* atoms
) except -1:
    """Read the atoms of a token's lexeme.

    atoms: One for each column of the reader.
    """
    cdef StringStore strings = (<Doc?>doc).vocab.strings
    return reader.read(strings, (<const TokenC*>sequence.tokens)[token].lex, atoms)


def write_lemmas(
    list docs not None,
    const uint16_t[::1] labels not None,
    const uint64_t[::1] lemmas not None,
    bint overwrite,
    str backoff,
    make_lemma,
) -> None:
    """Set token.lemma.

    docs (list[Doc]): The docs.
    labels (array): For each token of all docs its label, NO_LEMMA, TABLE_LEMMA or
        SPACE_LEMMA.
    lemmas (array): For each token the string ID of its lemma.
    overwrite (bool): Whether to replace lemmas that are set.
    backoff (str): The attribute of a token that is its lemma where no label applies,
        or None for no lemma.
    make_lemma (Callable): Gives the lemma again for a label, a form and a token.pos. It
        is asked where the vocabulary does not know a lemma: when it is new, and when it
        was lost with a memory zone.
    """
    cdef Doc doc
    cdef StringStore strings
    cdef Py_ssize_t offset = count_tokens(docs)
    cdef Py_ssize_t i
    cdef uint64_t lemma
    if offset != labels.shape[0] or offset != lemmas.shape[0]:
        raise ValueError(
            Errors.DS045.format(n_predictions=labels.shape[0], n_tokens=offset)
        )
    offset = 0
    for doc in docs:
        strings = doc.vocab.strings
        for i in range(doc.length):
            if not overwrite and doc.c[i].lemma != 0:
                continue
            lemma = lemmas[offset + i]
            if labels[offset + i] == NO_LEMMA_C:
                if backoff is None:
                    continue
                lemma = getattr(doc[i], backoff)
            elif lemma >= N_SYMBOLS and map_get(strings._map.c_map, lemma) == NULL:
                text = make_lemma(
                    labels[offset + i], strings[doc.c[i].lex.orth], doc.c[i].pos
                )
                if get_string_id(text) != lemma:
                    raise ValueError(
                        Errors.DS045.format(
                            n_predictions=labels.shape[0], n_tokens=labels.shape[0]
                        )
                    )
                strings.add(text)
            doc.c[i].lemma = lemma
        offset += doc.length


def read_pos_and_morphs(Doc doc not None) -> tuple:
    """token.pos, and the string IDs of token.morph, 0 where there are no features."""
    pos = np.empty(doc.length, dtype="uint8")
    morphs = np.empty(doc.length, dtype="uint64")
    cdef uint8_t[::1] pos_view = pos
    cdef uint64_t[::1] morph_view = morphs
    for i in range(doc.length):
        pos_view[i] = <uint8_t>doc.c[i].pos
        morph_view[i] = get_morph(&doc.c[i])
    return pos, morphs
