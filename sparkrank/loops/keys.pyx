# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Keys as numbers from 0, and rows counted by such numbers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

cdef enum:
    FEWEST_BITS = 8  # of the first table; with a place for four rows it seldom grows
    ROWS_A_PLACE = 4
    # Rows that are looked up before any of them is looked at again: five of six are where they belong, and which are
    # not no processor can foresee. Row by row it takes a third longer.
    BLOCK = 128


def number(list pieces, int32_t[::1] codes, int64_t[::1] distinct):
    """Fill in the ``codes`` (n) of the keys in ``pieces`` (n in all) and the ``distinct`` keys, by first occurrence.

    These have room for n; returns how many there are.
    """
    cdef const int64_t[::1] keys
    cdef Py_ssize_t first = 0
    cdef Numbers numbers
    _prepare(numbers, codes.shape[0])
    for keys in pieces:
        with nogil:
            _number(numbers, keys, codes[first:], distinct)
        first += keys.shape[0]
    return numbers.count


cdef struct Numbers:
    vector[int32_t] table
    int bits  # 2^bits are the places of the table
    int32_t count


cdef int _prepare(Numbers& numbers, Py_ssize_t rows) except -1 nogil:
    numbers.count = 0
    numbers.bits = FEWEST_BITS
    while (<Py_ssize_t>ROWS_A_PLACE << numbers.bits) < rows:
        numbers.bits += 1
    return _fill(numbers.table, numbers.bits, NULL, 0)


cdef int _number(
    Numbers& numbers, const int64_t[::1] keys, int32_t[::1] codes, int64_t[::1] distinct
) except -1 nogil:
    """The next keys, whose codes begin where ``codes`` do."""
    cdef Py_ssize_t row, start, end = 0, at, unsure
    cdef int32_t count = numbers.count, found
    cdef int bits = numbers.bits
    cdef uint64_t place
    cdef const int32_t* table = numbers.table.data()
    cdef int32_t[BLOCK] rows
    while end < keys.shape[0]:
        start, end = end, min(end + BLOCK, keys.shape[0])
        unsure = 0
        for row in range(start, end):
            found = codes[row] = table[_first_place(keys[row], bits)]
            rows[unsure] = <int32_t>(row - start)
            unsure += (found < 0) | (distinct[max(found, 0)] != keys[row])
        for at in range(unsure):
            row = start + rows[at]
            place = _place(numbers.table, bits, &distinct[0], keys[row])
            if numbers.table[place] < 0:
                numbers.table[place] = count
                distinct[count] = keys[row]
                count += 1
                codes[row] = count - 1
                if 2 * <size_t>count > numbers.table.size():
                    bits += 2
                    _fill(numbers.table, bits, &distinct[0], count)
                    table = numbers.table.data()
            else:
                codes[row] = numbers.table[place]
    numbers.count, numbers.bits = count, bits
    return 0


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


def tally_both(const int32_t[::1] codes, const uint8_t[::1] flags, int64_t[::1] rows, int64_t[::1] flagged):
    """Fill in the ``rows`` (groups) of each group and those with ``flags`` (n), of n rows with ``codes`` (n)."""
    cdef Py_ssize_t row, group
    with nogil:
        for group in range(rows.shape[0]):
            rows[group] = 0
        for row in range(codes.shape[0]):
            rows[codes[row]] += 1 + (<int64_t>flags[row] << 32)  # one walk, and one place for both
        for group in range(rows.shape[0]):
            flagged[group] = rows[group] >> 32
            rows[group] = <uint32_t>rows[group]


def in_turn(const int32_t[::1] codes, Py_ssize_t count, int64_t[::1] order):
    """Fill in the ``order`` (n) of n items by their ``codes`` (n), numbers below ``count``; those of one as they came."""
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
