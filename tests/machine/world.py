"""A pipeline, what may be done to it in any order, and what must hold afterwards.

An action is a function of a World and of a source of random numbers; its name and the
seed of these numbers say all about a step, so that a sequence of steps can be replayed.
"""

import copy
import pickle
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import spacy
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.training import Example

from helpers.contract import FACTORIES
from helpers.words import STRANGE_WORDS
from spacy_dynsel.confidence.reliability import fit_confidence

INF = float("inf")
CODE = re.compile(r"\[?(DS|E)\d{3}")
SENTENCES = [
    ("She hits London", "PRP VBZ NNP", "PRON VERB PROPN", "she hit London", [1, 1, 1]),
    (
        "He likes the hits",
        "PRP VBZ DT NNS",
        "PRON VERB DET NOUN",
        "he like the hit",
        [1, 1, 3, 1],
    ),
    ("Paris is green", "NNP VBZ JJ", "PROPN AUX ADJ", "Paris be green", [2, 2, 2]),
]
MORPHS = {"VERB": "Number=Sing|Tense=Pres", "NOUN": "Number=Plur", "PRON": "Case=Nom"}
TEXTS = [words for words, *_ in SENTENCES]
TEXTS += ["", " ", "London  is\n\nthe green Zürich !", "HITS LIKES PARIS", "x"]
CONFIGS: dict[str, list[dict[str, Any]]] = {
    "dynsel_tagger": [{}, {"model": {"folds": 2}}, {"keep_training_state": True}],
    "dynsel_morphologizer": [{}, {"model": {"seeds": 2}}, {"extend": True}],
    "dynsel_ner": [{}, {"model": {"two_passes": True}}, {"keep_training_state": True}],
    "dynsel_parser": [{}, {"keep_training_state": True}],
    "dynsel_lemmatizer": [{}, {"backoff": "form"}, {"keep_training_state": True}],
}
MARGINS = [0, 0.5, 3.0, 20, INF, [1.0], [2.0, 2.0], [9.0, 5.0, 4.0], -1, "x", None, []]


class FindingError(Exception):
    """Something does not hold."""


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise FindingError(what)


class World:
    """A pipeline that steps change, and folders with what was saved of it."""

    def __init__(self, folder: Path) -> None:
        self.nlp = spacy.blank("en")
        self.folder = folder
        self.saved: list[Path] = []
        self.bytes: list[tuple[str, bytes]] = []

    @property
    def components(self) -> list[tuple[str, Any]]:
        """Those of the pipeline, disabled ones too."""
        return list(self.nlp._components)

    @property
    def is_ready(self) -> bool:
        return all(pipe.engine.is_initialized for _, pipe in self.nlp.pipeline)

    def pick(self, rng: random.Random) -> tuple[str, Any]:
        if not self.components:
            add(self, rng)
        return rng.choice(self.components)

    def get_state(self) -> list[Any]:
        """All that can be seen of components."""
        return [
            (name, pipe.to_bytes(exclude=["vocab"]), dict(pipe.cfg), pipe.labels)
            for name, pipe in self.components
        ]


def make_example(nlp: Any, rng: random.Random, kind: str) -> Example:
    """An example of some kind, good or bad."""
    text, tags, pos, lemmas, heads = rng.choice(SENTENCES)
    words = text.split()
    predicted = Doc(nlp.vocab, words=words)
    if kind == "unannotated":
        return Example(predicted, Doc(nlp.vocab, words=words))
    if kind == "empty":
        return Example(Doc(nlp.vocab), Doc(nlp.vocab))
    if kind == "blank":
        return Example(
            Doc(nlp.vocab, words=["\n", " "]), Doc(nlp.vocab, words=["\n", " "])
        )
    ents = [f"B-{'LOC' if word in ('London', 'Paris') else 'X'}" for word in words]
    ents = [ent if ent == "B-LOC" else "O" for ent in ents]
    deps = ["ROOT" if head == i else "dep" for i, head in enumerate(heads)]
    annotation: dict[str, Any] = {
        "tags": tags.split(),
        "pos": pos.split(),
        "morphs": [MORPHS.get(one, "") for one in pos.split()],
        "lemmas": lemmas.split(),
        "heads": heads,
        "deps": deps,
        "ents": ents,
    }
    if kind == "unseen":
        new = f"N{rng.randrange(4)}"
        annotation |= {
            "tags": [new] * len(words),
            "deps": [d if d == "ROOT" else new for d in deps],
        }
        annotation |= {
            "ents": [f"B-{new}"] * len(words),
            "lemmas": [f"q{new}"] * len(words),
        }
        annotation |= {"morphs": [f"New={new}"] * len(words)}
    if kind == "negative":
        annotation |= {"tags": [f"!{tag}" for tag in tags.split()]}
    if kind == "partial":
        for key in rng.sample(sorted(annotation), 3):
            if key not in ("heads", "deps"):
                annotation.pop(key)
        if "tags" in annotation:
            annotation["tags"][0] = ""
    reference = Doc(nlp.vocab, words=words, **annotation)
    if kind == "misaligned":
        joined = ["".join(words[:2]), *words[2:]]
        predicted = Doc(nlp.vocab, words=joined)
    return Example(predicted, reference)


KINDS = ["good"] * 4 + [
    "unannotated",
    "empty",
    "blank",
    "unseen",
    "negative",
    "partial",
    "misaligned",
]


def make_examples(nlp: Any, rng: random.Random) -> list[Example]:
    return [make_example(nlp, rng, rng.choice(KINDS)) for _ in range(rng.randint(0, 5))]


def annotation_of(doc: Doc) -> list[tuple]:
    return [
        (
            t.tag_,
            t.pos_,
            str(t.morph),
            t.lemma_,
            t.dep_,
            t.head.i,
            t.ent_type_,
            t.ent_iob_,
        )
        for t in doc
    ]


# Actions.


def add(world: World, rng: random.Random) -> None:
    factory = rng.choice(FACTORIES)
    if len(world.components) < 4:
        name = f"{factory}{rng.randrange(3)}"
        if name not in world.nlp.component_names:
            config = rng.choice(CONFIGS[factory])
            before = rng.choice([None, *world.nlp.pipe_names])
            world.nlp.add_pipe(factory, name, config=config, before=before)


def remove(world: World, rng: random.Random) -> None:
    name, _ = world.pick(rng)
    world.nlp.remove_pipe(name)


def rename(world: World, rng: random.Random) -> None:
    name, pipe = world.pick(rng)
    new = f"renamed{rng.randrange(100)}"
    if new not in world.nlp.component_names:
        world.nlp.rename_pipe(name, new)
        expect(world.nlp.get_pipe(new) is pipe, "a renamed component is another")


def replace(world: World, rng: random.Random) -> None:
    name, _ = world.pick(rng)
    if name in world.nlp.pipe_names:
        world.nlp.replace_pipe(name, rng.choice(FACTORIES))


def disable(world: World, rng: random.Random) -> None:
    name, _ = world.pick(rng)
    if name in world.nlp.disabled:
        world.nlp.enable_pipe(name)
    else:
        world.nlp.disable_pipe(name)


def source(world: World, rng: random.Random) -> None:
    name, _ = world.pick(rng)
    new = f"sourced{rng.randrange(100)}"
    other = spacy.blank("en")
    if name in world.nlp.pipe_names and new not in world.nlp.component_names:
        other.add_pipe(name, new, source=world.nlp)
        world.nlp = other


def initialize(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    kinds = ["good"] * 3 + ([rng.choice(KINDS)] if rng.random() < 0.3 else [])
    examples = [make_example(world.nlp, rng, kind) for kind in kinds * 2]
    if rng.random() < 0.1:
        examples = []
    labels = None
    if rng.random() < 0.2:
        labels = rng.choice(
            [list(pipe.labels), ["A", "B"], [], ["A", ""], 5, pipe.label_data]
        )
    if rng.random() < 0.1:
        pipe.initialize(lambda: (1 / 0 for _ in "ab"), nlp=world.nlp)
    pipe.initialize(lambda: examples, nlp=rng.choice([None, world.nlp]), labels=labels)


def initialize_all(world: World, rng: random.Random) -> None:
    world.pick(rng)
    examples = [make_example(world.nlp, rng, "good") for _ in range(6)]
    world.nlp.initialize(lambda: examples)


def update(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    losses = pipe.update(make_examples(world.nlp, rng), drop=rng.choice([0.0, 0.3]))
    expect(all(loss >= 0 for loss in losses.values()), f"losses {losses}")


def update_all(world: World, rng: random.Random) -> None:
    world.pick(rng)
    if world.is_ready:
        names = world.nlp.pipe_names
        chosen = rng.sample(names, rng.randint(0, len(names)))
        examples = make_examples(world.nlp, rng)
        world.nlp.update(
            examples, annotates=chosen, exclude=rng.choice([[], chosen[:1]])
        )


def update_in_a_zone(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    with world.nlp.memory_zone():
        pipe.update(make_examples(world.nlp, rng))


def resume(world: World, rng: random.Random) -> None:
    world.nlp.resume_training()


def add_label(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    label = rng.choice(
        ["NEW", "LOC", "nsubj", "POS=NOUN", "lower s>$", "", "A B", "\ud800", 7, None]
    )
    before = len(pipe.labels)
    added = pipe.add_label(label)
    expect(added in (0, 1), f"add_label gave {added}")
    expect(len(pipe.labels) - before in (0, added), "labels and what add_label gave")


def set_margin(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    pipe.margin = rng.choice(MARGINS)


def set_setting(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    name, values = rng.choice(
        [
            ("n_threads", [1, 2, 5, 0, "x"]),
            ("keep_training_state", [True, False]),
            ("confidence", [True, False]),
        ]
    )
    setattr(pipe, name, rng.choice(values))


def set_cfg(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    name = rng.choice(sorted({"overwrite", "cache_size"} & set(pipe.cfg)))
    pipe.cfg[name] = rng.choice([1, 50]) if name == "cache_size" else rng.random() < 0.5


def fit(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    examples = [make_example(world.nlp, rng, "good") for _ in range(4)]
    fit_confidence(pipe, examples)


def annotate(world: World, rng: random.Random) -> None:
    for text in rng.sample(TEXTS, 3):
        world.nlp(text)


def annotate_in_a_zone(world: World, rng: random.Random) -> None:
    with world.nlp.memory_zone():
        list(world.nlp.pipe([f"Zone{rng.randrange(99)} {text}" for text in TEXTS]))


def annotate_strange_words(world: World, rng: random.Random) -> None:
    words = rng.choice(STRANGE_WORDS)
    world.nlp(Doc(world.nlp.vocab, words=[word[:3000] for word in words]))


def annotate_preset(world: World, rng: random.Random) -> None:
    """A doc that has annotation, some of it with labels that nobody knows."""
    example = make_example(world.nlp, rng, rng.choice(["good", "unseen", "partial"]))
    world.nlp(example.reference.copy())


def evaluate(world: World, rng: random.Random) -> None:
    world.nlp.evaluate(make_examples(world.nlp, rng))


def explain(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    doc = world.nlp.make_doc(rng.choice(TEXTS))
    before = doc.to_bytes()
    expect(len(pipe.explain(doc)) == len(doc), "explanations and tokens")
    expect(doc.to_bytes() == before, "explain changes a doc")


def describe(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    repr(pipe)
    pipe.describe()
    pipe.statistics([world.nlp.make_doc(text) for text in TEXTS])


def to_disk(world: World, rng: random.Random) -> None:
    folder = world.folder / str(rng.randrange(3))
    world.nlp.to_disk(folder)
    world.saved.append(folder)


def from_disk(world: World, rng: random.Random) -> None:
    if world.saved:
        world.nlp = spacy.load(rng.choice(world.saved))


def from_disk_in_place(world: World, rng: random.Random) -> None:
    if world.saved:
        _, pipe = world.pick(rng)
        folders = sorted(
            one for one in rng.choice(world.saved).iterdir() if (one / "cfg").exists()
        )
        if folders:
            pipe.from_disk(rng.choice(folders), exclude=["vocab"])


def to_bytes(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    world.bytes.append((type(pipe).__name__, pipe.to_bytes(exclude=["vocab"])))


def from_bytes(world: World, rng: random.Random) -> None:
    """Of the same component, of another one, or of none."""
    if world.bytes:
        _, pipe = world.pick(rng)
        _, data = rng.choice(world.bytes)
        if rng.random() < 0.2:
            at = rng.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 85]) + data[at + 1 :]
        pipe.from_bytes(data, exclude=["vocab"])


def model_from_bytes(world: World, rng: random.Random) -> None:
    _, pipe = world.pick(rng)
    pipe.model.from_bytes(pipe.model.to_bytes())


def pickle_all(world: World, rng: random.Random) -> None:
    world.nlp = pickle.loads(pickle.dumps(world.nlp))


def deepcopy(world: World, rng: random.Random) -> None:
    world.nlp = copy.deepcopy(world.nlp)


def swap_tokenizer(world: World, rng: random.Random) -> None:
    if rng.random() < 0.5:
        world.nlp.tokenizer = Tokenizer(world.nlp.vocab)
    else:
        world.nlp.tokenizer = spacy.blank("en").tokenizer.__class__(world.nlp.vocab)


def use_averages(world: World, rng: random.Random) -> None:
    with world.nlp.use_params({}):
        annotate(world, rng)


# More often what makes a pipeline that does something.
ACTIONS: dict[str, Callable[[World, random.Random], None]] = {
    action.__name__: action
    for action in (
        *(add, remove, rename, replace, disable, source, initialize, initialize_all),
        *(update, update_all, update_in_a_zone, resume, add_label, set_margin),
        *(set_setting, set_cfg, fit, annotate, annotate_in_a_zone),
        *(annotate_strange_words, annotate_preset, evaluate, explain, describe),
        *(to_disk, from_disk, from_disk_in_place, to_bytes, from_bytes),
        *(model_from_bytes, pickle_all, deepcopy, swap_tokenizer, use_averages),
    )
}
WEIGHTS = {
    "add": 4,
    "initialize_all": 6,
    "update": 4,
    "update_all": 4,
    "remove": 0.5,
    "replace": 0.5,
}
# Change one component or nothing: if they fail, all is as before.
WHOLE = {"initialize", "update", "add_label", "set_margin", "set_setting", "fit"}
WHOLE |= {
    "from_bytes",
    "from_disk_in_place",
    "explain",
    "describe",
    "to_disk",
    "to_bytes",
}
WHOLE |= {"annotate", "evaluate", "annotate_strange_words", "model_from_bytes"}

Step = tuple[str, int]


def draw_steps(seed: int, n: int) -> list[Step]:
    rng = random.Random(seed)
    names = list(ACTIONS)
    chosen = rng.choices(names, [WEIGHTS.get(name, 1) for name in names], k=n)
    return [(name, rng.randrange(2**31)) for name in chosen]


def check(world: World) -> None:
    """What must hold after each step."""
    nlp = world.nlp
    for name, pipe in world.components:
        expect(pipe.name == name, f"{pipe.name} is called {name}")
        # Scripts of lemmas are no annotation.
        for label in () if pipe.hide_labels else pipe.labels:
            expect(label in pipe.vocab.strings, f"{label} is lost")
        if not pipe.engine.is_initialized:
            continue
        docs = [nlp.make_doc(text) for text in TEXTS]
        before = [doc.to_bytes() for doc in docs]
        n_threads, pipe.n_threads = pipe.n_threads, 1
        one = [list(map(int, labels)) for labels in as_labels(pipe.predict(docs))]
        pipe.n_threads = 4
        four = [list(map(int, labels)) for labels in as_labels(pipe.predict(docs))]
        pipe.n_threads = n_threads
        expect(one == four, f"{name}: four threads differ from one")
        after = [doc.to_bytes() for doc in docs]
        expect(before == after, f"{name}: predict changes docs")
    if world.is_ready:
        called = [annotation_of(nlp(text)) for text in TEXTS]
        piped = [annotation_of(doc) for doc in nlp.pipe(TEXTS, batch_size=3)]
        expect(called == piped, "pipe differs from call")
        other = spacy.blank("en")
        for name in nlp.pipe_names:
            other.add_pipe(
                nlp.get_pipe_meta(name).factory, name, config=get_model(nlp, name)
            )
        other.tokenizer = nlp.tokenizer
        for name, pipe in nlp.pipeline:
            data = pipe.to_bytes(exclude=["vocab"])
            loaded = other.get_pipe(name).from_bytes(data, exclude=["vocab"])
            expect(loaded.to_bytes(exclude=["vocab"]) == data, f"{name}: bytes change")
        again = [annotation_of(other(text)) for text in TEXTS]
        expect(called == again, "what was loaded differs from what was saved")


def get_model(nlp: Any, name: str) -> dict[str, Any]:
    return {"model": nlp.get_pipe_config(name)["model"]}


def as_labels(batch: Any) -> Iterable[Any]:
    for name in ("labels", "actions", "heads"):
        found = getattr(batch, name, None)
        if found is not None:
            return [found]
    return []


def take_step(world: World, step: Step) -> str:
    """Take one step. RETURNS (str): The error that it gave, if any."""
    name, seed = step
    state = world.get_state() if name in WHOLE else None
    error = ""
    try:
        ACTIONS[name](world, random.Random(seed))
    except FindingError:
        raise
    except ZeroDivisionError:
        # From examples that fail.
        error = "ZeroDivisionError"
    except UnicodeEncodeError as caught:
        error = repr(caught)
        expect("surrogates" in error, error)
    except (ValueError, TypeError, KeyError) as caught:
        error = str(caught)
        if not CODE.search(error):
            raise FindingError(
                f"{name}: an error without a code: {caught!r}"
            ) from caught
    if error and state is not None:
        names = [one[0] for one in state]
        if names == [one for one, _ in world.components]:
            expect(world.get_state() == state, f"{name}: changed by an error: {error}")
    return error


def play(steps: list[Step], *, verbose: bool = False) -> None:
    """Take all steps, and check after each."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        world = World(Path(folder))
        warnings.simplefilter("ignore")
        for step in steps:
            error = take_step(world, step)
            if verbose:
                print(*step, error[:100], flush=True)
            check(world)
