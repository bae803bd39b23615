"""A lemmatizer that knows a few sentences by heart."""

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

# Words, parts of speech, features and lemmas.
SENTENCES = [
    (
        "She likes green eggs",
        "PRON VERB ADJ NOUN",
        ["Case=Nom", "Number=Sing|Person=3", "", "Number=Plur"],
        "she like green egg",
    ),
    (
        "The leaves were green",
        "DET NOUN AUX ADJ",
        ["", "Number=Plur", "Number=Plur", ""],
        "the leaf be green",
    ),
    (
        "She leaves 8,000 eggs",
        "PRON VERB NUM NOUN",
        ["Case=Nom", "Number=Sing|Person=3", "", "Number=Plur"],
        "she leave 8000 egg",
    ),
    ("London likes it", "PROPN VERB PRON", ["", "", ""], "London like it"),
]


def make_gold(nlp: Language, sentence: tuple) -> Doc:
    words, pos, morphs, lemmas = sentence
    return Doc(
        nlp.vocab,
        words=words.split(),
        pos=pos.split(),
        morphs=morphs,
        lemmas=lemmas.split(),
    )


def without_lemmas(doc: Doc, *, pos: bool = True) -> Doc:
    """The same words, with parts of speech and features or without."""
    bare = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
    )
    for token, gold in zip(bare, doc, strict=True):
        if pos and gold.pos:
            token.pos = gold.pos
            token.set_morph(gold.morph)
    return bare


def make_examples(
    nlp: Language, sentences: list[tuple] = SENTENCES, *, pos: bool = True
) -> list[Example]:
    golds = [make_gold(nlp, sentence) for sentence in sentences]
    return [Example(without_lemmas(gold, pos=pos), gold) for gold in golds]


def train_lemmatizer(
    nlp: Language, examples: list[Example], n_updates: int = 15, **config
):
    lemmatizer = nlp.add_pipe("dynsel_lemmatizer", config=config)
    lemmatizer.initialize(lambda: examples)
    for _ in range(n_updates):
        lemmatizer.update(examples)
    return lemmatizer


def lemmatize(lemmatizer, doc: Doc) -> list[str]:
    """The lemmas that a doc gets."""
    found = lemmatizer(without_lemmas(doc))
    return [token.lemma_ for token in found]
