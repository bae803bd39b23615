// Hash tables in which a lookup reads one cache line, and the sums of what they hold.
//
// Keys are hashes: the line of a key is proportional to it, so that keys in ascending
// order fill a table from its start to its end.
#pragma once
#include "hashing.hpp"
#include "kernels.hpp"

namespace dynsel {

constexpr int LINE_SIZE = 8;

// Keys in ascending order, and values that are not 0. A line that is full goes on in the
// next one.
struct alignas(64) Line {
    uint32_t keys[LINE_SIZE];
    uint32_t values[LINE_SIZE];
};

// Whether a key that is not in its line can be in the next one.
static inline bool goes_on(const Line* line, uint32_t key) {
    return (line->values[LINE_SIZE - 1] != 0) & (line->keys[LINE_SIZE - 1] < key);
}

struct Lines {
    const Line* lines;
    uint32_t n_lines;
};

// A table that is being filled, up to a place.
struct Filling {
    Line* lines;
    uint32_t n_lines;
    size_t place;
};

// Puts a key with a value that is not 0 behind those before it, which are smaller, or
// changes the value of the last one. Without branches, since nothing foretells them.
static inline void put(Filling* table, uint32_t key, uint32_t value, bool is_new) {
    const size_t first = (static_cast<uint64_t>(key) * table->n_lines >> 32) * LINE_SIZE;
    const size_t next = table->place + is_new;
    table->place = next < first ? first : next;
    Line* line = table->lines + table->place / LINE_SIZE;
    line->keys[table->place % LINE_SIZE] = key;
    line->values[table->place % LINE_SIZE] = value;
}

static inline const Line* get_line(Lines lines, uint32_t key) {
    return lines.lines + (static_cast<uint64_t>(key) * lines.n_lines >> 32);
}

#if defined(DYNSEL_SSE2)
static inline __m128i load_block(const void* from, int i) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i);
}

// The value of a key in one of four places, or 0 in all of them. Without branches:
// whether a feature is there cannot be foretold.
static inline __m128i match_line(const Line* line, uint32_t key) {
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(key));
    return _mm_or_si128(_mm_and_si128(_mm_cmpeq_epi32(load_block(line, 0), wanted),
                                      load_block(line, 2)),
                        _mm_and_si128(_mm_cmpeq_epi32(load_block(line, 1), wanted),
                                      load_block(line, 3)));
}
#endif

// The value of a key, or 0, from a line on.
static inline uint32_t find_from(const Line* line, uint32_t key) {
    while (true) {
#if defined(DYNSEL_SSE2)
        __m128i found = match_line(line, key);
        found = _mm_or_si128(found, _mm_shuffle_epi32(found, _MM_SHUFFLE(1, 0, 3, 2)));
        found = _mm_or_si128(found, _mm_shuffle_epi32(found, _MM_SHUFFLE(2, 3, 0, 1)));
        const uint32_t value = static_cast<uint32_t>(_mm_cvtsi128_si32(found));
#else
        uint32_t value = 0;
        for (int i = 0; i < LINE_SIZE; ++i)
            value |= line->keys[i] == key ? line->values[i] : 0;
#endif
        if (__builtin_expect(!goes_on(line, key), 1)) return value;
        ++line;
    }
}

static inline uint32_t find_value(Lines lines, uint32_t key) {
    return find_from(get_line(lines, key), key);
}

struct Sums {
    int16_t of[4];
};

// Adds the values of some keys, each four signed bytes, to four sums.
static inline void add_values(Sums* sums, Lines lines, const uint32_t* keys, int n) {
#if defined(DYNSEL_SSE2)
    __m128i low = _mm_setzero_si128();
    __m128i high = _mm_setzero_si128();
    for (int i = 0; i < n; ++i) {
        const Line* line = get_line(lines, keys[i]);
        __m128i found = match_line(line, keys[i]);
        if (__builtin_expect(goes_on(line, keys[i]), 0))
            found = _mm_cvtsi32_si128(static_cast<int>(find_from(line + 1, keys[i])));
        // A byte on top of itself, shifted down, is the byte with its sign.
        low = _mm_add_epi16(low, _mm_srai_epi16(_mm_unpacklo_epi8(found, found), 8));
        high = _mm_add_epi16(high, _mm_srai_epi16(_mm_unpackhi_epi8(found, found), 8));
    }
    low = _mm_add_epi16(low, high);
    low = _mm_add_epi16(low, _mm_shuffle_epi32(low, _MM_SHUFFLE(1, 0, 3, 2)));
    __m128i* to = reinterpret_cast<__m128i*>(sums);
    _mm_storel_epi64(to, _mm_add_epi16(_mm_loadl_epi64(to), low));
#else
    for (int i = 0; i < n; ++i) {
        const uint32_t value = find_value(lines, keys[i]);
        for (int j = 0; j < 4; ++j)
            sums->of[j] = static_cast<int16_t>(
                sums->of[j] + static_cast<int8_t>(value >> (8 * j) & 0xFF));
    }
#endif
}

constexpr int SHORT_LINE_SIZE = 16;

// The low halves of keys, and values that are not 0. There are so many lines that the
// keys of one of them differ in their low halves. What finds no place is elsewhere.
struct alignas(64) ShortLine {
    uint16_t checks[SHORT_LINE_SIZE];
    int16_t values[SHORT_LINE_SIZE];
};

struct ShortLines {
    const ShortLine* lines;
    uint32_t n_lines;
    Lines elsewhere;
};

static inline const ShortLine* get_line(ShortLines lines, uint32_t key) {
    return lines.lines + (static_cast<uint64_t>(key) * lines.n_lines >> 32);
}

static inline int find_elsewhere(ShortLines lines, uint32_t key) {
    return static_cast<int32_t>(find_value(lines.elsewhere, key));
}

// The sum of the values of some keys, each times its sign.
static inline int64_t sum_values(ShortLines lines, const uint32_t* keys,
                                 const int16_t* signs, size_t n) {
    int64_t sum = 0;
#if defined(DYNSEL_SSE2)
    // As many at a time as cannot overflow.
    constexpr size_t BLOCK = 1 << 14;
    for (size_t start = 0; start < n; start += BLOCK) {
        const size_t end = n - start < BLOCK ? n : start + BLOCK;
        __m128i part = _mm_setzero_si128();
        for (size_t i = start; i < end; ++i) {
            const ShortLine* line = get_line(lines, keys[i]);
            const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(keys[i]));
            const __m128i found = _mm_or_si128(
                _mm_and_si128(_mm_cmpeq_epi16(load_block(line, 0), wanted),
                              load_block(line, 2)),
                _mm_and_si128(_mm_cmpeq_epi16(load_block(line, 1), wanted),
                              load_block(line, 3)));
            if (__builtin_expect(line->values[SHORT_LINE_SIZE - 1] != 0, 0))
                sum += signs[i] * find_elsewhere(lines, keys[i]);
            part = _mm_add_epi32(part,
                                 _mm_madd_epi16(found, _mm_set1_epi16(signs[i])));
        }
        alignas(16) int32_t lanes[4];
        _mm_store_si128(reinterpret_cast<__m128i*>(lanes), part);
        for (int lane : lanes) sum += lane;
    }
#else
    for (size_t i = 0; i < n; ++i) {
        const ShortLine* line = get_line(lines, keys[i]);
        int value = find_elsewhere(lines, keys[i]);
        for (int j = 0; j < SHORT_LINE_SIZE; ++j)
            if (line->checks[j] == static_cast<uint16_t>(keys[i]))
                value += line->values[j];
        sum += signs[i] * value;
    }
#endif
    return sum;
}

template <typename Table>
static inline void prefetch(Table lines, uint32_t key) {
    DYNSEL_PREFETCH(get_line(lines, key));
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

template <int N>
static inline void ask_templates(const SlotStage& stage, Lines lines,
                                 const uint32_t* values, uint32_t* keys) {
    for (int t = N > 1 ? stage.ends[N - 2] : 0; t < stage.ends[N - 1]; ++t) {
        const SlotTemplate& one = stage.templates[t];
        uint64_t state = one.seed;
        for (int i = 0; i < N; ++i) state = mix(state, values[one.slots[i]]);
        keys[t] = finish(state);
        prefetch(lines, keys[t]);
    }
}

// Works out the keys of a stage and asks for their lines. Returns how many there are.
static inline int ask_lines(const SlotStage& stage, Lines lines, const uint32_t* values,
                            uint32_t* keys) {
    ask_templates<1>(stage, lines, values, keys);
    ask_templates<2>(stage, lines, values, keys);
    ask_templates<3>(stage, lines, values, keys);
    ask_templates<4>(stage, lines, values, keys);
    ask_templates<5>(stage, lines, values, keys);
    ask_templates<6>(stage, lines, values, keys);
    return stage.ends[MAX_TEMPLATE_ATOMS - 1];
}

}  // namespace dynsel
