"""Docs whose records are kept while a task learns from them."""
from ..base.errors import Errors

from ..core.lexicon cimport UNKNOWN, look_up
from ..core.program cimport HIDDEN
from ..core.typedefs cimport uint64_t
from ..spacy_io.tokens cimport find_records, make_records, read_docs, read_words


cdef class Examples:
    """Docs and the records of their tokens."""

    cdef int read(
        self, list docs, Lexicon lexicon, LexemeReader reader, bint only_words
    ) except -1:
        """Read docs, once. There is no lexicon unless this succeeds.

        only_words: Whether white space has no records.
        """
        cdef vector[uint64_t] orths
        cdef vector[int] words
        cdef const SequenceC* doc
        cdef LexemeRecC** records
        cdef size_t n_records = 0
        cdef bint complete
        cdef int i, n
        if self.lexicon is not None:
            raise ValueError(Errors.DS216.format(what="a batch has its docs already"))
        reader.check(lexicon)
        self.docs = docs[:]
        self._scratch = Arena()
        self._word_columns.clear()
        self._class_columns.clear()
        self.sequences.clear()
        for i, column in enumerate(reader.columns):
            if column in ("word", "lower", "norm"):
                self._word_columns.push_back(i)
            elif column == "class":
                self._class_columns.push_back(i)
        self.n_tokens = read_docs(self.docs, self.sequences)
        self.records.resize(self.n_tokens)
        for i in range(<int>self.sequences.size()):
            doc = &self.sequences[i]
            records = self.records.data() + n_records
            n = doc.length
            if only_words:
                orths.resize(n)
                words.resize(n)
                n = read_words(doc, 0, n, orths.data(), words.data())
                complete = look_up(&lexicon.c, orths.data(), n, records)
            else:
                complete = find_records(doc, &lexicon.c, records)
            if not complete:
                make_records(
                    doc, words.data() if only_words else NULL, n, records, self.docs[i],
                    lexicon, reader, self._scratch,
                )
            n_records += n
        self.records.resize(n_records)
        self.lexicon = lexicon
        return 0

    cdef int check_read(self) except -1:
        """Raise an error unless docs were read."""
        if self.lexicon is None:
            raise ValueError(Errors.DS216.format(what="a batch without docs"))
        return 0

    cdef void hide_word(self, atom_t* atoms) noexcept nogil:
        """Make a word look unknown."""
        cdef int column
        for column in self._word_columns:
            atoms[column] = HIDDEN
        for column in self._class_columns:
            atoms[column] = UNKNOWN
