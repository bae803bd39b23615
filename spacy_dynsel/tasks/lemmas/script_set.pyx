"""The scripts of a model, and which of them apply to a form."""
from libc.string cimport memcmp

from ...base.errors import Errors

from .scripts import CASES, capitalize, read_script

cdef enum:
    # In the order of CASES.
    LOWER
    KEEP
    TITLE
    UPPER
    N_CASES


cdef class ScriptSet:
    """Scripts as labels.

    labels (tuple[str]): The scripts, see scripts.py.
    """

    def __init__(self, tuple labels not None):
        cdef ScriptC check
        cdef InnerC inner
        if self.labels is not None:
            raise ValueError(Errors.DS216.format(what="scripts are set once"))
        self._scripts = []
        self._checks.clear()
        self._inner.clear()
        self._characters.clear()
        for label in labels:
            script = read_script(label)
            if script is None:
                raise ValueError(Errors.DS230.format(script=label))
            check.case = CASES.index(script.case)
            check.is_whole = script.is_whole
            check.prefix = self._keep(script.prefix.old)
            check.suffix = self._keep(script.suffix.old)
            check.has_new = (script.prefix.new + script.suffix.new) != ""
            check.first_inner = self._inner.size()
            for change in script.inner:
                inner.old = self._keep(change.old)
                inner.new = self._keep(change.new)
                inner.everywhere = change.everywhere
                self._inner.push_back(inner)
            check.end_inner = self._inner.size()
            self._checks.push_back(check)
            self._scripts.append(script)
        self.labels = labels

    cdef PieceC _keep(self, str text) except *:
        cdef PieceC kept
        cdef Py_UCS4 character
        kept.first = self._characters.size()
        kept.length = len(text)
        for character in text:
            self._characters.push_back(character)
        return kept

    cpdef str apply(self, int label, str form):
        """The lemma that a script makes of a form, or None."""
        if not 0 <= label < len(self._scripts):
            return None
        return self._scripts[label].apply(form)

    def find_valid(self, str form not None) -> list:
        """The labels that apply to a form, from the lowest to the highest."""
        cdef vector[int] found
        self.find(form, found)
        return list(found)

    cdef int find(self, str form, vector[int]& found) except -1:
        """Find the labels that apply to a form, from the lowest to the highest."""
        cdef vector[Py_UCS4] exact
        cdef vector[Py_UCS4] lower
        cdef vector[Py_UCS4] stem
        cdef bint[N_CASES] is_possible
        cdef const ScriptC* script
        cdef const vector[Py_UCS4]* base
        cdef Py_UCS4 character
        cdef str lowered = form.lower()
        cdef int label
        # See is_case_possible.
        is_possible[LOWER] = True
        is_possible[KEEP] = form != lowered
        is_possible[TITLE] = form != capitalize(lowered)
        is_possible[UPPER] = form != form.upper()
        lower.reserve(len(lowered))
        for character in lowered:
            lower.push_back(character)
        if is_possible[KEEP]:
            exact.reserve(len(form))
            for character in form:
                exact.push_back(character)
        found.clear()
        for label in range(<int>self._checks.size()):
            script = &self._checks[label]
            if not is_possible[script.case]:
                continue
            base = &exact if script.case == KEEP else &lower
            if self._fits(script, base.data(), base.size(), stem):
                found.push_back(label)
        return 0

    cdef bint _fits(
        self, const ScriptC* script, const Py_UCS4* base, int length,
        vector[Py_UCS4]& stem,
    ) except -1 nogil:
        """Whether what a script replaces is there, and something is left; see
        Script.change.

        stem: Room for a part of the form.
        """
        cdef const Py_UCS4* texts = self._characters.data()
        cdef int rest = length - script.prefix.length - script.suffix.length
        cdef const InnerC* first
        cdef int i
        if (
            rest < 0
            or (script.is_whole and rest > 0)
            or not is_at(texts, script.suffix, base + length - script.suffix.length)
            or not is_at(texts, script.prefix, base)
        ):
            return False
        if script.first_inner == script.end_inner:
            return rest > 0 or script.has_new
        base += script.prefix.length
        first = &self._inner[script.first_inner]
        if find_last(texts, first.old, base, rest) < 0:
            return False
        if script.first_inner + 1 == script.end_inner and (
            script.has_new
            or first.new.length
            or (rest > first.old.length and not first.everywhere)
        ):
            # There is no need to try what is left.
            return True
        stem.assign(base, base + rest)
        for i in range(script.first_inner, script.end_inner):
            if not self._replace(&self._inner[i], stem):
                return False
        return not stem.empty() or script.has_new

    cdef bint _replace(self, const InnerC* change, vector[Py_UCS4]& stem) except -1 nogil:
        """Change a stem. RETURNS: Whether there is what is to be replaced."""
        cdef const Py_UCS4* texts = self._characters.data()
        cdef const Py_UCS4* new = texts + change.new.first
        cdef vector[Py_UCS4] rest
        cdef int place = find_last(texts, change.old, stem.data(), stem.size())
        cdef int end
        if place < 0:
            return False
        if not change.everywhere:
            rest.assign(stem.begin() + place + change.old.length, stem.end())
            stem.resize(place)
            stem.insert(stem.end(), new, new + change.new.length)
            stem.insert(stem.end(), rest.begin(), rest.end())
            return True
        rest.swap(stem)
        stem.clear()
        place = 0
        end = <int>rest.size() - change.old.length
        while place < <int>rest.size():
            if place <= end and is_at(texts, change.old, rest.data() + place):
                stem.insert(stem.end(), new, new + change.new.length)
                place += change.old.length
            else:
                stem.push_back(rest[place])
                place += 1
        return True


cdef inline bint is_at(
    const Py_UCS4* texts, PieceC piece, const Py_UCS4* place
) noexcept nogil:
    """Whether a text stands at a place, where there is room for it."""
    return piece.length == 0 or (
        texts[piece.first] == place[0]
        and not memcmp(texts + piece.first, place, <size_t>piece.length * sizeof(Py_UCS4))
    )


cdef inline int find_last(
    const Py_UCS4* texts, PieceC piece, const Py_UCS4* base, int length
) noexcept nogil:
    """Where a text stands last, or -1."""
    cdef int place = length - piece.length
    while place >= 0 and not is_at(texts, piece, base + place):
        place -= 1
    return place
