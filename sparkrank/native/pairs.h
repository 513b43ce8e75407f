// Pairs of keys as one value that can be numbered.

#pragma once

#include <cstdint>

struct Pair {
    int64_t one, other;
    bool operator==(const Pair& that) const { return one == that.one && other == that.other; }
};

// Both keys are mixed into the upper bits, because either key may be the one that distinguishes rows.
static inline uint64_t hash_of(const Pair& pair) {
    const uint64_t other = (uint64_t)pair.other * UINT64_C(0xC2B2AE3D27D4EB4F);
    return ((uint64_t)pair.one + (other ^ other >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
}
