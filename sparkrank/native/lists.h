// The rows of all groups, group after group, in an order in which similar groups are neighbours.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

// Each group has room for a multiple of four scores. It is padded with NaN, which is neither higher nor equal.
static inline int64_t padded(int64_t rows) { return (rows + 3) & ~INT64_C(3); }

// A group: its number, the number of its rows and of its relevant rows (which come last), and where its scores begin.
struct List {
    int32_t group, rows, hits, start;
};

class Lists {
    // Lists are ordered by the numbers of relevant rows and of all rows, up to this limit. Consecutive lists then take
    // the same branches, which the processor predicts. This saves a third of the time of the pass itself.
    static constexpr int64_t MOST_IN_ORDER = 127;
    // How many rows ahead the memory for a row's score and, further ahead, the entry of `places` are prefetched: the
    // scores of a bucket exceed the second-level cache, and the places of its groups fill half of it.
    static constexpr int64_t AHEAD = 64, FAR_AHEAD = 128;

    std::vector<int32_t> places;  // two per group: the next place of a row that is not relevant, and of a relevant one

    static int64_t likeness(int64_t rows, int64_t hits) {
        return std::min(hits, MOST_IN_ORDER) * (MOST_IN_ORDER + 1) + std::min(rows, MOST_IN_ORDER);
    }

    void put_in_order(const int64_t* rows, const int64_t* hits, int64_t groups) {
        std::vector<int32_t> next((MOST_IN_ORDER + 1) * (MOST_IN_ORDER + 1));
        for (int64_t group = 0; group < groups; group++) next[likeness(rows[group], hits[group])]++;
        int32_t before = 0;
        for (int32_t& place : next) {
            const int32_t count = place;
            place = before;
            before += count;
        }
        lists.resize(groups);
        for (int64_t group = 0; group < groups; group++) {
            List& list = lists[next[likeness(rows[group], hits[group])]++];
            list = {(int32_t)group, (int32_t)rows[group], (int32_t)hits[group], 0};
        }
    }

    template <bool HAVE_GAINS, bool HAVE_NUMBERS>
    void bring(
        const int32_t* codes, const double* scores, const uint8_t* relevant, const double* gains, int64_t n, double* room
    ) {
        for (int64_t row = 0; row < n; row++) {
            __builtin_prefetch(&places[2 * codes[std::min(row + FAR_AHEAD, n - 1)]], 1);
            __builtin_prefetch(&room[places[2 * codes[std::min(row + AHEAD, n - 1)]]], 1);
            int32_t& place = places[2 * (int64_t)codes[row] + relevant[row]];
            room[place] = scores[row];
            if (HAVE_GAINS) gain[place] = gains[row];
            if (HAVE_NUMBERS) number[place] = (int32_t)row;
            place += 1 - 2 * (int32_t)relevant[row];
        }
    }

  public:
    std::vector<List> lists;
    std::vector<double> gain;  // the gain of each row, at the place of its score, if rows have gains
    std::vector<int32_t> number;  // the input index of each row, at the place of its score, if requested
    int64_t longest = 0;

    // Copy the scores of n rows to `room`, group after group, their `gains` (if not null) to `gain`, and their indices
    // to `number` if `numbered`. `rows` and `hits` have the numbers of rows and of relevant rows of each group. With
    // `only_hits`, the scores of groups without a relevant row are all written to one place, which is in the nearest
    // cache, and are of no use.
    void bring(
        const int64_t* rows, const int64_t* hits, int64_t groups, const int32_t* codes, const double* scores,
        const uint8_t* relevant, const double* gains, bool numbered, bool only_hits, int64_t n, double* room
    ) {
        put_in_order(rows, hits, groups);
        places.resize(2 * groups);
        int64_t end = 0;
        for (List& list : lists) {
            const bool is_of_no_use = only_hits && list.hits == 0;  // such lists come first
            list.start = is_of_no_use ? 0 : (int32_t)end;
            places[2 * list.group] = list.start;
            places[2 * list.group + 1] = list.start + list.rows - 1;
            longest = std::max(longest, (int64_t)list.rows);
            if (is_of_no_use) {
                end = std::max(end, padded(list.rows));
                continue;
            }
            end += padded(list.rows);
            std::fill(room + list.start + list.rows, room + end, NAN);
        }
        if (gains) gain.resize(end);
        if (numbered) number.resize(end);
        if (gains && numbered) {
            bring<true, true>(codes, scores, relevant, gains, n, room);
        } else if (gains) {
            bring<true, false>(codes, scores, relevant, gains, n, room);
        } else if (numbered) {
            bring<false, true>(codes, scores, relevant, gains, n, room);
        } else {
            bring<false, false>(codes, scores, relevant, gains, n, room);
        }
    }
};
