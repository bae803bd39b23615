"""Parsing a sentence with compiled weights, in small steps: each asks memory for the
weights that the next one adds up. First comes the sentence as a whole, then the branches
where it was unsure."""
from libc.string cimport memset

from ...core.forms.cached cimport Verdict
from ...core.forms.line_table cimport (
    LineTableC,
    add_far,
    add_near,
    ask_lines,
    prefetch,
    sum_values,
)
from ...core.leads cimport find_lead, get_margin
from ...core.workers cimport throw_no_memory
from .features cimport (
    ARC,
    RankFeatures,
    add_branch_keys,
    add_tree_keys,
    count_tree_keys,
    find_action_places,
    find_changes,
    find_label_places,
    read_slots,
)
from .rules cimport restrict
from .system cimport (
    LEFT,
    RIGHT,
    apply,
    choose_branches,
    copy_sentence,
    get_front,
    get_state_key,
    get_valid,
    is_back,
    replay,
    settle,
    start,
)
from .trees cimport CLASSIFY_ROOM, PROJECTIVE, classify

cdef enum:
    # What the weights that were asked for are needed for.
    ACTION
    LABEL
    FAR_LABEL
    RANK

cdef enum:
    # Margins in a branch, in tenths of those of its sentence: the reranker looks at the
    # tree as a whole.
    BRANCH_MARGIN = 7


cdef inline int get_margin_of(
    const Run* run, const int* margins, int n_stages
) noexcept nogil:
    """The lead with which a stage decides."""
    cdef int margin = get_margin(margins, run.stage, n_stages)
    return margin if run.now == &run.s else margin * BRANCH_MARGIN // 10


cdef inline void ask(
    Run* run, int phase, int stage, const FeaturesC* features, const LineTableC& weights
) noexcept nogil:
    """Ask for the weights of a stage."""
    read_slots(
        run.now, features, features.stage_ends[stage - 1] if stage else 0,
        features.stage_ends[stage], run.places, run.values,
    )
    run.n_keys = ask_lines(features.stages[stage], weights, run.values, run.keys)
    run.stage = stage
    run.phase = phase


cdef inline void ask_action(const ParserC* parser, Run* run, int stage) noexcept nogil:
    ask(run, ACTION, stage, parser.action_features, parser.actions.weights)


cdef inline void ask_label(const ParserC* parser, Run* run, int stage) noexcept nogil:
    ask(run, LABEL, stage, parser.label_features, parser.labels.weights.codes)


cdef bint next_decision(const ParserC* parser, Run* run) noexcept nogil:
    """RETURNS: False at the end of the sentence."""
    cdef SentenceC* s = run.now
    if not settle(s):
        return end_tree(parser, run)
    if s == &run.branch:
        if is_back(s, run.state_keys.data(), run.state_keys.size()):
            # From here on, all goes as before.
            replay(
                s, run.log.data(), run.chosen[run.n_tried - 1], <int>run.log.size(), s.step
            )
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
    memset(run.scores, 0, parser.labels.weights.width * sizeof(score_t))
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
    cdef int margin, valid
    if run.phase == ACTION:
        parser.actions.add_values(
            &run.sums, parser.actions.weights, run.keys, run.n_keys
        )
        valid = get_valid(run.now)
        if parser.rules != NULL:
            valid = restrict(run.now, parser.rules, valid)
        choice = choose(&run.sums, valid)
        if choice.lead < get_margin_of(
            run, parser.action_margins, parser.actions.program.n_stages
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
        add_far(parser.labels.weights, &run.far, run.scores)
    elif add_near(parser.labels.weights, run.keys, run.n_keys, run.scores, &run.far):
        run.phase = FAR_LABEL
        return True
    margin = get_margin_of(run, parser.label_margins, parser.labels.program.n_stages)
    verdict = parser.labels.weights.kernels.judge(
        run.scores, parser.limits, parser.labels.weights.width, max(margin, 1)
    )
    if margin != 0 and verdict.close > 1:
        ask_label(parser, run, run.stage + 1)
        return True
    label_counts[run.stage] += 1
    run.logged.label_stage = run.stage
    if parser.keeps_leads:
        run.logged.label_lead = find_lead(
            run.scores, parser.limits, parser.labels.weights.width, verdict.label
        )
    return finish_decision(parser, run, verdict.label)


cdef bint start_run(const ParserC* parser, Run* run) noexcept nogil:
    """Start on a sentence. RETURNS: False if there is nothing to decide."""
    run.now = &run.s
    run.log.clear()
    run.state_keys.clear()
    run.n_chosen = 0
    run.swaps.clear()
    run.changes.clear()
    run.n_tried = 0
    if parser.keeps_leads:
        run.rank_leads.assign(run.s.n, <int>NO_RIVAL)
    start(&run.s)
    return next_decision(parser, run)


cdef inline void make_rank_room(Run* run, size_t n) noexcept nogil:
    """Make room for so many features of the reranker."""
    if run.rank_keys.size() < n:
        run.rank_keys.resize(n)
    if run.signs.size() < n:
        run.signs.resize(n)


cdef bint end_tree(const ParserC* parser, Run* run) noexcept nogil:
    """A tree is complete: what comes next? RETURNS: False if nothing does."""
    cdef size_t i
    cdef int n
    if not parser.n_branches:
        return False
    if run.now == &run.s:
        n = min(parser.n_branches, <int>run.log.size())
        run.chosen.resize(n)
        run.n_chosen = choose_branches(
            run.log.data(), <int>run.log.size(), n, parser.branch_lead, run.chosen.data()
        )
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


cdef bint next_branch(const ParserC* parser, Run* run) noexcept nogil:
    """Start on the next branch. RETURNS: False if there is none."""
    cdef int i
    if run.n_tried == run.n_chosen:
        apply_swaps(run)
        return False
    if not copy_sentence(&run.branch, &run.s):
        throw_no_memory()
    i = run.chosen[run.n_tried]
    run.n_tried += 1
    run.now = &run.branch
    replay(run.now, run.log.data(), 0, i, 0)
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
