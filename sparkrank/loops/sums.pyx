# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Exact sums of many small values, and of their squares, in one walk over each metric's values."""

from libc.math cimport fabs
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <cstddef>

    // Where the processor has wider vectors than the oldest of its kind, they are used. glibc chooses among the forms.
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define WIDEST __attribute__((target_clones("avx2", "default")))
    #else
    #define WIDEST
    #endif

    // Add to `limbs` those of `count` values, a multiple of eight, which are used up. Each sum goes on in eight.
    WIDEST static void add_limbs(double* values, long count, double largest, const double* units, double* limbs) {
        for (int limb = 0; limb < 6; limb++) {
            if (largest < units[limb] / 2) continue;
            const double anchor = 1.5 * 4503599627370496.0 * units[limb];  // leaves no bit below the unit
            double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            for (long row = 0; row < count; row += 8)
                for (int lane = 0; lane < 8; lane++) {
                    const double cut = (values[row + lane] + anchor) - anchor;
                    sums[lane] += cut;
                    values[row + lane] -= cut;
                }
            for (int lane = 0; lane < 8; lane++) limbs[limb] += sums[lane];
        }
    }
    """
    void add_limbs(double* values, long count, double largest, const double* units, double* limbs) nogil

cdef enum:
    LANES = 8
    PART = 512  # values that stay in the cache


def add(const double[::1] values, const double[::1] units, double most, double[::1] limbs):
    """Add to ``limbs`` (6) those of the sum of ``values`` (n, no NaN), cut at ``units``.

    Limbs are those of :mod:`sparkrank.kernels.exact`. False where a value is ``most`` or more: then nothing is right.
    """
    cdef double kept[PART]
    cdef double largest
    cdef Py_ssize_t part, place, count
    cdef bint fits = True
    with nogil:
        for part in range((values.shape[0] + PART - 1) // PART):
            count = min(<Py_ssize_t>PART, values.shape[0] - part * PART)
            largest = 0.0
            for place in range(count):
                kept[place] = values[part * PART + place]
                largest = max(largest, fabs(kept[place]))
            if not largest < most:
                fits = False
                break
            count = _filled(kept, count)
            add_limbs(kept, count, largest, &units[0], &limbs[0])
    return fits


def add_with_squares(
    const double[::1] values, double counted_as, const double[::1] units, double most, double[::1] first,
    double[::1] second
):
    """The same of ``values`` (n) and of their squares, to ``first`` (6) and ``second`` (6); NaN is ``counted_as`` that.

    Returns how many values are NaN, or -1 where a value or square is ``most`` or more.
    """
    cdef double kept[PART]
    cdef double squares[PART]
    cdef double value, largest
    cdef Py_ssize_t part, place, count
    cdef int64_t undefined = 0
    with nogil:
        for part in range((values.shape[0] + PART - 1) // PART):
            count = min(<Py_ssize_t>PART, values.shape[0] - part * PART)
            largest = 0.0
            for place in range(count):
                value = values[part * PART + place]
                undefined += value != value
                value = value if value == value else counted_as
                kept[place] = value
                squares[place] = value * value
                largest = max(largest, fabs(value))
            if not (largest < most and largest * largest < most):
                undefined = -1
                break
            _filled(squares, count)
            count = _filled(kept, count)
            add_limbs(kept, count, largest, &units[0], &first[0])
            add_limbs(squares, count, largest * largest, &units[0], &second[0])
    return undefined


cdef Py_ssize_t _filled(double* values, Py_ssize_t count) noexcept nogil:
    """``count`` as a multiple of the lanes, up to which zeros are added."""
    cdef Py_ssize_t place
    for place in range(count, (count + LANES - 1) // LANES * LANES):
        values[place] = 0.0
    return (count + LANES - 1) // LANES * LANES
