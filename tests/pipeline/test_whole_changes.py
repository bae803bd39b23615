"""What fails or is interrupted changes nothing, whatever the order of calls; and what
others do meanwhile does not matter."""

import copy
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example

import spacy_dynsel
from helpers.contract import FACTORIES
from spacy_dynsel.base import atomic

SOURCES = str(Path(spacy_dynsel.__file__).parent)
WORDS = ["see", "London"]
# What makes a lemma unlike its form.
LETTERS = str.maketrans("0123456789", "abcdefghij")
# Take labels before they are initialized, and no later.
CLOSED = ("dynsel_tagger", "dynsel_morphologizer", "dynsel_lemmatizer")
# What makes two components of a factory differ in more than their weights.
CONFIGS = {
    "dynsel_tagger": {"model": {"folds": 2}},
    "dynsel_morphologizer": {"model": {"folds": 2, "seeds": 2}},
    "dynsel_ner": {"model": {"two_passes": True, "seeds": 2}},
    "dynsel_parser": {},
    "dynsel_lemmatizer": {},
}


def make_example(nlp, n=2, prefix=""):
    """A sentence in which each word has a label of its own."""
    names = [f"{prefix}L{i}" for i in range(n)]
    words = [*WORDS, *(f"w{i}" for i in range(2, n))]
    reference = Doc(
        nlp.vocab,
        words=words,
        tags=names,
        lemmas=[name.translate(LETTERS) for name in names],
        heads=[0] * n,
        deps=["ROOT", *names[1:]],
        ents=["O", *(f"B-{name}" for name in names[1:])],
    )
    # To others, these would be what no component sets.
    if "dynsel_morphologizer" in nlp.pipe_names:
        for token, name in zip(reference, names, strict=True):
            token.pos_ = "X"
            token.set_morph(f"Name={name}")
    return Example(Doc(nlp.vocab, words=words), reference)


def make(factory, n=2, prefix="", **config):
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(factory, config={**CONFIGS[factory], **config})
    example = make_example(nlp, n, prefix)
    nlp.initialize(lambda: [example])
    for _ in range(30):
        pipe.update([example])
    return nlp, pipe


def annotate(nlp, words=WORDS):
    doc = nlp(Doc(nlp.vocab, words=words))
    return [
        (
            *(t.tag_, t.pos_, str(t.morph), t.lemma_),
            *(t.dep_, t.head.i, t.ent_type_, t.ent_iob_),
        )
        for t in doc
    ]


def state_of(nlp, pipe):
    """All that can be seen of a component."""
    return (
        pipe.to_bytes(exclude=["vocab"]),
        pipe.engine.training_to_bytes(),
        dict(pipe.cfg),
        pipe.labels,
        annotate(nlp),
    )


@pytest.fixture(params=FACTORIES)
def factory(request):
    return request.param


@pytest.fixture
def made(factory):
    return make(factory)


def failing_stream(examples, n):
    """Gives examples, but fails the n-th time."""
    calls = []

    def get_examples():
        calls.append(1)
        if len(calls) == n:
            raise OSError("the stream is broken")
        return examples

    return get_examples


def test_a_failed_initialize_changes_nothing(factory, made):
    nlp, pipe = made
    before = state_of(nlp, pipe)
    # A loaded one has only its compiled weights to lose.
    loaded = spacy.blank("en")
    loaded.add_pipe(factory, config=CONFIGS[factory]).from_bytes(pipe.to_bytes())
    expected = annotate(loaded)
    more = [make_example(nlp, 500)]
    n = 1
    while True:
        try:
            pipe.initialize(failing_stream(more, n))
        except OSError:
            assert state_of(nlp, pipe) == before
        else:
            break
        with pytest.raises(OSError, match="broken"):
            loaded.get_pipe(factory).initialize(failing_stream(more, n))
        assert annotate(loaded) == expected
        n += 1
    assert n > 1
    assert len(pipe.labels) >= 499


@pytest.mark.parametrize("labels", [[*map(str, range(5000)), 5], ["x", ""], ["\ud800"]])
def test_a_refused_initialize_changes_nothing(made, labels):
    nlp, pipe = made
    before = state_of(nlp, pipe)
    with pytest.raises(ValueError, match=r"DS041|DS072|DS124|DS230"):
        pipe.initialize(lambda: [make_example(nlp)], labels=labels)
    assert state_of(nlp, pipe) == before
    pipe.update([make_example(nlp)])


def test_labels_that_data_contradict_change_nothing():
    nlp, pipe = make("dynsel_tagger")
    before = state_of(nlp, pipe)
    labels = [f"X{i}" for i in range(4000)]
    with pytest.raises(ValueError, match="DS046"):
        pipe.initialize(lambda: [make_example(nlp, 2, "Y")], labels=labels)
    assert state_of(nlp, pipe) == before
    with pytest.raises(ValueError, match="DS046"):
        pipe.update([make_example(nlp, 4000)])
    assert state_of(nlp, pipe) == before


def test_refused_bytes_change_nothing(factory, made):
    nlp, pipe = made
    before = state_of(nlp, pipe)
    other = FACTORIES[(FACTORIES.index(factory) + 1) % len(FACTORIES)]
    refused = [make(other, 300)[1].to_bytes(), b"", b"\xc1", srsly.msgpack_dumps([1])]
    good = srsly.msgpack_loads(pipe.to_bytes())
    cfg = srsly.json_loads(good["cfg"])
    for change in (
        {"margin": []},
        {"margin": "x"},
        {"margin": None},
        {"margin": {}},
        {"n_threads": 0},
        {"n_threads": True},
        {"cache_size": "many"},
        {"labels": [1]},
        {"labels": "NN"},
        {"confidence": "yes"},
        {"confidence_map": {"settings": {}}},
        {"unknown": 1},
    ):
        data = {**good, "cfg": srsly.json_dumps({**cfg, **change})}
        refused.append(srsly.msgpack_dumps(data))
    for change in (
        {"cfg": "{"},
        {"cfg": "[]"},
        {"cfg": 5},
        {"model": "text"},
        {"model": None},
        {"model": b"DYNSEL"},
        {"model": make(other)[1].engine.to_bytes()},
        {"training": b"DYNSEL"},
        {"training": make(factory, 3)[1].engine.training_to_bytes()},
    ):
        refused.append(srsly.msgpack_dumps({**good, **change}))
    for data in refused:
        with pytest.raises(ValueError, match=r"DS\d+"):
            pipe.from_bytes(data)
        assert state_of(nlp, pipe) == before
    with pytest.raises(ValueError, match=r"DS\d+"):
        pipe.model.shims[0].from_bytes(make(other)[1].engine.to_bytes())
    assert state_of(nlp, pipe) == before


def test_other_templates_are_refused_whole():
    small = make("dynsel_tagger", model={"templates": {"lines": ["word"]}})
    lines = ["word", "suffix3"]
    large = make(
        "dynsel_tagger", 500, model={"templates": {"lines": lines}}, margin=2.0
    )
    before = state_of(*small)
    with pytest.raises(ValueError, match="DS036"):
        small[1].from_bytes(large[1].to_bytes())
    assert state_of(*small) == before


def test_settings_are_checked_where_they_are_used(made):
    nlp, pipe = made
    expected = annotate(nlp)
    for value in ([], [1.0] * 9, "x", None, {}, -1, [True], float("nan")):
        before = pipe.cfg["margin"]
        with pytest.raises(ValueError, match="DS020"):
            pipe.margin = value
        pipe.cfg["margin"] = value
        for call in (
            lambda: annotate(nlp),
            lambda: pipe.statistics([nlp.make_doc("a")]),
            lambda: pipe.explain(nlp.make_doc("a")),
        ):
            with pytest.raises(ValueError, match="DS020"):
                call()
        pipe.cfg["margin"] = before
    pipe.margin = 10**400
    assert pipe.margin == float("inf")
    assert annotate(nlp) == expected


def test_a_direct_setting_of_the_bias_counts():
    nlp, pipe = make("dynsel_ner")
    doc = Doc(nlp.vocab, words=["Paris"])
    pipe.cfg["o_bias"] = 30.0
    assert not nlp(doc.copy()).ents
    pipe.cfg["o_bias"] = "x"
    with pytest.raises(ValueError, match="DS022"):
        nlp(doc)


def test_weights_go_back_to_what_they_were(made):
    """By thinc's Model, which the component does not hear of."""
    nlp, pipe = made
    example = make_example(nlp)
    best = pipe.model.to_bytes()
    expected = annotate(nlp)
    pipe.update([example])
    pipe.model.from_bytes(best)
    assert len(pipe.predict([example.predicted]).ends) == 1
    assert list(pipe.pipe([example.predicted]))
    assert annotate(nlp) == expected
    pipe.update([example])
    # Other labels, of the same number: thinc does not let that change.
    other, other_pipe = make(nlp.pipe_names[0], 2, "X")
    pipe.model.from_bytes(other_pipe.model.to_bytes())
    assert pipe.labels == other_pipe.labels
    assert annotate(nlp) == annotate(other)
    pipe.update([make_example(nlp, 2, "X")])
    assert make(nlp.pipe_names[0])[1].from_bytes(pipe.to_bytes()).labels == pipe.labels


@pytest.mark.parametrize("annotated", [True, False])
def test_a_loaded_pipeline_annotates_in_training(made, annotated):
    nlp, pipe = made
    name = nlp.pipe_names[0]
    loaded = spacy.blank("en")
    loaded.add_pipe(name, config=CONFIGS[name]).from_bytes(pipe.to_bytes())
    words = Doc(loaded.vocab, words=WORDS)
    example = make_example(loaded) if annotated else Example(words.copy(), words)
    loaded.update([example], annotates=[name])
    assert annotate(loaded) == annotate(nlp)


def test_a_doc_of_the_last_update_is_nothing_special(made):
    """Unless it is annotated for other components."""
    nlp, pipe = made
    example = make_example(nlp)
    pipe.cfg["margin"] = "inf"
    pipe.update([example])
    doc = example.predicted
    twin = doc.copy()
    one, other = pipe.predict([doc]), pipe.predict([twin])
    assert [part.tolist() for part in parts(one)] == [p.tolist() for p in parts(other)]
    assert one.made_by is other.made_by
    pipe(doc)
    pipe(twin)
    assert doc.to_bytes() == twin.to_bytes()


def parts(batch):
    names = ("labels", "actions", "heads", "starts")
    return [getattr(batch, name) for name in names if hasattr(batch, name)]


def interrupt_at(n, function):
    """Call a function and interrupt it at the n-th line of this package. RETURNS: Whether
    there was such a line."""
    seen = [0]

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        if event == "line":
            seen[0] += 1
            if seen[0] == n:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def interrupted_calls(nlp, pipe, factory):
    """What may be interrupted, and what can be learned afterwards."""
    more = make_example(nlp, 30)
    data = make(factory, 30)[1].to_bytes()
    model = make(factory, 2, "X")[1].model.to_bytes()
    yield lambda: pipe.initialize(lambda: [more]), more
    yield lambda: pipe.from_bytes(data), more
    yield lambda: pipe.model.from_bytes(model), make_example(nlp, 2, "X")
    if factory not in CLOSED:
        yield lambda: pipe.add_label("NEW"), make_example(nlp)
    yield lambda: setattr(pipe, "margin", 1.0), make_example(nlp)


def test_interrupts_leave_the_old_or_the_new(factory):
    nlp, pipe = make(factory, keep_training_state=True)
    data = pipe.to_bytes()
    before = state_of(nlp, pipe)
    for call, example in interrupted_calls(nlp, pipe, factory):
        call()
        after = state_of(nlp, pipe)
        pipe.from_bytes(data)
        step = 1
        while interrupt_at(step, call):
            found = state_of(nlp, pipe)
            assert found in (before, after), step
            pipe.update([make_example(nlp) if found == before else example])
            pipe.from_bytes(data)
            # Not all lines: there are hundreds, and many are alike.
            step += 1 + step // 20
        assert step > 5
        pipe.from_bytes(data)


def test_an_interrupted_update_leaves_a_model(factory):
    nlp, pipe = make(factory)
    example = make_example(nlp)
    data = pipe.to_bytes()
    other = make(factory)[1]
    step = 1
    while interrupt_at(step, lambda: pipe.update([example], drop=0.1)):
        annotate(nlp)
        other.from_bytes(pipe.to_bytes())
        pipe.from_bytes(data)
        step += 5
    assert step > 10


def test_a_full_disk_leaves_the_earlier_save(factory, tmp_path, monkeypatch):
    nlp, pipe = make(factory, keep_training_state=True)
    nlp.to_disk(tmp_path)
    folder = tmp_path / nlp.pipe_names[0]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"cfg", "model", "training"}
    pipe.update([make_example(nlp)], drop=0.5)
    fsync = atomic.os.fsync
    for n in range(1, 4):
        calls = []

        def fail(file, n=n, calls=calls):
            calls.append(1)
            if len(calls) == n:
                raise OSError(28, "No space left on device")
            fsync(file)

        monkeypatch.setattr(atomic.os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            pipe.to_disk(folder, exclude=["vocab"])
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    monkeypatch.setattr(atomic.os, "fsync", fsync)
    spacy.load(tmp_path).update([make_example(nlp)])


def test_a_state_of_another_training_is_refused(tmp_path):
    nlp, _ = make("dynsel_ner", keep_training_state=True)
    nlp.to_disk(tmp_path)
    seeds = {"components.dynsel_ner.model.seeds": 1}
    loaded = spacy.load(tmp_path, config=seeds)
    expected = annotate(loaded)
    for _ in range(2):
        with pytest.raises(ValueError, match="DS194"):
            loaded.update([make_example(loaded)])
        assert annotate(loaded) == expected
    rda = {"optimizer": "rda", "l1": 0.001}
    nlp, _ = make("dynsel_tagger", keep_training_state=True, model={"learner": rda})
    nlp.to_disk(tmp_path / "rda")
    learner = "components.dynsel_tagger.model.learner"
    loaded = spacy.load(
        tmp_path / "rda",
        config={f"{learner}.optimizer": "adagrad", f"{learner}.l1": 0.0},
    )
    expected = annotate(loaded)
    with pytest.raises(ValueError, match=r"DS194.*'rda'"):
        loaded.update([make_example(loaded)])
    assert annotate(loaded) == expected


def test_a_refused_initialize_keeps_the_confidence_map(made):
    nlp, pipe = made
    pipe.cfg["confidence_map"] = stored = {"kept": True}
    with pytest.raises(OSError, match="broken"):
        pipe.initialize(failing_stream([make_example(nlp)], 1))
    assert pipe.cfg["confidence_map"] is stored


def learn_in_a_zone(nlp, prefix):
    with nlp.memory_zone():
        example = make_example(nlp, 2, prefix)
        for _ in range(30):
            nlp.update([example])


def test_labels_outlive_zones():
    nlp, pipe = make("dynsel_ner")
    learn_in_a_zone(nlp, "first_seen_in_a_zone_")
    assert "first_seen_in_a_zone_L1" in pipe.labels
    assert "first_seen_in_a_zone_L1" in nlp.vocab.strings
    assert annotate(nlp)[1][6] == "first_seen_in_a_zone_L1"


def test_labels_first_seen_in_a_zone_are_written_after_it():
    nlp, _ = make("dynsel_ner")
    learn_in_a_zone(nlp, "only_in_a_zone_")
    doc = nlp(Doc(nlp.vocab, words=WORDS))
    assert [ent.label_ for ent in doc.ents] == ["only_in_a_zone_L1"]


@pytest.mark.parametrize("label", ["\ud800", "", 5, None, "a\udfffb"])
def test_labels_that_are_no_text(made, label):
    nlp, pipe = made
    before = state_of(nlp, pipe)
    with pytest.raises(ValueError, match="DS041"):
        pipe.add_label(label)
    assert state_of(nlp, pipe) == before


def run_beside(work, *others):
    """Call functions in threads of their own until the first one is done. Errors of
    any of them are raised."""
    errors = []
    done = threading.Event()

    def run(function, is_first):
        try:
            while True:
                function()
                if is_first or done.is_set():
                    return
        except Exception as error:
            errors.append(error)
        finally:
            if is_first:
                done.set()

    threads = [
        threading.Thread(target=run, args=(function, function is work))
        for function in (work, *others)
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


def test_one_thread_learns_while_others_use_it(factory):
    nlp, pipe = make(factory)
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(4):
        words = [f"w{i}" for i in rng.integers(0, 10**6, 800)]
        reference = Doc(
            nlp.vocab,
            words=words,
            tags=rng.choice(["L0", "L1"], 800).tolist(),
            heads=[max(0, i - 1) for i in range(800)],
            deps=rng.choice(["L1", "dep"], 800).tolist(),
            ents=rng.choice(["O", "B-L1"], 800).tolist(),
        )
        examples.append(Example(Doc(nlp.vocab, words=words), reference))
    doc = Doc(nlp.vocab, words=WORDS)
    run_beside(
        lambda: [pipe.update([examples[i % 4]], drop=0.1) for i in range(12)],
        lambda: pipe(doc.copy()),
        lambda: pipe.update([make_example(nlp)]),
        pipe.to_bytes,
        lambda: copy.deepcopy(pipe.engine),
    )
    assert make(factory)[1].from_bytes(pipe.to_bytes()).labels == pipe.labels


def test_models_are_swapped_beside_predictions(factory):
    nlp, pipe = make(factory)
    large = make(factory, 60)[1]
    both = [pipe.to_bytes(exclude=["vocab"]), large.to_bytes(exclude=["vocab"])]
    expected = []
    for data in both:
        pipe.from_bytes(data)
        expected.append(annotate(nlp))

    def use():
        assert annotate(nlp) in expected

    run_beside(lambda: [pipe.from_bytes(both[i % 2]) for i in range(60)], use, use)


@pytest.mark.parametrize("factory", ["dynsel_ner", "dynsel_parser"])
def test_labels_are_added_beside_predictions(factory):
    nlp, pipe = make(factory)
    expected = annotate(nlp)

    def use():
        assert annotate(nlp) == expected

    run_beside(lambda: [pipe.add_label(f"N{i}") for i in range(60)], use, use)
    names = [f"M{i}" for i in range(200)]
    run_beside(*(lambda: [pipe.add_label(name) for name in names] for _ in range(3)))
    assert len(set(pipe.labels)) == len(pipe.labels)
    assert {*names, *(f"N{i}" for i in range(60))} <= set(pipe.labels)


def test_preset_entities_bring_labels_from_any_thread():
    nlp, pipe = make("dynsel_ner")

    def use(prefix):
        for i in range(30):
            doc = Doc(nlp.vocab, words=WORDS, ents=["O", f"B-{prefix}{i}"])
            assert [ent.label_ for ent in nlp(doc).ents] == [f"{prefix}{i}"]

    run_beside(lambda: use("A"), lambda: use("B"), lambda: annotate(nlp))
    assert {f"A{i}" for i in range(30)} <= set(pipe.labels)


def test_two_threads_save_to_one_folder(made, tmp_path):
    nlp, pipe = made
    folder = tmp_path / "pipe"

    def save():
        pipe.to_disk(folder, exclude=["vocab"])

    run_beside(lambda: [save() for _ in range(20)], save)
    assert {path.name for path in folder.iterdir()} == {"cfg", "model"}
    assert make(nlp.pipe_names[0])[1].from_disk(folder, exclude=["vocab"])


def test_predictions_fit_the_docs_they_were_made_for(made):
    nlp, pipe = made
    batch = pipe.predict([Doc(nlp.vocab, words=WORDS)])
    with pytest.raises(ValueError, match=r"DS045|DS103"):
        pipe.set_annotations([Doc(nlp.vocab, words=["a"] * 9)], batch)
    # Labels that came later do not change what was predicted.
    if nlp.pipe_names[0] not in CLOSED:
        pipe.add_label("AAA")
    doc = Doc(nlp.vocab, words=WORDS)
    pipe.set_annotations([doc], batch)
    found = [(t.tag_, t.pos_, str(t.morph), t.lemma_, t.dep_, t.ent_type_) for t in doc]
    assert found == [(*one[:5], one[6]) for one in annotate(nlp)]


def test_a_single_doc_is_as_good_as_a_list(made):
    nlp, pipe = made
    doc = Doc(nlp.vocab, words=WORDS)
    pipe.set_annotations(doc, pipe.predict(doc))
    assert doc.to_bytes() == pipe(Doc(nlp.vocab, words=WORDS)).to_bytes()


@pytest.mark.parametrize("bad", [None, "text", 5])
def test_what_is_no_doc_is_refused(made, bad):
    nlp, pipe = made
    with pytest.raises(TypeError):
        pipe.predict([bad])
    with pytest.raises(TypeError):
        pipe.predict([Doc(nlp.vocab, words=WORDS), bad])


def test_before_it_is_initialized(factory):
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(factory)
    doc = Doc(nlp.vocab, words=WORDS)
    for call in (
        lambda: pipe.predict([doc]),
        lambda: pipe.predict_with_leads([doc]),
        lambda: pipe.model.predict([doc]),
        lambda: pipe.update([make_example(nlp)]),
        lambda: pipe.statistics([doc]),
        lambda: pipe.explain(doc),
        lambda: nlp(doc),
    ):
        with pytest.raises(ValueError, match="DS040"):
            call()
    assert repr(pipe) == f"<{type(pipe).__name__} '{factory}': not initialized>"
    assert "labels, margin" in repr(make(factory)[1])


def test_copies_are_apart(made):
    nlp, pipe = made
    before = annotate(nlp)
    for other in (copy.deepcopy(nlp), pickle.loads(pickle.dumps(nlp))):
        for _ in range(5):
            other.update([make_example(other)], drop=0.5)
        other.get_pipe(nlp.pipe_names[0]).margin = 0.5
        assert annotate(nlp) == before
        assert pipe.engine.lock is not other.get_pipe(nlp.pipe_names[0]).engine.lock
