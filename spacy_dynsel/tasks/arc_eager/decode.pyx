"""Parsing with compiled weights.

A worker parses several sentences at once, each a small step in turn: a step asks memory
for the weights that the next one adds up, and while they are on their way the other
sentences take theirs. The result does not depend on how many there are.
"""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

import numpy as np

from ...base.errors import Errors

from ...spacy_io.bridge cimport (
    BLANK_LINE,
    LexemeReader,
    ParseTokenC,
    SequenceC,
    find_records,
    make_records,
    read_docs,
    read_parse_tokens,
)
from ...core.lexicon cimport Arena, Lexicon, LexiconC
from ...core.leads cimport NO_RIVAL, find_lead
from ...core.forms.line_table cimport (
    ShortLineTable,
    ShortLineTableC,
    Sums,
    ask_lines,
    prefetch,
    sum_values,
)
from ...core.program cimport LexemeRecC, ProgramC
from ...core.forms.wide cimport FarC, WideScorerC, WideScorer, add_far, add_near
from ...core.forms.cached cimport Verdict
from ...core.forms.narrow cimport NarrowScorerC, NarrowScorer
from ...core.typedefs cimport (
    atom_t,
    feat_t,
    int16_t,
    score_t,
    uint8_t,
    uint16_t,
    uint64_t,
)
from ...core.vectors cimport bare_vector
from .system cimport (
    LEFT,
    N_ACTIONS,
    NONE,
    RIGHT,
    SentenceC,
    apply,
    copy_sentence,
    free_sentence,
    get_front,
    get_state_key,
    get_valid,
    new_sentence,
    row_of,
    settle,
    start,
)
from .features cimport (
    MAX_PLACES,
    MAX_SLOTS,
    N_ACTION_PLACES,
    N_BOUNDARY_PLACES,
    N_LABEL_PLACES,
    Features,
    FeaturesC,
    TagMap,
    fill_token,
    find_action_places,
    find_boundary_places,
    find_label_places,
    read_slots,
)
from .ranking cimport (
    ARC,
    RankFeatures,
    add_branch_keys,
    add_tree_keys,
    count_tree_keys,
    find_changes,
)
from .trees cimport CLASSIFY_ROOM, PROJECTIVE, classify
from ...core.workers cimport (
    atomic_int,
    require_memory_for_gil,
    run_workers,
    throw_no_memory,
)

cdef enum:
    MAX_KEYS = 256
    # Sentences that a worker parses at once.
    GROUP = 4
    # Tokens that a thread takes at once; docs are not divided.
    TASK = 2048

cdef enum:
    # What the weights that were asked for are needed for.
    ACTION
    LABEL
    FAR_LABEL
    RANK

# Labels that are not learned.
ROOT = 0xFFFF
SPACE = 0xFFFE


cdef struct ParserC:
    const NarrowScorerC* actions
    const WideScorerC* labels
    const NarrowScorerC* boundaries
    const FeaturesC* action_features
    const FeaturesC* label_features
    const FeaturesC* boundary_features
    const int* action_margins
    const int* label_margins
    const int* boundary_margins
    const score_t* limits
    int n_lexical
    int n_branches           # to try for a sentence
    int branch_lead          # for decisions with less than this lead
    float scale              # of the scores of actions
    const ShortLineTableC* ranks      # the weights of the reranker, or NULL
    PyObject* rank_features
    bint keeps_log           # of the decisions about a sentence
    bint keeps_leads         # of labels and of the reranker
    bint splits_blank_lines


cdef struct LoggedC:
    # A decision that was made.
    int step
    int action
    int second               # the next best one, or NONE
    int label
    int lead
    int label_lead
    int stage                # at which the action was found, and its label
    int label_stage          # or NONE
    int front                # N0 and S0
    int top


cdef struct ChangeC:
    int token
    int head
    int label


cdef struct SwapC:
    # A branch that is better than what it parts from, by its score.
    int64_t score
    int first                # into the changes
    int end


cdef cppclass Run:
    # A sentence on its way, first as a whole, then the branches where it was unsure.
    SentenceC s
    SentenceC branch
    SentenceC* now           # one of these two
    bare_vector[LoggedC] log
    bare_vector[uint64_t] state_keys  # by step, those in which there was a decision
    bare_vector[int] chosen           # where to branch, into the log
    int n_tried
    bare_vector[feat_t] rank_keys     # of which n_rank_keys are in use
    bare_vector[int16_t] signs
    size_t n_rank_keys
    bare_vector[uint8_t] changed
    bare_vector[int] room             # see classify
    bare_vector[ChangeC] changes
    bare_vector[SwapC] swaps
    bare_vector[int] rank_leads       # by token, if leads are kept
    LoggedC logged
    int phase
    int stage
    int action
    int head
    int dependent
    Sums sums
    FarC far
    score_t* scores          # [width]
    size_t offset            # of its doc among all tokens
    int places[MAX_PLACES]
    atom_t values[MAX_SLOTS]
    feat_t keys[MAX_KEYS]
    int n_keys

    __init__():
        memset(&this.s, 0, sizeof(SentenceC))
        memset(&this.branch, 0, sizeof(SentenceC))

    __dealloc__():
        free_sentence(&this.s)
        free_sentence(&this.branch)


cdef struct ChoiceC:
    int label
    int second               # or NONE
    int lead


cdef inline ChoiceC choose(const Sums* sums, int valid) noexcept nogil:
    """The best and the second-best of up to four labels."""
    cdef ChoiceC choice
    cdef int label, score
    cdef int best = -(1 << 20)
    cdef int second = -(1 << 20)
    choice.label = NONE
    choice.second = NONE
    for label in range(N_ACTIONS):
        if valid >> label & 1:
            score = sums.of[label]
            if score > best:
                second = best
                choice.second = choice.label
                best = score
                choice.label = label
            elif score > second:
                second = score
                choice.second = label
    choice.lead = best - second
    return choice


cdef inline void ask_action(const ParserC* parser, Run* run, int stage) noexcept nogil:
    cdef const FeaturesC* features = parser.action_features
    read_slots(
        run.now, features, features.stage_ends[stage - 1] if stage else 0,
        features.stage_ends[stage], run.places, run.values,
    )
    run.n_keys = ask_lines(
        features.stages[stage], parser.actions.weights, run.values, run.keys
    )
    run.stage = stage
    run.phase = ACTION


cdef inline void ask_label(const ParserC* parser, Run* run, int stage) noexcept nogil:
    cdef const FeaturesC* features = parser.label_features
    read_slots(
        run.now, features, features.stage_ends[stage - 1] if stage else 0,
        features.stage_ends[stage], run.places, run.values,
    )
    run.n_keys = ask_lines(
        features.stages[stage], parser.labels.codes, run.values, run.keys
    )
    run.stage = stage
    run.phase = LABEL


cdef bint next_decision(const ParserC* parser, Run* run) noexcept nogil:
    """RETURNS: False at the end of the sentence."""
    cdef SentenceC* s = run.now
    if not settle(s):
        return end_tree(parser, run)
    if s == &run.branch:
        if s.step < <int>run.state_keys.size() and (
            run.state_keys[s.step] == get_state_key(s)
        ):
            replay(run, s.step)
            return end_tree(parser, run)
    elif parser.n_branches:
        run.state_keys.resize(s.step + 1)
        run.state_keys[s.step] = get_state_key(s)
    memset(&run.sums, 0, sizeof(Sums))
    find_action_places(s, run.places)
    ask_action(parser, run, 0)
    return True


cdef bint take(const ParserC* parser, Run* run) noexcept nogil:
    """Go on with the action that was chosen. RETURNS: False at the end."""
    cdef SentenceC* s = run.now
    if run.logged.action != LEFT and run.logged.action != RIGHT:
        return finish_decision(parser, run, 0)
    run.head = get_front(s)
    run.dependent = s.stack[s.top - 1]
    if run.logged.action == RIGHT:
        run.head, run.dependent = run.dependent, run.head
    find_label_places(s, run.head, run.dependent, run.places)
    memset(run.scores, 0, parser.labels.width * sizeof(score_t))
    ask_label(parser, run, 0)
    return True


cdef bint finish_decision(const ParserC* parser, Run* run, int label) noexcept nogil:
    run.logged.label = label
    if parser.keeps_log and run.now == &run.s:
        run.log.push_back(run.logged)
    apply(run.now, run.logged.action, label)
    return next_decision(parser, run)


cdef bint advance(
    const ParserC* parser, Run* run, uint64_t* action_counts, uint64_t* label_counts
) noexcept nogil:
    """Take one step. RETURNS: False at the end of the sentence."""
    cdef ChoiceC choice
    cdef Verdict verdict
    cdef int margin
    if run.phase == ACTION:
        parser.actions.add_values(
            &run.sums, parser.actions.weights, run.keys, run.n_keys
        )
        choice = choose(&run.sums, get_valid(run.now))
        if (
            run.stage + 1 < parser.actions.program.n_stages
            and choice.lead < parser.action_margins[run.stage]
        ):
            ask_action(parser, run, run.stage + 1)
            return True
        action_counts[run.stage] += 1
        run.logged.step = run.now.step
        run.logged.action = choice.label
        run.logged.second = choice.second
        run.logged.lead = choice.lead
        run.logged.stage = run.stage
        run.logged.label_stage = NONE
        run.logged.label_lead = NO_RIVAL
        run.logged.front = get_front(run.now)
        run.logged.top = run.now.stack[run.now.top - 1]
        return take(parser, run)
    if run.phase == RANK:
        judge_branch(parser, run)
        return next_branch(parser, run)
    if run.phase == FAR_LABEL:
        add_far(parser.labels, &run.far, run.scores)
    elif add_near(parser.labels, run.keys, run.n_keys, run.scores, &run.far):
        run.phase = FAR_LABEL
        return True
    margin = 0
    if run.stage + 1 < parser.labels.program.n_stages:
        margin = parser.label_margins[run.stage]
    verdict = parser.labels.kernels.judge(
        run.scores, parser.limits, parser.labels.width, max(margin, 1)
    )
    if margin != 0 and verdict.close > 1:
        ask_label(parser, run, run.stage + 1)
        return True
    label_counts[run.stage] += 1
    run.logged.label_stage = run.stage
    if parser.keeps_leads:
        run.logged.label_lead = find_lead(
            run.scores, parser.limits, parser.labels.width, verdict.label
        )
    return finish_decision(parser, run, verdict.label)


cdef bint start_run(const ParserC* parser, Run* run) noexcept nogil:
    """Start on a sentence. RETURNS: False if there is nothing to decide."""
    run.now = &run.s
    run.log.clear()
    run.state_keys.clear()
    run.chosen.clear()
    run.swaps.clear()
    run.changes.clear()
    run.n_tried = 0
    if parser.keeps_leads:
        run.rank_leads.assign(run.s.n, <int>NO_RIVAL)
    start(&run.s)
    return next_decision(parser, run)


cdef void replay(Run* run, int step) noexcept nogil:
    """Finish a branch that is back in a state in which the sentence was before."""
    cdef int i
    for i in range(run.chosen[run.n_tried - 1], <int>run.log.size()):
        if run.log[i].step >= step:
            settle(run.now)
            apply(run.now, run.log[i].action, run.log[i].label)
    settle(run.now)


cdef inline void make_rank_room(Run* run, size_t n) noexcept nogil:
    """Make room for so many features of the reranker."""
    if run.rank_keys.size() < n:
        run.rank_keys.resize(n)
    if run.signs.size() < n:
        run.signs.resize(n)


cdef bint end_tree(const ParserC* parser, Run* run) noexcept nogil:
    """A tree is complete: what comes next? RETURNS: False if nothing does."""
    cdef size_t i
    if not parser.n_branches:
        return False
    if run.now == &run.s:
        choose_branches(parser, run)
        return next_branch(parser, run)
    run.changed.resize(run.s.n)
    if not find_changes(&run.s, &run.branch, run.changed.data()):
        return next_branch(parser, run)
    # Behind those of the branch.
    make_rank_room(
        run, run.n_rank_keys + count_tree_keys(
            <RankFeatures>parser.rank_features, run.changed.data(), run.s.n
        ),
    )
    run.n_rank_keys += add_tree_keys(
        <RankFeatures>parser.rank_features, &run.s, &run.branch, run.changed.data(),
        run.rank_keys.data() + run.n_rank_keys, run.signs.data() + run.n_rank_keys,
    )
    for i in range(run.n_rank_keys):
        prefetch(parser.ranks[0], run.rank_keys[i])
    run.phase = RANK
    return True


cdef void choose_branches(const ParserC* parser, Run* run) noexcept nogil:
    """The decisions of least lead, the least of all first."""
    cdef int i, j
    for i in range(<int>run.log.size()):
        if run.log[i].second == NONE or run.log[i].lead >= parser.branch_lead:
            continue
        if <int>run.chosen.size() < parser.n_branches:
            run.chosen.push_back(i)
        elif run.log[i].lead < run.log[run.chosen.back()].lead:
            run.chosen[run.chosen.size() - 1] = i
        else:
            continue
        j = <int>run.chosen.size() - 1
        while j > 0 and run.log[run.chosen[j - 1]].lead > run.log[run.chosen[j]].lead:
            run.chosen[j - 1], run.chosen[j] = run.chosen[j], run.chosen[j - 1]
            j -= 1


cdef bint next_branch(const ParserC* parser, Run* run) noexcept nogil:
    """Start on the next branch. RETURNS: False if there is none."""
    cdef int i, j
    if run.n_tried == <int>run.chosen.size():
        apply_swaps(run)
        return False
    if not copy_sentence(&run.branch, &run.s):
        throw_no_memory()
    i = run.chosen[run.n_tried]
    run.n_tried += 1
    run.now = &run.branch
    for j in range(i):
        settle(run.now)
        apply(run.now, run.log[j].action, run.log[j].label)
    settle(run.now)
    run.n_rank_keys = (<RankFeatures>parser.rank_features).n_branch_keys()
    make_rank_room(run, run.n_rank_keys)
    add_branch_keys(
        <RankFeatures>parser.rank_features, run.now, run.log[i].action, run.log[i].second,
        <int>(8 * run.log[i].lead / parser.scale), run.rank_keys.data(), run.signs.data(),
    )
    run.logged.action = run.log[i].second
    return take(parser, run)


cdef void judge_branch(const ParserC* parser, Run* run) noexcept nogil:
    """Keep a branch if it is better."""
    cdef ChangeC change
    cdef SwapC swap
    cdef int token
    swap.score = sum_values(
        parser.ranks[0], run.rank_keys.data(), run.signs.data(), run.n_rank_keys
    )
    if parser.keeps_leads:
        for token in range(run.s.n):
            if run.changed[token] & ARC:
                run.rank_leads[token] = <int>min(
                    <int64_t>run.rank_leads[token], max(swap.score, -swap.score)
                )
    if swap.score <= 0:
        return
    swap.first = <int>run.changes.size()
    for token in range(run.s.n):
        if run.changed[token] & ARC:
            change.token = token
            change.head = run.branch.heads[token]
            change.label = run.branch.labels[token]
            run.changes.push_back(change)
    swap.end = <int>run.changes.size()
    run.swaps.push_back(swap)


cdef void apply_swaps(Run* run) noexcept nogil:
    """Apply what is better, the best first, as long as it stays a projective tree."""
    cdef SwapC swap
    cdef size_t i, j
    cdef int k
    cdef bint good
    for i in range(1, run.swaps.size()):
        j = i
        while j > 0 and run.swaps[j - 1].score < run.swaps[j].score:
            swap = run.swaps[j]
            run.swaps[j] = run.swaps[j - 1]
            run.swaps[j - 1] = swap
            j -= 1
    run.changed.assign(run.s.n, <uint8_t>0)
    for i in range(run.swaps.size()):
        swap = run.swaps[i]
        good = True
        for k in range(swap.first, swap.end):
            good = good and not run.changed[run.changes[k].token]
        if not good:
            continue
        exchange(run, &swap)
        if i and not is_good_tree(run):
            exchange(run, &swap)
            continue
        for k in range(swap.first, swap.end):
            run.changed[run.changes[k].token] = True


cdef void exchange(Run* run, const SwapC* swap) noexcept nogil:
    """Put changes in the place of what they change, and the other way round."""
    cdef ChangeC* change
    cdef int k, head, label
    for k in range(swap.first, swap.end):
        change = &run.changes[k]
        head = run.s.heads[change.token]
        label = run.s.labels[change.token]
        run.s.heads[change.token] = change.head
        run.s.labels[change.token] = change.label
        change.head = head
        change.label = label


cdef bint is_good_tree(Run* run) noexcept nogil:
    """Whether there is a projective tree with one root."""
    cdef const SentenceC* s = &run.s
    cdef int i, n_roots = 0
    for i in range(s.n):
        n_roots += s.heads[i] == NONE
    if n_roots != 1:
        return False
    run.room.resize(<size_t>CLASSIFY_ROOM * s.n)
    return classify(s.heads, s.n, run.room.data()) == PROJECTIVE


cdef struct JobC:
    ParserC parser
    PyObject* owner          # a _Job, for errors and missing records
    const SequenceC* docs
    const int* tasks
    int n_tasks
    atomic_int* next_task
    const LexiconC* lexicon
    LexemeRecC* before_start
    LexemeRecC* after_end
    int32_t* heads
    uint16_t* labels
    uint8_t* starts
    int32_t* leads           # [tokens][3], or NULL
    uint8_t* stages
    uint64_t* action_counts
    uint64_t* label_counts
    PyObject* trace          # a list, or NULL


@cython.auto_pickle(False)
cdef class _Job:
    cdef list docs
    cdef Lexicon lexicon
    cdef LexemeReader reader
    cdef TagMap tags
    cdef list arenas
    cdef object error


cdef cppclass Worker:
    bare_vector[ParseTokenC] tokens
    bare_vector[LexemeRecC*] records
    bare_vector[uint8_t] starts       # by token that is not white space
    Run runs[GROUP]
    bare_vector[score_t] scores
    bare_vector[int] active
    bare_vector[int] idle
    SentenceC whole                   # a doc, for the rows of its tokens
    uint64_t* action_counts
    uint64_t* label_counts
    PyObject* scratch                 # the memory of records that are not kept, or NULL

    __init__():
        memset(&this.whole, 0, sizeof(SentenceC))

    __dealloc__():
        free_sentence(&this.whole)


class ParseBatch:
    """The predicted trees of some docs.

    heads (array): For each token of all docs the index of its head within the doc, its
        own for the root of a sentence.
    labels (array): The label of its arc, ROOT or SPACE.
    starts (array): Whether a sentence starts there.
    ends (array): The number of tokens up to the end of each doc.
    action_counts (array), label_counts (array): How many decisions about transitions
        and about labels were made at each stage.
    leads (array): For each token the smallest lead of the transitions that it took part
        in until it had a head, the lead of its label, and the smallest difference by
        which the reranker chose between its arc and another one, as integers; or None.
    stages (array): The stage of that transition, from 0; where a reranker had a choice,
        the number of stages, and one more where it changed the arc; or None.
    made_by (CompiledParser): What made the decisions, or None.
    """

    __slots__ = (
        "heads", "labels", "starts", "ends", "action_counts", "label_counts", "leads",
        "made_by", "stages",
    )

    def __init__(
        self, heads, labels, starts, ends, action_counts, label_counts, leads=None,
        stages=None,
    ):
        self.made_by = None
        self.leads = leads
        self.stages = stages
        self.heads = heads
        self.labels = labels
        self.starts = starts
        self.ends = ends
        self.action_counts = action_counts
        self.label_counts = label_counts

    def __len__(self) -> int:
        return len(self.ends)


cdef int check_scorer(
    Features features,
    int n_places,
    int n_lexical,
    const ProgramC* program,
    vector[int]& margins,
) except -1:
    """Raise an error unless features and margins are those of a scorer's templates."""
    if features is None or program == NULL:
        raise ValueError(Errors.DS216.format(what="features and a scorer"))
    features.check(n_places, n_lexical)
    if (
        program.n_stages != features.program.c.n_stages
        or program.n_templates != features.program.c.n_templates
        or program.n_templates > MAX_KEYS
        or <int>margins.size() < program.n_stages - 1
    ):
        raise ValueError(Errors.DS216.format(what="features, margins and a scorer"))
    return 0


def parse(
    list docs not None,
    Lexicon lexicon not None,
    LexemeReader reader not None,
    TagMap tags not None,
    tuple features not None,
    NarrowScorer actions not None,
    WideScorer labels not None,
    NarrowScorer boundaries,
    tuple margins not None,
    int n_threads,
    int n_branches=0,
    float branch_lead=0,
    RankFeatures rank_features=None,
    ShortLineTable ranks=None,
    list trace=None,
    bint with_leads=False,
    bint split_blank_lines=False,
):
    """Parse docs.

    features (tuple): The Features of actions, labels and boundaries.
    boundaries (NarrowScorer): Finds the sentences of docs that do not say where they
        start; if missing, such docs are one sentence.
    margins (tuple): The margins of the stages of actions, labels and boundaries, but the
        last.
    n_branches (int): How many second-best actions to try for a sentence.
    branch_lead (float): The lead from which on actions are not doubted.
    rank_features (RankFeatures), ranks (ShortLineTable): The templates and the weights by
        which
        to choose between trees.
    trace (list): Where to put the decisions about each sentence, if anywhere: a list of
        dicts, and the tokens whose arcs the reranker changed.
    with_leads (bool): Whether to say how sure the arcs are.
    split_blank_lines (bool): Whether a blank line ends a sentence.
    """
    cdef vector[SequenceC] sequences
    cdef vector[int] tasks
    cdef vector[score_t] limits
    if len(margins) != 3 or len(features) != 3:
        raise ValueError(Errors.DS216.format(what="features and margins"))
    cdef vector[int] action_margins = margins[0]
    cdef vector[int] label_margins = margins[1]
    cdef vector[int] boundary_margins = margins[2]
    cdef Features action_features = features[0]
    cdef Features label_features = features[1]
    cdef Features boundary_features = features[2]
    cdef atomic_int next_task
    cdef JobC job
    cdef _Job owner = _Job.__new__(_Job)
    cdef int i, size = 0
    cdef int32_t[::1] head_view
    cdef uint16_t[::1] label_view
    cdef uint8_t[::1] start_view
    cdef uint64_t[:, ::1] action_view
    cdef uint64_t[:, ::1] label_count_view
    cdef int32_t[:, ::1] lead_view
    cdef uint8_t[::1] stage_view
    cdef bint has_memory
    reader.check(lexicon)
    if tags.places.size() == 0 or (ranks is not None and ranks.c.lines == NULL):
        raise ValueError(Errors.DS216.format(what="tables that were never filled"))
    n_lexical = lexicon.n_columns
    check_scorer(
        action_features, N_ACTION_PLACES, n_lexical, actions.c.program, action_margins
    )
    check_scorer(
        label_features, N_LABEL_PLACES, n_lexical, labels.c.program, label_margins
    )
    if boundaries is not None:
        check_scorer(
            boundary_features, N_BOUNDARY_PLACES, n_lexical, boundaries.c.program,
            boundary_margins,
        )
    if rank_features is not None:
        rank_features.check(n_lexical)
    # A copy of its own keeps the docs alive, whatever happens to the list.
    docs = docs[:]
    n_tokens = read_docs(docs, sequences)
    heads = np.empty(n_tokens, dtype="int32")
    arc_labels = np.empty(n_tokens, dtype="uint16")
    starts = np.zeros(n_tokens, dtype="uint8")
    leads = np.full((n_tokens, 3), NO_RIVAL, dtype="int32") if with_leads else None
    stages = np.zeros(n_tokens, dtype="uint8") if with_leads else None
    tasks.push_back(0)
    for i in range(<int>sequences.size()):
        size += sequences[i].length
        if size >= TASK or i + 1 == <int>sequences.size():
            tasks.push_back(i + 1)
            size = 0
    job.n_tasks = <int>tasks.size() - 1
    n_threads = max(1, min(n_threads, job.n_tasks))
    action_counts = np.zeros((n_threads, actions.program.c.n_stages), dtype="uint64")
    label_counts = np.zeros((n_threads, labels.c.program.n_stages), dtype="uint64")
    if n_tokens:
        head_view = heads
        label_view = arc_labels
        start_view = starts
        action_view = action_counts
        label_count_view = label_counts
        limits.resize(labels.c.width, <score_t>-32768)
        for i in range(labels.c.n_labels):
            limits[i] = 32767
        owner.docs = docs
        owner.lexicon = lexicon
        owner.reader = reader
        owner.tags = tags
        owner.arenas = []
        owner.error = None
        next_task.store(0)
        job.parser.actions = &actions.c
        job.parser.labels = &labels.c
        job.parser.boundaries = NULL
        job.parser.boundary_features = NULL
        if boundaries is not None:
            job.parser.boundaries = &boundaries.c
            job.parser.boundary_features = &boundary_features.c
        job.parser.action_features = &action_features.c
        job.parser.label_features = &label_features.c
        job.parser.action_margins = action_margins.data()
        job.parser.label_margins = label_margins.data()
        job.parser.boundary_margins = boundary_margins.data()
        job.parser.limits = limits.data()
        job.parser.n_branches = 0
        job.parser.ranks = NULL
        job.parser.rank_features = NULL
        job.parser.scale = actions.scale
        job.parser.keeps_log = with_leads or trace is not None
        job.parser.keeps_leads = with_leads
        job.parser.splits_blank_lines = split_blank_lines
        job.leads = NULL
        job.stages = NULL
        if with_leads:
            lead_view = leads
            stage_view = stages
            job.leads = &lead_view[0, 0]
            job.stages = &stage_view[0]
        job.trace = <PyObject*>trace if trace is not None else NULL
        if n_branches > 0 and rank_features is not None and ranks is not None:
            job.parser.n_branches = n_branches
            job.parser.keeps_log = True
            job.parser.branch_lead = <int>max(
                <float>0, min(<float>(1 << 17), branch_lead * actions.scale)
            )
            job.parser.ranks = &ranks.c
            job.parser.rank_features = <PyObject*>rank_features
        job.parser.n_lexical = lexicon.n_columns
        job.owner = <PyObject*>owner
        job.docs = sequences.data()
        job.tasks = tasks.data()
        job.next_task = &next_task
        job.lexicon = &lexicon.c
        job.before_start = lexicon.before_start
        job.after_end = lexicon.after_end
        job.heads = &head_view[0]
        job.labels = &label_view[0]
        job.starts = &start_view[0]
        job.action_counts = &action_view[0, 0]
        job.label_counts = &label_count_view[0, 0]
        with nogil:
            has_memory = run_workers(n_threads, work, &job)
        if owner.error is not None:
            raise owner.error
        if not has_memory:
            raise MemoryError()
    ends = np.cumsum([len(doc) for doc in docs], dtype="int64")
    return ParseBatch(
        heads, arc_labels, starts, ends, action_counts.sum(axis=0),
        label_counts.sum(axis=0), leads, stages,
    )


cdef void work(void* data, int number) noexcept nogil:
    cdef JobC* job = <JobC*>data
    cdef Worker worker
    cdef int task, i
    cdef bint good = True
    worker.scratch = NULL
    worker.scores.resize(<size_t>GROUP * job.parser.labels.width)
    for i in range(GROUP):
        worker.runs[i].scores = worker.scores.data() + i * job.parser.labels.width
        worker.idle.push_back(i)
    worker.action_counts = job.action_counts + number * job.parser.actions.program.n_stages
    worker.label_counts = job.label_counts + number * job.parser.labels.program.n_stages
    while good:
        task = job.next_task.fetch_add(1)
        if task >= job.n_tasks:
            break
        for i in range(job.tasks[task], job.tasks[task + 1]):
            good = parse_doc(job, &worker, &job.docs[i])
            if not good:
                break
    while good and not worker.active.empty():
        advance_all(job, &worker)


cdef void advance_all(JobC* job, Worker* worker) noexcept nogil:
    """Let each sentence take a step."""
    cdef int i = 0
    cdef Run* run
    while i < <int>worker.active.size():
        run = &worker.runs[worker.active[i]]
        if advance(&job.parser, run, worker.action_counts, worker.label_counts):
            i += 1
        else:
            write_tree(job, run)
            worker.idle.push_back(worker.active[i])
            worker.active[i] = worker.active.back()
            worker.active.pop_back()


cdef void write_tree(JobC* job, Run* run) noexcept nogil:
    cdef SentenceC* s = &run.s
    cdef int i, token
    for i in range(s.n):
        token = s.tokens[i]
        if s.heads[i] == NONE:
            job.heads[run.offset + token] = token
            job.labels[run.offset + token] = 0xFFFF
        else:
            job.heads[run.offset + token] = s.tokens[s.heads[i]]
            job.labels[run.offset + token] = <uint16_t>s.labels[i]
    if job.leads != NULL:
        write_leads(job, run)
    if job.trace != NULL:
        require_memory_for_gil()
        write_trace(job, run)


cdef inline void note_lead(JobC* job, size_t place, const LoggedC* logged) noexcept nogil:
    """Note the lead of a transition for a token, unless that has its head already."""
    if job.leads[3 * place + 1] == NO_RIVAL and logged.lead < job.leads[3 * place]:
        job.leads[3 * place] = logged.lead
        job.stages[place] = <uint8_t>logged.stage


cdef void write_leads(JobC* job, Run* run) noexcept nogil:
    """Say how sure the arcs of a sentence are."""
    cdef const LoggedC* logged
    cdef size_t i, place
    cdef int token
    for i in range(run.log.size()):
        logged = &run.log[i]
        note_lead(job, run.offset + run.s.tokens[logged.front], logged)
        note_lead(job, run.offset + run.s.tokens[logged.top], logged)
        if logged.label_stage != NONE:
            token = logged.top if logged.action == LEFT else logged.front
            place = run.offset + run.s.tokens[token]
            # Less than without a rival, so that it is known to have its head.
            job.leads[3 * place + 1] = min(logged.label_lead, <int>NO_RIVAL - 1)
    for token in range(run.s.n):
        if run.rank_leads[token] == NO_RIVAL:
            continue
        place = run.offset + run.s.tokens[token]
        job.leads[3 * place + 2] = run.rank_leads[token]
        job.stages[place] = <uint8_t>job.parser.actions.program.n_stages
        if not run.swaps.empty() and run.changed[token]:
            job.stages[place] += 1


cdef void write_trace(JobC* job, Run* run) noexcept with gil:
    cdef const int* tokens = run.s.tokens
    cdef size_t i
    cdef int token
    try:
        decisions = []
        for i in range(run.log.size()):
            decisions.append(
                {
                    "front": tokens[run.log[i].front],
                    "top": tokens[run.log[i].top],
                    "action": run.log[i].action,
                    "second": run.log[i].second,
                    "label": run.log[i].label,
                    "lead": run.log[i].lead,
                    "stage": run.log[i].stage,
                    "label_stage": run.log[i].label_stage,
                }
            )
        changed = []
        if job.parser.n_branches and not run.swaps.empty():
            changed = [tokens[token] for token in range(run.s.n) if run.changed[token]]
        (<list>job.trace).append((decisions, changed))
    except BaseException as error:
        (<_Job>job.owner).error = error


cdef bint parse_doc(JobC* job, Worker* worker, const SequenceC* doc) noexcept nogil:
    """Divide a doc into sentences and start on them. RETURNS: False after an error."""
    cdef SentenceC* whole = &worker.whole
    cdef bint complete
    cdef int i, n, first
    worker.tokens.resize(doc.length)
    worker.records.resize(doc.length)
    read_parse_tokens(doc, worker.tokens.data())
    complete = find_records(
        doc, 0, doc.length, job.lexicon, job.before_start, job.after_end,
        worker.records.data(),
    )
    if not complete:
        require_memory_for_gil()
        if not complete_records(job, worker, doc):
            return False
    n = 0
    for i in range(doc.length):
        n += not worker.tokens[i].is_space
    if not new_sentence(whole, n, job.parser.n_lexical):
        throw_no_memory()
    n = 0
    for i in range(doc.length):
        if not worker.tokens[i].is_space:
            whole.tokens[n] = i
            fill_token(
                whole, n, worker.records[i], &worker.tokens[i], (<_Job>job.owner).tags
            )
            n += 1
        elif job.parser.splits_blank_lines:
            worker.tokens[i].is_blank_line = worker.records[i].atoms[0] == BLANK_LINE
    if not complete:
        (<Arena>worker.scratch).clear()
    find_starts(job, worker, doc)
    first = 0
    for i in range(1, n + 1):
        if i == n or worker.starts[i]:
            parse_sentence(job, worker, doc, first, i)
            first = i
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
        if (
            stage + 1 == parser.boundaries.program.n_stages
            or choice.lead >= parser.boundary_margins[stage]
        ):
            return choice.label == 1
        stage += 1
        n_keys = ask_boundary(parser, whole, token, last, stage, keys)


cdef void find_starts(JobC* job, Worker* worker, const SequenceC* doc) noexcept nogil:
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


cdef void parse_sentence(
    JobC* job, Worker* worker, const SequenceC* doc, int first, int end
) noexcept nogil:
    """Start on a sentence, as soon as there is room for it."""
    cdef SentenceC* whole = &worker.whole
    cdef Run* run
    cdef int i, number
    while worker.idle.empty():
        advance_all(job, worker)
    number = worker.idle.back()
    run = &worker.runs[number]
    if not new_sentence(&run.s, end - first, job.parser.n_lexical):
        throw_no_memory()
    run.offset = doc.offset
    for i in range(first, end):
        memcpy(row_of(&run.s, i - first), row_of(whole, i), whole.stride * sizeof(atom_t))
        run.s.pos_bits[i - first] = whole.pos_bits[i]
        run.s.tokens[i - first] = whole.tokens[i]
    if start_run(&job.parser, run):
        worker.idle.pop_back()
        worker.active.push_back(number)
    else:
        write_tree(job, run)


cdef bint complete_records(
    JobC* job, Worker* worker, const SequenceC* doc
) noexcept with gil:
    """RETURNS: False after an error."""
    cdef _Job owner = <_Job>job.owner
    cdef Arena scratch
    try:
        if worker.scratch == NULL:
            scratch = Arena()
            owner.arenas.append(scratch)
            worker.scratch = <PyObject*>scratch
        scratch = <Arena>worker.scratch
        make_records(
            doc, 0, doc.length, worker.records.data(), owner.docs[doc.doc],
            owner.lexicon, owner.reader, scratch,
        )
        return True
    except BaseException as error:
        owner.error = error
        return False
