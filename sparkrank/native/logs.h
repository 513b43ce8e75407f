// Logarithms from only sums, products and quotients, which have the same bits on every processor and in numpy.

#pragma once

#include "vectors.h"

// The function sparkrank.numeric.elementary.log, whose comments give the reasons, for eight values.
static inline __attribute__((always_inline)) void log_of_eight(const double* values, double* found) {
    typedef uint64_t EightBits __attribute__((vector_size(64)));
    const EightBits one = 0x3FF0000000000000 - (EightBits){}, root_half = 0x3FE6A09E667F3BCD - (EightBits){};
    EightBits bits;
    std::memcpy(&bits, values, sizeof(bits));
    bits += one - root_half;
    const Eight exponent = (Eight)((bits >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
    const Eight f = (Eight)((bits & 0x000FFFFFFFFFFFFF) + root_half) - 1.0;
    const Eight half = 0.5 * f * f;
    const Eight s = f / (2.0 + f);
    const Eight z = s * s;
    const Eight w = z * z;
    const Eight even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const Eight odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 +
        w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const Eight log = s * (half + (odd + even)) + exponent * 0x1.a39ef35793c76p-33 - half + f + exponent * 0x1.62e42feep-1;
    std::memcpy(found, &log, sizeof(log));
}

WIDEST static inline void log_of(const double* values, int64_t count, double* found) {
    int64_t row = 0;
    for (; row + 8 <= count; row += 8) log_of_eight(values + row, found + row);
    if (row < count) {
        double last[8] = {1, 1, 1, 1, 1, 1, 1, 1}, of_last[8];
        std::memcpy(last, values + row, (count - row) * sizeof(double));
        log_of_eight(last, of_last);
        std::memcpy(found + row, of_last, (count - row) * sizeof(double));
    }
}
