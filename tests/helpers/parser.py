"""A parser that knows a few trees by heart."""

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
