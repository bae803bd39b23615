"""The scripts of a model, and which of them apply to a form."""
from ...base.errors import Errors

from .scripts import is_case_possible, read_script


cdef class ScriptSet:
    """Scripts as labels.

    labels (tuple[str]): The scripts, see scripts.py.
    """

    def __init__(self, tuple labels not None):
        if self.labels is not None:
            raise ValueError(Errors.DS216.format(what="scripts are set once"))
        self._scripts = []
        self._lower = {}
        self._exact = {}
        self._whole_lower = {}
        self._whole_exact = {}
        self._longest = 0
        for label, text in enumerate(labels):
            script = read_script(text)
            if script is None:
                raise ValueError(Errors.DS230.format(script=text))
            self._scripts.append(script)
            is_exact = script.case == "keep"
            if script.is_whole:
                table = self._whole_exact if is_exact else self._whole_lower
                key = script.prefix.old
            else:
                table = self._exact if is_exact else self._lower
                key = script.suffix.old
                self._longest = max(self._longest, len(key))
            table.setdefault(key, []).append(
                (
                    label,
                    script,
                    script.case,
                    "" if script.is_whole else script.prefix.old,
                    script.inner[0].old if script.inner else "",
                    # Whether something is left of any form.
                    script.is_whole or script.prefix.new != "" or script.suffix.new != "",
                )
            )
        self.labels = labels

    cpdef str apply(self, int label, str form):
        """The lemma that a script makes of a form, or None."""
        if not 0 <= label < len(self._scripts):
            return None
        return self._scripts[label].apply(form)

    def find_valid(self, str form not None) -> list:
        """The labels that apply to a form, from the lowest to the highest."""
        cdef vector[int] found
        self.find(form, found)
        return sorted(found)

    cdef int find(self, str form, vector[int]& found) except -1:
        """Find the labels that apply to a form, in any order."""
        cdef str lowered = form.lower()
        found.clear()
        self._add_candidates(form, lowered, self._lower, self._whole_lower, found)
        if form != lowered:
            self._add_candidates(form, form, self._exact, self._whole_exact, found)
        return 0

    cdef int _add_candidates(
        self, str form, str base, dict endings, dict whole, vector[int]& found
    ) except -1:
        """
        form, base: The form, and the form in the case that the scripts ask for.
        """
        cdef Py_ssize_t n = len(base)
        cdef Py_ssize_t longest = min(n, <Py_ssize_t>self._longest)
        cdef Py_ssize_t size
        cdef int label
        cdef str case, prefix, inner
        cdef bint is_never_empty
        for size in range(longest + 2):
            candidates = whole.get(base) if size > longest else endings.get(base[n - size:])
            if candidates is None:
                continue
            for label, script, case, prefix, inner, is_never_empty in candidates:
                if prefix and not base.startswith(prefix):
                    continue
                if inner and inner not in base:
                    continue
                if case != "lower" and case != "keep":
                    if not is_case_possible(case, form, base):
                        continue
                if prefix or inner or not (is_never_empty or size < n):
                    # There is more to check.
                    if script.change(base) is None:
                        continue
                found.push_back(label)
        return 0
