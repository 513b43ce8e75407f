// Operations on several values at once, with the vector types of GCC and Clang.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

// Two values are used in code that is compiled for one kind of processor, and four or eight where glibc chooses.
typedef double Two __attribute__((vector_size(16)));
typedef int64_t TwoWhole __attribute__((vector_size(16)));
typedef double Four __attribute__((vector_size(32)));
typedef int64_t FourWhole __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));
typedef int64_t EightWhole __attribute__((vector_size(64)));

// Functions marked WIDEST are compiled for several processors, and glibc chooses the version with the widest vectors.
// Comparisons use vectors as wide as most processors have. On a processor with narrower vectors, GCC would compare
// values one by one, and ties of 20 million rows take 0.08 s instead of 0.03 s. So a single version uses two values.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
typedef Four Some;
typedef FourWhole SomeWhole;
#else
#define WIDEST
typedef Two Some;
typedef TwoWhole SomeWhole;
#endif
constexpr int64_t SOME = sizeof(Some) / sizeof(double);

// The sum of the numbers in a vector.
static inline int64_t total(const SomeWhole& numbers) {
    int64_t sum = 0;
    for (int64_t lane = 0; lane < SOME; lane++) sum += numbers[lane];
    return sum;
}

#define LARGER(one, other) ((one) > (other) ? (one) : (other))
#define SMALLER(one, other) ((one) < (other) ? (one) : (other))
#define SIZE(value) LARGER(value, -(value))

// Count the scores that are higher than `score` (`above`) and equal to it (`beside`). `count` is a multiple of four.
static inline void compare(const double* scores, int64_t count, double score, int64_t* above, int64_t* beside) {
    const Two same = {score, score};
    Two one, two;
    TwoWhole higher = {}, equal = {}, higher2 = {}, equal2 = {};
    for (int64_t row = 0; row < count; row += 4) {
        std::memcpy(&one, scores + row, sizeof(one));
        std::memcpy(&two, scores + row + 2, sizeof(two));
        higher -= one > same;
        equal -= one == same;
        higher2 -= two > same;
        equal2 -= two == same;
    }
    higher += higher2;
    equal += equal2;
    *above = higher[0] + higher[1];
    *beside = equal[0] + equal[1];
}

// The lowest and the highest of `count` scores. There must be at least one score and no NaN.
WIDEST static inline void range_of(const double* scores, int64_t count, double* lowest, double* highest) {
    double low = scores[0], high = scores[0];
    if (count >= 8) {
        Eight least, most, next;
        std::memcpy(&least, scores, sizeof(least));
        most = least;
        for (int64_t row = 8; row < count + 8; row += 8) {  // the last eight overlap with those before
            std::memcpy(&next, scores + std::min(row, count - 8), sizeof(next));
            least = SMALLER(next, least);
            most = LARGER(next, most);
        }
        for (int lane = 0; lane < 8; lane++) {
            low = std::min(low, least[lane]);
            high = std::max(high, most[lane]);
        }
    } else {
        for (int64_t row = 1; row < count; row++) {
            low = std::min(low, scores[row]);
            high = std::max(high, scores[row]);
        }
    }
    *lowest = low;
    *highest = high;
}

// The following functions take a `count` of values that is a multiple of eight.

static inline double most_of(const double* eight) {
    double most = 0;
    for (int lane = 0; lane < 8; lane++) most = LARGER(eight[lane], most);
    return most;
}

// The largest absolute value.
WIDEST static inline double largest_of(const double* values, int64_t count) {
    Eight most = {}, value;
    for (int64_t row = 0; row < count; row += 8) {
        std::memcpy(&value, values + row, sizeof(value));
        value = SIZE(value);
        most = LARGER(value, most);
    }
    return most_of((const double*)&most);
}

// Replace NaN by `counted_as` and return the number of NaN values, each counted as often as `times` says. Fills in the
// `squares` of all values and the `largest` absolute value.
WIDEST static inline int64_t square(
    double* values, const double* times, int64_t count, double counted_as, double* squares, double* largest
) {
    const Eight counted = counted_as - (Eight){};
    Eight most = {}, undefined = {}, value, often;
    for (int64_t row = 0; row < count; row += 8) {
        std::memcpy(&value, values + row, sizeof(value));
        std::memcpy(&often, times + row, sizeof(often));
        undefined += value == value ? (Eight){} : often;
        value = value == value ? value : counted;
        std::memcpy(values + row, &value, sizeof(value));
        const Eight squared = value * value;
        std::memcpy(squares + row, &squared, sizeof(squared));
        value = SIZE(value);
        most = LARGER(value, most);
    }
    *largest = most_of((const double*)&most);
    double found = 0;
    for (int lane = 0; lane < 8; lane++) found += undefined[lane];
    return (int64_t)found;
}

// Add the limbs of the values, each multiplied by its element of `times`, to the six `limbs`. No absolute value exceeds
// `largest`. The values are overwritten.
WIDEST static inline void add_limbs(
    double* values, const double* times, int64_t count, double largest, const double* units, double* limbs
) {
    for (int limb = 0; limb < 6; limb++) {
        if (largest < units[limb] / 2) continue;
        const double anchor = 1.5 * 4503599627370496.0 * units[limb];  // leaves no bit below the unit
        Eight sums = {}, most = {}, value, often;
        for (int64_t row = 0; row < count; row += 8) {
            std::memcpy(&value, values + row, sizeof(value));
            std::memcpy(&often, times + row, sizeof(often));
            const Eight cut = (value + anchor) - anchor;
            sums += cut * often;
            value -= cut;
            std::memcpy(values + row, &value, sizeof(value));
            value = SIZE(value);
            most = LARGER(value, most);
        }
        largest = most_of((const double*)&most);  // soon 0 for integers and short fractions
        for (int lane = 0; lane < 8; lane++) limbs[limb] += sums[lane];
    }
}

// The number of limbs, as multiples of `units`, that represent all values exactly. The values are overwritten.
WIDEST static inline int limbs_needed(double* values, int64_t count, const double* units, int limbs) {
    for (int limb = 0; limb < limbs; limb++) {
        const double anchor = 1.5 * 4503599627370496.0 * units[limb];
        Eight most = {}, value;
        for (int64_t row = 0; row < count; row += 8) {
            std::memcpy(&value, values + row, sizeof(value));
            value -= (value + anchor) - anchor;
            std::memcpy(values + row, &value, sizeof(value));
            value = SIZE(value);
            most = LARGER(value, most);
        }
        if (most_of((const double*)&most) == 0) return limb + 1;
    }
    return limbs;
}
