"""Bind templates to the columns and places of a task."""
from ..base.errors import Errors

from .hashing cimport hash_bytes


cdef class Program:
    """A template list in the form that the learner and the scorer run.

    templates (Templates): The templates, in order, with their checkpoints.
    lexical (list[str]): The columns of a lexeme's record, by their index there.
    dynamic (list[str]): The columns that the task writes, by their index.
    places (list[str]): The places that the task provides, by their index.
    slots (list[Atom]): If given, the task writes the values of these atoms into an
        array, and there are no columns or places.
    """

    def __init__(self, templates, list lexical, list dynamic, list places, list slots=None):
        cdef TemplateC template
        cdef int i
        if self.c.n_templates:
            raise ValueError(Errors.DS216.format(what="templates are bound once"))
        self.slots = slots
        self.templates = templates
        self.lexical = lexical
        self.dynamic = dynamic
        self.places = places
        for spec in templates.templates:
            # A template is identified by its atoms, never by its rank: weights stay
            # valid when templates are reordered.
            name = str(spec).encode("utf8")
            template.seed = hash_bytes(name, len(name))
            template.n_atoms = len(spec.atoms)
            if not 1 <= template.n_atoms <= MAX_ATOMS:
                raise ValueError(Errors.DS216.format(what=f"the atoms of '{spec}'"))
            for i, atom in enumerate(spec.atoms):
                template.atoms[i] = self.bind(atom)
                if template.atoms[i].place >= 0:
                    self.c.n_places = max(self.c.n_places, template.atoms[i].place + 1)
                    self.c.n_columns = max(self.c.n_columns, template.atoms[i].column + 1)
                else:
                    self.c.n_values = max(self.c.n_values, template.atoms[i].column + 1)
            self._templates.push_back(template)
        for checkpoint in templates.checkpoints:
            self._stage_ends.push_back(checkpoint)
        ends = list(self._stage_ends)
        if (
            ends != sorted({end for end in ends if end >= 1})
            or max(ends, default=0) != <int>self._templates.size()
            or self._templates.size() == 0
            or self.c.n_places > MAX_PLACES
        ):
            raise ValueError(Errors.DS216.format(what=f"checkpoints {ends}"))
        self.c.n_templates = self._templates.size()
        self.c.n_stages = self._stage_ends.size()
        self.c.templates = self._templates.data()
        self.c.stage_ends = self._stage_ends.data()

    cdef AtomC bind(self, object atom) except *:
        """Find the place and the column of an atom."""
        cdef AtomC bound
        if self.slots is not None:
            bound.place = -1
            bound.column = self.slots.index(atom)
            return bound
        place = self.places.index(atom.place)
        if atom.column in self.lexical:
            bound.place = place
            bound.column = self.lexical.index(atom.column)
        else:
            bound.place = -1
            bound.column = place * len(self.dynamic) + self.dynamic.index(atom.column)
        return bound

    def __reduce__(self):
        return (
            Program,
            (self.templates, self.lexical, self.dynamic, self.places, self.slots),
        )
