// The weights of one level of a cascade, while they are learned and when they are used.
//
// A weight belongs to a label after a context: the labels before it, a feature of its
// position, or a feature and the label before it. The key of a context leads to a row with
// a weight for each label, and for the end of the sequence. Keys of contexts are exact:
// just features are hashed, by who gives them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <vector>

#include "hashing.hpp"
#include "lattice.hpp"

namespace dynsel {

// One is 2^16 in the integers that paths are added up of.
constexpr int SCORE_BITS = 16;
constexpr double SCORE_UNIT = 1 << SCORE_BITS;
// What one level says about an edge, at most: sums of five levels over 2^23 positions have
// room in 64 bits.
constexpr double MAX_SCORE = 1 << 20;

// Raises each value to that of another row plus a constant: what searches in dense tables
// spend their time with.
inline void raise(float* __restrict best, const float* __restrict row, float add, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const float sum = row[i] + add;
        best[i] = sum > best[i] ? sum : best[i];
    }
}

// Keys of rows. The labels of a context stand in at most 48 bits.
inline uint64_t bias_key() { return 0; }
inline uint64_t context_key(uint64_t gram, int n) {
    return uint64_t(n) << 60 | (gram & ((uint64_t{1} << (LABEL_BITS * n)) - 1));
}
inline uint64_t feature_key(uint32_t key) { return uint64_t{5} << 60 | key; }
inline uint64_t pair_key(uint32_t key, int label) {
    return uint64_t{6} << 60 | uint64_t(label) << 32 | key;
}

// Rows of floats by 64-bit keys.
class RowTable {
  public:
    size_t width = 0;
    std::vector<uint64_t> keys;  // by row
    std::vector<float> values;   // row after row
    std::vector<float> moments;  // for learning only: squares, or moves times their steps

    // The row of a key, or -1.
    int64_t find(uint64_t key) const {
        if (places.empty()) return -1;
        const size_t mask = places.size() - 1;
        for (size_t i = hash(key) & mask; places[i]; i = (i + 1) & mask)
            if (keys[places[i] - 1] == key) return places[i] - 1;
        return -1;
    }

    // The same, made if it is not there. Rows may move.
    size_t claim(uint64_t key) {
        const int64_t found = find(key);
        if (found >= 0) return found;
        if (keys.size() >= 0xFFFFFFFE) throw std::bad_alloc();
        if (places.size() < 2 * (keys.size() + 1)) grow();
        // Whatever runs out of memory leaves the table as it was.
        const size_t n = keys.size() + 1;
        make_room(keys, n);
        make_room(values, n * width);
        make_room(moments, n * width);
        values.resize(n * width);
        moments.resize(n * width);
        keys.push_back(key);
        place(keys.size());
        return keys.size() - 1;
    }

  private:
    std::vector<uint32_t> places;  // a row and one, or zero

    static size_t hash(uint64_t key) { return mix(0x243F6A8885A308D3u, key); }

    template <typename T>
    static void make_room(std::vector<T>& items, size_t n) {
        if (n > items.capacity()) items.reserve(std::max(n, 2 * items.capacity()));
    }

    void place(size_t row_and_one) {
        const size_t mask = places.size() - 1;
        size_t i = hash(keys[row_and_one - 1]) & mask;
        while (places[i]) i = (i + 1) & mask;
        places[i] = static_cast<uint32_t>(row_and_one);
    }

    void grow() {
        places = std::vector<uint32_t>(places.empty() ? 1024 : 2 * places.size(), 0);
        for (size_t row = 1; row <= keys.size(); ++row) place(row);
    }
};

// The features of the positions of one sequence.
struct Positions {
    const uint32_t* keys;
    const int64_t* offsets;  // of the first position, into the keys
    const uint8_t* allowed;  // by position and label, or null if all labels are
};

// What adding up and moving weights needs of memory; each thread has its own.
struct GramScratch {
    std::vector<float> single;            // scores of labels by the position alone
    std::vector<float> paired;            // the same, by label before
    std::vector<uint8_t> known;           // whether a label before was met at the position
    std::vector<float> sums;              // scores of labels after a state
    std::vector<double> gradient, after;  // by label
    std::vector<double> pair_gradient;
};

class GramWeights {
  public:
    RowTable table;
    int n_labels = 0;
    bool pairs = false;  // whether features are looked at together with two labels
    bool adagrad = false;
    float eta = 1;
    float delta = 0;
    uint64_t n_steps = 0;

    // What earlier levels and this one say about each edge.
    void score(const Lattice& lattice, const Positions& positions, GramScratch& at,
               std::vector<int64_t>& scores) const {
        scores.resize(lattice.edges.size());
        for (int t = 0; t < lattice.length; ++t) {
            const uint32_t* keys = positions.keys + positions.offsets[t];
            const size_t n_keys = positions.offsets[t + 1] - positions.offsets[t];
            at.single.assign(table.width, 0);
            add_position(keys, n_keys, at.single.data());
            if (pairs) at.known.assign(n_labels + 1, 0);
            for (size_t s = lattice.columns[t]; s < lattice.columns[t + 1]; ++s)
                score_state(lattice, s, t, keys, n_keys, at, scores);
        }
    }

    // Adds what the features of a position say about each label.
    void add_position(const uint32_t* keys, size_t n_keys, float* sums) const {
        add(bias_key(), sums);
        for (size_t i = 0; i < n_keys; ++i) add(feature_key(keys[i]), sums);
    }

    // Adds what a gram of n labels says about each label after it.
    void add_context(uint64_t gram, int n, float* sums) const {
        add(context_key(gram, n), sums);
    }

    // Moves the weights of each edge by its part.
    void move(const Lattice& lattice, const Positions& positions,
              GramScratch& at, const std::vector<double>& parts) {
        for (int t = 0; t < lattice.length; ++t) {
            const uint32_t* keys = positions.keys + positions.offsets[t];
            const size_t n_keys = positions.offsets[t + 1] - positions.offsets[t];
            at.gradient.assign(table.width, 0);
            at.pair_gradient.assign(pairs ? table.width * table.width : 0, 0);
            at.known.assign(n_labels + 1, 0);
            for (size_t s = lattice.columns[t]; s < lattice.columns[t + 1]; ++s)
                move_state(lattice, s, t, at, parts);
            move_row(bias_key(), at.gradient.data());
            for (size_t i = 0; i < n_keys; ++i)
                move_row(feature_key(keys[i]), at.gradient.data());
            if (!pairs || lattice.order < 2) continue;
            for (int label = 0; label <= n_labels; ++label)
                for (size_t i = 0; at.known[label] && i < n_keys; ++i)
                    move_row(pair_key(keys[i], label),
                             at.pair_gradient.data() + label * table.width);
        }
    }

    // Puts the mean of the weights after each step in their place.
    void average() {
        if (adagrad || n_steps == 0) return;
        for (size_t i = 0; i < table.values.size(); ++i)
            table.values[i] -= table.moments[i] / static_cast<float>(n_steps);
        std::fill(table.moments.begin(), table.moments.end(), 0.0f);
        n_steps = 0;
    }

    // Drops small weights and rounds the others to 15 bits, so that they take little room
    // and that all sums of them are exact, in any order. Doing it again changes nothing.
    void tidy(float least) {
        const float unit = std::ldexp(1.0f, find_exponent());
        for (float& value : table.values) {
            const float rounded = std::nearbyint(value / unit);
            value = std::fabs(value) < least
                        ? 0.0f
                        : unit * std::max(-MAX_STEPS, std::min(MAX_STEPS, rounded));
        }
    }

    // The unit to which weights are rounded, as a power of two.
    int find_exponent() const {
        float most = 0;
        for (float value : table.values) most = std::max(most, std::fabs(value));
        int exponent = 0;
        std::frexp(most, &exponent);
        return std::max(exponent - WEIGHT_BITS, -SCORE_BITS);
    }

  private:
    static constexpr int WEIGHT_BITS = 14;
    static constexpr float MAX_STEPS = (1 << WEIGHT_BITS) - 1;

    void add(uint64_t key, float* sums) const {
        const int64_t row = table.find(key);
        if (row < 0) return;
        const float* values = table.values.data() + row * table.width;
        for (size_t i = 0; i < table.width; ++i) sums[i] += values[i];
    }

    void score_state(const Lattice& lattice, size_t s, int t, const uint32_t* keys,
                     size_t n_keys, GramScratch& at,
                     std::vector<int64_t>& scores) const {
        const size_t first = lattice.outs[s], end = lattice.outs[s + 1];
        if (first == end) return;
        const uint64_t context = lattice.edges[first].gram >> LABEL_BITS;
        at.sums = at.single;
        for (int n = 1; n < lattice.order; ++n)
            add(context_key(context, n), at.sums.data());
        if (pairs && lattice.order > 1) {
            const int label = static_cast<int>(context & LABEL_MASK);
            at.paired.resize(table.width * table.width);
            float* row = at.paired.data() + label * table.width;
            if (!at.known[label]) {
                at.known[label] = 1;
                std::fill(row, row + table.width, 0.0f);
                for (size_t i = 0; i < n_keys; ++i) add(pair_key(keys[i], label), row);
            }
            for (size_t i = 0; i < table.width; ++i) at.sums[i] += row[i];
        }
        for (size_t e = first; e < end; ++e) {
            double total = at.sums[lattice.edges[e].label()];
            if (t + 1 == lattice.length)
                for (int n = 1; n < lattice.order; ++n) {
                    const int64_t row = table.find(context_key(lattice.edges[e].gram, n));
                    if (row >= 0) total += table.values[row * table.width + n_labels];
                }
            total = std::max(-MAX_SCORE, std::min(MAX_SCORE, total));
            scores[e] = lattice.edges[e].score + std::llrint(total * SCORE_UNIT);
        }
    }

    void move_state(const Lattice& lattice, size_t s, int t, GramScratch& at,
                    const std::vector<double>& parts) {
        const size_t first = lattice.outs[s], end = lattice.outs[s + 1];
        if (first == end) return;
        const uint64_t context = lattice.edges[first].gram >> LABEL_BITS;
        const int before = static_cast<int>(context & LABEL_MASK);
        const bool is_paired = pairs && lattice.order > 1;
        at.after.assign(table.width, 0);
        if (is_paired) at.known[before] = 1;
        for (size_t e = first; e < end; ++e) {
            const int label = lattice.edges[e].label();
            at.after[label] += parts[e];
            at.gradient[label] += parts[e];
            if (is_paired) at.pair_gradient[before * table.width + label] += parts[e];
            if (t + 1 == lattice.length && parts[e] != 0)
                for (int n = 1; n < lattice.order; ++n)
                    move_weight(table.claim(context_key(lattice.edges[e].gram, n)) *
                                        table.width + n_labels,
                                parts[e]);
        }
        for (int n = 1; n < lattice.order; ++n)
            move_row(context_key(context, n), at.after.data());
    }

    void move_row(uint64_t key, const double* parts) {
        size_t i = 0;
        while (i < table.width && parts[i] == 0) ++i;
        if (i == table.width) return;
        const size_t row = table.claim(key) * table.width;
        for (; i < table.width; ++i)
            if (parts[i] != 0) move_weight(row + i, parts[i]);
    }

    void move_weight(size_t i, double part) {
        float& value = table.values[i];
        float& moment = table.moments[i];
        if (adagrad) {
            moment += static_cast<float>(part * part);
            value += static_cast<float>(eta * part / (delta + std::sqrt(moment)));
        } else {
            value += static_cast<float>(eta * part);
            moment += static_cast<float>(eta * part * static_cast<double>(n_steps));
        }
    }
};

}  // namespace dynsel
