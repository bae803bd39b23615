// The weights of links between words while they are learned: one for each feature, moved by
// AdaGrad, with their mean over time, or with an l1 penalty that acts at every step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "line_table.hpp"
#include "weight_table.hpp"

namespace dynsel {

struct LinkWeight {
    uint32_t key;
    uint32_t last;  // the step at which it was last moved; 0 for an empty entry
    float value;
    float squares;  // the sum of its squared gradients
    double drift;   // the sum of its moves, each times its step

    bool is_empty() const { return last == 0; }
};

class LinkWeights : public KeyTable<LinkWeight> {
  public:
    float eta = 0.1f, delta = 0.3f, l1 = 0;
    uint32_t now = 1;  // the step

    void prefetch_all(const uint32_t* keys, size_t n) const {
        for (size_t i = 0; i < n; ++i) prefetch(keys[i]);
    }

    float score(const uint32_t* keys, size_t n) {
        float sum = 0;
        for (size_t i = 0; i < n; ++i) {
            const LinkWeight* weight = find(keys[i]);
            if (!weight->is_empty()) sum += value_of(*weight);
        }
        return sum;
    }

    // Moves the weights of some features against a gradient.
    void move(const uint32_t* keys, size_t n, float gradient) {
        make_room(n);
        for (size_t i = 0; i < n; ++i) {
            LinkWeight* weight = find(keys[i]);
            if (weight->is_empty()) {
                *weight = LinkWeight{keys[i], now, 0, 0, 0};
                ++n_used;
            } else {
                weight->value = value_of(*weight);
            }
            weight->last = now;
            weight->squares += gradient * gradient;
            const float change = -gradient * rate_of(*weight);
            weight->value += change;
            weight->drift += static_cast<double>(now) * change;
        }
    }

    // What the penalty has left of a weight.
    float value_of(const LinkWeight& weight) const {
        if (l1 == 0 || weight.value == 0) return weight.value;
        const float due = l1 * rate_of(weight) * static_cast<float>(now - weight.last);
        return weight.value > 0 ? std::max(0.0f, weight.value - due)
                                : std::min(0.0f, weight.value + due);
    }

    // Its mean over all steps, if there is no penalty.
    float mean_of(const LinkWeight& weight) const {
        return static_cast<float>(weight.value - weight.drift / now);
    }

  private:
    float rate_of(const LinkWeight& weight) const {
        return eta / (delta + std::sqrt(weight.squares));
    }
};

// For ask_lines.
static inline void prefetch(const LinkWeights& weights, uint32_t key) {
    weights.prefetch(key);
}

// A word that may be the head of another, by what a filter says.
struct Candidate {
    int32_t head;
    float score;
};

// Keeps what is above the mean-max threshold, the part alpha of the best score and the rest
// of the mean, and no more than the best ones of these; the order stays.
inline void keep_heads(std::vector<Candidate>& found, double alpha, size_t most) {
    if (found.size() < 2) return;
    float best = found[0].score;
    double sum = 0;
    for (const Candidate& one : found) {
        best = std::max(best, one.score);
        sum += one.score;
    }
    float limit = static_cast<float>(alpha * best + (1 - alpha) * sum / found.size());
    limit = std::min(limit, best);
    const auto cut = [&found](auto&& goes) {
        found.erase(std::remove_if(found.begin(), found.end(), goes), found.end());
    };
    cut([limit](const Candidate& one) { return one.score < limit; });
    if (found.size() <= most) return;
    std::vector<float> scores;
    for (const Candidate& one : found) scores.push_back(-one.score);
    std::nth_element(scores.begin(), scores.begin() + (most - 1), scores.end());
    const float last = -scores[most - 1];
    size_t room = most;
    for (const Candidate& one : found) room -= one.score > last;
    cut([last, &room](const Candidate& one) {
        if (one.score > last) return false;
        if (one.score < last || room == 0) return true;
        --room;
        return false;
    });
}

}  // namespace dynsel
