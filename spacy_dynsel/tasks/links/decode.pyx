"""Parsing by links, with compiled weights."""
cimport cython
from libc.math cimport log
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ..arc_eager.batch import ParseBatch

from ...core.eisner cimport TreeForest
from ...core.forms.cached cimport Verdict
from ...core.forms.line_table cimport FarC, ShortLineTable, add_far, add_near, ask_lines
from ...core.forms.slots cimport NarrowScorer, WideScorer
from ...core.leads cimport NO_RIVAL, fill_limits, find_lead, get_margin
from ...core.lexicon cimport Lexicon
from ...core.typedefs cimport atom_t, feat_t, score_t, uint8_t, uint16_t, uint64_t
from ...core.vectors cimport bare_vector
from ...core.workers cimport throw_no_memory
from ...spacy_io.lexemes cimport LexemeReader
from ...spacy_io.tokens cimport SequenceC
from ..arc_eager.decode cimport check_scorer
from ..arc_eager.division cimport DividedC, DividingRun
from ..arc_eager.features cimport (
    MAX_SLOTS, Features, TagMap, find_label_places, read_slots,
)
from ..arc_eager.places cimport MAX_PLACES, N_BOUNDARY_PLACES, N_LABEL_PLACES
from ..arc_eager.rules cimport Rules
from ..arc_eager.steps cimport MAX_KEYS, ParserC
from ..arc_eager.system cimport (
    NONE, SentenceC, add_arc, free_sentence, new_sentence, row_of, start,
)
from .model cimport LinkModel
from .search cimport SCALE, LinkModelC, LinkWork, order_arcs, parse_links, prepare

cdef enum:
    N_LEADS = 2
    MAX_TREES = 1 << 16


cdef cppclass Worker:
    DividedC divided
    SentenceC s
    LinkWork work
    bare_vector[score_t] scores
    bare_vector[double] chances       # by word: the probability of its link
    # Of links, of trees that needed all of them, and of labels by stage.
    uint64_t* counts

    __init__():
        memset(&this.divided.whole, 0, sizeof(SentenceC))
        memset(&this.s, 0, sizeof(SentenceC))

    __dealloc__():
        free_sentence(&this.divided.whole)
        free_sentence(&this.s)


@cython.auto_pickle(False)
cdef class LinkRun(DividingRun):
    """Docs that are parsed by links."""
    cdef LinkModelC model
    cdef float* leads        # [tokens][N_LEADS], or NULL
    cdef int k               # how many trees of each sentence are wanted,
    cdef list trees          # and where to put them, or None

    cdef void work(self, int thread) noexcept nogil:
        cdef Worker worker
        cdef int i, first, end
        worker.divided.thread = thread
        worker.scores.resize(self.parser.labels.weights.width)
        worker.counts = self.counts + thread * self.n_counts
        prepare(&worker.work, True)
        while self.take(&first, &end):
            for i in range(first, end):
                if not parse_doc(self, &worker, &self.sequences[i]):
                    return


def parse_by_links(
    list docs not None,
    Lexicon lexicon not None,
    LexemeReader reader not None,
    TagMap tags not None,
    LinkModel model not None,
    ShortLineTable filter_lines not None,
    ShortLineTable lines not None,
    double alpha,
    tuple features not None,
    WideScorer labels not None,
    NarrowScorer boundaries not None,
    tuple margins not None,
    int n_threads,
    bint with_leads=False,
    bint split_blank_lines=False,
    Rules rules=None,
    int k=0,
):
    """Parse docs.

    model (LinkModel): The templates of links, and
    filter_lines (ShortLineTable), lines (ShortLineTable): the weights of their filter and of
        the links.
    alpha (float): The part of the best head in the filter's threshold.
    features (tuple): The Features of labels and boundaries.
    labels (WideScorer), boundaries (NarrowScorer): Their weights.
    margins (tuple): The margins of the stages of labels and boundaries, but the last.
    with_leads (bool): Whether to say how sure the arcs are.
    split_blank_lines (bool): Whether a blank line ends a sentence.
    rules (Rules): What is set for the tree, if there is a single doc.
    k (int): How many trees of each sentence of a single doc to find as well.
    RETURNS (ParseBatch or tuple): The trees; and, if k is not 0, for each sentence its words
        and what LinkForest.find_k_best gives.
    """
    cdef vector[score_t] limits
    cdef vector[int] label_margins = margins[0]
    cdef vector[int] boundary_margins = margins[1]
    cdef Features label_features = features[0]
    cdef Features boundary_features = features[1]
    cdef LinkRun run = LinkRun()
    cdef ParserC* parser = &run.parser
    cdef int32_t[::1] head_view
    cdef uint16_t[::1] label_view
    cdef uint8_t[::1] start_view
    cdef float[:, ::1] lead_view
    reader.check(lexicon)
    if tags.places.size() == 0:
        raise ValueError(Errors.DS216.format(what="tables that were never filled"))
    n_lexical = lexicon.n_columns
    model.check(n_lexical)
    model.bind_lines(&run.model, filter_lines, lines)
    run.model.alpha = alpha
    check_scorer(
        label_features, N_LABEL_PLACES, n_lexical, labels.c.program, label_margins
    )
    check_scorer(
        boundary_features, N_BOUNDARY_PLACES, n_lexical, boundaries.c.program,
        boundary_margins,
    )
    run.read(docs, lexicon, reader, n_threads, 2 + labels.c.program.n_stages)
    if rules is not None and (len(docs) != 1 or <size_t>rules.c.n_tokens != run.n_tokens):
        raise ValueError(Errors.DS216.format(what="a doc and rules for its tree"))
    if not 0 <= k <= MAX_TREES or (k and len(docs) != 1):
        raise ValueError(Errors.DS216.format(what="a doc and a number of its trees"))
    heads = np.empty(run.n_tokens, dtype="int32")
    arc_labels = np.empty(run.n_tokens, dtype="uint16")
    starts = np.zeros(run.n_tokens, dtype="uint8")
    leads = np.full((run.n_tokens, N_LEADS), np.inf, "float32") if with_leads else None
    trees = [] if k else None
    if run.n_tokens:
        fill_limits(limits, labels.c.n_labels, labels.c.weights.width)
        parser.labels = &labels.c
        parser.boundaries = &boundaries.c
        parser.label_features = &label_features.c
        parser.boundary_features = &boundary_features.c
        parser.label_margins = label_margins.data()
        parser.boundary_margins = boundary_margins.data()
        parser.limits = limits.data()
        parser.scale = labels.scale
        parser.keeps_leads = with_leads
        parser.splits_blank_lines = split_blank_lines
        parser.n_lexical = lexicon.n_columns
        if rules is not None:
            parser.rules = &rules.c
        head_view = heads
        label_view = arc_labels
        start_view = starts
        run.tags = tags
        run.k = k
        run.trees = trees
        run.heads = &head_view[0]
        run.labels = &label_view[0]
        run.starts = &start_view[0]
        if with_leads:
            lead_view = leads
            run.leads = &lead_view[0, 0]
        run.start()
    counts = run.sum_counts()
    stages = np.zeros(run.n_tokens, dtype="uint8") if with_leads else None
    batch = ParseBatch(
        heads, arc_labels, starts, run.ends, counts[:2], counts[2:], leads, stages
    )
    return (batch, trees) if k else batch


cdef bint parse_doc(LinkRun job, Worker* worker, const SequenceC* doc) noexcept nogil:
    """Divide a doc into sentences and parse them. RETURNS: False after an error."""
    cdef int i, first = 0
    if not job.divide(&worker.divided, doc):
        return False
    for i in range(1, worker.divided.whole.n + 1):
        if i == worker.divided.whole.n or worker.divided.starts[i]:
            if not parse_sentence(job, worker, doc, first, i):
                return False
            first = i
    return True


cdef bint parse_sentence(
    LinkRun job, Worker* worker, const SequenceC* doc, int first, int end
) noexcept nogil:
    cdef SentenceC* whole = &worker.divided.whole
    cdef SentenceC* s = &worker.s
    cdef int i
    if not new_sentence(s, end - first, job.parser.n_lexical):
        throw_no_memory()
    for i in range(first, end):
        memcpy(row_of(s, i - first), row_of(whole, i), whole.stride * sizeof(atom_t))
        s.pos_bits[i - first] = whole.pos_bits[i]
        s.tokens[i - first] = whole.tokens[i]
    start(s)
    worker.counts[1] += not parse_links(
        &job.model, s, job.parser.rules, &worker.work
    )
    worker.counts[0] += worker.work.links.size()
    if job.leads != NULL:
        find_chances(worker)
    if job.trees is not None and not list_trees(job, worker):
        return False
    order_arcs(s.n, &worker.work)
    for i in range(s.n):
        s.heads[i] = worker.work.heads[i]
    for i in range(s.n):
        label_arc(job, worker, doc.offset, worker.work.order[i])
    return True


cdef void find_chances(Worker* worker) noexcept nogil:
    """How probable the links of the tree are."""
    cdef LinkWork* work = &worker.work
    cdef size_t i
    worker.chances.assign(worker.s.n, 1)
    work.marginals.resize(work.links.size() + 1)
    if not work.forest.find_marginals(SCALE, work.marginals.data()):
        return
    for i in range(work.links.size()):
        if work.heads[work.links[i].child] == work.links[i].head:
            worker.chances[work.links[i].child] = work.marginals[i]


cdef void label_arc(LinkRun job, Worker* worker, size_t offset, int word) noexcept nogil:
    """Write the head and the label of a word, of whose dependents all are known."""
    cdef const ParserC* parser = &job.parser
    cdef SentenceC* s = &worker.s
    cdef int[MAX_PLACES] places
    cdef atom_t[MAX_SLOTS] values
    cdef feat_t[MAX_KEYS] keys
    cdef FarC far
    cdef Verdict verdict
    cdef int head = s.heads[word]
    cdef size_t place = offset + s.tokens[word]
    cdef int stage = 0
    cdef int margin, n_keys
    cdef double chance
    if job.leads != NULL:
        chance = worker.chances[word]
        chance = log(max(chance, 1e-9)) - log(max(1 - chance, 1e-9))
        job.leads[N_LEADS * place] = <float>chance
    if head == NONE:
        job.heads[place] = s.tokens[word]
        job.labels[place] = 0xFFFF
        return
    find_label_places(s, head, word, places)
    memset(worker.scores.data(), 0, parser.labels.weights.width * sizeof(score_t))
    while True:
        read_slots(
            s, parser.label_features,
            parser.label_features.stage_ends[stage - 1] if stage else 0,
            parser.label_features.stage_ends[stage], places, values,
        )
        n_keys = ask_lines(
            parser.label_features.stages[stage], parser.labels.weights.codes, values, keys
        )
        if add_near(parser.labels.weights, keys, n_keys, worker.scores.data(), &far):
            add_far(parser.labels.weights, &far, worker.scores.data())
        margin = get_margin(parser.label_margins, stage, parser.labels.program.n_stages)
        verdict = parser.labels.weights.kernels.judge(
            worker.scores.data(), parser.limits, parser.labels.weights.width, max(margin, 1)
        )
        if margin == 0 or verdict.close <= 1:
            break
        stage += 1
    worker.counts[2 + stage] += 1
    if job.leads != NULL:
        margin = find_lead(
            worker.scores.data(), parser.limits, parser.labels.weights.width, verdict.label
        )
        if margin < NO_RIVAL:
            job.leads[N_LEADS * place + 1] = margin / parser.scale
    add_arc(s, head, word, verdict.label)
    job.heads[place] = s.tokens[head]
    job.labels[place] = <uint16_t>verdict.label


cdef bint list_trees(LinkRun job, Worker* worker) noexcept with gil:
    """Write down the best trees of a sentence. RETURNS: False after an error."""
    # The one whose exceptions become Python's.
    cdef TreeForest* forest = <TreeForest*>&worker.work.forest
    cdef int32_t[:, ::1] view
    cdef int i, n = 0
    try:
        words = np.array([worker.s.tokens[i] for i in range(worker.s.n)], dtype="int32")
        heads = np.empty((job.k, worker.s.n), dtype="int32")
        scores = []
        view = heads
        while n < job.k and forest.find_kth(n):
            forest.find_kth_heads(n, &view[n, 0])
            scores.append(forest.kth_score(n))
            n += 1
        job.trees.append((words, heads[:n], np.array(scores, dtype="int64")))
        return True
    except BaseException as error:
        job.error = error
        return False
