// The weights of a classifier in training. They are label-sparse: the key of a feature
// leads to its entry, the entry to the weights of just those labels that ever took part
// in an error with that feature.
//
//     entries (hash table by key)  ->  blocks (one pool)
//
// Most features are rare, and many never take part in an error: an entry has 8 bytes, and
// a block of weights 4 and then 10 for each of the labels for which it has room. Labels
// and values stand together, since scoring reads nothing else.
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
    std::vector<Entry, LargePages<Entry>> entries;
    size_t n_used = 0;

    // The entry of a key, or the empty one where it belongs.
    Entry* find(uint32_t key) {
        const size_t size = entries.size();
        size_t place = place_of(key, size);
        while (!entries[place].is_empty() && entries[place].key != key)
            if (++place == size) place = 0;
        return &entries[place];
    }

    void prefetch(uint32_t key) const {
        DYNSEL_PREFETCH(&entries[place_of(key, entries.size())]);
    }

    // Makes room for this many new entries. Until they are used, no entry moves.
    void make_room(size_t n) {
        size_t size = entries.empty() ? size_t{1} << 16 : entries.size();
        while (4 * (n_used + n) > 3 * size) size += size / 2;
        if (size > entries.size()) grow(size);
    }

  private:
    // A multiplication spreads keys over a table of any size.
    static size_t place_of(uint32_t key, size_t size) {
        return (static_cast<uint64_t>(key * 2654435769u) * size) >> 32;
    }

    void grow(size_t size) {
        // Without memory for it, the table stays as it is.
        std::vector<Entry, LargePages<Entry>> old(size);
        old.swap(entries);
        for (const Entry& entry : old)
            if (!entry.is_empty()) *find(entry.key) = entry;
    }
};

// A feature. Its state is that of
//     0           an empty entry
//     1 to 2^31-2 one that is too rare so far: how often it was seen
//     2^31-1      one that was too rare when counting ended
//     2^31 and on one that has weights: from there on counts the place of its block, which
//                 is 0 as long as there are none
struct Entry {
    static constexpr uint32_t REJECTED = 0x7FFFFFFF;
    static constexpr uint32_t ROW = 0x80000000;

    uint32_t key;
    uint32_t state;

    bool is_empty() const { return state == 0; }
    bool is_row() const { return state >= ROW; }
    bool is_rejected() const { return state == REJECTED; }
    bool is_pending() const { return state - 1 < REJECTED - 1; }

    // How often a pending one was seen.
    uint32_t get_count() const { return state; }
    void set_count(uint32_t n) { state = n < REJECTED ? n : REJECTED - 1; }
    void reject() { state = REJECTED; }
    void make_row() {
        if (!is_row()) state = ROW;
    }
};

// One weight.
struct Weight {
    float* value;    // the weight (adagrad) or its summed gradient (rda)
    float* squares;  // the summed squares of its gradients
};

// The weights of a feature.
struct Row {
    uint32_t n;
    uint16_t* labels;
    float* values;
    float* squares;
};

class WeightTable : public KeyTable<Entry> {
  public:
    // A block that is empty, for rows without weights.
    WeightTable() : pool(UNIT) {}

    // The entry of a feature, after counting it if it has no row. It needs room.
    Entry* see(uint32_t key) {
        Entry* entry = find(key);
        if (entry->is_empty()) {
            entry->key = key;
            ++n_used;
        }
        if (entry->state < Entry::REJECTED) entry->set_count(entry->state + 1);
        return entry;
    }

    // The entry of a feature that has a row, or nullptr.
    Entry* find_row(uint32_t key) {
        Entry* entry = find(key);
        return entry->is_row() ? entry : nullptr;
    }

    // The same, after counting the feature: it gets its row at the cutoff. Where nothing
    // is to be counted, a feature has no entry before it has weights, and a row that all
    // of these share and that stays empty stands for it.
    Entry* claim_row(uint32_t key, uint32_t cutoff) {
        static Entry nothing{0, Entry::ROW};
        if (cutoff <= 1) {
            Entry* entry = find(key);
            if (entry->is_empty()) return &nothing;
        }
        Entry* entry = see(key);
        if (entry->is_pending() && entry->get_count() >= cutoff) entry->make_row();
        return entry->is_row() ? entry : nullptr;
    }

    void prefetch_row(const Entry* entry) const {
        const unsigned char* block = &pool[place_of(entry) * UNIT];
        DYNSEL_PREFETCH(block);
        // Labels and values of up to four may stand in the next line.
        DYNSEL_PREFETCH(block + 27);
    }

    // The weights of a row. They stay where they are until some are added.
    Row get_row(const Entry* entry) { return read_block(place_of(entry)); }

    // The weight of a label in a row, made if it is not there.
    Weight find_weight(Entry* entry, uint32_t label) {
        const Row row = get_row(entry);
        for (uint32_t i = 0; i < row.n; ++i)
            if (row.labels[i] == label) return Weight{row.values + i, row.squares + i};
        return add_weight(entry, label);
    }

    // A new weight of a label that the row does not have.
    Weight add_weight(Entry* entry, uint32_t label) {
        size_t place = place_of(entry);
        if (place == 0 || get_block(place)->n == 1u << get_block(place)->size_class)
            place = move_row(entry);
        const Row row = read_block(place);
        row.labels[row.n] = static_cast<uint16_t>(label);
        row.values[row.n] = 0;
        row.squares[row.n] = 0;
        ++get_block(place)->n;
        return Weight{row.values + row.n, row.squares + row.n};
    }

  private:
    // A block says how many weights there are, and is followed by labels, values and
    // squares, each with room for a power of two.
    struct Block {
        uint16_t n;
        uint16_t size_class;
    };

    // Places are counted in these.
    static constexpr size_t UNIT = sizeof(Block);
    static constexpr size_t MAX_UNITS = 0x7FFFFFFF;

    std::vector<unsigned char, LargePages<unsigned char>> pool;
    std::vector<std::vector<uint32_t>> free_blocks;  // by their size class

    static size_t place_of(const Entry* entry) { return entry->state & ~Entry::ROW; }

    Block* get_block(size_t place) {
        return reinterpret_cast<Block*>(&pool[place * UNIT]);
    }

    Row read_block(size_t place) {
        Block* block = get_block(place);
        const size_t room = size_t{1} << block->size_class;
        uint16_t* labels = reinterpret_cast<uint16_t*>(block + 1);
        float* values = reinterpret_cast<float*>(block + 1 + room / 2);
        return Row{block->n, labels, values, values + room};
    }

    // Moves a full row to a block of twice the size and keeps the old one for reuse.
    // Nothing changes before there is memory for all of it.
    size_t move_row(Entry* entry) {
        const size_t old_place = place_of(entry);
        const size_t old_class = old_place ? get_block(old_place)->size_class : 0;
        const size_t size_class = old_class + 1;
        if (free_blocks.size() <= size_class) free_blocks.resize(size_class + 1);
        if (old_place) reserve_one(free_blocks[old_class]);
        const size_t place = take_block(size_class);
        *get_block(place) = Block{0, static_cast<uint16_t>(size_class)};
        if (old_place) {
            const Row from = read_block(old_place), to = read_block(place);
            for (uint32_t i = 0; i < from.n; ++i) {
                to.labels[i] = from.labels[i];
                to.values[i] = from.values[i];
                to.squares[i] = from.squares[i];
            }
            get_block(place)->n = static_cast<uint16_t>(from.n);
            free_blocks[old_class].push_back(static_cast<uint32_t>(old_place));
        }
        entry->state = Entry::ROW | static_cast<uint32_t>(place);
        return place;
    }

    static void reserve_one(std::vector<uint32_t>& blocks) {
        if (blocks.size() == blocks.capacity()) blocks.reserve(2 * blocks.size() + 1);
    }

    size_t take_block(size_t size_class) {
        std::vector<uint32_t>& blocks = free_blocks[size_class];
        if (!blocks.empty()) {
            const size_t place = blocks.back();
            blocks.pop_back();
            return place;
        }
        const size_t room = size_t{1} << size_class;
        const size_t place = pool.size() / UNIT;
        const size_t end = place + 1 + room / 2 + 2 * room;
        if (end > MAX_UNITS) throw std::bad_alloc();
        pool.resize(end * UNIT);
        return place;
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
