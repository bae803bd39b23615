// Classes of words: exchange (Martin, Liermann and Ney 1998), then merging into a binary
// tree (Brown et al. 1992). Both work on the likelihood of a class bigram model,
//     sum f(N(c, d)) - 2 sum f(N(c)),  f(n) = n log n.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace dynsel {

// n log n, from a table where n is small.
class NLogN {
  public:
    static constexpr int64_t SIZE = 1 << 16;

    NLogN() : table_(SIZE) {
        for (int64_t n = 1; n < SIZE; ++n) table_[static_cast<size_t>(n)] = slow(n);
    }

    double operator()(int64_t n) const {
        return n < SIZE ? table_[static_cast<size_t>(n)] : slow(n);
    }

  private:
    static double slow(int64_t n) {
        const double x = static_cast<double>(n);
        return x * std::log(x);
    }

    std::vector<double> table_;
};

// The neighbours of words on one side: for each word those from starts[word] on.
struct Neighbours {
    std::vector<int64_t> starts;
    std::vector<uint32_t> words;
    std::vector<uint32_t> counts;
};

// A word's neighbours by their classes. One for each thread, so that nothing is allocated.
struct Context {
    std::vector<int64_t> right, left;
    std::vector<int> right_classes, left_classes;
    int64_t self = 0;
    std::vector<double> gains;
};

struct Move {
    int target;
    double gain;
};

// Words from n_free on keep their classes, which are those from n_classes on.
class Exchange {
  public:
    // How many words are looked at before any of them moves. What comes out depends on
    // this number, and not on the number of threads.
    static constexpr int BATCH = 256;

    void set_up(int n_free, int n_classes, std::vector<uint32_t> classes,
                std::vector<int64_t> counts, Neighbours right, Neighbours left) {
        n_free_ = n_free;
        n_classes_ = n_classes;
        classes_ = std::move(classes);
        counts_ = std::move(counts);
        right_ = std::move(right);
        left_ = std::move(left);
        width_ = n_classes_;
        for (uint32_t c : classes_) width_ = std::max(width_, static_cast<int>(c) + 1);
        const size_t area = static_cast<size_t>(width_) * static_cast<size_t>(width_);
        rows_.assign(area, 0);
        columns_.assign(area, 0);
        row_terms_.assign(area, 0.0);
        column_terms_.assign(area, 0.0);
        totals_.assign(static_cast<size_t>(width_), 0);
        sizes_.assign(static_cast<size_t>(width_), 0);
        for (size_t word = 0; word < classes_.size(); ++word) {
            totals_[classes_[word]] += counts_[word];
            ++sizes_[classes_[word]];
            for (int64_t i = right_.starts[word]; i < right_.starts[word + 1]; ++i) {
                const size_t at = static_cast<size_t>(i);
                add(static_cast<int>(classes_[word]),
                    static_cast<int>(classes_[right_.words[at]]), right_.counts[at]);
            }
        }
    }

    // Let each word move to the class in which it is best. Returns how many moved.
    int64_t sweep(int n_threads) {
        contexts_.resize(static_cast<size_t>(n_threads));
        for (Context& context : contexts_) prepare(context);
        int64_t n_moved = 0;
        for (int start = 0; start < n_free_; start += BATCH) {
            batch_start_ = start;
            batch_size_ = std::min(BATCH, n_free_ - start);
            next_ = 0;
            if (!run_workers(n_threads, propose_some, this)) return -1;
            for (int i = 0; i < batch_size_; ++i) {
                n_moved += move(start + i, moves_[i], contexts_[0]);
            }
        }
        return n_moved;
    }

    double likelihood() const {
        double sum = 0.0;
        for (int64_t n : rows_) sum += f_(n);
        for (int64_t n : totals_) sum -= 2.0 * f_(n);
        return sum;
    }

    const std::vector<uint32_t>& classes() const { return classes_; }
    int width() const { return width_; }
    const std::vector<int64_t>& rows() const { return rows_; }
    const std::vector<int64_t>& totals() const { return totals_; }

  private:
    size_t at(int a, int b) const {
        return static_cast<size_t>(a) * static_cast<size_t>(width_) +
               static_cast<size_t>(b);
    }

    void add(int first, int second, int64_t count) {
        const int64_t n = rows_[at(first, second)] += count;
        columns_[at(second, first)] = n;
        row_terms_[at(first, second)] = column_terms_[at(second, first)] = f_(n);
    }

    void prepare(Context& context) const {
        context.right.assign(static_cast<size_t>(width_), 0);
        context.left.assign(static_cast<size_t>(width_), 0);
        context.right_classes.clear();
        context.left_classes.clear();
        context.right_classes.reserve(static_cast<size_t>(width_));
        context.left_classes.reserve(static_cast<size_t>(width_));
        context.gains.assign(static_cast<size_t>(n_classes_), 0.0);
    }

    void gather(const Neighbours& side, int word, std::vector<int64_t>& sums,
                std::vector<int>& found, int64_t& self) const {
        for (int c : found) sums[static_cast<size_t>(c)] = 0;
        found.clear();
        const size_t w = static_cast<size_t>(word);
        for (int64_t i = side.starts[w]; i < side.starts[w + 1]; ++i) {
            const size_t place = static_cast<size_t>(i);
            const int64_t count = side.counts[place];
            if (side.words[place] == static_cast<uint32_t>(word)) {
                self = count;
                continue;
            }
            const uint32_t c = classes_[side.words[place]];
            if (sums[c] == 0) found.push_back(static_cast<int>(c));
            sums[c] += count;
        }
    }

    void look_at(int word, Context& context) const {
        context.self = 0;
        gather(right_, word, context.right, context.right_classes, context.self);
        gather(left_, word, context.left, context.left_classes, context.self);
    }

    double diagonal(int k, const Context& x) const {
        const int64_t n = rows_[at(k, k)];
        const size_t c = static_cast<size_t>(k);
        return f_(n + x.right[c] + x.left[c] + x.self) - f_(n);
    }

    double unigram(int k, int word) const {
        const int64_t n = totals_[static_cast<size_t>(k)];
        return 2.0 * (f_(n + counts_[static_cast<size_t>(word)]) - f_(n));
    }

    // What a word is worth where it is.
    double worth(int word, const Context& x) const {
        const int g = static_cast<int>(classes_[static_cast<size_t>(word)]);
        const size_t own = static_cast<size_t>(g);
        const int64_t total = totals_[own];
        double sum = -2.0 * (f_(total) - f_(total - counts_[static_cast<size_t>(word)]));
        for (int d : x.right_classes) {
            if (d == g) continue;
            const int64_t n = rows_[at(g, d)];
            sum += f_(n) - f_(n - x.right[static_cast<size_t>(d)]);
        }
        for (int d : x.left_classes) {
            if (d == g) continue;
            const int64_t n = rows_[at(d, g)];
            sum += f_(n) - f_(n - x.left[static_cast<size_t>(d)]);
        }
        const int64_t n = rows_[at(g, g)];
        return sum + f_(n) - f_(n - x.right[own] - x.left[own] - x.self);
    }

    // What it would be worth in another class.
    double worth_in(int k, int word, const Context& x) const {
        const int g = static_cast<int>(classes_[static_cast<size_t>(word)]);
        const size_t c = static_cast<size_t>(k);
        double sum = diagonal(k, x) - unigram(k, word);
        for (int d : x.right_classes) {
            if (d == k) continue;
            const int64_t n = rows_[at(k, d)] - (d == g ? x.left[c] : 0);
            sum += f_(n + x.right[static_cast<size_t>(d)]) - f_(n);
        }
        for (int d : x.left_classes) {
            if (d == k) continue;
            const int64_t n = rows_[at(d, k)] - (d == g ? x.right[c] : 0);
            sum += f_(n + x.left[static_cast<size_t>(d)]) - f_(n);
        }
        return sum;
    }

    // The same for all classes at once, a row of counts after the other.
    void weigh(int word, Context& x) const {
        const int g = static_cast<int>(classes_[static_cast<size_t>(word)]);
        double* gains = x.gains.data();
        for (int k = 0; k < n_classes_; ++k) {
            const size_t c = static_cast<size_t>(k);
            gains[k] = -unigram(k, word);
            if (x.right[c] || x.left[c] || x.self) gains[k] += diagonal(k, x);
        }
        weigh_side(x.right_classes, x.right, columns_, column_terms_, g, gains);
        weigh_side(x.left_classes, x.left, rows_, row_terms_, g, gains);
        weigh_own(x.right[static_cast<size_t>(g)], &columns_[at(g, 0)], x.left, g, gains);
        weigh_own(x.left[static_cast<size_t>(g)], &rows_[at(g, 0)], x.right, g, gains);
    }

    void weigh_side(const std::vector<int>& found, const std::vector<int64_t>& sums,
                    const std::vector<int64_t>& counts, const std::vector<double>& terms,
                    int g, double* gains) const {
        for (int d : found) {
            if (d == g) continue;
            const int64_t* row = &counts[at(d, 0)];
            const double* term = &terms[at(d, 0)];
            const int64_t more = sums[static_cast<size_t>(d)];
            // The diagonal is counted apart.
            const double kept = d < n_classes_ ? gains[d] : 0.0;
            for (int k = 0; k < n_classes_; ++k) gains[k] += f_(row[k] + more) - term[k];
            if (d < n_classes_) gains[d] = kept;
        }
    }

    // Neighbours in the word's own class, whose counts are without the word.
    void weigh_own(int64_t more, const int64_t* row, const std::vector<int64_t>& others,
                   int g, double* gains) const {
        if (!more) return;
        for (int k = 0; k < n_classes_; ++k) {
            if (k == g) continue;
            const int64_t n = row[k] - others[static_cast<size_t>(k)];
            gains[k] += f_(n + more) - f_(n);
        }
    }

    Move propose(int word, Context& context) const {
        const int g = static_cast<int>(classes_[static_cast<size_t>(word)]);
        // A class keeps its last word.
        if (sizes_[static_cast<size_t>(g)] == 1) return {g, 0.0};
        look_at(word, context);
        weigh(word, context);
        const double here = worth(word, context);
        Move best{g, 0.0};
        for (int k = 0; k < n_classes_; ++k) {
            const double gain = context.gains[static_cast<size_t>(k)] - here;
            if (k != g && gain > best.gain) best = {k, gain};
        }
        return best;
    }

    static void propose_some(void* job, int thread) {
        Exchange& self = *static_cast<Exchange*>(job);
        Context& context = self.contexts_[static_cast<size_t>(thread)];
        for (int i = self.next_++; i < self.batch_size_; i = self.next_++) {
            self.moves_[i] = self.propose(self.batch_start_ + i, context);
        }
    }

    // Move a word if that is still better now that those before it have moved.
    bool move(int word, const Move& proposed, Context& context) {
        const int g = static_cast<int>(classes_[static_cast<size_t>(word)]);
        const int k = proposed.target;
        if (k == g || sizes_[static_cast<size_t>(g)] == 1) return false;
        look_at(word, context);
        const double here = worth(word, context);
        if (!(worth_in(k, word, context) - here > 1e-9 * std::abs(here))) return false;
        for (int d : context.right_classes) {
            add(g, d, -context.right[static_cast<size_t>(d)]);
            add(k, d, context.right[static_cast<size_t>(d)]);
        }
        for (int d : context.left_classes) {
            add(d, g, -context.left[static_cast<size_t>(d)]);
            add(d, k, context.left[static_cast<size_t>(d)]);
        }
        add(g, g, -context.self);
        add(k, k, context.self);
        const int64_t count = counts_[static_cast<size_t>(word)];
        totals_[static_cast<size_t>(g)] -= count;
        totals_[static_cast<size_t>(k)] += count;
        --sizes_[static_cast<size_t>(g)];
        ++sizes_[static_cast<size_t>(k)];
        classes_[static_cast<size_t>(word)] = static_cast<uint32_t>(k);
        return true;
    }

    NLogN f_;
    int n_free_ = 0, n_classes_ = 0, width_ = 0;
    std::vector<uint32_t> classes_;
    std::vector<int64_t> counts_;
    Neighbours right_, left_;
    // Bigrams of classes, and the same with the second class first; f of both.
    std::vector<int64_t> rows_, columns_;
    std::vector<double> row_terms_, column_terms_;
    std::vector<int64_t> totals_;
    std::vector<int> sizes_;
    std::vector<Context> contexts_;
    Move moves_[BATCH];
    std::atomic<int> next_{0};
    int batch_start_ = 0, batch_size_ = 0;
};

// Merges classes, each time the two whose merging costs least likelihood.
class Merging {
  public:
    // Paths are at most this long.
    static constexpr int MAX_DEPTH = 24;

    void set_up(int n_classes, int width, std::vector<int64_t> bigrams,
                std::vector<int64_t> totals) {
        width_ = width;
        bigrams_ = std::move(bigrams);
        totals_ = std::move(totals);
        alive_.assign(static_cast<size_t>(n_classes), true);
        heights_.assign(static_cast<size_t>(n_classes), 0);
        losses_.assign(static_cast<size_t>(n_classes) * static_cast<size_t>(n_classes), 0);
        present_.assign(static_cast<size_t>(width_), true);
        weight_ = static_cast<uint64_t>(n_classes);
        n_classes_ = n_classes;
    }

    // For each merging the class that stays and the class that joins it.
    bool run(int n_threads, std::vector<std::pair<int, int>>& merges) {
        merged_ = joined_ = -1;
        if (!update(n_threads, 0)) return false;
        for (int n = n_classes_; n > 1; --n) {
            const std::pair<int, int> best = find_best();
            merges.push_back(best);
            merged_ = best.first;
            joined_ = best.second;
            if (!update(n_threads, 0)) return false;
            merge();
            if (!update(n_threads, 1)) return false;
        }
        return true;
    }

  private:
    int64_t n(int a, int b) const {
        return bigrams_[static_cast<size_t>(a) * static_cast<size_t>(width_) +
                        static_cast<size_t>(b)];
    }

    double& loss(int a, int b) {
        return losses_[static_cast<size_t>(a) * static_cast<size_t>(n_classes_) +
                       static_cast<size_t>(b)];
    }

    double cost(int64_t a, int64_t b) const {
        return a && b ? f_(a) + f_(b) - f_(a + b) : 0.0;
    }

    // What merging a and b costs in their bigrams with d.
    double term(int a, int b, int d) const {
        return cost(n(a, d), n(b, d)) + cost(n(d, a), n(d, b));
    }

    double whole(int a, int b) const {
        const int64_t inner[] = {n(a, a), n(a, b), n(b, a), n(b, b)};
        double sum = 0.0;
        int64_t all = 0;
        for (int64_t one : inner) {
            sum += f_(one);
            all += one;
        }
        sum -= f_(all);
        sum -= 2.0 * cost(totals_[static_cast<size_t>(a)], totals_[static_cast<size_t>(b)]);
        for (int d = 0; d < width_; ++d) {
            if (d != a && d != b && present_[static_cast<size_t>(d)]) sum += term(a, b, d);
        }
        return sum;
    }

    // Whether what is left still fits into a tree that is not too deep (Kraft).
    bool fits(int a, int b) const {
        const int ha = heights_[static_cast<size_t>(a)];
        const int hb = heights_[static_cast<size_t>(b)];
        return weight_ - (uint64_t{1} << ha) - (uint64_t{1} << hb) +
                   (uint64_t{2} << std::max(ha, hb)) <=
               uint64_t{1} << MAX_DEPTH;
    }

    std::pair<int, int> find_best() {
        std::pair<int, int> best{-1, -1};
        double least = std::numeric_limits<double>::infinity();
        for (int a = 0; a < n_classes_; ++a) {
            if (!alive_[static_cast<size_t>(a)]) continue;
            for (int b = a + 1; b < n_classes_; ++b) {
                if (!alive_[static_cast<size_t>(b)] || !fits(a, b)) continue;
                if (best.first < 0 || loss(a, b) < least) {
                    least = loss(a, b);
                    best = {a, b};
                }
            }
        }
        return best;
    }

    bool update(int n_threads, int phase) {
        phase_ = phase;
        next_ = 0;
        return run_workers(n_threads, update_some, this);
    }

    // All losses at first; then, around each merging, what it changes in them.
    static void update_some(void* job, int) {
        Merging& self = *static_cast<Merging*>(job);
        const int i = self.merged_, j = self.joined_;
        for (int a = self.next_++; a < self.n_classes_; a = self.next_++) {
            if (!self.alive_[static_cast<size_t>(a)]) continue;
            for (int b = a + 1; b < self.n_classes_; ++b) {
                if (!self.alive_[static_cast<size_t>(b)]) continue;
                if (i < 0) {
                    self.loss(a, b) = self.whole(a, b);
                } else if (a == i || b == i) {
                    if (self.phase_ == 1) self.loss(a, b) = self.whole(a, b);
                } else if (a != j && b != j) {
                    if (self.phase_ == 0) {
                        self.loss(a, b) -= self.term(a, b, i) + self.term(a, b, j);
                    } else {
                        self.loss(a, b) += self.term(a, b, i);
                    }
                }
            }
        }
    }

    void merge() {
        const size_t i = static_cast<size_t>(merged_), j = static_cast<size_t>(joined_);
        const size_t width = static_cast<size_t>(width_);
        for (size_t d = 0; d < width; ++d) {
            bigrams_[i * width + d] += bigrams_[j * width + d];
            bigrams_[j * width + d] = 0;
        }
        for (size_t d = 0; d < width; ++d) {
            bigrams_[d * width + i] += bigrams_[d * width + j];
            bigrams_[d * width + j] = 0;
        }
        totals_[i] += totals_[j];
        totals_[j] = 0;
        weight_ -= (uint64_t{1} << heights_[i]) + (uint64_t{1} << heights_[j]);
        heights_[i] = std::max(heights_[i], heights_[j]) + 1;
        weight_ += uint64_t{1} << heights_[i];
        alive_[j] = present_[j] = false;
    }

    NLogN f_;
    int n_classes_ = 0, width_ = 0;
    int merged_ = -1, joined_ = -1, phase_ = 0;
    std::atomic<int> next_{0};
    uint64_t weight_ = 0;
    std::vector<int64_t> bigrams_, totals_;
    // Not vectors of bits, which threads could not read side by side.
    std::vector<char> alive_, present_;
    std::vector<int> heights_;
    std::vector<double> losses_;
};

// How often keys come up. Where there are too many, those that came up least go, and
// what is left is a lower bound.
class Counter {
  public:
    explicit Counter(size_t most = 1 << 24) : most_(most) {}

    void add(uint64_t key, uint32_t count = 1) {
        uint32_t& n = counts_[key];
        n = n > std::numeric_limits<uint32_t>::max() - count
                ? std::numeric_limits<uint32_t>::max()
                : n + count;
        if (counts_.size() > most_) prune();
    }

    size_t size() const { return counts_.size(); }

    // The keys that came up so often, in no order.
    void list(uint32_t least, std::vector<uint64_t>& keys,
              std::vector<uint32_t>& counts) const {
        for (const auto& one : counts_) {
            if (one.second < least) continue;
            keys.push_back(one.first);
            counts.push_back(one.second);
        }
    }

  private:
    void prune() {
        for (uint32_t limit = 1; counts_.size() > most_ / 2; limit *= 2) {
            for (auto at = counts_.begin(); at != counts_.end();) {
                at = at->second <= limit ? counts_.erase(at) : std::next(at);
            }
        }
    }

    std::unordered_map<uint64_t, uint32_t> counts_;
    size_t most_;
};

}  // namespace dynsel
