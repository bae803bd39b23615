"""Tags as a tagger sets them on text that it has not seen, for training a parser."""

import random
from pathlib import Path
from typing import Any

import tqdm  # type: ignore[import-untyped]
import typer
from spacy import util
from spacy.cli._util import Arg, Opt, import_code, parse_config_overrides
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from wasabi import msg

from ..base.errors import Errors
from ..corpus.bare import bare
from ..spacy_io.annotations import read_tags
from ..spacy_io.tokens import find_words
from ..tasks.folds import get_fold
from ._data import find_names, make_language, read_docs, write_docs
from .group import dynsel_cli
from .options import CODE, WITH_OVERRIDES

BATCH = 64


@dynsel_cli.command("jackknife", context_settings=WITH_OVERRIDES)
def jackknife_cli(
    ctx: typer.Context,
    config_path: Path = Arg(..., help="Config with a tagger", exists=True),
    input_path: Path = Arg(..., help="Gold tags: DocBin or folder", exists=True),
    output_path: Path = Arg(
        ..., help="DocBin to write, with predicted tags", dir_okay=False
    ),
    name: str | None = Opt(
        None, "--name", "-n", help="Name of the tagger in the config"
    ),
    folds: int = Opt(5, "--folds", "-k", min=2, max=100, help="Number of taggers"),
    epochs: int = Opt(8, "--epochs", "-e", min=1, help="Epochs of each tagger"),
    dropout: float = Opt(
        0.1, "--dropout", "-d", help="Share of templates to leave out"
    ),
    seed: int = Opt(0, "--seed", "-s", help="Seed of the shuffling"),
    code_path: Path | None = CODE,
) -> None:
    """
    Replace the tags of a corpus by those of taggers that have not seen the doc: each
    tagger learns from all docs but those of its own fold. Train a parser on the result
    with the reader "spacy_dynsel.tagged_corpus.v1".
    """
    import_code(code_path)
    jackknife(
        config_path,
        input_path,
        output_path,
        name=name,
        folds=folds,
        epochs=epochs,
        dropout=dropout,
        seed=seed,
        overrides=parse_config_overrides(ctx.args),
    )


def jackknife(
    config_path: Path,
    input_path: Path,
    output_path: Path,
    *,
    name: str | None = None,
    folds: int = 5,
    epochs: int = 8,
    dropout: float = 0.1,
    seed: int = 0,
    overrides: dict[str, Any] | None = None,
) -> float:
    """Write a corpus whose tags come from taggers that have not seen the doc.

    config_path (Path): A config in which the tagger is described.
    input_path (Path): The corpus, with gold tags.
    output_path (Path): Where to write the other one.
    name (str): The name of the tagger; if not given, the first one.
    folds (int): The number of taggers.
    epochs (int): How often each of them sees its data.
    dropout (float): The share of templates that is left out at random.
    seed (int): For the order of the data.
    overrides (dict): Settings that replace those of the config.
    RETURNS (float): The share of tags that are as they were.
    """
    config = util.load_config(config_path, overrides=overrides or {}, interpolate=False)
    name = name or next(iter(find_names(config, "dynsel_tagger")), "dynsel_tagger")
    if name not in config.get("components", {}):
        known = ", ".join(config.get("components", {}))
        raise ValueError(Errors.DS125.format(name=name, known=known))
    nlp = make_language(config["nlp"]["lang"])
    docs = read_docs(input_path, nlp.vocab)
    golds = [doc.copy() for doc in docs]
    numbers = [get_fold(doc, folds) for doc in docs]
    if len(set(numbers)) < 2:
        raise ValueError(Errors.DS126.format(path=input_path, folds=folds))
    n_right = n_tokens = 0
    for fold in range(folds):
        inside = [i for i, number in enumerate(numbers) if number == fold]
        outside = [golds[i] for i, number in enumerate(numbers) if number != fold]
        if not inside:
            continue
        msg.info(f"Fold {fold + 1} of {folds}: {len(inside)} docs")
        tagger = _train(config, name, nlp, outside, epochs, dropout, seed)
        for batch in minibatch(inside, BATCH):
            stripped = [bare(golds[i]) for i in batch]
            tagger.set_annotations(stripped, tagger.predict(stripped))
            for i, tagged in zip(batch, stripped, strict=True):
                words = find_words(tagged)
                is_right = read_tags(golds[i]) == read_tags(tagged)
                n_right += int(is_right[words].sum())
                n_tokens += len(words)
                for token, other in zip(docs[i], tagged, strict=True):
                    token.tag_ = other.tag_
    share = n_right / max(1, n_tokens)
    write_docs(output_path, docs)
    msg.good(f"{100 * share:.2f}% of {n_tokens} tags as they were: {output_path}")
    return share


def _train(
    config: Any,
    name: str,
    nlp: Language,
    golds: list[Doc],
    epochs: int,
    dropout: float,
    seed: int,
) -> Any:
    settings = config.copy().interpolate()["components"][name]
    tagger = nlp.create_pipe(settings.pop("factory"), name, config=settings)
    examples = [Example(bare(gold), gold) for gold in golds]
    tagger.initialize(lambda: examples, nlp=nlp)
    shuffler = random.Random(seed)
    for _ in tqdm.tqdm(range(epochs), leave=False, disable=None):
        shuffler.shuffle(examples)
        for batch in minibatch(examples, BATCH):
            tagger.update(list(batch), drop=dropout)
    return tagger
