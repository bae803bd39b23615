// Exact search among projective trees that are made of given links, with one root. Best
// trees, k best trees, gaps and probabilities of links are found by the same two functions,
// walk and visit; see tree_items.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tree_items.hpp"

namespace dynsel {

class TreeForest : public TreeItems {
  public:
    // The score of the best tree. RETURNS: False if the links make no tree.
    bool search() {
        best.assign(n_items(), NEVER);
        walk([this](const TreeItem& item) {
            if (is_word(item)) {
                best[item.id] = 0;
                return;
            }
            int64_t top = NEVER;
            visit(item, [this, &top](uint32_t left, uint32_t right, int64_t weight) {
                top = std::max(top, join(best, left, right, weight));
            });
            // A sum with something that can't be made can't be made either.
            best[item.id] = top < NEVER / 2 ? NEVER : top;
        });
        return best.back() != NEVER;
    }

    int64_t best_score() const { return best.back(); }

    // The heads of the best tree, after search; ties go to the first way.
    void find_heads(int32_t* heads) {
        todo.assign(1, n_items() - 1);
        while (!todo.empty()) {
            const TreeItem item = get_item(todo.back());
            todo.pop_back();
            if (is_word(item)) continue;
            note_head(item, heads);
            uint32_t chosen[2] = {NOTHING, NOTHING};
            bool found = false;
            visit(item, [&](uint32_t left, uint32_t right, int64_t weight) {
                if (found || join(best, left, right, weight) != best[item.id]) return;
                found = true;
                chosen[0] = left;
                chosen[1] = right;
            });
            for (uint32_t part : chosen)
                if (part != NOTHING) todo.push_back(part);
        }
    }

    // For each link, in the order in which they were given, by how much the best tree that
    // has it is worse than the best of all, after search; or -1 if no tree has it.
    void find_gaps(int64_t* gaps) {
        // What the best tree around an item adds to it.
        around.assign(n_items(), NEVER);
        around.back() = 0;
        walk_back([this](const TreeItem& item) {
            const int64_t own = around[item.id];
            if (own == NEVER || best[item.id] == NEVER || is_word(item)) return;
            visit(item, [this, own](uint32_t left, uint32_t right, int64_t weight) {
                const int64_t whole = own + join(best, left, right, weight);
                if (whole < NEVER / 2) return;
                around[left] = std::max(around[left], whole - best[left]);
                if (right != NOTHING)
                    around[right] = std::max(around[right], whole - best[right]);
            });
        });
        for (size_t link = 0; link < links.size(); ++link) {
            const uint32_t id = link_item(static_cast<uint32_t>(link));
            gaps[given[link]] =
                around[id] == NEVER ? -1 : best.back() - around[id] - best[id];
        }
    }

    // The probability of each link, in the order in which they were given, if a tree's
    // is in proportion to exp(score / scale). RETURNS: False if the links make no tree.
    bool find_marginals(double scale, double* marginals) {
        constexpr double never = -std::numeric_limits<double>::infinity();
        inside.assign(n_items(), never);
        walk([&](const TreeItem& item) {
            if (is_word(item)) {
                inside[item.id] = 0;
                return;
            }
            double top = never, sum = 0;
            visit(item, [&](uint32_t left, uint32_t right, int64_t weight) {
                const double value = join(inside, left, right, weight / scale);
                if (value == never) return;
                if (value > top) {
                    sum = sum * std::exp(top - value) + 1;
                    top = value;
                } else {
                    sum += std::exp(value - top);
                }
            });
            if (top != never) inside[item.id] = top + std::log(sum);
        });
        if (inside.back() == never) return false;
        // Each item hands its probability on to what it is made of.
        share.assign(n_items(), 0);
        share.back() = 1;
        walk_back([&](const TreeItem& item) {
            const double own = share[item.id];
            if (own == 0 || is_word(item)) return;
            visit(item, [&](uint32_t left, uint32_t right, int64_t weight) {
                const double value = join(inside, left, right, weight / scale);
                if (value == never) return;
                const double part = own * std::exp(value - inside[item.id]);
                share[left] += part;
                if (right != NOTHING) share[right] += part;
            });
        });
        for (size_t link = 0; link < links.size(); ++link)
            marginals[given[link]] = std::min(1.0, share[link_item(static_cast<uint32_t>(link))]);
        return true;
    }

    // Makes the k-th best tree known, counted from 0, after search and all before it
    // (Huang and Chiang 2005, algorithm 3). RETURNS: False if there are fewer trees.
    bool find_kth(size_t k) {
        if (k == 0) nodes.clear();
        const uint32_t tree = n_items() - 1;
        asked.assign(1, {tree, k});
        while (!asked.empty()) {
            const auto [id, wanted] = asked.back();
            Node& node = get_node(id);
            if (is_settled(node, wanted)) {
                asked.pop_back();
                continue;
            }
            if (node.n_followed < node.ways.size() && !follow(node)) continue;
            if (node.waiting.empty()) continue;
            node.ways.push_back(node.waiting.top());
            node.waiting.pop();
        }
        return nodes[tree].ways.size() > k;
    }

    int64_t kth_score(size_t k) const { return nodes.at(n_items() - 1).ways[k].score; }

    void find_kth_heads(size_t k, int32_t* heads) {
        asked.assign(1, {n_items() - 1, k});
        while (!asked.empty()) {
            const auto [id, rank] = asked.back();
            asked.pop_back();
            const TreeItem item = get_item(id);
            if (is_word(item)) continue;
            note_head(item, heads);
            const Way way = get_node(id).ways.size() > rank ? nodes[id].ways[rank]
                                                            : nodes[id].waiting.top();
            asked.push_back({way.left, way.left_rank});
            if (way.right != NOTHING) asked.push_back({way.right, way.right_rank});
        }
    }

  private:
    // Far below all sums, and no sum of three overflows.
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::min() / 4;

    // A way to make an item of the n-th best of others.
    struct Way {
        int64_t score;
        uint32_t order;  // equal scores keep the order in which they were found
        uint32_t left, right;
        uint32_t left_rank, right_rank;
        int64_t weight;
        bool operator<(const Way& other) const {
            return score != other.score ? score < other.score : order > other.order;
        }
    };

    struct Node {
        bool is_new = true;
        uint32_t n_found = 0;
        size_t n_followed = 0;  // ways whose successors wait
        int n_sides = 0;        // of the one that is followed now
        std::vector<Way> ways;  // from the best on
        std::priority_queue<Way> waiting;
    };

    std::vector<int64_t> best, around;
    std::vector<double> inside, share;
    std::vector<uint32_t> todo;
    std::vector<std::pair<uint32_t, size_t>> asked;
    std::unordered_map<uint32_t, Node> nodes;

    template <class T>
    static T join(const std::vector<T>& values, uint32_t left, uint32_t right, T weight) {
        return weight + values[left] + (right == NOTHING ? T(0) : values[right]);
    }

    void note_head(const TreeItem& item, int32_t* heads) const {
        if (item.kind == TreeItem::LINK) heads[links[item.at].child] = links[item.at].head;
    }

    Node& get_node(uint32_t id) {
        Node& node = nodes[id];
        if (!node.is_new) return node;
        node.is_new = false;
        const TreeItem item = get_item(id);
        if (is_word(item)) {
            node.ways.push_back({0, 0, NOTHING, NOTHING, 0, 0, 0});
            node.n_followed = 1;
            return node;
        }
        visit(item, [this, &node](uint32_t left, uint32_t right, int64_t weight) {
            const int64_t score = join(best, left, right, weight);
            if (score >= NEVER / 2)
                node.waiting.push({score, node.n_found++, left, right, 0, 0, weight});
        });
        return node;
    }

    // Whether the wanted way is known, or known not to be there.
    static bool is_settled(const Node& node, size_t wanted) {
        return node.ways.size() > wanted ||
               (node.waiting.empty() && node.n_followed == node.ways.size());
    }

    // Lets the successors of the last known way wait: the next best of what it is made of.
    // RETURNS: False if that has to be found first.
    bool follow(Node& node) {
        const Way way = node.ways[node.n_followed];
        for (; node.n_sides < 2; ++node.n_sides) {
            const bool right = node.n_sides == 1;
            const uint32_t part = right ? way.right : way.left;
            // Each pair of ranks has one predecessor.
            if (part == NOTHING || (!right && way.right_rank > 0)) continue;
            const size_t next = (right ? way.right_rank : way.left_rank) + size_t(1);
            // References stay valid while nodes are added.
            const Node& other = get_node(part);
            if (!is_settled(other, next)) {
                asked.push_back({part, next});
                return false;
            }
            if (other.ways.size() <= next) continue;
            Way successor = way;
            (right ? successor.right_rank : successor.left_rank) = static_cast<uint32_t>(next);
            successor.score += other.ways[next].score - other.ways[next - 1].score;
            successor.order = node.n_found++;
            node.waiting.push(successor);
        }
        node.n_sides = 0;
        ++node.n_followed;
        return true;
    }
};

}  // namespace dynsel
