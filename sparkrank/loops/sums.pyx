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


def add(const double[::1] values, const int64_t[::1] starts, const double[::1] units, double most, double[:, ::1] limbs):
    """Add to ``limbs`` (segments, 6) those of the sums of ``values`` (n, no NaN), cut at ``units``.

    Segments begin at ``starts`` (segments + 1) and go as far as the next. Limbs are those of
    :mod:`sparkrank.kernels.limbs`. False where a value is ``most`` or more: then nothing is right.
    """
    cdef double kept[PART]
    cdef double largest
    cdef Py_ssize_t segment, part, place, count
    cdef bint fits = True
    with nogil:
        for segment in range(limbs.shape[0]):
            part = starts[segment]
            while fits and part < starts[segment + 1]:
                count = min(<Py_ssize_t>PART, starts[segment + 1] - part)
                largest = 0.0
                for place in range(count):
                    kept[place] = values[part + place]
                    largest = max(largest, fabs(kept[place]))
                fits = largest < most
                if fits:
                    add_limbs(kept, _filled(kept, count), largest, &units[0], &limbs[segment, 0])
                part += count
    return fits


def add_with_squares(
    const double[::1] values,
    const int64_t[::1] starts,
    double counted_as,
    const double[::1] units,
    double most,
    int64_t[::1] undefined,
    double[:, ::1] first,
    double[:, ::1] second,
):
    """The same of ``values`` (n) and of their squares, to ``first`` and ``second`` (segments, 6 each).

    Values that are NaN are counted in ``undefined`` (segments) and ``counted_as`` that. False where a value or square
    is ``most`` or more.
    """
    cdef double kept[PART]
    cdef double squares[PART]
    cdef double value, largest
    cdef Py_ssize_t segment, part, place, count
    cdef bint fits = True
    with nogil:
        for segment in range(first.shape[0]):
            part = starts[segment]
            while fits and part < starts[segment + 1]:
                count = min(<Py_ssize_t>PART, starts[segment + 1] - part)
                largest = 0.0
                for place in range(count):
                    value = values[part + place]
                    undefined[segment] += value != value
                    value = value if value == value else counted_as
                    kept[place] = value
                    squares[place] = value * value
                    largest = max(largest, fabs(value))
                fits = largest < most and largest * largest < most
                if fits:
                    add_limbs(kept, _filled(kept, count), largest, &units[0], &first[segment, 0])
                    add_limbs(squares, _filled(squares, count), largest * largest, &units[0], &second[segment, 0])
                part += count
    return fits


cdef Py_ssize_t _filled(double* values, Py_ssize_t count) noexcept nogil:
    """``count`` as a multiple of the lanes, up to which zeros are added."""
    cdef Py_ssize_t place
    for place in range(count, (count + LANES - 1) // LANES * LANES):
        values[place] = 0.0
    return (count + LANES - 1) // LANES * LANES
