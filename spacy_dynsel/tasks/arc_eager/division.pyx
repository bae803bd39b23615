"""Where sentences start, and what white space hangs on."""
cimport cython
from libc.string cimport memset

from ...core.forms.line_table cimport Sums, ask_lines
from ...core.leads cimport get_margin
from ...core.typedefs cimport atom_t, feat_t
from ...core.workers cimport throw_no_memory
from ...spacy_io.lexemes cimport BLANK_LINE
from ...spacy_io.tokens cimport read_parse_tokens
from .features cimport (
    MAX_SLOTS, FeaturesC, fill_token, find_boundary_places, read_slots,
)
from .places cimport MAX_PLACES
from .steps cimport MAX_KEYS, ChoiceC, choose
from .system cimport NONE, new_sentence, start


@cython.auto_pickle(False)
cdef class DividingRun(DocRun):
    """Docs that are parsed, sentence by sentence."""

    cdef bint divide(self, DividedC* worker, const SequenceC* doc) noexcept nogil:
        """Read a doc and find its sentences. RETURNS: False after an error."""
        cdef SentenceC* whole = &worker.whole
        cdef int i, n
        worker.tokens.resize(doc.length)
        worker.records.resize(doc.length)
        read_parse_tokens(doc, worker.tokens.data())
        if not self.find(worker.thread, doc, worker.records.data()):
            return False
        n = 0
        for i in range(doc.length):
            n += not worker.tokens[i].is_space
        if not new_sentence(whole, n, self.parser.n_lexical):
            throw_no_memory()
        n = 0
        for i in range(doc.length):
            if not worker.tokens[i].is_space:
                whole.tokens[n] = i
                fill_token(whole, n, worker.records[i], &worker.tokens[i], self.tags)
                n += 1
            elif self.parser.splits_blank_lines:
                worker.tokens[i].is_blank_line = worker.records[i].atoms[0] == BLANK_LINE
        self.clear_scratch(worker.thread)
        find_starts(self, worker, doc)
        return True


cdef int ask_boundary(
    const ParserC* parser, SentenceC* whole, int token, int last, int stage, feat_t* keys
) noexcept nogil:
    """Ask, for a stage, whether a sentence starts at a token, if the last one did at
    another. RETURNS: The number of keys."""
    cdef const FeaturesC* features = parser.boundary_features
    cdef int[MAX_PLACES] places
    cdef atom_t[MAX_SLOTS] values
    find_boundary_places(whole, token, last, places)
    read_slots(whole, features, 0, features.stage_ends[stage], places, values)
    return ask_lines(
        features.stages[stage], parser.boundaries.weights, values, keys
    )


cdef bint is_start(
    const ParserC* parser, SentenceC* whole, int token, int last, feat_t* keys, int n_keys
) noexcept nogil:
    """Whether a sentence starts at a token, whose first stage was asked for."""
    cdef Sums sums
    cdef ChoiceC choice
    cdef int stage = 0
    memset(&sums, 0, sizeof(Sums))
    while True:
        parser.boundaries.add_values(&sums, parser.boundaries.weights, keys, n_keys)
        choice = choose(&sums, 3)
        if choice.lead >= get_margin(
            parser.boundary_margins, stage, parser.boundaries.program.n_stages
        ):
            return choice.label == 1
        stage += 1
        n_keys = ask_boundary(parser, whole, token, last, stage, keys)


cdef void find_starts(DividingRun job, DividedC* worker, const SequenceC* doc) noexcept nogil:
    """Find where sentences start. Those that are set are kept."""
    cdef const ParserC* parser = &job.parser
    cdef SentenceC* whole = &worker.whole
    cdef uint8_t* starts = job.starts + doc.offset
    # The keys of a token, and those of the next one, which are asked for ahead: most
    # often no sentence starts between them.
    cdef feat_t[2][MAX_KEYS] keys
    cdef int[2] n_keys
    cdef int asked = NONE
    cdef int asked_last = NONE
    cdef int i, token, last, given
    worker.starts.assign(whole.n + 1, False)
    start(whole)
    last = 0
    token = 0
    for i in range(whole.n):
        # White space belongs to the token before it, but a start that is set there is
        # as good as one at the next token, and so is a blank line unless that one must
        # not start a sentence.
        given = worker.tokens[whole.tokens[i]].sent_start
        if given == 0 and parser.rules != NULL and parser.rules.joined[whole.tokens[i]]:
            given = -1
        while token < whole.tokens[i]:
            if worker.tokens[token].sent_start == 1 or (
                given == 0 and worker.tokens[token].is_blank_line
            ):
                given = 1
            token += 1
        token += 1
        if i == 0 or given != 0 or parser.boundaries == NULL:
            worker.starts[i] = i == 0 or given == 1
        else:
            if asked != i or asked_last != last:
                n_keys[i & 1] = ask_boundary(parser, whole, i, last, 0, keys[i & 1])
            if i + 1 < whole.n:
                asked = i + 1
                asked_last = last
                n_keys[asked & 1] = ask_boundary(
                    parser, whole, asked, last, 0, keys[asked & 1]
                )
            worker.starts[i] = is_start(
                parser, whole, i, last, keys[i & 1], n_keys[i & 1]
            )
        if worker.starts[i]:
            last = i
            starts[whole.tokens[i] if i else 0] = True
    if whole.n == 0 and doc.length:
        starts[0] = True
    # White space is attached to the word before it, or to the first one.
    last = 0
    for i in range(doc.length):
        if not worker.tokens[i].is_space:
            last = i
        else:
            if last == 0 and whole.n:
                last = whole.tokens[0]
            job.heads[doc.offset + i] = last
            job.labels[doc.offset + i] = 0xFFFE if last != i else 0xFFFF
