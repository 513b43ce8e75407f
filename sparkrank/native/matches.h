// A look-up of the items of a truth among the items of lists, group by group, because a group fits the nearest cache.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numbers.h"
#include "vectors.h"

// The fate of a row of the truth: another row with the same item counts instead or the row has no label (BEATEN), a
// list has its item (LISTED), or no list has its item (UNLISTED).
enum Fate : uint8_t { BEATEN = 0, LISTED = 1, UNLISTED = 2 };

// The number of equal pairs among `rows` items, each pair counted once. There is room for three more items.
WIDEST static inline int64_t equal_pairs(const int64_t* items, int64_t rows) {
    SomeWhole equal = {}, some;
    for (int64_t row = 0; row < rows; row++) {
        const SomeWhole same = items[row] - (SomeWhole){};
        int64_t other = row + 1;
        for (; other + SOME <= rows; other += SOME) {
            std::memcpy(&some, items + other, sizeof(some));
            equal -= some == same;
        }
        for (; other < rows; other++) equal[0] += items[other] == items[row];
    }
    return total(equal);
}

// The index of `item` among `rows` items, in which it occurs at most once, or -1.
WIDEST static inline int64_t place_among(const int64_t* items, int64_t rows, int64_t item) {
    const SomeWhole same = item - (SomeWhole){};
    SomeWhole found = {}, some, places;
    for (int64_t lane = 0; lane < SOME; lane++) places[lane] = lane + 1;
    int64_t row = 0;
    for (; row + SOME <= rows; row += SOME) {
        std::memcpy(&some, items + row, sizeof(some));
        found += (some == same) & places;
        places += SOME;
    }
    int64_t place = total(found);
    for (; row < rows; row++) {
        if (items[row] == item) place = row + 1;
    }
    return place - 1;
}

class Matches {
    static constexpr int64_t FEW = 48;  // items of a group's list, and of its truth, that are compared one by one
    static constexpr int64_t AHEAD = 64;
    static constexpr size_t MOST_KEPT = 1 << 22;

    struct Slot {
        int64_t item;
        int32_t group;  // slots of other groups are free
        int32_t listed, given;  // the index of the item in the list, and its row in the truth, or -1
        int32_t number;         // the number shared by list rows with this item (twins), or -1
    };
    std::vector<Slot> slots;
    std::vector<int32_t> taken;  // the slots of a group

    // The rows of one side (the lists or the truth), group after group.
    struct Side {
        std::vector<int32_t> start;  // the first row of each group, and the number of rows
        std::vector<int64_t> room;
        std::vector<int32_t> row;
        const int64_t* items = nullptr;
        bool in_turn = true;  // whether rows are already group after group

        int32_t at(int64_t place) const { return in_turn ? (int32_t)place : row[place]; }

        void bring(const int32_t* codes, const int64_t* of_rows, int64_t rows, int64_t groups) {
            start.assign(groups + 1, 0);
            for (int64_t each = 0; each < rows; each++) {
                start[codes[each] + 1]++;
                in_turn &= each == 0 || codes[each] >= codes[each - 1];
            }
            for (int64_t group = 0; group < groups; group++) start[group + 1] += start[group];
            items = of_rows;
            if (in_turn) return;
            room.resize(rows);
            row.resize(rows);
            std::vector<int32_t> next(start.begin(), start.end() - 1);
            for (int64_t each = 0; each < rows; each++) {
                const int32_t coming = next[codes[std::min(each + AHEAD, rows - 1)]];
                __builtin_prefetch(&room[std::min((int64_t)coming, rows - 1)], 1);
                __builtin_prefetch(&row[std::min((int64_t)coming, rows - 1)], 1);
                const int32_t place = next[codes[each]]++;
                room[place] = of_rows[each];
                row[place] = (int32_t)each;
            }
            items = room.data();
        }
    };
    Side lists, truth;
    int32_t count = 0;  // items that several list rows of a group share

    // Whether row `one` of the truth counts instead of row `other` with the same item: it has the higher grade, or is
    // the later row.
    static bool beats(const double* grades, int32_t one, int32_t other) {
        return grades[one] > grades[other] || (grades[one] == grades[other] && one > other);
    }

    void compare(int64_t group, const double* grades, int32_t* given, uint8_t* fates) {
        const int64_t first = lists.start[group], rows = lists.start[group + 1] - first;
        const int64_t from = truth.start[group], to = truth.start[group + 1];
        const bool are_distinct = equal_pairs(lists.items + first, rows) == 0;
        if (!are_distinct) name_twins(first, rows);
        for (int64_t each = from; each < to; each++) {
            const int32_t row = truth.at(each);
            if (grades[row] != grades[row]) continue;  // has no label
            bool is_beaten = false, is_overruled = false;
            for (int64_t other = from; other < to; other++) {
                const int32_t its = truth.at(other);
                if (truth.items[other] != truth.items[each] || its == row || grades[its] != grades[its]) continue;
                is_beaten |= beats(grades, its, row);
                is_overruled |= grades[its] > grades[row];
            }
            overruled += is_overruled;
            if (is_beaten) continue;
            fates[row] = UNLISTED;
            if (are_distinct) {
                const int64_t place = place_among(lists.items + first, rows, truth.items[each]);
                if (place < 0) continue;
                fates[row] = LISTED;
                given[lists.at(first + place)] = row;
            } else {
                for (int64_t place = first; place < first + rows; place++) {
                    if (lists.items[place] != truth.items[each]) continue;
                    fates[row] = LISTED;
                    given[lists.at(place)] = row;
                }
            }
        }
    }

    void name_twin(int64_t place, int32_t number) {
        twins.push_back(lists.at(place));
        numbers.push_back(number);
    }

    void name_twins(int64_t first, int64_t rows) {
        for (int64_t row = first; row < first + rows; row++) {
            const int64_t item = lists.items[row];
            bool is_first = true, is_named = false;
            for (int64_t before = first; before < row; before++) is_first &= lists.items[before] != item;
            if (!is_first) continue;
            for (int64_t other = row + 1; other < first + rows; other++) {
                if (lists.items[other] != item) continue;
                if (!is_named) name_twin(row, count);
                is_named = true;
                name_twin(other, count);
            }
            count += is_named;
        }
    }

    Slot& slot_of(int64_t item, int32_t group, int bits) {
        const uint64_t mask = (UINT64_C(1) << bits) - 1;
        uint64_t at = hash_of(item) >> (64 - bits);
        while (slots[at].group == group && slots[at].item != item) at = (at + 1) & mask;
        if (slots[at].group != group) {
            slots[at] = {item, group, -1, -1, -1};
            taken.push_back((int32_t)at);
        }
        return slots[at];
    }

    void look_up(int64_t group, const double* grades, int32_t* given, uint8_t* fates) {
        const int64_t first = lists.start[group], end = lists.start[group + 1];
        const int64_t from = truth.start[group], to = truth.start[group + 1];
        int bits = 1;
        while ((INT64_C(1) << bits) < 2 * (end - first + to - from)) bits++;
        if (slots.size() < (size_t)1 << bits) slots.assign((size_t)1 << bits, Slot{0, -1, -1, -1, -1});
        taken.clear();
        const int32_t before = count;
        for (int64_t each = first; each < end; each++) {
            Slot& slot = slot_of(lists.items[each], (int32_t)group, bits);
            if (slot.listed >= 0) {
                if (slot.number < 0) {
                    slot.number = count++;
                    name_twin(slot.listed, slot.number);
                }
                name_twin(each, slot.number);
            }
            slot.listed = (int32_t)each;
        }
        for (int64_t each = from; each < to; each++) {
            const int32_t row = truth.at(each);
            if (grades[row] != grades[row]) continue;
            Slot& slot = slot_of(truth.items[each], (int32_t)group, bits);
            if (slot.given < 0 || beats(grades, row, slot.given)) slot.given = row;
        }
        for (int64_t each = from; each < to; each++) {
            const int32_t row = truth.at(each);
            if (grades[row] != grades[row]) continue;
            overruled += grades[slot_of(truth.items[each], (int32_t)group, bits).given] > grades[row];
        }
        for (const int32_t at : taken) {
            const Slot& slot = slots[at];
            if (slot.given < 0) continue;
            fates[slot.given] = slot.listed < 0 ? UNLISTED : LISTED;
            if (slot.listed >= 0) given[lists.at(slot.listed)] = slot.given;
        }
        if (count == before) return;
        for (int64_t each = first; each < end; each++) {
            given[lists.at(each)] = slot_of(lists.items[each], (int32_t)group, bits).given;
        }
    }

  public:
    // The instance of this thread. New memory for each bucket would cost time, as the system fills it with zeros.
    static Matches& of_thread() {
        static thread_local Matches of_this;
        return of_this;
    }

    // Reset this to its initial state, but keep the memory of a usual bucket.
    void forget() {
        for (Side* side : {&lists, &truth}) {
            side->in_turn = true;
            if (side->room.capacity() > MOST_KEPT) *side = Side();
        }
        if (slots.capacity() > MOST_KEPT) slots = std::vector<Slot>();
        for (Slot& slot : slots) slot.group = -1;
        twins.clear();
        numbers.clear();
        count = 0;
        overruled = joined = 0;
    }

    int64_t overruled = 0;                // rows of the truth with a lower label than another row of the same item
    int64_t joined = 0;                   // groups with rows of both lists and truth
    std::vector<int32_t> twins, numbers;  // list rows that share an item in a group, and a number for each such item

    // Fill in, for each row of the lists, the row of the truth that gives its label, or -1, and the fate of each row of
    // the truth. Rows of the truth without a label have the grade NaN.
    void find(
        const int32_t* list_codes, const int64_t* list_items, int64_t rows, const int32_t* truth_codes,
        const int64_t* truth_items, const double* grades, int64_t true_rows, int64_t groups, int32_t* given,
        uint8_t* fates
    ) {
        std::fill(given, given + rows, -1);
        std::fill(fates, fates + true_rows, BEATEN);
        lists.bring(list_codes, list_items, rows, groups);
        truth.bring(truth_codes, truth_items, true_rows, groups);
        for (int64_t group = 0; group < groups; group++) {
            const bool are_few = lists.start[group + 1] - lists.start[group] <= FEW &&
                                 truth.start[group + 1] - truth.start[group] <= FEW;
            joined += lists.start[group + 1] > lists.start[group] && truth.start[group + 1] > truth.start[group];
            if (are_few) {
                compare(group, grades, given, fates);
            } else {
                look_up(group, grades, given, fates);
            }
        }
    }
};
