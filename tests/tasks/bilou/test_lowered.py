"""What the training data say about how words are written."""

import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_dynsel.tasks.bilou.gold import count_lowered
from spacy_dynsel.tasks.word_tables import N_RESERVED

NLP = spacy.blank("en")


def make(text: str, **annotation) -> Doc:
    return Doc(NLP.vocab, words=text.split(" "), **annotation)


def count(*texts: str) -> dict[str, int]:
    counts = count_lowered([make(text) for text in texts])
    return {NLP.vocab.strings[word]: n for word, n in counts.items()}


def test_counts_docs_and_not_words():
    counts = count("The house and the old house", "A house in Rome")
    assert counts["house"] == 2
    assert counts["the"] == counts["in"] == 1
    assert "a" not in counts
    assert "rome" not in counts


def test_docs_without_capitals_do_not_count():
    assert count("we saw rome", "I saw rome") == {"saw": 1, "rome": 1}


def test_white_space_is_no_word():
    assert count("The \n house") == {"house": 1}


def train(lines: list[str] | None, golds: list[Doc], n_updates: int = 20):
    templates = {} if lines is None else {"default": None, "lines": lines}
    nlp = spacy.blank("en", vocab=NLP.vocab)
    ner = nlp.add_pipe("dynsel_ner", config={"model": {"templates": templates}})
    examples = [Example(Doc(NLP.vocab, words=[t.text for t in d]), d) for d in golds]
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return ner


def names_and_words() -> list[Doc]:
    """Names and other words at the start of sentences; only the latter occur in lower
    case, too."""
    golds = []
    for i in range(12):
        golds.append(make(f"Nam{i} ran", ents=["B-PER", "O"]))
        golds.append(make(f"Wor{i} ran", ents=["O", "O"]))
        golds.append(make(f"wor{i} Nam{i}", ents=["O", "B-PER"]))
    return [*golds, make("mouse Nam1", ents=["O", "B-PER"])]


def test_table_has_three_classes():
    golds = [make(f"Ann knows how{i}", ents=["B-PER", "O", "O"]) for i in range(5)]
    golds += [make("Bob sees", ents=["B-PER", "O"])] * 2
    reader = train(["word", "class"], golds, 1).engine._reader
    table = dict(zip(reader.class_keys.tolist(), reader.class_values, strict=True))
    words = ("how1", "sees", "knows")
    assert [table[NLP.vocab[word].lower] - N_RESERVED for word in words] == [0, 1, 2]
    assert NLP.vocab["ann"].lower not in table


def test_no_table_where_no_template_asks_for_it():
    assert len(train(["word"], names_and_words(), 1).engine._reader.class_keys) == 0


def test_names_at_the_start_are_told_from_words_by_their_case_elsewhere():
    """Both have a capital, and neither is known with it."""
    for lines, expected in (
        (["case", "class case"], [["Zorba"], []]),
        (["case"], [["Zorba"], ["Mouse"]]),
    ):
        ner = train(lines, names_and_words())
        found = [ner(make(f"{word} ran")).ents for word in ("Zorba", "Mouse")]
        assert [[ent.text for ent in ents] for ents in found] == expected
