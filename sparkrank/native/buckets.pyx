# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that find the bucket of each row, and sort the values of each column by bucket."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    void __builtin_prefetch(const void* place, int is_written) nogil  # of GCC and Clang

cdef enum:
    AHEAD = 64  # bytes after a row's place, prefetched for the rows that follow it in its bucket

ctypedef fused Key:
    const int8_t
    const int16_t
    const int32_t
    const int64_t

ctypedef fused Value:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def buckets_of(Key[::1] keys, uint64_t buckets, uint16_t[::1] found):
    """Fill in ``found``: the bucket of each key, by its hash from :func:`sparkrank.numeric.key_hashes.hash_keys`."""
    cdef Py_ssize_t row
    cdef uint64_t mixed
    with nogil:
        for row in range(keys.shape[0]):
            mixed = <uint64_t><int64_t>keys[row] + <uint64_t>0x9E3779B97F4A7C15
            mixed = (mixed ^ (mixed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
            mixed = (mixed ^ (mixed >> 27)) * <uint64_t>0x94D049BB133111EB
            mixed ^= mixed >> 31
            found[row] = <uint16_t>(((mixed >> 32) * buckets) >> 32)


def count_rows(const uint16_t[::1] buckets, int64_t[::1] rows):
    """Add the number of rows in each bucket to ``rows``, which is indexed by bucket."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(buckets.shape[0]):
            rows[buckets[row]] += 1


def place(const uint16_t[::1] buckets, int64_t[::1] next_places, uint32_t[::1] places):
    """Fill in the position of each row in ``places``: the next free position of its bucket, given by ``next_places``.

    ``next_places`` is advanced. All columns use the same positions, which is faster than counting for each column.
    """
    cdef Py_ssize_t row, bucket
    with nogil:
        for row in range(buckets.shape[0]):
            bucket = buckets[row]
            places[row] = <uint32_t>next_places[bucket]
            next_places[bucket] += 1


def scatter(const uint8_t[::1] values, int width, const uint32_t[::1] places, uint8_t[::1] room):
    """Copy values of ``width`` bytes (1, 2, 4 or 8), one per row, to their positions (``places``) in ``room``."""
    if places.shape[0] == 0:
        return
    with nogil:
        if width == 1:
            _scatter(<const uint8_t*>&values[0], <uint8_t*>&room[0], places)
        elif width == 2:
            _scatter(<const uint16_t*>&values[0], <uint16_t*>&room[0], places)
        elif width == 4:
            _scatter(<const uint32_t*>&values[0], <uint32_t*>&room[0], places)
        else:
            _scatter(<const uint64_t*>&values[0], <uint64_t*>&room[0], places)


cdef void _scatter(const Value* values, Value* room, const uint32_t[::1] places) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(places.shape[0]):
        __builtin_prefetch(room + places[row] + AHEAD // sizeof(Value), 1)
        room[places[row]] = values[row]
