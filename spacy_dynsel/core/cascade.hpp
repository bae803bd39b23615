// How the levels of a cascade learn. Each scores the lattice that the one before it left;
// all but the last filter it.
#pragma once
#include <cstdint>
#include <vector>

#include "gram_weights.hpp"

namespace dynsel {

// What one thread needs.
struct CascadeScratch {
    Lattice lattice, next;
    Search search;
    GramScratch grams;
    std::vector<uint32_t> truth;
};

// A lattice of all paths.
inline void start_lattice(int first_order, int n_labels, int length, const uint8_t* allowed,
                          CascadeScratch& at) {
    at.lattice.start(length, n_labels, allowed);
    while (at.lattice.order < first_order) {
        at.search.kept.assign(at.lattice.edges.size(), 1);
        at.search.scores.assign(at.lattice.edges.size(), 0);
        at.lattice.expand(at.search.kept, at.search.scores, n_labels, at.next);
        std::swap(at.lattice, at.next);
    }
}

// Leaves out features of sequences at random.
struct Thinner {
    double rate = 0;
    uint64_t state = 0;
    std::vector<uint32_t> keys;
    std::vector<int64_t> offsets;

    Positions thin(const Positions& whole, int length) {
        if (rate <= 0) return whole;
        keys.clear();
        offsets.assign(1, 0);
        for (int t = 0; t < length; ++t) {
            for (int64_t i = whole.offsets[t]; i < whole.offsets[t + 1]; ++i) {
                state = mix(state, 0x9E3779B9u);
                if (static_cast<double>(state >> 11) >= rate * 9007199254740992.0)
                    keys.push_back(whole.keys[i]);
            }
            offsets.push_back(static_cast<int64_t>(keys.size()));
        }
        return {keys.data(), offsets.data()};
    }
};

// Scores a sequence to learn from and finds its true path; false if the lattice lacks it.
inline bool start_lesson(GramWeights& weights, const Lattice& lattice,
                         const Positions& positions, const int32_t* labels,
                         CascadeScratch& at) {
    ++weights.n_steps;
    weights.score(lattice, positions, at.grams, at.search.scores);
    if (!at.search.find_true_path(lattice, labels)) return false;
    at.truth = at.search.path;
    return true;
}

// Learns from one sequence to keep its labels: by equation 9 of Weiss and Taskar (2010).
inline double learn_filter(GramWeights& weights, const Lattice& lattice,
                           const Positions& positions, const int32_t* labels,
                           bool by_state, double alpha, double margin,
                           CascadeScratch& at) {
    Search& search = at.search;
    if (!start_lesson(weights, lattice, positions, labels, at)) return 0;
    int64_t score = 0;
    for (uint32_t e : at.truth) score += search.scores[e];
    search.run(lattice);
    const double limit = search.find_limit(lattice, by_state, alpha);
    const double loss = margin * lattice.length * SCORE_UNIT +
                        static_cast<double>(search.best - score) - limit;
    if (loss <= 0) return 0;
    search.find_path(lattice);
    const double n = static_cast<double>(search.n_cliques(lattice, by_state));
    search.count_paths(lattice, by_state, n ? (alpha - 1) / n : 0);
    for (uint32_t e : at.truth) search.counts[e] += 1;
    for (uint32_t e : search.path) search.counts[e] -= alpha;
    weights.move(lattice, positions, at.grams, search.counts);
    return loss / SCORE_UNIT;
}

// Learns from one sequence by its log-loss, as a conditional random field.
inline double learn_marginals(GramWeights& weights, const Lattice& lattice,
                              const Positions& positions, const int32_t* labels,
                              CascadeScratch& at) {
    Search& search = at.search;
    if (!start_lesson(weights, lattice, positions, labels, at)) return 0;
    search.run(lattice);
    search.find_marginals(lattice, SCORE_UNIT);
    double loss = 0;
    for (uint32_t e : at.truth) loss -= std::log(std::max(search.counts[e], 1e-300));
    for (double& count : search.counts) count = -count;
    for (uint32_t e : at.truth) search.counts[e] += 1;
    weights.move(lattice, positions, at.grams, search.counts);
    return loss;
}

// Learns from one sequence to label it: by the structured perceptron, or with a cost of
// each wrong label by the structured hinge loss.
inline double learn_labels(GramWeights& weights, const Lattice& lattice,
                           const Positions& positions, const int32_t* labels, double cost,
                           CascadeScratch& at) {
    Search& search = at.search;
    if (!start_lesson(weights, lattice, positions, labels, at)) return 0;
    const int64_t units = std::llrint(cost * SCORE_UNIT);
    if (units)
        for (int t = 0; t < lattice.length; ++t)
            for (size_t e = lattice.edges_from(t); e < lattice.edges_from(t + 1); ++e)
                if (lattice.edges[e].label() != lattice.edges[at.truth[t]].label())
                    search.scores[e] += units;
    search.decode(lattice);
    if (search.path == at.truth) return 0;
    int64_t loss = 0;
    search.counts.assign(lattice.edges.size(), 0);
    for (int t = 0; t < lattice.length; ++t) {
        loss += search.scores[search.path[t]] - search.scores[at.truth[t]];
        search.counts[at.truth[t]] += 1;
        search.counts[search.path[t]] -= 1;
    }
    weights.move(lattice, positions, at.grams, search.counts);
    return static_cast<double>(loss) / SCORE_UNIT;
}

}  // namespace dynsel
