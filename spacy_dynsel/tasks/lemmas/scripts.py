"""How a form becomes its lemma: scripts, which are the labels of a lemmatizer.

A script says what to do with capitals, and which parts of the form to replace by what:

    keep               the form as it is: "London"
    lower              the form in lower case: "The", "the"
    title, upper       with a capital at the start, or all in capitals: "LONDON", "nato"
    lower ies>y$       replaces an ending: "cities"
    lower ^ge> t>en$   replaces a beginning, and an ending: "gemacht"
    lower ü>u e>$      replaces something in between, where it stands last: "Züge"
    lower ,>>          the same, wherever it stands: "8,000,000"
    lower ^was>be$     replaces the whole form: "was"

Parts are separated by spaces. In them, a backslash stands before a space and before
each of "\\^>$" that means itself. A script checks what it replaces, and it changes
something about capitals or does not apply: so few scripts apply to a form.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

# In the order of preference.
CASES = ("lower", "keep", "title", "upper")
# Pairs that differ in more characters are not learned.
MAX_DIFFERENCE = 64
MAX_INNER = 2

_PART = re.compile(r"(?:\\.|[^\\ ])+", re.DOTALL)
_TEXT = r"((?:\\.|[^\\^>$])*)"
_CHANGE = re.compile(rf"(\^?){_TEXT}(>>?){_TEXT}(\$?)", re.DOTALL)
_SPECIAL = re.compile(r"[\\ ^>$]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Change(NamedTuple):
    """One replacement.

    old (str): What is replaced.
    new (str): By what.
    everywhere (bool): Whether that happens wherever it stands; else where it stands
        last.
    """

    old: str = ""
    new: str = ""
    everywhere: bool = False


NO_CHANGE = Change()


class Script(NamedTuple):
    """How to make a lemma.

    case (str): One of CASES.
    prefix (Change), suffix (Change): What is replaced at both ends; the old ones do not
        overlap.
    inner (tuple[Change]): What is replaced between these, one after the other.
    is_whole (bool): Whether the prefix is all of the form.
    """

    case: str
    prefix: Change = NO_CHANGE
    suffix: Change = NO_CHANGE
    inner: tuple[Change, ...] = ()
    is_whole: bool = False

    def __str__(self) -> str:
        parts = [self.case]
        if self.is_whole:
            return f"{self.case} ^{_write(self.prefix)}$"
        if self.prefix != NO_CHANGE:
            parts.append(f"^{_write(self.prefix)}")
        parts += map(_write, self.inner)
        if self.suffix != NO_CHANGE:
            parts.append(f"{_write(self.suffix)}$")
        return " ".join(parts)

    def apply(self, form: str) -> str | None:
        """The lemma of a form; None if the script does not apply to it."""
        lowered = form.lower()
        if not is_case_possible(self.case, form, lowered):
            return None
        return self.change(form if self.case == "keep" else lowered)

    def change(self, base: str) -> str | None:
        """The same for a form in the case that the script asks for."""
        prefix, suffix = self.prefix, self.suffix
        if self.is_whole:
            if base != prefix.old:
                return None
            result = prefix.new
        else:
            end = len(base) - len(suffix.old)
            if (
                end < len(prefix.old)
                or not base.startswith(prefix.old)
                or not base.endswith(suffix.old)
            ):
                return None
            stem = base[len(prefix.old) : end]
            for old, new, everywhere in self.inner:
                place = stem.rfind(old)
                if place == -1:
                    return None
                if everywhere:
                    stem = stem.replace(old, new)
                else:
                    stem = stem[:place] + new + stem[place + len(old) :]
            result = prefix.new + stem + suffix.new
        if self.case == "title":
            result = capitalize(result)
        elif self.case == "upper":
            result = result.upper()
        # To spaCy, an empty lemma is none.
        return result or None

    @property
    def size(self) -> int:
        """How many characters it replaces, and by how many."""
        changes = (self.prefix, self.suffix, *self.inner)
        return sum(len(change.old) + len(change.new) for change in changes)


def is_case_possible(case: str, form: str, lowered: str) -> bool:
    """Whether a case changes something, or, for "keep", whether there is something to
    keep."""
    if case == "lower":
        return True
    if case == "keep":
        return form != lowered
    if case == "title":
        return form != capitalize(lowered)
    return form != form.upper()


def capitalize(text: str) -> str:
    """A text with a capital at its start, and what follows as it is."""
    return text[:1].upper() + text[1:]


@lru_cache(maxsize=1 << 13)
def read_script(text: str) -> Script | None:
    """The script that a text stands for; None if it stands for none."""
    parts = _PART.findall(text)
    if " ".join(parts) != text or not parts or parts[0] not in CASES:
        return None
    script = Script(parts[0])
    for part in parts[1:]:
        match = _CHANGE.fullmatch(part)
        if match is None:
            return None
        start, old, sign, new, end = match.groups()
        change = Change(_unescape(old), _unescape(new), sign == ">>")
        if start:
            script = script._replace(prefix=change, is_whole=bool(end))
        elif end:
            script = script._replace(suffix=change)
        else:
            script = script._replace(inner=(*script.inner, change))
    is_good = (
        str(script) == text
        and not script.prefix.everywhere
        and not script.suffix.everywhere
        and all(change.old and change.old != change.new for change in script.inner)
        and not (script.is_whole and not (script.prefix.old and script.prefix.new))
    )
    return script if is_good else None


@lru_cache(maxsize=1 << 16)
def find_script(form: str, lemma: str) -> Script | None:
    """The script that makes a lemma of a form, and changes as little as possible; None
    if it would change too much."""
    if not form or not lemma:
        return None
    lowered = form.lower()
    found: Script | None = None
    for case in CASES:
        if not is_case_possible(case, form, lowered):
            continue
        base = form if case == "keep" else lowered
        target = lemma
        if case in ("title", "upper"):
            target = lemma.lower()
            if lemma != (capitalize(target) if case == "title" else lemma.upper()):
                continue
        for script in _find_changes(case, base, target):
            if script.apply(form) == lemma:
                if found is None or script.size < found.size:
                    found = script
                break
        if found is not None and found.size == 0:
            break
    return found


def _find_changes(case: str, base: str, target: str) -> Iterable[Script]:
    """Scripts that may turn one text into another, the best one first."""
    start = 0
    least = min(len(base), len(target))
    while start < least and base[start] == target[start]:
        start += 1
    end = 0
    while end < least - start and base[-1 - end] == target[-1 - end]:
        end += 1
    if len(base) + len(target) - 2 * (start + end) > MAX_DIFFERENCE:
        return
    old, new = base[start : len(base) - end], target[start : len(target) - end]
    if set(old).isdisjoint(new):
        changes = [(start, len(base) - end, new)] if old or new else []
    else:
        changes = list(_align(base, target))
    # Signs go wherever they stand, rather than letters.
    is_sign = any(not base[place].isalpha() for place, end, _ in changes if place < end)
    for everywhere in (is_sign, not is_sign):
        script = _join_changes(case, base, changes, everywhere)
        if script is not None:
            yield script
    if len(base) + len(target) <= MAX_DIFFERENCE:
        yield Script(case, Change(base, target), is_whole=True)


def _join_changes(
    case: str, base: str, changes: list[tuple[int, int, str]], everywhere: bool
) -> Script | None:
    """A script with some changes, if there is one.

    changes (list): Where each starts and ends, and what comes there.
    everywhere (bool): Whether those in between apply wherever they can.
    """
    script = Script(case)
    inner: list[Change] = []
    for start, end, new in changes:
        if start == 0 and end == len(base):
            return None
        if start == 0:
            script = script._replace(prefix=Change(base[:end], new))
        elif end == len(base):
            script = script._replace(suffix=Change(base[start:], new))
        elif start == end:
            # Nothing is replaced: the character before says where.
            inner.append(Change(base[start - 1], base[start - 1] + new, everywhere))
        else:
            inner.append(Change(base[start:end], new, everywhere))
    if everywhere:
        inner = list(dict.fromkeys(inner))
    if len(inner) > MAX_INNER:
        return None
    return script._replace(inner=tuple(inner))


def _align(base: str, target: str) -> Iterable[tuple[int, int, str]]:
    """What to change in one text to get the other."""
    matcher = SequenceMatcher(None, base, target, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            yield start, end, target[first:last]


def _write(change: Change) -> str:
    sign = ">>" if change.everywhere else ">"
    return f"{_escape(change.old)}{sign}{_escape(change.new)}"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
