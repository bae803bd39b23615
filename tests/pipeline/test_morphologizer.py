"""The contract of a spaCy morphologizer."""

import copy
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.contract import (
    check_contributions,
    check_empty_docs,
    check_equal_copies,
    check_error_handler,
    check_memory_zones,
    check_resuming,
    check_same_bytes,
    check_untrained,
    check_use_before_initialize,
    make_copies,
    make_stock,
)
from helpers.morphologizer import (
    SENTENCES,
    make_examples,
    make_gold,
    morphs_of,
    train_morphologizer,
)
from spacy_dynsel.confidence.reliability import fit_confidence
from spacy_dynsel.tasks.morphology.engine import MIN_SEEN

NAME = "dynsel_morphologizer"
INF = float("inf")
TEXTS = [words for words, *_ in SENTENCES]
TEXTS += ["", "   ", "Green leaves saw Übermut", "\n", "She  leaves\n\nLondon"]


@pytest.fixture
def examples(nlp):
    return make_examples(nlp)


@pytest.fixture
def morphologizer(nlp, examples):
    """A morphologizer that knows a few sentences by heart, within its pipeline `nlp`."""
    return train_morphologizer(nlp, examples)


def gold_morphs(examples):
    return morphs_of(example.reference for example in examples)


def run_all(nlp):
    return morphs_of(nlp(text) for text in TEXTS)


def make_many(nlp, n_docs=300):
    rng = np.random.default_rng(0)
    words = [word for text in TEXTS for word in text.split()]
    words += [f"new{i}s" for i in range(100)]
    return [
        Doc(nlp.vocab, words=rng.choice(words, rng.integers(0, 60)).tolist())
        for _ in range(n_docs)
    ]


def test_learns_by_heart(nlp, morphologizer, examples):
    docs = list(nlp.pipe(TEXTS[: len(SENTENCES)]))
    assert morphs_of(docs) == gold_morphs(examples)
    assert all(doc.has_annotation("MORPH") for doc in docs)
    assert all(doc.has_annotation("POS") for doc in docs)
    scores = nlp.evaluate(examples)
    assert (scores["pos_acc"], scores["morph_acc"], scores["morph_micro_f"]) == (
        1,
        1,
        1,
    )
    described = morphologizer.describe()
    assert 1 <= described["mean_templates"] <= described["templates"]


def test_loss_vanishes(nlp):
    """Where the word alone says what it is, as the first stage has to."""
    examples = make_examples(nlp, [SENTENCES[0], SENTENCES[3]])
    train_morphologizer(nlp, examples, n_updates=40)
    losses = {}
    nlp.update(examples, losses=losses)
    assert losses == {NAME: 0.0}


def test_no_gold_no_score(nlp, morphologizer):
    scores = nlp.evaluate([Example(nlp.make_doc("a b"), nlp.make_doc("a b"))])
    assert scores["pos_acc"] is None
    assert scores["morph_acc"] is None


def test_pipe_equals_call(nlp, morphologizer):
    called = run_all(nlp)
    for batch_size in (1, 3, 100):
        assert morphs_of(nlp.pipe(TEXTS, batch_size=batch_size)) == called


def test_predict_changes_nothing(nlp, morphologizer):
    docs = [nlp.make_doc(text) for text in TEXTS]
    before = [doc.to_bytes() for doc in docs]
    n_strings = len(nlp.vocab.strings)
    batch = morphologizer.predict(docs)
    assert [doc.to_bytes() for doc in docs] == before
    assert len(nlp.vocab.strings) == n_strings
    assert [len(labels) for labels in batch] == [len(doc) for doc in docs]
    assert [label for labels in batch for label in labels] == batch.labels.tolist()
    with pytest.raises(IndexError):
        batch[len(docs)]


def test_predictions_as_a_list_of_arrays(nlp, morphologizer):
    docs = [nlp.make_doc(text) for text in TEXTS]
    found = [np.asarray(labels) for labels in morphologizer.predict(docs)]
    morphologizer.set_annotations(docs, found)
    assert morphs_of(docs) == run_all(nlp)
    doc = nlp.make_doc("She likes eggs")
    # The last one says that words are white space.
    for wrong in ([[0]], [[0] * 4], [[0, 0, 999]], [[0, 0, 0xFFFF]]):
        for extend in (False, True):
            morphologizer.cfg["extend"] = extend
            with pytest.raises(ValueError, match="DS045"):
                morphologizer.set_annotations([doc], wrong)
            assert morphs_of([doc]) == [[("", "")] * 3]
            assert not doc.has_annotation("MORPH")


def test_empty_docs(nlp, morphologizer):
    check_empty_docs(morphologizer)
    empty = Doc(nlp.vocab)
    assert morphologizer.statistics([empty])["decisions"] == 0
    morphologizer.cfg["extend"] = True
    assert morphologizer(empty) is empty


OLD = ["Foo=Bar|Number=Dual", "", None, "Number=Dual"]


def make_annotated(vocab):
    """Docs with features that are set, that are empty, and that are not set."""
    doc = Doc(vocab, words=["She", "likes", "green", "eggs"], pos=["X", "", "", "ADV"])
    for token, morph in zip(doc, OLD, strict=True):
        if morph is not None:
            token.set_morph(morph)
    return doc


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("extend", [True, False])
def test_overwrite_and_extend_as_spacy_does(nlp, morphologizer, overwrite, extend):
    stock_nlp = spacy.blank("en")
    stock = stock_nlp.add_pipe(
        "morphologizer", config={"overwrite": overwrite, "extend": extend}
    )
    stock.initialize(
        lambda: make_examples(stock_nlp), labels=copy.deepcopy(morphologizer.label_data)
    )
    assert stock.labels == morphologizer.labels
    morphologizer.cfg |= {"overwrite": overwrite, "extend": extend}
    doc = make_annotated(nlp.vocab)
    labels = morphologizer.predict([doc])
    expected = make_annotated(stock_nlp.vocab)
    stock.set_annotations([expected], [labels[0].tolist()])
    morphologizer.set_annotations([doc], labels)
    assert morphs_of([doc]) == morphs_of([expected])
    assert [t.has_morph() for t in doc] == [t.has_morph() for t in expected]
    assert doc.to_bytes(exclude=["user_data"]) == expected.to_bytes(
        exclude=["user_data"]
    )


@pytest.mark.parametrize("extend", [True, False])
def test_white_space_that_is_annotated(nlp, morphologizer, extend):
    def run(overwrite):
        morphologizer.cfg |= {"overwrite": overwrite, "extend": extend}
        doc = Doc(nlp.vocab, words=["She", "\n"], pos=["", "X"], morphs=["", "A=B"])
        return morphs_of([morphologizer(doc)])[0][1]

    assert run(False) == ("X", "A=B")
    assert run(True) == ("SPACE", "A=B" if extend else "")


def test_labels(nlp):
    morphologizer = nlp.add_pipe(NAME)
    assert morphologizer.labels == ()
    assert morphologizer.label_data == {"morph": {}, "pos": {}}
    # As spaCy writes it, whatever the order.
    assert morphologizer.add_label("POS=NOUN|Number=Sing|Case=Nom,Acc") == 1
    assert morphologizer.add_label("Number=Sing|Case=Acc,Nom|POS=NOUN") == 0
    assert morphologizer.labels == ("Case=Acc,Nom|Number=Sing|POS=NOUN",)
    assert morphologizer.add_label("_") == 1
    assert morphologizer.add_label("Number=Sing") == 1
    assert morphologizer.label_data["pos"]["Number=Sing"] == 0
    for label in (1, None, b"A", "", "\ud800=x"):
        with pytest.raises(ValueError, match="DS041"):
            morphologizer.add_label(label)


@pytest.mark.parametrize(
    "label",
    [
        *("NOUN", "Number=", "=Sing", "|", "Number=Sing|", "|POS=X", "POS=NOPE"),
        *("POS=", "Number=Sing|Number=Plur", "POS=X|POS=NOUN", "_|POS=X", "=", "A=b|_"),
    ],
)
def test_malformed_labels(nlp, examples, label):
    morphologizer = nlp.add_pipe(NAME)
    with pytest.raises(ValueError, match="DS072"):
        morphologizer.add_label(label)
    with pytest.raises(ValueError, match="DS072"):
        morphologizer.initialize(lambda: examples, labels=["POS=X", label])
    assert morphologizer.labels == ()
    assert not morphologizer.engine.is_initialized


@pytest.mark.parametrize(
    "label",
    [
        *("Number=Sing|POS=NOUN", "POS=NOUN", "_", "Number=Sing", "B=b|A=a|POS=X"),
        *("PronType=Int,Rel", "A=c,b,a|POS=DET", "Foo=1|foo=2|POS=X", "Zz=1|POS=X"),
        *("Poss=Yes|POS=PRON", "Gender[psor]=Masc|POS=ADJ"),
    ],
)
def test_labels_are_those_of_spacy(label):
    stock = spacy.blank("en").add_pipe("morphologizer")
    stock.add_label(label)
    ours = spacy.blank("en").add_pipe(NAME)
    ours.add_label(label)
    assert ours.labels == stock.labels
    assert ours.label_data["pos"] == stock.label_data["pos"]
    # What is empty, spaCy writes in two ways; this is that of initialize.
    morphs = [morph.replace("_", "") for morph in stock.label_data["morph"].values()]
    assert list(ours.label_data["morph"].values()) == morphs


def test_labels_from_data_or_given(nlp, morphologizer, examples):
    found = morphologizer.labels
    assert set(found) == {
        "|".join(sorted([*(m.split("|") if m else []), f"POS={pos}"]))
        for _, all_pos, morphs in SENTENCES
        for pos, m in zip(all_pos.split(), morphs, strict=True)
    }
    assert morphologizer.model.get_dim("nO") == len(found)
    with pytest.raises(ValueError, match="DS043"):
        morphologizer.add_label("POS=INTJ")
    assert morphologizer.add_label(found[0]) == 0
    data = morphologizer.label_data
    for labels in (data, list(data["morph"]), tuple(found)):
        other = spacy.blank("en").add_pipe(NAME)
        other.initialize(lambda: examples[:1], labels=labels)
        assert other.labels == found
        assert other.label_data == data


def test_labels_of_the_stock_component(nlp, examples):
    stock, labels = make_stock("morphologizer", make_examples)
    morphologizer = nlp.add_pipe(NAME)
    morphologizer.initialize(lambda: examples, labels=labels)
    assert morphologizer.labels == stock.labels
    assert morphologizer.label_data == labels


@pytest.mark.parametrize("labels", ["POS=X", 3, {"pos": {}}, {"morph": 3}, [3]])
def test_labels_that_can_not_be_read(nlp, examples, labels):
    morphologizer = nlp.add_pipe(NAME)
    with pytest.raises((TypeError, ValueError)):
        morphologizer.initialize(lambda: examples, labels=labels)
    assert not morphologizer.engine.is_initialized


def test_labels_that_were_added_come_first(nlp, examples):
    morphologizer = nlp.add_pipe(NAME)
    morphologizer.add_label("POS=INTJ")
    nlp.initialize(lambda: examples)
    assert morphologizer.labels[0] == "POS=INTJ"
    assert len(morphologizer.labels) > 5


def test_no_labels(nlp):
    nlp.add_pipe(NAME)
    with pytest.raises(ValueError, match=r"DS042.*token\.pos"):
        nlp.initialize()


def test_use_before_initialize(nlp, examples):
    check_use_before_initialize(nlp.add_pipe(NAME), examples)


def test_initialize_twice(nlp, morphologizer, examples):
    labels = morphologizer.labels
    nlp.initialize(lambda: examples)
    assert morphologizer.labels == labels
    nlp.update(examples)


def test_partial_gold(nlp):
    words = ["She", "likes", "green", "eggs"]
    gold = Doc(nlp.vocab, words=words, pos=["PRON", "", "", ""])
    # Features without a part of speech, an empty list of them, and nothing.
    gold[1].set_morph("Number=Sing")
    gold[2].set_morph("")
    example = Example(Doc(nlp.vocab, words=words), gold)
    morphologizer = train_morphologizer(nlp, [example])
    assert set(morphologizer.labels) == {"POS=PRON", "Number=Sing", "_"}
    known = morphologizer.get_gold(example).labels.tolist()
    assert [morphologizer.labels[i] if i >= 0 else None for i in known] == [
        *("POS=PRON", "Number=Sing", "_", None)
    ]
    assert morphs_of([nlp("She likes green")]) == [
        [("PRON", ""), ("", "Number=Sing"), ("", "")]
    ]
    unknown = Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))
    assert morphologizer.update([unknown]) == {NAME: 0.0}


@pytest.mark.parametrize(
    "words",
    [
        ["She", "lik", "es", "green", "eggs"],
        ["Shelikes", "green", "eggs"],
        ["She", "likes", "\n", "green", "eggs"],
        ["She", "likes", "\n", "gr", "een", "eggs"],
        ["Shelikesgreeneggs"],
    ],
)
def test_misaligned_gold(nlp, morphologizer, words):
    """What spaCy aligns counts, but not for white space."""
    example = Example(Doc(nlp.vocab, words=words), make_gold(nlp, SENTENCES[0]))
    expected = [
        -1
        if pos is None or morph is None or word.isspace()
        else morphologizer.labels.index(
            "|".join(sorted([*morph.split("|"), f"POS={pos}"]))
        )
        for word, pos, morph in zip(
            words,
            example.get_aligned("POS", as_string=True),
            example.get_aligned("MORPH", as_string=True),
            strict=True,
        )
    ]
    assert morphologizer.get_gold(example).labels.tolist() == expected
    morphologizer.update([example])


def test_labels_unseen_at_initialize(nlp, morphologizer, examples):
    gold = Doc(nlp.vocab, words=["She", "likes"], pos=["PRON", "INTJ"])
    unseen = Example(Doc(nlp.vocab, words=["She", "likes"]), gold)
    before = morphologizer.engine.to_bytes()
    with pytest.warns(UserWarning, match=r"DW110.*POS=PRON"):
        assert morphologizer.update([unseen]) == {NAME: 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        morphologizer.update([unseen])
        assert morphologizer.get_gold(unseen).labels.tolist() == [-1, -1]
    assert morphologizer.engine.to_bytes() == before


def test_white_space(nlp, morphologizer):
    words = ["She", "likes", "green", "eggs"]
    plain = Doc(nlp.vocab, words=words)
    spaced = Doc(nlp.vocab, words=["\n", "She", " ", "likes", "\t", "green", "eggs"])
    morphologizer(plain)
    morphologizer(spaced)
    found = morphs_of([spaced])[0]
    assert [found[i] for i in (1, 3, 5, 6)] == morphs_of([plain])[0]
    assert [found[i] for i in (0, 2, 4)] == [("SPACE", "")] * 3
    assert all(token.has_morph() for token in spaced)
    assert morphologizer.statistics([spaced])["decisions"] == 4
    assert [one.label for one in morphologizer.explain(spaced)][:1] == ["POS=SPACE"]


def test_white_space_is_not_learned(nlp):
    words = ["She", "\n", "likes"]
    gold = Doc(
        nlp.vocab, words=words, pos=["PRON", "X", "VERB"], morphs=["", "A=B", ""]
    )
    morphologizer = train_morphologizer(
        nlp, [Example(Doc(nlp.vocab, words=words), gold)]
    )
    assert set(morphologizer.labels) == {"POS=PRON", "POS=VERB"}
    assert morphs_of([morphologizer(Doc(nlp.vocab, words=words))]) == [
        [("PRON", ""), ("SPACE", ""), ("VERB", "")]
    ]


def test_round_trips(nlp, morphologizer, tmp_path):
    morphologizer.margin = 1.25
    expected = run_all(nlp)
    data = morphologizer.to_bytes()
    copies = make_copies(nlp, tmp_path)
    check_equal_copies(copies, morphologizer)
    assert [run_all(other) for other in copies] == [expected] * 4
    assert morphologizer.to_bytes() == data
    assert not list(tmp_path.rglob("*.part"))


def test_untrained_component_round_trips(nlp, tmp_path):
    check_untrained(nlp, NAME, "POS=X", tmp_path)


def test_training_goes_on_after_saving(nlp, examples, tmp_path):
    whole = train_morphologizer(
        nlp, examples, n_updates=0, keep_training_state=True, model={"seeds": 2}
    )
    check_resuming(nlp, whole, examples, tmp_path)


def test_corrections(nlp, morphologizer, examples, tmp_path):
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    words, pos = ["green", "likes"], ["NOUN", "NOUN"]
    gold = Doc(other.vocab, words=words, pos=pos, morphs=["Number=Plur"] * 2)
    assert morphs_of([other("green likes")]) != morphs_of([gold])
    other.update([Example(Doc(other.vocab, words=words), gold)])
    assert morphs_of([other("green likes")]) == morphs_of([gold])
    assert run_all(other)[: len(SENTENCES)] == gold_morphs(examples)


def test_a_frequent_word_gets_a_label_that_it_never_had(tmp_path):
    vocab = spacy.blank("en").vocab
    words = ["the", "red", "runs"]
    gold = Doc(vocab, words=words, pos=["DET", "ADJ", "VERB"], morphs=["A=B", "", ""])
    nlp = spacy.blank("en")
    nlp.add_pipe("dynsel_morphologizer")
    examples = [Example(Doc(vocab, words=words), gold) for _ in range(MIN_SEEN)]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    gold = Doc(other.vocab, words=["the"], pos=["ADJ"], morphs=[""])
    other.update([Example(Doc(other.vocab, words=["the"]), gold)])
    assert morphs_of([other("the")]) == morphs_of([gold])
    other.to_disk(tmp_path)
    assert morphs_of([spacy.load(tmp_path)("the")]) == morphs_of([gold])


def test_two_runs_write_the_same_bytes():
    check_same_bytes(NAME, make_examples)


def test_processes(nlp, morphologizer, start_method):
    expected = morphs_of(nlp.pipe(TEXTS))
    assert morphs_of(nlp.pipe(TEXTS, n_process=2, batch_size=2)) == expected


@pytest.mark.parametrize("margin", [1.0, 15.0, INF])
def test_threads(nlp, morphologizer, margin):
    docs = make_many(nlp)
    morphologizer.margin = margin
    expected = morphologizer.predict(docs)
    for n_threads in (2, 3, 8):
        morphologizer.n_threads = n_threads
        batch = morphologizer.predict(docs)
        assert batch.labels.tolist() == expected.labels.tolist()
        assert batch.stage_counts.tolist() == expected.stage_counts.tolist()
        assert batch.label_counts.tolist() == expected.label_counts.tolist()


def test_many_python_threads_on_one_pipeline(nlp, examples):
    """A small cache is filled and replaced by all of them at once."""
    morphologizer = train_morphologizer(nlp, examples, cache_size=40)
    docs = make_many(nlp, 160)
    batches = [docs[i : i + 20] for i in range(0, 160, 20)]
    expected = [morphologizer.predict(one).labels.tolist() for one in batches]

    def run(one):
        return morphologizer.predict(one).labels.tolist()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            assert list(pool.map(run, batches)) == expected
    assert morphologizer.n_cached <= 40


def test_memory_zones(nlp, morphologizer):
    check_memory_zones(nlp, run_all)


@pytest.mark.parametrize("extend", [True, False])
def test_features_outlive_memory_zones(extend):
    """Those of a component that was made in a zone, too."""
    nlp = spacy.blank("en")
    with nlp.memory_zone():
        train_morphologizer(nlp, make_examples(nlp), extend=extend)
        expected = run_all(nlp)
    assert run_all(nlp) == expected
    with nlp.memory_zone():
        assert run_all(nlp) == expected
    assert run_all(nlp) == expected


def test_margin_infinity_is_the_full_model(nlp, morphologizer):
    docs = make_many(nlp, 50)
    morphologizer.margin = INF
    full = morphologizer.predict(docs)
    statistics = morphologizer.statistics(docs)
    assert statistics["stages"] == [0.0, 0.0, 0.0, 1.0]
    assert statistics["labels"] == [len(morphologizer.labels)] * 4
    again = morphologizer.engine.predict_without_exit(docs)
    assert again.labels.tolist() == full.labels.tolist()
    morphologizer.margin = 0.0
    assert morphologizer.statistics(docs)["stages"] == [1.0, 0.0, 0.0, 0.0]
    for bad in (-1.0, "x", [1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match="DS020"):
            morphologizer.margin = bad


@pytest.mark.parametrize("margin", [0.0, 2.0, 15.0, [30.0, 3.0, 3.0], INF])
def test_explanations_agree_with_predictions(nlp, morphologizer, margin):
    morphologizer.margin = margin
    for doc in make_many(nlp, 10):
        batch = morphologizer.predict_with_leads([doc])
        explained = morphologizer.explain(doc)
        for why, label, stage in zip(explained, batch[0], batch.stages, strict=True):
            assert why.label == morphologizer.labels[label]
            assert why.stage == stage + 1
            check_contributions(why)
            assert 1 <= why.n_labels <= len(morphologizer.labels)


def test_frequent_words_keep_to_labels_they_were_seen_with(nlp):
    """All of them, unless nothing is to be left out."""
    golds = [
        Doc(nlp.vocab, words=["x", "run"], pos=["X", "VERB" if i % 2 else "NOUN"])
        for i in range(MIN_SEEN)
    ]
    examples = [Example(Doc(nlp.vocab, words=["x", "run"]), gold) for gold in golds]
    morphologizer = train_morphologizer(nlp, examples, n_updates=2)
    doc = Doc(nlp.vocab, words=["run", "x", "runs"])
    orth, other = doc[0].orth, doc[2].orth
    scorer = morphologizer.engine.get_snapshot().scorers["templates"]
    names = [morphologizer.labels[i] for i in scorer.find_seen(orth)]
    assert set(names) == {"POS=NOUN", "POS=VERB"}
    assert scorer.find_seen(other) is None
    morphologizer.margin = 5.0
    assert morphologizer.explain(doc)[0].n_labels == 2
    morphologizer.margin = INF
    assert morphologizer.explain(doc)[0].n_labels == 3


def test_confidence(nlp, morphologizer):
    golds = list(nlp.pipe(make_many(nlp, 100)))
    examples = [
        Example(Doc(nlp.vocab, words=[t.text for t in gold]), gold) for gold in golds
    ]
    fit_confidence(morphologizer, examples)
    words = ["She", " ", "leaves"]
    doc = morphologizer(Doc(nlp.vocab, words=words))
    found = [token._.dynsel_morph_confidence for token in doc]
    assert [value is None for value in found] == [False, True, False]
    assert all(0 < value < 1 for value in found if value is not None)
    assert doc[0]._.dynsel_confidence == found[0]
    # With a part of speech that stays, there is nothing to be sure of.
    morphologizer.cfg["overwrite"] = False
    kept = morphologizer(Doc(nlp.vocab, words=words, pos=["X", "", ""]))
    assert [token._.dynsel_morph_confidence for token in kept] == [None, None, found[2]]
    other = spacy.blank("en").add_pipe(NAME).from_bytes(morphologizer.to_bytes())
    again = other(Doc(nlp.vocab, words=words))
    assert [token._.dynsel_morph_confidence for token in again] == found


def test_sentence_starts_are_honoured(nlp, morphologizer):
    words = ["She", "leaves", "eggs", "London", "likes", "green", "eggs"]
    starts = [True, False, False, True, False, False, False]
    joined = Doc(nlp.vocab, words=words, sent_starts=starts)
    parts = [Doc(nlp.vocab, words=words[:3]), Doc(nlp.vocab, words=words[3:])]
    morphologizer.margin = INF
    one, other = (morphologizer.predict_with_leads(docs) for docs in ([joined], parts))
    assert one.labels.tolist() == other.labels.tolist()
    assert one.leads.tolist() == other.leads.tolist()


@pytest.mark.parametrize("extend", [True, False])
def test_docs_of_another_vocab(nlp, morphologizer, extend):
    morphologizer.cfg["extend"] = extend
    other = spacy.blank("en")
    doc = Doc(other.vocab, words=["She", "likes", "zzyzx"])
    doc[1].set_morph("Foo=Bar")
    morphologizer(doc)
    own = Doc(nlp.vocab, words=["She", "likes", "zzyzx"])
    own[1].set_morph("Foo=Bar")
    assert morphs_of([doc]) == morphs_of([morphologizer(own)])


def test_error_handler_drops_the_bad_batch_only(nlp, morphologizer):
    check_error_handler(nlp, ["She likes eggs", "a bad doc", "eggs"], "bad")


def test_predictions_between_updates(nlp, examples):
    """Annotating components predict right after each update."""
    nlp.add_pipe(NAME)
    nlp.initialize(lambda: examples)
    for _ in range(15):
        nlp.update(examples, annotates=[NAME])
    assert run_all(nlp)[: len(SENTENCES)] == gold_morphs(examples)


def test_bad_examples(nlp, morphologizer):
    with pytest.raises(TypeError):
        morphologizer.update([nlp.make_doc("A Doc")])


def test_settings_that_make_no_sense(nlp):
    with pytest.raises(Exception, match="label_smoothing"):
        nlp.add_pipe(NAME, config={"label_smoothing": 0.1})
    with pytest.raises(ValueError, match="DS022"):
        nlp.add_pipe(NAME, config={"model": {"seeds": 0}})
