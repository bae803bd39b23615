"""A cascade that knows a few sentences by heart."""

from spacy.language import Language
from spacy.training import Example

MODEL = {
    "@architectures": "spacy_dynsel.CascadeTagger.v1",
    "cascade": {"order": 3, "epsilon": 0.1, "epochs": 5, "final_epochs": 20},
}


def train_cascade(
    nlp: Language,
    examples: list[Example],
    factory: str = "dynsel_tagger",
    n_updates: int = 2,
    **config,
):
    component = nlp.add_pipe(factory, config={"model": MODEL, **config})
    nlp.initialize(lambda: examples)
    for _ in range(n_updates):
        nlp.update(examples)
    return component
