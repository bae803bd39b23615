"""A parser that knows a few trees by heart."""

from spacy.pipeline._parser_internals.nonproj import is_nonproj_tree
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dynsel.pipeline.parser import DynselParser

# Words, heads, labels. The third tree is not projective, "today" hangs on "hearing".
TRAIN_DATA = [
    (
        "They trade mortgage-backed securities .",
        [1, 1, 3, 1, 1],
        "nsubj ROOT compound dobj punct",
    ),
    (
        "I like London and Berlin .",
        [1, 1, 1, 2, 2, 1],
        "nsubj ROOT dobj cc conj punct",
    ),
    (
        "A hearing is scheduled on this today .",
        [1, 2, 2, 2, 1, 4, 3, 2],
        "det nsubj ROOT acomp prep pobj advmod punct",
    ),
    ("Nobody knows .", [1, 1, 1], "nsubj ROOT punct"),
]

TEXTS = [
    "Nobody likes London .",
    "They trade securities . I like Berlin . Nobody knows .",
    "A hearing is scheduled on this today .",
    "  \n",
    "",
    "\n I like\n \tLondon  and Berlin . ",
]


def make_doc(nlp, words, heads=None, deps=None, **kwargs):
    if isinstance(deps, str):
        deps = deps.split()
    return Doc(nlp.vocab, words=words.split(), heads=heads, deps=deps, **kwargs)


def make_examples(nlp, data=TRAIN_DATA):
    return [Example(make_doc(nlp, row[0]), make_doc(nlp, *row)) for row in data]


def train_parser(nlp, examples, n_updates=250, **config) -> DynselParser:
    parser = nlp.add_pipe("dynsel_parser", config={"min_label_freq": 1, **config})
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return parser


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
