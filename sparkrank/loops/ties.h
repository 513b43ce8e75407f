// Which rows of a group have the score of another.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "vectors.h"

class Ties {
    static constexpr int64_t MOST_BY_BITS = 1024;  // rows; the bits of more leave the nearest cache
    static constexpr int64_t ROOM = 4;             // slots of the table for each row

    struct Slot {
        uint64_t bits;
        int32_t group;  // others' slots are free
        int32_t rows;
    };
    std::vector<Slot> slots;
    std::vector<uint64_t> seen;
    std::vector<int32_t> unsure;
    int32_t group = 0;

    static uint64_t hash(double score) {
        uint64_t word;
        score += 0.0;  // of -0.0 it makes 0.0
        std::memcpy(&word, &score, sizeof(word));
        return word * UINT64_C(0x9E3779B97F4A7C15);
    }

    // Whether no two of `rows` scores are equal
    bool differ(const double* scores, int64_t rows) {
        const int bits = 70 - __builtin_clzll((uint64_t)rows);  // 64 to 128 for each row
        int64_t met = 0;
        for (int64_t row = 0; row < rows; row++) {
            const uint64_t at = hash(scores[row]) >> (64 - bits);
            uint64_t& word = seen[at >> 6];
            const uint64_t was = word;
            unsure[met] = (int32_t)row;
            met += (was >> (at & 63)) & 1;
            word = was | UINT64_C(1) << (at & 63);
        }
        std::fill(seen.begin(), seen.begin() + (INT64_C(1) << (bits - 6)), 0);
        for (int64_t each = 0; each < met; each++) {
            int64_t above, beside;
            compare(scores, (rows + 3) & ~INT64_C(3), scores[unsure[each]], &above, &beside);
            if (beside > 1) return false;
        }
        return true;
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
        seen.assign(2 * MOST_BY_BITS, 0);
        unsure.resize(MOST_BY_BITS + 1);
    }

    // How many of `rows` scores are equal to another. There is room for a multiple of four, filled up with NaN.
    int64_t count(const double* scores, int64_t rows) {
        return rows <= MOST_BY_BITS && differ(scores, rows) ? 0 : by_hashes(scores, rows);
    }
};
