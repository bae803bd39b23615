// Hash tables in which a lookup reads one cache line, and the sums of what they hold.
//
// Keys are hashes: the line of a key is proportional to it, so that keys in ascending
// order fill a table from its start to its end. There are so many lines that the keys of
// one of them differ in their low halves, which are all that is kept of them.
#pragma once
#include <algorithm>
#include <vector>

#include "hashing.hpp"
#include "kernels.hpp"

namespace dynsel {

// Keys that find no place in their lines, in ascending order, and their values.
struct Others {
    std::vector<uint32_t> keys;
    std::vector<uint32_t> values;
};

static inline uint32_t find_other(const Others& others, uint32_t key) {
    const auto place = std::lower_bound(others.keys.begin(), others.keys.end(), key);
    if (place == others.keys.end() || *place != key) return 0;
    return others.values[static_cast<size_t>(place - others.keys.begin())];
}

constexpr int LINE_SIZE = 10;
constexpr int SHORT_LINE_SIZE = 16;
// What a line says of keys that it does not hold, if it was too small for all.
constexpr uint32_t ELSEWHERE = 0x80808080u;

// A line of values that are not 0.
struct alignas(64) Line {
    static constexpr int SIZE = LINE_SIZE;
    uint16_t checks[SIZE];
    // The last one is that of keys that are not there.
    uint32_t values[SIZE + 1];

    void overflow() { values[SIZE] = ELSEWHERE; }
};

// The same for short values. Nothing says whether a line that is full was too small.
struct alignas(64) ShortLine {
    static constexpr int SIZE = SHORT_LINE_SIZE;
    uint16_t checks[SIZE];
    int16_t values[SIZE];

    void overflow() {}
};

template <typename AnyLine>
struct TableOf {
    const AnyLine* lines;
    uint32_t n_lines;
    const Others* others;
};
using LineTable = TableOf<Line>;
using ShortLineTable = TableOf<ShortLine>;

static inline uint32_t get_number(uint32_t n_lines, uint32_t key) {
    return static_cast<uint32_t>(static_cast<uint64_t>(key) * n_lines >> 32);
}

template <typename AnyLine>
static inline const AnyLine* get_line(const TableOf<AnyLine>& table, uint32_t key) {
    return table.lines + get_number(table.n_lines, key);
}

template <typename AnyLine>
static inline void prefetch(const TableOf<AnyLine>& table, uint32_t key) {
    DYNSEL_PREFETCH(get_line(table, key));
}

// A table in memory that is all zeros. Keys ascend, and values are not 0.
template <typename AnyLine, typename Value>
static inline TableOf<AnyLine> make_table(void* memory, uint32_t n_lines,
                                          const uint32_t* keys, const Value* values,
                                          size_t n, Others* others) {
    AnyLine* lines = static_cast<AnyLine*>(memory);
    uint32_t last = 0;
    int place = -1;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t number = get_number(n_lines, keys[i]);
        // No branch: the end of a line is unpredictable.
        place = number == last ? place + 1 : 0;
        last = number;
        AnyLine* line = lines + number;
        if (__builtin_expect(place < AnyLine::SIZE, 1)) {
            line->checks[place] = static_cast<uint16_t>(keys[i]);
            line->values[place] = values[i];
        } else {
            line->overflow();
            others->keys.push_back(keys[i]);
            others->values.push_back(static_cast<uint32_t>(values[i]));
        }
    }
    return {lines, n_lines, others};
}

// The key of a check in a line. A table has at least 2^16 lines, so that there is one.
static inline uint32_t restore_key(uint64_t n_lines, uint64_t number, uint16_t check) {
    const uint32_t first =
        static_cast<uint32_t>(((number << 32) + n_lines - 1) / n_lines);
    return first + static_cast<uint16_t>(check - first);
}

// Adds the keys and values of all lines to those that found no place in them.
template <typename Table>
static inline void list_lines(const Table& table, Others* all) {
    for (uint32_t number = 0; number < table.n_lines; ++number) {
        const auto& line = table.lines[number];
        for (int i = 0; i < line.SIZE; ++i) {
            if (line.values[i] == 0) continue;
            all->keys.push_back(restore_key(table.n_lines, number, line.checks[i]));
            all->values.push_back(static_cast<uint32_t>(line.values[i]));
        }
    }
}

#if defined(DYNSEL_SSE2)
static inline __m128i load_block(const void* from, int i) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i);
}
#endif

// Where a line has the value of a key. Without branches: whether it has one is
// unpredictable.
static inline int find_place(const Line* line, uint32_t key) {
#if defined(DYNSEL_SSE2)
    const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(key));
    const int found = _mm_movemask_epi8(
        _mm_packs_epi16(_mm_cmpeq_epi16(load_block(line, 0), wanted),
                        _mm_cmpeq_epi16(load_block(line, 1), wanted)));
    // The values after the checks do not count.
    return lowest_bit(static_cast<unsigned>(found) | 1u << LINE_SIZE);
#else
    int place = LINE_SIZE;
    for (int i = LINE_SIZE - 1; i >= 0; --i)
        place = line->checks[i] == static_cast<uint16_t>(key) ? i : place;
    return place;
#endif
}

// The value of a key whose line seems to say that it is elsewhere: that may be its value.
static inline uint32_t look_elsewhere(const LineTable& table, uint32_t key) {
    const bool is_here = find_place(get_line(table, key), key) < LINE_SIZE;
    return is_here ? ELSEWHERE : find_other(*table.others, key);
}

// The value of a key, or 0.
static inline uint32_t find_value(const LineTable& table, uint32_t key) {
    const Line* line = get_line(table, key);
    const uint32_t value = line->values[find_place(line, key)];
    if (__builtin_expect(value == ELSEWHERE, 0)) return look_elsewhere(table, key);
    return value;
}

struct Sums {
    int16_t of[4];
};

static inline void add_values_plain(Sums* sums, const LineTable& table,
                                    const uint32_t* keys, int n) {
    for (int i = 0; i < n; ++i) {
        const uint32_t value = find_value(table, keys[i]);
        for (int j = 0; j < 4; ++j)
            sums->of[j] = static_cast<int16_t>(
                sums->of[j] + static_cast<int8_t>(value >> (8 * j) & 0xFF));
    }
}

#if defined(DYNSEL_SSE2)
static inline void add_values_sse2(Sums* sums, const LineTable& table, const uint32_t* keys,
                                   int n) {
    __m128i* to = reinterpret_cast<__m128i*>(sums);
    __m128i sum = _mm_loadl_epi64(to);
    for (int i = 0; i < n; ++i) {
        const __m128i value =
            _mm_cvtsi32_si128(static_cast<int>(find_value(table, keys[i])));
        // A byte on top of itself, shifted down, is the byte with its sign.
        sum = _mm_add_epi16(sum, _mm_srai_epi16(_mm_unpacklo_epi8(value, value), 8));
    }
    _mm_storel_epi64(to, sum);
}
#endif

#if defined(DYNSEL_AVX2)
DYNSEL_AVX2 static inline void add_values_avx2(Sums* sums, const LineTable& table,
                                               const uint32_t* keys, int n) {
    __m128i* to = reinterpret_cast<__m128i*>(sums);
    __m128i sum = _mm_loadl_epi64(to);
    for (int i = 0; i < n; ++i) {
        const Line* line = get_line(table, keys[i]);
        const __m256i found = _mm256_cmpeq_epi16(
            _mm256_load_si256(reinterpret_cast<const __m256i*>(line)),
            _mm256_set1_epi16(static_cast<int16_t>(keys[i])));
        // Two bits a check.
        const int place = lowest_bit(static_cast<unsigned>(_mm256_movemask_epi8(found)) |
                                     1u << 2 * LINE_SIZE);
        uint32_t value = line->values[place / 2];
        if (__builtin_expect(value == ELSEWHERE, 0))
            value = look_elsewhere(table, keys[i]);
        sum = _mm_add_epi16(
            sum, _mm_cvtepi8_epi16(_mm_cvtsi32_si128(static_cast<int>(value))));
    }
    _mm_storel_epi64(to, sum);
}
#endif

// Adds the values of some keys, each four signed bytes, to four sums.
typedef void (*AddValues)(Sums*, const LineTable&, const uint32_t*, int);

// The form of a kind, as those of the other kernels.
static inline AddValues get_add_values(int kind) {
#if defined(DYNSEL_SSE2)
    if (kind == 1) return add_values_sse2;
#endif
#if defined(DYNSEL_AVX2)
    if (kind == 2) return add_values_avx2;
#endif
    return add_values_plain;
}

// Weights for many labels: the value of a feature is a code. Most features have weights for
// one or two labels, which the code holds: two entries of a label (7 bits) and a weight (8).
// The code of others is the number of a list of entries, or of a row with a weight for each
// label.
constexpr int ENTRY_BITS = 15;
// Labels from here on do not fit into a code.
constexpr int PAIR_LABELS = 128;
// Lists have this length, filled up with weights of 0.
constexpr int LIST_SIZE = 4;
// Bits of a code: its number is that of a list or a row; of a row; the number.
constexpr uint32_t IS_FAR = 0x80000000u;
constexpr uint32_t IS_ROW = 0x40000000u;
constexpr uint32_t NUMBER = 0x3FFFFFFFu;
// Features of one stage, at most.
constexpr int MAX_STAGE = 256;

struct WideWeights {
    const Kernels* kernels;
    int width;  // labels, padded
    LineTable codes;
    const int8_t* rows;     // [row][width]
    const uint32_t* lists;  // [list][LIST_SIZE] label << 8 | weight
};

// The lists and rows that were prefetched.
struct Far {
    int n_rows;
    int n_lists;
    const int8_t* rows[MAX_STAGE];
    const uint32_t* lists[MAX_STAGE];
};

static inline uint32_t get_first_label(uint32_t code) { return code >> 8 & 0x7F; }

static inline uint32_t get_second_label(uint32_t code) {
    return code >> (ENTRY_BITS + 8) & 0x7F;
}

static inline void add_weight(int16_t* scores, uint32_t label, uint32_t weight) {
    scores[label] =
        static_cast<int16_t>(scores[label] + static_cast<int8_t>(weight & 0xFF));
}

// Adds the weights that the codes of features hold, and prefetches the others. Returns
// whether there are others.
static inline bool add_near(const WideWeights& weights, const uint32_t* keys, int n,
                            int16_t* scores, Far* far) {
    far->n_rows = 0;
    far->n_lists = 0;
    for (int i = 0; i < n; ++i) {
        const uint32_t code = find_value(weights.codes, keys[i]);
        if (code & IS_FAR) {
            const size_t number = code & NUMBER;
            if (code & IS_ROW) {
                const int8_t* row = weights.rows + number * static_cast<size_t>(weights.width);
                DYNSEL_PREFETCH(row);
                far->rows[far->n_rows++] = row;
            } else {
                const uint32_t* list = weights.lists + number * LIST_SIZE;
                DYNSEL_PREFETCH(list);
                far->lists[far->n_lists++] = list;
            }
        } else {
            // Without a branch for features that are not there: their code is 0.
            add_weight(scores, get_first_label(code), code);
            add_weight(scores, get_second_label(code), code >> ENTRY_BITS);
        }
    }
    return far->n_rows + far->n_lists > 0;
}

// Adds what add_near prefetched.
static inline void add_far(const WideWeights& weights, Far* far, int16_t* scores) {
    weights.kernels->add_bytes(scores, far->rows, far->n_rows, weights.width);
    for (int i = 0; i < far->n_lists; ++i)
        for (int j = 0; j < LIST_SIZE; ++j)
            add_weight(scores, far->lists[i][j] >> 8, far->lists[i][j]);
}

static inline int find_elsewhere(const ShortLineTable& table, uint32_t key) {
    return static_cast<int32_t>(find_other(*table.others, key));
}

// The sum of the values of some keys, each times its sign.
static inline int64_t sum_values(const ShortLineTable& table, const uint32_t* keys,
                                 const int16_t* signs, size_t n) {
    int64_t sum = 0;
#if defined(DYNSEL_SSE2)
    // As many at a time as cannot overflow.
    constexpr size_t BLOCK = 1 << 14;
    for (size_t start = 0; start < n; start += BLOCK) {
        const size_t end = n - start < BLOCK ? n : start + BLOCK;
        __m128i part = _mm_setzero_si128();
        for (size_t i = start; i < end; ++i) {
            const ShortLine* line = get_line(table, keys[i]);
            const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(keys[i]));
            const __m128i found = _mm_or_si128(
                _mm_and_si128(_mm_cmpeq_epi16(load_block(line, 0), wanted),
                              load_block(line, 2)),
                _mm_and_si128(_mm_cmpeq_epi16(load_block(line, 1), wanted),
                              load_block(line, 3)));
            if (__builtin_expect(line->values[SHORT_LINE_SIZE - 1] != 0, 0))
                sum += signs[i] * find_elsewhere(table, keys[i]);
            part = _mm_add_epi32(part,
                                 _mm_madd_epi16(found, _mm_set1_epi16(signs[i])));
        }
        alignas(16) int32_t lanes[4];
        _mm_store_si128(reinterpret_cast<__m128i*>(lanes), part);
        for (int lane : lanes) sum += lane;
    }
#else
    for (size_t i = 0; i < n; ++i) {
        const ShortLine* line = get_line(table, keys[i]);
        int value = find_elsewhere(table, keys[i]);
        for (int j = 0; j < SHORT_LINE_SIZE; ++j)
            if (line->checks[j] == static_cast<uint16_t>(keys[i]))
                value += line->values[j];
        sum += signs[i] * value;
    }
#endif
    return sum;
}

constexpr int MAX_TEMPLATE_ATOMS = 6;

// A template over slots: the value of each atom stands in an array.
struct SlotTemplate {
    uint64_t seed;
    uint16_t slots[MAX_TEMPLATE_ATOMS];
};

// The templates of a stage, those with one atom first, then those with two, and so on.
struct SlotStage {
    const SlotTemplate* templates;
    int ends[MAX_TEMPLATE_ATOMS];
};

template <int N, typename Table>
static inline void ask_templates(const SlotStage& stage, const Table& table,
                                 const uint32_t* values, uint32_t* keys) {
    for (int t = N > 1 ? stage.ends[N - 2] : 0; t < stage.ends[N - 1]; ++t) {
        const SlotTemplate& one = stage.templates[t];
        uint64_t state = one.seed;
        for (int i = 0; i < N; ++i) state = mix(state, values[one.slots[i]]);
        keys[t] = finish(state);
        prefetch(table, keys[t]);
    }
}

// Computes the keys of a stage and prefetches their lines. Returns their number.
template <typename Table>
static inline int ask_lines(const SlotStage& stage, const Table& table,
                            const uint32_t* values, uint32_t* keys) {
    ask_templates<1>(stage, table, values, keys);
    ask_templates<2>(stage, table, values, keys);
    ask_templates<3>(stage, table, values, keys);
    ask_templates<4>(stage, table, values, keys);
    ask_templates<5>(stage, table, values, keys);
    ask_templates<6>(stage, table, values, keys);
    return stage.ends[MAX_TEMPLATE_ATOMS - 1];
}

}  // namespace dynsel
