"""A cache of lexemes: the values of their atoms and their fused rows.

A lexicon only grows, up to a bound. Its keys are the orths of lexemes, which are stable
hashes; lexemes themselves come and go with memory zones. Only the thread that holds the
GIL adds records, while any number of threads read them without locks. When a lexicon is
full, its owner replaces it; it is freed when its last reader lets go of it.
"""
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free, malloc

from ..base.errors import Errors

cdef enum:
    LINE = 64
    CHUNK = 1 << 16

# More would not fit into any memory.
cdef size_t MAX_RECORDS = <size_t>1 << 40


cdef inline size_t round_up(size_t n_bytes) noexcept nogil:
    """Up to the next cache line."""
    return (n_bytes + LINE - 1) // LINE * LINE


cdef class Arena:
    def __dealloc__(self):
        self.clear()

    cdef void* alloc(self, size_t n_bytes) except NULL:
        """Memory that starts at a cache line."""
        cdef void* chunk
        cdef size_t size
        n_bytes = round_up(n_bytes)
        if n_bytes > self.n_free:
            size = max(<size_t>CHUNK, n_bytes)
            self.chunks.push_back(NULL)
            chunk = malloc(size + LINE)
            if chunk == NULL:
                self.chunks.pop_back()
                raise MemoryError()
            self.chunks[self.chunks.size() - 1] = chunk
            self.free = <char*>((<uintptr_t>chunk + LINE - 1) // LINE * LINE)
            self.n_free = size
            self.n_bytes += size + LINE
        result = self.free
        self.free += n_bytes
        self.n_free -= n_bytes
        return result

    cdef void clear(self) noexcept nogil:
        for chunk in self.chunks:
            free(chunk)
        self.chunks.clear()
        self.n_free = 0
        self.n_bytes = 0


cdef bint fill_alike(WordScorer one, WordScorer other):
    """Whether the rows of one scorer are those of the other: they may differ by what they
    add to the scores of all words."""
    return one is other or (
        type(one) is type(other)
        and one.program is other.program
        and one.n_labels == other.n_labels
        and one.n_outputs == other.n_outputs
        and one.weights.c.index == other.weights.c.index
        and one.weights.c.narrow == other.weights.c.narrow
        and one.weights.c.groups == other.weights.c.groups
        and one.pairs is other.pairs
        and one.count_row_bytes() == other.count_row_bytes()
    )


cdef class Lexicon:
    """Records of lexemes.

    n_columns (int): The number of atoms of a record.
    scorers (list[WordScorer]): Records keep the fused rows of these, one after the
        other.
    max_records (int): How many records to keep at most.
    """

    def __init__(self, int n_columns, list scorers not None, size_t max_records):
        cdef WordScorer scorer
        if self.c.table != NULL or n_columns < 0:
            raise ValueError(Errors.DS216.format(what=f"a lexicon of {n_columns} columns"))
        scorers = list(scorers)
        for scorer in scorers:
            if (
                scorer is None
                or scorer.program is None
                or scorer.program.c.n_columns > n_columns
            ):
                raise ValueError(Errors.DS216.format(what="a lexicon and its scorers"))
        if max_records > MAX_RECORDS:
            raise MemoryError()
        self.n_columns = n_columns
        self.scorers = scorers
        self.max_records = max_records
        self.arena = Arena()
        cdef size_t size = 64
        while size < 2 * max_records:
            size *= 2
        # Not a vector, which would touch all of its memory.
        self.c.table = <void**>calloc(size, sizeof(void*))
        if self.c.table == NULL:
            raise MemoryError()
        self.c.mask = size - 1
        self.c.n_records = 0
        self.before_start = self._new_boundary(BEFORE_START)
        self.after_end = self._new_boundary(AFTER_END)
        # For places without a lexeme.
        self.absent = self._new_boundary(UNKNOWN)

    def __dealloc__(self):
        free(self.c.table)

    def __len__(self) -> int:
        return self.c.n_records

    def serves(self, WordScorer scorer not None) -> bool:
        """Whether records have the rows of a scorer."""
        return scorer.program is not None and self.has_rows(scorer)

    @property
    def n_bytes(self) -> int:
        """The approximate memory in use."""
        return self.arena.n_bytes + (self.c.mask + 1) * sizeof(void*)

    cdef LexemeRecC* _new_boundary(self, atom_t value) except NULL:
        record = self.new_record(0, self.arena)
        for i in range(self.n_columns):
            record.atoms[i] = value
        self.finish_record(record)
        return record

    cdef bint is_full(self) noexcept:
        return self.c.n_records >= self.max_records

    cdef bint has_rows(self, WordScorer scorer):
        """Whether records start with the rows of a scorer."""
        return scorer.count_row_bytes() == 0 or (
            len(self.scorers) > 0 and fill_alike(self.scorers[0], scorer)
        )

    cdef LexemeRecC* new_record(self, uint64_t orth, Arena arena) except NULL:
        """Allocate a record. The caller fills in its atoms."""
        cdef size_t row_bytes = 0
        cdef WordScorer scorer
        for scorer in self.scorers:
            row_bytes += round_up(scorer.count_row_bytes())
        rows = <char*>arena.alloc(
            row_bytes + sizeof(LexemeRecC) + self.n_columns * sizeof(atom_t)
        )
        record = <LexemeRecC*>(rows + row_bytes)
        record.orth = orth
        record.rows = <score_t*>rows
        return record

    cdef void finish_record(self, LexemeRecC* record) noexcept:
        """Fill in the rows of a record that has its atoms."""
        cdef WordScorer scorer
        cdef char* rows = <char*>record.rows
        for scorer in self.scorers:
            scorer.fill(record, rows)
            rows += round_up(scorer.count_row_bytes())

    cdef void publish(self, LexemeRecC* record) noexcept:
        """Let readers find a finished record."""
        cdef size_t place = record.orth & self.c.mask
        while self.c.table[place] != NULL:
            place = (place + 1) & self.c.mask
        store_pointer(&self.c.table[place], record)
        self.c.n_records += 1
