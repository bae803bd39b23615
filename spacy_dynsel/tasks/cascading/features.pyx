"""The features of words: the keys of all templates, one word after the other."""
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...core.lexicon cimport Lexicon
from ...core.program cimport ContextC, LexemeRecC, Program, get_key
from ...core.typedefs cimport feat_t
from ...spacy_io.lexemes cimport LexemeReader
from ..examples cimport Examples
from ..run cimport REACH_C


cdef class WordFeatures(Examples):
    """The words of docs laid end to end, as templates see them that read no labels.

    docs (list[Doc]): The docs.
    """

    def __init__(
        self, list docs not None, Lexicon lexicon not None, LexemeReader reader not None
    ):
        self.read(docs, lexicon, reader, True)

    def find_keys(self, Program program not None, const int64_t[:, ::1] ranges not None):
        """The keys of features.

        ranges (array): Sequences: pairs of start and end, counted in words. A template
            does not see beyond its sequence.
        RETURNS (array): The keys (uint32), of shape (words of all ranges, templates).
        """
        cdef vector[LexemeRecC*] records
        cdef ContextC context
        cdef int64_t n_words = self.records.size()
        cdef int64_t r, i, n, place = 0
        cdef int64_t total = 0
        cdef int t
        self.check_read()
        cdef bint fits = (
            ranges.shape[1] == 2
            and program.c.n_templates > 0
            and program.c.n_columns <= self.lexicon.n_columns
            and program.c.n_places <= 2 * REACH_C + 1
            and program.c.n_values == 0
        )
        if fits:
            for r in range(ranges.shape[0]):
                fits &= 0 <= ranges[r, 0] <= ranges[r, 1] <= n_words
                total += ranges[r, 1] - ranges[r, 0]
        if not fits:
            raise ValueError(Errors.DS216.format(what="words, sequences and templates"))
        keys = np.empty((total, program.c.n_templates), dtype="uint32")
        cdef feat_t[:, ::1] view = keys
        context.dynamic = NULL
        with nogil:
            for r in range(ranges.shape[0]):
                n = ranges[r, 1] - ranges[r, 0]
                records.assign(n + 2 * REACH_C, self.lexicon.after_end)
                for i in range(REACH_C):
                    records[i] = self.lexicon.before_start
                for i in range(n):
                    records[i + REACH_C] = self.records[ranges[r, 0] + i]
                for i in range(n):
                    context.lexemes = records.data() + i
                    for t in range(program.c.n_templates):
                        view[place, t] = get_key(&program.c.templates[t], &context)
                    place += 1
        return keys
