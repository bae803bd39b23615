from libcpp.vector cimport vector

from .hashing cimport finish, mix
from .typedefs cimport atom_t, feat_t, score_t, uint64_t

cdef enum:
    MAX_ATOMS = 6
    MAX_PLACES = 64


cdef enum:
    # The value of an atom that training hides.
    HIDDEN = 0xFFFFFFFF


cdef struct LexemeRecC:
    # A lexeme: its hash, the values of its atoms by column, and a pointer to its fused
    # rows of scores, each as wide as those of the scorer.
    uint64_t orth
    score_t* rows
    atom_t atoms[1]


cdef struct AtomC:
    int place                # of a lexical atom; -1 for a dynamic one
    int column               # of the lexeme's record, or index into the dynamic values


cdef struct TemplateC:
    uint64_t seed
    int n_atoms
    AtomC[MAX_ATOMS] atoms


cdef struct ProgramC:
    int n_templates
    int n_stages
    int n_columns            # of a lexeme's record, at least
    int n_places             # at least
    int n_values             # dynamic ones, at least
    TemplateC* templates
    int* stage_ends          # [n_stages] the number of templates up to each checkpoint


cdef struct ContextC:
    # What a decision sees: the lexeme at each place (never NULL), and the values of the
    # columns that the task writes.
    LexemeRecC** lexemes     # [n_places]
    const atom_t* dynamic    # [n_places][n_dynamic]


cdef inline atom_t get_atom(const AtomC* atom, const ContextC* context) noexcept nogil:
    if atom.place >= 0:
        return context.lexemes[atom.place].atoms[atom.column]
    return context.dynamic[atom.column]


cdef inline feat_t get_key(
    const TemplateC* template, const ContextC* context
) noexcept nogil:
    cdef uint64_t state = template.seed
    cdef int i
    for i in range(template.n_atoms):
        state = mix(state, get_atom(&template.atoms[i], context))
    return finish(state)


cdef inline bint is_hidden(
    const TemplateC* template, const ContextC* context
) noexcept nogil:
    cdef int i
    for i in range(template.n_atoms):
        if get_atom(&template.atoms[i], context) == HIDDEN:
            return True
    return False


cdef class Program:
    cdef readonly object templates
    cdef readonly list lexical
    cdef readonly list dynamic
    cdef readonly list places
    cdef readonly list slots
    cdef vector[TemplateC] _templates
    cdef vector[int] _stage_ends
    cdef ProgramC c

    cdef AtomC bind(self, object atom) except *
