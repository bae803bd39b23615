# cython: infer_types=True
"""Linear models over recorded decisions.

The decisions are arrays: `ids` has for each decision and template the number of its
feature, or -1 if that is too rare; `costs` has for each decision and label whether it is
correct, wrong or not valid. The weights of a template are a dense array of features
by labels, with rows that are padded to a multiple of LANES.

All functions release the GIL, so that threads can train models at the same time.
"""
from libc.math cimport INFINITY, expf, logf, sqrt
from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector

import numpy as np

from ..base.errors import Errors

from ..core.adagrad cimport take_step
from ..core.learner cimport CORRECT, INVALID, find_best
from ..core.random cimport next_random, start_random
from ..core.typedefs cimport uint8_t

cdef extern from "kernels.hpp" nogil:
    void DYNSEL_PREFETCH(const void* address)

cdef enum:
    LANES = 8
    # How many bytes of a row to prefetch.
    AHEAD_BYTES = 256

# From this share of probability on, a decision teaches nothing more.
cdef float SURE = 0.999


cdef struct BlockC:
    # The weights of one template, and its place among the columns of `ids`.
    int column
    int n_features
    float* values            # [n_features][width]
    float* squares           # [n_features][width], the sums of squared gradients


def padded(int n_labels) -> int:
    """The width of a row."""
    return (n_labels + LANES - 1) // LANES * LANES


def new_weights(int n_features, int n_labels):
    """The weights of a template, all zero."""
    return np.zeros((max(1, n_features), padded(n_labels)), dtype="float32")


cdef inline void add_row(float* scores, const float* row, int width) noexcept nogil:
    cdef int i
    for i in range(width):
        scores[i] += row[i]


cdef inline Py_ssize_t find_row(
    const BlockC* block, const int32_t* ids, int width
) noexcept nogil:
    """Where a block has the weights for a decision's feature, or -1."""
    cdef int feature = ids[block.column]
    if not 0 <= feature < block.n_features:
        return -1
    return <Py_ssize_t>feature * width


cdef inline void add_block(
    const BlockC* block, const int32_t* ids, int width, float* scores
) noexcept nogil:
    cdef Py_ssize_t row = find_row(block, ids, width)
    if row >= 0:
        add_row(scores, block.values + row, width)


cdef inline void sum_rows(
    const BlockC* blocks, int n_blocks, const int32_t* ids, int width, float* scores
) noexcept nogil:
    cdef int i
    for i in range(width):
        scores[i] = 0
    for i in range(n_blocks):
        add_block(&blocks[i], ids, width, scores)


cdef inline void prefetch(
    const BlockC* blocks, int n_blocks, const int32_t* ids, int width
) noexcept nogil:
    cdef int i, byte
    cdef int n_bytes = min(<int>(width * sizeof(float)), <int>AHEAD_BYTES)
    for i in range(n_blocks):
        row = find_row(&blocks[i], ids, width)
        if row >= 0:
            for byte in range(0, n_bytes, 64):
                DYNSEL_PREFETCH(<const char*>(blocks[i].values + row) + byte)


cdef inline bint is_right(const float* scores, int good, int bad) noexcept nogil:
    if good < 0 or bad < 0:
        return good >= 0
    return scores[good] > scores[bad] or (scores[good] == scores[bad] and good < bad)


cdef float find_gradient(
    const float* scores, const uint8_t* costs, int n_labels, float* gradient
) noexcept nogil:
    """The gradient of the log loss.

    RETURNS: The probability that the decision is correct.
    """
    cdef float best = -INFINITY
    cdef float total = 0
    cdef float correct = 0
    cdef int label
    for label in range(n_labels):
        if costs[label] != INVALID and scores[label] > best:
            best = scores[label]
    for label in range(n_labels):
        gradient[label] = 0
        if costs[label] != INVALID:
            gradient[label] = expf(scores[label] - best)
            total += gradient[label]
            if costs[label] == CORRECT:
                correct += gradient[label]
    # Without any probability left, all correct labels get the same gradient.
    for label in range(n_labels):
        if costs[label] == CORRECT:
            gradient[label] = gradient[label] / total - gradient[label] / max(correct, <float>1e-30)
        else:
            gradient[label] /= total
    return correct / total


cdef inline void move(
    const BlockC* block, Py_ssize_t place, float g, float eta, float delta
) noexcept nogil:
    take_step(&block.values[place], &block.squares[place], g, eta, delta)


cdef class _Blocks:
    """Pointers to the weights of some templates."""
    cdef vector[BlockC] c
    cdef int width
    cdef list arrays

    def __init__(self, list columns, list values, list squares=None):
        cdef BlockC block
        cdef float[:, ::1] view
        self.arrays = [list(values), squares]
        self.width = 0
        if len(values) != len(columns) or self.c.size():
            raise ValueError(Errors.DS216.format(what="templates and their weights"))
        for i in range(len(columns)):
            block.column = columns[i]
            view = values[i]
            if block.column < 0 or view.shape[0] == 0 or view.shape[1] == 0 or (
                i and view.shape[1] != self.width
            ):
                raise ValueError(Errors.DS216.format(what="templates and their weights"))
            block.values = &view[0, 0]
            block.n_features = view.shape[0]
            self.width = view.shape[1]
            block.squares = NULL
            if squares is not None:
                view = squares[i]
                if view.shape[0] != block.n_features or view.shape[1] != self.width:
                    raise ValueError(Errors.DS216.format(what="weights and squares"))
                block.squares = &view[0, 0]
            self.c.push_back(block)

    cdef int check(
        self, const int32_t[:, ::1] ids, const uint8_t[:, ::1] costs
    ) except -1:
        """Raise an error unless decisions have features and costs for all of them."""
        cdef size_t i
        check_decisions(ids.shape[0], costs, self.width if self.c.size() else 1 << 30)
        for i in range(self.c.size()):
            if self.c[i].column >= ids.shape[1]:
                raise ValueError(Errors.DS216.format(what="decisions and templates"))
        return 0


cdef int check_decisions(
    Py_ssize_t n, const uint8_t[:, ::1] costs, Py_ssize_t width
) except -1:
    """Raise an error unless there are costs for each decision, and room for a score of
    each label."""
    if costs.shape[0] != n or costs.shape[1] == 0 or costs.shape[1] > width:
        raise ValueError(Errors.DS216.format(what="decisions and their costs"))
    return 0


cdef int check_scores(
    const int32_t[:, ::1] ids, int column, const float[:, ::1] scores, int width
) except -1:
    """Raise an error unless there is a template, and room for the scores of decisions."""
    if (
        not 0 <= column < ids.shape[1]
        or scores.shape[0] != ids.shape[0]
        or scores.shape[1] != width
    ):
        raise ValueError(Errors.DS216.format(what="decisions and their scores"))
    return 0


def fit(
    const int32_t[:, ::1] ids not None,
    const uint8_t[:, ::1] costs not None,
    list columns,
    list sizes,
    *,
    int epochs,
    float eta,
    float delta,
    float margin=0,
    bint log_loss=False,
    bint all_prefixes=False,
    float drop=0,
    uint64_t seed=0,
    list fixed=None,
) -> list:
    """Train some templates by AdaGrad. The decisions are seen in the order in which
    they stand, once an epoch.

    columns (list[int]): The templates.
    sizes (list[int]): The number of features of each of all templates.
    margin (float): Of the hinge loss.
    log_loss (bool): Whether to minimize the log loss in place of the hinge loss.
    all_prefixes (bool): Whether to add up the hinge losses of all prefixes.
    drop (float): The probability with which a template is left out.
    fixed (list): Weights of the first templates, which stay as they are; for models
        of one sum, without drop.
    RETURNS (list): The weights of each template.
    """
    cdef int n_labels = costs.shape[1]
    cdef Py_ssize_t n_fixed = 0 if fixed is None else len(fixed)
    values = (fixed or []) + [
        new_weights(sizes[column], n_labels) for column in columns[n_fixed:]
    ]
    squares = [np.zeros_like(array) for array in values]
    cdef _Blocks blocks = _Blocks(columns, values, squares)
    blocks.check(ids, costs)
    cdef int width = blocks.width
    cdef int n_blocks = <int>blocks.c.size()
    cdef vector[BlockC] active
    cdef vector[float] scores
    cdef vector[float] gradient
    cdef vector[int] goods
    cdef vector[int] bads
    cdef uint64_t state = start_random(seed)
    cdef uint64_t limit = <uint64_t>(drop * <double>(1 << 24))
    cdef Py_ssize_t n = ids.shape[0]
    cdef Py_ssize_t d
    cdef Py_ssize_t row
    cdef int _epoch, i, good, bad, label
    cdef int n_active = n_blocks
    cdef int first = <int>n_fixed
    cdef BlockC* used
    scores.resize(width)
    gradient.resize(width, <float>0)
    goods.resize(n_blocks)
    bads.resize(n_blocks)
    active.resize(n_blocks)
    used = blocks.c.data()
    with nogil:
        for _epoch in range(epochs):
            for d in range(n):
                if d + 1 < n:
                    prefetch(blocks.c.data(), n_blocks, &ids[d + 1, 0], width)
                if limit:
                    n_active = 0
                    for i in range(n_blocks):
                        if next_random(&state) >= limit:
                            active[n_active] = blocks.c[i]
                            n_active += 1
                    used = active.data()
                if all_prefixes:
                    fit_prefixes(
                        used, n_active, &ids[d, 0], &costs[d, 0], n_labels, width,
                        margin, eta, delta, scores.data(), gradient.data(),
                        goods.data(), bads.data(),
                    )
                    continue
                sum_rows(used, n_active, &ids[d, 0], width, scores.data())
                if log_loss:
                    if find_gradient(
                        scores.data(), &costs[d, 0], n_labels, gradient.data()
                    ) > SURE:
                        continue
                    for i in range(first, n_active):
                        row = find_row(&used[i], &ids[d, 0], width)
                        if row >= 0:
                            for label in range(width):
                                move(&used[i], row + label, gradient[label], eta, delta)
                    continue
                find_best(scores.data(), &costs[d, 0], n_labels, &good, &bad)
                if good < 0 or bad < 0 or scores[good] - scores[bad] >= margin:
                    continue
                for i in range(first, n_active):
                    row = find_row(&used[i], &ids[d, 0], width)
                    if row >= 0:
                        move(&used[i], row + good, -1, eta, delta)
                        move(&used[i], row + bad, 1, eta, delta)
    return values


cdef void fit_prefixes(
    BlockC* blocks,
    int n_blocks,
    const int32_t* ids,
    const uint8_t* costs,
    int n_labels,
    int width,
    float margin,
    float eta,
    float delta,
    float* scores,
    float* gradient,
    int* goods,
    int* bads,
) noexcept nogil:
    """A step on the summed hinge losses of all prefixes."""
    cdef Py_ssize_t row
    cdef int i, label
    for label in range(width):
        scores[label] = 0
        gradient[label] = 0
    for i in range(n_blocks):
        add_block(&blocks[i], ids, width, scores)
        find_best(scores, costs, n_labels, &goods[i], &bads[i])
        if goods[i] < 0 or bads[i] < 0 or scores[goods[i]] - scores[bads[i]] >= margin:
            goods[i] = -1
    for i in range(n_blocks - 1, -1, -1):
        if goods[i] >= 0:
            gradient[goods[i]] -= 1
            gradient[bads[i]] += 1
        row = find_row(&blocks[i], ids, width)
        if row >= 0:
            for label in range(n_labels):
                if gradient[label] != 0:
                    move(&blocks[i], row + label, gradient[label], eta, delta)


def count_right(
    const int32_t[:, ::1] ids not None,
    const uint8_t[:, ::1] costs not None,
    list columns,
    list values,
) -> int:
    """How many decisions some templates make correctly."""
    cdef _Blocks blocks = _Blocks(columns, values)
    cdef int n_blocks = <int>blocks.c.size()
    cdef int width = blocks.width
    cdef int good, bad
    cdef vector[float] scores
    cdef Py_ssize_t d
    cdef Py_ssize_t n_right = 0
    cdef Py_ssize_t n = ids.shape[0]
    blocks.check(ids, costs)
    scores.resize(max(width, <int>costs.shape[1]))
    with nogil:
        for d in range(n):
            if d + 1 < n:
                prefetch(blocks.c.data(), n_blocks, &ids[d + 1, 0], width)
            sum_rows(blocks.c.data(), n_blocks, &ids[d, 0], width, scores.data())
            find_best(scores.data(), &costs[d, 0], costs.shape[1], &good, &bad)
            n_right += is_right(scores.data(), good, bad)
    return n_right


def add_scores(
    const int32_t[:, ::1] ids not None,
    int column,
    const float[:, ::1] values not None,
    float[:, ::1] scores not None,
) -> None:
    """Add the weights of a template to the scores of decisions."""
    cdef int width = values.shape[1]
    cdef Py_ssize_t d
    check_scores(ids, column, scores, width)
    with nogil:
        for d in range(ids.shape[0]):
            if 0 <= ids[d, column] < values.shape[0]:
                add_row(&scores[d, 0], &values[ids[d, column], 0], width)


def log_loss_with(
    const int32_t[:, ::1] ids not None,
    const uint8_t[:, ::1] costs not None,
    int column,
    const float[:, ::1] values not None,
    const float[:, ::1] scores not None,
    float scale=1,
) -> float:
    """The mean log loss of decisions when a template is added to their scores.

    scale (float): What the sums are multiplied with.
    """
    cdef int width = values.shape[1]
    cdef int n_labels = costs.shape[1]
    cdef Py_ssize_t d
    cdef double loss = 0
    cdef float p
    cdef int i
    cdef vector[float] sums
    cdef vector[float] gradient
    check_decisions(ids.shape[0], costs, width)
    check_scores(ids, column, scores, width)
    sums.resize(width)
    gradient.resize(width)
    with nogil:
        for d in range(ids.shape[0]):
            for i in range(width):
                sums[i] = scores[d, i]
            if 0 <= ids[d, column] < values.shape[0]:
                add_row(sums.data(), &values[ids[d, column], 0], width)
            for i in range(width):
                sums[i] *= scale
            p = find_gradient(sums.data(), &costs[d, 0], n_labels, gradient.data())
            loss -= logf(max(p, <float>1e-30))
    return loss / max(1, ids.shape[0])


def find_residuals(
    const float[:, ::1] scores not None, const uint8_t[:, ::1] costs not None
):
    """The gradient of the log loss with respect to the scores of decisions."""
    check_decisions(scores.shape[0], costs, scores.shape[1])
    residuals = np.zeros((scores.shape[0], scores.shape[1]), dtype="float32")
    cdef float[:, ::1] view = residuals
    cdef Py_ssize_t d
    with nogil:
        for d in range(scores.shape[0]):
            find_gradient(&scores[d, 0], &costs[d, 0], costs.shape[1], &view[d, 0])
    return residuals


def correlation(
    const int32_t[:, ::1] ids not None,
    int column,
    int size,
    const float[:, ::1] residuals not None,
    double penalty,
) -> float:
    """How much of the residuals r a template with one-hot features X can explain:
    tr(r' X (X'X + penalty I)^-1 X' r). X'X has the counts of the features in its
    diagonal and nothing beside it."""
    sums = np.zeros((max(1, size), residuals.shape[1]), dtype="float32")
    counts = np.zeros(max(1, size), dtype="float64")
    cdef float[:, ::1] sum_view = sums
    cdef double[::1] count_view = counts
    cdef int width = residuals.shape[1]
    cdef Py_ssize_t d, feature
    cdef int i
    cdef double square, total = 0
    if not 0 <= column < ids.shape[1] or residuals.shape[0] != ids.shape[0]:
        raise ValueError(Errors.DS216.format(what="decisions and residuals"))
    with nogil:
        for d in range(ids.shape[0]):
            feature = ids[d, column]
            if 0 <= feature < size:
                add_row(&sum_view[feature, 0], &residuals[d, 0], width)
                count_view[feature] += 1
        for feature in range(size):
            square = 0
            for i in range(width):
                square += <double>sum_view[feature, i] * sum_view[feature, i]
            total += square / (count_view[feature] + penalty)
    return total


def fit_groups(
    const int32_t[:, ::1] ids not None,
    const uint8_t[:, ::1] costs not None,
    list sizes,
    const double[::1] penalties not None,
    *,
    double gamma,
    int epochs,
):
    """Minimize the log loss with a penalty on the l2 norm of each template's weights,
    by regularized dual averaging: with the sum G of t gradients, the weights of a
    template are -(1 - t penalty / |G|)+ G / (gamma sqrt(t)), all zero where the mean
    gradient is not larger than the penalty.

    penalties (array): The penalty of each template.
    gamma (float): The strength of the proximal term.
    RETURNS (tuple): The norm of each template's weights, and that of its mean gradient.
    """
    cdef int n_templates = ids.shape[1]
    cdef int n_labels = costs.shape[1]
    sums = [new_weights(size, n_labels) for size in sizes]
    cdef _Blocks blocks = _Blocks(list(range(n_templates)), sums)
    cdef int width = blocks.width
    cdef vector[double] squares
    cdef vector[float] scales
    cdef vector[float] scores
    cdef vector[float] gradient
    cdef Py_ssize_t d, start, t = 0
    cdef Py_ssize_t n = ids.shape[0]
    cdef int _epoch, i, label
    cdef double norm, change
    cdef float* row
    blocks.check(ids, costs)
    if len(sizes) != n_templates or penalties.shape[0] != n_templates:
        raise ValueError(Errors.DS216.format(what="templates and penalties"))
    squares.resize(n_templates)
    scales.resize(n_templates)
    scores.resize(width)
    gradient.resize(width, <float>0)
    with nogil:
        for _epoch in range(epochs):
            for d in range(n):
                if d + 1 < n:
                    prefetch(blocks.c.data(), n_templates, &ids[d + 1, 0], width)
                for label in range(width):
                    scores[label] = 0
                for i in range(n_templates):
                    norm = sqrt(squares[i])
                    scales[i] = 0
                    if norm > t * penalties[i]:
                        scales[i] = <float>(
                            -(1 - t * penalties[i] / norm) / (gamma * sqrt(<double>t))
                        )
                    start = find_row(&blocks.c[i], &ids[d, 0], width)
                    if scales[i] != 0 and start >= 0:
                        row = blocks.c[i].values + start
                        for label in range(width):
                            scores[label] += scales[i] * row[label]
                t += 1
                if find_gradient(
                    scores.data(), &costs[d, 0], n_labels, gradient.data()
                ) > SURE:
                    continue
                for i in range(n_templates):
                    start = find_row(&blocks.c[i], &ids[d, 0], width)
                    if start >= 0:
                        row = blocks.c[i].values + start
                        change = 0
                        for label in range(width):
                            change += gradient[label] * (2 * row[label] + gradient[label])
                            row[label] += gradient[label]
                        squares[i] += change
    norms = np.zeros(n_templates)
    gradients = np.zeros(n_templates)
    for i in range(n_templates):
        norm = sqrt(max(0.0, squares[i]))
        gradients[i] = norm / max(1, t)
        if norm > t * penalties[i]:
            norms[i] = (norm - t * penalties[i]) / (gamma * sqrt(<double>t))
    return norms, gradients


def find_leads(
    const int32_t[:, ::1] ids not None,
    const uint8_t[:, ::1] costs not None,
    list columns,
    list values,
) -> tuple:
    """How each prefix of some templates decides.

    RETURNS (tuple): For each decision and prefix the lead of its best label over the
        second, and whether that label is correct.
    """
    cdef _Blocks blocks = _Blocks(columns, values)
    cdef int n_blocks = <int>blocks.c.size()
    cdef int width = blocks.width
    leads = np.zeros((ids.shape[0], n_blocks), dtype="float32")
    right = np.zeros((ids.shape[0], n_blocks), dtype="uint8")
    cdef float[:, ::1] lead_view = leads
    cdef uint8_t[:, ::1] right_view = right
    cdef vector[float] scores
    cdef float second
    cdef Py_ssize_t d
    cdef int i, label, good, bad, best
    blocks.check(ids, costs)
    scores.resize(max(width, <int>costs.shape[1]))
    with nogil:
        for d in range(ids.shape[0]):
            for label in range(width):
                scores[label] = 0
            for i in range(n_blocks):
                add_block(&blocks.c[i], &ids[d, 0], width, scores.data())
                find_best(scores.data(), &costs[d, 0], costs.shape[1], &good, &bad)
                right_view[d, i] = is_right(scores.data(), good, bad)
                best = good if right_view[d, i] else bad
                second = -INFINITY
                for label in range(<int>costs.shape[1]):
                    if label != best and costs[d, label] != INVALID:
                        second = max(second, scores[label])
                lead_view[d, i] = scores[best] - second if best >= 0 else 0
    return leads, right.view(bool)
