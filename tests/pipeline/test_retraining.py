"""Learning that goes on: from saved state, and by corrections."""

import random

import pytest
import spacy

from helpers.embedded import learn, make_examples, read_docs, strip

CONFIGS = {
    "dynsel_tagger": {"model": {"folds": 2}},
    "dynsel_morphologizer": {"model": {"seeds": 2, "folds": 2}},
    "dynsel_ner": {"model": {"seeds": 2, "two_passes": True}},
    "dynsel_parser": {"model": {"seeds": 2, "folds": 2}, "min_label_freq": 1},
}


def start(name, n_docs=60, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe(name, config={**CONFIGS[name], **config})
    examples = make_examples(nlp, read_docs(nlp.vocab, "train", n_docs))
    nlp.initialize(lambda: examples)
    return nlp, examples


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("by_disk", [True, False])
def test_interrupted_training_goes_on_bit_for_bit(name, by_disk, tmp_path):
    nlp, examples = start(name, keep_training_state=True)
    learn(nlp, examples, 4, drop=0.1)
    if by_disk:
        nlp.to_disk(tmp_path)
        loaded = spacy.load(tmp_path)
        # Saved again before it is used, it is the same.
        loaded.to_disk(tmp_path)
        loaded = spacy.load(tmp_path)
    else:
        loaded = spacy.blank("en")
        loaded.add_pipe(name, config=CONFIGS[name])
        loaded.from_bytes(nlp.to_bytes())
    learn(nlp, examples, 2, drop=0.1)
    learn(loaded, make_examples(loaded, read_docs(loaded.vocab, "train", 60)), 2, 0.1)
    one, other = nlp.get_pipe(name).engine, loaded.get_pipe(name).engine
    assert one.to_bytes() == other.to_bytes()
    assert one.training_to_bytes() == other.training_to_bytes()


def test_state_is_saved_on_request_only(tmp_path):
    nlp, examples = start("dynsel_tagger")
    learn(nlp, examples, 1)
    tagger = nlp.get_pipe("dynsel_tagger")
    file = tmp_path / "dynsel_tagger" / "training"
    nlp.to_disk(tmp_path)
    assert not file.exists()
    tagger.keep_training_state = True
    nlp.to_disk(tmp_path)
    assert file.exists()
    assert len(tagger.to_bytes()) > file.stat().st_size
    # Other weights in the same place: a state that is not theirs has to go.
    tagger.keep_training_state = False
    learn(nlp, examples, 1)
    nlp.to_disk(tmp_path)
    assert not file.exists()


def test_state_of_another_model_is_refused(tmp_path):
    nlp, examples = start("dynsel_tagger", keep_training_state=True)
    learn(nlp, examples, 1)
    nlp.to_disk(tmp_path / "one")
    learn(nlp, examples, 1)
    nlp.to_disk(tmp_path / "two")
    file = tmp_path / "one" / "dynsel_tagger" / "training"
    good = file.read_bytes()
    file.write_bytes((tmp_path / "two" / "dynsel_tagger" / "training").read_bytes())
    with pytest.raises(ValueError, match="DS194"):
        spacy.load(tmp_path / "one")
    file.write_bytes((tmp_path / "one" / "dynsel_tagger" / "model").read_bytes())
    with pytest.raises(ValueError, match="DS194"):
        spacy.load(tmp_path / "one")
    file.write_bytes(good)
    engine = spacy.load(tmp_path / "one").get_pipe("dynsel_tagger").engine
    for i in range(0, len(good), len(good) // 50):
        damaged = bytearray(good)
        damaged[i] ^= 1
        with pytest.raises(ValueError, match=r"DS03\d"):
            engine.training_from_bytes(bytes(damaged))


def test_labels_added_after_loading_with_state(tmp_path):
    nlp, examples = start("dynsel_ner", keep_training_state=True)
    learn(nlp, examples, 1)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    loaded.get_pipe("dynsel_ner").add_label("NEW")
    loaded.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    learn(loaded, make_examples(loaded, read_docs(loaded.vocab, "train", 60)), 1)
    assert "NEW" in loaded.get_pipe("dynsel_ner").labels


READ = {
    "dynsel_tagger": lambda doc: [token.tag_ for token in doc],
    "dynsel_morphologizer": lambda doc: [(t.pos_, str(t.morph)) for t in doc],
    "dynsel_ner": lambda doc: [token.ent_iob_ + token.ent_type_ for token in doc],
    "dynsel_parser": lambda doc: [(token.head.i, token.dep_) for token in doc],
}


# Some features of a word are new: they are not learned.
@pytest.mark.filterwarnings("ignore:.*DW110")
@pytest.mark.parametrize("name", CONFIGS)
def test_corrections_move_what_is_wrong_and_little_else(name):
    config = {"branches": 0} if name == "dynsel_parser" else {}
    nlp, examples = start(name, 200, **config)
    learn(nlp, examples, 4)
    loaded = spacy.blank("en")
    loaded.add_pipe(name, config={**CONFIGS[name], **config})
    loaded.from_bytes(nlp.to_bytes())
    read = READ[name]
    labels = {label for example in examples for label in read(example.reference)}
    test = read_docs(loaded.vocab, "test")

    def count_right():
        docs = loaded.pipe([strip(doc) for doc in test])
        found = [label for doc in docs for label in read(doc)]
        gold = [label for doc in test for label in read(doc)]
        return [x == y for x, y in zip(found, gold, strict=True)]

    before = count_right()
    n_sentences = n_tokens = n_right = 0
    for gold in read_docs(loaded.vocab, "dev"):
        found = read(loaded(strip(gold)))
        wrong = [i for i, x in enumerate(read(gold)) if x != found[i]]
        if name == "dynsel_morphologizer":
            # A label that was not in the training data can't be learned.
            wrong = [i for i in wrong if read(gold)[i] in labels]
        if not wrong:
            continue
        for _ in range(3):
            loaded.update(make_examples(loaded, [gold]))
        found = read(loaded(strip(gold)))
        n_tokens += len(wrong)
        n_right += sum(found[i] == read(gold)[i] for i in wrong)
        n_sentences += 1
        if n_sentences == 20:
            break
    assert n_right == n_tokens
    assert sum(count_right()) > sum(before) - 0.02 * len(before)


def test_what_is_right_teaches_nothing():
    nlp, examples = start("dynsel_tagger")
    learn(nlp, examples, 10)
    loaded = spacy.blank("en")
    tagger = loaded.add_pipe("dynsel_tagger", config=CONFIGS["dynsel_tagger"])
    loaded.from_bytes(nlp.to_bytes())
    before = tagger.engine.to_bytes()
    losses = loaded.update(make_examples(loaded, read_docs(loaded.vocab, "train", 60)))
    assert losses["dynsel_tagger"] == 0
    assert tagger.engine.to_bytes() == before


def accuracy(nlp, docs):
    found = [token.tag_ for doc in nlp.pipe(map(strip, docs)) for token in doc]
    gold = [token.tag_ for doc in docs for token in doc]
    return sum(x == y for x, y in zip(found, gold, strict=True)) / len(gold)


def test_most_tags_missing():
    """A third of the tags is worth not much less than all."""
    scores = []
    for share in (1.0, 1 / 3):
        rng = random.Random(0)
        nlp = spacy.blank("en")
        nlp.add_pipe("dynsel_tagger")
        docs = read_docs(nlp.vocab, "train", 400)
        for doc in docs:
            for token in doc:
                if rng.random() >= share:
                    token.tag_ = ""
        examples = make_examples(nlp, docs)
        nlp.initialize(lambda examples=examples: examples)
        learn(nlp, examples, 4)
        scores.append(accuracy(nlp, read_docs(nlp.vocab, "test")))
    assert scores[1] > scores[0] - 0.1
    assert scores[1] > 0.75
