// A cascade that has been learned, made for use. It finds what levels find one after the
// other in lattices (see lattice.hpp), for less.
//
// - The first level adds up arrays, and makes no lattice.
// - The labels that it leaves are nodes. Later levels look at the features of a position
//   only if it has several.
// - What is the same for all paths is not added up.
// - Memory is used again, sequence after sequence.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "packed_lattice.hpp"
#include "packed_weights.hpp"

namespace dynsel {

// What one thread needs.
struct PackedScratch {
    std::vector<int32_t> sums;    // of the first level, by position and label
    std::vector<int32_t> bests;   // the best of these
    std::vector<float> to, from;  // sums up to each label and from it on, by position
    std::vector<uint32_t> rows;   // of features, position after position
    std::vector<size_t> row_ends;
    std::vector<int32_t> others;  // of other levels, by level and label
    std::vector<uint32_t> node_starts;  // the first node of each position, and the end
    std::vector<uint16_t> labels;       // by node
    std::vector<int64_t> carried;       // by node: what the first level says
    std::vector<int32_t> unary;         // by node and level
    std::vector<int32_t> paired;        // by label before and label
    std::vector<int32_t> pair_slots;    // by label before
    PackedLattice lattice, next;
    std::vector<int64_t> forward, backward;  // by state
    std::vector<uint32_t> before;            // by state: the best edge into it
    std::vector<uint32_t> sources;           // by state: that edge's state
    std::vector<uint8_t> kept;               // by edge
    std::vector<uint32_t> new_states;        // by edge
    std::vector<uint32_t> path;              // edges, by position
    int64_t best = 0;
};

class PackedCascade {
  public:
    PackedWeights weights;
    int first_order = 1;
    bool by_state = false;

    // Labels a sequence.
    //
    // alphas: Of all levels but the last; or minus infinity.
    // leads: By how much the best path with another label is worse, by position; or null.
    // counts: The number of n-grams that each level looked at is added to these.
    void decode(const Positions& positions, int length, const double* alphas,
                PackedScratch& at, int32_t* labels, double* leads, int64_t* counts) const {
        const int n_levels = weights.n_levels;
        add_features(positions, length, at);
        if (first_order == 1) counts[0] += find_bests(positions, length, at);
        if (first_order == 1 && n_levels == 1)
            return choose(positions, length, at, labels, leads);
        for (int level = make_lattice(positions, length, alphas, at, counts);; ++level) {
            score(positions, length, level, at);
            counts[level] += at.lattice.n_edges;
            if (level + 1 == n_levels) break;
            go_forward(length, at);
            go_backward(length, at);
            keep(length, alphas[level], at);
            expand(length, at);
        }
        go_forward(length, at);
        trace(length, at);
        for (int t = 0; t < length; ++t)
            labels[t] = at.labels[at.lattice.edges[at.path[t]].node];
        if (leads != nullptr) {
            go_backward(length, at);
            find_leads(length, labels, at, leads);
        }
    }

  private:
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::min() / 2;
    static constexpr int AHEAD = 12;

    static int64_t scale(int64_t sum, int shift) {
        const int64_t most = static_cast<int64_t>(MAX_SCORE * SCORE_UNIT);
        return std::max(-most, std::min(most, sum * (int64_t{1} << shift)));
    }

    // Makes the first lattice. RETURNS: The level that is to score it.
    int make_lattice(const Positions& positions, int length, const double* alphas,
                     PackedScratch& at, int64_t* counts) const {
        const int first = first_order == 1;
        // A level of all pairs needs no lattice either, if it filters labels.
        const bool is_dense = first_order == 2 && by_state && weights.n_levels > 1 &&
                              !weights.pairs && positions.allowed == nullptr &&
                              !weights.next.empty() && !std::isinf(alphas[0]);
        if (first)
            find_nodes(positions, length, find_limit(alphas[0], at), at);
        else if (is_dense)
            counts[0] += filter_pairs(length, alphas[0], at);
        else
            find_nodes(positions, length, -1, at);
        add_others(length, first, at);
        pair_nodes(length, at);
        if (is_dense) score(positions, length, 0, at);
        while (at.lattice.order < first_order + is_dense) {
            at.kept.assign(at.lattice.n_edges, 1);
            expand(length, at);
        }
        return first || is_dense;
    }

    // Filters labels by all pairs of labels. RETURNS: The number of pairs.
    //
    // Sums are floats, of whole numbers that are taken beside the best one. They are exact
    // up to 2^24, which is a thousand of the largest weights.
    size_t filter_pairs(int length, double alpha, PackedScratch& at) const {
        const size_t k = weights.n_labels, n = static_cast<size_t>(length) * k;
        const float never = -std::numeric_limits<float>::infinity();
        at.to.assign(n, never);
        at.from.assign(n, never);
        for (int t = 0; t < length; ++t) {
            float* now = at.to.data() + t * k;
            if (t == 0) raise(now, weights.next.data() + k * k, 0, k);
            for (size_t a = 0; t && a < k; ++a)
                raise(now, weights.next.data() + a * k, (now - k)[a], k);
            for (size_t b = 0; b < k; ++b) now[b] += unary(t, b, length, at);
            subtract_best(now, k);
        }
        std::fill(at.from.end() - k, at.from.end(), 0.0f);
        for (int t = length - 1; t-- > 0;) {
            float* now = at.from.data() + t * k;
            for (size_t b = 0; b < k; ++b)
                raise(now, weights.last.data() + b * k,
                      (now + k)[b] + unary(t + 1, b, length, at), k);
            subtract_best(now, k);
        }
        double total = 0;
        for (int t = 0; t < length; ++t) {
            float* now = at.to.data() + t * k;
            for (size_t b = 0; b < k; ++b) now[b] += at.from[t * k + b];
            subtract_best(now, k);
            for (size_t b = 0; b < k; ++b) total -= now[b];
        }
        const double limit = (1 - alpha) * (total / static_cast<double>(n));
        at.node_starts.assign(1, 0);
        at.labels.clear();
        for (int t = 0; t < length; ++t) {
            for (size_t b = 0; b < k; ++b)
                if (-at.to[t * k + b] <= limit)
                    at.labels.push_back(static_cast<uint16_t>(b));
            at.node_starts.push_back(static_cast<uint32_t>(at.labels.size()));
        }
        at.carried.assign(at.labels.size(), 0);
        return k + (n - k) * k;
    }

    float unary(int t, size_t label, int length, const PackedScratch& at) const {
        const float sum =
            static_cast<float>(at.sums[static_cast<size_t>(t) * weights.n_labels + label]);
        return t + 1 == length ? sum + weights.ends[label] : sum;
    }

    static void subtract_best(float* values, size_t n) {
        const float best = *std::max_element(values, values + n);
        for (size_t i = 0; i < n; ++i) values[i] -= best;
    }

    static bool is_allowed(const Positions& positions, int t, int label, int n_labels) {
        return positions.allowed == nullptr ||
               positions.allowed[static_cast<size_t>(t) * n_labels + label];
    }

    // Finds the rows of all features, and adds up those of the first level.
    void add_features(const Positions& positions, int length, PackedScratch& at) const {
        const int k = weights.n_labels;
        const int64_t first = positions.offsets[0], end = positions.offsets[length];
        const uint32_t* keys = positions.keys;
        at.sums.resize(static_cast<size_t>(length) * k);
        at.rows.clear();
        at.rows.reserve(static_cast<size_t>(end - first));
        at.row_ends.resize(length + 1);
        at.row_ends[0] = 0;
        int64_t i = first;
        for (int64_t j = first; j < std::min(end, first + AHEAD); ++j)
            weights.prefetch(keys[j]);
        for (int t = 0; t < length; ++t) {
            for (; i < positions.offsets[t + 1]; ++i) {
                if (i + AHEAD < end) weights.prefetch(keys[i + AHEAD]);
                const uint32_t row = weights.find(keys[i]);
                if (row == NO_ROW) continue;
                weights.prefetch_row(row);
                at.rows.push_back(row);
            }
            at.row_ends[t + 1] = at.rows.size();
            // The rows of the last position have had time to come.
            if (t) add_rows(t - 1, at);
        }
        if (length) add_rows(length - 1, at);
    }

    void add_rows(int t, PackedScratch& at) const {
        int32_t* sums = at.sums.data() + static_cast<size_t>(t) * weights.n_labels;
        std::copy_n(weights.bias(0), weights.n_labels, sums);
        for (size_t r = at.row_ends[t]; r < at.row_ends[t + 1]; ++r)
            weights.add_first(at.rows[r], sums);
    }

    // RETURNS: The number of labels of all positions.
    size_t find_bests(const Positions& positions, int length, PackedScratch& at) const {
        const int k = weights.n_labels;
        at.bests.resize(length);
        if (positions.allowed == nullptr) {
            for (int t = 0; t < length; ++t) {
                const int32_t* sums = at.sums.data() + static_cast<size_t>(t) * k;
                int32_t best = sums[0];
                for (int c = 1; c < k; ++c) best = sums[c] > best ? sums[c] : best;
                at.bests[t] = best;
            }
            return static_cast<size_t>(length) * k;
        }
        size_t n = 0;
        for (int t = 0; t < length; ++t) {
            int32_t* sums = at.sums.data() + static_cast<size_t>(t) * k;
            int32_t best = std::numeric_limits<int32_t>::min();
            for (int c = 0; c < k; ++c)
                if (is_allowed(positions, t, c, k)) {
                    best = std::max(best, sums[c]);
                    ++n;
                } else {
                    sums[c] = FORBIDDEN;
                }
            at.bests[t] = best;
        }
        return n;
    }

    static constexpr int32_t FORBIDDEN = std::numeric_limits<int32_t>::min();

    // The largest difference to the best that is kept at the first level; -1 for all.
    int64_t find_limit(double alpha, const PackedScratch& at) const {
        if (std::isinf(alpha)) return -1;
        const int k = weights.n_labels;
        double total = 0;
        size_t n = 0;
        const int32_t* sums = at.sums.data();
        for (int32_t best : at.bests) {
            int64_t gaps = 0;
            for (int c = 0; c < k; ++c) {
                gaps += sums[c] == FORBIDDEN ? 0 : int64_t{best} - sums[c];
                n += sums[c] != FORBIDDEN;
            }
            total += static_cast<double>(gaps);
            sums += k;
        }
        return static_cast<int64_t>((1 - alpha) * (total / static_cast<double>(n)));
    }

    // The labels that the first level leaves, or all that are allowed.
    void find_nodes(const Positions& positions, int length, int64_t limit,
                    PackedScratch& at) const {
        const int k = weights.n_labels;
        const int shift = weights.shift(0);
        at.node_starts.clear();
        at.node_starts.push_back(0);
        at.labels.clear();
        at.carried.clear();
        for (int t = 0; t < length; ++t) {
            const int32_t* sums = at.sums.data() + static_cast<size_t>(t) * k;
            const size_t old = at.labels.size();
            at.labels.resize(old + k);
            uint16_t* found = at.labels.data() + old;
            size_t n = 0;
            if (limit < 0) {
                for (int c = 0; c < k; ++c) {
                    found[n] = static_cast<uint16_t>(c);
                    n += is_allowed(positions, t, c, k);
                }
            } else {
                const int64_t least =
                    std::max(int64_t{at.bests[t]} - limit, int64_t{FORBIDDEN} + 1);
                const int32_t bound = static_cast<int32_t>(least);
                for (int c = 0; c < k; ++c) {
                    found[n] = static_cast<uint16_t>(c);
                    n += sums[c] >= bound;
                }
            }
            at.labels.resize(old + n);
            for (size_t i = old; i < old + n; ++i)
                at.carried.push_back(first_order == 1 ? scale(sums[at.labels[i]], shift)
                                                      : 0);
            at.node_starts.push_back(static_cast<uint32_t>(old + n));
        }
        if (at.labels.size() >= 0xFFFFFFFE) throw std::bad_alloc();
    }

    // What later levels say about nodes by the features of their positions. Where there is
    // just one node, it would be the same for all paths.
    void add_others(int length, int first, PackedScratch& at) const {
        const int k = weights.n_labels, n_levels = weights.n_levels;
        const int n_others = n_levels - first;
        at.unary.resize(at.labels.size() * n_levels);
        at.others.resize(static_cast<size_t>(n_others) * k);
        for (int t = 0; t < length; ++t) {
            const uint32_t start = at.node_starts[t], end = at.node_starts[t + 1];
            if (end - start == 1) {
                std::fill_n(at.unary.begin() + size_t{start} * n_levels, n_levels, 0);
                continue;
            }
            std::copy_n(weights.bias(first), at.others.size(), at.others.begin());
            for (size_t r = at.row_ends[t]; r < at.row_ends[t + 1]; ++r)
                weights.add_levels(at.rows[r], first, n_levels, at.others.data());
            for (uint32_t node = start; node < end; ++node)
                for (int level = first; level < n_levels; ++level)
                    at.unary[size_t{node} * n_levels + level] =
                        at.others[static_cast<size_t>(level - first) * k + at.labels[node]];
        }
    }

    // The lattice of pairs of nodes.
    void pair_nodes(int length, PackedScratch& at) const {
        PackedLattice& lattice = at.lattice;
        lattice.start(2);
        lattice.add_state(weights.n_labels);
        lattice.columns.push_back(1);
        add_pairs(0, at);
        for (int t = 0; t < length; ++t) {
            for (uint32_t node = at.node_starts[t]; node < at.node_starts[t + 1]; ++node) {
                lattice.add_state(at.labels[node]);
                if (t + 1 < length) add_pairs(t + 1, at);
            }
            lattice.columns.push_back(static_cast<uint32_t>(lattice.grams.size()));
        }
        lattice.outs.push_back(static_cast<uint32_t>(lattice.n_edges));
    }

    void add_pairs(int t, PackedScratch& at) const {
        const uint32_t start = at.node_starts[t], n = at.node_starts[t + 1] - start;
        PackedEdge* edges = at.lattice.make_room(n);
        for (uint32_t i = 0; i < n; ++i)
            edges[i] = {start + i + 1, start + i, at.carried[start + i]};
        at.lattice.n_edges += n;
    }

    // Adds what a level says about each edge. A position with one edge needs none.
    void score(const Positions& positions, int length, int level, PackedScratch& at) const {
        PackedLattice& lattice = at.lattice;
        const int n_levels = weights.n_levels, shift = weights.shift(level);
        ContextRows::Row rows[MAX_ORDER];
        for (int t = 0; t < length; ++t) {
            const size_t first_state = lattice.columns[t], end_state = lattice.columns[t + 1];
            if (lattice.outs[end_state] - lattice.outs[first_state] == 1) {
                lattice.edges[lattice.outs[first_state]].score = 0;
                continue;
            }
            if (weights.pairs) {
                at.paired.clear();
                at.pair_slots.assign(weights.n_labels + 1, -1);
            }
            for (size_t s = first_state; s < end_state; ++s) {
                const uint32_t first = lattice.outs[s], end = lattice.outs[s + 1];
                if (first == end) continue;
                const uint64_t gram = lattice.grams[s];
                int n_rows = 0;
                for (int n = 1; n < lattice.order; ++n)
                    n_rows += weights.context(level, n).find(gram, rows[n_rows]);
                const int32_t* paired =
                    weights.pairs ? pair(positions, t, level,
                                         static_cast<int>(gram & LABEL_MASK), at)
                                  : nullptr;
                for (uint32_t e = first; e < end; ++e) {
                    PackedEdge& edge = lattice.edges[e];
                    const int label = at.labels[edge.node];
                    int64_t sum = at.unary[size_t{edge.node} * n_levels + level];
                    for (int r = 0; r < n_rows; ++r) sum += rows[r].get(label);
                    if (paired != nullptr) sum += paired[label];
                    if (t + 1 == length) sum += score_end(level, gram << LABEL_BITS | label);
                    edge.score += scale(sum, shift);
                }
            }
        }
    }

    int32_t score_end(int level, uint64_t gram) const {
        ContextRows::Row row;
        int32_t sum = 0;
        const int order = first_order + level;
        for (int n = 1; n < order; ++n)
            if (weights.context(level, n).find(gram, row)) sum += row.get(weights.n_labels);
        return sum;
    }

    // What features say about each label after another.
    const int32_t* pair(const Positions& positions, int t, int level, int label,
                        PackedScratch& at) const {
        const size_t k = weights.n_labels;
        if (at.pair_slots[label] < 0) {
            at.pair_slots[label] = static_cast<int32_t>(at.paired.size() / k);
            at.paired.resize(at.paired.size() + k, 0);
            int32_t* sums = at.paired.data() + at.pair_slots[label] * k;
            for (int64_t i = positions.offsets[t]; i < positions.offsets[t + 1]; ++i) {
                const uint32_t row = weights.find_pair(positions.keys[i], label);
                if (row != NO_ROW)
                    weights.add_levels(row, level, level + 1, sums);
            }
        }
        return at.paired.data() + at.pair_slots[label] * k;
    }

    void go_forward(int length, PackedScratch& at) const {
        const PackedLattice& lattice = at.lattice;
        const size_t n_states = lattice.n_states();
        at.forward.assign(n_states, NEVER);
        at.before.resize(n_states);
        at.sources.resize(n_states);
        at.forward[0] = 0;
        for (size_t s = 0; s < lattice.columns[length]; ++s) {
            const int64_t start = at.forward[s];
            for (uint32_t e = lattice.outs[s]; e < lattice.outs[s + 1]; ++e) {
                const PackedEdge& edge = lattice.edges[e];
                const int64_t score = start + edge.score;
                if (score > at.forward[edge.target]) {
                    at.forward[edge.target] = score;
                    at.before[edge.target] = e;
                    at.sources[edge.target] = static_cast<uint32_t>(s);
                }
            }
        }
    }

    void go_backward(int length, PackedScratch& at) const {
        const PackedLattice& lattice = at.lattice;
        at.backward.assign(lattice.n_states(), 0);
        for (size_t s = lattice.columns[length]; s-- > 0;) {
            int64_t best = NEVER;
            for (uint32_t e = lattice.outs[s]; e < lattice.outs[s + 1]; ++e)
                best = std::max(best, lattice.edges[e].score +
                                          at.backward[lattice.edges[e].target]);
            at.backward[s] = best;
        }
        at.best = at.backward[0];
    }

    // Which edges survive, by the mean of all gaps: see Search.
    void keep(int length, double alpha, PackedScratch& at) const {
        const PackedLattice& lattice = at.lattice;
        at.kept.resize(lattice.n_edges);
        if (std::isinf(alpha)) {
            std::fill(at.kept.begin(), at.kept.end(), uint8_t{1});
            return;
        }
        double total = 0;
        if (by_state) {
            for (size_t s = 1; s < lattice.n_states(); ++s)
                total += static_cast<double>(at.best - at.forward[s] - at.backward[s]);
        } else {
            for (size_t s = 0; s < lattice.columns[length]; ++s)
                for (uint32_t e = lattice.outs[s]; e < lattice.outs[s + 1]; ++e)
                    total += static_cast<double>(edge_gap(s, lattice.edges[e], at));
        }
        const double n = static_cast<double>(by_state ? lattice.n_states() - 1
                                                      : lattice.n_edges);
        const double limit = (1 - alpha) * (total / n);
        const int64_t most = static_cast<int64_t>(limit);
        for (size_t s = 0; s < lattice.columns[length]; ++s) {
            const int64_t own = at.best - at.forward[s] - at.backward[s];
            for (uint32_t e = lattice.outs[s]; e < lattice.outs[s + 1]; ++e) {
                const PackedEdge& edge = lattice.edges[e];
                const int64_t gap =
                    by_state ? std::max(own, at.best - at.forward[edge.target] -
                                                 at.backward[edge.target])
                             : edge_gap(s, edge, at);
                at.kept[e] = gap <= most;
            }
        }
    }

    static int64_t edge_gap(size_t s, const PackedEdge& edge, const PackedScratch& at) {
        return at.best - (at.forward[s] + edge.score + at.backward[edge.target]);
    }

    // The lattice of the next order, of two kept edges one after the other.
    void expand(int length, PackedScratch& at) const {
        const PackedLattice& old = at.lattice;
        PackedLattice& next = at.next;
        const uint64_t mask = (uint64_t{1} << (LABEL_BITS * old.order)) - 1;
        const uint64_t start = old.grams[0] << LABEL_BITS | weights.n_labels;
        at.new_states.resize(old.n_edges);
        uint32_t n = 0;
        for (size_t e = 0; e < old.n_edges; ++e) at.new_states[e] = n += at.kept[e];
        next.start(old.order + 1);
        next.outs.reserve(size_t{n} + 2);
        next.grams.reserve(size_t{n} + 1);
        next.add_state(start & mask);
        next.columns.push_back(1);
        join(0, at);
        for (int t = 0; t < length; ++t) {
            for (size_t s = old.columns[t]; s < old.columns[t + 1]; ++s)
                for (uint32_t e = old.outs[s]; e < old.outs[s + 1]; ++e) {
                    if (!at.kept[e]) continue;
                    next.add_state((old.grams[s] << LABEL_BITS |
                                    at.labels[old.edges[e].node]) & mask);
                    if (t + 1 < length) join(old.edges[e].target, at);
                }
            next.columns.push_back(static_cast<uint32_t>(next.grams.size()));
        }
        next.outs.push_back(static_cast<uint32_t>(next.n_edges));
        std::swap(at.lattice, at.next);
    }

    // Adds the edges out of a new state: one for each kept edge out of an old one.
    void join(uint32_t old_state, PackedScratch& at) const {
        const PackedLattice& old = at.lattice;
        const uint32_t first = old.outs[old_state], end = old.outs[old_state + 1];
        PackedEdge* edges = at.next.make_room(end - first);
        size_t n = 0;
        for (uint32_t e = first; e < end; ++e) {
            edges[n] = {at.new_states[e], old.edges[e].node, old.edges[e].score};
            n += at.kept[e];
        }
        at.next.n_edges += n;
    }

    void trace(int length, PackedScratch& at) const {
        at.path.resize(length);
        const auto last = at.forward.begin() + at.lattice.columns[length];
        size_t state = std::max_element(last, at.forward.end()) - at.forward.begin();
        for (int t = length; t-- > 0;) {
            at.path[t] = at.before[state];
            state = at.sources[state];
        }
    }

    // For each position the smallest gap of a path with another label than the best path.
    void find_leads(int length, const int32_t* labels, const PackedScratch& at,
                    double* leads) const {
        const PackedLattice& lattice = at.lattice;
        for (int t = 0; t < length; ++t) {
            int64_t lead = std::numeric_limits<int64_t>::max();
            for (size_t s = lattice.columns[t]; s < lattice.columns[t + 1]; ++s)
                for (uint32_t e = lattice.outs[s]; e < lattice.outs[s + 1]; ++e)
                    if (at.labels[lattice.edges[e].node] != labels[t])
                        lead = std::min(lead, edge_gap(s, lattice.edges[e], at));
            leads[t] = to_lead(lead);
        }
    }

    static double to_lead(int64_t gap) {
        return gap == std::numeric_limits<int64_t>::max()
                   ? std::numeric_limits<double>::infinity()
                   : static_cast<double>(gap) / SCORE_UNIT;
    }

    // Labels by the first level alone.
    void choose(const Positions& positions, int length, const PackedScratch& at,
                int32_t* labels, double* leads) const {
        const int k = weights.n_labels;
        for (int t = 0; t < length; ++t) {
            const int32_t* sums = at.sums.data() + static_cast<size_t>(t) * k;
            labels[t] = static_cast<int32_t>(std::find(sums, sums + k, at.bests[t]) - sums);
            if (leads == nullptr) continue;
            int64_t lead = std::numeric_limits<int64_t>::max();
            for (int c = 0; c < k; ++c)
                if (c != labels[t] && is_allowed(positions, t, c, k))
                    lead = std::min(lead, scale(sums[labels[t]], weights.shift(0)) -
                                              scale(sums[c], weights.shift(0)));
            leads[t] = to_lead(lead);
        }
    }
};

}  // namespace dynsel
