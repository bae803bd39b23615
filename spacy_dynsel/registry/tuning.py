"""Settings that are chosen on held-out data after training."""

from collections.abc import Callable, Iterable
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
    scores: dict[int, float] = {}
    for quarters in range(O_BIASES.start - REACH, O_BIASES.stop + REACH):
        component.o_bias = quarters / 4
        scores[quarters] = entity_f(component.predict(docs).actions, gold)

    def rank(quarters: int) -> tuple[float, int]:
        around = sum(scores[quarters + i] for i in range(-REACH, REACH + 1))
        return round(around, 9), -abs(quarters)

    component.o_bias = best = max(O_BIASES, key=rank) / 4
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
