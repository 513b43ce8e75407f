// Groups that no sum over hits tells apart: they have as many rows, no two with one score, and hits where the other has.

#pragma once

#include <cstdint>

// What is the same in all groups that share a list: its rows, and where hits stand among the first 64 positions as bits, the
// first position as the highest.
struct Likeness {
    uint64_t hits;
    int64_t rows;

    bool operator==(const Likeness& other) const { return hits == other.hits && rows == other.rows; }
};

static inline uint64_t hash_of(const Likeness& like) {
    const uint64_t word = (like.hits ^ (uint64_t)like.rows) * UINT64_C(0x9E3779B97F4A7C15);
    return (word ^ word >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}
