"""A tagger that knows a few sentences by heart."""

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

SENTENCES = [
    ("I like green eggs", "PRP VBP JJ NNS"),
    ("Eat blue ham", "VB JJ NN"),
    ("The hits were two big hits", "DT NNS VBD CD JJ NNS"),
    ("She hits her ball hard .", "PRP VBZ PRP$ NN RB ."),
    ("They saw her", "PRP VBD PRP"),
]


def make_example(nlp: Language, words: str, tags: str) -> Example:
    reference = Doc(nlp.vocab, words=words.split(), tags=tags.split())
    return Example(nlp.make_doc(reference.text), reference)


def train_tagger(nlp: Language, examples: list[Example], n_updates: int = 20, **config):
    tagger = nlp.add_pipe("dynsel_tagger", config=config)
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return tagger
