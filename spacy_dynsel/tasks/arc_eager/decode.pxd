"""Parsing with compiled weights."""
from libcpp.vector cimport vector

from ...core.program cimport ProgramC
from .features cimport Features

cdef int check_scorer(
    Features features,
    int n_places,
    int n_lexical,
    const ProgramC* program,
    vector[int]& margins,
) except -1
