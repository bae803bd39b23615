"""Settings that are chosen on held-out data after training."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..base.errors import Errors
from ..base.settings import check_number
from ..pipeline.ner import DynselNER
from ..tasks.bilou.gold import entity_f
from .batchers import make_share_batcher
from .readers import GoldWordsCorpus

# What o_bias can be tuned to, in quarters.
O_BIASES = range(-32, 13)
# The F1 at a bias is noisy: those around it count as well, up to one more or less.
REACH = 4
# How a copy learns that is tuned in place of a component: as configs have it.
N_BATCHES = 46
DROPOUT = 0.1


def tune_o_bias(component: DynselNER, examples: Iterable[Example]) -> float:
    """Set the o_bias of an entity recognizer to the one around which F1 on some
    examples is best, the nearest to 0 among equals.

    component (DynselNER): The component.
    examples (Iterable[Example]): Data that were not used for training. Their predicted
        docs are not changed.
    RETURNS (float): The best value, from -8 to 3.
    """
    examples = list(examples)
    docs = [example.predicted for example in examples]
    golds = [component.get_gold(example).actions for example in examples]
    gold = np.concatenate([np.zeros(0, "int32"), *golds])

    @cache
    def measure(quarters: int) -> float:
        component.o_bias = quarters / 4
        return entity_f(component.predict(docs).actions, gold)

    def choose(among: range, step: int) -> int:
        def rank(quarters: int) -> tuple[float, int]:
            around = range(quarters - REACH, quarters + REACH + 1, step)
            return round(sum(map(measure, around)), 9), -abs(quarters)

        return max(among, key=rank)

    # Halves first, then the quarters beside the best of them.
    half = choose(O_BIASES[::2], 2)
    low, high = max(O_BIASES[0], half - 1), min(O_BIASES[-1], half + 1)
    component.o_bias = best = choose(range(low, high + 1), 1) / 4
    return best


def find_o_bias(
    nlp: Language,
    examples: Iterable[Example],
    component: str | None = None,
    *,
    held_out: float = 0.1,
    n_epochs: int = 6,
) -> float:
    """Set the o_bias of an entity recognizer where there are no development data: a
    copy of it learns from all examples but some, on which its o_bias is tuned.

    nlp (Language): The pipeline, which may be trained or not.
    examples (Iterable[Example]): The training data.
    component (str): See make_o_bias_tuner.
    held_out (float): The share of the examples to tune on: those at even distances, so
        that each part of the data has some.
    n_epochs (int): How often the copy sees the others.
    RETURNS (float): The best value; if no example can be held out, the one it had.
    """
    check_number("held_out", held_out, 0.01, 0.5, whole=False)
    check_number("n_epochs", n_epochs, 1, 1000)
    name = _find_component(nlp, component)
    examples = list(examples)
    distance = round(1 / held_out)
    tuned = examples[distance - 1 :: distance]
    learned = [one for i, one in enumerate(examples) if (i + 1) % distance]
    ner = nlp.get_pipe(name)
    if not tuned:
        return ner.o_bias
    config = nlp.config.copy()
    # What else a pipeline does when it is initialized may be to call this function.
    config["initialize"]["before_init"] = config["initialize"]["after_init"] = None
    copy = type(nlp).from_config(config, vocab=nlp.vocab)
    with copy.select_pipes(enable=name):
        copy.initialize(lambda: learned)
        rng = Random(config["training"]["seed"])
        for _ in range(n_epochs):
            rng.shuffle(learned)
            for batch in make_share_batcher(N_BATCHES)(learned):
                copy.update(batch, drop=DROPOUT)
    ner.o_bias = best = tune_o_bias(copy.get_pipe(name), tuned)
    return best


def make_o_bias_finder(
    path: str | Path, component: str | None = None, held_out: float = 0.1
) -> Callable[[Language], Language]:
    """A callback for initialize.after_init that finds o_bias without development data,
    at the price of one more training.

    path (Path): The training data, as for make_o_bias_tuner.
    component (str), held_out (float): See find_o_bias.
    """

    def find(nlp: Language) -> Language:
        find_o_bias(nlp, GoldWordsCorpus(path)(nlp), component, held_out=held_out)
        return nlp

    return find


def make_o_bias_tuner(
    path: str | Path | None, component: str | None = None
) -> Callable[[Language], Language]:
    """A callback for training.before_to_disk that tunes o_bias.

    path (Path): Development data, a .spacy file or a folder of them, of which the words
        are taken as they are, as in training. Without it nothing is tuned.
    component (str): The name of the component; if not given, the first entity
        recognizer of this package.
    """

    def tune(nlp: Language) -> Language:
        if path is not None:
            chosen = _find_component(nlp, component)
            examples = list(GoldWordsCorpus(path)(nlp))
            docs = [example.predicted for example in examples]
            for name, pipe in nlp.pipeline:
                if name == chosen:
                    break
                docs = [pipe(doc) for doc in docs]
            examples = [
                Example(doc, example.reference)
                for doc, example in zip(docs, examples, strict=True)
            ]
            tune_o_bias(nlp.get_pipe(chosen), examples)
        return nlp

    return tune


def _find_component(nlp: Language, component: str | None) -> str:
    ours = [name for name, pipe in nlp.pipeline if isinstance(pipe, DynselNER)]
    chosen = ours[0] if component is None and ours else component
    if chosen is None or chosen not in ours:
        raise ValueError(Errors.DS105.format(name=component or ""))
    return chosen
