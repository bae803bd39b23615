"""Trees: random ones, and what docs hold."""

from hypothesis import strategies as st
from spacy.pipeline._parser_internals.nonproj import is_nonproj_tree
from spacy.tokens import Doc

from helpers.parser import TEXTS


@st.composite
def projective_trees(draw, max_size=8):
    """Heads of a projective tree; the root is its own head."""

    def make(start, end, head):
        """Divide a range into trees that hang on one head."""
        while start < end:
            stop = draw(st.integers(start + 1, end))
            root = draw(st.integers(start, stop - 1))
            heads[root] = head
            make(start, root, root)
            make(root + 1, stop, root)
            start = stop

    n = draw(st.integers(1, max_size))
    heads = [0] * n
    root = draw(st.integers(0, n - 1))
    heads[root] = root
    make(0, root, root)
    make(root + 1, n, root)
    return heads


def tree_of(doc):
    return [(token.head.i, token.dep_, token.sent_start) for token in doc]


def trees_of(nlp, texts=TEXTS):
    return [tree_of(nlp(text)) for text in texts]


def heads_of(doc):
    return [token.head.i for token in doc]


def deps_of(doc):
    return " ".join(token.dep_ for token in doc)


def assert_well_formed(doc):
    """A tree for each sentence, and whatever spaCy derives from it."""
    assert sum(len(sent) for sent in doc.sents) == len(doc)
    for sent in doc.sents:
        roots = [token for token in sent if token.head.i == token.i]
        assert [root.dep_ for root in roots] == ["ROOT"]
        assert all(sent.start <= token.head.i < sent.end for token in sent)
        assert all(token.is_ancestor(token) is False for token in sent)
        assert {t.i for t in roots[0].subtree} == set(range(sent.start, sent.end))
    derived = doc.to_array(["SENT_START"]).tolist()
    edges = [(token.left_edge.i, token.right_edge.i, token.n_lefts) for token in doc]
    copied = Doc(doc.vocab, words=[token.text for token in doc])
    copied.from_array(["HEAD", "DEP"], doc.to_array(["HEAD", "DEP"]))
    assert copied.to_array(["SENT_START"]).tolist() == derived
    # spaCy's edges of such trees depend on what the doc held before.
    if not is_nonproj_tree(heads_of(doc)):
        assert edges == [
            (token.left_edge.i, token.right_edge.i, token.n_lefts) for token in copied
        ]
