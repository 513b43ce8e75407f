# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that sum whole numbers of many metrics by segment of groups, and compare the values of two models."""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    LOW_BITS = 22  # the low bits of a value in units of 2^-40, which are below 2^-18
    COUNTS = 5


def add_rows(
    const int64_t[:, ::1] table, const int32_t[::1] code, const int32_t[::1] segment, int64_t[:, ::1] added
):
    """Add values of groups to the sums of their segments, in place.

    Group i adds row ``code[i]`` of ``table`` to row ``segment[i]`` of ``added``. Shapes: ``table`` (rows, w), ``added``
    (segments, w), ``code`` and ``segment`` (n,).
    """
    cdef Py_ssize_t item, column, width = table.shape[1]
    cdef const int64_t* values
    cdef int64_t* sums
    if not width or not code.shape[0]:
        return
    with nogil:
        for item in range(code.shape[0]):
            values = &table[code[item], 0]
            sums = &added[segment[item], 0]
            for column in range(width):
                sums[column] += values[column]


def compare_rows(
    const int64_t[:, ::1] ours,
    const int32_t[::1] our_code,
    const int64_t[:, ::1] theirs,
    const int32_t[::1] their_code,
    const int32_t[::1] segment,
    int64_t undefined,
    int64_t tied,
    int64_t[:, :, ::1] counts,
    int64_t[:, :, ::1] sums,
):
    """Add the differences between the values of two models to ``counts`` and ``sums``, by segment and metric.

    ``ours`` and ``theirs`` (rows, m) are integers below 2^44, or ``undefined``. The codes (n) give the row of each
    group in its table. A code below 0 means that the model is not evaluated there. ``counts`` (segments, 5, m) counts
    pairs, differences above 0, equal to 0 (up to ``tied``) and below 0, and groups in which only one of the two models
    has a value. ``sums`` (segments, 5, m) adds up the upper and lower bits of the differences, and the three products
    that make up the squares of the differences.
    """
    cdef Py_ssize_t item, metric, width = ours.shape[1]
    cdef const int64_t* a
    cdef const int64_t* b
    cdef int64_t* pairs
    cdef int64_t* above
    cdef int64_t* equal
    cdef int64_t* below
    cdef int64_t* alone
    cdef int64_t* high
    cdef int64_t* low
    cdef int64_t* high_square
    cdef int64_t* product
    cdef int64_t* low_square
    cdef int64_t d, h, l, there_a, there_b, both, up, down
    cdef int64_t mask = (1 << LOW_BITS) - 1
    if not width or not our_code.shape[0]:
        return
    with nogil:
        for item in range(our_code.shape[0]):
            pairs = &counts[segment[item], 0, 0]
            above, equal, below, alone = pairs + width, pairs + 2 * width, pairs + 3 * width, pairs + 4 * width
            high = &sums[segment[item], 0, 0]
            low, high_square, product, low_square = high + width, high + 2 * width, high + 3 * width, high + 4 * width
            if our_code[item] < 0 or their_code[item] < 0:
                if our_code[item] >= 0:
                    a = &ours[our_code[item], 0]
                elif their_code[item] >= 0:
                    a = &theirs[their_code[item], 0]
                else:
                    continue
                for metric in range(width):
                    alone[metric] += a[metric] != undefined
                continue
            a, b = &ours[our_code[item], 0], &theirs[their_code[item], 0]
            for metric in range(width):
                there_a, there_b = a[metric] != undefined, b[metric] != undefined
                both = there_a & there_b
                d = (a[metric] - b[metric]) & -both
                h, l = d >> LOW_BITS, d & mask
                up, down = d > tied, d < -tied
                pairs[metric] += both
                above[metric] += up
                below[metric] += down
                equal[metric] += both - up - down
                alone[metric] += there_a ^ there_b
                high[metric] += h
                low[metric] += l
                high_square[metric] += h * h
                product[metric] += h * l
                low_square[metric] += l * l
