"""Reading and writing what components set: tags, morphology, entities, trees."""
from libc.stdint cimport int32_t, int64_t
from spacy.attrs cimport (
    DEP,
    ENT_IOB,
    ENT_TYPE,
    HEAD,
    IDX,
    LEMMA,
    LENGTH,
    MORPH,
    POS,
    SENT_START,
    TAG,
)
from spacy.parts_of_speech cimport univ_pos_t
from spacy.structs cimport TokenC
from spacy.tokens.doc cimport Doc, set_children_from_heads
from spacy.typedefs cimport attr_t

import numpy as np

from ..core.typedefs cimport uint8_t, uint16_t, uint64_t
from .lexemes cimport is_space
from .tokens cimport count_tokens

from ..base.errors import Errors

SPACE_TAG = SPACE_TAG_C


cdef int check_labels(
    list docs, const uint16_t[::1] labels, Py_ssize_t n_labels
) except -1:
    """Raise an error unless each token of some docs has one of so many labels, or is
    white space and has the label of that."""
    cdef Doc doc
    cdef Py_ssize_t offset = count_tokens(docs)
    cdef Py_ssize_t i
    cdef bint is_good = offset == labels.shape[0] and n_labels >= 0
    if is_good:
        offset = 0
        for doc in docs:
            for i in range(doc.length):
                is_good &= labels[offset + i] < n_labels or (
                    labels[offset + i] == SPACE_TAG_C and is_space(doc.c[i].lex)
                )
            offset += doc.length
    if not is_good:
        raise ValueError(
            Errors.DS045.format(n_predictions=labels.shape[0], n_tokens=offset)
        )
    return 0


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
    cdef Py_ssize_t offset = 0
    cdef Py_ssize_t i
    check_labels(docs, labels, tags.shape[0])
    for doc in docs:
        for i in range(doc.length):
            if overwrite or doc.c[i].tag == 0:
                if labels[offset + i] == SPACE_TAG_C:
                    doc.c[i].tag = space_tag
                else:
                    doc.c[i].tag = tags[labels[offset + i]]
        offset += doc.length


def write_morphs(
    list docs not None,
    const uint16_t[::1] labels not None,
    const uint64_t[::1] morphs not None,
    const uint8_t[::1] pos not None,
    bint overwrite,
) -> None:
    """Set token.morph and token.pos.

    docs (list[Doc]): The docs.
    labels (array): The label of each token of all docs, SPACE_TAG for white space.
    morphs (array), pos (array): For each label, and last for white space, the ID of
        its features and its part of speech.
    overwrite (bool): Whether to replace what is set.
    """
    cdef Doc doc
    cdef Py_ssize_t offset = 0
    cdef Py_ssize_t n_labels = pos.shape[0] - 1
    cdef Py_ssize_t i, label
    check_labels(docs, labels, n_labels)
    if morphs.shape[0] != pos.shape[0]:
        raise ValueError(Errors.DS216.format(what="features and parts of speech"))
    for doc in docs:
        for i in range(doc.length):
            label = min(<Py_ssize_t>labels[offset + i], n_labels)
            if overwrite or doc.c[i].morph == 0:
                doc.c[i].morph = morphs[label]
            if overwrite or doc.c[i].pos == 0:
                doc.c[i].pos = <univ_pos_t>pos[label]
        offset += doc.length


def set_morphs(list docs not None, const uint64_t[::1] morphs not None) -> None:
    """Set token.morph.

    morphs (array): For each token of all docs the ID of its features.
    """
    cdef Doc doc
    cdef Py_ssize_t offset = count_tokens(docs)
    cdef Py_ssize_t i
    if offset != morphs.shape[0]:
        raise ValueError(
            Errors.DS045.format(n_predictions=morphs.shape[0], n_tokens=offset)
        )
    offset = 0
    for doc in docs:
        for i in range(doc.length):
            doc.c[i].morph = morphs[offset + i]
        offset += doc.length


cdef int set_entities(
    list docs, const uint8_t[::1] iobs, const uint64_t[::1] types
) except -1:
    """Set the entities of docs as spaCy's own component does: tokens of entities that
    were set before are left alone, and so are blocked ones; all others are inside of
    a new entity or outside of any.

    iobs: For each token of all docs what TokenC.ent_iob is to be, 0 for a token that
        keeps its annotation.
    types: For each token the string ID of the type of its entity.
    """
    cdef Doc doc
    cdef size_t offset = 0
    cdef int i, iob
    cdef attr_t kb_id = 0
    for doc in docs:
        for i in range(doc.length):
            iob = iobs[offset + i]
            if iob == 2:
                if doc.c[i].ent_iob == 0:
                    doc.c[i].ent_iob = 2
            elif iob:
                if iob == 3:
                    kb_id = doc.c[i].ent_kb_id
                doc.c[i].ent_iob = iob
                doc.c[i].ent_type = types[offset + i]
                doc.c[i].ent_kb_id = kb_id
        offset += doc.length
    return 0


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
    labels (array): For each token an index into deps. Values of 2^15 and above are
        negative indices.
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


cdef int move_arcs(
    Doc doc, list moved, const int32_t[::1] heads, const uint64_t[::1] deps
) except -1:
    """Give some tokens other heads and labels.

    moved: The tokens.
    heads, deps: For each token of the doc the index of its head, and the string ID of its
        label.
    """
    cdef int token
    for token in moved:
        doc.c[token].head = heads[token] - token
        doc.c[token].dep = deps[token]
    set_children_from_heads(doc.c, 0, doc.length)
    return 0


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
    return read_columns([doc], [POS])[0].astype("uint8")


def read_morphs(Doc doc not None):
    """The IDs of token.morph, 0 where none is set."""
    return read_columns([doc], [MORPH])[0]


def read_tags(Doc doc not None):
    """The string IDs of token.tag."""
    return read_columns([doc], [TAG])[0]


def read_lemmas(Doc doc not None):
    """The string IDs of token.lemma."""
    return read_columns([doc], [LEMMA])[0]


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


def read_columns(list docs not None, list attributes not None):
    """Attributes of the tokens of many docs, as Doc.to_array has those of one.

    docs (list[Doc]): The docs.
    attributes (list[int]): Of spacy.attrs, those in `COLUMNS`.
    RETURNS (array): A row for each attribute, with a value for each token of all docs.
    """
    cdef Doc doc
    cdef int attribute
    cdef Py_ssize_t offset = 0
    cdef Py_ssize_t k
    if not COLUMNS.issuperset(attributes):
        raise ValueError(Errors.DS216.format(what="the attributes of tokens"))
    result = np.empty((len(attributes), count_tokens(docs)), dtype="uint64")
    cdef uint64_t[:, ::1] values = result
    for doc in docs:
        if doc.length:
            for k, attribute in enumerate(attributes):
                read_column(doc.c, doc.length, attribute, &values[k, offset])
        offset += doc.length
    return result


cdef void read_column(
    const TokenC* tokens, int n, int attribute, uint64_t* values
) noexcept nogil:
    cdef int i
    if attribute == IDX:
        for i in range(n):
            values[i] = <uint64_t>tokens[i].idx
    elif attribute == LENGTH:
        for i in range(n):
            values[i] = <uint64_t>tokens[i].lex.length
    elif attribute == TAG:
        for i in range(n):
            values[i] = tokens[i].tag
    elif attribute == POS:
        for i in range(n):
            values[i] = <uint64_t>tokens[i].pos
    elif attribute == MORPH:
        for i in range(n):
            values[i] = tokens[i].morph
    elif attribute == LEMMA:
        for i in range(n):
            values[i] = tokens[i].lemma
    elif attribute == DEP:
        for i in range(n):
            values[i] = tokens[i].dep
    elif attribute == HEAD:
        for i in range(n):
            values[i] = <uint64_t><int64_t>tokens[i].head
    elif attribute == SENT_START:
        for i in range(n):
            values[i] = <uint64_t><int64_t>tokens[i].sent_start
    elif attribute == ENT_IOB:
        for i in range(n):
            values[i] = <uint64_t>tokens[i].ent_iob
    elif attribute == ENT_TYPE:
        for i in range(n):
            values[i] = tokens[i].ent_type


# What read_columns can read.
COLUMNS = frozenset(
    (IDX, LENGTH, TAG, POS, MORPH, LEMMA, DEP, HEAD, SENT_START, ENT_IOB, ENT_TYPE)
)
