// The weights of a classifier in training. They are label-sparse: the key of a feature
// leads to its entry, the entry to the weights of just those labels that ever took part
// in an error with that feature.
//
//     entries (hash table by key)  ->  weights (one pool)
//
// A row of weights has room for as many as the next power of two says.
#pragma once
#include <cstdint>
#include <new>
#include <vector>

#include "kernels.hpp"
#include "large_pages.hpp"

namespace dynsel {

// A hash table of entries, which have a key and can be empty. Keys are hashes.
template <typename Entry>
class KeyTable {
  public:
    std::vector<Entry, LargePages<Entry>> entries;  // a power of two
    size_t n_used = 0;

    // The entry of a key, or the empty one where it belongs.
    Entry* find(uint32_t key) {
        const size_t mask = entries.size() - 1;
        size_t place = key & mask;
        while (!entries[place].is_empty() && entries[place].key != key)
            place = (place + 1) & mask;
        return &entries[place];
    }

    void prefetch(uint32_t key) const {
        DYNSEL_PREFETCH(&entries[key & (entries.size() - 1)]);
    }

    // Makes room for this many new entries. Until they are used, no entry moves.
    void make_room(size_t n) {
        size_t size = entries.empty() ? size_t{1} << 16 : entries.size();
        while (3 * (n_used + n) > 2 * size) size *= 2;
        if (size > entries.size()) grow(size);
    }

  private:
    void grow(size_t size) {
        // Without memory for it, the table stays as it is.
        std::vector<Entry, LargePages<Entry>> old(size);
        old.swap(entries);
        for (const Entry& entry : old)
            if (!entry.is_empty()) *find(entry.key) = entry;
    }
};

enum EntryKind : uint16_t {
    EMPTY,
    PENDING,   // a feature that is too rare so far
    REJECTED,  // one that was too rare when counting ended
    ROW,       // one that has weights
};

struct Weight {
    float value;    // the weight (adagrad) or its summed gradient (rda)
    float squares;  // the summed squares of its gradients
    uint32_t label;
};

struct Entry {
    uint32_t key;
    uint32_t start;  // into the pool of weights; of a pending feature, its count
    uint16_t n;      // the number of its weights
    uint16_t kind;

    bool is_empty() const { return kind == EMPTY; }
};

class WeightTable : public KeyTable<Entry> {
  public:
    // The entry of a feature, after counting it if it has no row. It needs room.
    Entry* see(uint32_t key) {
        Entry* entry = find(key);
        if (entry->kind == EMPTY) {
            entry->key = key;
            entry->kind = PENDING;
            ++n_used;
        }
        if (entry->kind == PENDING) entry->start += entry->start < MAX_SEEN;
        return entry;
    }

    // The entry of a feature that has a row, or nullptr.
    Entry* find_row(uint32_t key) {
        Entry* entry = find(key);
        return entry->kind == ROW ? entry : nullptr;
    }

    // The same, after counting the feature: it gets its row at the cutoff.
    Entry* claim_row(uint32_t key, uint32_t cutoff) {
        Entry* entry = see(key);
        if (entry->kind == PENDING && entry->start >= cutoff) entry->kind = ROW;
        return entry->kind == ROW ? entry : nullptr;
    }

    Weight* get_weights(const Entry* row) { return weights.data() + row->start; }

    // The weight of a label in a row, made if it is not there.
    Weight* find_weight(Entry* row, uint32_t label) {
        Weight* weight = get_weights(row);
        for (int i = 0; i < row->n; ++i)
            if (weight[i].label == label) return weight + i;
        return add_weight(row, label);
    }

    // A new weight of a label that the row does not have.
    Weight* add_weight(Entry* row, uint32_t label) {
        if ((row->n & (row->n - 1)) == 0) move_row(row);
        Weight* weight = get_weights(row) + row->n;
        *weight = Weight{0, 0, label};
        ++row->n;
        return weight;
    }

  private:
    static constexpr uint32_t MAX_SEEN = 0x7FFFFFFE;
    static constexpr size_t MAX_WEIGHTS = 0xFFFFFFFF;

    std::vector<Weight, LargePages<Weight>> weights;
    std::vector<std::vector<uint32_t>> free_blocks;  // by the logarithm of their size

    // Moves a full row to a block of twice the size and keeps the old one for reuse.
    // Nothing changes before there is memory for all of it.
    void move_row(Entry* row) {
        size_t size_class = 0;
        while (1 << size_class <= row->n) ++size_class;
        if (free_blocks.size() <= size_class) free_blocks.resize(size_class + 1);
        if (row->n) reserve_one(free_blocks[size_class - 1]);
        const uint32_t start = take_block(size_class);
        for (uint32_t i = 0; i < row->n; ++i)
            weights[start + i] = weights[row->start + i];
        if (row->n) free_blocks[size_class - 1].push_back(row->start);
        row->start = start;
    }

    static void reserve_one(std::vector<uint32_t>& blocks) {
        if (blocks.size() == blocks.capacity()) blocks.reserve(2 * blocks.size() + 1);
    }

    uint32_t take_block(size_t size_class) {
        std::vector<uint32_t>& blocks = free_blocks[size_class];
        if (!blocks.empty()) {
            const uint32_t start = blocks.back();
            blocks.pop_back();
            return start;
        }
        const size_t start = weights.size();
        const size_t end = start + (size_t{1} << size_class);
        if (end > MAX_WEIGHTS) throw std::bad_alloc();
        weights.resize(end);
        return static_cast<uint32_t>(start);
    }
};

// One weight for each feature, for choices between two structures.
struct RankWeight {
    uint32_t key;
    uint32_t n;  // how often it was looked at; 0 for an empty entry
    float value;
    float squares;

    bool is_empty() const { return n == 0; }
};

class RankTable : public KeyTable<RankWeight> {
  public:
    // The weight of a feature, made if it is not there. It needs room.
    RankWeight* claim(uint32_t key) {
        RankWeight* weight = find(key);
        if (weight->is_empty()) {
            weight->key = key;
            weight->n = 1;
            ++n_used;
        }
        return weight;
    }
};

}  // namespace dynsel
