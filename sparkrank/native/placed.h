// The positions of the relevant rows of a group without equal scores, and which of them stands at each position.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lists.h"
#include "untied.h"
#include "vectors.h"

// For each row after the `others`, count the rows with a higher score.
WIDEST static inline void count_above(
    const double* scores, int64_t room, int64_t others, int64_t rows, int32_t* above
) {
    for (int64_t row = others; row < rows; row++) {
        const Some same = scores[row] - (Some){};
        Some some;
        SomeWhole higher = {};
        for (int64_t other = 0; other < room; other += SOME) {
            std::memcpy(&some, scores + other, sizeof(some));
            higher -= some > same;
        }
        above[row - others] = (int32_t)total(higher);
    }
}

class Placed {
    struct Standing {
        double score;
        int64_t number;
    };
    std::vector<int32_t> above;
    std::vector<Standing> standing;

    // Count as `count_above` does, by bisection among the sorted relevant rows.
    void count_above_many(const double* scores, int64_t others, int64_t hits) {
        for (int64_t hit = 0; hit < hits; hit++) standing[hit] = {scores[others + hit], hit};
        const auto is_higher = [](const Standing& one, const Standing& other) { return one.score > other.score; };
        std::sort(standing.begin(), standing.begin() + hits, is_higher);
        std::fill(above.begin(), above.begin() + hits, 0);
        std::vector<int32_t> passed(hits + 1);
        for (int64_t row = 0; row < others; row++) {  // stands above the first relevant row that is not higher
            const Standing own = {scores[row], 0};
            passed[std::lower_bound(standing.begin(), standing.begin() + hits, own, is_higher) - standing.begin()]++;
        }
        int32_t before = 0;
        for (int64_t hit = 0; hit < hits; hit++) {
            before += passed[hit];
            above[standing[hit].number] = before + (int32_t)hit;
        }
    }

  public:
    // Allocate memory for groups of up to `longest` rows.
    void prepare(int64_t longest) {
        above.resize(longest);
        standing.resize(longest);
    }

    // Write the `positions` of relevant rows, ascending, and their `numbers` in the order of the input, from `first` on.
    // The first `others` of the `rows` are not relevant, and relevant rows come in the opposite order of the input.
    void place(
        const double* scores, int64_t others, int64_t rows, int64_t first, int32_t* positions, int64_t* numbers
    ) {
        const int64_t hits = rows - others;
        if (Untied::serves(hits)) {
            count_above(scores, padded(rows), others, rows, above.data());
            for (int64_t hit = 0; hit < hits; hit++) {
                const int32_t position = above[hit] + 1;
                int64_t to = hit;
                for (; to > 0 && positions[to - 1] > position; to--) {
                    positions[to] = positions[to - 1];
                    numbers[to] = numbers[to - 1];
                }
                positions[to] = position;
                numbers[to] = first + hits - 1 - hit;
            }
            return;
        }
        count_above_many(scores, others, hits);
        for (int64_t place = 0; place < hits; place++) {
            const int64_t hit = standing[place].number;
            positions[place] = above[hit] + 1;
            numbers[place] = first + hits - 1 - hit;
        }
    }
};
