// The few lines of C++ that Cython cannot express: hints to the memory system, sums
// of rows that the compiler turns into vector code, and worker threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__GNUC__) || defined(__clang__)
#define DYNSEL_PREFETCH(p) __builtin_prefetch(p)
#else
#define DYNSEL_PREFETCH(p) ((void)(p))
#endif

namespace dynsel {

// Rows of scores are padded to a multiple of this many labels.
constexpr int LANES = 16;

struct Verdict {
    int16_t best;   // the best score
    int16_t label;  // the first label that has it
    int16_t close;  // how many labels are above the threshold, the best one included
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

// The best label that `limits` lets through. Limits are the largest int16_t where a
// label is valid, the smallest where it is not, padding included.
static inline Verdict judge_plainly(const int16_t* scores, const int16_t* limits,
                                    int width, int margin) {
    Verdict verdict{INT16_MIN, 0, 0};
    for (int i = width - 1; i >= 0; --i) {
        int16_t score = scores[i] < limits[i] ? scores[i] : limits[i];
        if (score >= verdict.best) {
            verdict.best = score;
            verdict.label = static_cast<int16_t>(i);
        }
    }
    for (int i = 0; i < width; ++i) {
        int16_t score = scores[i] < limits[i] ? scores[i] : limits[i];
        verdict.close += score > verdict.best - margin && score > INT16_MIN;
    }
    return verdict;
}

#if defined(__GNUC__) || defined(__clang__)
// The same with vectors, as GCC and Clang know them on any machine.
constexpr int VECTOR = 8;
typedef int16_t lanes_t __attribute__((vector_size(2 * VECTOR)));

static inline lanes_t load_lanes(const int16_t* from) {
    lanes_t lanes;
    std::memcpy(&lanes, from, sizeof(lanes));
    return lanes;
}

static inline Verdict judge(const int16_t* scores, const int16_t* limits, int width,
                            int margin) {
    const lanes_t zero = {0};
    const lanes_t iota = {0, 1, 2, 3, 4, 5, 6, 7};
    lanes_t most = zero + INT16_MIN;
    for (int start = 0; start < width; start += VECTOR) {
        lanes_t score = load_lanes(scores + start), limit = load_lanes(limits + start);
        score = score < limit ? score : limit;
        most = most > score ? most : score;
    }
    Verdict verdict{INT16_MIN, INT16_MAX, 0};
    for (int i = 0; i < VECTOR; ++i)
        verdict.best = verdict.best > most[i] ? verdict.best : most[i];
    const int lowest = verdict.best - margin;
    const lanes_t best = zero + verdict.best;
    const lanes_t threshold =
        zero + static_cast<int16_t>(lowest < INT16_MIN ? INT16_MIN : lowest);
    lanes_t first = zero + INT16_MAX, above = zero;
    for (int start = 0; start < width; start += VECTOR) {
        lanes_t score = load_lanes(scores + start), limit = load_lanes(limits + start);
        score = score < limit ? score : limit;
        lanes_t label = (iota + static_cast<int16_t>(start)) | ~(score == best);
        // Where the score is not the best one, all bits are set: the largest number
        // once the sign is cut off.
        label &= INT16_MAX;
        first = first < label ? first : label;
        above -= score > threshold;
    }
    for (int i = 0; i < VECTOR; ++i) {
        verdict.label = verdict.label < first[i] ? verdict.label : first[i];
        verdict.close += above[i];
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
