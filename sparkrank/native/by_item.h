// The hits of a group whose tied rows are ordered by the text of their item, compared as bytes, in descending order.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "lists.h"
#include "untied.h"
#include "vectors.h"

// The texts of the items of all judged rows, and the index of each listed row among the judged rows (null: all listed).
struct Items {
    const int64_t* ends;
    const uint8_t* texts;
    const int64_t* judged;

    // Negative if the text of one listed row is less than that of another, 0 if they are equal.
    int compare(int64_t one, int64_t other) const {
        if (judged) one = judged[one], other = judged[other];
        const int64_t length = ends[one + 1] - ends[one], others = ends[other + 1] - ends[other];
        const int differ = std::memcmp(texts + ends[one], texts + ends[other], std::min(length, others));
        return differ ? differ : (length > others) - (length < others);
    }
};

class ByItem {
    // Groups with at most this many pairs of tied rows per row are compared in pairs, and all other groups are sorted.
    static constexpr int64_t MOST_IN_PAIRS = 2;

    Items items;
    std::vector<int32_t> order;

    struct Group {
        const double *scores, *gains;
        const int32_t* numbers;  // of the listed rows
        int64_t others, rows;
    };

    // Whether `one` of two tied rows comes before the `other`: by the text, then by the label, the lower label first.
    bool precedes(const Group& of, int32_t one, int32_t other) const {
        if (const int found = items.compare(of.numbers[one], of.numbers[other])) return found > 0;
        const bool is_hit = one >= of.others, is_other_hit = other >= of.others;
        if (is_hit != is_other_hit) return is_other_hit;
        if (is_hit && of.gains && of.gains[one] != of.gains[other]) return of.gains[one] < of.gains[other];
        return of.numbers[one] < of.numbers[other];
    }

  public:
    int64_t ranks = 0, tied_pairs = 0;  // of the last group: twice the sum of mid-ranks; pairs of a hit and another row

    void prepare(int64_t longest, const Items& all) {
        items = all;
        order.resize(longest);
    }

    // For each row after the `others`, set the bit of its position in `places`, and write its gain to `gain_at`.
    void place_hits(
        const double* scores, const double* gains, const int32_t* numbers, int64_t others, int64_t rows,
        uint64_t* places, double* gain_at
    ) {
        const Group of = {scores, gains, numbers, others, rows};
        const auto stand = [&](int64_t above, int64_t row) {
            places[above >> 6] |= FIRST_BIT >> (above & 63);
            if (gains) gain_at[above] = gains[row];
        };
        ranks = tied_pairs = 0;
        if (Untied::serves(rows - others) && in_pairs(of, stand)) return;
        std::iota(order.begin(), order.begin() + rows, 0);
        std::sort(order.begin(), order.begin() + rows, [&](int32_t one, int32_t other) {
            return scores[one] != scores[other] ? scores[one] > scores[other] : precedes(of, one, other);
        });
        for (int64_t first = 0, end; first < rows; first = end) {
            int64_t inside = 0;
            for (end = first; end < rows && scores[order[end]] == scores[order[first]]; end++) {
                if (order[end] < others) continue;
                stand(end, order[end]);
                inside++;
            }
            ranks += inside * (first + end + 1);
            tied_pairs += inside * (end - first - inside);
        }
    }

  private:
    // Compare each hit with all rows. Returns false, without a result, if too many rows are tied with hits.
    template <class Stand>
    bool in_pairs(const Group& of, const Stand& stand) {
        int64_t left = MOST_IN_PAIRS * of.rows, above, beside;
        for (int64_t row = of.others; row < of.rows; row++) {
            compare(of.scores, padded(of.rows), of.scores[row], &above, &beside);
            left -= beside - 1;
        }
        if (left < 0) return false;
        for (int64_t row = of.others; row < of.rows; row++) {
            compare(of.scores, padded(of.rows), of.scores[row], &above, &beside);
            ranks += 2 * above + beside + 1;
            for (int32_t other = 0; beside > 1 && other < of.rows; other++) {
                if (of.scores[other] != of.scores[row] || other == row) continue;
                above += precedes(of, other, (int32_t)row);
                tied_pairs += other < of.others;
            }
            stand(above, row);
        }
        return true;
    }
};
