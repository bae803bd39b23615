"""A compiled classifier that caches sums, and the decision with early exit.

All is derived from integer weights when a scorer is made: templates that look at one
lexeme are added up to a row of scores that the lexicon keeps, templates over atoms of
few values become tables that are indexed directly, and only the rest is looked up by
key. The sums are the same integers whichever way they are reached.

Induced pairs of features over one lexeme are added up with them. Of other pairs the
lexicon keeps the members; what is a pair of those that meet is looked up by key.
"""
from libc.stdint cimport uintptr_t
from libc.string cimport memset

import numpy as np

from ...base.errors import Errors

from ..large_pages import allocate

from ..hashing cimport finish, mix
from ..leads cimport get_margin
from ..pairs cimport may_pair, meet, pair_key, read_pairs
from ..program cimport MAX_PLACES, Program, get_atom, get_key
from ..typedefs cimport feat_t, uint32_t, uint64_t
from .packing cimport (
    PackedWeights,
    add_features,
    add_some_weights,
    add_weights,
    prefetch_index,
    prefetch_weights,
)
from .word_scorer cimport MAX_TEMPLATES, LimitC

cdef enum:
    MAX_STAGES = 0x7FFFFFFF
    MAX_KEYS = 64
    # Dense rows pay as long as they are not much longer than what they add up, and as
    # long as a lexicon has room for those of some thousand words.
    MAX_DENSE_WIDTH = 4096
    MAX_FUSED_ROWS = 16
    MAX_TABLE_BYTES = 1 << 22


cdef class CachedScorer:
    """Scores decisions template by template and stops when the lead is large enough.

    program (Program): The templates.
    n_labels (int): The number of labels.
    index (array), slots (array): The weights, see packing.pyx.
    scale (float): The integer that stands for a weight of 1.
    cardinalities (dict): How many values a column can have, for those columns whose
        values are small numbers.
    bias (dict): Integers that are added to the scores of some labels.
    pairs (array): Pairs of features that have weights as well, see core/pairs.pyx.
    n_outputs (int): The number of labels that the weights know, if there are more. What
        is looked up by key is added for these too, so that there has to be room.
    by_key (Sequence[int]): Templates to look up in any case.
    """

    def __init__(
        self,
        Program program not None,
        int n_labels,
        const uint32_t[::1] index not None,
        slots,
        float scale,
        dict cardinalities not None,
        dict bias=None,
        pairs=None,
        int n_outputs=0,
        by_key=(),
    ):
        cdef score_t[::1] bias_view
        n_outputs = max(n_outputs, n_labels)
        self.set_weights(program, PackedWeights(index, slots, n_outputs), scale)
        self.n_labels = n_labels
        self.cardinalities = cardinalities
        self.c.program = &program.c
        self.c.kernels = best_kernels()
        self.c.n_labels = n_labels
        self.c.width = (max(n_labels, 1) + LANES - 1) // LANES * LANES
        self.c.n_stages = program.c.n_stages
        self.c.packed = self.weights.c
        self.c.bias = NULL
        self.bias = None
        if bias and any(bias.values()):
            self.bias = np.zeros(self.c.width, dtype="int16")
            for label, value in bias.items():
                self.bias[label] = value
            bias_view = self.bias
            self.c.bias = &bias_view[0]
        self.c.members = NULL
        self.pairs = pairs
        if pairs is not None:
            read_pairs(pairs, program.c.n_templates, self._pairs, self._members)
            self.c.members = &self._members
        self._compile(set(by_key))

    @property
    def width(self) -> int:
        return self.c.width

    @property
    def n_rows(self) -> int:
        return self.c.n_rows

    cdef int _compile(self, set by_key) except -1:
        cdef FusedC fused
        cdef StageC stage
        cdef score_t* rows
        specs = self.program.templates.templates
        lexical = set(self.program.lexical)
        dense = self.c.width <= MAX_DENSE_WIDTH
        ends = self.program.templates.checkpoints
        groups = []                 # per stage: {place: templates over one lexeme}
        for first, end in zip((0, *ends), ends):
            by_place = {}
            for t in range(first, end):
                places = {atom.place for atom in specs[t].atoms}
                if dense and t not in by_key and len(places) == 1 and all(
                    atom.column in lexical for atom in specs[t].atoms
                ):
                    by_place.setdefault(places.pop(), []).append(t)
            groups.append(by_place)
        if sum(map(len, groups)) > MAX_FUSED_ROWS:
            # With many short stages, rows of few templates would only fill the caches.
            groups = [{} for _ in groups]
        plans = []
        for first, end, by_place in zip((0, *ends), ends, groups):
            fused_ones = {t for members in by_place.values() for t in members}
            others = [t for t in range(first, end) if t not in fused_ones | by_key]
            plans.append(self._plan_tables(others, dense))
        # One array for all, which may get large pages.
        n_rows = sum(self._count_rows(atoms) for plan in plans for atoms, _ in plan)
        self._table_rows = allocate(n_rows * self.c.width * sizeof(score_t))
        rows = <score_t*><uintptr_t>self._table_rows.ctypes.data
        for first, end, by_place, plan in zip((0, *ends), ends, groups, plans):
            done = set()
            stage.first_fused = self._fused.size()
            for place, members in by_place.items():
                fused.place = self.program.places.index(place)
                fused.row = self._fused.size()
                fused.first = self._fused_templates.size()
                for t in members:
                    self._fused_templates.push_back(t)
                fused.end = self._fused_templates.size()
                self._fused.push_back(fused)
                done.update(members)
            stage.end_fused = self._fused.size()
            stage.first_table = self._tables.size()
            for atoms, members in plan:
                self._add_table(atoms, members, rows)
                rows += <size_t>self._count_rows(atoms) * self.c.width
                done.update(members)
            stage.end_table = self._tables.size()
            stage.first_hashed = self._hashed.size()
            for t in range(first, end):
                if t not in done:
                    self._hashed.push_back(t)
            stage.end_hashed = self._hashed.size()
            fused_ones = {t for members in by_place.values() for t in members}
            stage.first_loose = self._loose.size()
            for t in range(first, end):
                if t not in fused_ones:
                    self._loose.push_back(t)
            stage.end_loose = self._loose.size()
            self._stages.push_back(stage)
        self.c.stages = self._stages.data()
        self.c.fused = self._fused.data()
        self.c.n_fused = self._fused.size()
        self.c.n_rows = self._fused.size()
        self.c.fused_templates = self._fused_templates.data()
        self.c.tables = self._tables.data()
        self.c.hashed = self._hashed.data()
        self.c.loose = self._loose.data()
        self.c.member_offset = <size_t>self.c.n_rows * self.c.width * sizeof(score_t)
        return 0

    def _plan_tables(self, candidates, dense):
        """Templates over small columns, gathered so that one table serves a template
        and all those that look at a part of its atoms."""
        if self.program is None or self.c.width == 0:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        specs = self.program.templates.templates
        most_rows = MAX_TABLE_BYTES // (self.c.width * sizeof(score_t))
        small = [
            t for t in candidates if dense and self._count_rows(specs[t].atoms) <= most_rows
        ]
        tables = []
        for t in sorted(small, key=lambda t: (-len(specs[t].atoms), t)):
            for atoms, members in tables:
                if set(specs[t].atoms) <= set(atoms):
                    members.append(t)
                    break
            else:
                tables.append((list(specs[t].atoms), [t]))
        return tables[:MAX_ROWS - MAX_FUSED_ROWS - 1]

    def _count_rows(self, atoms) -> int:
        """How many values some atoms have together, or too many."""
        size = 1
        if self.cardinalities is None:
            raise ValueError(Errors.DS216.format(what="a scorer that was never made"))
        for atom in atoms:
            size *= self.cardinalities.get(atom.column, MAX_TABLE_BYTES)
        return size

    cdef int _add_table(self, list atoms, list templates, score_t* rows) except -1:
        """Fill a table of zeros by going through all values of its atoms."""
        cdef TableC table
        cdef size_t size = 1
        cdef size_t row
        cdef int i, t, n_positions
        cdef int[MAX_ATOMS] positions
        cdef size_t[MAX_ATOMS] cardinalities
        cdef size_t[MAX_ATOMS] values
        cdef uint64_t state
        cdef vector[feat_t] keys
        cdef LimitC limit
        table.n_atoms = len(atoms)
        for i, atom in enumerate(atoms):
            table.atoms[i] = self.program.bind(atom)
            cardinalities[i] = self.cardinalities[atom.column]
            table.strides[i] = size
            size *= cardinalities[i]
            limit.n_values = cardinalities[i]
            if table.atoms[i].place >= 0:
                limit.column = table.atoms[i].column
                self.lexical_limits.push_back(limit)
            else:
                limit.column = self.program.dynamic.index(atom.column)
                self.dynamic_limits.push_back(limit)
        keys.resize(size)
        for t in templates:
            spec = self.program.templates.templates[t]
            n_positions = len(spec.atoms)
            for i in range(n_positions):
                positions[i] = atoms.index(spec.atoms[i])
            memset(values, 0, sizeof(values))
            for row in range(size):
                state = self.program.c.templates[t].seed
                for i in range(n_positions):
                    state = mix(state, values[positions[i]])
                keys[row] = finish(state)
                # The values of the next row: count on, from the first atom.
                i = 0
                while i < table.n_atoms:
                    values[i] += 1
                    if values[i] < cardinalities[i]:
                        break
                    values[i] = 0
                    i += 1
            add_features(
                &self.c.packed, keys.data(), size, self.c.n_labels, rows, self.c.width
            )
        table.rows = rows
        self._tables.push_back(table)
        return 0

    cdef bint is_made(self) noexcept nogil:
        return self.c.stages != NULL

    cdef size_t count_row_bytes(self) noexcept nogil:
        if self.c.members == NULL:
            return self.c.member_offset
        return self.c.member_offset + self._fused_templates.size() * sizeof(MemberC)

    cdef void fill(self, LexemeRecC* record, char* rows) noexcept nogil:
        """Fill the fused rows of a lexeme: for each the sum of its templates."""
        cdef LexemeRecC* places[MAX_PLACES]
        cdef score_t* row
        cdef feat_t[MAX_TEMPLATES] keys
        cdef ContextC context
        cdef const FusedC* fused
        cdef int i, j
        for i in range(MAX_PLACES):
            places[i] = record
        context.lexemes = places
        context.dynamic = NULL
        memset(rows, 0, self.count_row_bytes())
        for i in range(self.c.n_fused):
            fused = &self.c.fused[i]
            for j in range(fused.first, fused.end):
                keys[j - fused.first] = get_key(
                    &self.c.program.templates[self.c.fused_templates[j]], &context
                )
            row = <score_t*>rows + <size_t>fused.row * self.c.width
            add_features(
                &self.c.packed, keys, fused.end - fused.first, self.c.n_labels, row, 0
            )
            if self.c.members != NULL:
                fill_members(
                    &self.c,
                    keys,
                    fused.end - fused.first,
                    row,
                    <MemberC*>(rows + self.c.member_offset) + fused.first,
                )

    def find_pairs(self, vector[feat_t] keys) -> list:
        cdef vector[MemberC] members
        cdef score_t[::1] view
        cdef size_t i, j
        if self.c.members == NULL:
            return []
        found = []
        for j in range(keys.size()):
            members.push_back(self._members.look_up(keys[j]))
            for i in range(j):
                if may_pair(members[i], members[j]):
                    row = np.zeros(self.c.width, dtype="int16")
                    view = row
                    add_pair(&self.c, pair_key(keys[i], keys[j]), &view[0])
                    if row.any():
                        found.append((i, j, row))
        return found


cdef inline void add_pair(
    const CachedScorerC* scorer, feat_t key, score_t* scores
) noexcept nogil:
    add_some_weights(&scorer.packed, key, 0, scorer.n_labels, scores)


cdef void fill_members(
    const CachedScorerC* scorer, const feat_t* keys, int n, score_t* row, MemberC* members
) noexcept nogil:
    """Keep those of a lexeme's features that are members of pairs, and add the pairs that
    are complete to its row."""
    cdef MemberC member
    cdef int i, j, n_members = 0
    for j in range(n):
        member = scorer.members.look_up(keys[j])
        if member.partners == 0:
            continue
        for i in range(n_members):
            if may_pair(members[i], member):
                add_pair(scorer, pair_key(members[i].key, member.key), row)
        members[n_members] = member
        n_members += 1


cdef struct MeetingC:
    # The members of pairs that a decision has met, and keys of pairs to be looked up.
    int n
    MemberC[MAX_TEMPLATES] members
    int n_keys
    feat_t[MAX_KEYS + MAX_TEMPLATES] keys


cdef void add_keys(
    const CachedScorerC* scorer, MeetingC* meeting, score_t* scores
) noexcept nogil:
    cdef int i
    for i in range(meeting.n_keys):
        prefetch_weights(&scorer.packed, meeting.keys[i])
    for i in range(meeting.n_keys):
        add_pair(scorer, meeting.keys[i], scores)
    meeting.n_keys = 0


cdef inline void introduce(
    const CachedScorerC* scorer, MeetingC* meeting, int n_met, MemberC member,
    score_t* scores,
) noexcept nogil:
    """Look for pairs of a member and those that were met before it."""
    cdef feat_t* keys = meeting.keys + meeting.n_keys
    cdef int n = meet(meeting.members, n_met, member, keys)
    cdef int i
    for i in range(n):
        prefetch_index(&scorer.packed, keys[i])
    meeting.n_keys += n
    if meeting.n_keys >= MAX_KEYS:
        add_keys(scorer, meeting, scores)


cdef void add_pairs(
    const CachedScorerC* scorer, int s, const ContextC* context, score_t* scores
) noexcept nogil:
    """Add the pairs of a stage: those whose later member is in it. The rows of lexemes have
    the pairs of their own members."""
    cdef MeetingC meeting
    cdef MemberC member
    cdef const MemberC* members
    cdef const FusedC* fused
    cdef int i, j, stage, n_met
    meeting.n = 0
    meeting.n_keys = 0
    for stage in range(s + 1):
        for i in range(scorer.stages[stage].first_fused, scorer.stages[stage].end_fused):
            fused = &scorer.fused[i]
            members = <const MemberC*>(
                <const char*>context.lexemes[fused.place].rows + scorer.member_offset
            ) + fused.first
            n_met = meeting.n
            for j in range(fused.end - fused.first):
                if members[j].partners == 0:
                    break
                if stage == s:
                    introduce(scorer, &meeting, n_met, members[j], scores)
                meeting.members[meeting.n] = members[j]
                meeting.n += 1
        for i in range(scorer.stages[stage].first_loose, scorer.stages[stage].end_loose):
            member = scorer.members.look_up(
                get_key(&scorer.program.templates[scorer.loose[i]], context)
            )
            if member.partners == 0:
                continue
            if stage == s:
                introduce(scorer, &meeting, meeting.n, member, scores)
            meeting.members[meeting.n] = member
            meeting.n += 1
    add_keys(scorer, &meeting, scores)


cdef inline int get_fused(
    const CachedScorerC* scorer, int s, const ContextC* context, const score_t** rows
) noexcept nogil:
    cdef const FusedC* fused
    cdef int i, n_rows = 0
    for i in range(scorer.stages[s].first_fused, scorer.stages[s].end_fused):
        fused = &scorer.fused[i]
        rows[n_rows] = (
            context.lexemes[fused.place].rows + <size_t>fused.row * scorer.width
        )
        n_rows += 1
    return n_rows


cdef void sum_fused(
    const CachedScorerC* scorer, int stage, const ContextC* context, score_t* sums
) noexcept nogil:
    """Add up the fused rows of a stage; the first stage adds the bias. They do not depend
    on earlier decisions, so that many sums can be computed ahead."""
    cdef const score_t* rows[MAX_ROWS]
    cdef int n_rows = get_fused(scorer, stage, context, rows)
    if stage == 0 and scorer.bias != NULL:
        rows[n_rows] = scorer.bias
        n_rows += 1
    scorer.kernels.sum_rows(sums, rows, n_rows, scorer.width)


cdef void add_stage(
    const CachedScorerC* scorer, int s, const ContextC* context, score_t* scores
) noexcept nogil:
    """Add what the templates of a stage say to the scores. What sum_fused gives for the
    first stage is in them already."""
    cdef const score_t* rows[MAX_ROWS]
    cdef feat_t[MAX_TEMPLATES] keys
    cdef const StageC* stage = &scorer.stages[s]
    cdef const TableC* table
    cdef int i, j
    cdef int n_rows = 1
    cdef int n_keys = 0
    cdef size_t row
    for i in range(stage.first_hashed, stage.end_hashed):
        keys[n_keys] = get_key(&scorer.program.templates[scorer.hashed[i]], context)
        prefetch_index(&scorer.packed, keys[n_keys])
        n_keys += 1
    rows[0] = scores
    if s:
        n_rows += get_fused(scorer, s, context, &rows[1])
    for i in range(stage.first_table, stage.end_table):
        table = &scorer.tables[i]
        row = get_atom(&table.atoms[0], context)
        for j in range(1, table.n_atoms):
            row += get_atom(&table.atoms[j], context) * table.strides[j]
        rows[n_rows] = table.rows + row * scorer.width
        n_rows += 1
    if n_rows > 1:
        scorer.kernels.sum_rows(scores, rows, n_rows, scorer.width)
    for i in range(n_keys):
        prefetch_weights(&scorer.packed, keys[i])
    for i in range(n_keys):
        add_weights(&scorer.packed, keys[i], scores)
    if scorer.members != NULL:
        add_pairs(scorer, s, context, scores)


cdef DecisionC decide(
    const CachedScorerC* scorer,
    const ContextC* context,
    const score_t* limits,
    const int* margins,
    score_t* scores,
    int first_stage=0,
    int end_stage=MAX_STAGES,
) noexcept nogil:
    """Make one decision.

    context: What the decision sees.
    limits: [width] The largest score_t for a valid label, else the smallest.
    margins: [n_stages - 1] The lead that ends each stage but the last.
    scores: [width] What sum_fused gave for the first stage; holds the scores that
        decided afterwards.
    first_stage: Where to go on; what is before is in the scores.
    end_stage: Where to stop for now, if the decision is not made by then.
    """
    cdef Verdict verdict
    cdef DecisionC decision
    cdef int s = first_stage
    cdef int margin
    while True:
        add_stage(scorer, s, context, scores)
        margin = get_margin(margins, s, scorer.n_stages)
        verdict = scorer.kernels.judge(scores, limits, scorer.width, max(margin, 1))
        decision.is_made = margin == 0 or verdict.close <= 1
        if decision.is_made:
            break
        s += 1
        if s == end_stage:
            # A verdict with a margin has the first of the close labels, not the best.
            verdict = scorer.kernels.judge(scores, limits, scorer.width, 1)
            break
    decision.label = verdict.label
    decision.stage = s
    return decision


def kernel_names() -> list:
    """The forms of the kernels that this machine can run, the plain one first."""
    return [
        get_kernels(kind).name.decode("ascii")
        for kind in range(N_KERNELS)
        if get_kernels(kind) != NULL
    ]


def run_kernels(int kind, const score_t[:, ::1] rows not None, limits, int margin):
    """What the kernels of a kind make of some rows, for tests.

    RETURNS (tuple): The sums of the rows; the first valid label above the best minus
        the margin; and whether there is none (0), only this (1) or more (2).
    """
    cdef const Kernels* kernels = get_kernels(kind)
    cdef const score_t[::1] limit_view = limits
    cdef vector[const score_t*] pointers
    cdef int width = rows.shape[1]
    cdef int i
    if (
        kernels == NULL
        or limit_view.shape[0] != width
        or width == 0
        or width % LANES
        or margin < 1
    ):
        raise ValueError(kind, width, margin)
    sums = np.zeros(width, dtype="int16")
    cdef score_t[::1] view = sums
    for i in range(rows.shape[0]):
        pointers.push_back(&rows[i, 0])
    kernels.sum_rows(&view[0], pointers.data(), rows.shape[0], width)
    verdict = kernels.judge(&view[0], &limit_view[0], width, margin)
    return sums.tolist(), verdict.label, min(verdict.close, 2)
