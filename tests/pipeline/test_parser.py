"""What users of spaCy's own parser expect."""

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from helpers.contract import (
    check_copies,
    check_error_handler,
    check_memory_zones,
    check_processes,
    make_stock,
)
from helpers.parser import TEXTS, TRAIN_DATA, make_doc, make_examples, train_parser
from helpers.trees import assert_well_formed, deps_of, heads_of, tree_of, trees_of


def test_learns_by_heart(nlp, fresh_parser):
    assert nlp.update(make_examples(nlp), losses={}) == {"dynsel_parser": 0.0}
    for words, heads, deps in TRAIN_DATA:
        doc = fresh_parser(make_doc(nlp, words))
        assert heads_of(doc) == heads
        assert deps_of(doc) == deps
        assert doc.has_annotation("DEP")
        assert doc.has_annotation("SENT_START")
        assert_well_formed(doc)


def test_a_tree_that_is_not_projective(nlp, parser):
    words, heads, deps = TRAIN_DATA[2]
    assert any("||" in label for label in parser.label_data)
    doc = parser(make_doc(nlp, words))
    assert (heads_of(doc), deps_of(doc)) == (heads, deps)
    # Without what labels say about lifting, arcs stay where they were lifted to.
    other = spacy.blank("en")
    plain = train_parser(other, make_examples(other), min_label_freq=2)
    assert not any("||" in label for label in plain.label_data)
    assert plain.labels == parser.labels
    doc = plain(make_doc(other, words))
    assert heads_of(doc) != heads
    assert deps_of(doc) == deps


def test_documents_are_divided(nlp, parser):
    words = " ".join(words for words, _, _ in TRAIN_DATA * 2)
    doc = parser(make_doc(nlp, words))
    assert [sent.text for sent in doc.sents] == [
        words for words, _, _ in TRAIN_DATA * 2
    ]
    assert_well_formed(doc)


def test_training_on_documents(nlp):
    """Docs of several sentences teach where they start."""
    reference = Doc.from_docs([e.reference for e in make_examples(nlp)])
    bare = Doc(nlp.vocab, words=[token.text for token in reference])
    parser = train_parser(nlp, [Example(bare, reference)])
    doc = parser(bare.copy())
    assert tree_of(doc) == tree_of(reference)
    single = parser(make_doc(nlp, TRAIN_DATA[1][0]))
    assert (heads_of(single), deps_of(single)) == TRAIN_DATA[1][1:]


def test_preset_sentence_starts(nlp, parser):
    words = "They trade mortgage-backed securities . I like London and Berlin ."
    n = len(words.split())
    for starts in ([5], [2], [2, 5], [1, 2, 3], [10]):
        known = [i == 0 or i in starts for i in range(n)]
        doc = parser(make_doc(nlp, words, sent_starts=known))
        assert [sent.start for sent in doc.sents] == [0, *starts]
        assert_well_formed(doc)
    # What is not known is found out.
    doc = parser(
        make_doc(nlp, words, sent_starts=[None, None, True, *[None] * (n - 3)])
    )
    assert [sent.start for sent in doc.sents] == [0, 2, 5]
    # No sentence starts where it must not.
    doc = parser(make_doc(nlp, words, sent_starts=[None] * 5 + [False] + [None] * 5))
    assert doc[5].sent_start == -1
    assert len(list(doc.sents)) == 1


def test_white_space(nlp, parser):
    doc = nlp("\n I like\n London and Berlin . \n")
    spaces = [token for token in doc if token.is_space]
    assert spaces
    for token in spaces:
        before = [t.i for t in doc[: token.i] if not t.is_space]
        assert token.head.i == (before[-1] if before else spaces[0].i + 1)
        assert token.dep_ == "dep"
    words = [token for token in doc if not token.is_space]
    assert [t.dep_ for t in words] == TRAIN_DATA[1][2].split()
    assert_well_formed(doc)
    blank = nlp(" \n \n\n ")
    assert len(blank) == 1 or heads_of(blank) == [0] * len(blank)
    assert deps_of(blank).startswith("ROOT")
    # It does not matter for the words around it, in training neither.
    reference = Doc(
        nlp.vocab,
        words=["\n", "I", " ", "like", "London", "\n"],
        heads=[1, 3, 1, 3, 3, 4],
        deps=["dep", "nsubj", "dep", "ROOT", "dobj", "dep"],
    )
    bare = Doc(nlp.vocab, words=[token.text for token in reference])
    for _ in range(5):
        nlp.update([Example(bare, reference), *make_examples(nlp)])
    assert tree_of(parser(bare.copy())) == tree_of(reference)


def test_pipe_equals_call(nlp, parser):
    docs = list(nlp.pipe(TEXTS * 3, batch_size=4))
    assert [tree_of(doc) for doc in docs] == trees_of(nlp) * 3
    long = [" ".join([text] * 60) for text in TEXTS] * 3
    expected = [tree_of(nlp(text)) for text in long]
    parser.n_threads = 3
    assert [tree_of(doc) for doc in nlp.pipe(long)] == expected


def test_predict_changes_nothing(nlp, parser):
    doc = nlp.make_doc(TEXTS[1])
    before = doc.to_bytes()
    batch = parser.predict([doc])
    assert len(batch) == 1
    assert doc.to_bytes() == before
    assert parser.predict(doc).heads.tolist() == batch.heads.tolist()
    parser.set_annotations([doc], batch)
    assert tree_of(doc) == tree_of(nlp(TEXTS[1]))
    for docs in ([], [nlp.make_doc("")], [nlp.make_doc("")] * 3):
        batch = parser.predict(docs)
        assert len(batch) == len(docs)
        parser.set_annotations(docs, batch)
    assert len(parser.model.predict([nlp.make_doc(TEXTS[1])]).heads) == len(doc)


def test_predictions_that_do_not_fit(nlp, parser):
    batch = parser.predict([nlp.make_doc("I like London .")])
    with pytest.raises(ValueError, match="DS045"):
        parser.set_annotations([nlp.make_doc("I like")], batch)
    batch.heads[0] = 17
    with pytest.raises(ValueError, match="DS045"):
        parser.set_annotations([nlp.make_doc("I like London .")], batch)


def test_labels(nlp):
    parser = nlp.add_pipe("dynsel_parser", config={"min_label_freq": 1})
    assert parser.labels == ()
    assert parser.add_label("zz") == 1
    assert parser.add_label("zz") == 0
    assert parser.add_label("ROOT") == 0
    with pytest.raises(ValueError, match="DS041"):
        parser.add_label(5)
    nlp.initialize(lambda: make_examples(nlp))
    used = {label for _, _, deps in TRAIN_DATA for label in deps.split()}
    assert parser.labels == tuple(sorted(used | {"zz", "dep"}))
    assert nlp.pipe_labels["dynsel_parser"] == list(parser.labels)
    lifted = {label for label in parser.label_data if "||" in label}
    assert lifted
    assert set(parser.label_data) == (used - {"ROOT"}) | {"zz"} | lifted
    assert parser.model.get_dim("nO") == len(parser.label_data)
    assert parser.is_resizable


def test_labels_can_be_added_any_time(nlp, parser):
    expected = trees_of(nlp)
    n_labels = parser.model.get_dim("nO")
    for i in range(70):
        assert parser.add_label(f"new-{i}") == 1
    assert trees_of(nlp) == expected
    assert parser.model.get_dim("nO") == n_labels + 70
    new = make_examples(nlp, [("Rex barks", [1, 1], "new-7 ROOT")])
    for _ in range(60):
        nlp.update([*new, *make_examples(nlp)])
    assert deps_of(nlp("Rex barks")) == "new-7 ROOT"
    for words, heads, deps in TRAIN_DATA:
        doc = parser(make_doc(nlp, words))
        assert (heads_of(doc), deps_of(doc)) == (heads, deps)


def test_label_data_round_trips(nlp, parser, tmp_path):
    path = tmp_path / "labels.json"
    srsly.write_json(path, parser.label_data)
    other = spacy.blank("en").add_pipe("dynsel_parser")
    other.initialize(lambda: make_examples(nlp), labels=srsly.read_json(path))
    assert other.label_data == parser.label_data
    # The labels that are given win, and "ROOT" needs no place.
    few = spacy.blank("en").add_pipe("dynsel_parser")
    few.initialize(lambda: make_examples(nlp), labels=["ROOT", "a||b"])
    assert few.label_data == ("a", "a||b")
    assert few.labels == ("ROOT", "a", "dep")


def test_labels_of_spacys_own_component(nlp):
    """What `spacy init labels` writes for parser can be given."""
    theirs, labels = make_stock("parser", make_examples, min_action_freq=1)
    parser = nlp.add_pipe("dynsel_parser")
    parser.initialize(lambda: make_examples(nlp), labels=labels)
    # Theirs lack what occurs with lifted arcs only.
    assert set(theirs.labels) <= set(parser.labels)
    assert "advmod" in parser.labels
    for bad in ("nsubj", {"nsubj": 3}):
        with pytest.raises(ValueError, match="DS122"):
            parser.initialize(lambda: make_examples(nlp), labels=bad)


def test_without_annotation(nlp):
    parser = nlp.add_pipe("dynsel_parser")
    nlp.initialize()
    assert parser.labels == ("ROOT", "dep")
    assert_well_formed(nlp("I live in New York"))
    nlp.initialize(lambda: make_examples(nlp))
    assert "nsubj" in parser.labels


def test_use_before_initialize(nlp):
    parser = nlp.add_pipe("dynsel_parser")
    with pytest.raises(ValueError, match="DS040"):
        nlp("Some text")
    with pytest.raises(ValueError, match="DS040"):
        parser.update(make_examples(nlp))
    with pytest.raises(ValueError, match="DS040"):
        parser.statistics([])


def test_error_handler_drops_the_bad_batch_only(nlp, parser):
    texts = ["Nobody knows .", "A broken doc", "I like London ."]
    check_error_handler(nlp, texts, "broken")


def test_partial_annotation(nlp, fresh_parser):
    """What is missing is not learned."""
    words, heads, _ = TRAIN_DATA[1]
    expected = trees_of(nlp)
    bare = make_doc(nlp, words)
    missing = [None] * len(heads)
    nothing = make_doc(nlp, words)
    assert nlp.update([Example(bare, nothing)], losses={}) == {"dynsel_parser": 0.0}
    partial = make_doc(
        nlp, words, [1, 1, *missing[2:]], ["nsubj", "ROOT", *missing[2:]]
    )
    unlabelled = make_doc(nlp, words, heads, ["nsubj", "ROOT", *[""] * 4])
    for reference in (partial, unlabelled):
        losses = nlp.update([Example(bare, reference)] * 3, losses={})
        assert losses["dynsel_parser"] == 0
    assert trees_of(nlp) == expected


def test_partial_annotation_teaches(nlp):
    words = "a b c d e"
    partial = make_doc(nlp, words, [None, None, 3, 4, None], ["", "", "x", "y", ""])
    example = Example(make_doc(nlp, words), partial)
    parser = train_parser(nlp, [example])
    assert parser.label_data == ("x", "y")
    doc = parser(make_doc(nlp, words))
    assert [(t.head.i, t.dep_) for t in doc[2:4]] == [(3, "x"), (4, "y")]
    assert_well_formed(doc)


def test_sentence_starts_without_trees(nlp, parser):
    """Sentences can be learned without their trees."""
    words = "ab cd ef gh " * 3
    starts = [i % 4 == 0 for i in range(12)]
    example = Example(make_doc(nlp, words), make_doc(nlp, words, sent_starts=starts))
    for _ in range(40):
        parser.update([example])
    doc = parser(make_doc(nlp, words))
    assert [sent.start for sent in doc.sents] == [0, 4, 8]


def test_misaligned_words(nlp):
    reference = Doc(
        nlp.vocab,
        words=["I", "like", "Lon", "don", "and", "Berlin", "."],
        spaces=[True, True, False, True, True, False, False],
        heads=[1, 1, 3, 1, 5, 1, 1],
        deps=["nsubj", "ROOT", "x", "dobj", "cc", "conj", "punct"],
    )
    example = Example(nlp.make_doc("I like London and Berlin."), reference)
    parser = train_parser(nlp, [example])
    doc = nlp("I like London and Berlin.")
    assert heads_of(doc)[:2] == [1, 1]
    assert heads_of(doc)[3:] == [4, 1, 1]
    assert deps_of(doc[3:]) == "cc conj punct"
    joined = Doc(nlp.vocab, words=["I", "likeLondon"], heads=[1, 1], deps=["a", "ROOT"])
    parser.update([Example(Doc(nlp.vocab, words=["I", "like", "London"]), joined)])
    # Heads that are missing in the reference are missing after alignment.
    partial = Doc(
        nlp.vocab,
        words=["I", "like", "Lon", "don"],
        spaces=[True, True, False, False],
        heads=[1, None, None, None],
        deps=["nsubj", "", "", ""],
    )
    gold = parser.get_gold(Example(nlp.make_doc("I like London"), partial))
    assert gold.heads.tolist() == [1, -1, -1]


def test_labels_that_are_new(nlp, parser):
    """The arc is learned, its label is not."""
    example = make_examples(nlp, [("Rex barks", [1, 1], "agent ROOT")])
    gold = parser.get_gold(example[0])
    assert gold.heads.tolist() == [1, 1]
    assert gold.labels[0] == -1
    for _ in range(20):
        parser.update(example)
    assert heads_of(nlp("Rex barks")) == [1, 1]
    assert "agent" not in parser.labels
    # Labels for lifted arcs fall back on the plain ones.
    lifted = make_examples(nlp, [("Rex barks", [1, 1], "nsubj||prep ROOT")])
    index = parser.label_data.index("nsubj")
    assert parser.get_gold(lifted[0]).labels[0] == index


def test_empty_docs_everywhere(nlp, parser):
    empty = Example(nlp.make_doc(""), nlp.make_doc(""))
    assert nlp.update([empty], losses={}) == {"dynsel_parser": 0.0}
    assert parser.update([]) == {"dynsel_parser": 0.0}
    nlp.update([empty, *make_examples(nlp)])
    parser.update([empty], losses=None)
    assert parser.statistics([nlp.make_doc("")])["tokens"] == 0
    assert nlp.evaluate([empty])["dep_uas"] is None
    nlp.initialize(lambda: [empty, *make_examples(nlp)])


def test_score(nlp, parser):
    scores = nlp.evaluate(make_examples(nlp))
    assert scores["dep_uas"] == scores["dep_las"] == scores["sents_f"] == 1.0
    assert scores["dep_las_per_type"]["nsubj"]["f"] == 1.0
    assert "sents_per_type" not in scores
    first, *_, last = parser.engine.actions.templates.checkpoints
    assert first <= parser.describe()["mean_templates"] <= last
    unknown = [Example(nlp.make_doc("a b"), nlp.make_doc("a b"))]
    scores = nlp.evaluate(unknown)
    assert scores["dep_uas"] is scores["dep_las"] is scores["sents_f"] is None


def test_bytes_and_disk(nlp, parser, tmp_path):
    parser.margin = [4.0, 3.0]
    parser.label_margin = float("inf")
    expected = trees_of(nlp)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    other = loaded.get_pipe("dynsel_parser")
    assert other.to_bytes() == parser.to_bytes()
    assert other.labels == parser.labels
    assert other.label_data == parser.label_data
    assert other.margin == [4.0, 3.0]
    assert other.label_margin == float("inf")
    assert trees_of(loaded) == expected
    fresh = spacy.blank("en").add_pipe("dynsel_parser")
    fresh.from_bytes(parser.to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert fresh.to_bytes(exclude=["vocab"]) == parser.to_bytes(exclude=["vocab"])
    assert all(label in fresh.vocab.strings for label in parser.labels)
    uninitialized = spacy.blank("en").add_pipe("dynsel_parser")
    again = spacy.blank("en").add_pipe("dynsel_parser")
    again.from_bytes(uninitialized.to_bytes())
    assert again.to_bytes() == uninitialized.to_bytes()


def test_copies(nlp, parser):
    check_copies(nlp, trees_of)


def test_processes(nlp, parser, start_method):
    check_processes(nlp, TEXTS, tree_of)


def test_training_goes_on_after_loading(nlp, parser, tmp_path):
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    other = loaded.get_pipe("dynsel_parser")
    other.add_label("agent")
    data = [*TRAIN_DATA, ("Rex barks", [1, 1], "agent ROOT")]
    for _ in range(60):
        loaded.update(make_examples(loaded, data))
    for words, heads, deps in data:
        doc = other(make_doc(loaded, words))
        assert (heads_of(doc), deps_of(doc)) == (heads, deps)


@pytest.mark.parametrize("seeds", [1, 3])
def test_predictions_between_updates(nlp, seeds):
    """Annotating components use the weights as they are."""
    examples = make_examples(nlp)
    parser = nlp.add_pipe("dynsel_parser", config={"model": {"seeds": seeds}})
    nlp.initialize(lambda: examples)
    for _ in range(60):
        nlp.update(examples, annotates=["dynsel_parser"])
    texts = [*TEXTS, " ".join(words for words, _, _ in TRAIN_DATA)]
    docs = [nlp.make_doc(text) for text in texts]
    parser.margin = parser.label_margin = float("inf")
    parser.branches = 0
    compiled = parser.predict(docs)
    between = parser.engine.predict_in_training(docs)
    if seeds == 1:
        assert between.heads.tolist() == compiled.heads.tolist()
        assert between.labels.tolist() == compiled.labels.tolist()
    assert between.starts.tolist() == compiled.starts.tolist()
    assert between.ends.tolist() == compiled.ends.tolist()
    parser.set_annotations(docs, between)
    for doc in docs:
        assert_well_formed(doc)


def test_margins(nlp, parser):
    docs = [nlp.make_doc(text) for text in TEXTS]
    full = parser.model.predict(docs)
    used = []
    for margin in (0.0, 2.0, 8.0, float("inf")):
        parser.margin = parser.label_margin = margin
        assert parser.margin == parser.label_margin == margin
        statistics = parser.statistics(docs)
        assert statistics["tokens"] == sum(map(len, docs))
        assert sum(statistics["stages"]) == pytest.approx(1)
        assert sum(statistics["label_stages"]) == pytest.approx(1)
        used.append((statistics["templates"], statistics["label_templates"]))
    assert used == sorted(used)
    parts = (parser.engine.actions, parser.engine.arcs)
    assert used[0] == tuple(part.templates.checkpoints[0] for part in parts)
    assert used[-1] == tuple(part.templates.checkpoints[-1] for part in parts)
    batch = parser.predict(docs)
    for name in ("heads", "labels", "starts"):
        assert getattr(batch, name).tolist() == getattr(full, name).tolist()


def test_branching_is_a_setting(nlp, parser):
    parser.branches = 3
    parser.branch_lead = 2.5
    assert parser.cfg["branches"] == 3
    assert parser.cfg["branch_lead"] == 2.5
    other = spacy.blank("en").add_pipe("dynsel_parser")
    other.from_bytes(parser.to_bytes())
    assert (other.branches, other.branch_lead) == (3, 2.5)


def test_tags_are_read(nlp):
    """Unknown words with known tags."""
    words, tags, heads = ["a", "b", "c"], ["X", "V", "N"], [2, 1, 1]
    rows = [
        (words, tags, [1, 1, 1], ["l", "ROOT", "r"]),
        (words, ["V", "X", "N"], [0, 2, 0], ["ROOT", "l", "r"]),
    ]
    examples = [
        Example(
            Doc(nlp.vocab, words=row[0], tags=row[1]),
            Doc(nlp.vocab, words=row[0], tags=row[1], heads=row[2], deps=row[3]),
        )
        for row in rows
    ]
    parser = nlp.add_pipe("dynsel_parser")
    nlp.initialize(lambda: examples)
    for _ in range(60):
        parser.update(examples)
    for _, tags, heads, deps in rows:
        doc = parser(Doc(nlp.vocab, words=["d", "e", "f"], tags=tags))
        assert (heads_of(doc), deps_of(doc)) == (heads, " ".join(deps))
    meta = nlp.get_pipe_meta("dynsel_parser")
    assert meta.requires == ["token.tag"]


def test_memory_zones(nlp, parser):
    check_memory_zones(nlp, trees_of)


WORDS = [
    "They",
    "trade",
    "I",
    "like",
    "London",
    "and",
    "Berlin",
    ".",
    "Nobody",
    "knows",
    "A",
    "hearing",
    "today",
    "x",
    "\n",
]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*WORDS, "  ", "\t"]), st.sampled_from([None, True, False])
        ),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
)
def test_always_a_tree_for_each_sentence(parser_pipeline, tokens, with_starts):
    parser = parser_pipeline.get_pipe("dynsel_parser")
    words = [word for word, _ in tokens]
    starts = [start for _, start in tokens]
    starts[0] = True
    doc = Doc(
        parser_pipeline.vocab, words=words, sent_starts=starts if with_starts else None
    )
    parser(doc)
    assert_well_formed(doc)
    if with_starts:
        for token, start in zip(doc, starts, strict=True):
            if not token.is_space and start is True:
                opened = token.sent.start == token.i
                assert opened or token.sent[0].is_space
            spaces_before = token.i and doc[token.i - 1].is_space
            if start is False and not spaces_before:
                assert token.sent_start == -1


@pytest.mark.parametrize("kind", ["mixed", "same", "space"])
def test_a_very_long_sentence(parser_pipeline, kind):
    n = 20_000
    rng = np.random.default_rng(0)
    words = {
        "mixed": [WORDS[i] for i in rng.integers(0, len(WORDS) - 1, n)],
        "same": ["London"] * n,
        "space": ["\n"] * n,
    }[kind]
    doc = Doc(
        parser_pipeline.vocab, words=words, sent_starts=[True, *[False] * (n - 1)]
    )
    parser_pipeline.get_pipe("dynsel_parser")(doc)
    assert len(list(doc.sents)) == 1
    heads = doc.to_array(["HEAD"]).astype("int64").ravel()
    assert (heads == 0).sum() == 1


def test_first_of_three_stages_is_trained_for_a_smaller_lead():
    def train(**model):
        nlp = spacy.blank("en")
        return train_parser(nlp, make_examples(nlp), n_updates=5, model=model)

    plain = train(learner={"margin": 8.0}, label_learner={"margin": 6.0})
    lists = {"learner": [5.0, 8.0, 8.0], "label_learner": [3.75, 6.0, 6.0]}
    same = train(**{name: {"margin": margins} for name, margins in lists.items()})
    assert plain.engine.to_bytes() == same.engine.to_bytes()
    other = train(learner={"margin": [8.0] * 3}, label_learner={"margin": 6.0})
    assert plain.engine.to_bytes() != other.engine.to_bytes()
