# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Exact sums of many small values, and of their squares, in one walk over each metric's values."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #include <cstddef>
    #include <cstring>

    // Where the processor has wider vectors than the oldest of its kind, they are used. glibc chooses among the forms.
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define WIDEST
    #endif

    // What follows takes a `count` of values that is a multiple of eight, and goes on in eight at once.
    typedef double Eight __attribute__((vector_size(64)));
    typedef long long Whole __attribute__((vector_size(64)));

    #define LARGER(one, other) ((one) > (other) ? (one) : (other))
    #define SIZE(value) LARGER(value, -(value))

    static inline double most_of(const double* eight) {
        double most = 0;
        for (int lane = 0; lane < 8; lane++) most = eight[lane] > most ? eight[lane] : most;
        return most;
    }

    // The size of the largest.
    WIDEST static double largest_of(const double* values, long count) {
        Eight most = {}, value;
        for (long row = 0; row < count; row += 8) {
            std::memcpy(&value, values + row, sizeof(value));
            value = SIZE(value);
            most = LARGER(value, most);
        }
        return most_of((const double*)&most);
    }

    // The values that are NaN, which become `counted_as`; the `squares` of all, and the size of the `largest`.
    WIDEST static long square(double* values, long count, double counted_as, double* squares, double* largest) {
        const Eight counted = counted_as - (Eight){};
        Eight most = {}, value;
        Whole defined = {};
        for (long row = 0; row < count; row += 8) {
            std::memcpy(&value, values + row, sizeof(value));
            defined += value == value;
            value = value == value ? value : counted;
            std::memcpy(values + row, &value, sizeof(value));
            const Eight multiplied = value * value;
            std::memcpy(squares + row, &multiplied, sizeof(multiplied));
            value = SIZE(value);
            most = LARGER(value, most);
        }
        *largest = most_of((const double*)&most);
        long undefined = count;
        for (int lane = 0; lane < 8; lane++) undefined += defined[lane];
        return undefined;
    }

    // Add to `limbs` those of the values, of which none is larger than `largest`. The values are used up.
    WIDEST static void add_limbs(double* values, long count, double largest, const double* units, double* limbs) {
        for (int limb = 0; limb < 6; limb++) {
            if (largest < units[limb] / 2) continue;
            const double anchor = 1.5 * 4503599627370496.0 * units[limb];  // leaves no bit below the unit
            Eight sums = {}, most = {}, value;
            for (long row = 0; row < count; row += 8) {
                std::memcpy(&value, values + row, sizeof(value));
                const Eight cut = (value + anchor) - anchor;
                sums += cut;
                value -= cut;
                std::memcpy(values + row, &value, sizeof(value));
                value = SIZE(value);
                most = LARGER(value, most);
            }
            largest = most_of((const double*)&most);  // of whole numbers and short fractions soon nothing is left
            for (int lane = 0; lane < 8; lane++) limbs[limb] += sums[lane];
        }
    }
    """
    double largest_of(const double* values, long count) nogil
    long square(double* values, long count, double counted_as, double* squares, double* largest) nogil
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
    cdef Py_ssize_t segment, part, count
    cdef bint fits = True
    with nogil:
        for segment in range(limbs.shape[0]):
            part = starts[segment]
            while fits and part < starts[segment + 1]:
                count = _taken(kept, &values[part], starts[segment + 1] - part)
                largest = largest_of(kept, count)
                fits = largest < most
                if fits:
                    add_limbs(kept, count, largest, &units[0], &limbs[segment, 0])
                part += PART
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
    cdef double largest
    cdef Py_ssize_t segment, part, count
    cdef bint fits = True
    with nogil:
        for segment in range(first.shape[0]):
            part = starts[segment]
            while fits and part < starts[segment + 1]:
                count = _taken(kept, &values[part], starts[segment + 1] - part)
                undefined[segment] += square(kept, count, counted_as, squares, &largest)
                fits = largest < most and largest * largest < most
                if fits:
                    add_limbs(kept, count, largest, &units[0], &first[segment, 0])
                    add_limbs(squares, count, largest * largest, &units[0], &second[segment, 0])
                part += PART
    return fits


cdef Py_ssize_t _taken(double* kept, const double* values, Py_ssize_t left) noexcept nogil:
    """Copy as many of the ``left`` values as there is room for, and zeros up to a multiple of the lanes; how many."""
    cdef Py_ssize_t count = min(<Py_ssize_t>PART, left), filled = (count + LANES - 1) // LANES * LANES
    memcpy(kept, values, count * sizeof(double))
    memset(kept + count, 0, (filled - count) * sizeof(double))
    return filled
