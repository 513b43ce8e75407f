// The order of relevant rows by their scores, and of gains in an ideal list.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

struct Hit {
    double score, gain;
};

static inline void put_highest_first(Hit* hits, int64_t count) {
    std::sort(hits, hits + count, [](const Hit& one, const Hit& other) { return one.score > other.score; });
}

static inline void put_richest_first(double* gains, int64_t count) {
    constexpr int64_t INSERTED = 24;  // most groups have no more, and std::sort is slower for so few
    if (count > INSERTED) {
        std::sort(gains, gains + count, std::greater<double>());
        return;
    }
    for (int64_t each = 1; each < count; each++) {
        const double gain = gains[each];
        int64_t to = each;
        for (; to > 0 && gains[to - 1] < gain; to--) gains[to] = gains[to - 1];
        gains[to] = gain;
    }
}
