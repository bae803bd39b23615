"""Lookup tables: lemmas that the user knows, and that nothing else decides."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from spacy.lookups import Lookups
from spacy.parts_of_speech import IDS
from spacy.strings import get_string_id

from ...base.errors import Errors
from ...core.model_file import require

# What spaCy calls its tables: by form, and by part of speech and form.
KNOWN_TABLES = ("lemma_lookup", "lemma_exc")
# The part of speech of entries that hold for any.
ANY_POS = 0
SECTION = "lookups"
# Parts of speech by all that may stand for them: spaCy's tables have lower case and IDs.
_POS = {
    key: int(pos)
    for name, pos in IDS.items()
    if name
    for key in (name, name.lower(), get_string_id(name), get_string_id(name.lower()))
}


class Tables:
    """Lemmas of forms.

    entries (dict): For a token.pos the lemmas of forms, by the string IDs of these.
        Under ANY_POS, they are of forms with any part of speech.
    """

    def __init__(self, entries: dict[int, dict[int, str]]) -> None:
        self._entries = entries
        self._any = entries.get(ANY_POS, {})

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def find(self, form: str, pos: int) -> str | None:
        """The lemma of a form, if it is known. What is known for its part of speech
        comes first, and holds for forms with other capitals, too.

        pos (int): token.pos.
        """
        orth = get_string_id(form)
        table = self._entries.get(pos) if pos != ANY_POS else None
        if table is not None:
            found = table.get(orth) or table.get(get_string_id(form.lower()))
            if found is not None:
                return found
        return self._any.get(orth)

    def to_array(self) -> np.ndarray:
        """The tables as a section of a file."""
        entries = [[pos, sorted(self._entries[pos].items())] for pos in self._entries]
        text = json.dumps(sorted(entries), ensure_ascii=False)
        return np.frombuffer(text.encode("utf8"), dtype="uint8")


def read_lookups(lookups: Any) -> Tables | None:
    """Tables from what a user gives; None if there is nothing in them.

    lookups (Lookups or dict): spaCy's tables "lemma_lookup" (form: lemma) and
        "lemma_exc" (part of speech: form: lemmas, of which the first counts); or a dict
        of the kind of one of them.
    """
    if lookups is None:
        return None
    given: list[Any] = [lookups]
    if isinstance(lookups, Lookups):
        given = [lookups.get_table(n) for n in KNOWN_TABLES if lookups.has_table(n)]
        if not given and len(lookups):
            _refuse(f"other tables: {', '.join(lookups.tables)}")
    entries: dict[int, dict[int, str]] = {}
    for table in given:
        if not isinstance(table, Mapping):
            _refuse(f"the type {type(table).__name__}")
        for key, value in table.items():
            if isinstance(value, Mapping):
                if key not in _POS:
                    _refuse(f"the part of speech {key!r}")
                for form, lemma in value.items():
                    entries.setdefault(_POS[key], {})[_get_id(form)] = _read(lemma)
            else:
                entries.setdefault(ANY_POS, {})[_get_id(key)] = _read(value)
    return Tables(entries) if entries else None


def load_tables(arrays: dict[str, np.ndarray]) -> Tables | None:
    """Tables from the sections of a file, if they can be used without harm."""
    section = arrays.get(SECTION)
    if section is None:
        return None
    tables = None
    try:
        found = json.loads(section.tobytes())
        tables = Tables(
            {
                int(pos): {int(form): _read(lemma) for form, lemma in entries}
                for pos, entries in found
            }
        )
        is_genuine = bool(np.array_equal(tables.to_array(), section))
    except (ValueError, TypeError, RecursionError):
        is_genuine = False
    require(is_genuine, "its lookup tables are malformed")
    return tables


def _get_id(form: Any) -> int:
    """The string ID of a form, which spaCy's tables have in place of it."""
    if isinstance(form, int) and not isinstance(form, bool) and 0 < form < 1 << 64:
        return form
    return get_string_id(_check(form))


def _read(lemmas: Any) -> str:
    """A lemma, or the first of several."""
    if isinstance(lemmas, list | tuple) and lemmas:
        lemmas = lemmas[0]
    return _check(lemmas)


def _check(text: Any) -> str:
    """A text that can be a form or a lemma."""
    if (
        not isinstance(text, str)
        or not text
        or text != text.encode("utf8", "replace").decode("utf8")
    ):
        _refuse(f"the entry {text!r}")
    return text


def _refuse(what: str) -> NoReturn:
    raise ValueError(Errors.DS234.format(what=what))
