// Groups that no sum over hits tells apart: they have as many rows, no two with one score, and hits where the other has.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

// What is the same in all groups of a kind: its rows, and where hits stand among the first 64 positions as bits, the
// first position as the highest.
struct Likeness {
    uint64_t hits;
    int64_t rows;

    bool operator==(const Likeness& other) const { return hits == other.hits && rows == other.rows; }
};

// Kinds numbered from 0 in order of first occurrence, by a table with open addresses.
class Kinds {
    // Groups that are looked up before any of them is looked at again: which are not where they belong, or are the first
    // of their kind, no processor can foresee.
    static constexpr int64_t BLOCK = 128;
    static constexpr int FEWEST_BITS = 10;  // of the first table: it grows with the kinds that are found
    std::vector<int32_t> table;
    int bits = FEWEST_BITS;

    size_t first_place(const Likeness& like) const {
        const uint64_t word = (like.hits ^ (uint64_t)like.rows) * UINT64_C(0x9E3779B97F4A7C15);
        return (word ^ word >> 32) * UINT64_C(0xD6E8FEB86659FD93) >> (64 - bits);
    }

    size_t place(const Likeness& like) const {
        size_t at = first_place(like);
        while (table[at] >= 0 && !(kinds[table[at]] == like)) at = (at + 1) & (((size_t)1 << bits) - 1);
        return at;
    }

    void grow() {
        bits += 2;
        table.assign((size_t)1 << bits, -1);
        for (size_t kind = 0; kind < kinds.size(); kind++) table[place(kinds[kind])] = (int32_t)kind;
    }

  public:
    std::vector<Likeness> kinds;
    std::vector<int32_t> first;  // group of each kind

    // The `kind` of each of `count` groups.
    void number(const Likeness* groups, int64_t count, int32_t* kind) {
        const Likeness nothing = {};
        int32_t unsure[BLOCK];
        table.assign((size_t)1 << bits, -1);
        for (int64_t start = 0; start < count; start += BLOCK) {
            const int64_t size = std::min(BLOCK, count - start);
            const Likeness* known = kinds.empty() ? &nothing : kinds.data();
            int64_t missed = 0;
            for (int64_t group = start; group < start + size; group++) {
                const int32_t found = kind[group] = table[first_place(groups[group])];
                unsure[missed] = (int32_t)group;
                missed += (found < 0) | !(known[std::max(found, 0)] == groups[group]);
            }
            for (int64_t each = 0; each < missed; each++) {
                const int32_t group = unsure[each];
                const size_t at = place(groups[group]);
                if (table[at] < 0) {
                    table[at] = (int32_t)kinds.size();
                    kinds.push_back(groups[group]);
                    first.push_back(group);
                }
                kind[group] = table[at];
                if (2 * kinds.size() > table.size()) grow();
            }
        }
    }
};
