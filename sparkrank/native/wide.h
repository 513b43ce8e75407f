// Wide rows: the long rows of one group and item, each with the score of one model, become one row.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numbers.h"

class WideRows {
    static constexpr int64_t AHEAD = 64;
    static constexpr int64_t BITS = 64;

    struct Row {
        int64_t item;
        int32_t row;
        uint8_t model;
    };
    struct Slot {
        int64_t item;
        int32_t group;  // slots of other groups are free
        int32_t number;
    };
    std::vector<Row> rows;  // group after group, because the items of a group fit the nearest cache
    std::vector<int32_t> ends;
    std::vector<Slot> slots;
    std::vector<uint64_t> listed;  // for each wide row of a group, a bit for each model
    std::vector<uint8_t> lowest;   // for each wide row of a group, the first of its models

    void bring(
        const int32_t* codes, const int64_t* items, const uint8_t* models, int64_t count, int64_t of_models,
        int64_t groups
    ) {
        std::vector<int32_t> next(groups, 0);
        int64_t long_rows = 0;
        for (int64_t row = 0; row < count; row++) {
            const bool is_long = models[row] < of_models;
            next[codes[row]] += is_long;
            long_rows += is_long;
        }
        int32_t before = 0;
        for (int32_t& size : next) {
            const int32_t start = before;
            before += size;
            size = start;
        }
        rows.resize(long_rows);
        for (int64_t row = 0; row < count; row++) {
            const int64_t coming = next[codes[std::min(row + AHEAD, count - 1)]];
            __builtin_prefetch(rows.data() + std::min(coming, long_rows), 1);
            if (models[row] < of_models) rows[next[codes[row]]++] = {items[row], (int32_t)row, models[row]};
        }
        ends.swap(next);
    }

  public:
    bool repeats = false;  // whether a model lists an item of a group twice

    // Fill in the number of the wide row of each of `count` rows that has a model below `of_models`, and the `first` row
    // of each wide row, which is that of its first model. The numbers ascend from group to group. Returns how many there
    // are.
    int32_t number(
        const int32_t* codes, const int64_t* items, const uint8_t* models, int64_t count, int64_t of_models,
        int64_t groups, int32_t* numbers, int64_t* first
    ) {
        bring(codes, items, models, count, of_models, groups);
        const int64_t words = (of_models + BITS - 1) / BITS;
        int32_t distinct = 0;
        int64_t start = 0;
        for (int64_t group = 0; group < groups; start = ends[group++]) {
            const int32_t before = distinct;
            int bits = 1;
            while ((INT64_C(1) << bits) < 2 * (ends[group] - start)) bits++;
            if (slots.size() < (size_t)1 << bits) slots.assign((size_t)1 << bits, Slot{0, -1, 0});
            listed.assign(words * (ends[group] - start), 0);
            lowest.resize(ends[group] - start);
            const uint64_t mask = (UINT64_C(1) << bits) - 1;
            for (int64_t place = start; place < ends[group]; place++) {
                const Row& row = rows[place];
                uint64_t at = hash_of(row.item) >> (64 - bits);
                while (slots[at].group == group && slots[at].item != row.item) at = (at + 1) & mask;
                const bool is_new = slots[at].group != group;
                if (is_new) slots[at] = {row.item, (int32_t)group, distinct++};
                const int32_t number = slots[at].number, inside = number - before;
                numbers[row.row] = number;
                if (is_new || row.model < lowest[inside]) {
                    lowest[inside] = row.model;
                    first[number] = row.row;
                }
                uint64_t& word = listed[words * inside + row.model / BITS];
                const uint64_t bit = UINT64_C(1) << row.model % BITS;
                repeats |= (word & bit) != 0;
                word |= bit;
            }
        }
        return distinct;
    }
};
