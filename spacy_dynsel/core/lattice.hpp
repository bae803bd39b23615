// The label sequences that are still possible, and exact search among them.
//
// A lattice of order n has an edge for each possible n-gram of labels: edges of position t
// lead from column t of states to column t + 1. A state is an (n-1)-gram of labels. The
// first column has one state; grams that reach beyond the start are filled up with the
// label `n_labels`.
//
// Scores are integers, so that sums are exact: two ways to add up the same path agree.
// Memory is 24 bytes an edge and 4 bytes a state.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace dynsel {

constexpr int LABEL_BITS = 12;
constexpr int MAX_ORDER = 5;
constexpr uint64_t LABEL_MASK = (uint64_t{1} << LABEL_BITS) - 1;

struct Edge {
    uint32_t source;
    uint32_t target;
    uint64_t gram;  // its labels, the last one in the lowest bits
    int64_t score;  // what earlier levels say about it

    int label() const { return static_cast<int>(gram & LABEL_MASK); }
};

struct Lattice {
    int order = 1;
    int length = 0;
    std::vector<uint32_t> columns;  // the first state of each column, and the end
    std::vector<uint32_t> outs;     // the first edge out of each state, and the end
    std::vector<Edge> edges;        // sorted by their sources

    size_t n_states() const { return columns.back(); }
    size_t edges_from(int t) const { return outs[columns[t]]; }

    // All sequences of a length. Order 1: a state is an empty gram.
    //
    // allowed: For each position and each label whether it may be there; null for all.
    void start(int n, int n_labels, const uint8_t* allowed) {
        if (static_cast<uint64_t>(n) * n_labels >= MAX_EDGES) throw std::bad_alloc();
        order = 1;
        length = n;
        columns.clear();
        outs.clear();
        edges.clear();
        columns.reserve(n + 2);
        outs.reserve(n + 2);
        edges.reserve(static_cast<size_t>(n) * n_labels);
        for (uint32_t t = 0; t < static_cast<uint32_t>(n); ++t) {
            columns.push_back(t);
            outs.push_back(static_cast<uint32_t>(edges.size()));
            for (int label = 0; label < n_labels; ++label)
                if (allowed == nullptr || allowed[static_cast<size_t>(t) * n_labels + label])
                    edges.push_back({t, t + 1, static_cast<uint64_t>(label), 0});
        }
        columns.insert(columns.end(), {static_cast<uint32_t>(n), static_cast<uint32_t>(n) + 1});
        outs.insert(outs.end(), 2, static_cast<uint32_t>(edges.size()));
    }

    // The lattice of the next order, of two kept edges one after the other.
    void expand(const std::vector<uint8_t>& kept, const std::vector<int64_t>& scores,
                int n_labels, Lattice& next) const {
        std::vector<uint32_t> n_out(n_states(), 0);
        for (size_t e = 0; e < edges.size(); ++e) n_out[edges[e].source] += kept[e];
        uint64_t n_edges = n_out[0];
        uint32_t n_kept = 0;
        std::vector<uint32_t> state(edges.size());
        for (size_t e = 0; e < edges.size(); ++e) {
            if (!kept[e]) continue;
            state[e] = ++n_kept;
            n_edges += n_out[edges[e].target];
        }
        if (n_edges >= MAX_EDGES) throw std::bad_alloc();
        next = Lattice();
        next.order = order + 1;
        next.length = length;
        next.columns.reserve(length + 2);
        next.outs.reserve(n_kept + 2);
        next.edges.reserve(n_edges);
        next.columns.insert(next.columns.end(), {0, 1});
        next.outs.push_back(0);
        next.join(*this, 0, static_cast<uint64_t>(n_labels), 0, kept, scores, state);
        for (int t = 0; t < length; ++t) {
            for (size_t e = edges_from(t); e < edges_from(t + 1); ++e) {
                if (!kept[e]) continue;
                next.outs.push_back(static_cast<uint32_t>(next.edges.size()));
                next.join(*this, state[e], edges[e].gram >> (LABEL_BITS * (order - 1)),
                          edges[e].target, kept, scores, state);
            }
            next.columns.push_back(static_cast<uint32_t>(next.outs.size()));
        }
        next.outs.push_back(static_cast<uint32_t>(next.edges.size()));
    }

  private:
    static constexpr uint64_t MAX_EDGES = 0xFFFFFFFF;

    // Adds the edges out of a new state: one for each kept edge out of an old one.
    void join(const Lattice& old, uint32_t source, uint64_t first, uint32_t old_state,
              const std::vector<uint8_t>& kept, const std::vector<int64_t>& scores,
              const std::vector<uint32_t>& state) {
        for (size_t e = old.outs[old_state]; e < old.outs[old_state + 1]; ++e)
            if (kept[e])
                edges.push_back({source, state[e],
                                 old.edges[e].gram | first << (LABEL_BITS * old.order),
                                 scores[e]});
    }
};

// Whether an n-gram that ends at a position agrees with the labels that are known; those
// below zero are not.
inline bool agrees(uint64_t gram, int n, int t, const int32_t* labels) {
    for (int i = 0; i < n && i <= t; ++i, gram >>= LABEL_BITS)
        if (labels[t - i] >= 0 && static_cast<int32_t>(gram & LABEL_MASK) != labels[t - i])
            return false;
    return true;
}

// Max-marginals, by one pass in each direction. All cliques are compared with the best
// path by their gap: by how much the best path through the clique is worse.
class Search {
  public:
    std::vector<int64_t> scores;  // by edge
    std::vector<uint8_t> kept;    // by edge
    std::vector<double> counts;   // by edge
    std::vector<uint32_t> path;   // edges, by position
    int64_t best = 0;             // the score of the best path

    void run(const Lattice& lattice) {
        const size_t n_states = lattice.n_states();
        const std::vector<Edge>& edges = lattice.edges;
        go_forward(lattice, nullptr);
        backward.assign(n_states, NEVER);
        after.resize(n_states);
        for (size_t s = lattice.columns[lattice.length]; s < n_states; ++s) backward[s] = 0;
        for (size_t e = edges.size(); e-- > 0;) {
            // Ties go to the first edge.
            const int64_t score = scores[e] + backward[edges[e].target];
            if (score >= backward[edges[e].source]) {
                backward[edges[e].source] = score;
                after[edges[e].source] = static_cast<uint32_t>(e);
            }
        }
        best = backward[0];
    }

    // The best path, after run.
    void find_path(const Lattice& lattice) { trace(lattice); }

    // The best path alone, without the pass backwards.
    void decode(const Lattice& lattice) {
        go_forward(lattice, nullptr);
        trace(lattice);
    }

    // The best path that agrees with the known labels, before run. RETURNS: False if
    // there is none.
    bool find_true_path(const Lattice& lattice, const int32_t* labels) {
        go_forward(lattice, labels);
        return trace(lattice);
    }

    int64_t edge_gap(const Lattice& lattice, size_t e) const {
        const Edge& edge = lattice.edges[e];
        return best - (forward[edge.source] + scores[e] + backward[edge.target]);
    }

    int64_t state_gap(size_t s) const { return best - (forward[s] + backward[s]); }

    // How many cliques there are. At order 1, where states are empty, they are edges.
    size_t n_cliques(const Lattice& lattice, bool by_state) const {
        return by_state && lattice.order > 1 ? lattice.n_states() - 1
                                             : lattice.edges.size();
    }

    double mean_gap(const Lattice& lattice, bool by_state) const {
        double total = 0;
        if (by_state && lattice.order > 1)
            for (size_t s = 1; s < lattice.n_states(); ++s)
                total += static_cast<double>(state_gap(s));
        else
            for (size_t e = 0; e < lattice.edges.size(); ++e)
                total += static_cast<double>(edge_gap(lattice, e));
        const size_t n = n_cliques(lattice, by_state);
        return n ? total / static_cast<double>(n) : 0;
    }

    // The largest gap that is kept: equation 6 of Weiss and Taskar (2010), seen from the
    // best path. With an alpha of minus infinity it is everything.
    double find_limit(const Lattice& lattice, bool by_state, double alpha) const {
        if (std::isinf(alpha)) return std::numeric_limits<double>::infinity();
        return (1 - alpha) * mean_gap(lattice, by_state);
    }

    // Keeps the cliques whose gap is small enough. A path whose gap is small enough has
    // no other cliques, so that the best path is always kept, and nothing leads nowhere.
    void keep(const Lattice& lattice, bool by_state, double limit) {
        kept.resize(lattice.edges.size());
        for (size_t e = 0; e < kept.size(); ++e) {
            const Edge& edge = lattice.edges[e];
            const int64_t gap =
                by_state && lattice.order > 1
                    ? std::max(state_gap(edge.source), state_gap(edge.target))
                    : edge_gap(lattice, e);
            kept[e] = static_cast<double>(gap) <= limit;
        }
    }

    // How many cliques would be kept.
    size_t count_kept(const Lattice& lattice, bool by_state, double limit) const {
        size_t n = 0;
        if (by_state && lattice.order > 1)
            for (size_t s = 1; s < lattice.n_states(); ++s)
                n += static_cast<double>(state_gap(s)) <= limit;
        else
            for (size_t e = 0; e < lattice.edges.size(); ++e)
                n += static_cast<double>(edge_gap(lattice, e)) <= limit;
        return n;
    }

    // The probability of each edge, after run: the share of the paths through it in the
    // sum of all, where a path counts as the exponential of its score. Sums are taken
    // beside the best path to each state, so that none is too large.
    void find_marginals(const Lattice& lattice, double unit) {
        const std::vector<Edge>& edges = lattice.edges;
        to.assign(lattice.n_states(), 0);
        from.assign(lattice.n_states(), 0);
        counts.resize(edges.size());
        to[0] = 1;
        for (size_t e = 0; e < edges.size(); ++e) {
            const Edge& edge = edges[e];
            const int64_t below = forward[edge.source] + scores[e] - forward[edge.target];
            to[edge.target] += to[edge.source] * std::exp(static_cast<double>(below) / unit);
        }
        double total = 0;
        for (size_t s = lattice.columns[lattice.length]; s < lattice.n_states(); ++s) {
            from[s] = 1;
            total += to[s] * std::exp(static_cast<double>(forward[s] - best) / unit);
        }
        for (size_t e = edges.size(); e-- > 0;) {
            const Edge& edge = edges[e];
            const int64_t below = scores[e] + backward[edge.target] - backward[edge.source];
            from[edge.source] +=
                from[edge.target] * std::exp(static_cast<double>(below) / unit);
        }
        for (size_t e = 0; e < edges.size(); ++e)
            counts[e] = to[edges[e].source] * from[edges[e].target] / total *
                        std::exp(-static_cast<double>(edge_gap(lattice, e)) / unit);
    }

    // For each position the smallest gap of a clique that agrees with the known labels,
    // or infinity.
    void find_gaps(const Lattice& lattice, bool by_state, const int32_t* labels,
                   double* gaps) const {
        const bool states = by_state && lattice.order > 1;
        for (int t = 0; t < lattice.length; ++t) {
            gaps[t] = std::numeric_limits<double>::infinity();
            for (size_t e = lattice.edges_from(t); e < lattice.edges_from(t + 1); ++e) {
                const Edge& edge = lattice.edges[e];
                if (!agrees(edge.gram, lattice.order - states, t, labels)) continue;
                const int64_t gap = states ? state_gap(edge.target) : edge_gap(lattice, e);
                gaps[t] = std::min(gaps[t], static_cast<double>(gap));
            }
        }
    }

    // For each position the smallest gap of a path with another label than the best path.
    void find_leads(const Lattice& lattice, double* leads) const {
        for (int t = 0; t < lattice.length; ++t) {
            const int label = lattice.edges[path[t]].label();
            leads[t] = std::numeric_limits<double>::infinity();
            for (size_t e = lattice.edges_from(t); e < lattice.edges_from(t + 1); ++e)
                if (lattice.edges[e].label() != label)
                    leads[t] =
                        std::min(leads[t], static_cast<double>(edge_gap(lattice, e)));
        }
    }

    // How many of the cliques' best paths pass through each edge, times a factor.
    void count_paths(const Lattice& lattice, bool by_state, double factor) {
        const std::vector<Edge>& edges = lattice.edges;
        const bool states = by_state && lattice.order > 1;
        to.assign(lattice.n_states(), states);
        from.assign(lattice.n_states(), states);
        counts.assign(edges.size(), states ? 0 : factor);
        to[0] = 0;
        from[0] = 0;
        if (!states)
            for (const Edge& edge : edges) {
                ++to[edge.source];
                ++from[edge.target];
            }
        for (size_t s = lattice.n_states(); s-- > 1;) {
            counts[before[s]] += factor * to[s];
            to[edges[before[s]].source] += to[s];
        }
        for (size_t s = 0; s < lattice.columns[lattice.length]; ++s) {
            counts[after[s]] += factor * from[s];
            from[edges[after[s]].target] += from[s];
        }
    }

  private:
    // Far below all sums, and no sum with it overflows.
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::min() / 2;

    std::vector<int64_t> forward, backward;  // by state
    std::vector<uint32_t> before, after;     // by state: the best edge into and out of it
    std::vector<double> to, from;            // by state: paths of cliques behind, before it

    bool trace(const Lattice& lattice) {
        path.resize(lattice.length);
        const auto last = forward.begin() + lattice.columns[lattice.length];
        const auto end = std::max_element(last, forward.end());
        if (*end == NEVER) return false;
        size_t state = end - forward.begin();
        for (int t = lattice.length; t-- > 0;) {
            path[t] = before[state];
            state = lattice.edges[path[t]].source;
        }
        return true;
    }

    void go_forward(const Lattice& lattice, const int32_t* labels) {
        forward.assign(lattice.n_states(), NEVER);
        before.resize(lattice.n_states());
        forward[0] = 0;
        for (int t = 0; t < lattice.length; ++t)
            for (size_t e = lattice.edges_from(t); e < lattice.edges_from(t + 1); ++e) {
                const Edge& edge = lattice.edges[e];
                if (labels != nullptr && labels[t] >= 0 && edge.label() != labels[t]) continue;
                if (forward[edge.source] == NEVER) continue;
                const int64_t score = forward[edge.source] + scores[e];
                if (score > forward[edge.target]) {
                    forward[edge.target] = score;
                    before[edge.target] = static_cast<uint32_t>(e);
                }
            }
    }
};

}  // namespace dynsel
