"""Real corpora, where there are any: that components learn, not how fast they are."""

import itertools
import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.corpora import read_sentences

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def make_examples(nlp, sentences):
    return [
        Example(
            Doc(nlp.vocab, words=words),
            Doc(nlp.vocab, words=words, tags=tags),
        )
        for words, tags in sentences
    ]


def train(nlp, factory, examples, drop=0.0, **config):
    pipe = nlp.add_pipe(factory, config=config)
    nlp.initialize(lambda: examples)
    rng = random.Random(0)
    for _ in range(3):
        rng.shuffle(examples)
        for start in range(0, len(examples), 100):
            pipe.update(examples[start : start + 100], drop=drop)
    return pipe


def find_corpus(corpora, name):
    if not (corpora / name).is_dir():
        pytest.skip(f"{name} is not in DYNSEL_DATA")
    return corpora / name


@pytest.mark.parametrize(
    ("corpus", "lang", "column", "bound"),
    [("ud_en_ewt", "en", 4, 0.89), ("ud_pt_bosque", "pt", 3, 0.93)],
)
def test_learns_a_corpus(corpora, corpus, lang, column, bound):
    """3,000 sentences, 3 epochs: well above a tagger that knows only words."""
    folder = find_corpus(corpora, corpus)
    nlp = spacy.blank(lang)
    examples = make_examples(nlp, read_sentences(folder / "train.conllu", column, 3000))
    dev = make_examples(nlp, read_sentences(folder / "dev.conllu", column, 500))
    tagger = train(nlp, "dynsel_tagger", examples, drop=0.1)
    scores = nlp.evaluate(dev)
    assert scores["tag_acc"] > bound
    tagger.margin = float("inf")
    assert scores["tag_acc"] > nlp.evaluate(dev)["tag_acc"] - 0.002
    assert len(tagger.engine.to_bytes()) < 8_000_000


def read_tweets(nlp, path, n_sentences):
    examples, words, tags = [], [], []
    for line in path.read_text("utf8").split("\n"):
        if line.strip():
            word, tag = line.split("\t")
            words.append(word or "\ufffd")
            tags.append(tag)
        elif words:
            gold = Doc(nlp.vocab, words=words, ents=tags)
            examples.append(Example(Doc(nlp.vocab, words=words), gold))
            words, tags = [], []
        if len(examples) == n_sentences:
            break
    return examples


def test_learns_entities(corpora):
    folder = find_corpus(corpora, "ner_en_btc")
    nlp = spacy.blank("en")
    examples = read_tweets(nlp, folder / "train.conll", 6000)
    dev = read_tweets(nlp, folder / "dev.conll", 1000)
    ner = train(nlp, "dynsel_ner", examples, model={"direction": "rtl"})
    score = nlp.evaluate(dev)["ents_f"]
    assert score > 0.69
    for example in dev:
        example.predicted.set_ents([], default="missing")
    ner.margin = float("inf")
    assert score > nlp.evaluate(dev)["ents_f"] - 0.005
    assert len(ner.engine.to_bytes()) < 4_000_000


def read_trees(nlp, path, n_sentences):
    """Examples with gold words, tags and sentences."""
    examples, rows = [], []
    with path.open(encoding="utf8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0].isdigit():
                rows.append(fields)
            elif rows and not line.strip():
                words = [row[1] for row in rows]
                heads = [int(row[6]) - 1 for row in rows]
                gold = Doc(
                    nlp.vocab,
                    words=words,
                    tags=[row[4] for row in rows],
                    pos=[row[3] for row in rows],
                    heads=[i if head < 0 else head for i, head in enumerate(heads)],
                    deps=["ROOT" if row[6] == "0" else row[7] for row in rows],
                )
                bare = Doc(
                    nlp.vocab,
                    words=words,
                    tags=[row[4] for row in rows],
                    sent_starts=[i == 0 for i in range(len(words))],
                )
                examples.append(Example(bare, gold))
                rows = []
            if len(examples) == n_sentences:
                break
    return examples


def read_lemmas(nlp, path, n_sentences):
    with path.open(encoding="utf8") as file:
        sentences = itertools.islice(read_rows(file), n_sentences)
        for rows in sentences:
            words, lemmas, pos, morphs = (
                ["" if row[i] == "_" != row[1] else row[i] for row in rows]
                for i in (1, 2, 3, 5)
            )
            gold = Doc(nlp.vocab, words=words, lemmas=lemmas, pos=pos, morphs=morphs)
            yield Example(Doc(nlp.vocab, words=words, pos=pos, morphs=morphs), gold)


def read_rows(file):
    """The rows of words, for each sentence of a CoNLL-U file."""
    for is_blank, lines in itertools.groupby(file, key=lambda line: line == "\n"):
        if not is_blank:
            rows = [line.rstrip("\n").split("\t") for line in lines]
            yield [row for row in rows if row[0].isdigit()]


@pytest.mark.parametrize(
    ("name", "lang", "least"),
    [("ud_en_ewt", "en", 0.975), ("ud_pt_bosque", "pt", 0.98)],
)
def test_learns_lemmas(corpora, name, lang, least):
    """From gold parts of speech and features."""
    folder = find_corpus(corpora, name)
    nlp = spacy.blank(lang)
    examples = list(read_lemmas(nlp, folder / "train.conllu", 4000))
    dev = list(read_lemmas(nlp, folder / "dev.conllu", 500))
    lemmatizer = train(nlp, "dynsel_lemmatizer", examples, drop=0.1)
    scores = nlp.evaluate(dev)
    assert scores["lemma_acc"] > least
    lemmatizer.margin = float("inf")
    for example in dev:
        for token in example.predicted:
            token.lemma = 0
    assert scores["lemma_acc"] > nlp.evaluate(dev)["lemma_acc"] - 0.001
    assert len(lemmatizer.engine.to_bytes()) < 3_000_000


def test_learns_trees(corpora):
    folder = find_corpus(corpora, "ud_en_ewt")
    nlp = spacy.blank("en")
    examples = read_trees(nlp, folder / "train.conllu", 2000)
    dev = read_trees(nlp, folder / "dev.conllu", 300)
    parser = train(nlp, "dynsel_parser", examples, drop=0.1, min_label_freq=3)
    assert any("||" in label for label in parser.label_data)
    scores = nlp.evaluate(dev)
    assert scores["dep_uas"] > 0.80
    assert scores["dep_las"] > 0.75
    assert scores["sents_f"] == 1.0
    parser.margin = parser.label_margin = float("inf")
    assert scores["dep_las"] > nlp.evaluate(dev)["dep_las"] - 0.005
    assert len(parser.engine.to_bytes()) < 10_000_000
