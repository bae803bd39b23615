// Arrays as files have them: smaller, and soon read.
//
// Sorted numbers: the low bytes of each, and how many there are of each value of the rest.
// Runs: numbers of 32 bits, of which the upper half is stored only where it changes.
// Bytes: a bit for each byte that is not 0, and these.
#pragma once
#include <bitset>
#include <cstdint>
#include <cstring>

#include "kernels.hpp"

namespace dynsel {

static inline uint64_t read_bytes(const uint8_t* data, int n) {
    uint64_t value = 0;
    std::memcpy(&value, data, static_cast<size_t>(n));
    return value;
}

static inline size_t count_bits(const uint8_t* bits, size_t n) {
    const size_t n_bytes = (n + 7) / 8;
    size_t result = 0;
    size_t i = 0;
    for (; i + 8 <= n_bytes; i += 8)
        result += std::bitset<64>(read_bytes(bits + i, 8)).count();
    for (; i < n_bytes; ++i) result += std::bitset<8>(bits[i]).count();
    return result;
}

// Whether the bits that fill the last byte are 0.
static inline bool ends_clean(const uint8_t* bits, size_t n) {
    return n % 8 == 0 || bits[n / 8] >> n % 8 == 0;
}

// RETURNS: Whether there are as many numbers as the counts say, and all fit their type.
template <typename Number, int LOW_BYTES>
static inline bool expand_sorted_by(const uint8_t* lows, size_t n, const uint8_t* counts,
                                    size_t n_counts, int count_bytes, Number* numbers) {
    constexpr int SHIFT = 8 * LOW_BYTES;
    constexpr int LEFT = 8 * static_cast<int>(sizeof(Number)) - SHIFT;
    if (LEFT <= 0 || (LEFT < 64 && n_counts > uint64_t{1} << LEFT)) return false;
    size_t done = 0;
    for (size_t high = 0; high < n_counts; ++high) {
        const uint64_t count = read_bytes(counts + high * count_bytes, count_bytes);
        if (count > n - done) return false;
        const Number upper = static_cast<Number>(static_cast<uint64_t>(high) << SHIFT);
        for (size_t i = done; i < done + count; ++i)
            numbers[i] =
                upper | static_cast<Number>(read_bytes(lows + i * LOW_BYTES, LOW_BYTES));
        done += count;
    }
    return done == n;
}

template <typename Number>
static inline bool expand_sorted(const uint8_t* lows, size_t n, int low_bytes,
                                 const uint8_t* counts, size_t n_counts, int count_bytes,
                                 Number* numbers) {
#define DYNSEL_BY(B) \
    case B: return expand_sorted_by<Number, B>(lows, n, counts, n_counts, count_bytes, numbers)
    switch (low_bytes) {
        DYNSEL_BY(1);
        DYNSEL_BY(2);
        DYNSEL_BY(3);
        DYNSEL_BY(4);
        DYNSEL_BY(5);
        DYNSEL_BY(6);
        DYNSEL_BY(7);
        default: return false;
    }
#undef DYNSEL_BY
}

// RETURNS: Whether there are as many upper halves as the bits say.
static inline bool expand_runs(const uint8_t* bits, size_t n, const uint8_t* uppers,
                               size_t n_uppers, const uint8_t* middles, const uint8_t* lows,
                               uint32_t* numbers) {
    if (!ends_clean(bits, n) || count_bits(bits, n) != n_uppers) return false;
    if (n > 0 && !(bits[0] & 1)) return false;
    // No branch: where a run ends is unpredictable.
    const uint8_t* next = uppers - 2;
    for (size_t i = 0; i < n; ++i) {
        next += 2 * (bits[i / 8] >> i % 8 & 1);
        numbers[i] = static_cast<uint32_t>(read_bytes(next, 2)) << 16 |
                     static_cast<uint32_t>(middles[i]) << 8 | lows[i];
    }
    return true;
}

// For each set of eight bits, where its bytes come from: the first, the second and so on;
// 0x80 where there is none.
struct Origins {
    uint64_t of[256];

    constexpr Origins() : of{} {
        for (unsigned bits = 0; bits < 256; ++bits) {
            uint64_t next = 0;
            for (unsigned j = 0; j < 8; ++j)
                of[bits] |= (bits >> j & 1 ? next++ : uint64_t{0x80}) << 8 * j;
        }
    }
};

#if defined(DYNSEL_AVX2)
// Expands blocks of eight bytes, as long as there are eight to read. RETURNS: How many.
DYNSEL_AVX2 static inline size_t expand_blocks(const uint8_t* bits, size_t n_blocks,
                                               const uint8_t* bytes, size_t n_bytes,
                                               uint8_t* out, size_t* done) {
    static constexpr Origins origins;
    size_t i = 0;
    for (; i < n_blocks && n_bytes - *done >= 8; ++i) {
        const __m128i found =
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + *done));
        const __m128i places =
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(origins.of + bits[i]));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 8 * i),
                         _mm_shuffle_epi8(found, places));
        *done += static_cast<size_t>(__builtin_popcount(bits[i]));
    }
    return i;
}
#endif

// RETURNS: Whether there are as many bytes as the bits say.
static inline bool expand_bytes(const uint8_t* bits, size_t n, const uint8_t* bytes,
                                size_t n_bytes, uint8_t* out) {
    if (!ends_clean(bits, n) || count_bits(bits, n) != n_bytes) return false;
    size_t done = 0;
    size_t i = 0;
#if defined(DYNSEL_AVX2)
    if (__builtin_cpu_supports("avx2"))
        i = 8 * expand_blocks(bits, n / 8, bytes, n_bytes, out, &done);
#endif
    for (; i < n; ++i) out[i] = bits[i / 8] >> i % 8 & 1 ? bytes[done++] : 0;
    return true;
}

// The signs of numbers stand in their lowest bits: gives them back.
static inline void restore_signs(uint16_t* numbers, size_t n) {
    for (size_t i = 0; i < n; ++i)
        numbers[i] = static_cast<uint16_t>(numbers[i] >> 1 ^ -(numbers[i] & 1));
}

}  // namespace dynsel
