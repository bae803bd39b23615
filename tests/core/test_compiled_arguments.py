"""What compiled code is given by mistake is an error, and never the end of the process.

All of it runs in a process of its own: a crash fails the test and not the whole run.
"""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spacy.tokens import Doc

from fuzz import models
from helpers.compiled import COMPILED
from helpers.paths import PYTHONPATH
from spacy_dynsel.cascade.decoding import Decoder
from spacy_dynsel.cascade.levels import Lattices, Level, Sequences
from spacy_dynsel.core.forms.cached import CachedScorer
from spacy_dynsel.core.forms.factored import FactoredScorer
from spacy_dynsel.core.forms.line_table import LineTable, ShortLineTable
from spacy_dynsel.core.forms.packing import find_labels, unpack_weights
from spacy_dynsel.core.forms.slots import NarrowScorer, WideScorer
from spacy_dynsel.core.label_parts import LabelParts
from spacy_dynsel.core.learner import Learner
from spacy_dynsel.core.lexicon import Lexicon
from spacy_dynsel.core.program import Program
from spacy_dynsel.core.weight_state import mean_weights
from spacy_dynsel.spacy_io.annotations import (
    set_morphs,
    write_morphs,
    write_parses,
    write_tags,
)
from spacy_dynsel.spacy_io.lemmas import write_lemmas
from spacy_dynsel.spacy_io.lexemes import LexemeReader
from spacy_dynsel.tasks.arc_eager import decode as parsing
from spacy_dynsel.tasks.arc_eager.features import Features, TagMap
from spacy_dynsel.tasks.arc_eager.places import ACTION_PLACES
from spacy_dynsel.tasks.arc_eager.train import TransitionExamples
from spacy_dynsel.tasks.arc_eager.trees import follow, restore_arcs
from spacy_dynsel.tasks.bilou import decode as bilou
from spacy_dynsel.tasks.bilou.actions import write_entities
from spacy_dynsel.tasks.bilou.batch import EntityBatch
from spacy_dynsel.tasks.bilou.gazetteer import Gazetteer
from spacy_dynsel.tasks.bilou.task import Task
from spacy_dynsel.tasks.bilou.train import EntityExamples, Explaining, Guessing
from spacy_dynsel.tasks.labelling.history import History
from spacy_dynsel.tasks.labelling.train import WordExamples
from spacy_dynsel.tasks.lemmas import decode as lemmas
from spacy_dynsel.tasks.lemmas.cache import LemmaCache
from spacy_dynsel.tasks.lemmas.script_set import ScriptSet
from spacy_dynsel.tasks.lemmas.train import LemmaItems
from spacy_dynsel.tasks.morphology import decode as morphology
from spacy_dynsel.tasks.morphology.seen import SeenLabels
from spacy_dynsel.tasks.tagging import decode as tagging
from spacy_dynsel.tasks.word_tables import NO_TABLE

# Arguments that are no arrays and no objects of compiled types.
NUMBERS = {"int", "float", "double", "bint", "size_t", "bool", "uint64_t"}


def find_parameters(function: Any) -> list[str] | None:
    """The types of the parameters of a compiled function, as far as it names them."""
    found = re.match(r"[\w.]+\((.*?)\)( ->|$)", (function.__doc__ or "").split("\n")[0])
    if found is None:
        return None
    parts = re.split(r",\s*(?![^\[]*\])", found[1]) if found[1] else []
    return [part for part in parts if part not in ("*", "/")]


def list_functions() -> list[tuple[str, Any, Any]]:
    """The functions and methods of all compiled modules, with the class of the latter."""
    functions: list[tuple[str, Any, Any]] = []
    for name in COMPILED:
        module = import_module(name)
        for member in vars(module).values():
            own = getattr(member, "__module__", None) == module.__name__
            # What Cython adds raises an error only.
            if not own or getattr(member, "__name__", "").startswith("__"):
                continue
            if inspect.isclass(member) and not hasattr(member, "__slots__"):
                functions.append((f"{name}.{member.__name__}", member, None))
                functions += [
                    (f"{name}.{member.__name__}.{method}", function, member)
                    for method, function in vars(member).items()
                    if callable(function) and not method.startswith("__")
                ]
            elif callable(member) and not inspect.isclass(member):
                functions.append((f"{name}.{member.__name__}", member, None))
    return functions


def call_with_nothing() -> None:
    """Call all functions with None, or numbers where these are asked for, and methods of
    objects that were never initialized."""
    for name, function, owner in list_functions():
        parameters = find_parameters(function)
        if parameters is None:
            parameters = (
                find_parameters(getattr(function, "__init__", None)) or [""] * 5
            )
        for filling in (None, [], (), {}, np.zeros(0), "", [None]):
            values: list[Any] = []
            for parameter in parameters:
                words = parameter.split("=")[0].split()
                if words and words[-1] == "self":
                    continue
                is_number = len(words) > 1 and words[0] in NUMBERS
                values.append(1 if is_number else filling)
            print(name, repr(filling))
            try:
                made = [owner.__new__(owner)] if owner is not None else []
                function(*made, *values)
            except Exception as error:
                assert not isinstance(error, SystemError), (name, error)
    print("done")


def run_in_child(call: str) -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-X", "faulthandler", "-c"),
            f"import test_compiled_arguments as tests; tests.{call}()",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([PYTHONPATH, str(Path(__file__).parent)]),
        },
    )
    assert result.returncode == 0, result.stdout[-200:] + result.stderr[:2000]
    assert result.stdout.split()[-1] == "done"


@pytest.mark.parametrize(
    "call",
    [
        "call_with_nothing",
        "mix_taggers",
        "mix_morphologizers",
        "mix_morphology_weights",
        "mix_ner",
        "mix_lemmatizers",
        "mix_parsers",
        "mix_parser_learners",
        "break_tables",
        "mix_cascades",
        "write_nonsense",
    ],
)
def test_in_a_process_of_its_own(call):
    run_in_child(call)


def refuse(function: Any, *args: Any, **kwargs: Any) -> None:
    """Raise an error unless a call is refused."""
    try:
        function(*args, **kwargs)
    except (ValueError, TypeError, IndexError, OverflowError):
        return
    raise AssertionError((function, args, kwargs))


def make_pipe(maker: Any, n_labels: int = 0) -> Any:
    nlp = models.train(maker())
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    for i in range(n_labels):
        pipe.add_label(f"LABEL{i}")
    return pipe


def make_docs(pipe: Any) -> list[Doc]:
    words = ["She", "saw", "London", "hard"]
    return [Doc(pipe.vocab, words=words), Doc(pipe.vocab, words=words[:1])]


def scorer_of(engine: Any, part: str = "templates") -> Any:
    return engine.get_snapshot().scorers[part]


def lexicon_of(engine: Any, part: str = "templates") -> Any:
    return engine.get_snapshot().get_lexicon(engine.max_lexemes, part)


def mix_taggers() -> None:

    pipe = make_pipe(models.make_tagger)
    docs = make_docs(pipe)
    engine, other = pipe.engine, make_pipe(models.make_tagger).engine
    entities = make_pipe(models.make_ner).engine
    lexicon, reader, scorer = lexicon_of(engine), engine._reader, scorer_of(engine)
    margins = [1, 1]
    assert len(tagging.predict(docs, lexicon, reader, scorer, margins, 1)) == 2
    for wrong in ([None], [*docs, None], [docs], ["Doc"]):
        refuse(tagging.predict, wrong, lexicon, reader, scorer, margins, 1)
    for wrong in ([], [None], ["x"]):
        refuse(tagging.predict, docs, lexicon, reader, scorer, wrong, 1)
    refuse(tagging.predict, docs, lexicon_of(other), reader, scorer, margins, 1)
    refuse(tagging.predict, docs, lexicon, reader, scorer_of(other), margins, 1)
    refuse(tagging.predict, docs, lexicon, entities._reader, scorer, margins, 1)
    refuse(tagging.predict, docs, lexicon_of(entities), reader, scorer, margins, 1)

    def batch(gold: Any, ranges: Any) -> WordExamples:
        return WordExamples(
            docs,
            np.array(gold, "int32"),
            np.array(ranges, "int64"),
            lexicon,
            reader,
            engine.history,
            1,
        )

    learner = engine.main.learners[0]
    n_labels = learner.n_labels
    batch([0] * 5, [[0, 5]]).update(learner, 0, 0, 0)
    whole = batch([0] * 5, [[0, 5]])
    none = np.zeros(5, "uint16")
    assert len(whole.explain(scorer, none, none)[0]) == 5
    for wrong in (np.zeros(4, "uint16"), np.full(5, n_labels, "uint16")):
        refuse(whole.explain, scorer, wrong, none)
        refuse(whole.explain, scorer, none, wrong)
    refuse(whole.explain, scorer_of(entities), none, none)
    for ranges in ([[0, 6]], [[-1, 5]], [[3, 2]], [[0, 5, 5]]):
        refuse(batch, [0] * 5, ranges)
    refuse(batch, [0] * 4, [[0, 4]])
    for gold in (n_labels, -2 - n_labels, 1 << 30, -(1 << 31)):
        for name, rest in (("update", (0, 0, 0)), ("count", ()), ("guess", ())):
            refuse(getattr(batch([0, 0, 0, 0, gold], [[0, 5]]), name), learner, *rest)
    refuse(batch([0] * 5, [[0, 5]]).update, entities.main.learners[0], 0, 0, 0)
    refuse(learner.resize, n_labels - 1)
    refuse(Learner, engine.main.program, -1, engine.main.used_settings)
    refuse(Learner, engine.main.program, 1 << 16, engine.main.used_settings)
    keys, labels, values = learner.get_weights()
    for wrong in ((keys[1:], labels, values), (keys, labels, values[1:])):
        refuse(mean_weights, [(keys, labels, values), wrong])
    refuse(learner.correct_from, keys, labels + n_labels, values)
    refuse(learner.correct_from, keys, labels[:-1], values)
    state = learner.get_state()
    for name in ("keys", "states", "labels", "values", "squares"):
        fresh = Learner(engine.main.program, n_labels, engine.main.used_settings)
        refuse(fresh.set_state, {**state, name: state[name][:-1]})
    refuse(fresh.set_state, {**state, "labels": state["labels"] + n_labels})
    fresh.set_state(state)
    assert (fresh.get_weights()[2] == values).all()
    pipe.cfg["margin"] = []
    refuse(pipe.predict, docs)
    print("done")


def mix_decoders(level: Level, sequences: Sequences, make_level: Any) -> None:
    level.finish()
    rows = level.pack()
    refuse(level.unpack, rows)
    refuse(make_level().unpack, None)
    refuse(make_level(1).unpack, rows)
    decoder = Decoder([rows, rows], 2, 1, False, False)
    refuse(decoder.__init__, [rows], 2, 1, False, False)
    assert len(decoder.decode(sequences, [0.5], True, 2)[0]) == 3
    for alphas in ([], [None], [0.5, 0.5]):
        refuse(decoder.decode, sequences, alphas, False, 1)
    refuse(decoder.decode, sequences, [0.5], False, 0)
    refuse(Decoder.__new__(Decoder).decode, sequences, [], False, 1)
    for levels in (
        [],
        [None],
        ["rows"],
        [rows] * 6,
        [rows._replace(shift=99)],
        [rows._replace(keys=rows.keys[1:].copy())],
        [rows._replace(keys=np.full_like(rows.keys, 7 << 60))],
        [rows._replace(keys=rows.keys[::-1].copy())],
        [rows._replace(starts=rows.starts[::-1].copy())],
        [rows._replace(labels=rows.labels + np.uint16(9))],
        [rows._replace(values=rows.values[1:].copy())],
        [rows._replace(values=rows.values.astype("int32"))],
    ):
        refuse(Decoder, levels, 2, 1, False, False)
    refuse(Decoder, [rows], 2, 0, False, False)
    refuse(Decoder, [rows], 2, 6, False, False)
    refuse(Decoder, [rows], 0, 1, False, False)


def mix_cascades() -> None:
    def make_sequences(**change: Any) -> Sequences:
        arrays = {
            "features": np.array([1, 2, 3], "uint32"),
            "offsets": np.array([0, 1, 1, 3], "int64"),
            "lengths": np.array([2, 0, 1], "int64"),
            "labels": np.array([0, 1, -1], "int32"),
        }
        return Sequences(**{**arrays, **change})

    def make_level(n_labels: int = 2, by_state: bool = False) -> Level:
        return Level(n_labels, by_state, True, False, 1, 0)

    sequences, level = make_sequences(), make_level()
    for wrong in ([0, 1, 3], [0, 1, 1, 4], [1, 1, 1, 3], [0, 2, 1, 3], [0, -1, 1, 3]):
        refuse(make_sequences, offsets=np.array(wrong, "int64"))
    for wrong in ([2, 0], [2, 2], [-1, 3, 1], [2**62, 2**62, 1], []):
        refuse(make_sequences, lengths=np.array(wrong, "int64"))
    for wrong in ([0, 1], [0, 1, -2], [0, 1, 4095]):
        refuse(make_sequences, labels=np.array(wrong, "int32"))
    refuse(sequences.__init__, *[np.zeros(0, "uint32")] * 4)
    for n_labels in (0, -1, 4096):
        refuse(Lattices, 3, n_labels)
        refuse(make_level, n_labels)
    refuse(Lattices, -1, 2)
    lattices, never = Lattices(3, 2), Lattices(3, 2)
    refuse(lattices.start, sequences, 0)
    refuse(lattices.start, sequences, 6)
    refuse(Lattices(2, 2).start, sequences, 1)
    lattices.start(sequences, 2)
    refuse(lattices.get_grams, 3)
    refuse(lattices.get_grams, -1)
    everything, limits = np.arange(3), np.zeros(3)
    shorter = make_sequences(lengths=np.array([1, 1, 1], "int64"))
    more_labels = make_sequences(labels=np.array([0, 1, 2], "int32"))
    for function, rest in (
        (level.learn_filter, (0.5, 1.0)),
        (level.learn_labels, (1.0,)),
        (level.judge, (limits,)),
        (level.count_kept, (0.5,)),
        (level.filter, (0.5, True, Lattices(3, 2))),
    ):
        function(sequences, lattices, everything, *rest)
        for wrong in ([3], [-1], [0, 2**62]):
            refuse(function, sequences, lattices, np.array(wrong), *rest)
        refuse(function, sequences, never, everything, *rest)
        refuse(function, sequences, Lattices(2, 2), everything, *rest)
        refuse(function, sequences, Lattices(3, 3), everything, *rest)
        refuse(function, shorter, lattices, everything, *rest)
        refuse(function, more_labels, lattices, everything, *rest)
    refuse(level.judge, sequences, lattices, everything, np.zeros(2))
    # Lattices that are not made yet have nothing to carry.
    for wrong in (lattices, never, Lattices(2, 2), Lattices(3, 3)):
        refuse(level.carry, sequences, wrong, True)
    made = Lattices(3, 2)
    level.filter(sequences, lattices, everything, 0.5, True, made)
    level.carry(sequences, made.copy(), True)
    refuse(level.carry, more_labels, made, False)
    refuse(level.carry, shorter, made, False)
    for wrong in (lattices, Lattices(2, 2), Lattices(3, 3)):
        refuse(level.filter, sequences, lattices, everything, 0.5, True, wrong)
    highest = Lattices(3, 2)
    highest.start(sequences, 5)
    refuse(level.filter, sequences, highest, everything, 0.5, True, never)
    refuse(level.get_gaps, sequences, lattices, 3)
    keys, values = level.get_weights()
    refuse(level.set_weights, keys, values.reshape(-1))
    refuse(make_level().set_weights, keys, values.reshape(-1)[1:].copy())
    refuse(make_level(3).set_weights, keys, values.reshape(-1))
    refuse(make_level().set_weights, np.zeros(2, "uint64"), np.zeros(6, "float32"))
    mix_decoders(level, sequences, make_level)
    print("done")


def mix_morphologizers() -> None:
    pipe = make_pipe(models.make_morphologizer)
    docs = make_docs(pipe)
    engine, other = pipe.engine, make_pipe(models.make_morphologizer).engine
    tagger = make_pipe(models.make_tagger).engine
    lexicon, reader, scorer = lexicon_of(engine), engine._reader, scorer_of(engine)
    history, margins = engine.history, [1, 1]

    def predict(*args: Any, history: Any = history) -> Any:
        return morphology.predict(*args, 1, history=history)

    assert len(predict(docs, lexicon, reader, scorer, margins)) == 2
    for wrong in ([None], [*docs, None], [docs], ["Doc"]):
        refuse(predict, wrong, lexicon, reader, scorer, margins)
    for wrong in ([], [1], [None, 1], ["x", 1], [1 << 40, 1]):
        refuse(predict, docs, lexicon, reader, scorer, wrong)
    refuse(predict, docs, lexicon_of(other), reader, scorer, margins)
    refuse(predict, docs, lexicon, reader, scorer_of(other), margins)
    refuse(predict, docs, lexicon, tagger._reader, scorer, margins)
    refuse(predict, docs, lexicon_of(tagger), reader, scorer, margins)
    refuse(predict, docs, lexicon, reader, scorer_of(tagger), margins)
    never = FactoredScorer.__new__(FactoredScorer)
    refuse(predict, docs, lexicon, reader, never, margins)
    refuse(never.combine, np.zeros(3))
    assert never.find_seen(1) is None
    for values in (history.values[:-1], history.values + 1000):
        wrong = History(history.columns, values.copy(), "noun")
        refuse(predict, docs, lexicon, reader, scorer, margins, history=wrong)
    for wrong in (tagger.history, History.__new__(History), None):
        refuse(predict, docs, lexicon, reader, scorer, margins, history=wrong)
    refuse(History, ["a"], history.values)
    refuse(History, [], history.values[:, :0].copy())
    refuse(History, history.columns, history.values[:1].copy())
    refuse(History, history.columns, history.values, "tag")
    refuse(history.__init__, history.columns, history.values)

    n_tokens = sum(map(len, docs))
    ids, morphs, pos = np.zeros(n_tokens, "uint16"), np.zeros(3, "uint64"), np.zeros(3)
    pos = pos.astype("uint8")
    write_morphs(docs, ids, morphs, pos, True)
    for wrong in (ids[1:], ids + 2, ids + 0xFFFF):
        refuse(write_morphs, docs, wrong, morphs, pos, True)
    refuse(write_morphs, docs, ids, morphs[1:], pos, True)
    refuse(write_morphs, docs, ids, morphs[:0], pos[:0], True)
    refuse(write_morphs, [None], ids, morphs, pos, True)
    refuse(set_morphs, docs, np.zeros(n_tokens - 1, "uint64"))
    refuse(set_morphs, [None], np.zeros(n_tokens, "uint64"))
    pipe.cfg["margin"] = []
    refuse(pipe.predict, docs)
    print("done")


def mix_morphology_weights() -> None:
    pipe = make_pipe(models.make_morphologizer)
    docs = make_docs(pipe)
    engine, tagger = pipe.engine, make_pipe(models.make_tagger).engine
    lexicon, reader, scorer = lexicon_of(engine), engine._reader, scorer_of(engine)
    n_labels = scorer.n_labels

    def make(**change: Any) -> FactoredScorer:
        arguments = {
            "program": engine.main.program,
            "parts": engine.parts_of_labels,
            "index": scorer.weights.index,
            "slots": scorer.weights.slots,
            "has_wholes": engine.main.has_wholes,
            "seen": engine._seen,
            "scale": scorer.scale,
            "cardinalities": {},
        }
        return FactoredScorer(**{**arguments, **change})

    assert make().n_labels == n_labels
    keys, labels = np.array([3, 5], "uint64"), np.array([0, 1, 1], "uint16")
    seen = SeenLabels(keys, np.array([0, 2, 3], "int32"), labels)
    assert make(seen=seen).find_seen(3).tolist() == [0, 1]
    for change in (
        {"keys": keys[::-1].copy()},
        {"keys": keys[:1]},
        {"labels": labels[:2]},
        {"labels": labels + n_labels},
        {"labels": labels[::-1].copy()},
        *({"starts": np.array(one, "int32")} for one in ([0, 2], [0, 0, 3], [0, 4, 3])),
        {"starts": np.array([-1, 2, 3], "int32")},
        {"starts": None},
    ):
        refuse(make, seen=seen._replace(**change))
    few = LabelParts(1, np.array([0, 1], "int32"), np.zeros(1, "uint16"))
    for wrong in (None, few, LabelParts.__new__(LabelParts)):
        refuse(make, parts=wrong)
    for wrong in ([], [True], None):
        refuse(make, has_wholes=wrong)
    refuse(make, program=tagger.main.program)
    refuse(make, index=scorer.weights.index[:-1])
    refuse(make, slots=scorer.weights.slots[:-1])
    learner = engine.main.learners[0]
    settings, program = engine.main.used_settings, engine.main.program
    wholes = engine.main.has_wholes
    refuse(Learner, program, n_labels, settings, few, wholes)
    refuse(Learner, program, n_labels, settings, engine.parts_of_labels, wholes[:-1])
    refuse(Learner, program, n_labels, settings, engine.parts_of_labels)
    refuse(learner.resize, n_labels + 1)
    keys, outputs, values = learner.get_weights()
    refuse(learner.correct_from, keys, outputs + learner.parts.n_outputs, values)
    tagged = WordExamples(
        docs,
        np.zeros(5, "int32"),
        np.array([[0, 5]]),
        lexicon,
        reader,
        tagger.history,
        1,
    )
    none = np.zeros(5, "uint16")
    refuse(tagged.update, learner, 0, 0, 0)
    refuse(tagged.explain, scorer, none, none)
    print("done")


def mix_lemmatizers() -> None:
    pipe = make_pipe(models.make_lemmatizer)
    docs = make_docs(pipe)
    engine, tagger = pipe.engine, make_pipe(models.make_tagger).engine
    snapshot = engine.get_snapshot()
    reader, scorer, scripts = snapshot.reader, scorer_of(engine), snapshot.scripts
    cache = LemmaCache(10, [1])

    def predict(*args: Any) -> Any:
        return lemmas.predict(*args, None, snapshot.known, 5, True, 1)

    assert len(predict(docs, cache, reader, scorer, scripts)) == 2
    for wrong in ([None], [*docs, None], ["Doc"]):
        refuse(predict, wrong, cache, reader, scorer, scripts)
    refuse(predict, docs, LemmaCache(10, []), reader, scorer, scripts)
    refuse(predict, docs, LemmaCache(10, ["x"]), reader, scorer, scripts)
    refuse(predict, docs, LemmaCache.__new__(LemmaCache), reader, scorer, scripts)
    refuse(predict, docs, cache, reader, scorer, ScriptSet(("lower",)))
    refuse(predict, docs, cache, reader, scorer_of(tagger), scripts)
    empty = LexemeReader([], *NO_TABLE, *NO_TABLE)
    refuse(predict, docs, cache, empty, scorer, scripts)
    refuse(cache.__init__, 10, [])
    items = LemmaItems(scripts, reader, True)
    words = np.arange(4)
    pos, morphs = np.zeros(4, "uint8"), np.zeros(4, "uint64")
    numbers = items.add(docs[0], words, pos, morphs, ["she", "see", None, "hardly"])
    assert numbers.tolist() == [0, 1, 2, 3]
    assert items.is_reachable(numbers).tolist() == [True, True, False, False]
    for wrong_words in (words + 1, words - 1, words[:3]):
        refuse(items.add, docs[0], wrong_words, pos, morphs, [None] * 4)
    refuse(items.add, docs[0], words, pos[:3], morphs, [None] * 4)
    refuse(items.add, docs[0], words, pos, morphs[:3], [None] * 4)
    refuse(items.add, docs[0], words, pos, morphs, [None] * 3)
    refuse(items.add, None, words, pos, morphs, [None] * 4)
    learner, other = engine.main.learners[0], tagger.main.learners[0]
    assert items.update(learner, numbers, 0) >= 0
    few = LemmaItems(ScriptSet(("lower",)), reader, True)
    few.add(docs[0], words, pos, morphs, ["she", "see", None, "hardly"])
    for wrong in (numbers + 4, numbers - 1):
        refuse(items.update, learner, wrong, 0)
        refuse(items.count, learner, wrong)
        refuse(items.guess, learner, wrong)
        refuse(items.explain, scorer, wrong)
        refuse(items.is_reachable, wrong)
    for method in (items.count, items.guess):
        refuse(method, other, numbers)
    for method in (few.count, few.guess):
        refuse(method, learner, numbers)
    refuse(few.update, learner, numbers, 0)
    refuse(few.explain, scorer, numbers)
    refuse(items.explain, scorer_of(tagger), numbers)
    refuse(items.__init__, scripts, reader, True)
    n_tokens = sum(map(len, docs))
    good = (np.zeros(n_tokens, "uint16"), np.zeros(n_tokens, "uint64"))
    for wrong in ((good[0][1:], good[1]), (good[0], good[1][1:])):
        refuse(write_lemmas, docs, *wrong, True, None, None)
    refuse(write_lemmas, [None], *good, True, None, None)
    print("done")


def mix_ner() -> None:

    pipe = make_pipe(models.make_ner)
    docs = make_docs(pipe)
    engine, other = pipe.engine, make_pipe(models.make_ner, 3).engine
    tagger = make_pipe(models.make_tagger).engine
    task, lexicon = engine._make_task("templates", True), lexicon_of(engine)
    reader, scorer, margins = engine._reader, scorer_of(engine), [1]
    good = bilou.predict(docs, task, lexicon, reader, scorer, margins, 1, None, 0.5, 10)
    more = other._make_task("templates", True)
    refuse(bilou.predict, [None], task, lexicon, reader, scorer, margins, 1)
    refuse(bilou.predict, docs, task, lexicon, reader, scorer, [], 1)
    refuse(bilou.predict, docs, more, lexicon, reader, scorer, margins, 1)
    refuse(
        bilou.predict,
        docs,
        task,
        lexicon_of(other),
        reader,
        scorer_of(other),
        margins,
        1,
    )
    refuse(
        bilou.predict,
        docs,
        task,
        lexicon_of(tagger),
        tagger._reader,
        scorer,
        margins,
        1,
    )
    actions, support = good.actions, good.support
    for first in (
        EntityBatch(actions[:-1], None, None, False, support),
        EntityBatch(actions, None, None, False, support[:-1]),
        EntityBatch(actions, None, None, False, None),
        EntityBatch(actions + np.uint16(99), None, None, False, support),
    ):
        refuse(bilou.predict, docs, task, lexicon, reader, scorer, margins, 1, first)
    lexical = engine.main.program.lexical
    refuse(Task, np.zeros(2, "uint64"), False, lexical, True, 3, True, None)
    refuse(Task, np.zeros(2, "uint64"), False, [], True, 9, True, None)
    parts = (task, lexicon, reader)

    def batch(gold: Any, negatives: Any = (), starts: Any = None) -> EntityExamples:
        spans = np.array(list(negatives), "int64").reshape(-1, 3)
        return EntityExamples(docs, starts, *parts, np.array(gold, "int32"), spans)

    learner = engine.main.learners[0]
    n_types = (learner.n_labels - 1) // 4
    # I and L without a B are counted all the same.
    batch([2, 3, 0, 2, 0]).count(learner)
    batch([0] * 5, [(0, 2, 0)]).update(learner, 0, 0)
    refuse(batch, [0] * 4)
    refuse(batch, [0, 0, 0, 0, 1 + 4 * n_types])
    refuse(batch, [0, 0, 0, 0, -2])
    refuse(batch, [0] * 5, (), np.zeros(4, "uint8"))
    for span in ((0, 6, 0), (2, 2, 0), (-1, 1, 0), (0, 1, n_types), (0, 1, -1)):
        refuse(batch, [0] * 5, [span])
    # With room for its labels.
    other.make_trainable()
    for wrong in (other.main.learners[0], tagger.main.learners[0]):
        refuse(batch([0] * 5).update, wrong, 0, 0)
        refuse(batch([0] * 5).count, wrong)
        refuse(Guessing(docs, None, *parts).guess, wrong)
    explaining = Explaining(docs, None, *parts)
    explaining.explain(scorer, actions)
    refuse(explaining.explain, scorer, actions[:-1])
    refuse(explaining.explain, scorer, actions + np.uint16(99))
    refuse(explaining.explain, scorer_of(other), actions)
    print("done")


def mix_parsers() -> None:

    pipe = make_pipe(models.make_parser)
    docs = make_docs(pipe)
    engine = pipe.engine
    tagger = make_pipe(models.make_tagger).engine
    features = engine._features
    scorers = [scorer_of(engine, name) for name in engine.classifiers]
    margins = ([1], [1], [1])
    parts = (lexicon_of(engine, ""), engine._reader, engine._tags)
    ranking = (engine.reranker.features, scorer_of(engine, "reranker"))
    parsing.parse(docs, *parts, features, *scorers, margins, 1)
    parsing.parse(docs, *parts, features, *scorers, margins, 1, -1, 1.0, *ranking)
    parsing.parse(
        docs, *parts, features, *scorers, margins, 1, 3, float("-inf"), *ranking
    )
    refuse(parsing.parse, [None], *parts, features, *scorers, margins, 1)
    for i in range(3):
        wrong = [[1], [1], [1]]
        wrong[i] = []
        refuse(parsing.parse, docs, *parts, features, *scorers, tuple(wrong), 1)
        missing: list[Any] = [*features]
        missing[i] = None
        refuse(parsing.parse, docs, *parts, tuple(missing), *scorers, margins, 1)
    # There are fewer places around a boundary.
    for wrong_one in features[:2]:
        mixed = (*features[:2], wrong_one)
        refuse(parsing.parse, docs, *parts, mixed, *scorers, margins, 1)
    refuse(
        parsing.parse,
        docs,
        *parts,
        (features[0], *features[::2]),
        *scorers,
        ([1], [], [1]),
        1,
    )
    refuse(parsing.parse, docs, *parts, features[:2], *scorers, margins, 1)
    refuse(
        parsing.parse,
        docs,
        lexicon_of(tagger),
        *parts[1:],
        features,
        *scorers,
        margins,
        1,
    )
    refuse(
        parsing.parse,
        docs,
        lexicon_of(tagger),
        tagger._reader,
        parts[2],
        features,
        *scorers,
        margins,
        1,
    )
    print("done")


def mix_parser_learners() -> None:
    pipe = make_pipe(models.make_parser)
    docs = make_docs(pipe)
    engine, features = pipe.engine, pipe.engine._features
    tagger = make_pipe(models.make_tagger).engine
    parts = (lexicon_of(engine, ""), engine._reader, engine._tags)

    def batch(heads: Any, labels: Any, n_starts: int = 5) -> TransitionExamples:
        return TransitionExamples(
            docs,
            np.array(heads, "int32"),
            np.array(labels, "int32"),
            np.zeros(n_starts, "uint8"),
            *parts,
        )

    actions, arcs, boundaries = (
        part.learners[0] for part in engine.classifiers.values()
    )
    n_labels = arcs.n_labels
    good = batch([1, 1, 1, 1, 0], [0, 0, 0, 0, -1])
    good.update(*features[:2], actions, arcs, 0, 0, 0)
    refuse(batch, [1, 1, 1, 1], [0] * 5)
    refuse(batch, [1] * 5, [0] * 4)
    refuse(batch, [1] * 5, [0] * 5, 4)
    refuse(batch, [5, 1, 1, 1, 0], [0] * 5)
    refuse(batch, [(1 << 31) - 1, 1, 1, 1, 0], [0] * 5)
    refuse(batch, [1] * 5, [-2] * 5)
    refuse(batch([0] * 5, [n_labels] * 5).update, *features[:2], actions, arcs, 0, 0, 0)
    for pair in ((boundaries, arcs), (actions, tagger.main.learners[0])):
        refuse(good.update, *features[:2], *pair, 0, 0, 0)
        refuse(good.guess, *features[:2], *pair)
    refuse(good.update, features[1], features[0], actions, arcs, 0, 0, 0)
    starts = np.zeros(5, "int8")
    good.update_boundaries(features[2], boundaries, starts, 0, 0)
    refuse(good.update_boundaries, features[2], boundaries, starts[:-1], 0, 0)
    refuse(good.update_boundaries, features[2], boundaries, starts + 2, 0, 0)
    refuse(good.update_boundaries, features[2], actions, starts, 0, 0)
    refuse(good.update_boundaries, features[0], boundaries, starts, 0, 0)
    refuse(good.guess_boundaries, features[2], boundaries, np.zeros(4, "int32"))
    ranker = (engine.reranker.features, actions, arcs, engine.reranker.learner)
    for n_branches in (-1, 0, 3):
        good.update_ranker(*features[:2], *ranker, n_branches, 10.0)
    refuse(TagMap, np.ones(2, "uint64"), np.ones(1, "uint8"))
    refuse(follow, np.array([7, 0], "int32"), min)
    refuse(follow, np.array([0, 0], "int32"), lambda _: 99)
    refuse(follow, np.array([0, 0], "int32"), lambda _: -1)
    program = engine.actions.program
    refuse(Features, program, [], [])
    refuse(Learner, Program.__new__(Program), 4, engine.settings)
    print("done")


def break_tables() -> None:

    pipe = make_pipe(models.make_tagger)
    engine, docs = pipe.engine, make_docs(pipe)
    scorer, n_labels = scorer_of(engine), engine.n_outputs
    index, slots = np.array(scorer.weights.index), np.array(scorer.weights.slots)
    rest = (scorer.scale, scorer.cardinalities)
    CachedScorer(engine.main.program, n_labels, index, slots, *rest)
    past_end = index.copy()
    past_end[5:-1] = len(slots) + 1
    for wrong in (past_end, index[:-1], index[:2], np.zeros(0, "uint32")):
        refuse(CachedScorer, engine.main.program, n_labels, wrong, slots, *rest)
        refuse(unpack_weights, wrong, slots)
    refuse(CachedScorer, engine.main.program, 1, index, slots, *rest)
    refuse(
        CachedScorer, engine.main.program, 1 << 20, index, slots.astype("uint64"), *rest
    )
    small = CachedScorer(
        engine.main.program,
        n_labels,
        index,
        slots,
        scorer.scale,
        {"tag": 1, "class": 1},
    )
    lexicon = Lexicon(len(engine.main.program.lexical), [small], 100)

    refuse(tagging.predict, docs, lexicon, engine._reader, small, [1, 1], 1)
    assert find_labels(slots, 1) in ([], [0])
    refuse(Lexicon, 3, [None], 5)
    refuse(Lexicon, -1, [], 5)
    refuse(Lexicon, 0, [scorer], 5)
    one, two = np.ones(1, "uint32"), np.array([1, 2], "uint32")
    refuse(LineTable, two, one)
    refuse(ShortLineTable, two, np.ones(1, "int16"))
    refuse(
        LexemeReader, [], two.astype("uint64"), one, two[:0].astype("uint64"), two[:0]
    )
    arrays = {name: np.zeros(0, "uint64") for name in ("folded_keys", "exact_keys")}
    arrays |= {name: np.zeros(0, "uint32") for name in ("folded_lists", "exact_lists")}
    Gazetteer(arrays, 1, ["lower", "word"])
    refuse(Gazetteer, {**arrays, "exact_lists": one}, 1, ["lower", "word"])
    refuse(Gazetteer, arrays, 25, ["lower", "word"])
    parser = make_pipe(models.make_parser).engine
    labels, actions = (scorer_of(parser, name) for name in ("labels", "actions"))
    codes = {**labels.arrays(), "keys": one, "codes": one * np.uint32(127 << 8 | 1)}
    refuse(WideScorer, parser.arcs.program, 3, codes, 1.0)
    refuse(WideScorer, parser.arcs.program, 3, {**codes, "codes": one << 31 | 9}, 1.0)
    refuse(NarrowScorer, parser.actions.program, 5, actions.arrays(), 1.0)
    for kind in (-1, 3, 99):
        refuse(labels.sum, [1], kind)
        refuse(actions.sum, [1], kind)
    print("done")


def write_nonsense() -> None:
    docs = make_docs(make_pipe(models.make_tagger))
    tags = np.ones(3, "uint64")
    for wrong in ([None] * 5, [*docs, None], [*docs, "Doc"]):
        refuse(write_tags, wrong, np.zeros(5, "uint16"), tags, True)
        refuse(write_entities, wrong, np.zeros(5, "uint16"), tags)
        zeros = (np.zeros(5, "int32"), np.zeros(5, "uint16"), np.zeros(5, "uint8"))
        refuse(write_parses, wrong, *zeros, tags)
    heads, starts = np.array([0, 0, 0, 0, 0], "int32"), np.zeros(5, "uint8")
    for number, label in ((9, 0), (-1, 0), (0, 3), (0, 0x8000)):
        heads[-1] = number
        deps = np.array([0, 0, 0, 0, label], "uint16")
        refuse(write_parses, docs, heads, deps, starts, tags)
        # Nothing was written.
        assert not any(doc.has_annotation("DEP") for doc in docs)
    for token in (4, -1, 1 << 40):
        refuse(restore_arcs, docs[0], [token], {})
    print("done")


def test_too_many_atoms_of_a_parser():
    columns = ["word", "lower", "norm", "shape", "tag", "pos", "prefix1", "suffix3"]

    places = [place for place in ACTION_PLACES if place != "0"]
    names = [f"{column}[{place}]" for place in places for column in columns]
    names += [f"suffix{size}[{place}]" for place in places for size in (1, 2, 4, 5)]
    lines = [" ".join(names[i : i + 5]) for i in range(0, 260, 5)]
    with pytest.raises(ValueError, match=r"DS217.*256"):
        models.make_pipeline("dynsel_parser", actions=models.given(*lines))


def test_docs_that_are_none():
    for maker in models.MAKERS:
        pipe = make_pipe(maker)
        with pytest.raises((TypeError, ValueError)):
            pipe.predict([None])
