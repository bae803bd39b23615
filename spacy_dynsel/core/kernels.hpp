// The few lines of C++ that Cython cannot express: sums of rows and the search for the
// best label with vector instructions, hints to the memory system, worker threads.
//
// The kernels come in several forms that give the same integers: plain loops, SSE2,
// which every x86-64 has, and AVX2, which is chosen at run time where it is there.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#if defined(__SSE2__) || defined(_M_X64)
#define DYNSEL_SSE2
#include <emmintrin.h>
#endif
#if defined(DYNSEL_SSE2) && (defined(__GNUC__) || defined(__clang__))
#define DYNSEL_AVX2 __attribute__((target("avx2")))
#include <immintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define DYNSEL_PREFETCH(p) __builtin_prefetch(p)
#else
#define DYNSEL_PREFETCH(p) ((void)(p))
#define __builtin_expect(condition, value) (condition)
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define DYNSEL_HIGH_BYTE_FIRST 1
#else
#define DYNSEL_HIGH_BYTE_FIRST 0
#endif

namespace dynsel {

// Rows of scores are padded to a multiple of this many labels.
constexpr int LANES = 16;

struct Verdict {
    int16_t label;  // the first of the labels that are close to the best one
    int16_t close;  // 1 if it is the only one, more if not, 0 if no label is valid
};

struct Kernels {
    const char* name;
    // sums = rows[0] + ... + rows[n_rows - 1]. The sums may be one of the rows.
    void (*sum_rows)(int16_t* sums, const int16_t* const* rows, int n_rows, int width);
    // Finds the valid labels whose score is above the best valid one minus the margin,
    // which is at least 1. Limits are the largest int16_t where a label is valid, the
    // smallest where it is not, padding included.
    Verdict (*judge)(const int16_t* scores, const int16_t* limits, int width,
                     int margin);
    // sums += rows[0] + ... + rows[n_rows - 1], for rows of bytes.
    void (*add_bytes)(int16_t* sums, const int8_t* const* rows, int n_rows, int width);
};

static inline int16_t threshold_below(int best, int margin) {
    const int lowest = best - margin;
    return static_cast<int16_t>(lowest < INT16_MIN ? INT16_MIN : lowest);
}

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

static inline void sum_rows_plain(int16_t* sums, const int16_t* const* rows, int n_rows,
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

static inline Verdict judge_plain(const int16_t* scores, const int16_t* limits,
                                  int width, int margin) {
    int16_t best = INT16_MIN;
    for (int i = 0; i < width; ++i) {
        const int16_t score = scores[i] < limits[i] ? scores[i] : limits[i];
        best = best > score ? best : score;
    }
    const int16_t threshold = threshold_below(best, margin);
    Verdict verdict{0, 0};
    for (int i = width - 1; i >= 0; --i) {
        if ((scores[i] < limits[i] ? scores[i] : limits[i]) > threshold) {
            verdict.label = static_cast<int16_t>(i);
            ++verdict.close;
        }
    }
    return verdict;
}

static inline void add_bytes_plain(int16_t* sums, const int8_t* const* rows, int n_rows,
                                   int width) {
    for (int start = 0; start < width; start += LANES) {
        int16_t part[LANES];
        std::memcpy(part, sums + start, sizeof(part));
        for (int r = 0; r < n_rows; ++r) {
            const int8_t* row = rows[r] + start;
            for (int i = 0; i < LANES; ++i) part[i] += row[i];
        }
        std::memcpy(sums + start, part, sizeof(part));
    }
}

#if defined(DYNSEL_SSE2)
static inline __m128i load_sse2(const int16_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

static inline void sum_rows_sse2(int16_t* sums, const int16_t* const* rows, int n_rows,
                                 int width) {
    // As many labels at a time as there are registers for.
    constexpr int N = 8;
    int start = 0;
    for (; start + 8 * N <= width; start += 8 * N) {
        __m128i part[N];
        for (int i = 0; i < N; ++i) part[i] = _mm_setzero_si128();
        for (int r = 0; r < n_rows; ++r) {
            const int16_t* row = rows[r] + start;
            for (int i = 0; i < N; ++i)
                part[i] = _mm_add_epi16(part[i], load_sse2(row + 8 * i));
        }
        for (int i = 0; i < N; ++i)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + start + 8 * i), part[i]);
    }
    for (; start < width; start += 8) {
        __m128i part = _mm_setzero_si128();
        for (int r = 0; r < n_rows; ++r)
            part = _mm_add_epi16(part, load_sse2(rows[r] + start));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + start), part);
    }
}

static inline void add_bytes_sse2(int16_t* sums, const int8_t* const* rows, int n_rows,
                                  int width) {
    for (int start = 0; start < width; start += 16) {
        __m128i low = load_sse2(sums + start);
        __m128i high = load_sse2(sums + start + 8);
        for (int r = 0; r < n_rows; ++r) {
            const __m128i row = _mm_loadu_si128(
                reinterpret_cast<const __m128i*>(rows[r] + start));
            // A byte on top of itself, shifted down, is the byte with its sign.
            low = _mm_add_epi16(low, _mm_srai_epi16(_mm_unpacklo_epi8(row, row), 8));
            high = _mm_add_epi16(high, _mm_srai_epi16(_mm_unpackhi_epi8(row, row), 8));
        }
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + start), low);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + start + 8), high);
    }
}

static inline int16_t largest_sse2(__m128i lanes) {
    lanes = _mm_max_epi16(lanes, _mm_shuffle_epi32(lanes, _MM_SHUFFLE(1, 0, 3, 2)));
    lanes = _mm_max_epi16(lanes, _mm_shuffle_epi32(lanes, _MM_SHUFFLE(2, 3, 0, 1)));
    lanes = _mm_max_epi16(lanes, _mm_shufflelo_epi16(lanes, _MM_SHUFFLE(2, 3, 0, 1)));
    return static_cast<int16_t>(_mm_extract_epi16(lanes, 0));
}

static inline void add_to_verdict(Verdict* verdict, unsigned mask, int start) {
    verdict->label = static_cast<int16_t>(start + lowest_bit(mask));
    verdict->close += mask & (mask - 1) ? 2 : 1;
}

static inline Verdict judge_sse2(const int16_t* scores, const int16_t* limits,
                                 int width, int margin) {
    __m128i most = _mm_set1_epi16(INT16_MIN);
    for (int i = 0; i < width; i += 8)
        most = _mm_max_epi16(
            most, _mm_min_epi16(load_sse2(scores + i), load_sse2(limits + i)));
    const __m128i threshold =
        _mm_set1_epi16(threshold_below(largest_sse2(most), margin));
    Verdict verdict{0, 0};
    for (int i = width - 16; i >= 0; i -= 16) {
        const __m128i low = _mm_min_epi16(load_sse2(scores + i), load_sse2(limits + i));
        const __m128i high =
            _mm_min_epi16(load_sse2(scores + i + 8), load_sse2(limits + i + 8));
        const int mask = _mm_movemask_epi8(_mm_packs_epi16(
            _mm_cmpgt_epi16(low, threshold), _mm_cmpgt_epi16(high, threshold)));
        if (mask) add_to_verdict(&verdict, static_cast<unsigned>(mask), i);
    }
    return verdict;
}
#endif

#if defined(DYNSEL_AVX2)
DYNSEL_AVX2 static inline __m256i load_avx2(const int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

DYNSEL_AVX2 static inline void sum_rows_avx2(int16_t* sums, const int16_t* const* rows,
                                             int n_rows, int width) {
    constexpr int N = 4;
    int start = 0;
    for (; start + 16 * N <= width; start += 16 * N) {
        __m256i part[N];
        for (int i = 0; i < N; ++i) part[i] = _mm256_setzero_si256();
        for (int r = 0; r < n_rows; ++r) {
            const int16_t* row = rows[r] + start;
            for (int i = 0; i < N; ++i)
                part[i] = _mm256_add_epi16(part[i], load_avx2(row + 16 * i));
        }
        for (int i = 0; i < N; ++i)
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + start + 16 * i),
                                part[i]);
    }
    for (; start < width; start += 16) {
        __m256i part = _mm256_setzero_si256();
        for (int r = 0; r < n_rows; ++r)
            part = _mm256_add_epi16(part, load_avx2(rows[r] + start));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + start), part);
    }
}

DYNSEL_AVX2 static inline __m256i widen_avx2(const int8_t* from) {
    return _mm256_cvtepi8_epi16(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

DYNSEL_AVX2 static inline void add_bytes_avx2(int16_t* sums, const int8_t* const* rows,
                                              int n_rows, int width) {
    constexpr int N = 4;
    int start = 0;
    for (; start + 16 * N <= width; start += 16 * N) {
        __m256i part[N];
        for (int i = 0; i < N; ++i) part[i] = load_avx2(sums + start + 16 * i);
        for (int r = 0; r < n_rows; ++r)
            for (int i = 0; i < N; ++i)
                part[i] =
                    _mm256_add_epi16(part[i], widen_avx2(rows[r] + start + 16 * i));
        for (int i = 0; i < N; ++i)
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + start + 16 * i),
                                part[i]);
    }
    for (; start < width; start += 16) {
        __m256i part = load_avx2(sums + start);
        for (int r = 0; r < n_rows; ++r)
            part = _mm256_add_epi16(part, widen_avx2(rows[r] + start));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + start), part);
    }
}

DYNSEL_AVX2 static inline Verdict judge_avx2(const int16_t* scores,
                                             const int16_t* limits, int width,
                                             int margin) {
    __m256i most = _mm256_set1_epi16(INT16_MIN);
    for (int i = 0; i < width; i += 16)
        most = _mm256_max_epi16(
            most, _mm256_min_epi16(load_avx2(scores + i), load_avx2(limits + i)));
    const __m256i threshold = _mm256_set1_epi16(threshold_below(
        largest_sse2(_mm_max_epi16(_mm256_castsi256_si128(most),
                                   _mm256_extracti128_si256(most, 1))),
        margin));
    Verdict verdict{0, 0};
    for (int i = width - 16; i >= 0; i -= 16) {
        const __m256i score =
            _mm256_min_epi16(load_avx2(scores + i), load_avx2(limits + i));
        // Two bits a label: one of them is enough.
        const unsigned mask =
            static_cast<unsigned>(
                _mm256_movemask_epi8(_mm256_cmpgt_epi16(score, threshold))) &
            0x55555555u;
        if (mask) {
            add_to_verdict(&verdict, mask, 0);
            verdict.label = static_cast<int16_t>(i + verdict.label / 2);
        }
    }
    return verdict;
}
#endif

constexpr int N_KERNELS = 3;

// The kernels of a kind, 0 being the plain ones, or nullptr if this machine has none.
static inline const Kernels* get_kernels(int kind) {
    static const Kernels plain{"plain", sum_rows_plain, judge_plain, add_bytes_plain};
    if (kind == 0) return &plain;
#if defined(DYNSEL_SSE2)
    static const Kernels sse2{"sse2", sum_rows_sse2, judge_sse2, add_bytes_sse2};
    if (kind == 1) return &sse2;
#endif
#if defined(DYNSEL_AVX2)
    static const Kernels avx2{"avx2", sum_rows_avx2, judge_avx2, add_bytes_avx2};
    if (kind == 2 && __builtin_cpu_supports("avx2")) return &avx2;
#endif
    return nullptr;
}

static inline int best_kind() {
    int kind = N_KERNELS - 1;
    while (get_kernels(kind) == nullptr) --kind;
    return kind;
}

static inline const Kernels* best_kernels() { return get_kernels(best_kind()); }

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

// Calls a function. Returns false if there was not enough memory for it.
template <typename Function, typename... Arguments>
static inline bool call_guarded(Function* function, Arguments... arguments) {
    try {
        function(arguments...);
    } catch (const std::exception&) {
        return false;
    }
    return true;
}

[[noreturn]] static inline void throw_no_memory() { throw std::bad_alloc(); }

// More than exceptions need of a thread's own memory, and more than Python needs.
constexpr size_t FOR_EXCEPTIONS = size_t{1} << 9;
constexpr size_t FOR_PYTHON = size_t{1} << 15;

// What a thread has of its own is made when it is first used, and the process ends if
// there is no memory for it. Looks first whether there is some, and leaves it where the
// next request will find it.
static inline bool has_memory_for_thread(size_t n_bytes) {
    void* volatile room = std::malloc(n_bytes);
    const bool is_there = room != nullptr;
    std::free(room);
    return is_there;
}

// To be called before a thread takes the GIL that Python may not know yet.
static inline void require_memory_for_gil() {
    if (!has_memory_for_thread(FOR_PYTHON)) throw_no_memory();
}

// Runs work(job, i) for i = 0 .. n_threads - 1, number 0 in the calling thread. Where
// the system refuses threads, those that run have to do all the work: workers take
// their tasks from a counter until none is left. Returns false if a worker did not find
// enough memory.
static inline bool run_workers(int n_threads, void (*work)(void*, int), void* job) {
    std::atomic<bool> has_memory{true};
    const auto run = [&has_memory, work, job](int i) {
        if (!has_memory_for_thread(i == 0 ? FOR_EXCEPTIONS : FOR_PYTHON)) {
            // The others do its work, if it is not the last one.
            if (i == 0) has_memory = false;
            return;
        }
        // From here on the thread can throw.
        volatile int n_thrown = std::uncaught_exceptions();
        static_cast<void>(n_thrown);
        if (!call_guarded(work, job, i)) has_memory = false;
    };
    std::vector<std::thread> threads;
    try {
        threads.reserve(static_cast<size_t>(n_threads));
        for (int i = 1; i < n_threads; ++i) threads.emplace_back(run, i);
    } catch (const std::exception&) {
    }
    run(0);
    for (auto& thread : threads) thread.join();
    return has_memory;
}

}  // namespace dynsel
