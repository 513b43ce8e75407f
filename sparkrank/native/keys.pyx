# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that number keys from 0, count and sort rows by these numbers, and find each group's top scores."""

from libc.math cimport rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.algorithm cimport nth_element, sort
from libcpp.vector cimport vector

cdef extern from "pairs.h":
    struct Pair:
        int64_t one, other

cdef extern from "numbers.h":
    cppclass Numbers[Value]:
        vector[Value] distinct
        void expect(size_t values) except +
        void number(const Value* values, int64_t count, int32_t* numbers) except + nogil

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* place, int writes) nogil

cdef extern from "group_counts.h":
    void add_rows(const int32_t* codes, int64_t rows, int64_t* found) nogil
    void add_flagged(const int32_t* codes, const uint8_t* flags, int64_t rows, int64_t* found) nogil
    void add_both(const int32_t* codes, const uint8_t* flags, int64_t rows, int64_t* found) nogil

cdef extern from "vectors.h":
    void compare(const double* scores, int64_t count, double score, int64_t* above, int64_t* beside) nogil

cdef enum:
    ROWS_OF_A_GROUP = 8  # most groups have at least as many; otherwise the table grows
    AHEAD = 32  # rows


def number(list pieces, int32_t[::1] codes, int64_t[::1] distinct):
    """Number the keys of all arrays in ``pieces`` by first occurrence, and return the number of distinct keys.

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
    """Number the pairs of values from ``one`` and ``other`` by first occurrence; return the number of distinct pairs.

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
    if not codes.shape[0]:
        return
    with nogil:
        if flags.shape[0]:
            add_flagged(&codes[0], &flags[0], codes.shape[0], &found[0])
        else:
            add_rows(&codes[0], codes.shape[0], &found[0])


def count_rows_and_flagged(const int32_t[::1] codes, const uint8_t[::1] flags, int64_t[::1] rows, int64_t[::1] flagged):
    """Fill in the numbers of ``rows`` and ``flagged`` rows in each group, given the code and flag of each row."""
    cdef Py_ssize_t group
    with nogil:
        for group in range(rows.shape[0]):
            rows[group] = 0
        if codes.shape[0]:
            add_both(&codes[0], &flags[0], codes.shape[0], &rows[0])
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



def sort_lists(const int32_t[::1] codes, const int64_t[::1] length, const uint64_t[::1] keys, uint64_t[::1] ascending):
    """Fill in ``ascending`` with the sorted ``keys``. The highest bits of a key are its group.

    ``codes`` has the group of each key as well, and ``length`` the number of keys of each group.
    """
    cdef Py_ssize_t row, group, rows = keys.shape[0]
    cdef int64_t before = 0
    cdef vector[int64_t] next
    cdef uint64_t* into
    if not rows:
        return
    into = &ascending[0]
    with nogil:
        next.resize(length.shape[0])
        for group in range(length.shape[0]):
            next[group] = before
            before += length[group]
        for row in range(rows):
            prefetch(into + next[codes[min(row + AHEAD, rows - 1)]], 1)
            into[next[codes[row]]] = keys[row]
            next[codes[row]] += 1
        for group in range(length.shape[0]):
            sort(into + (next[group] - length[group]), into + next[group])


cdef enum:
    FEW = 64  # the scores of a list that are compared with each other
    AT_ONCE = 4  # scores

cdef struct Limit:
    double score  # rows above it count whole
    int64_t share  # what each row with this score counts


def stand_within(
    const int32_t[::1] codes,
    const double[::1] scores,
    const int64_t[::1] length,
    int64_t k,
    double unit,
    double[::1] room,
    int64_t[::1] found,
):
    """Fill in ``found``: ``unit`` for each row with one of the ``k`` highest scores of its group, 0 for other rows.

    ``codes`` has the group of each row, and ``length`` the number of rows of each group. ``k`` is at least 1, and no
    score is NaN. If only some of the rows with an equal score are among the ``k``, all of them get an equal share.
    ``room`` has space for all scores and three more of each group.
    """
    cdef Py_ssize_t row, group, groups = length.shape[0]
    cdef int64_t place, first, end, above, beside, before = 0
    cdef double* brought = &room[0]
    cdef double score
    cdef int64_t whole = <int64_t>unit
    cdef Limit limit
    cdef vector[int64_t] next
    cdef vector[Limit] limits
    if not codes.shape[0]:
        return
    with nogil:
        next.resize(groups)
        limits.resize(groups)
        for group in range(groups):
            next[group] = before
            before += (length[group] + AT_ONCE - 1) // AT_ONCE * AT_ONCE
        for row in range(codes.shape[0]):
            prefetch(brought + next[codes[min(row + AHEAD, codes.shape[0] - 1)]], 1)
            brought[next[codes[row]]] = scores[row]
            next[codes[row]] += 1
        for group in range(groups):
            limits[group].score = -1.0 / 0.0
            limits[group].share = whole
            if length[group] <= k:
                continue
            first, end = next[group] - length[group], next[group]
            if length[group] > FEW:
                nth_element(brought + first, brought + (end - k), brought + end)
                score, above, beside = brought[end - k], 0, 0
                for place in range(first, end):
                    above += brought[place] > score
                    beside += brought[place] == score
            else:
                while end % AT_ONCE:
                    brought[end] = 0.0 / 0.0  # which is neither above nor beside any score
                    end += 1
                for place in range(first, end):
                    score = brought[place]
                    compare(brought + first, end - first, score, &above, &beside)
                    if above < k <= above + beside:
                        break
            limits[group].score = score
            limits[group].share = <int64_t>rint(<double>(k - above) / <double>beside * unit)
        for row in range(codes.shape[0]):  # without a branch, which no processor could foresee
            limit = limits[codes[row]]
            found[row] = whole * (scores[row] > limit.score) + limit.share * (scores[row] == limit.score)
