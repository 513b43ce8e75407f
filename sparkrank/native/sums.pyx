# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops for exact sums of many small values and of their squares, in one pass over the values of a metric."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

cdef extern from "vectors.h":
    double largest_of(const double* values, int64_t count) nogil
    int64_t square(
        double* values, const double* times, int64_t count, double counted_as, double* squares, double* largest
    ) nogil
    void add_limbs(
        double* values, const double* times, int64_t count, double largest, const double* units, double* limbs
    ) nogil

cdef extern from "limbs.h":
    bint add_scattered(
        const double* values, const int32_t* codes, int64_t count, int first, double most, const double* units,
        double* sums
    ) nogil

    int last_limb(const double* values, int64_t count, int first, const double* units) nogil

cdef enum:
    LANES = 8
    PART = 512  # values that stay in the cache


def add(
    const double[::1] values,
    const int64_t[::1] starts,
    const double[::1] times,
    const double[::1] units,
    double most,
    double[:, ::1] limbs,
):
    """Add the sum of ``values`` over each segment to ``limbs`` (segments, 6), as multiples of the six ``units``.

    No value may be NaN. ``times`` (n) has how often each value counts; if it is empty, each value counts once. Each
    segment begins at one of ``starts`` (segments + 1) and ends at the next. Limbs are described in
    :mod:`sparkrank.numeric.exact_sums`. Returns False if a value reaches ``most``, and then ``limbs`` is not valid.
    """
    cdef double kept[PART]
    cdef double often[PART]
    cdef double largest
    cdef Py_ssize_t segment, part, count
    cdef bint fits = True, are_repeated = times.shape[0] > 0
    with nogil:
        _once(often)
        for segment in range(limbs.shape[0]):
            part = starts[segment]
            while fits and part < starts[segment + 1]:
                count = _taken(kept, &values[part], starts[segment + 1] - part)
                if are_repeated:
                    _taken(often, &times[part], starts[segment + 1] - part)
                largest = largest_of(kept, count)
                fits = largest < most
                if fits:
                    add_limbs(kept, often, count, largest, &units[0], &limbs[segment, 0])
                part += PART
    return fits


def last_of(const double[::1] values, int first, const double[::1] units):
    """Return one more than the index of the last limb that is nonzero for any of ``values``.

    The limbs before ``first`` must be 0.
    """
    cdef int last
    with nogil:
        last = last_limb(&values[0], values.shape[0], first, &units[0])
    return last


def add_scattered_values(
    const double[::1] values,
    const int32_t[::1] codes,
    int first,
    const double[::1] units,
    double most,
    double[:, ::1] limbs,
):
    """Add ``values`` to ``limbs`` as :func:`add` does, where ``codes`` has the segment of each value.

    The limbs before ``first`` must be 0 for all values.
    """
    cdef bint fits = True
    with nogil:
        if values.shape[0]:
            fits = add_scattered(&values[0], &codes[0], values.shape[0], first, most, &units[0], &limbs[0, 0])
    return fits


def add_with_squares(
    const double[::1] values,
    const int64_t[::1] starts,
    const double[::1] times,
    double counted_as,
    const double[::1] units,
    double most,
    int64_t[::1] undefined,
    double[:, ::1] first,
    double[:, ::1] second,
):
    """Add ``values`` to ``first`` and their squares to ``second``, as :func:`add` does. Shapes: (segments, 6).

    A NaN is counted in ``undefined`` for its segment and added as ``counted_as``. Returns False if a value or a square
    is ``most`` or more.
    """
    cdef double kept[PART]
    cdef double squares[PART]
    cdef double often[PART]
    cdef double largest
    cdef Py_ssize_t segment, part, count
    cdef bint fits = True, are_repeated = times.shape[0] > 0
    with nogil:
        _once(often)
        for segment in range(first.shape[0]):
            part = starts[segment]
            while fits and part < starts[segment + 1]:
                count = _taken(kept, &values[part], starts[segment + 1] - part)
                if are_repeated:
                    _taken(often, &times[part], starts[segment + 1] - part)
                undefined[segment] += square(kept, often, count, counted_as, squares, &largest)
                fits = largest < most and largest * largest < most
                if fits:
                    add_limbs(kept, often, count, largest, &units[0], &first[segment, 0])
                    add_limbs(squares, often, count, largest * largest, &units[0], &second[segment, 0])
                part += PART
    return fits


cdef void _once(double* often) noexcept nogil:
    cdef Py_ssize_t each
    for each in range(PART):
        often[each] = 1.0


cdef Py_ssize_t _taken(double* kept, const double* values, Py_ssize_t left) noexcept nogil:
    """Copy the next values, up to PART, pad with zeros to a multiple of LANES, and return the padded number."""
    cdef Py_ssize_t count = min(<Py_ssize_t>PART, left), filled = (count + LANES - 1) // LANES * LANES
    memcpy(kept, values, count * sizeof(double))
    memset(kept + count, 0, (filled - count) * sizeof(double))
    return filled
