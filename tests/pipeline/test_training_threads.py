"""Learners learn side by side, and what they learn does not depend on it."""

import pytest
import spacy

from helpers.embedded import make_examples, read_docs

# Components with several learners each, and with all of their parts. A lemmatizer has one.
MODELS = {
    "dynsel_tagger": {"folds": 3},
    "dynsel_morphologizer": {"seeds": 2, "folds": 3},
    "dynsel_ner": {"seeds": 3, "two_passes": True},
    "dynsel_parser": {"seeds": 2, "folds": 3},
}


def find_labels(factory, examples):
    """The labels of all examples."""
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(factory)
    nlp.initialize(lambda: examples)
    return pipe.label_data


def learn_with(factory, n_threads):
    """The model and all that was learned after some epochs."""
    nlp = spacy.blank("en")
    config = {"model": MODELS[factory], "training_threads": n_threads}
    pipe = nlp.add_pipe(factory, config=config)
    every = make_examples(nlp, read_docs(nlp.vocab, "train", 70))
    examples, new = every[:60], every[60:]
    labels = find_labels(factory, every)
    pipe.initialize(lambda: examples, nlp=nlp, labels=labels)
    losses = []
    for batch in (examples[:30], examples[30:], examples):
        losses.append(pipe.update(batch, drop=0.1))
        # Folds learn when they are asked for the second time,
        pipe.engine.predict_in_training([examples[0].predicted.copy()])
    # and then from what is new to them.
    losses += [pipe.update(new, drop=0.1) for _ in range(2)]
    engine = pipe.engine
    return losses, engine.to_bytes(), engine.training_to_bytes()


@pytest.mark.parametrize("factory", MODELS)
def test_the_number_of_threads_changes_nothing(factory):
    alone = learn_with(factory, 1)
    for n_threads in (2, 4, None):
        assert learn_with(factory, n_threads) == alone


def test_the_number_of_threads_can_be_set_at_any_time():
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("dynsel_tagger")
    assert tagger.training_threads is None
    tagger.training_threads = 2
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 4))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert tagger.engine.training_threads == 2
    tagger.training_threads = 1
    nlp.update(examples)
    assert tagger.engine.training_threads == 1
    loaded = spacy.blank("en").add_pipe("dynsel_tagger").from_bytes(tagger.to_bytes())
    assert loaded.training_threads == 1


@pytest.mark.parametrize("factory", [*MODELS, "dynsel_lemmatizer"])
@pytest.mark.parametrize("n_threads", [0, -1, 1025, 1.5, True])
def test_threads_have_to_make_sense(factory, n_threads):
    pipe = spacy.blank("en").add_pipe(factory)
    with pytest.raises(ValueError, match="DS022"):
        pipe.training_threads = n_threads
    assert pipe.training_threads is None


def test_an_interrupt_ends_all_learners(monkeypatch):
    nlp = spacy.blank("en")
    ner = nlp.add_pipe("dynsel_ner", config={"training_threads": 2})
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", 4))
    nlp.initialize(lambda: examples)
    calls = []

    def stop(*rates):
        calls.append(rates)
        raise KeyboardInterrupt

    training_batch = ner.engine._training_batch

    class Stopped:
        def __init__(self, *arguments):
            self.batch = training_batch(*arguments)

        update = staticmethod(stop)

    monkeypatch.setattr(ner.engine, "_training_batch", Stopped, raising=True)
    with pytest.raises(KeyboardInterrupt):
        nlp.update(examples)
    # Those that had not started never do.
    assert len(calls) < 6
