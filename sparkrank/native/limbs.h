// The addition of the limbs of single values to scattered sums, which belong to the bin or segment of each row.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "vectors.h"

constexpr int LIMBS = 6;

// Numbers that, added to a value, remove all of its bits below a unit.
class Anchors {
    double anchors[LIMBS];

public:
    explicit Anchors(const double* units) {
        for (int limb = 0; limb < LIMBS; limb++) anchors[limb] = 1.5 * 4503599627370496.0 * units[limb];
    }

    // Add the limbs of `value` from `first` to before `last` to `sums`. All other limbs must be 0.
    inline void add(double value, int first, int last, double* sums) const {
        for (int limb = first; limb < last; limb++) {
            const double cut = (value + anchors[limb]) - anchors[limb];
            *sums++ += cut;
            value -= cut;
        }
    }
};

// The index after the last limb that is nonzero for some of `count` values. Limbs before `first` must be 0.
static inline int last_limb(const double* values, int64_t count, int first, const double* units) {
    constexpr int64_t PART = 512, LANES = 8;
    int last = first;
    double rest[PART];
    for (int64_t start = 0; start < count && last < LIMBS; start += PART) {
        const int64_t size = std::min(PART, count - start), filled = (size + LANES - 1) / LANES * LANES;
        std::memcpy(rest, values + start, size * sizeof(double));
        std::fill(rest + size, rest + filled, 0.0);
        last = std::max(last, first + limbs_needed(rest, filled, units + first, LIMBS - first));
    }
    return last;
}

// Add the limbs of `count` values to `sums`, six for each code. Returns false if a value is as large as `most`; then
// the sums are not valid.
static inline bool add_scattered(
    const double* values, const int32_t* codes, int64_t count, int first, double most, const double* units, double* sums
) {
    const Anchors anchors(units);
    const int last = last_limb(values, count, first, units);
    bool fits = true;
    for (int64_t item = 0; item < count; item++) {
        fits &= std::fabs(values[item]) < most;
        anchors.add(values[item], first, last, sums + LIMBS * codes[item] + first);
    }
    return fits;
}
