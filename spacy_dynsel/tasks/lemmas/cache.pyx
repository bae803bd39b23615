"""A cache of lemmas: what was found for a form with its part of speech and its features,
on which alone a lemma depends.

A cache only grows, up to a bound; its owner replaces one that is full. Only the thread
that holds the GIL adds to it, while any number of threads read without locks. It keeps
string IDs and no strings: these belong to vocabularies, and come and go with memory
zones.
"""
from libc.stdlib cimport calloc, free

from ...base.errors import Errors

# More would not fit into any memory.
cdef size_t MAX_LEMMAS = <size_t>1 << 40


cdef class LemmaCache:
    """Lemmas that were found.

    max_lemmas (int): How many to keep at most.
    margins (list[int]): The margins with which they were found.
    """

    def __init__(self, size_t max_lemmas, list margins not None):
        cdef size_t size = 64
        if self.table != NULL:
            raise ValueError(Errors.DS216.format(what="a cache is made once"))
        if max_lemmas > MAX_LEMMAS:
            raise MemoryError()
        while size < 2 * max_lemmas:
            size *= 2
        # Not a vector, which would touch all of its memory.
        self.table = <LemmaC*>calloc(size, sizeof(LemmaC))
        if self.table == NULL:
            raise MemoryError()
        self.mask = size - 1
        self.n_lemmas = 0
        self.max_lemmas = max_lemmas
        self.margins = margins

    def __dealloc__(self):
        free(self.table)

    def __len__(self) -> int:
        return self.n_lemmas

    cdef void add(
        self, uint64_t orth, uint64_t morph, uint8_t pos, LemmaC found
    ) noexcept:
        """Keep what was found for a word, if there is room and nobody else has."""
        cdef size_t place = get_place(self.mask, orth, morph, pos)
        # An empty string, whose orth is 0, can't be kept.
        if self.n_lemmas >= self.max_lemmas or orth == 0:
            return
        if find_lemma(self.table, self.mask, orth, morph, pos) != NULL:
            return
        while self.table[place].orth != NULL:
            place = (place + 1) & self.mask
        self.table[place].morph = morph
        self.table[place].pos = pos
        self.table[place].lemma = found.lemma
        self.table[place].lead = found.lead
        self.table[place].label = found.label
        self.table[place].stage = found.stage
        store_pointer(&self.table[place].orth, <void*>orth)
        self.n_lemmas += 1
