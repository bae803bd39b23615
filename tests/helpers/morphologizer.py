"""A morphologizer that knows a few sentences by heart."""

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

# Words, parts of speech and features.
SENTENCES = [
    (
        "She likes green eggs",
        "PRON VERB ADJ NOUN",
        ["Case=Nom|Number=Sing", "Number=Sing|Person=3", "Degree=Pos", "Number=Plur"],
    ),
    (
        "The leaves were green",
        "DET NOUN AUX ADJ",
        ["", "Number=Plur", "Number=Plur|Tense=Past", "Degree=Pos"],
    ),
    (
        "She leaves 8,000 eggs",
        "PRON VERB NUM NOUN",
        ["Case=Nom|Number=Sing", "Number=Sing|Person=3", "NumType=Card", "Number=Plur"],
    ),
    (
        "London likes it",
        "PROPN VERB PRON",
        ["Number=Sing", "Number=Sing|Person=3", "Case=Acc|Number=Sing"],
    ),
]


def make_gold(nlp: Language, sentence: tuple) -> Doc:
    words, pos, morphs = sentence
    return Doc(nlp.vocab, words=words.split(), pos=pos.split(), morphs=morphs)


def make_examples(nlp: Language, sentences: list[tuple] = SENTENCES) -> list[Example]:
    golds = [make_gold(nlp, sentence) for sentence in sentences]
    return [Example(nlp.make_doc(gold.text), gold) for gold in golds]


def train_morphologizer(
    nlp: Language, examples: list[Example], n_updates: int = 20, **config
):
    morphologizer = nlp.add_pipe("dynsel_morphologizer", config=config)
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return morphologizer


def morphs_of(docs) -> list[list[tuple[str, str]]]:
    """The parts of speech and features of docs."""
    return [[(token.pos_, str(token.morph)) for token in doc] for doc in docs]
