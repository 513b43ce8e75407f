// Counts of the rows of each group.

#pragma once

#include <algorithm>
#include <cstdint>

// Whether most of the first rows are of the group of the row before, as the rows of a list in an array are.
static inline bool are_in_runs(const int32_t* codes, int64_t rows) {
    constexpr int64_t SAMPLED = 256;
    int64_t alike = 0;
    rows = std::min(rows, SAMPLED);
    for (int64_t row = 1; row < rows; row++) alike += codes[row] == codes[row - 1];
    return 2 * alike > rows;
}

// Add the `amount` of each row to its group's number in `found`.
template <typename Amount>
static inline void add_by_group(const int32_t* codes, int64_t rows, int64_t* found, Amount amount) {
    if (!are_in_runs(codes, rows)) {
        for (int64_t row = 0; row < rows; row++) found[codes[row]] += amount(row);
        return;
    }
    // Row by row, each addition would wait until the one before it is stored.
    for (int64_t row = 0; row < rows;) {
        const int32_t code = codes[row];
        int64_t of_run = 0;
        for (; row < rows && codes[row] == code; row++) of_run += amount(row);
        found[code] += of_run;
    }
}

static inline void add_rows(const int32_t* codes, int64_t rows, int64_t* found) {
    add_by_group(codes, rows, found, [](int64_t) { return 1; });
}

static inline void add_flagged(const int32_t* codes, const uint8_t* flags, int64_t rows, int64_t* found) {
    add_by_group(codes, rows, found, [flags](int64_t row) { return (int64_t)flags[row]; });
}

// Add 1 for each row, and 2^32 for each flagged row: one pass, and one memory location for both.
static inline void add_both(const int32_t* codes, const uint8_t* flags, int64_t rows, int64_t* found) {
    add_by_group(codes, rows, found, [flags](int64_t row) { return 1 + ((int64_t)flags[row] << 32); });
}
