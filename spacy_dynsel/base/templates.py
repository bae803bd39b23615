"""The template language: what a template is, and how lists of them are read.

A template is written as its atoms, separated by blanks; an atom is a column with
the place it is read at: `word`, `tag[-1] word`, `suffix3 shape[+1]`. A list of
templates has one a line, in the order in which they are added up; a line `---`
puts a checkpoint after the templates above it, and `#` starts a comment. The end of
the list is always a checkpoint.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from .errors import Errors

CHECKPOINT = "---"
DEFAULTS = Path(__file__).parent.parent / "defaults"
MAX_ATOMS = 6
# The weights are in [-127, 127] and their sum is kept in 16 bits.
MAX_TEMPLATES = 256

_ATOM = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\[([^\[\]\s]+)\])?")


class Atom(NamedTuple):
    """An attribute (column) at a place that the task knows."""

    column: str
    place: str

    def __str__(self) -> str:
        return self.column if self.place == "0" else f"{self.column}[{self.place}]"


@dataclass(frozen=True)
class Template:
    """A conjunction of atoms. Its identity is the set of its atoms."""

    atoms: tuple[Atom, ...]

    def __str__(self) -> str:
        return " ".join(str(atom) for atom in self.atoms)


@dataclass(frozen=True)
class Templates:
    """Templates in order, with the checkpoints at which a decision may be made."""

    templates: tuple[Template, ...]
    checkpoints: tuple[int, ...]
    source: str = "config"
    lines: tuple[int, ...] = ()

    def to_lines(self) -> list[str]:
        """The canonical form, as a file or a list in a config holds it."""
        lines = []
        for rank, template in enumerate(self.templates, start=1):
            lines.append(str(template))
            if rank in self.checkpoints and rank < len(self.templates):
                lines.append(CHECKPOINT)
        return lines

    def check_lines(self, found: object) -> None:
        """Raise an error unless the templates of a model file are these.

        found: What to_lines gave when the file was written.
        """
        expected = self.to_lines()
        if found == expected:
            return
        if not isinstance(found, list):
            raise ValueError(Errors.DS035.format(what="its templates are malformed"))
        different = [
            f"line {i} is {one!r} in the config and {other!r} in the file"
            for i, (one, other) in enumerate(zip(expected, found, strict=False), 1)
            if one != other
        ]
        different.append(f"{len(expected)} lines against {len(found)}")
        raise ValueError(Errors.DS036.format(what=different[0]))

    def check_atoms(self, places: dict[str, Sequence[str]]) -> None:
        """Raise an error that names the first atom which a task does not have.

        places (dict): The places that are known for each column.
        """
        for template, line in zip(self.templates, self.lines, strict=True):
            for atom in template.atoms:
                if atom.place not in places.get(atom.column, ()):
                    raise ValueError(
                        Errors.DS001.format(
                            source=self.source,
                            line=line,
                            atom=atom,
                            template=template,
                            columns=", ".join(places),
                            places=", ".join(places.get(atom.column, ())) or "none",
                        )
                    )


def _parse_place(place: str | None) -> str:
    if place is None:
        return "0"
    # Offsets have one spelling each, so that "+1" and "1" are the same place.
    return str(int(place)) if re.fullmatch(r"[+-]?\d{1,3}", place) else place


# Lists repeat their atoms, and are read whenever a pipeline is loaded.
@lru_cache(maxsize=1000)
def _parse_atom(word: str) -> Atom | None:
    match = _ATOM.fullmatch(word)
    return match and Atom(match.group(1), _parse_place(match.group(2)))


def parse_template(text: str, *, source: str = "config", line: int = 1) -> Template:
    """Read one template."""
    atoms = set()
    for word in text.split():
        atom = _parse_atom(word)
        if atom is None:
            raise ValueError(Errors.DS009.format(source=source, line=line, atom=word))
        atoms.add(atom)
    if len(atoms) > MAX_ATOMS:
        raise ValueError(
            Errors.DS006.format(
                source=source,
                line=line,
                template=text,
                n_atoms=len(atoms),
                most=MAX_ATOMS,
            )
        )
    return Template(tuple(sorted(atoms)))


def parse_templates(
    lines: Iterable[str],
    *,
    checkpoints: Sequence[int] | None = None,
    source: str = "config",
) -> Templates:
    """Read a list of templates.

    lines (Iterable[str]): Templates, comments and checkpoints, one a line.
    checkpoints (Sequence[int]): Replaces the checkpoints that stand in the lines:
        the numbers of templates after which to put one.
    source (str): What errors call the list.
    """
    templates: dict[Template, int] = {}
    written: list[int] = []
    for line, written_line in enumerate(lines, start=1):
        if not isinstance(written_line, str):
            raise ValueError(
                Errors.DS009.format(source=source, line=line, atom=written_line)
            )
        text = written_line.partition("#")[0].strip()
        if text == CHECKPOINT:
            if len(templates) == (written[-1] if written else 0):
                raise ValueError(Errors.DS005.format(source=source, line=line))
            written.append(len(templates))
        elif text:
            template = parse_template(text, source=source, line=line)
            if template in templates:
                raise ValueError(
                    Errors.DS003.format(
                        source=source,
                        line=line,
                        template=text,
                        first=templates[template],
                    )
                )
            templates[template] = line
    if not templates:
        raise ValueError(Errors.DS002.format(source=source))
    if len(templates) > MAX_TEMPLATES:
        raise ValueError(
            Errors.DS007.format(
                source=source, n_templates=len(templates), most=MAX_TEMPLATES
            )
        )
    chosen = written if checkpoints is None else list(checkpoints)
    for i, checkpoint in enumerate(chosen):
        lower = chosen[i - 1] if i else 0
        if not lower < checkpoint <= len(templates):
            raise ValueError(
                Errors.DS004.format(
                    source=source, checkpoint=checkpoint, n_templates=len(templates)
                )
            )
    if not chosen or chosen[-1] != len(templates):
        chosen = [*chosen, len(templates)]
    return Templates(
        tuple(templates), tuple(chosen), source, lines=tuple(templates.values())
    )


def read_templates(
    path: str | Path, *, checkpoints: Sequence[int] | None = None
) -> Templates:
    """Read a template file."""
    try:
        text = Path(path).read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(Errors.DS010.format(path=path, reason=error)) from error
    return parse_templates(
        text.splitlines(), checkpoints=checkpoints, source=Path(path).name
    )


@cache
def default_templates(name: str) -> Templates:
    """Read a list that ships with the package, such as "tagger"."""
    path = DEFAULTS / f"{name}.txt"
    if not re.fullmatch(r"\w+", name) or not path.is_file():
        known = sorted(path.stem for path in DEFAULTS.glob("*.txt"))
        raise ValueError(Errors.DS011.format(name=name, known=", ".join(known)))
    return read_templates(path)


def make_templates(
    path: Path | str | None = None,
    lines: list[str] | None = None,
    default: str | None = None,
    checkpoints: list[int] | None = None,
) -> Templates:
    """Templates for a config: from a file, a list, or a list of the package's own.

    path (Path): A template file.
    lines (list[str]): Templates and checkpoints, as lines of such a file.
    default (str): The name of a list that ships with the package, for when neither a
        file nor a list is given.
    checkpoints (list[int]): Replaces the checkpoints of the list.
    """
    if (path is not None) + (lines is not None) + (default is not None) == 0 or (
        path is not None and lines is not None
    ):
        raise ValueError(Errors.DS008)
    if path is not None:
        return read_templates(path, checkpoints=checkpoints)
    if lines is not None:
        return parse_templates(lines, checkpoints=checkpoints)
    templates = default_templates(str(default))
    if checkpoints is None:
        return templates
    return parse_templates(
        templates.to_lines(), checkpoints=checkpoints, source=templates.source
    )
