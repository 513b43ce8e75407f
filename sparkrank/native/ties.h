// Counts of rows that have the same score as another row of their group.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lists.h"
#include "vectors.h"

// Whether all of `rows` scores differ. Each block of four scores is compared with itself and with all later scores, so
// every score equals itself once.
WIDEST static inline bool all_differ(const double* scores, int64_t rows) {
    Some some;
    SomeWhole equal = {};
    for (int64_t first = 0; first < rows; first += 4) {
        const Some one = scores[first] - (Some){}, two = scores[first + 1] - (Some){};
        const Some three = scores[first + 2] - (Some){}, four = scores[first + 3] - (Some){};
        SomeWhole like_one = {}, like_two = {}, like_three = {}, like_four = {};
        for (int64_t row = first; row < padded(rows); row += SOME) {
            std::memcpy(&some, scores + row, sizeof(some));
            like_one -= some == one;
            like_two -= some == two;
            like_three -= some == three;
            like_four -= some == four;
        }
        equal += (like_one + like_two) + (like_three + like_four);
    }
    return total(equal) == rows;
}

class Ties {
    // Groups of up to this many rows are compared in pairs. For 20 million rows this takes 0.018 s, against 0.022 s for
    // up to 16 rows, and 0.029 s without pairs. With vectors of two, pairs and bits are equally fast at 24 rows.
    static constexpr int64_t MOST_IN_PAIRS = 8 * SOME;
    // Groups of up to this many rows are checked by bits. Without pairs, the pass took 0.152 s, against 0.155 s for up
    // to 64 rows. The bits of longer groups would not fit the nearest cache.
    static constexpr int64_t MOST_BY_BITS = 1024;
    static constexpr int BITS_A_ROW = 6;  // at least 2^6 bits for each row
    static constexpr int64_t ROOM = 4;    // slots of the table for each row

    struct Slot {
        uint64_t word;
        int32_t group;  // slots of other groups are free
        int32_t rows;
    };
    std::vector<uint64_t> seen;  // all bits are cleared between two groups
    std::vector<int32_t> unsure;
    std::vector<Slot> slots;
    int32_t group = 0;

    static uint64_t word_of(double score) {
        uint64_t word;
        score += 0.0;  // turns -0.0 into 0.0
        std::memcpy(&word, &score, sizeof(word));
        return word;
    }

    // The upper `bits` of a hash.
    static uint64_t hash(uint64_t word, int bits) { return (word * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits); }

    // Whether all of `rows` scores (at least one) differ. Only scores that hash to the bit of an earlier score, a few
    // in a hundred, are compared with all scores.
    bool differ(const double* scores, int64_t rows) {
        const int bits = BITS_A_ROW + 64 - __builtin_clzll((uint64_t)rows);
        uint64_t* words = seen.data();
        int32_t* rows_met = unsure.data();
        int64_t met = 0;
        for (int64_t row = 0; row < rows; row++) {
            const uint64_t at = hash(word_of(scores[row]), bits);
            uint64_t& word = words[at / 64];
            const uint64_t was = word;
            rows_met[met] = (int32_t)row;
            met += (was >> at % 64) & 1;
            word = was | UINT64_C(1) << at % 64;
        }
        std::fill(seen.begin(), seen.begin() + (INT64_C(1) << bits) / 64, 0);
        for (int64_t each = 0; each < met; each++) {
            int64_t above, beside;
            compare(scores, padded(rows), scores[unsure[each]], &above, &beside);
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
            const uint64_t word = word_of(scores[row]);
            uint64_t at = hash(word, bits);
            while (slots[at].group == group && slots[at].word != word) at = (at + 1) & mask;
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
    // Allocate memory for groups of up to `longest` rows.
    void prepare(int64_t longest) {
        size_t size = 1;
        while ((int64_t)size < ROOM * longest) size *= 2;
        slots.assign(size, Slot{});
        seen.assign((MOST_BY_BITS << (BITS_A_ROW + 1)) / 64, 0);
        unsure.resize(MOST_BY_BITS);
    }

    // The number of `rows` scores that equal another score. The scores are padded with NaN to a multiple of four.
    int64_t count(const double* scores, int64_t rows) {
        const bool are_few = rows <= MOST_IN_PAIRS;
        if (are_few ? all_differ(scores, rows) : rows <= MOST_BY_BITS && differ(scores, rows)) return 0;
        return by_hashes(scores, rows);
    }
};
