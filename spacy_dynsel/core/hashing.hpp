// The only definition of how values become keys; training and prediction share it.
//
// Model files depend on every line: a change here needs a new format version.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dynsel {

static inline uint64_t mix(uint64_t state, uint64_t value) {
    state = (state ^ value) * 0x9E3779B97F4A7C15u;
    return state ^ (state >> 32);
}

static inline uint32_t finish(uint64_t state) {
    return static_cast<uint32_t>((state * 0xD6E8FEB86659FD93u) >> 32);
}

static inline uint32_t fold(uint64_t value) {
    return static_cast<uint32_t>((value * 0x9E3779B97F4A7C15u) >> 32);
}

// FNV-1a: made for the few bytes of an affix or an atom's name.
static inline uint64_t hash_bytes(const unsigned char* data, size_t n) {
    uint64_t state = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; ++i) state = (state ^ data[i]) * 0x100000001B3u;
    return state;
}

}  // namespace dynsel
