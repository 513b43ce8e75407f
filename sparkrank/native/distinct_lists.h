// Groups whose sums over hits are all equal: they have the same number of rows, no equal scores, and hits at the same
// positions.

#pragma once

#include <cstdint>

// What all groups that share a list have in common: the rows, and the hits among the first 64 positions as bits, the
// first position as the highest bit.
struct Likeness {
    uint64_t hits;
    int64_t rows;

    bool operator==(const Likeness& other) const { return hits == other.hits && rows == other.rows; }
};

static inline uint64_t hash_of(const Likeness& like) {
    const uint64_t word = (like.hits ^ (uint64_t)like.rows) * UINT64_C(0x9E3779B97F4A7C15);
    return (word ^ word >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}
