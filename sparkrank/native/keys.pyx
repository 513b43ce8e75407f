# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that number keys from 0, count rows by these numbers, and find the highest scores of each group."""

from libc.math cimport rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp.algorithm cimport nth_element
from libcpp.vector cimport vector

cdef extern from "pairs.h":
    struct Pair:
        int64_t one, other

cdef extern from "numbers.h":
    cppclass Numbers[Value]:
        vector[Value] distinct
        void expect(size_t values) except +
        void number(const Value* values, int64_t count, int32_t* numbers) except + nogil

cdef enum:
    ROWS_OF_A_GROUP = 8  # most groups have at least as many; otherwise the table grows


def number(list pieces, int32_t[::1] codes, int64_t[::1] distinct):
    """Number the keys in the arrays of ``pieces`` by first occurrence, and return the number of distinct keys.

    Fills in the code of each key in ``codes``, and the distinct keys in ``distinct``, which needs room for all keys.
    """
    cdef const int64_t[::1] keys
    cdef Py_ssize_t first = 0
    cdef Numbers[int64_t] numbers
    numbers.expect(codes.shape[0] // ROWS_OF_A_GROUP)
    for keys in pieces:
        if keys.shape[0]:
            with nogil:
                numbers.number(&keys[0], keys.shape[0], &codes[first])
            first += keys.shape[0]
    if first:
        memcpy(&distinct[0], numbers.distinct.data(), numbers.distinct.size() * sizeof(int64_t))
    return numbers.distinct.size()


cdef enum:
    PAIRS_AT_ONCE = 1024  # these stay in the cache until they are numbered


def number_pairs(const int64_t[::1] one, const int64_t[::1] other, int32_t[::1] codes):
    """Number the pairs of values from ``one`` and ``other`` by first occurrence, and return how many pairs differ.

    Fills in the code of each pair in ``codes``.
    """
    cdef Numbers[Pair] numbers
    cdef Pair pairs[PAIRS_AT_ONCE]
    cdef Py_ssize_t start = 0, row, rows
    numbers.expect(codes.shape[0] // ROWS_OF_A_GROUP)
    with nogil:
        while start < codes.shape[0]:
            rows = min(<Py_ssize_t>PAIRS_AT_ONCE, codes.shape[0] - start)
            for row in range(rows):
                pairs[row].one, pairs[row].other = one[start + row], other[start + row]
            numbers.number(pairs, rows, &codes[start])
            start += rows
    return numbers.distinct.size()


def count_rows(const int32_t[::1] codes, const uint8_t[::1] flags, int64_t[::1] found):
    """Add the number of rows in each group to ``found``. If ``flags`` is not empty, only flagged rows count."""
    cdef Py_ssize_t row
    with nogil:
        if flags.shape[0]:
            for row in range(codes.shape[0]):
                found[codes[row]] += flags[row]
        else:
            for row in range(codes.shape[0]):
                found[codes[row]] += 1


def count_rows_and_flagged(const int32_t[::1] codes, const uint8_t[::1] flags, int64_t[::1] rows, int64_t[::1] flagged):
    """Fill in the numbers of ``rows`` and ``flagged`` rows in each group, given the code and flag of each row."""
    cdef Py_ssize_t row, group
    with nogil:
        for group in range(rows.shape[0]):
            rows[group] = 0
        for row in range(codes.shape[0]):
            rows[codes[row]] += 1 + (<int64_t>flags[row] << 32)  # one pass, and one memory location for both
        for group in range(rows.shape[0]):
            flagged[group] = rows[group] >> 32
            rows[group] = <uint32_t>rows[group]


def in_turn(const int32_t[::1] codes, Py_ssize_t count, int64_t[::1] order):
    """Fill in ``order``, the indices that sort ``codes``, all below ``count``. Equal codes keep their order."""
    cdef Py_ssize_t item
    cdef int32_t code, rows, before = 0
    cdef vector[int32_t] place
    with nogil:
        place.resize(count)
        for item in range(codes.shape[0]):
            place[codes[item]] += 1
        for code in range(<int32_t>count):
            rows = place[code]
            place[code] = before
            before += rows
        for item in range(codes.shape[0]):
            order[place[codes[item]]] = item
            place[codes[item]] += 1


def stand_within(
    const int32_t[::1] codes, const double[::1] scores, const int64_t[::1] length, int64_t k, double unit, int64_t[::1] found
):
    """Fill in ``found``: ``unit`` for each row with one of the ``k`` highest scores of its group, 0 for other rows.

    ``codes`` has the group of each row, and ``length`` the number of rows of each group. ``k`` is at least 1, and no
    score is NaN. If only some of the rows with an equal score are among the ``k``, all of them get an equal share.
    """
    cdef Py_ssize_t row, group, groups = length.shape[0]
    cdef int64_t place, first, above, beside, before = 0
    cdef vector[int64_t] start, share
    cdef vector[double] brought, least
    if not codes.shape[0]:
        return
    with nogil:
        start.resize(groups)
        share.resize(groups)
        least.resize(groups)
        brought.resize(codes.shape[0])
        for group in range(groups):
            start[group] = before
            before += length[group]
        for row in range(codes.shape[0]):
            brought[start[codes[row]]] = -scores[row]  # ascending, so that the highest score comes first
            start[codes[row]] += 1
        for group in range(groups):
            if length[group] <= k:
                least[group] = -1.0 / 0.0
                share[group] = <int64_t>unit
                continue
            first = start[group] - length[group]
            nth_element(brought.begin() + first, brought.begin() + (first + k - 1), brought.begin() + start[group])
            least[group] = -brought[first + k - 1]
            above = beside = 0
            for place in range(first, start[group]):
                above += -brought[place] > least[group]
                beside += -brought[place] == least[group]
            share[group] = <int64_t>rint(<double>(k - above) / <double>beside * unit)
        for row in range(codes.shape[0]):
            if scores[row] > least[codes[row]]:
                found[row] = <int64_t>unit
            else:
                found[row] = share[codes[row]] if scores[row] == least[codes[row]] else 0
