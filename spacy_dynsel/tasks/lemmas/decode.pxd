from ...core.forms.cached cimport CachedScorer
from ...core.typedefs cimport atom_t, uint8_t, uint64_t
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC
from .script_set cimport ScriptSet


cdef int check_scorer(
    CachedScorer scorer, LexemeReader reader, ScriptSet scripts
) except -1
cdef int fill_atoms(
    const SequenceC* doc, int token, object owner, LexemeReader reader, uint8_t pos,
    uint64_t morph, atom_t* atoms,
) except -1
