"""Whether spaCy's structs lie in memory as this build knows them.

All modules of this folder import this one, so that another layout of spaCy's structs is
an error at once and not silent corruption later.
"""
from preshed.maps cimport map_get
from spacy.strings cimport Utf8Str
from spacy.tokens.doc cimport Doc

import spacy.about
from spacy.vocab import Vocab

from ..base.errors import Errors


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


def _check_layout() -> None:
    """Compare what is read with what spaCy says."""
    vocab = Vocab()
    # Kept: what is read of a text lives as long as this.
    strings = vocab.strings
    cdef Doc doc = Doc(
        vocab,
        words=["dynsel", "layout"],
        tags=["X", "Y"],
        pos=["NOUN", "VERB"],
        morphs=["", "V=W"],
        lemmas=["", "lay"],
        heads=[0, 0],
        deps=["ROOT", "W"],
        ents=["O", "B-Z"],
    )
    checks = {
        "LexemeC.orth": (doc.c[1].lex.orth, strings["layout"]),
        "TokenC.tag": (doc.c[1].tag, strings["Y"]),
        "TokenC.sent_start": (doc.c[1].sent_start, -1),
        "TokenC.pos": (doc.c[1].pos, strings["VERB"]),
        "TokenC.morph": (doc.c[1].morph, strings["V=W"]),
        "TokenC.lemma": (doc.c[1].lemma, strings["lay"]),
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
