// The weights of all levels of a cascade, made for use.
//
// Rows hold just the weights that are not zero. The rows of a feature stand together, one
// for each level, so that a feature is looked up once a position. Rows of label n-grams are
// found by their number, without a search, where there is room.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "gram_weights.hpp"
#include "kernels.hpp"
#include "large_pages.hpp"

namespace dynsel {

struct PackedWeight {
    uint16_t label;
    int16_t value;
};

// The rows of one level, as they are stored: sorted by their keys, labels rise in a row.
struct StoredRows {
    const uint64_t* keys;
    const uint32_t* starts;  // of the weights of each row, and the end
    const uint16_t* labels;
    const int16_t* values;
    size_t n;
    int shift;  // a weight is worth two to the power of it, where one is SCORE_UNIT
};

constexpr uint32_t NO_ROW = 0xFFFFFFFF;

// Numbers by keys.
template <typename Key>
class KeyIndex {
  public:
    void init(size_t n) {
        size_t size = 16;
        while (2 * size < 3 * n) size *= 2;
        entries.assign(size, {0, NO_ROW});
    }

    void prefetch(Key key) const { DYNSEL_PREFETCH(&entries[place(key)]); }

    uint32_t find(Key key) const {
        for (size_t i = place(key);; i = (i + 1) & (entries.size() - 1))
            if (entries[i].key == key || entries[i].value == NO_ROW)
                return entries[i].value;
    }

    // A place for the value of a key; NO_ROW if it is new. It needs room.
    uint32_t& claim(Key key) {
        size_t i = place(key);
        while (entries[i].value != NO_ROW && entries[i].key != key)
            i = (i + 1) & (entries.size() - 1);
        entries[i].key = key;
        return entries[i].value;
    }

  private:
    struct Item {
        Key key;
        uint32_t value;
    };
    std::vector<Item, LargePages<Item>> entries;  // a power of two

    size_t place(Key key) const {
        return mix(0x243F6A8885A308D3u, key) & (entries.size() - 1);
    }
};

// The weights of labels after the n labels before them, at one level.
class ContextRows {
  public:
    struct Row {
        const int16_t* dense;  // by label, or null
        const PackedWeight* first;
        const PackedWeight* end;

        int32_t get(int label) const {
            if (dense != nullptr) return dense[label];
            const PackedWeight* found = std::lower_bound(
                first, end, label, [](const PackedWeight& one, int other) {
                    return one.label < other;
                });
            return found != end && found->label == label ? found->value : 0;
        }
    };

    void init(int n_before, int n_labels) {
        n = n_before;
        width = static_cast<size_t>(n_labels) + 1;
        size_t size = 1;
        for (int i = 0; i < n && size <= MOST_DIRECT; ++i) size *= width;
        direct.assign(size <= MOST_DIRECT ? size : 0, NO_ROW);
    }

    // rows: Those that belong here.
    void fill(const StoredRows& stored, const std::vector<size_t>& rows) {
        is_dense = rows.size() * width <= MOST_DENSE;
        if (is_dense) dense.assign(rows.size() * width, 0);
        starts.assign(1, 0);
        if (direct.empty()) index.init(rows.size());
        for (size_t r = 0; r < rows.size(); ++r) {
            const uint64_t gram = stored.keys[rows[r]] & ((uint64_t{1} << 60) - 1);
            if (direct.empty()) index.claim(gram) = static_cast<uint32_t>(r);
            else direct[number(gram)] = static_cast<uint32_t>(r);
            for (uint32_t i = stored.starts[rows[r]]; i < stored.starts[rows[r] + 1]; ++i) {
                if (is_dense) dense[r * width + stored.labels[i]] = stored.values[i];
                else sparse.push_back({stored.labels[i], stored.values[i]});
            }
            starts.push_back(static_cast<uint32_t>(sparse.size()));
        }
    }

    // Finds the row of the last labels of a gram. RETURNS: Whether there is one.
    bool find(uint64_t gram, Row& row) const {
        if (starts.size() < 2) return false;
        gram &= (uint64_t{1} << (LABEL_BITS * n)) - 1;
        const uint32_t r = direct.empty() ? index.find(gram) : direct[number(gram)];
        if (r == NO_ROW) return false;
        row.dense = is_dense ? dense.data() + r * width : nullptr;
        row.first = sparse.data() + starts[r];
        row.end = sparse.data() + starts[r + 1];
        return true;
    }

  private:
    static constexpr size_t MOST_DIRECT = size_t{1} << 20;
    static constexpr size_t MOST_DENSE = size_t{1} << 22;

    int n = 1;
    size_t width = 0;
    bool is_dense = true;
    std::vector<uint32_t> direct;  // the number of the row, by the number of the gram
    KeyIndex<uint64_t> index;      // the same, if there are too many grams
    std::vector<int16_t> dense;
    std::vector<PackedWeight> sparse;
    std::vector<uint32_t> starts;

    size_t number(uint64_t gram) const {
        size_t result = 0;
        for (int i = n - 1; i >= 0; --i)
            result = result * width + ((gram >> (LABEL_BITS * i)) & LABEL_MASK);
        return result;
    }
};

// The weights of all levels.
class PackedWeights {
  public:
    int n_labels = 0;
    int n_levels = 0;
    bool pairs = false;

    void init(int labels, bool with_pairs, const std::vector<StoredRows>& levels) {
        n_labels = labels;
        n_levels = static_cast<int>(levels.size());
        pairs = with_pairs;
        n_headers = (levels.size() + 1) / 2;
        contexts.resize(levels.size() * (MAX_ORDER - 1));
        biases.assign(levels.size() * labels, 0);
        shifts.clear();
        std::vector<size_t> rows;
        for (const StoredRows& level : levels) shifts.push_back(level.shift);
        for (size_t i = 0; i < levels.size(); ++i) {
            for (int n = 1; n < MAX_ORDER; ++n) {
                ContextRows& table = contexts[i * (MAX_ORDER - 1) + n - 1];
                rows.clear();
                for (size_t r = 0; r < levels[i].n; ++r)
                    if (static_cast<int>(levels[i].keys[r] >> 60) == n) rows.push_back(r);
                table.init(n, labels);
                table.fill(levels[i], rows);
            }
            for (size_t r = 0; r < levels[i].n; ++r)
                if (levels[i].keys[r] == 0)
                    for (uint32_t w = levels[i].starts[r]; w < levels[i].starts[r + 1]; ++w)
                        if (levels[i].labels[w] < labels)
                            biases[i * labels + levels[i].labels[w]] = levels[i].values[w];
        }
        fill_pool(levels);
        fill_pairs();
    }

    // Weights of pairs of labels at the first level, by the label before and the label, and
    // the other way round; before the first label is n_labels. Empty with many labels.
    std::vector<float> next, last;
    std::vector<float> ends;  // of the last label

    int shift(int level) const { return shifts[level]; }
    const int32_t* bias(int level) const { return biases.data() + level * n_labels; }
    const ContextRows& context(int level, int n) const {
        return contexts[level * (MAX_ORDER - 1) + n - 1];
    }
    void prefetch(uint32_t key) const { features.prefetch(key); }
    void prefetch_row(uint32_t row) const { DYNSEL_PREFETCH(&pool[row]); }
    // Where the rows of a feature are, or NO_ROW.
    uint32_t find(uint32_t key) const { return features.find(key); }
    uint32_t find_pair(uint32_t key, int label) const {
        return paired.find(uint64_t(label) << 32 | key);
    }

    // Adds what a feature says about each label at the first level.
    void add_first(uint32_t row, int32_t* sums) const {
        const PackedWeight* weight = pool.data() + row + n_headers;
        for (const PackedWeight* end = weight + pool[row].label; weight < end; ++weight)
            sums[weight->label] += weight->value;
    }

    // The same at a range of levels, whose sums stand one after the other.
    void add_levels(uint32_t row, int first, int end, int32_t* sums) const {
        const PackedWeight* weight = pool.data() + row + n_headers;
        for (int level = 0; level < end; ++level) {
            const int n = count(row, level);
            if (level >= first) {
                for (int i = 0; i < n; ++i) sums[weight[i].label] += weight[i].value;
                sums += n_labels;
            }
            weight += n;
        }
    }

  private:
    static constexpr size_t MOST_DENSE = 512;

    size_t n_headers = 1;
    KeyIndex<uint32_t> features;
    KeyIndex<uint64_t> paired;  // features with a label before
    // Rows of a feature: how many weights each level has, two counts an item; the weights.
    std::vector<PackedWeight, LargePages<PackedWeight>> pool;
    std::vector<ContextRows> contexts;  // by level and number of labels
    std::vector<int32_t> biases;        // by level and label
    std::vector<int> shifts;

    void fill_pairs() {
        const size_t k = n_labels;
        if (k > MOST_DENSE) return;
        ContextRows::Row row;
        next.assign((k + 1) * k, 0);
        last.assign(k * k, 0);
        ends.assign(k, 0);
        for (size_t a = 0; a <= k; ++a) {
            if (!context(0, 1).find(a, row)) continue;
            for (size_t b = 0; b < k; ++b)
                next[a * k + b] = static_cast<float>(row.get(static_cast<int>(b)));
            if (a == k) continue;
            for (size_t b = 0; b < k; ++b) last[b * k + a] = next[a * k + b];
            ends[a] = static_cast<float>(row.get(n_labels));
        }
    }

    int count(uint32_t row, int level) const {
        const PackedWeight& header = pool[row + level / 2];
        return level % 2 ? static_cast<uint16_t>(header.value) : header.label;
    }

    void fill_pool(const std::vector<StoredRows>& levels) {
        constexpr uint64_t END = std::numeric_limits<uint64_t>::max();
        std::vector<size_t> at(levels.size(), 0);
        std::vector<uint64_t> keys;
        std::vector<uint32_t> rows;
        pool.clear();
        for (;;) {
            uint64_t key = END;
            for (size_t i = 0; i < levels.size(); ++i) {
                while (at[i] < levels[i].n && levels[i].keys[at[i]] >> 60 < 5) ++at[i];
                if (at[i] < levels[i].n) key = std::min(key, levels[i].keys[at[i]]);
            }
            if (key == END) break;
            if (pool.size() + n_headers >= NO_ROW) throw std::bad_alloc();
            keys.push_back(key);
            rows.push_back(static_cast<uint32_t>(pool.size()));
            add_rows(levels, key, at);
        }
        const auto is_pair = [](uint64_t key) { return key >> 60 > 5; };
        const size_t n_pairs = std::count_if(keys.begin(), keys.end(), is_pair);
        features.init(keys.size() - n_pairs);
        paired.init(n_pairs);
        for (size_t i = 0; i < keys.size(); ++i) {
            const uint64_t key = keys[i] & ((uint64_t{1} << 60) - 1);
            (is_pair(keys[i]) ? paired.claim(key)
                              : features.claim(static_cast<uint32_t>(key))) = rows[i];
        }
    }

    // Adds the rows of a key at all levels, and goes on to the next key.
    void add_rows(const std::vector<StoredRows>& levels, uint64_t key,
                  std::vector<size_t>& at) {
        const size_t row = pool.size();
        pool.resize(row + n_headers, {0, 0});
        for (size_t i = 0; i < levels.size(); ++i) {
            if (at[i] >= levels[i].n || levels[i].keys[at[i]] != key) continue;
            uint16_t n = 0;
            for (uint32_t w = levels[i].starts[at[i]]; w < levels[i].starts[at[i] + 1]; ++w)
                // A position says nothing about the end.
                if (levels[i].labels[w] < n_labels) {
                    pool.push_back({levels[i].labels[w], levels[i].values[w]});
                    ++n;
                }
            if (i % 2) pool[row + i / 2].value = static_cast<int16_t>(n);
            else pool[row + i / 2].label = n;
            ++at[i];
        }
    }
};

}  // namespace dynsel
