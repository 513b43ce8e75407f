// Which rows of a group have the score of another.

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "vectors.h"

class Ties {
    static constexpr int64_t SMALL = 32;  // rows of which all pairs are compared; of more, a hash table takes less
    static constexpr int64_t ROOM = 4;    // slots of the table for each row

    struct Slot {
        uint64_t bits;
        int32_t group;  // others' slots are free
        int32_t rows;
    };
    std::vector<Slot> slots;
    int32_t group = 0;

    // The equal among `rows` scores and themselves, some of them twice: `rows` if and only if no two are equal.
    static int64_t equals(const double* scores, int64_t rows) {
        Two one, two;
        TwoWhole equal = {}, equal2 = {};
        for (int64_t row = 0; row < rows; row++) {
            const Two same = {scores[row], scores[row]};
            for (int64_t other = row & ~INT64_C(3); other < rows; other += 4) {
                std::memcpy(&one, scores + other, sizeof(one));
                std::memcpy(&two, scores + other + 2, sizeof(two));
                equal -= one == same;
                equal2 -= two == same;
            }
        }
        equal += equal2;
        return equal[0] + equal[1];
    }

    int64_t by_hashes(const double* scores, int64_t rows) {
        int bits = 1;
        while ((INT64_C(1) << bits) < ROOM * rows) bits++;
        const uint64_t mask = (UINT64_C(1) << bits) - 1;
        int64_t tied = 0;
        group++;
        for (int64_t row = 0; row < rows; row++) {
            const double score = scores[row] + 0.0;  // of -0.0 it makes 0.0
            uint64_t word;
            std::memcpy(&word, &score, sizeof(word));
            uint64_t at = (word * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
            while (slots[at].group == group && slots[at].bits != word) at = (at + 1) & mask;
            Slot& slot = slots[at];
            if (slot.group != group) {
                slot = {word, group, 1};
            } else {
                tied += ++slot.rows == 2 ? 2 : 1;
            }
        }
        return tied;
    }

  public:
    // Make room for groups of up to `longest` rows.
    void prepare(int64_t longest) {
        size_t size = 1;
        while ((int64_t)size < ROOM * longest) size *= 2;
        slots.assign(size, Slot{});
    }

    // How many of `rows` scores are equal to another. There is room for a multiple of four, filled up with NaN.
    int64_t count(const double* scores, int64_t rows) {
        return rows <= SMALL && equals(scores, rows) == rows ? 0 : by_hashes(scores, rows);
    }
};
