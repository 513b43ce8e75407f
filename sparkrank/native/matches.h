// A look-up of the items of a truth among the items of lists, group by group, because a group fits the nearest cache.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numbers.h"

// The fate of a row of the truth: another row with the same item counts instead or the row has no label (BEATEN), a
// list has its item (LISTED), or no list has its item (UNLISTED).
enum Fate : uint8_t { BEATEN = 0, LISTED = 1, UNLISTED = 2 };

class Matches {
    // The places of the items of a group, by the hashes of the items.
    struct Slots {
        int32_t* slots;
        const int64_t* items;
        uint64_t mask;
        int shift;
        int32_t first;  // places below are of earlier groups

        // The slot with the place of `item` or, if the group has no such item yet, a slot with a place below `first`.
        int32_t& of(int64_t item) const {
            uint64_t at = hash_of(item) >> shift;
            while (slots[at] >= first && items[slots[at]] != item) at = (at + 1) & mask;
            return slots[at];
        }
    };

    static constexpr int64_t AHEAD = 64;
    static constexpr size_t MOST_KEPT = 1 << 22;

    // The rows of one side (the lists or the truth), group after group, and the items of one group by their hashes.
    struct Side {
        static constexpr int LEAST_BITS = 10;  // 4 KiB of slots, of which a list of 20 rows takes one in fifty
        static constexpr int64_t SLOTS = 4;    // for each row of a longer list

        std::vector<int32_t> start;  // the first row of each group, and the number of rows
        std::vector<int64_t> room;
        std::vector<int32_t> row;
        const int64_t* items = nullptr;
        bool in_turn = true;  // whether rows are already group after group

        std::vector<int32_t> slots;  // of a group at a time, and never cleared, as places of later groups are higher

        int32_t at(int64_t place) const { return in_turn ? (int32_t)place : row[place]; }

        void bring(const int32_t* codes, const int64_t* of_rows, int64_t rows, int64_t groups) {
            start.assign(groups + 1, 0);
            for (int64_t each = 0; each < rows;) {  // row by row, each would wait until the count before it is stored
                const int32_t code = codes[each];
                const int64_t before = each++;
                while (each < rows && codes[each] == code) each++;
                start[code + 1] += (int32_t)(each - before);
                in_turn &= before == 0 || code > codes[before - 1];
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

        Slots slots_of(int64_t group) {
            int bits = LEAST_BITS;
            while ((INT64_C(1) << bits) < SLOTS * (start[group + 1] - start[group])) bits++;
            if (slots.size() < (size_t)1 << bits) slots.resize((size_t)1 << bits, -1);
            return {slots.data(), items, (UINT64_C(1) << bits) - 1, 64 - bits, start[group]};
        }

        void forget() {
            in_turn = true;
            if (room.capacity() > MOST_KEPT || slots.capacity() > MOST_KEPT) *this = Side();
            slots.assign((size_t)1 << LEAST_BITS, -1);
        }
    };
    Side lists, truth;
    int32_t count = 0;  // items that several list rows of a group share
    // Of a list that repeats items: the first row with the item of each row, and for each such first row the number of
    // rows with its item, then the number that these rows share, or -1.
    std::vector<int32_t> first_of, of_item;

    // Whether row `one` of the truth counts instead of row `other` with the same item: it has the higher grade, or is
    // the later row.
    static bool beats(const double* grades, int32_t one, int32_t other) {
        return grades[one] > grades[other] || (grades[one] == grades[other] && one > other);
    }

    // Put the items of a list into the slots, and return whether they are distinct.
    static bool take_list(const Slots slots, int32_t end) {
        bool are_distinct = true;
        for (int32_t place = slots.first; place < end; place++) {
            int32_t& slot = slots.of(slots.items[place]);
            are_distinct &= slot < slots.first;
            slot = slot < slots.first ? place : slot;
        }
        return are_distinct;
    }

    // Put the rows of a truth that have a label into the slots, and return whether two of them have the same item. Of
    // these, the row stays that counts.
    bool take_truth(const Slots slots, int32_t end, const double* grades) const {
        bool are_repeated = false;
        for (int32_t place = slots.first; place < end; place++) {
            const int32_t row = truth.at(place);
            if (grades[row] != grades[row]) continue;
            int32_t& slot = slots.of(slots.items[place]);
            const bool is_first = slot < slots.first;
            are_repeated |= !is_first;
            if (is_first || beats(grades, row, truth.at(slot))) slot = place;
        }
        return are_repeated;
    }

    void name_twins(const Slots slots, int32_t end, int32_t* given) {
        const int32_t first = slots.first, rows = end - first;
        first_of.resize(rows);
        of_item.assign(rows, 0);
        for (int32_t row = 0; row < rows; row++) {
            first_of[row] = slots.of(slots.items[first + row]) - first;
            of_item[first_of[row]]++;
        }
        for (int32_t row = 0; row < rows; row++) {
            const int32_t same = first_of[row];
            if (same == row) of_item[row] = of_item[row] > 1 ? count++ : -1;
            if (of_item[same] < 0) continue;
            twins.push_back(lists.at(first + row));
            numbers.push_back(of_item[same]);
            given[lists.at(first + row)] = given[lists.at(first + same)];
        }
    }

    // Returns the number of distinct items with a label in the truth.
    int64_t match(int64_t group, const double* grades, int32_t* given, uint8_t* fates) {
        const int32_t end = lists.start[group + 1], end_of_truth = truth.start[group + 1];
        const Slots listed = lists.slots_of(group), judged = truth.slots_of(group);
        const bool are_distinct = take_list(listed, end), are_repeated = take_truth(judged, end_of_truth, grades);
        int64_t items = 0;
        for (int32_t place = judged.first; place < end_of_truth; place++) {
            const int32_t row = truth.at(place);
            if (grades[row] != grades[row]) continue;
            if (are_repeated) {
                const int32_t best = judged.of(judged.items[place]);
                overruled += grades[truth.at(best)] > grades[row];
                if (best != place) continue;
            }
            items++;
            const int32_t its = listed.of(judged.items[place]);
            fates[row] = its < listed.first ? UNLISTED : LISTED;
            if (its >= listed.first) given[lists.at(its)] = row;
        }
        if (!are_distinct) name_twins(listed, end, given);
        return items;
    }

  public:
    // The instance of this thread. New memory for each bucket would cost time, as the system fills it with zeros.
    static Matches& of_thread() {
        static thread_local Matches of_this;
        return of_this;
    }

    // Reset this to its initial state, but keep the memory of a usual bucket.
    void forget() {
        lists.forget();
        truth.forget();
        twins.clear();
        numbers.clear();
        count = 0;
        overruled = joined = pairs = places = 0;
    }

    int64_t overruled = 0;                // rows of the truth with a lower label than another row of the same item
    int64_t joined = 0;                   // groups with rows of both lists and truth
    int64_t pairs = 0;                    // pairs of a list row and a distinct true item of its group
    int64_t places = 0;                   // distinct true items, of each group as many as its list has rows
    std::vector<int32_t> twins, numbers;  // list rows that share an item in a group, and a number for each such item

    // Fill in, for each row of the lists, the row of the truth that gives its label, or -1, the fate of each row of the
    // truth, and whether each group has a row of the truth with a label. Rows without a label have the grade NaN.
    void find(
        const int32_t* list_codes, const int64_t* list_items, int64_t rows, const int32_t* truth_codes,
        const int64_t* truth_items, const double* grades, int64_t true_rows, int64_t groups, int32_t* given,
        uint8_t* fates, uint8_t* are_judged
    ) {
        std::fill(given, given + rows, -1);
        std::fill(fates, fates + true_rows, BEATEN);
        forget();
        lists.bring(list_codes, list_items, rows, groups);
        truth.bring(truth_codes, truth_items, true_rows, groups);
        for (int64_t group = 0; group < groups; group++) {
            const int64_t listed = lists.start[group + 1] - lists.start[group];
            const int64_t judged = match(group, grades, given, fates);
            joined += listed > 0 && truth.start[group + 1] > truth.start[group];
            pairs += listed * judged;
            places += std::min(listed, judged);
            are_judged[group] = judged > 0;
        }
    }
};
