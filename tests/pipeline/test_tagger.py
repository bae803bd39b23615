"""The contract of a spaCy tagger."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from helpers.contract import (
    check_empty_docs,
    check_error_handler,
    check_use_before_initialize,
)
from helpers.tagger import SENTENCES, make_example, train_tagger
from spacy_dynsel.registry.factories import DEFAULT_TAGGER_MODEL

TEXTS = [words for words, _ in SENTENCES] + ["", "   ", "Green hits saw Übermut", "\n"]


def tags_of(docs):
    return [[token.tag_ for token in doc] for doc in docs]


def test_learns_by_heart(nlp, tagger, examples):
    losses = {}
    nlp.update(examples, losses=losses)
    assert losses == {"dynsel_tagger": 0.0}
    for words, tags in SENTENCES:
        assert tags_of([nlp(words)]) == [tags.split()]
        assert nlp(words).has_annotation("TAG")
    scores = nlp.evaluate(examples)
    assert scores["tag_acc"] == 1.0
    described = tagger.describe()
    assert 1 <= described["mean_templates"] <= described["templates"]


def test_pipe_equals_call(nlp, tagger):
    called = tags_of(nlp(text) for text in TEXTS)
    for batch_size in (1, 3, 100):
        assert tags_of(nlp.pipe(TEXTS, batch_size=batch_size)) == called
    assert tags_of(tagger.pipe(nlp.make_doc(text) for text in TEXTS)) == called


def test_predict_changes_nothing(nlp, tagger):
    docs = [nlp.make_doc(text) for text in TEXTS]
    before = [doc.to_bytes() for doc in docs]
    batch = tagger.predict(docs)
    assert [doc.to_bytes() for doc in docs] == before
    assert [len(labels) for labels in batch] == [len(doc) for doc in docs]
    assert [label for labels in batch for label in labels] == batch.labels.tolist()
    assert batch[-1].tolist() == batch[len(docs) - 1].tolist()
    with pytest.raises(IndexError):
        batch[len(docs)]


def test_predictions_as_a_list_of_arrays(nlp, tagger):
    docs = [nlp.make_doc(text) for text in TEXTS]
    tagger.set_annotations(
        docs, [np.asarray(labels) for labels in tagger.predict(docs)]
    )
    assert tags_of(docs) == tags_of(nlp(text) for text in TEXTS)
    for wrong in ([[0]], [[0] * len(doc) for doc in docs[:-1]] + [[0, 0]]):
        with pytest.raises(ValueError, match="DS045"):
            tagger.set_annotations(docs, wrong)
    with pytest.raises(ValueError, match="DS045"):
        tagger.set_annotations([docs[0]], [[999] * len(docs[0])])


def test_empty_docs(nlp, tagger):
    check_empty_docs(tagger)


def test_overwrite(nlp, tagger):
    def tag(overwrite):
        tagger.cfg["overwrite"] = overwrite
        doc = Doc(nlp.vocab, words=["Eat", "blue", "ham"], tags=["XX", "", ""])
        return tags_of([tagger(doc)])[0]

    assert tag(False) == ["XX", "JJ", "NN"]
    assert tag(True) == ["VB", "JJ", "NN"]


def test_labels(nlp):
    tagger = nlp.add_pipe("dynsel_tagger")
    assert tagger.labels == ()
    assert tagger.add_label("A") == 1
    assert tagger.add_label("A") == 0
    assert tagger.labels == tagger.label_data == ("A",)
    for label in (1, None, b"A", ""):
        with pytest.raises(ValueError, match="DS041"):
            tagger.add_label(label)


def test_labels_from_data_or_given(nlp, examples):
    tagger = nlp.add_pipe("dynsel_tagger")
    tagger.initialize(lambda: examples)
    found = sorted({tag for _, tags in SENTENCES for tag in tags.split()})
    assert tagger.labels == tuple(found)
    assert tagger.model.get_dim("nO") == len(found)
    with pytest.raises(ValueError, match="DS043"):
        tagger.add_label("NEW")
    given = [*found, "NEW"]
    other = spacy.blank("en").add_pipe("dynsel_tagger")
    other.initialize(lambda: examples, labels=given)
    assert other.labels == tuple(given)
    with pytest.raises(ValueError, match="DS046"):
        nlp2 = spacy.blank("en")
        nlp2.add_pipe("dynsel_tagger").initialize(lambda: examples, labels=["NN"])
        nlp2.update(examples)


def test_initialize_twice(nlp, tagger, examples):
    labels = tagger.labels
    nlp.initialize(lambda: examples)
    assert tagger.labels == labels
    nlp.update(examples)


def test_initialize_checks_its_argument(nlp, examples):
    tagger = nlp.add_pipe("dynsel_tagger")
    for bad in (None, [], examples, examples[0], list, lambda: []):
        with pytest.raises(TypeError):
            tagger.initialize(bad)


def test_no_labels(nlp):
    nlp.add_pipe("dynsel_tagger")
    with pytest.raises(ValueError, match="DS042"):
        nlp.initialize()


def test_use_before_initialize(nlp, examples):
    check_use_before_initialize(nlp.add_pipe("dynsel_tagger"), examples)


def test_partial_and_misaligned_gold(nlp):
    partial = [
        Example.from_dict(
            nlp.make_doc("I like green eggs"),
            {"words": ["I", "like", "green", "eggs"], "tags": ["PRP", "", "", "NNS"]},
        ),
        Example.from_dict(
            nlp.make_doc("Eat blue ham"),
            {"words": ["Eatblue", "ham"], "tags": ["VB", "NN"]},
        ),
        Example.from_dict(nlp.make_doc("Nothing known"), {}),
    ]
    train_tagger(nlp, partial, n_updates=30)
    tags = tags_of([nlp("I like green eggs"), nlp("Eat blue ham")])
    assert (tags[0][0], tags[0][3], tags[1][2]) == ("PRP", "NNS", "NN")
    losses = {}
    nlp.update([partial[2]], losses=losses)
    assert losses == {"dynsel_tagger": 0.0}


def test_tags_known_to_be_wrong(nlp):
    examples = [
        make_example(nlp, "an old man", "DT JJ NN"),
        make_example(nlp, "they man boats", "PRP VBP NNS"),
        make_example(nlp, "the boat", "DT NN"),
    ]
    tagger = train_tagger(nlp, examples)
    assert "!NN" not in tagger.labels
    before = tags_of([nlp("the boat")])[0]
    assert before == ["DT", "NN"]
    negative = make_example(nlp, "the boat", "DT !NN")
    for _ in range(20):
        nlp.update([negative])
    after = tags_of([nlp("the boat")])[0]
    assert after[0] == "DT"
    assert after[1] != "NN"
    assert "!NN" not in tagger.labels


def test_bad_examples(nlp, tagger):
    with pytest.raises(TypeError):
        tagger.update([nlp.make_doc("A Doc")])


def test_round_trips(nlp, tagger, examples, tmp_path):
    tagger.margin = 1.25
    expected = tags_of(nlp(text) for text in TEXTS)
    data = tagger.to_bytes()
    nlp.to_disk(tmp_path)
    from_disk = spacy.load(tmp_path)
    from_bytes = spacy.blank("en")
    from_bytes.add_pipe("dynsel_tagger")
    from_bytes.from_bytes(nlp.to_bytes())
    pickled = pickle.loads(pickle.dumps(nlp))
    copied = copy.deepcopy(nlp)
    for other in (from_disk, from_bytes, pickled, copied):
        component = other.get_pipe("dynsel_tagger")
        assert tags_of(other(text) for text in TEXTS) == expected
        assert component.to_bytes(exclude=["vocab"]) == tagger.to_bytes(
            exclude=["vocab"]
        )
        assert component.labels == tagger.labels
        assert component.margin == 1.25
        assert all(label in other.vocab.strings for label in tagger.labels)
        assert component.model.get_dim("nO") == len(tagger.labels)
    assert tagger.to_bytes() == data
    assert not list(tmp_path.rglob("*.part"))


def test_excluded_fields(nlp, tagger):
    data = tagger.to_bytes()
    other = spacy.blank("en").add_pipe("dynsel_tagger", config={"margin": 9.0})
    other.from_bytes(data, exclude=["cfg"])
    assert other.margin == 9.0
    assert other.labels == tagger.labels
    untrained = spacy.blank("en").add_pipe("dynsel_tagger")
    untrained.from_bytes(data, exclude=["model"])
    assert not untrained.engine.is_initialized


def test_untrained_component_round_trips(nlp, tmp_path):
    nlp.add_pipe("dynsel_tagger").add_label("A")
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    assert other.get_pipe("dynsel_tagger").labels == ("A",)
    with pytest.raises(ValueError, match="DS040"):
        other("text")


def test_training_goes_on_after_loading(nlp, tagger, examples, tmp_path):
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    other.resume_training()
    # A new sense of a known word, in words that are all known.
    new = make_example(other, "her green eggs saw two", "PRP$ JJ NNS VBD CD")
    for _ in range(30):
        other.update([new])
    assert tags_of([other("her green eggs saw two")])[0] == [
        "PRP$",
        "JJ",
        "NNS",
        "VBD",
        "CD",
    ]
    assert tags_of([other("Eat blue ham")])[0] == ["VB", "JJ", "NN"]


def test_two_runs_write_the_same_bytes():
    def train():
        nlp = spacy.blank("en")
        examples = [make_example(nlp, words, tags) for words, tags in SENTENCES]
        tagger = nlp.add_pipe("dynsel_tagger")
        nlp.initialize(lambda: examples)
        for _ in range(5):
            nlp.update(examples, drop=0.2)
        return tagger.engine.to_bytes()

    assert train() == train()


def test_seed_changes_the_run(examples):
    def train(seed):
        nlp = spacy.blank("en")
        model = {"learner": {"seed": seed}}
        tagger = nlp.add_pipe("dynsel_tagger", config={"model": model})
        nlp.initialize(lambda: examples)
        nlp.update(examples, drop=0.5)
        return tagger.engine.to_bytes()

    assert train(1) != train(2)


def test_processes(nlp, tagger, start_method):
    expected = tags_of(nlp.pipe(TEXTS))
    assert tags_of(nlp.pipe(TEXTS, n_process=2, batch_size=2)) == expected


def test_threads(nlp, tagger):
    rng = np.random.default_rng(0)
    words = [word for text, _ in SENTENCES for word in text.split()]
    docs = [
        Doc(nlp.vocab, words=rng.choice(words, rng.integers(0, 60)).tolist())
        for _ in range(500)
    ]
    expected = tagger.predict(docs)
    for n_threads in (2, 3, 8):
        tagger.n_threads = n_threads
        batch = tagger.predict(docs)
        assert batch.labels.tolist() == expected.labels.tolist()
        assert batch.stage_counts.tolist() == expected.stage_counts.tolist()
    with pytest.raises(ValueError, match="DS022"):
        tagger.n_threads = 0


def test_memory_zones(nlp, tagger):
    expected = tags_of(nlp(text) for text in TEXTS)
    for start in range(0, 300, 100):
        with nlp.memory_zone():
            for i in range(start, start + 100):
                nlp(f"New words like qq{i} and ww{i * i} are green{i}")
            assert tags_of(nlp(text) for text in TEXTS) == expected
    assert tags_of(nlp(text) for text in TEXTS) == expected
    assert all(label in nlp.vocab.strings for label in tagger.labels)


def test_labels_that_are_made_in_a_zone_stay(examples):
    nlp = spacy.blank("en")
    with nlp.memory_zone():
        nlp.add_pipe("dynsel_tagger").add_label("MADE-IN-ZONE")
    assert "MADE-IN-ZONE" in nlp.vocab.strings


def test_cache_is_bounded(nlp, examples):
    tagger = train_tagger(nlp, examples, cache_size=50)
    expected = tags_of(nlp(text) for text in TEXTS)
    for i in range(40):
        nlp(" ".join(f"w{i}x{j}" for j in range(30)))
        assert len(tagger.engine.get_snapshot().get_lexicon(50, "templates")) <= 50
    assert tags_of(nlp(text) for text in TEXTS) == expected
    for cache_size in (0, 1 << 30):
        with pytest.raises(ValueError, match="DS022"):
            spacy.blank("en").add_pipe(
                "dynsel_tagger", config={"cache_size": cache_size}
            )


def test_error_handler_drops_the_bad_batch_only(nlp, tagger):
    check_error_handler(nlp, ["They saw her", "Eat blue ham", "I like eggs"], "ham")


def test_score_without_gold(nlp, tagger):
    scores = nlp.evaluate([Example(nlp.make_doc("a b"), nlp.make_doc("a b"))])
    assert scores["tag_acc"] is None
    tagger.score([Example(Doc(nlp.vocab), Doc(nlp.vocab))])
    assert tagger.describe()["mean_templates"] is None


def test_sentence_starts_are_honoured(nlp, tagger):
    words = ["They", "saw", "her", "She", "hits", "her", "ball"]
    starts = [True, False, False, True, False, False, False]
    joined = Doc(nlp.vocab, words=words, sent_starts=starts)
    parts = [Doc(nlp.vocab, words=words[:3]), Doc(nlp.vocab, words=words[3:])]
    labels = tagger.predict([joined]).labels.tolist()
    assert labels == tagger.predict(parts).labels.tolist()


def test_docs_of_another_vocab(nlp, tagger):
    other = spacy.blank("en")
    doc = tagger(other.make_doc("She hits zzyzx"))
    assert [t.tag for t in doc] == [t.tag for t in nlp("She hits zzyzx")]


def test_predictions_between_updates(nlp, examples):
    """Annotating components predict right after each update."""
    nlp.add_pipe("dynsel_tagger")
    nlp.initialize(lambda: examples)
    seen = []
    for _ in range(15):
        nlp.update(examples, annotates=["dynsel_tagger"])
    nlp.update(examples[:1], annotates=["dynsel_tagger"])
    seen = tags_of([nlp(words) for words, _ in SENTENCES])
    assert seen == [tags.split() for _, tags in SENTENCES]


def test_many_python_threads_on_one_pipeline(nlp, examples):
    """A small cache is filled and replaced by all of them at once."""
    tagger = train_tagger(nlp, examples, cache_size=40)
    words = [word for text, _ in SENTENCES for word in text.split()]
    rng = np.random.default_rng(0)
    batches = [
        [
            Doc(nlp.vocab, words=[*rng.choice(words, 8).tolist(), f"new{i}x{j}"])
            for j in range(30)
        ]
        for i in range(8)
    ]
    expected = [tagger.predict(docs).labels.tolist() for docs in batches]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            found = pool.map(lambda docs: tagger.predict(docs).labels.tolist(), batches)
            assert list(found) == expected


def test_clusters_are_taken_along(examples, tmp_path):
    """From the vocabulary into the model: a saved pipeline needs no lookups."""
    nlp = spacy.blank("en")
    clusters = {"green": 3, "blue": 3, "ham": 5, "eggs": 5, "ball": 5, "saw": 0}
    table = {nlp.vocab.strings.add(word): value for word, value in clusters.items()}
    nlp.vocab.lookups.add_table("lexeme_cluster", table)
    model = {"templates": {"lines": ["cluster", "cluster[-1] word", "cluster4[+1]"]}}
    train_tagger(nlp, examples, model=model)
    expected = tags_of([nlp("Eat green ball"), nlp("BLUE eggs")])
    assert expected[0][2] in ("NN", "NNS")
    nlp.vocab.lookups.remove_table("lexeme_cluster")
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path)
    assert not other.vocab.lookups.has_table("lexeme_cluster")
    assert tags_of([other("Eat green ball"), other("BLUE eggs")]) == expected


def test_clusters_may_be_missing(examples):
    model = {"templates": {"default": "tagger_clusters"}}
    nlp = spacy.blank("en")
    train_tagger(nlp, examples, model=model)
    assert tags_of([nlp("Eat blue ham")]) == [["VB", "JJ", "NN"]]


def test_first_stage_cannot_read_tags_if_others_look_ahead():
    nlp = spacy.blank("en")
    templates = {"@misc": "spacy_dynsel.templates.v1", "default": None}
    lines = ["word", "tag[-1]", "---", "tag[+1]"]
    model = {**DEFAULT_TAGGER_MODEL, "templates": {**templates, "lines": lines}}
    with pytest.raises(ValueError, match=r"DS070.*'tag\[-1\]'"):
        nlp.add_pipe("dynsel_tagger", config={"model": model})


def test_sees_what_the_first_stage_says_about_words_to_come():
    """Only the tag of the next word, which its suffix tells, says what a word is."""
    nlp = spacy.blank("en")
    lines = ["suffix1", "---", "tag[+1]"]
    templates = {"@misc": "spacy_dynsel.templates.v1", "lines": lines}
    model = {**DEFAULT_TAGGER_MODEL, "templates": templates}
    tagger = nlp.add_pipe("dynsel_tagger", config={"model": model})
    examples = []
    for word in ("aax", "bbx", "ccx", "ddy", "eey", "ffy"):
        tags = ["X" if word.endswith("x") else "Y", "P" if word.endswith("x") else "Q"]
        gold = Doc(nlp.vocab, words=["o", word], tags=[tags[1], tags[0]])
        examples.append(Example(Doc(nlp.vocab, words=["o", word]), gold))
    tagger.initialize(lambda: examples, nlp=nlp)
    for _ in range(10):
        tagger.update(examples)
    docs = [Doc(nlp.vocab, words=["o", word]) for word in ("ggx", "ggy", "hhx")]
    tagged = [[token.tag_ for token in doc] for doc in tagger.pipe(docs)]
    assert tagged == [["P", "X"], ["Q", "Y"], ["P", "X"]]


def test_folds_annotate_what_they_have_not_seen():
    """A tagger without folds knows its training docs by heart; with folds, the tags
    that it sets in training come from models that have not seen the doc."""
    nlp = spacy.blank("en")
    words = [f"{a}{b}" for a in "abcdefgh" for b in "xyz"]
    shares = {}
    for folds in (0, 2):
        examples = []
        for i, word in enumerate(words):
            doc = Doc(nlp.vocab, words=[word])
            gold = Doc(nlp.vocab, words=[word], tags=["AB"[i % 2]])
            examples.append(Example(doc, gold))
        model = {"@architectures": "spacy_dynsel.DynamicTagger.v1", "folds": folds}
        model["templates"] = {"@misc": "spacy_dynsel.templates.v1", "lines": ["word"]}
        config = {"model": {**DEFAULT_TAGGER_MODEL, **model}}
        tagger = nlp.create_pipe("dynsel_tagger", config=config)
        tagger.initialize(lambda found=examples: found, nlp=nlp)
        for _ in range(10):
            tagger.update(examples)
        docs = [example.predicted for example in examples]
        # The first docs are tagged before the folds have learned.
        tagger.annotate_for_training([Doc(nlp.vocab, words=["ax"])])
        tags = [doc[0].tag_ for doc in tagger.pipe(docs)]
        right = [example.reference[0].tag_ for example in examples]
        gold = [tagger.labels.index(tag) for tag in right]
        shares[folds] = np.mean(np.array(tags) == right)
        # The model itself has seen all of them, whatever the folds.
        copies = [Doc(nlp.vocab, words=[word]) for word in words]
        assert (tagger.predict(copies).labels == gold).all()
    assert shares[0] == 1
    assert shares[2] < 0.8
