"""Lemmatizing: one decision a word, which depends on nothing but the word, its part of
speech and its features. So it is made once and kept, see cache.pyx; most words are
just looked up.
"""
cimport cython
from libc.stdint cimport int32_t
from libcpp.vector cimport vector

import numpy as np
from spacy.strings import get_string_id

from ...base.errors import Errors

from ...core.forms.cached cimport CachedScorer, DecisionC, decide, sum_fused
from ...core.hashing cimport fold
from ...core.leads cimport NO_DECISION, find_lead
from ...core.program cimport ContextC
from ...core.typedefs cimport atom_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.workers cimport require_memory_for_gil
from ...spacy_io.lemmas cimport (
    NO_LEMMA_C,
    SPACE_LEMMA_C,
    TABLE_LEMMA_C,
    LemmaTokenC,
    read_atoms,
    read_form,
    read_lemma_tokens,
)
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC
from ..run cimport DocRun
from .cache cimport DYNSEL_PREFETCH, LemmaC, LemmaCache, find_lemma, get_place
from .script_set cimport ScriptSet

cdef enum:
    # Tokens that are looked up together, so that memory is waited for once.
    BLOCK = 32


class LemmaBatch:
    """The predicted lemmas of some docs: for each an array of labels.

    labels (array): For each token of all docs its label, NO_LEMMA, TABLE_LEMMA or
        SPACE_LEMMA.
    lemmas (array): For each token the string ID of its lemma, 0 for none.
    ends (array): The number of tokens up to the end of each doc.
    stage_counts (array): How many decisions were made at each stage.
    leads (array): By how much each decision was won, as an integer, or None.
    stages (array): The stage in which each decision was made, from 0, or None.
    made_by (Snapshot): What made the decisions, or None.
    """

    __slots__ = (
        "ends", "labels", "leads", "lemmas", "made_by", "stage_counts", "stages"
    )

    def __init__(self, labels, lemmas, ends, stage_counts, leads=None, stages=None):
        self.labels = labels
        self.lemmas = lemmas
        self.ends = ends
        self.stage_counts = stage_counts
        self.leads = leads
        self.stages = stages
        self.made_by = None

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int):
        i = range(len(self))[i]
        return self.labels[self.ends[i - 1] if i else 0 : self.ends[i]]


@cython.auto_pickle(False)
cdef class LemmaRun(DocRun):
    """Docs that are lemmatized."""
    cdef LemmaCache cache
    cdef ScriptSet scripts
    cdef CachedScorer scorer
    cdef object tables       # see Tables, or None
    cdef object known        # see KnownLemmas
    cdef int known_lead
    cdef bint reads_pos
    cdef vector[int] margins
    cdef uint16_t* labels
    cdef uint64_t* lemmas
    cdef int32_t* leads      # or NULL
    cdef uint8_t* stages     # or NULL

    cdef void work(self, int thread) noexcept nogil:
        cdef LemmaTokenC[BLOCK] tokens
        cdef const SequenceC* doc
        cdef int i, start, first_doc, end_doc
        cdef uint64_t* counts = self.counts + thread * self.n_counts
        while self.take(&first_doc, &end_doc):
            for i in range(first_doc, end_doc):
                doc = &self.sequences[i]
                start = 0
                while start < doc.length:
                    if not lemmatize_block(self, doc, start, tokens, counts):
                        return
                    start += BLOCK


def predict(
    list docs not None,
    LemmaCache cache not None,
    LexemeReader reader not None,
    CachedScorer scorer not None,
    ScriptSet scripts not None,
    tables,
    known,
    int known_lead,
    bint reads_pos,
    int n_threads,
    bint with_leads=False,
) -> LemmaBatch:
    """Predict the lemmas of docs.

    cache (LemmaCache): What was found before, by all that follows.
    tables (Tables): What is not to be decided, or None.
    known (KnownLemmas): Lemmas that were learned from.
    known_lead (int): By how much a script may be behind whose lemma is not known.
    reads_pos (bool): Whether decisions look at parts of speech and features.
    n_threads (int): How many threads to use at most. The result does not depend on it.
    with_leads (bool): Whether to say how sure the decisions are.
    """
    cdef LemmaRun run = LemmaRun()
    cdef uint16_t[::1] label_view
    cdef uint64_t[::1] lemma_view
    cdef int32_t[::1] lead_view
    cdef uint8_t[::1] stage_view
    run.margins = cache.margins
    check_scorer(scorer, reader, scripts)
    if cache.table == NULL:
        raise ValueError(Errors.DS216.format(what="a cache that was never made"))
    if <int>run.margins.size() < scorer.c.n_stages - 1:
        raise ValueError(Errors.DS216.format(what="margins and stages"))
    run.read(docs, None, reader, n_threads, scorer.c.n_stages)
    labels = np.empty(run.n_tokens, dtype="uint16")
    lemmas = np.empty(run.n_tokens, dtype="uint64")
    leads = np.empty(run.n_tokens, dtype="int32") if with_leads else None
    stages = np.empty(run.n_tokens, dtype="uint8") if with_leads else None
    if run.n_tokens:
        label_view = labels
        lemma_view = lemmas
        run.cache = cache
        run.scripts = scripts
        run.scorer = scorer
        run.tables = tables
        run.known = known
        run.known_lead = known_lead
        run.reads_pos = reads_pos
        run.labels = &label_view[0]
        run.lemmas = &lemma_view[0]
        if with_leads:
            lead_view = leads
            stage_view = stages
            run.leads = &lead_view[0]
            run.stages = &stage_view[0]
        run.start()
    return LemmaBatch(labels, lemmas, run.ends, run.sum_counts(), leads, stages)


cdef int check_scorer(
    CachedScorer scorer, LexemeReader reader, ScriptSet scripts
) except -1:
    """Raise an error unless these can predict together."""
    if (
        scorer.program is None
        or scripts.labels is None
        or reader.columns is None
        or scorer.c.n_rows != 0
        or scorer.c.n_labels != len(scripts.labels)
        or scorer.program.c.n_places != 0
        or <size_t>scorer.program.c.n_values > len(reader.columns) + 2
        or scorer.dynamic_limits.size() != 0
    ):
        raise ValueError(Errors.DS216.format(what="a scorer and its scripts"))
    return 0


cdef bint lemmatize_block(
    LemmaRun run, const SequenceC* doc, int start, LemmaTokenC* tokens, uint64_t* counts
) noexcept nogil:
    """Lemmatize a few tokens. RETURNS: False after an error."""
    cdef const LemmaC* table = run.cache.table
    cdef size_t mask = run.cache.mask
    cdef size_t offset = doc.offset + start
    cdef int n = min(doc.length - start, <int>BLOCK)
    cdef const LemmaC* found
    cdef LemmaTokenC* token
    cdef LemmaC other
    cdef int i
    read_lemma_tokens(doc, start, start + n, tokens)
    for i in range(n):
        token = &tokens[i]
        DYNSEL_PREFETCH(&table[get_place(mask, token.orth, token.morph, token.pos)])
    for i in range(n):
        token = &tokens[i]
        if token.is_space:
            other.lemma = token.orth
            other.label = SPACE_LEMMA_C
            other.lead = NO_DECISION
            other.stage = 0
            found = &other
        else:
            found = find_lemma(table, mask, token.orth, token.morph, token.pos)
            if found == NULL:
                require_memory_for_gil()
                if not find_new(run, doc, start + i, token, &other):
                    return False
                found = &other
            if found.label < TABLE_LEMMA_C:
                counts[found.stage] += 1
        run.labels[offset + i] = found.label
        run.lemmas[offset + i] = found.lemma
        if run.leads != NULL:
            run.leads[offset + i] = found.lead
            run.stages[offset + i] = found.stage
    return True


cdef bint find_new(
    LemmaRun run, const SequenceC* doc, int token, const LemmaTokenC* word, LemmaC* found
) noexcept with gil:
    """Find the lemma of a word that was not met before. RETURNS: False after an error."""
    cdef const LemmaC* known
    try:
        # It may have come up since, in another thread.
        known = find_lemma(run.cache.table, run.cache.mask, word.orth, word.morph, word.pos)
        if known != NULL:
            found[0] = known[0]
        else:
            make_lemma(run, doc, token, word, found)
            run.cache.add(word.orth, word.morph, word.pos, found[0])
        return True
    except BaseException as error:
        run.error = error
        return False


cdef int make_lemma(
    LemmaRun run, const SequenceC* doc, int token, const LemmaTokenC* word, LemmaC* found
) except -1:
    """Decide about a word."""
    cdef CachedScorer scorer = run.scorer
    cdef object owner = run.docs[doc.doc]
    cdef str form = read_form(doc, token, owner)
    cdef ContextC context
    cdef DecisionC decision
    # Not shared by threads: the GIL may be lost on the way.
    cdef vector[atom_t] atoms
    cdef vector[score_t] scores
    cdef vector[score_t] limits
    cdef vector[int] valid
    cdef uint8_t pos = word.pos if run.reads_pos else 0
    cdef int label
    found.label = NO_LEMMA_C
    found.lemma = 0
    found.lead = NO_DECISION
    found.stage = 0
    if run.tables is not None:
        lemma = run.tables.find(form, word.pos)
        if lemma is not None:
            found.label = TABLE_LEMMA_C
            found.lemma = get_string_id(lemma)
            return 0
    run.scripts.find(form, valid)
    if valid.empty():
        return 0
    scores.resize(scorer.c.width)
    limits.assign(scorer.c.width, <score_t>-32768)
    for label in valid:
        limits[label] = 32767
    atoms.resize(len(run.reader.columns) + 2)
    fill_atoms(
        doc, token, owner, run.reader, pos, word.morph if run.reads_pos else 0,
        atoms.data(),
    )
    context.lexemes = NULL
    context.dynamic = atoms.data()
    sum_fused(&scorer.c, 0, &context, scores.data())
    decision = decide(
        &scorer.c, &context, limits.data(), run.margins.data(), scores.data()
    )
    label = prefer_known(run, form, pos, decision.label, valid, scores)
    found.label = <uint16_t>label
    found.stage = <uint8_t>decision.stage
    found.lead = find_lead(scores.data(), limits.data(), scorer.c.width, label)
    found.lemma = get_string_id(run.scripts.apply(label, form))
    return 0


cdef int prefer_known(
    LemmaRun run, str form, int pos, int best, vector[int]& valid,
    vector[score_t]& scores,
) except -1:
    """Let a script win that is not far behind the best one, if it makes a lemma that is
    known, and the best one does not. RETURNS: The script that is left."""
    cdef int label
    cdef int limit = scores[best] - run.known_lead
    close = sorted([(-scores[label], label) for label in valid if scores[label] > limit])
    if len(close) == 1 or run.known.has(run.scripts.apply(best, form), pos):
        return best
    for _, label in close:
        if run.known.has(run.scripts.apply(label, form), pos):
            scores[label] = <score_t>min(scores[label] + run.known_lead, 32767)
            return label
    return best


cdef int fill_atoms(
    const SequenceC* doc, int token, object owner, LexemeReader reader, uint8_t pos,
    uint64_t morph, atom_t* atoms,
) except -1:
    """What a decision sees: the columns of the lexeme, the part of speech and the
    features."""
    cdef Py_ssize_t n = len(reader.columns)
    read_atoms(doc, token, owner, reader, atoms)
    atoms[n] = pos
    atoms[n + 1] = fold(morph)
    return 0
