"""What fuzzing starts from."""

from pathlib import Path

from spacy_dynsel.cascade.settings import CLIQUES

from .models import MAKERS, compact, make_cascade, train

FOLDER = Path(__file__).parent / "seeds"


def load_seeds(target: str) -> list[bytes]:
    """The seeds in the repository, what once broke a reader among them. Model files are
    made anew, so that they are of the newest version."""
    seeds = [path.read_bytes() for path in sorted((FOLDER / target).glob("*"))]
    if target == "model":
        seeds += [bytes([number]) + model for number, model in enumerate(make_models())]
    elif target == "container":
        seeds += make_models()
    elif target == "cascade":
        seeds += [make_cascade(cliques) for cliques in CLIQUES]
    return seeds


def make_models() -> list[bytes]:
    """A model file of each pipeline, see compact."""
    models = []
    for make in MAKERS:
        nlp = train(make())
        models.append(compact(nlp.get_pipe(nlp.pipe_names[0]).engine.to_bytes()))
    return models
