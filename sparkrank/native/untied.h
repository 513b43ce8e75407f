// The sums over the hits of a group without equal scores, in which each hit has a certain position.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "vectors.h"

constexpr uint64_t FIRST_BIT = UINT64_C(1) << 63;

// For each row after the `others`, set the bit of its position in `places`, and write its gain to `gain_at`. The first
// position has the highest bit of the first word.
WIDEST static inline void place_hits(
    const double* scores, int64_t room, int64_t others, int64_t rows, const double* gains, uint64_t* places,
    double* gain_at
) {
    for (int64_t row = others; row < rows; row++) {
        const double score = scores[row];
        const Some same = score - (Some){};
        Some some;
        SomeWhole higher = {};
        for (int64_t other = 0; other < room; other += SOME) {
            std::memcpy(&some, scores + other, sizeof(some));
            higher -= some > same;
        }
        const int64_t above = total(higher);
        places[above >> 6] |= FIRST_BIT >> (above & 63);
        if (gains) gain_at[above] = gains[row];
    }
}

// The sums over `hits`, in the order of their `positions`, up to each of at most four cut-offs (`lanes`). In `sums`,
// the next cut-off is `step` elements further, and the next kind of sum `apart` elements. A hit after a cut-off adds
// zero to the sums of that cut-off, so that no branch depends on where hits end.
WIDEST static inline void sum_hits(
    const double* positions, const double* earned, int64_t hits, const double* cutoffs, int64_t lanes, int64_t step,
    int64_t apart, double* sums
) {
    enum { COUNT, PRECISION, ANY, FIRST, GAIN };  // the indices of sparkrank.ranking.hit_sums.Sum
    const Four one = {1, 1, 1, 1};
    Four last, count = {}, precision = {}, any = {}, first = {}, gain = {};
    std::memcpy(&last, cutoffs, sizeof(last));
    if (hits) {
        const FourWhole inside = positions[0] - (Four){} <= last;
        any = (Four)((FourWhole)one & inside);
        first = (Four)((FourWhole)(1.0 / positions[0] - (Four){}) & inside);
    }
    for (int64_t hit = 0; hit < hits; hit++) {
        const FourWhole inside = positions[hit] - (Four){} <= last;
        count += (Four)((FourWhole)one & inside);
        precision += (Four)((FourWhole)((hit + 1.0) / positions[hit] - (Four){}) & inside);
        gain += (Four)((FourWhole)(earned[hit] - (Four){}) & inside);
    }
    for (int64_t lane = 0; lane < lanes; lane++) {
        double* at = sums + lane * step;
        at[COUNT * apart] = count[lane];
        at[PRECISION * apart] = precision[lane];
        at[ANY * apart] = any[lane];
        at[FIRST * apart] = first[lane];
        at[GAIN * apart] = gain[lane];
    }
}

// Data shared by the groups of a bucket, and memory for the hits of one group.
class Untied {
    static constexpr int64_t AT_ONCE = 4;         // cut-offs
    int64_t cuts = 0;
    double alike = 0;
    const double* discounts = nullptr;
    std::vector<double> cutoffs;  // padded to a multiple of four
    std::vector<double> positions, earned;

  public:
    std::vector<uint64_t> places;  // bits for the rows of the longest group, all cleared between two groups
    std::vector<double> gain_at;

    // Whether comparing each relevant row with all rows takes less time than bisection, which suffers from branch
    // mispredictions. For 20 million rows and AVX2, the limits of 64, 128 and 256 relevant rows take 0.157, 0.154 and
    // 0.150 s. Vectors of older processors are half as wide.
    static bool serves(int64_t relevant) { return relevant <= 128; }

    // Allocate memory for groups of up to `longest` rows. Relevant rows have the gain `same`, or different gains.
    void prepare(int64_t longest, double same, const double* of_positions, const int64_t* ends, int64_t count) {
        cuts = count;
        alike = same;
        discounts = of_positions;
        cutoffs.assign(ends, ends + cuts);
        cutoffs.resize((cuts + AT_ONCE - 1) / AT_ONCE * AT_ONCE);
        places.assign(longest / 64 + 1, 0);
        gain_at.resize(longest);
        positions.resize(longest);
        earned.resize(longest);
    }

    // Write the sums (5, cut-offs, `count`) of a group to the place of its list, where `sums` begins. The first
    // `others` of its `rows` are not relevant, and `room` is the padded number of rows. Returns the sum of the
    // positions of hits. Hits at the first 64 positions become bits of `first`.
    int64_t sum_up(
        const double* scores, const double* gains, int64_t rows, int64_t room, int64_t others, uint64_t* first,
        double* sums, int64_t count
    ) {
        if (others < rows) place_hits(scores, room, others, rows, gains, places.data(), gain_at.data());
        *first = places[0];
        return sum_up_placed(rows - others, gains, sums, count);
    }

    // Write the sums of a group whose `relevant` rows are already placed: as bits of `places` and, if `gains` is not
    // null, with their gains in `gain_at`.
    int64_t sum_up_placed(int64_t relevant, const double* gains, double* sums, int64_t count) {
        int64_t hits = 0, ranks = 0;
        for (int64_t word = 0; hits < relevant; word++) {
            ranks += take(places[word], 64 * word, gains ? gain_at.data() : nullptr, hits);
            places[word] = 0;
        }
        sum(hits, sums, count);
        return ranks;
    }

    // Write the sums of a group with hits only among the first 64 positions, at the bits of `places`, with equal gains.
    int64_t sum_up(uint64_t places, double* sums, int64_t count) {
        int64_t hits = 0;
        const int64_t ranks = take(places, 0, nullptr, hits);
        sum(hits, sums, count);
        return ranks;
    }

  private:
    // Append a hit for each bit of `held`, at positions after `before`, and return the sum of these positions.
    int64_t take(uint64_t held, int64_t before, const double* gains, int64_t& hits) {
        int64_t ranks = 0;
        while (held) {
            const int lead = __builtin_clzll(held);
            const int64_t above = before + lead;
            positions[hits] = (double)(above + 1);
            earned[hits] = (gains ? gains[above] : alike) * discounts[above + 1];
            ranks += above + 1;
            hits++;
            held ^= FIRST_BIT >> lead;
        }
        return ranks;
    }

    void sum(int64_t hits, double* sums, int64_t count) {
        for (int64_t cut = 0; cut < cuts; cut += AT_ONCE) {
            sum_hits(
                positions.data(), earned.data(), hits, &cutoffs[cut], std::min(AT_ONCE, cuts - cut), count,
                cuts * count, sums + cut * count
            );
        }
    }
};
