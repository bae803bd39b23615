// Models over all sequences of labels at once, in dense tables: what a cascade is compared
// with. A trigram model decodes exactly without a filter; a chain of bigrams gives the
// probabilities of labels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gram_weights.hpp"

namespace dynsel {

// Weights of features with a label, of pairs and of triples of labels. As a label before,
// `n_labels` is what is beyond the start; as the label itself, it is the end. Averaged
// while it learns.
//
// Memory is 8 bytes for each triple of labels.
class TrigramModel {
  public:
    int n_labels = 0;

    void init(int n) {
        n_labels = n;
        width = static_cast<size_t>(n) + 1;
        features.width = width;
        pairs.assign(width * width);
        triples.assign(width * width * width);
    }

    // What the search needs of memory; each thread has its own.
    struct Scratch {
        std::vector<float> emissions;  // by position and label
        std::vector<float> forward;    // by position and the last two labels
        std::vector<int32_t> path;
    };

    // The best labels. A pair of labels is a state; sums are kept beside the best one.
    //
    // gold: If given, each label but these has a cost.
    void decode(const Positions& positions, int length, const int32_t* gold, float cost,
                Scratch& at, int32_t* labels) const {
        if (length == 0) return;
        const size_t k = n_labels, n_states = width * width;
        const float never = -std::numeric_limits<float>::infinity();
        at.emissions.assign(length * width, 0);
        at.forward.resize(length * n_states);
        for (int t = 0; t < length; ++t) {
            float* emission = at.emissions.data() + t * width;
            add_features(positions, t, emission);
            if (gold != nullptr)
                for (size_t c = 0; c < k; ++c)
                    if (static_cast<int32_t>(c) != gold[t]) emission[c] += cost;
            float* now = at.forward.data() + t * n_states;
            const float* last = now - n_states;
            // Before the first word and before the second one there is just the start.
            const size_t first_b = t == 0 ? k : 0, end_b = t == 0 ? width : k;
            const size_t first_a = t <= 1 ? k : 0, end_a = t <= 1 ? width : k;
            float best = never;
            for (size_t b = first_b; b < end_b; ++b) {
                float* row = now + b * width;
                std::fill(row, row + k, never);
                for (size_t a = first_a; a < end_a; ++a)
                    raise(row, triples.values.data() + (b * width + a) * width,
                          t ? last[a * width + b] : 0.0f, k);
                const float* pair = pairs.values.data() + b * width;
                for (size_t c = 0; c < k; ++c) {
                    row[c] += pair[c] + emission[c];
                    best = row[c] > best ? row[c] : best;
                }
            }
            for (size_t b = first_b; b < end_b; ++b)
                for (size_t c = 0; c < k; ++c) now[b * width + c] -= best;
        }
        trace(length, at, labels);
    }

    // Learns from one sequence whose labels are all known: by the structured perceptron,
    // or with a cost by the structured hinge loss. RETURNS: Whether there was a mistake.
    bool learn(const Positions& positions, int length, const int32_t* gold, float cost,
               Scratch& at) {
        ++n_steps;
        at.path.resize(length);
        decode(positions, length, cost > 0 ? gold : nullptr, cost, at, at.path.data());
        if (std::equal(gold, gold + length, at.path.begin())) return false;
        add_path(positions, length, gold, 1);
        add_path(positions, length, at.path.data(), -1);
        return true;
    }

    // All rows of weights, under the keys of the levels of a cascade.
    void list_rows(std::vector<uint64_t>& keys, std::vector<const float*>& rows) const {
        const auto add = [&](uint64_t key, const std::vector<float>& values, size_t row) {
            keys.push_back(key);
            rows.push_back(values.data() + row * width);
        };
        for (size_t b = 0; b < width; ++b) add(context_key(b, 1), pairs.values, b);
        for (size_t a = 0; a < width; ++a)
            for (size_t b = 0; b < width; ++b)
                add(context_key(a << LABEL_BITS | b, 2), triples.values, b * width + a);
        for (size_t i = 0; i < features.keys.size(); ++i)
            add(feature_key(static_cast<uint32_t>(features.keys[i])), features.values, i);
    }

    // Puts the mean of the weights after each step in their place.
    void average() {
        if (n_steps == 0) return;
        const float n = static_cast<float>(n_steps);
        for (size_t i = 0; i < features.values.size(); ++i)
            features.values[i] -= features.moments[i] / n;
        for (Dense* table : {&pairs, &triples})
            for (size_t i = 0; i < table->values.size(); ++i)
                table->values[i] -= table->moments[i] / n;
        n_steps = 0;
        std::fill(features.moments.begin(), features.moments.end(), 0.0f);
        pairs.moments.clear();
        triples.moments.clear();
    }

  private:
    struct Dense {
        std::vector<float> values, moments;
        void assign(size_t n) {
            values.assign(n, 0);
            moments.assign(n, 0);
        }
    };

    size_t width = 0;
    RowTable features;
    Dense pairs;    // by the label before, and the label
    Dense triples;  // by the label before, the one before that, and the label
    uint64_t n_steps = 0;

    void add_features(const Positions& positions, int t, float* sums) const {
        for (int64_t i = positions.offsets[t]; i < positions.offsets[t + 1]; ++i) {
            const int64_t row = features.find(positions.keys[i]);
            if (row < 0) continue;
            const float* values = features.values.data() + row * width;
            for (size_t c = 0; c < width; ++c) sums[c] += values[c];
        }
    }

    // Follows the best path from its end. The same sums as on the way there.
    void trace(int length, const Scratch& at, int32_t* labels) const {
        const size_t k = n_labels, n_states = width * width;
        const float* now = at.forward.data() + (length - 1) * n_states;
        float best = -std::numeric_limits<float>::infinity();
        size_t b = k, c = 0;
        for (size_t i = length == 1 ? k : 0; i < (length == 1 ? width : k); ++i)
            for (size_t j = 0; j < k; ++j) {
                const float sum = now[i * width + j] + pairs.values[j * width + k] +
                                  triples.values[(j * width + i) * width + k];
                if (sum > best) {
                    best = sum;
                    b = i;
                    c = j;
                }
            }
        for (int t = length - 1; t >= 0; --t) {
            labels[t] = static_cast<int32_t>(c);
            if (t == 0) break;
            const float* last = at.forward.data() + (t - 1) * n_states;
            size_t before = k;
            float top = -std::numeric_limits<float>::infinity();
            for (size_t a = t == 1 ? k : 0; a < (t == 1 ? width : k); ++a) {
                const float sum =
                    last[a * width + b] + triples.values[(b * width + a) * width + c];
                if (sum > top) {
                    top = sum;
                    before = a;
                }
            }
            c = b;
            b = before;
        }
    }

    void move(float& value, float& moment, float part) {
        value += part;
        moment += part * static_cast<float>(n_steps);
    }

    void add_path(const Positions& positions, int length, const int32_t* labels, float part) {
        size_t a = n_labels, b = n_labels;
        for (int t = 0; t <= length; ++t) {
            const size_t c = t < length ? labels[t] : n_labels;
            if (t < length)
                for (int64_t i = positions.offsets[t]; i < positions.offsets[t + 1]; ++i) {
                    const size_t row = features.claim(positions.keys[i]) * width + c;
                    move(features.values[row], features.moments[row], part);
                }
            const size_t pair = b * width + c, triple = (b * width + a) * width + c;
            move(pairs.values[pair], pairs.moments[pair], part);
            move(triples.values[triple], triples.moments[triple], part);
            a = b;
            b = c;
        }
    }
};

// The probabilities of labels by a model of pairs, over all sequences: forward and
// backward sums, each divided by its total, so that none is too large or too small.
class Chain {
  public:
    void init(const GramWeights& weights) {
        const size_t n = weights.n_labels;
        std::vector<float> row(n + 1);
        next.assign(n * n, 0);
        starts.assign(n, 0);
        ends.assign(n, 0);
        for (size_t a = 0; a <= n; ++a) {
            std::fill(row.begin(), row.end(), 0.0f);
            weights.add_context(a, 1, row.data());
            for (size_t c = 0; c < n; ++c) (a < n ? next[a * n + c] : starts[c]) = row[c];
            if (a < n) ends[a] = row[n];
        }
        for (std::vector<double>* values : {&next, &starts, &ends}) {
            const double most = *std::max_element(values->begin(), values->end());
            for (double& value : *values) value = std::exp(value - most);
        }
    }

    // result: For each position the probability of each label.
    void find(const GramWeights& weights, const Positions& positions, int length,
              float* result) {
        const size_t n = weights.n_labels;
        forward.resize(length * n);
        emissions.resize(length * n);
        sums.resize(n + 1);
        backward.resize(n);
        product.resize(n);
        for (int t = 0; t < length; ++t) {
            std::fill(sums.begin(), sums.end(), 0.0f);
            weights.add_position(positions.keys + positions.offsets[t],
                                 positions.offsets[t + 1] - positions.offsets[t],
                                 sums.data());
            const float most = *std::max_element(sums.begin(), sums.begin() + n);
            double* emission = emissions.data() + t * n;
            for (size_t c = 0; c < n; ++c) emission[c] = std::exp(double(sums[c]) - most);
            double* now = forward.data() + t * n;
            if (t == 0) {
                std::copy(starts.begin(), starts.end(), now);
            } else {
                std::fill(now, now + n, 0.0);
                for (size_t a = 0; a < n; ++a)
                    for (size_t c = 0; c < n; ++c) now[c] += now[a - n] * next[a * n + c];
            }
            for (size_t c = 0; c < n; ++c) now[c] *= emission[c];
            scale(now, n);
        }
        std::copy(ends.begin(), ends.end(), backward.begin());
        for (int t = length - 1; t >= 0; --t) {
            const double* now = forward.data() + t * n;
            const double* emission = emissions.data() + t * n;
            for (size_t c = 0; c < n; ++c) product[c] = now[c] * backward[c];
            scale(product.data(), n);
            for (size_t c = 0; c < n; ++c)
                result[t * n + c] = static_cast<float>(product[c]);
            for (size_t c = 0; c < n; ++c) product[c] = backward[c] * emission[c];
            for (size_t a = 0; a < n; ++a) {
                double sum = 0;
                for (size_t c = 0; c < n; ++c) sum += next[a * n + c] * product[c];
                backward[a] = sum;
            }
            scale(backward.data(), n);
        }
    }

  private:
    std::vector<double> next;  // by label before and label
    std::vector<double> starts, ends;
    std::vector<double> forward, emissions, backward, product;
    std::vector<float> sums;

    static void scale(double* values, size_t n) {
        double total = 0;
        for (size_t i = 0; i < n; ++i) total += values[i];
        for (size_t i = 0; i < n; ++i) values[i] /= total;
    }
};

}  // namespace dynsel
