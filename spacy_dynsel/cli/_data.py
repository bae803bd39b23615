"""What commands on templates and margins need: a component and its data."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacy import util
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab, create_vocab
from thinc.api import Config
from wasabi import msg

from ..base.atomic import write_file
from ..base.errors import Errors
from ..corpus.bare import bare
from ..ordering.decisions import split_examples
from ..pipeline.component import DynselComponent

# What only costs time when all that is wanted is an order of templates.
SIMPLER = {"folds": 0, "seeds": 1, "two_passes": False}


def make_language(lang: str) -> Language:
    """An empty pipeline."""
    try:
        return util.get_lang_class(lang)()
    except ImportError as error:
        raise ValueError(Errors.DS153.format(lang=lang, reason=error)) from error


def make_vocab(lang: str) -> Vocab:
    """The vocabulary of an empty pipeline, also where the packages are missing that the
    tokenizer of a language needs."""
    try:
        return create_vocab(lang, util.get_lang_class(lang).Defaults)
    except ImportError as error:
        raise ValueError(Errors.DS153.format(lang=lang, reason=error)) from error


def find_names(config: Config, factory: str = "dynsel_") -> list[str]:
    """The components of a config whose factory begins so, whatever they are called."""
    return [
        name
        for name, block in config.get("components", {}).items()
        if str(block.get("factory", "")).startswith(factory)
    ]


def find_name(config: Config, name: str | None) -> str:
    """The component that is meant: the one that is named, or the first of ours."""
    components = config.get("components", {})
    ours = find_names(config)
    if name is None and ours:
        return ours[0]
    if name is None or name not in ours:
        factory = components.get(name, {}).get("factory", "none")
        raise ValueError(
            Errors.DS134.format(
                name=name, factory=factory, known=", ".join(ours) or "none"
            )
        )
    return name


def make_component(nlp: Language, config: Config, name: str) -> Any:
    """A component as the config describes it, without what does not matter here."""
    block = config.copy().interpolate()["components"][name]
    model = block["model"]
    model.update({key: value for key, value in SIMPLER.items() if key in model})
    return nlp.create_pipe(block.pop("factory"), name, config=block)


def read_train(config: Config, nlp: Language) -> list[Example]:
    """The training data of a config."""
    interpolated = config.interpolate()
    block = interpolated
    for key in interpolated["training"]["train_corpus"].split("."):
        block = block[key]
    return list(registry.resolve({"reader": block})["reader"](nlp))


def find_files(path: Path | str) -> list[Path]:
    """The DocBins that are meant: a file, or all .spacy files of a folder."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(
        one
        for one in path.rglob("*.spacy")
        if one.is_file() and not one.name.startswith(".")
    )
    if not files:
        raise ValueError(Errors.DS222.format(path=path))
    return files


def read_docs(path: Path | str, vocab: Vocab) -> list[Doc]:
    """The docs of a DocBin, or of a folder of them."""
    docs: list[Doc] = []
    for file in find_files(path):
        data = file.read_bytes()
        try:
            docs += DocBin().from_bytes(data).get_docs(vocab)
        except Exception as error:
            raise ValueError(Errors.DS154.format(path=file)) from error
    return docs


def read_examples(path: Path | str, nlp: Language) -> list[Example]:
    """The same as examples."""
    return [Example(bare(gold), gold) for gold in read_docs(path, nlp.vocab)]


def check_annotation(
    component: DynselComponent, examples: Iterable[Example], path: Any
) -> None:
    """Raise an error unless there is something to learn."""
    attribute = component.gold_attribute
    if not any(example.reference.has_annotation(attribute) for example in examples):
        raise ValueError(
            Errors.DS135.format(
                path=path, name=component.name, what=component.gold_missing
            )
        )


def read_source(
    config: Config,
    component: Any,
    nlp: Language,
    *,
    held_out_path: Path | None = None,
    share: float = 0.1,
    limit: int = 0,
) -> tuple[list[Example], list[Example]]:
    """Examples to learn from, and held-out ones to choose by.

    config (Config): The config of the training.
    held_out_path (Path): The data to choose by; if not given, a share of train.
    share (float): That share.
    limit (int): How many docs to use, if not all.
    """
    examples = read_train(config, nlp)
    if limit:
        examples = examples[:limit]
    check_annotation(component, examples, "the training data")
    held_out: list[Example]
    if held_out_path is None:
        train, held_out = split_examples(examples, share)
    else:
        train, held_out = examples, read_examples(held_out_path, nlp)
        check_annotation(component, held_out, held_out_path)
    if not train or not held_out:
        raise ValueError(
            Errors.DS127.format(name="training" if not train else "held-out")
        )
    share_tags(component, [*train, *held_out])
    return train, held_out


def share_tags(component: Any, examples: list[Example]) -> None:
    """Show gold tags to a component that looks at tags, where there are no others."""
    if component.gold_attribute == "TAG":
        return
    bare_ones = [
        example
        for example in examples
        if not example.predicted.has_annotation("TAG")
        and example.reference.has_annotation("TAG")
    ]
    if bare_ones:
        msg.warn(
            f"{len(bare_ones)} docs have no tags of their own and get their gold tags. "
            "For tags as a tagger sets them, see 'spacy dynsel jackknife'."
        )
    for example in bare_ones:
        tags = example.get_aligned("TAG", as_string=True)
        for token, tag in zip(example.predicted, tags, strict=True):
            token.tag_ = tag or ""


def load_pipeline(path: Path | str) -> Language:
    try:
        return util.load_model(path)
    except (OSError, ValueError) as error:
        raise ValueError(Errors.DS137.format(path=path, reason=error)) from error


def prepare(nlp: Language, name: str, examples: list[Example]) -> None:
    """Run what comes before a component."""
    for before in nlp.pipe_names:
        if before == name:
            break
        pipe = nlp.get_pipe(before)
        docs = [example.predicted for example in examples]
        for example, doc in zip(examples, pipe.pipe(docs), strict=True):
            example.predicted = doc


def component_file(pipeline_path: Path, name: str, file: str) -> Path:
    """A file of a component, which lies in the folder of its pipeline whatever the
    config of that pipeline calls the component."""
    path = Path(pipeline_path) / name / file
    if not path.resolve().is_relative_to(Path(pipeline_path).resolve()):
        raise ValueError(Errors.DS201.format(name=name, path=pipeline_path))
    return path


def write_docs(path: Path, docs: list[Doc]) -> None:
    """Write a DocBin. Reading user data takes more time than all the rest, so that there
    are none where docs have none."""
    has_data = any(doc.user_data for doc in docs)
    write_file(path, DocBin(docs=docs, store_user_data=has_data).to_bytes())
