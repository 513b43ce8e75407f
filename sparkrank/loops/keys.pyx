# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Keys as numbers from 0, and rows counted by such numbers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

cdef enum:
    FEWEST_BITS = 8  # of the first table; with a place for four rows it seldom grows
    ROWS_A_PLACE = 4
    # Rows that are looked up before any of them is looked at again: five of six are where they belong, and which are
    # not no processor can foresee. Row by row it takes a third longer.
    BLOCK = 128


def number(const int64_t[::1] keys, int32_t[::1] codes, int64_t[::1] distinct):
    """Fill in the ``codes`` (n) of ``keys`` (n), in order of first occurrence, and the ``distinct`` keys.

    These have room for n; returns how many there are.
    """
    cdef Py_ssize_t row, start, end = 0, at, unsure
    cdef int32_t count = 0, found
    cdef int bits = FEWEST_BITS
    cdef uint64_t place
    cdef vector[int32_t] table
    cdef int32_t[BLOCK] rows
    with nogil:
        while (<Py_ssize_t>ROWS_A_PLACE << bits) < keys.shape[0]:
            bits += 1
        _fill(table, bits, NULL, 0)
        while end < keys.shape[0]:
            start, end = end, min(end + BLOCK, keys.shape[0])
            unsure = 0
            for row in range(start, end):
                found = codes[row] = table[_first_place(keys[row], bits)]
                rows[unsure] = <int32_t>(row - start)
                unsure += (found < 0) | (distinct[max(found, 0)] != keys[row])
            for at in range(unsure):
                row = start + rows[at]
                place = _place(table, bits, &distinct[0], keys[row])
                if table[place] < 0:
                    table[place] = count
                    distinct[count] = keys[row]
                    count += 1
                    codes[row] = count - 1
                    if 2 * <size_t>count > table.size():
                        bits += 2
                        _fill(table, bits, &distinct[0], count)
                else:
                    codes[row] = table[place]
    return count


cdef inline uint64_t _first_place(int64_t key, int bits) noexcept nogil:
    return (<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15) >> (64 - bits)


cdef inline uint64_t _place(const vector[int32_t]& table, int bits, const int64_t* distinct, int64_t key) noexcept nogil:
    """The place of the number of ``key`` in ``table``, or the free one where it belongs."""
    cdef uint64_t place = _first_place(key, bits)
    while table[place] >= 0 and distinct[table[place]] != key:
        place = (place + 1) & ((<uint64_t>1 << bits) - 1)
    return place


cdef int _fill(vector[int32_t]& table, int bits, const int64_t* distinct, int32_t count) except -1 nogil:
    """Make ``table`` one of 2^``bits`` places, which holds the numbers of ``distinct`` keys."""
    cdef int32_t number
    table.assign(<size_t>1 << bits, -1)
    for number in range(count):
        table[_place(table, bits, distinct, distinct[number])] = number
    return 0


def tally(const int32_t[::1] codes, const uint8_t[::1] flags, int64_t[::1] found):
    """Add to ``found`` (groups) the rows of each group, of n rows with ``codes`` (n): those with ``flags`` (n or 0)."""
    cdef Py_ssize_t row
    with nogil:
        if flags.shape[0]:
            for row in range(codes.shape[0]):
                found[codes[row]] += flags[row]
        else:
            for row in range(codes.shape[0]):
                found[codes[row]] += 1


def tally_both(const int32_t[::1] codes, const uint8_t[::1] flags, int64_t[::1] found):
    """The same of all rows and of those with ``flags`` (n): a row adds 1 to its group, with a flag 2^32 more."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(codes.shape[0]):
            found[codes[row]] += 1 + (<int64_t>flags[row] << 32)


def renumber(const int32_t[::1] codes, const int32_t[::1] numbers, int32_t[::1] found):
    """Fill in, or write over ``codes`` (n), the one of ``numbers`` (groups) of each."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(codes.shape[0]):
            found[row] = numbers[codes[row]]
