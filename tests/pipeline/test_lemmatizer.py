"""The contract of a spaCy lemmatizer."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from helpers.contract import (
    check_contributions,
    check_empty_docs,
    check_equal_copies,
    check_error_handler,
    check_resuming,
    check_same_bytes,
    check_untrained,
    check_use_before_initialize,
    make_copies,
    make_stock,
)
from helpers.lemmatizer import (
    SENTENCES,
    lemmatize,
    make_examples,
    make_gold,
    train_lemmatizer,
    without_lemmas,
)
from spacy_dynsel.confidence.reliability import fit_confidence

NAME = "dynsel_lemmatizer"


@pytest.fixture
def examples(nlp):
    return make_examples(nlp)


@pytest.fixture
def lemmatizer(nlp, examples):
    """A lemmatizer that knows a few sentences by heart, within its pipeline `nlp`."""
    return train_lemmatizer(nlp, examples)


def lemmas_of(docs):
    return [[token.lemma_ for token in doc] for doc in docs]


def fresh(examples):
    return [without_lemmas(example.reference) for example in examples]


def gold_lemmas(examples):
    return lemmas_of(example.reference for example in examples)


def test_learns_by_heart(nlp, lemmatizer, examples):
    losses = {}
    lemmatizer.update(examples, losses=losses)
    assert losses == {NAME: 0.0}
    docs = list(lemmatizer.pipe(fresh(examples)))
    assert lemmas_of(docs) == gold_lemmas(examples)
    assert all(doc.has_annotation("LEMMA") for doc in docs)
    scored = [
        Example(doc, example.reference)
        for doc, example in zip(docs, examples, strict=True)
    ]
    assert lemmatizer.score(scored) == {"lemma_acc": 1.0}
    assert lemmatizer.describe()["mean_templates"] >= 1


def test_no_gold_no_score(nlp, lemmatizer, examples):
    docs = fresh(examples)
    assert lemmatizer.score([Example(doc, doc.copy()) for doc in docs]) == {
        "lemma_acc": None
    }


def test_part_of_speech_and_features_decide(nlp, lemmatizer):
    def find(pos, morph):
        doc = Doc(nlp.vocab, words=["leaves"], pos=[pos], morphs=[morph])
        return lemmatizer(doc)[0].lemma_

    assert find("NOUN", "Number=Plur") == "leaf"
    assert find("VERB", "Number=Sing|Person=3") == "leave"


def test_pipe_equals_call(nlp, lemmatizer, examples):
    called = lemmas_of(lemmatizer(doc) for doc in fresh(examples))
    for batch_size in (1, 3, 100):
        found = lemmatizer.pipe(fresh(examples), batch_size=batch_size)
        assert lemmas_of(found) == called


def test_predict_changes_nothing(nlp, lemmatizer, examples):
    docs = [
        *fresh(examples),
        Doc(nlp.vocab),
        Doc(nlp.vocab, words=["\n", "qqs"], pos=["X"] * 2),
    ]
    before = [doc.to_bytes() for doc in docs]
    n_strings = len(nlp.vocab.strings)
    batch = lemmatizer.predict(docs)
    assert [doc.to_bytes() for doc in docs] == before
    assert len(nlp.vocab.strings) == n_strings
    assert [len(labels) for labels in batch] == [len(doc) for doc in docs]
    assert [label for labels in batch for label in labels] == batch.labels.tolist()
    with pytest.raises(IndexError):
        batch[len(docs)]


def test_predictions_as_a_list_of_arrays(nlp, lemmatizer, examples):
    docs = fresh(examples)
    found = [np.asarray(labels) for labels in lemmatizer.predict(docs)]
    lemmatizer.set_annotations(docs, found)
    assert lemmas_of(docs) == gold_lemmas(examples)
    docs = fresh(examples)
    was = lemmatizer.labels.index("lower ves>f$")
    for wrong in ([[0]], [[999] * len(doc) for doc in docs], [[was] * 4] * 4):
        with pytest.raises(ValueError, match="DS045"):
            lemmatizer.set_annotations(docs, wrong)
        assert lemmas_of(docs) == [[""] * len(doc) for doc in docs]


def test_predictions_of_other_docs(nlp, lemmatizer, examples):
    docs = fresh(examples)
    batch = lemmatizer.predict(docs[:1])
    with pytest.raises(ValueError, match="DS045"):
        lemmatizer.set_annotations(docs[:2], batch)
    others = [Doc(nlp.vocab, words=["Qq", "ww", "ee", "rr"])]
    words = ["Ab", "Cd", "Ef", "Gh"]
    foreign = lemmatizer.predict([Doc(Vocab(), words=words, pos=["X"] * 4)])
    with pytest.raises(ValueError, match="DS045"):
        lemmatizer.set_annotations(others, foreign)


def test_empty_docs(nlp, lemmatizer):
    check_empty_docs(lemmatizer)


def test_white_space_is_its_own_lemma(nlp, lemmatizer):
    doc = Doc(nlp.vocab, words=["\n\n", "London", " ", "eggs"], pos=["X"] * 4)
    assert lemmas_of([lemmatizer(doc)])[0][::2] == ["\n\n", " "]
    stages = lemmatizer.statistics([doc])
    assert (stages["tokens"], stages["decisions"]) == (4, 2)
    assert [why.label for why in lemmatizer.explain(doc)][::2] == ["white space"] * 2


def test_white_space_is_not_learned(nlp):
    words = ["eggs", "\n", "hams"]
    gold = Doc(nlp.vocab, words=words, lemmas=["egg", "BREAK", "ham"])
    bare = Doc(nlp.vocab, words=words)
    lemmatizer = train_lemmatizer(nlp, [Example(bare, gold)])
    assert lemmatizer.labels == ("lower s>$",)
    assert lemmas_of([lemmatizer(Doc(nlp.vocab, words=words))]) == [
        ["egg", "\n", "ham"]
    ]


def test_overwrite(nlp, lemmatizer, examples):
    def run(overwrite):
        lemmatizer.overwrite = overwrite
        doc = fresh(examples)[0]
        doc[1].lemma_ = "XX"
        return lemmas_of([lemmatizer(doc)])[0]

    assert run(False) == ["she", "XX", "green", "egg"]
    assert run(True) == ["she", "like", "green", "egg"]


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [("orth", "Ham"), ("lower", "ham"), ("norm", "ham"), (None, "")],
)
def test_backoff(nlp, backoff, expected):
    gold = Doc(nlp.vocab, words=["eggs"], lemmas=["egg"])
    example = Example(Doc(nlp.vocab, words=["eggs"]), gold)
    lemmatizer = train_lemmatizer(nlp, [example], backoff=backoff)
    doc = Doc(nlp.vocab, words=["Ham", "Eggs"])
    why = lemmatizer.explain(doc)
    assert [one.label for one in why] == ["no script applies", "lower s>$"]
    assert lemmas_of([lemmatizer(doc)]) == [[expected, "egg"]]
    assert lemmatizer.statistics([doc])["decisions"] == 1


def test_labels(nlp):
    lemmatizer = nlp.add_pipe(NAME)
    assert lemmatizer.labels == ()
    assert lemmatizer.hide_labels
    assert lemmatizer.add_label("lower s>$") == 1
    assert lemmatizer.add_label("lower s>$") == 0
    assert lemmatizer.labels == lemmatizer.label_data == ("lower s>$",)
    for label in (1, None, b"A", ""):
        with pytest.raises(ValueError, match="DS041"):
            lemmatizer.add_label(label)
    with pytest.raises(ValueError, match="DS230"):
        lemmatizer.add_label("NOUN")


def test_labels_from_data_or_given(nlp, lemmatizer, examples):
    found = lemmatizer.labels
    assert found[:2] == ("lower", "lower s>$")
    assert set(found) == {
        *("lower", "lower s>$", "keep", "lower ves>f$", "lower ,>>", "lower ^wer>b")
    }
    assert lemmatizer.model.get_dim("nO") == len(found)
    with pytest.raises(ValueError, match="DS043"):
        lemmatizer.add_label("lower es>$")
    assert lemmatizer.add_label("lower s>$") == 0
    other = spacy.blank("en").add_pipe(NAME)
    other.initialize(lambda: examples[:1], labels=list(lemmatizer.label_data))
    assert other.labels == found
    # What no label makes is not learned.
    few = spacy.blank("en").add_pipe(NAME)
    few.initialize(lambda: examples, labels=["lower"])
    few.update(examples)
    assert few.labels == ("lower",)


@pytest.mark.parametrize("labels", ["lower", 3, {"trees": [], "labels": [1]}])
def test_labels_that_can_not_be_read(nlp, examples, labels):
    with pytest.raises(ValueError, match="DS232"):
        nlp.add_pipe(NAME).initialize(lambda: examples, labels=labels)


def test_labels_of_the_stock_component(nlp, examples):
    _, labels = make_stock("trainable_lemmatizer", make_examples, min_tree_freq=1)
    with pytest.raises(ValueError, match="DS232"):
        nlp.add_pipe(NAME).initialize(lambda: examples, labels=labels)


def test_rare_scripts_of_a_corpus_are_left_out(nlp):
    words = ["walks"] * 10_000 + ["cities"] * 4 + ["leaves"] * 3
    lemmas = ["walk"] * 10_000 + ["city"] * 4 + ["leaf"] * 3
    gold = Doc(nlp.vocab, words=words, lemmas=lemmas)
    example = Example(Doc(nlp.vocab, words=words), gold)
    for least, n_labels in ((1, 3), (3, 3), (4, 2), (5, 1)):
        other = spacy.blank("en").add_pipe(NAME, config={"min_tree_freq": least})
        other.initialize(lambda: [example])
        assert len(other.labels) == n_labels


def test_small_data_are_used_as_they_are(nlp, examples):
    lemmatizer = nlp.add_pipe(NAME, config={"min_tree_freq": 1000})
    lemmatizer.initialize(lambda: examples)
    assert len(lemmatizer.labels) == 6


def test_no_labels(nlp):
    nlp.add_pipe(NAME)
    with pytest.raises(ValueError, match="DS231"):
        nlp.initialize()


def test_use_before_initialize(nlp, examples):
    lemmatizer = nlp.add_pipe(NAME)
    check_use_before_initialize(lemmatizer, examples)
    with pytest.raises(ValueError, match="DS040"):
        lemmatizer.set_lookups({})


def test_initialize_twice(nlp, lemmatizer, examples):
    labels = lemmatizer.labels
    lemmatizer.initialize(lambda: examples)
    assert lemmatizer.labels == labels
    lemmatizer.update(examples)


def test_partial_gold(nlp):
    words = ["She", "likes", "eggs", "_"]
    for missing in ("", "_"):
        gold = Doc(nlp.vocab, words=words, lemmas=["she", missing, "egg", "_"])
        other = spacy.blank("en")
        example = Example(Doc(nlp.vocab, words=words), gold)
        lemmatizer = train_lemmatizer(other, [example])
        known = lemmatizer.get_gold(example).lemmas
        assert known == ["she", None, "egg", "_"]
        assert lemmatizer.labels == ("lower", "lower s>$")
    unknown = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))
    assert lemmatizer.update([unknown]) == {NAME: 0.0}


def test_parts_of_words_have_no_lemma(nlp):
    """What the tokenizer divides otherwise is not learned, and the rest is."""
    gold = Doc(
        nlp.vocab,
        words=["He", "hates", "green", "eggs"],
        pos=["PRON", "VERB", "ADJ", "NOUN"],
        lemmas=["he", "hate", "green", "egg"],
    )
    predicted = Doc(nlp.vocab, words=["He", "hat", "es", "green", "eggs"])
    lemmatizer = nlp.add_pipe(NAME)
    found = lemmatizer.get_gold(Example(predicted, gold))
    assert found.lemmas == ["he", None, None, "green", "egg"]
    strings = [nlp.vocab.strings[int(pos)] for pos in found.pos]
    assert strings == ["PRON", "", "", "ADJ", "NOUN"]
    joined = Doc(nlp.vocab, words=["Hehates", "green", "eggs"])
    assert lemmatizer.get_gold(Example(joined, gold)).lemmas == [None, "green", "egg"]


def test_round_trips(nlp, lemmatizer, examples, tmp_path):
    lemmatizer.margin = 1.25
    lemmatizer.set_lookups({"eggs": "EGG", "VERB": {"likes": "LIKE"}})
    expected = lemmas_of(lemmatizer(doc) for doc in fresh(examples))
    assert expected[0] == ["she", "LIKE", "green", "EGG"]
    copies = make_copies(nlp, tmp_path)
    check_equal_copies(copies, lemmatizer)
    for other in copies:
        component = other.get_pipe(NAME)
        docs = [without_lemmas(make_gold(other, sentence)) for sentence in SENTENCES]
        assert lemmas_of(component(doc) for doc in docs) == expected
        assert component.engine.reads_pos


def test_untrained_component_round_trips(nlp, tmp_path):
    check_untrained(nlp, NAME, "lower", tmp_path)


def test_training_goes_on_after_saving(nlp, examples, tmp_path):
    whole = train_lemmatizer(nlp, examples, n_updates=0, keep_training_state=True)
    check_resuming(nlp, whole, examples, tmp_path)


def test_corrections(nlp, lemmatizer, examples, tmp_path):
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    pipe = other.get_pipe(NAME)
    gold = Doc(other.vocab, words=["gloves"], pos=["NOUN"], lemmas=["glove"])
    assert lemmatize(pipe, gold) == ["glof"]
    pipe.update([Example(without_lemmas(gold), gold)])
    assert lemmatize(pipe, gold) == ["glove"]
    docs = [make_gold(other, sentence) for sentence in SENTENCES]
    assert [lemmatize(pipe, doc) for doc in docs] == lemmas_of(docs)


def test_corrections_that_no_script_makes(nlp, lemmatizer, tmp_path):
    nlp.to_disk(tmp_path)
    pipe = spacy.load(tmp_path).get_pipe(NAME)
    gold = Doc(pipe.vocab, words=["mice"], pos=["NOUN"], lemmas=["mouse"])
    with pytest.warns(UserWarning, match=r"DW232.*'mice' is 'mouse'"):
        pipe.update([Example(without_lemmas(gold), gold)])
    pipe.set_lookups({"NOUN": {"mice": "mouse"}})
    assert lemmatize(pipe, gold) == ["mouse"]


def test_training_does_not_warn_of_rare_scripts(nlp, examples):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lemmatizer = nlp.add_pipe(NAME)
        lemmatizer.initialize(lambda: examples, labels=["lower"])
        lemmatizer.update(examples)


def test_two_runs_write_the_same_bytes():
    check_same_bytes(NAME, make_examples)


def test_processes(nlp, lemmatizer, examples, start_method):
    docs = fresh(examples)
    expected = lemmas_of(nlp.pipe([doc.copy() for doc in docs]))
    assert lemmas_of(nlp.pipe(docs, n_process=2, batch_size=2)) == expected


def make_many(nlp, n_docs=300):
    rng = np.random.default_rng(0)
    words = [f"{stem}{end}" for stem in "abcdefgh" for end in ("s", "ves", "", "ING")]
    words += [f"New{i}s" for i in range(500)]
    docs = []
    for _ in range(n_docs):
        chosen = rng.choice(words, rng.integers(0, 60)).tolist()
        pos = rng.choice(["NOUN", "VERB", "PROPN"], len(chosen)).tolist()
        docs.append(Doc(nlp.vocab, words=chosen, pos=pos))
    return docs


@pytest.mark.parametrize("cache_size", [3, 50_000])
def test_threads(nlp, examples, cache_size):
    lemmatizer = train_lemmatizer(nlp, examples, cache_size=cache_size)
    docs = make_many(nlp)
    expected = lemmatizer.predict(docs)
    for n_threads in (2, 3, 8):
        # What fills while several threads work.
        other = nlp.add_pipe(
            NAME, f"other{n_threads}", config={"cache_size": cache_size}
        )
        other.from_bytes(lemmatizer.to_bytes(exclude=["vocab"]))
        other.n_threads = n_threads
        for _ in range(2):
            batch = other.predict(docs)
            assert batch.labels.tolist() == expected.labels.tolist()
            assert batch.lemmas.tolist() == expected.lemmas.tolist()
            assert batch.stage_counts.tolist() == expected.stage_counts.tolist()


def test_shared_by_threads(nlp, lemmatizer):
    docs = make_many(nlp, 60)
    expected = lemmatizer.predict(docs).lemmas.tolist()
    lemmatizer.margin = 3.9
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: lemmatizer.predict(docs).lemmas.tolist(), "abcd")
        )
    lemmatizer.margin = 4.0
    assert all(len(one) == len(expected) for one in found)
    assert found == [found[0]] * 4
    assert lemmatizer.predict(docs).lemmas.tolist() == expected


def test_the_cache_is_bounded(nlp, lemmatizer):
    lemmatizer.cfg["cache_size"] = 100
    for doc in make_many(nlp, 50):
        lemmatizer(doc)
        assert lemmatizer.n_cached <= 100
    assert lemmatizer.n_cached > 0


def test_margins(nlp, lemmatizer, examples):
    docs = [Doc(nlp.vocab, words=["Eggs", "leaves"], pos=["NOUN", "VERB"])]
    lemmatizer.margin = float("inf")
    assert lemmatizer.statistics(docs)["stages"] == [0.0, 1.0]
    full = lemmatizer.predict(docs).labels.tolist()
    assert lemmatizer.engine.predict_without_exit(docs).labels.tolist() == full
    lemmatizer.margin = 0.0
    assert lemmatizer.statistics(docs)["stages"] == [1.0, 0.0]
    for bad in (-1.0, "x", [1.0, 2.0]):
        with pytest.raises(ValueError, match="DS020"):
            lemmatizer.margin = bad


def test_a_known_lemma_is_preferred(nlp):
    """Of scripts that are nearly as good, the one wins whose lemma was learned from, and
    explanations say so."""
    pairs = [
        ("walked", "walk"),
        ("talked", "talk"),
        ("asked", "ask"),
        ("votes", "vote"),
    ]
    pairs += [("liked", "like"), ("hoped", "hope"), ("visits", "visit")]
    examples = [
        Example(without_lemmas(gold), gold)
        for form, lemma in pairs
        for gold in [Doc(nlp.vocab, words=[form], pos=["VERB"], lemmas=[lemma])]
    ]
    lemmatizer = train_lemmatizer(nlp, examples)
    words = ["voted", "visited", "Voted"]
    verbs = Doc(nlp.vocab, words=words, pos=["VERB"] * 3)
    assert lemmas_of([lemmatizer(verbs)]) == [["vote", "visit", "vote"]]
    helped = [
        why for why in lemmatizer.explain(verbs) if "known lemma" in why.contributions
    ]
    assert helped
    for why in helped:
        ours, others = np.sum(list(why.contributions.values()), axis=0)
        assert ours - others == pytest.approx(why.lead)
        assert why.lead >= 0 and why.contributions["known lemma"][1] == 0
    # It is known as a verb only.
    nouns = Doc(nlp.vocab, words=words, pos=["NOUN"] * 3)
    for why in lemmatizer.explain(nouns):
        assert "known lemma" not in why.contributions


def test_explanations_add_up(nlp, lemmatizer, examples):
    for doc in fresh(examples):
        batch = lemmatizer.predict([doc])
        for why, label in zip(lemmatizer.explain(doc), batch[0], strict=True):
            assert why.label == lemmatizer.labels[label]
            check_contributions(why)


# Strings.


def test_memory_zones(nlp, lemmatizer):
    """Lemmas are found again after their strings were lost, whoever opened a zone, and
    none is kept for good."""
    words = ["Walks", "Qqings", "London"]
    pos = ["VERB", "NOUN", "PROPN"]

    def run():
        doc = lemmatizer(Doc(nlp.vocab, words=words, pos=pos))
        return lemmas_of([doc])[0]

    with nlp.memory_zone():
        expected = run()
        assert expected[1] == "qqing"
    assert "qqing" not in nlp.vocab.strings
    n_strings = len(nlp.vocab.strings)
    for zone in (nlp.memory_zone, nlp.vocab.memory_zone, nlp.memory_zone):
        with zone():
            assert run() == expected
            assert run() == expected
        assert "qqing" not in nlp.vocab.strings
        assert len(nlp.vocab.strings) == n_strings
    assert run() == expected
    assert "qqing" in nlp.vocab.strings


def test_several_vocabularies(nlp, lemmatizer):
    """What is known from one vocabulary is written into another."""
    for vocab in (nlp.vocab, Vocab(), spacy.blank("pt").vocab):
        doc = Doc(vocab, words=["zqqs", "zqqs"], pos=["NOUN"] * 2)
        assert lemmas_of([lemmatizer(doc)]) == [["zqq", "zqq"]]
        assert "zqq" in vocab.strings


def test_a_shared_vocabulary(nlp, lemmatizer, examples):
    other = spacy.blank("en", vocab=nlp.vocab)
    pipe = other.add_pipe(NAME).from_bytes(lemmatizer.to_bytes(exclude=["vocab"]))
    with nlp.memory_zone():
        assert lemmas_of(map(pipe, fresh(examples))) == gold_lemmas(examples)
    assert lemmas_of(map(lemmatizer, fresh(examples))) == gold_lemmas(examples)


def test_lemmas_that_are_symbols(nlp):
    """spaCy gives some words numbers of their own."""
    words = ["cases", "marks", "NOUNs"]
    gold = Doc(nlp.vocab, words=words, lemmas=["case", "mark", "NOUN"])
    lemmatizer = train_lemmatizer(nlp, [Example(Doc(nlp.vocab, words=words), gold)])
    assert lemmatize(lemmatizer, gold) == ["case", "mark", "NOUN"]


# Parts of speech.


def test_docs_without_parts_of_speech(nlp, lemmatizer, examples):
    doc = without_lemmas(examples[0].reference, pos=False)
    with pytest.warns(UserWarning, match="DW230"):
        lemmatizer(doc)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lemmatizer(without_lemmas(examples[0].reference, pos=False))


def test_data_without_parts_of_speech(nlp):
    sentences = [
        (words, " ".join("X" for _ in words.split()), morphs, lemmas)
        for words, _, morphs, lemmas in SENTENCES[:1]
    ]
    golds = [make_gold(nlp, one) for one in sentences]
    for gold in golds:
        for token in gold:
            token.pos_ = ""
            token.set_morph("")
    examples = [Example(without_lemmas(gold), gold) for gold in golds]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lemmatizer = train_lemmatizer(nlp, examples)
        assert not lemmatizer.engine.reads_pos
        assert lemmatize(lemmatizer, golds[0]) == lemmas_of(golds)[0]
        # Nor does it matter whether there are any later.
        tagged = Doc(nlp.vocab, words=[t.text for t in golds[0]], pos=["VERB"] * 4)
        assert lemmatize(lemmatizer, tagged) == lemmas_of(golds)[0]


def test_nothing_sets_parts_of_speech(nlp):
    """What the pipeline will not have is not learned from, and said."""
    examples = make_examples(nlp, pos=False)
    lemmatizer = nlp.add_pipe(NAME)
    with pytest.warns(UserWarning, match="DW231"):
        nlp.initialize(lambda: examples)
    assert not lemmatizer.engine.reads_pos


@pytest.mark.parametrize("factory", ["morphologizer", "attribute_ruler"])
def test_gold_parts_of_speech_are_learned_from(nlp, factory):
    examples = make_examples(nlp, pos=False)
    nlp.add_pipe(factory)
    lemmatizer = nlp.add_pipe(NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lemmatizer.initialize(lambda: examples, nlp=nlp)
    assert lemmatizer.engine.reads_pos
    for _ in range(15):
        lemmatizer.update(examples)
    golds = [example.reference for example in examples]
    assert [lemmatize(lemmatizer, gold) for gold in golds] == lemmas_of(golds)


# Lookup tables.


def make_lookups():
    lookups = Lookups()
    lookups.add_table("lemma_lookup", {"likes": "LIKE", "green": "GREEN"})
    lookups.add_table("lemma_exc", {"noun": {"eggs": ["EGG", "ovum"]}})
    return lookups


@pytest.mark.parametrize(
    "lookups",
    [
        make_lookups(),
        {"likes": "LIKE", "green": "GREEN", "NOUN": {"eggs": "EGG"}},
        {"likes": ["LIKE"], "green": "GREEN", "noun": {"eggs": ("EGG",)}},
    ],
)
def test_lookups_win(nlp, examples, lookups):
    lemmatizer = nlp.add_pipe(NAME)
    lemmatizer.initialize(lambda: examples, lookups=lookups)
    for _ in range(10):
        lemmatizer.update(examples)
    doc = fresh(examples)[0]
    assert [why.label for why in lemmatizer.explain(doc)][1:] == ["lookup table"] * 3
    assert lemmas_of([lemmatizer(doc)]) == [["she", "LIKE", "GREEN", "EGG"]]
    assert lemmatizer.statistics([doc])["decisions"] == 1
    other = spacy.blank("en").add_pipe(NAME).from_bytes(lemmatizer.to_bytes())
    assert lemmas_of([other(fresh(examples)[0])]) == lemmas_of([doc])
    lemmatizer.set_lookups(None)
    assert lemmatize(lemmatizer, examples[0].reference)[1:3] == ["like", "green"]


def test_which_entry_is_taken(nlp, lemmatizer):
    lemmatizer.set_lookups({"Eggs": "any", "NOUN": {"eggs": "noun", "EGGS": "capital"}})

    def find(word, pos):
        return lemmatizer(Doc(nlp.vocab, words=[word], pos=[pos]))[0].lemma_

    assert find("Eggs", "VERB") == "any"
    assert find("Eggs", "NOUN") == "noun"
    assert find("EGGS", "NOUN") == "capital"
    assert find("eggs", "VERB") == "egg"


def test_lookups_in_training(nlp, lemmatizer, examples):
    """Docs that are annotated while a lemmatizer learns get them, too."""
    lemmatizer.set_lookups({"likes": "LIKE"})
    lemmatizer.update(examples)
    docs = [example.predicted for example in examples]
    expected = [
        ["LIKE" if lemma == "like" else lemma for lemma in one]
        for one in gold_lemmas(examples)
    ]
    assert lemmas_of(lemmatizer.pipe(docs)) == expected


# spaCy's ways.


def test_error_handler(nlp, lemmatizer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_error_handler(nlp, ["She likes eggs", "a bad doc", "eggs"], "bad")


def test_annotating_in_training(nlp, lemmatizer, examples):
    lemmatizer.update(examples)
    docs = [example.predicted for example in examples]
    assert lemmas_of(lemmatizer.pipe(docs)) == gold_lemmas(examples)


def test_confidence(nlp, lemmatizer):
    """Words that are decided get a probability; those of tables and white space don't."""
    lemmatizer.set_lookups({"New1s": "NEW"})
    examples = []
    for doc in make_many(nlp, 100):
        gold = doc.copy()
        for token in gold:
            token.lemma_ = token.text.removesuffix("s")
        examples.append(Example(doc, gold))
    fit_confidence(lemmatizer, examples)
    words = ["News", "New1s", " ", "leaves"]
    doc = lemmatizer(Doc(nlp.vocab, words=words, pos=["NOUN"] * 4))
    found = [token._.dynsel_lemma_confidence for token in doc]
    assert [value is None for value in found] == [False, True, True, False]
    assert all(0 < value < 1 for value in found if value is not None)
    assert doc[0]._.dynsel_confidence == found[0]
    # With a lemma that stays, there is nothing to be sure of.
    kept = Doc(nlp.vocab, words=["News"], pos=["NOUN"], lemmas=["new"])
    assert lemmatizer(kept)[0]._.dynsel_lemma_confidence is None
    other = spacy.blank("en").add_pipe(NAME).from_bytes(lemmatizer.to_bytes())
    again = other(Doc(nlp.vocab, words=words, pos=["NOUN"] * 4))
    assert [token._.dynsel_lemma_confidence for token in again] == found


def test_settings_that_make_no_sense(nlp):
    for setting, value, code in (
        ("backoff", "tag", "DS233"),
        ("backoff", "lemma_", "DS233"),
        ("min_tree_freq", -1, "DS022"),
        ("min_tree_freq", 1.5, "DS022"),
        ("overwrite", "yes", "DS021"),
    ):
        lemmatizer = nlp.add_pipe(NAME, f"{setting}{code}{value}".replace(".", ""))
        with pytest.raises(ValueError, match=code):
            setattr(lemmatizer, setting, value)
    with pytest.raises(Exception, match="top_k"):
        nlp.add_pipe(NAME, "other", config={"top_k": 2})
