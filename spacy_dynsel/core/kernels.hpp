// The few lines of C++ that Cython cannot express: hints to the memory system, sums
// of rows that the compiler turns into vector code, and worker threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__SSE2__) || defined(_M_X64)
#define DYNSEL_SSE2
#include <emmintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define DYNSEL_PREFETCH(p) __builtin_prefetch(p)
#else
#define DYNSEL_PREFETCH(p) ((void)(p))
#endif

namespace dynsel {

// The position of the lowest bit of a number that is not 0.
static inline int lowest_bit(unsigned bits) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctz(bits);
#else
    int position = 0;
    while (!(bits >> position & 1)) ++position;
    return position;
#endif
}

// Rows of scores are padded to a multiple of this many labels.
constexpr int LANES = 16;

struct Verdict {
    int16_t label;  // the first of the labels that are close to the best one
    int16_t close;  // 1 if it is the only one, more if not, 0 if no label is valid
};

// sums = rows[0] + ... + rows[n_rows - 1], for a width that is a multiple of LANES.
// The sums may be one of the rows.
static inline void sum_rows(int16_t* sums, const int16_t* const* rows, int n_rows,
                            int width) {
    for (int start = 0; start < width; start += LANES) {
        int16_t part[LANES] = {0};
        for (int r = 0; r < n_rows; ++r) {
            const int16_t* row = rows[r] + start;
            for (int i = 0; i < LANES; ++i) part[i] += row[i];
        }
        std::memcpy(sums + start, part, sizeof(part));
    }
}

// Finds the valid labels whose score is above the best valid one minus the margin,
// which is at least 1. Limits are the largest int16_t where a label is valid, the
// smallest where it is not, padding included.
static inline Verdict judge_plainly(const int16_t* scores, const int16_t* limits,
                                    int width, int margin) {
    int best = INT16_MIN;
    for (int i = 0; i < width; ++i) {
        int score = scores[i] < limits[i] ? scores[i] : limits[i];
        best = best > score ? best : score;
    }
    const int threshold = best - margin < INT16_MIN ? INT16_MIN : best - margin;
    Verdict verdict{0, 0};
    for (int i = width - 1; i >= 0; --i) {
        int score = scores[i] < limits[i] ? scores[i] : limits[i];
        if (score > threshold) {
            verdict.label = static_cast<int16_t>(i);
            ++verdict.close;
        }
    }
    return verdict;
}

#if defined(DYNSEL_SSE2)
// The same, sixteen labels at a time, with instructions that every x86-64 has.
static inline Verdict judge(const int16_t* scores, const int16_t* limits, int width,
                            int margin) {
    const auto load = [](const int16_t* from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    };
    const auto get = [&](int i) {
        return _mm_min_epi16(load(scores + i), load(limits + i));
    };
    __m128i most = _mm_max_epi16(get(0), get(8));
    for (int i = LANES; i < width; i += LANES)
        most = _mm_max_epi16(most, _mm_max_epi16(get(i), get(i + 8)));
    most = _mm_max_epi16(most, _mm_shuffle_epi32(most, _MM_SHUFFLE(1, 0, 3, 2)));
    most = _mm_max_epi16(most, _mm_shuffle_epi32(most, _MM_SHUFFLE(2, 3, 0, 1)));
    most = _mm_max_epi16(most, _mm_shufflelo_epi16(most, _MM_SHUFFLE(2, 3, 0, 1)));
    const int lowest = static_cast<int16_t>(_mm_extract_epi16(most, 0)) - margin;
    const __m128i threshold =
        _mm_set1_epi16(static_cast<int16_t>(lowest < INT16_MIN ? INT16_MIN : lowest));
    Verdict verdict{0, 0};
    for (int i = width - LANES; i >= 0; i -= LANES) {
        unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(
            _mm_packs_epi16(_mm_cmpgt_epi16(get(i), threshold),
                            _mm_cmpgt_epi16(get(i + 8), threshold))));
        if (mask) {
            verdict.label = static_cast<int16_t>(i + lowest_bit(mask));
            verdict.close += mask & (mask - 1) ? 2 : 1;
        }
    }
    return verdict;
}
#else
static inline Verdict judge(const int16_t* scores, const int16_t* limits, int width,
                            int margin) {
    return judge_plainly(scores, limits, width, margin);
}
#endif

// A pointer that one thread publishes while others read it.
static inline void* load_pointer(void* const* place) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
#else
    return *static_cast<void* const volatile*>(place);
#endif
}

static inline void store_pointer(void** place, void* value) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
#else
    *static_cast<void* volatile*>(place) = value;
#endif
}

// Runs work(job, i) for i = 0 .. n_threads - 1, number 0 in the calling thread. Where
// the system refuses threads, those that run have to do all the work: workers take
// their tasks from a counter until none is left.
static inline void run_workers(int n_threads, void (*work)(void*, int), void* job) {
    std::vector<std::thread> threads;
    try {
        for (int i = 1; i < n_threads; ++i) threads.emplace_back(work, job, i);
    } catch (const std::system_error&) {
    }
    work(job, 0);
    for (auto& thread : threads) thread.join();
}

}  // namespace dynsel
