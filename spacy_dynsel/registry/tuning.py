"""Settings that are chosen on held-out data after training."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..base.errors import Errors
from ..pipeline.ner import DynselNER
from ..tasks.bilou.gold import entity_f
from .readers import GoldWordsCorpus

# What o_bias can be tuned to, in quarters.
O_BIASES = range(-32, 13)
# The F1 at a bias is noisy: those around it count as well, up to one more or less.
REACH = 4


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
            ours = [one for one, p in nlp.pipeline if isinstance(p, DynselNER)]
            chosen = ours[0] if component is None and ours else component
            if chosen not in ours:
                raise ValueError(Errors.DS105.format(name=component or ""))
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
