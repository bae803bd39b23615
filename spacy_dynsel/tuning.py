"""Settings that are chosen on held-out data after training."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.training import Example

from .errors import Errors
from .pipeline.ner import DynselNER
from .readers import GoldWordsCorpus
from .tasks.bilou import entity_f

O_BIASES = tuple(float(bias) for bias in range(-6, 3))
O_BIAS_STEPS = (0.5, 0.25)


def tune_o_bias(
    component: DynselNER,
    examples: Iterable[Example],
    biases: Sequence[float] = O_BIASES,
    steps: Sequence[float] = O_BIAS_STEPS,
) -> float:
    """Set the o_bias of an entity recognizer to the one with the best F1 on some
    examples, the nearest to 0 among equals.

    component (DynselNER): The component.
    examples (Iterable[Example]): Data that were not used for training. Their predicted
        docs are not changed.
    biases (Sequence[float]): The values to try first.
    steps (Sequence[float]): How far to go on from the best one so far, to both sides,
        one after the other.
    RETURNS (float): The best value that was tried.
    """
    examples = list(examples)
    docs = [example.predicted for example in examples]
    golds = [component.get_gold(example).actions for example in examples]
    gold = np.concatenate([np.zeros(0, "int32"), *golds])
    scores: dict[float, float] = {}

    def rank(bias: float) -> tuple[float, float]:
        if bias not in scores:
            component.o_bias = bias
            scores[bias] = entity_f(component.predict(docs).actions, gold)
        return scores[bias], -abs(bias)

    best = max(biases, key=rank)
    for step in steps:
        best = max((best, best - step, best + step), key=rank)
    component.o_bias = best
    return best


def make_o_bias_tuner(
    path: str | Path | None, component: str = "dynsel_ner"
) -> Callable[[Language], Language]:
    """A callback for training.before_to_disk that tunes o_bias.

    path (Path): Development data, a .spacy file or a folder of them, of which the words
        are taken as they are, as in training. Without it nothing is tuned.
    component (str): The name of the component.
    """

    def tune(nlp: Language) -> Language:
        if path is not None:
            if component not in nlp.pipe_names:
                raise ValueError(Errors.DS105.format(name=component))
            examples = list(GoldWordsCorpus(path)(nlp))
            docs = [example.predicted for example in examples]
            for name, pipe in nlp.pipeline:
                if name == component:
                    break
                docs = [pipe(doc) for doc in docs]
            examples = [
                Example(doc, example.reference)
                for doc, example in zip(docs, examples, strict=True)
            ]
            tune_o_bias(nlp.get_pipe(component), examples)
        return nlp

    return tune
