"""Write the API reference, docs/api.md, from entry points, signatures and docstrings:
python docs/make_api.py"""

import inspect
import re
from collections.abc import Callable, Iterable
from configparser import ConfigParser
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from typer.main import get_command

from spacy_dynsel.base.catalogues import CATALOGUES
from spacy_dynsel.pipeline.component import DynselComponent
from spacy_dynsel.pipeline.settings import Setting

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "api.md"
# Registries of functions, in the order of the page.
REGISTRIES = {
    "spacy_tokenizers": "Tokenizers",
    "spacy_readers": "Readers",
    "spacy_augmenters": "Augmenters",
    "spacy_batchers": "Batchers",
    "spacy_callbacks": "Callbacks",
    "spacy_misc": "Blocks and ordering methods",
}
# What users import.
IMPORTED = (
    "spacy_dynsel.confidence.reliability:fit_confidence",
    "spacy_dynsel.registry.tuning:tune_o_bias",
    "spacy_dynsel.annotating.annotator:Annotator",
    "spacy_dynsel.annotating.files:annotate_files",
    "spacy_dynsel.annotating.files:Counts",
    "spacy_dynsel.annotating.docs:to_docs",
    "spacy_dynsel.report.explained:make_text",
    "spacy_dynsel.cli.init_config:make_config",
    "spacy_dynsel.tasks.explanation:Explanation",
    "spacy_dynsel.cascade.model:Cascade",
    "spacy_dynsel.cascade.model:LevelReport",
    "spacy_dynsel.cascade.model:Prediction",
    "spacy_dynsel.cascade.settings:CascadeSettings",
    "spacy_dynsel.ordering.cascades:calibrate_cascade",
    "spacy_dynsel.ordering.cascades:CascadeVerdict",
)
INTRODUCTION = """\
# API reference

Made from docstrings by `python docs/make_api.py`. A setting without a default is required.
"""

ARGUMENTS = re.compile(r"(?:\*{0,2}\w+ \((?:[^()]|\([^()]*\))*\)(?:, )?)+: ")
ARGUMENT = re.compile(r"(\w+) \(((?:[^()]|\([^()]*\))*)\)")
BARE_ARGUMENT = re.compile(r"(\w+): ")


class Described(NamedTuple):
    """A docstring, taken apart.

    text (list[str]): Its paragraphs.
    arguments (dict): For each argument its type and its description.
    returns (str): The type and description of what is returned, or nothing.
    """

    text: list[str]
    arguments: dict[str, tuple[str, str]]
    returns: str


def read_docstring(documented: Any) -> Described:
    """Take the docstring of an object apart."""
    paragraphs: list[str] = []
    entries: list[str] = []
    for paragraph in (inspect.getdoc(documented) or "").split("\n\n"):
        lines = paragraph.split("\n")
        if not (ARGUMENTS.match(lines[0]) or BARE_ARGUMENT.match(lines[0])):
            paragraphs.append(" ".join(line.strip() for line in lines))
            continue
        for line in lines:
            if line.startswith(" "):
                entries[-1] += f" {line.strip()}"
            else:
                entries.append(line)
    arguments = {}
    returns = ""
    for entry in entries:
        if match := ARGUMENTS.match(entry):
            text = entry[match.end() :]
            for name, kind in ARGUMENT.findall(match[0]):
                if name in ("RETURNS", "YIELDS"):
                    returns = f"{name.capitalize()} ({code(kind)}): {text}"
                else:
                    arguments[name] = (kind, text)
        elif match := BARE_ARGUMENT.match(entry):
            text = entry[match.end() :]
            if match[1] in ("RETURNS", "YIELDS"):
                returns = f"{match[1].capitalize()}: {text}"
            else:
                arguments[match[1]] = ("", text)
    return Described(paragraphs, arguments, returns)


def code(value: Any) -> str:
    return f"`{value}`" if str(value) else ""


def make_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table, or nothing if it has no rows."""
    found = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    head = list(head)
    if not found:
        return []
    lines = [head, ["---"] * len(head), *found]
    return ["\n".join(f"| {' | '.join(line)} |" for line in lines)]


def make_settings(defaults: dict[str, Any], described: Described) -> list[str]:
    """The settings of a factory or of a function."""
    rows = []
    for name, default in defaults.items():
        kind, text = described.arguments.get(name, ("", ""))
        shown = "" if default is inspect.Parameter.empty else code(repr(default))
        if isinstance(default, dict):
            [(_, function), *_] = [
                item for item in default.items() if item[0].startswith("@")
            ] or [("", "{…}")]
            shown = code(function)
        rows.append([code(name), code(kind), shown, text])
    return make_table(["setting", "type", "default", ""], rows)


def is_ours(documented: Any) -> bool:
    return getattr(documented, "__module__", "").startswith("spacy_dynsel")


def load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def describe_function(function: Callable[..., Any]) -> list[str]:
    """A function with its arguments. Those of a function that only makes an object stand
    in the docstring of its class."""
    described = read_docstring(function)
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
    }
    made = inspect.signature(function).return_annotation
    text = described.text
    if defaults and not described.arguments and is_ours(made):
        described = read_docstring(made)
        text = described.text
    returns = [described.returns] if described.returns else []
    return [*text, *make_settings(defaults, described), *returns]


def describe_class(documented: type) -> list[str]:
    """A class with its fields, and what it does."""
    described = read_docstring(documented)
    rows = [
        [code(name), code(kind), text]
        for name, (kind, text) in described.arguments.items()
    ]
    return [
        *described.text,
        *make_table(["field", "type", ""], rows),
        *describe_members([documented]),
    ]


def describe_factory(name: str, component: type[Any]) -> list[str]:
    meta = Language.get_factory_meta(name)
    described = read_docstring(component)
    keys: Iterable[str] = meta.default_config
    if issubclass(component, DynselComponent):
        keys = ("model", *component.defaults, "scorer")
        shared = read_docstring(DynselComponent).arguments
        described = described._replace(arguments={**shared, **described.arguments})
    parts = [f"### {name}", *described.text]
    for title, attributes in (("Reads", meta.requires), ("Writes", meta.assigns)):
        if attributes:
            parts.append(f"{title} {', '.join(map(code, attributes))}.")
    parts += make_settings(
        {key: meta.default_config[key] for key in keys},
        described,
    )
    return [*parts, *describe_members([component])]


def describe_members(owners: list[type]) -> list[str]:
    """The properties and methods that some classes themselves have."""
    members = {
        key: one for owner in reversed(owners) for key, one in vars(owner).items()
    }
    properties, methods = [], []
    for key, member in sorted(members.items()):
        if key.startswith("_") or not inspect.getdoc(member):
            continue
        found = read_docstring(member)
        if isinstance(member, property | Setting):
            properties.append([code(key), " ".join(found.text)])
        elif inspect.isfunction(member):
            names = list(inspect.signature(member).parameters)[1:]
            text = " ".join([*found.text, found.returns]).strip()
            methods.append([code(f"{key}({', '.join(names)})"), text])
    return [
        *make_table(["property", ""], properties),
        *make_table(["method", ""], methods),
    ]


def describe_command(name: str, command: Any) -> list[str]:
    rows = []
    for parameter in command.params:
        if parameter.name == "help":
            continue
        is_option = parameter.param_type_name == "option"
        names = [*parameter.opts, *parameter.secondary_opts] if is_option else []
        default = parameter.default if is_option else None
        if isinstance(default, Enum):
            default = default.value
        shown = code(default) if isinstance(default, str | int | float | Path) else ""
        given = ", ".join(map(code, names)) or code(parameter.name)
        rows.append([given, shown, parameter.help or ""])
    return [
        f"### spacy dynsel {name}",
        " ".join(inspect.cleandoc(command.help or "").split()),
        *make_table(["argument", "default", ""], rows),
    ]


def describe_codes() -> str:
    """All messages by their codes."""
    messages = sorted(
        getattr(catalogue, name)
        for catalogue in CATALOGUES
        for name in vars(catalogue)
        if not name.startswith("_")
    )
    rows = [
        re.findall(r"\[(\w+)\] (.*)", message, re.DOTALL)[0] for message in messages
    ]
    return "".join(make_table(["code", "message"], ([code(a), b] for a, b in rows)))


def make_page() -> str:
    """The whole page."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf8")
    entry_points = {
        group: [
            tuple(part.strip() for part in line.split("=", 1))
            for line in lines.strip().splitlines()
        ]
        for group, lines in setup["options.entry_points"].items()
    }
    parts = [INTRODUCTION.strip(), "## Components"]
    for name, path in entry_points["spacy_factories"]:
        component = inspect.signature(load(path)).return_annotation
        parts += describe_factory(name, component)
    # Those that learn have the same bases.
    bases = [one for one in DynselComponent.__mro__ if is_ours(one)]
    parts += ["### All components", *describe_members(bases)]
    parts.append("## Architectures")
    for name, path in entry_points["spacy_architectures"]:
        parts += [f"### {name}", *describe_function(load(path))]
    for group, title in REGISTRIES.items():
        parts.append(f"## {title}")
        for name, path in entry_points[group]:
            parts += [f"### {name}", *describe_function(load(path))]
    parts.append("## Commands")
    [(_, path)] = entry_points["spacy_cli"]
    dynsel: Any = get_command(load(path))
    for name, command in sorted(dynsel.commands.items()):
        parts += describe_command(name, command)
    parts.append("## Python")
    for path in IMPORTED:
        documented = load(path)
        is_class = inspect.isclass(documented)
        describe = describe_class if is_class else describe_function
        parts += [f"### {path.replace(':', '.')}", *describe(documented)]
    parts += ["## Errors and warnings", describe_codes()]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf8")
