"""Settings that are chosen on held-out data after training."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from spacy.language import Language
from spacy.training import Corpus, Example

from .errors import Errors
from .pipeline.ner import DynselNER

O_BIASES = tuple(step / 4 for step in range(-12, 9))


def tune_o_bias(
    component: DynselNER,
    examples: Iterable[Example],
    biases: Sequence[float] = O_BIASES,
) -> float:
    """Set the o_bias of an entity recognizer to the one that is best for some examples,
    the nearest to 0 among equals.

    component (DynselNER): The component.
    examples (Iterable[Example]): Data that were not used for training. Their predicted
        docs are not changed.
    biases (Sequence[float]): The values to try.
    RETURNS (float): The best of them.
    """
    examples = list(examples)
    scores = {}
    for bias in biases:
        component.o_bias = bias
        copies = [
            Example(example.predicted.copy(), example.reference) for example in examples
        ]
        docs = [example.predicted for example in copies]
        component.set_annotations(docs, component.predict(docs))
        scores[bias] = component.scorer(copies)["ents_f"] or 0.0
    best = max(scores, key=lambda bias: (scores[bias], -abs(bias)))
    component.o_bias = best
    return best


def make_o_bias_tuner(
    path: str | Path | None, component: str = "dynsel_ner"
) -> Callable[[Language], Language]:
    """A callback for training.before_to_disk that tunes o_bias.

    path (Path): Development data, a .spacy file or a folder of them. Without it nothing
        is tuned.
    component (str): The name of the component.
    """

    def tune(nlp: Language) -> Language:
        if path is not None:
            if component not in nlp.pipe_names:
                raise ValueError(Errors.DS105.format(name=component))
            examples = list(Corpus(path)(nlp))
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
