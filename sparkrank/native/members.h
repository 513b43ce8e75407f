// Which rows have a pair of group and item that stands in a table of such pairs, which may name a pair twice.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numbers.h"
#include "vectors.h"

class Members {
    static constexpr int64_t FEW = 256;  // items of a group that are compared one by one; more are sorted
    static constexpr int64_t AHEAD = 32;
    static constexpr size_t MOST_KEPT = 1 << 22;

    static constexpr int64_t WORDS = 4;  // 256 bits of each group: 20 items leave 12 of 13 others to be told apart

    std::vector<int64_t> items;  // those of the table, group after group
    std::vector<uint64_t> bits;  // a Bloom filter for each group: most rows need not be compared with its items
    std::vector<int32_t> start;  // the first item of each group, and the number of items

    template <typename Word> static Word& word_of(Word* bits, int64_t group, int64_t item) {
        return bits[WORDS * group + (int64_t)(hash_of(item) >> 62)];
    }

    static uint64_t bit_of(int64_t item) { return UINT64_C(1) << (hash_of(item) >> 56 & 63); }

    void bring(const int32_t* codes, const int64_t* of_pairs, int64_t pairs, int64_t groups) {
        start.assign(groups + 2, 0);
        items.resize(pairs);
        bits.assign(WORDS * groups, 0);
        for (int64_t pair = 0; pair < pairs; pair++) start[codes[pair] + 2]++;
        for (int64_t group = 1; group <= groups; group++) start[group + 1] += start[group];
        int32_t* const next = start.data() + 1;  // at the end each group's is the start of the next group
        for (int64_t pair = 0; pair < pairs; pair++) {
            const int64_t coming = next[codes[std::min(pair + AHEAD, pairs - 1)]];
            __builtin_prefetch(&items[std::min(coming, pairs - 1)], 1);
            items[next[codes[pair]]++] = of_pairs[pair];
            word_of(bits.data(), codes[pair], of_pairs[pair]) |= bit_of(of_pairs[pair]);
        }
        for (int64_t group = 0; group < groups; group++) {
            if (start[group + 1] - start[group] <= FEW) continue;
            std::sort(items.begin() + start[group], items.begin() + start[group + 1]);
        }
    }

    WIDEST static void flag(
        const int32_t* codes, const int64_t* of_rows, int64_t rows, const int64_t* items, const int32_t* start,
        const uint64_t* bits, uint8_t* flags
    ) {
        for (int64_t row = 0; row < rows; row++) {
            const int64_t item = of_rows[row];
            __builtin_prefetch(bits + WORDS * codes[std::min(row + AHEAD, rows - 1)]);
            flags[row] = 0;
            if (!(word_of(bits, codes[row], item) & bit_of(item))) continue;
            const int64_t first = start[codes[row]], end = start[codes[row] + 1];
            if (end - first > FEW) {
                flags[row] = std::binary_search(items + first, items + end, item);
                continue;
            }
            const SomeWhole same = item - (SomeWhole){};
            SomeWhole equal = {}, some;
            int64_t place = first;
            for (; place + SOME <= end; place += SOME) {
                std::memcpy(&some, items + place, sizeof(some));
                equal -= some == same;
            }
            int64_t found = total(equal);
            for (; place < end; place++) found += items[place] == item;
            flags[row] = found > 0;
        }
    }

  public:
    // The instance of this thread, which keeps the memory of a usual bucket.
    static Members& of_thread() {
        static thread_local Members of_this;
        return of_this;
    }

    // Flag the rows whose group and item are those of one of the pairs. All codes are below `groups`.
    void find(
        const int32_t* codes, const int64_t* of_rows, int64_t rows, const int32_t* codes_of_pairs,
        const int64_t* items_of_pairs, int64_t pairs, int64_t groups, uint8_t* flags
    ) {
        bring(codes_of_pairs, items_of_pairs, pairs, groups);
        flag(codes, of_rows, rows, items.data(), start.data(), bits.data(), flags);
        if (std::max(items.capacity(), bits.capacity()) > MOST_KEPT) *this = Members();
    }
};
