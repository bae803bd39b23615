"""An entity recognizer that knows a few texts by heart."""

from spacy.training import Example

from spacy_dynsel.pipeline.ner import DynselNER

TRAIN_DATA = [
    ("Who is Shaka Khan?", [(7, 17, "PERSON")]),
    ("I like London and Berlin.", [(7, 13, "LOC"), (18, 24, "LOC")]),
    ("New York is not far from Boston.", [(0, 8, "LOC"), (25, 31, "LOC")]),
    ("Nobody knows.", []),
]

TEXTS = [
    "Just a sentence.",
    "Then one more sentence about London.",
    "Here is New York, and another one about Shaka Khan.",
    "I like London.",
    "",
]


def make_examples(nlp, data=TRAIN_DATA):
    return [
        Example.from_dict(nlp.make_doc(text), {"entities": entities})
        for text, entities in data
    ]


def train_ner(nlp, examples, n_updates=30, **config) -> DynselNER:
    ner = nlp.add_pipe("dynsel_ner", config=config)
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return ner


def ents_of(doc):
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
