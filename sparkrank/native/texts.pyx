# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that hash, number and sort strings by bucket. Strings have Arrow's layout: all bytes, and offsets."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define FIRST_IS_LOWEST(word) __builtin_bswap64(word)
    #else
    #define FIRST_IS_LOWEST(word) (word)
    #endif
    """
    uint64_t FIRST_IS_LOWEST(uint64_t word) nogil
    void __builtin_prefetch(const void* place) nogil

ctypedef fused End:
    int32_t
    int64_t

cdef enum:
    WORD = 8  # bytes
    FEWEST_BITS = 8  # the least size of the first table is 2^8; with a slot for every four rows it seldom grows
    ROWS_A_PLACE = 4
    AT_ONCE = 32  # texts that are hashed before any is looked up, so that their slots are in the cache by then

cdef struct Slot:
    uint32_t tag  # of the text's hash
    int32_t code  # -1 if the slot is free


def hashes(const End[::1] ends, const uint8_t[::1] data, uint64_t[::1] found):
    """Fill in ``found``: the hash of each string, before :func:`sparkrank.numeric.key_hashes.hash_keys` mixes it.

    ``ends`` has the n + 1 offsets of n strings in the bytes ``data``: strings begin at one offset and end at the next.
    """
    cdef Py_ssize_t row
    cdef const uint8_t* first = &data[0]
    with nogil:
        for row in range(found.shape[0]):
            found[row] = _hash(first + ends[row], ends[row + 1] - ends[row], first + data.shape[0])


def buckets_of(const End[::1] ends, const uint8_t[::1] data, uint64_t buckets, uint16_t[::1] found):
    """Fill in ``found``: the bucket of each string, by its hash from :func:`sparkrank.numeric.key_hashes.hash_keys`."""
    cdef Py_ssize_t row
    cdef uint64_t hashed
    cdef const uint8_t* first = &data[0]
    with nogil:
        for row in range(found.shape[0]):
            hashed = _hash(first + ends[row], ends[row + 1] - ends[row], first + data.shape[0])
            hashed = _mixed(hashed + <uint64_t>0x9E3779B97F4A7C15)
            found[row] = <uint16_t>(((hashed >> 32) * buckets) >> 32)


def number(
    const End[::1] ends, const uint8_t[::1] data, int32_t[::1] codes, End[::1] distinct_ends, uint8_t[::1] distinct
):
    """Number strings by first occurrence, and return the number of distinct strings.

    Fills in the ``codes`` of all strings and, with room for all strings, the ``distinct`` ones and ``distinct_ends``.
    """
    cdef Py_ssize_t row, part, rows = codes.shape[0], length
    cdef int32_t count = 0
    cdef int bits = FEWEST_BITS
    cdef uint64_t slot
    cdef uint64_t[AT_ONCE] hashed
    cdef const uint8_t* text
    cdef const uint8_t* first = &data[0]
    cdef uint8_t* kept = &distinct[0]
    cdef vector[Slot] table
    cdef vector[uint64_t] seen
    with nogil:
        while (<Py_ssize_t>ROWS_A_PLACE << bits) < rows:
            bits += 1
        _fill(table, bits, seen)
        distinct_ends[0] = 0
        for part in range(0, rows, 32):
            for row in range(part, min(part + AT_ONCE, rows)):
                hashed[row - part] = _hash(first + ends[row], ends[row + 1] - ends[row], first + data.shape[0])
                __builtin_prefetch(&table[hashed[row - part] >> (64 - bits)])
            for row in range(part, min(part + AT_ONCE, rows)):
                text = first + ends[row]
                length = ends[row + 1] - ends[row]
                slot = hashed[row - part] >> (64 - bits)
                while table[slot].code >= 0 and not (
                    table[slot].tag == <uint32_t>hashed[row - part]
                    and distinct_ends[table[slot].code + 1] - distinct_ends[table[slot].code] == length
                    and _same(kept + distinct_ends[table[slot].code], text, length)
                ):
                    slot = (slot + 1) & ((<uint64_t>1 << bits) - 1)
                if table[slot].code < 0:
                    table[slot].tag = <uint32_t>hashed[row - part]
                    table[slot].code = count
                    _copy(kept + distinct_ends[count], text, length)
                    distinct_ends[count + 1] = distinct_ends[count] + <End>length
                    seen.push_back(hashed[row - part])
                    codes[row] = count
                    count += 1
                    if 2 * <size_t>count > table.size():
                        bits += 2
                        _fill(table, bits, seen)
                else:
                    codes[row] = table[slot].code
    return count


cdef inline bint _same(const uint8_t* one, const uint8_t* other, int64_t length) noexcept nogil:
    """Return whether two strings of ``length`` bytes are equal."""
    cdef int64_t place
    cdef uint64_t word, another
    if length < WORD:
        for place in range(length):
            if one[place] != other[place]:
                return False
        return True
    for place in range(0, length - WORD, 8):
        memcpy(&word, one + place, WORD)
        memcpy(&another, other + place, WORD)
        if word != another:
            return False
    memcpy(&word, one + length - WORD, WORD)
    memcpy(&another, other + length - WORD, WORD)
    return word == another


cdef int _fill(vector[Slot]& table, int bits, const vector[uint64_t]& hashes) except -1 nogil:
    """Rebuild ``table`` with 2^``bits`` slots and the numbers of the distinct strings, given their ``hashes``."""
    cdef Slot free
    cdef uint64_t slot
    cdef size_t code
    free.tag = 0
    free.code = -1
    table.assign(<size_t>1 << bits, free)
    for code in range(hashes.size()):
        slot = hashes[code] >> (64 - bits)
        while table[slot].code >= 0:
            slot = (slot + 1) & ((<uint64_t>1 << bits) - 1)
        table[slot].tag = <uint32_t>hashes[code]
        table[slot].code = <int32_t>code
    return 0


def scatter(
    const End[::1] ends,
    const uint8_t[::1] data,
    const uint16_t[::1] buckets,
    int64_t[::1] places,
    End[::1] room_ends,
    uint8_t[::1] room,
):
    """Copy each string to the next free place of its bucket in ``room``, and write the n + 1 offsets ``room_ends``.

    ``places`` has, for each bucket, the number of strings in all earlier buckets. The loop overwrites ``places``.
    """
    cdef Py_ssize_t row, bucket, length
    cdef const uint8_t* first = &data[0]
    cdef uint8_t* to = &room[0]
    cdef vector[End] at
    with nogil:
        at.resize(places.shape[0] + 1)  # the position of the next text of each bucket
        for row in range(buckets.shape[0]):
            at[buckets[row] + 1] += ends[row + 1] - ends[row]
        for bucket in range(places.shape[0]):
            at[bucket + 1] += at[bucket]
        room_ends[0] = 0
        for row in range(buckets.shape[0]):
            bucket = buckets[row]
            length = ends[row + 1] - ends[row]
            _copy(to + at[bucket], first + ends[row], length)
            at[bucket] += <End>length
            places[bucket] += 1
            room_ends[places[bucket]] = at[bucket]


cdef inline void _copy(uint8_t* to, const uint8_t* text, int64_t length) noexcept nogil:
    """Copy a string. If it has the usual length of ids, two halves, which may overlap, are copied without a call."""
    if length >= 2 * WORD and length <= 4 * WORD:
        memcpy(to, text, 16)
        memcpy(to + length - 16, text + length - 16, 16)
    elif length >= WORD and length < 2 * WORD:
        memcpy(to, text, 8)
        memcpy(to + length - 8, text + length - 8, 8)
    else:
        memcpy(to, text, length)


cdef inline uint64_t _hash(const uint8_t* text, int64_t length, const uint8_t* end) noexcept nogil:
    """Hash a string: mix each word with its position, add the words and the length, and mix the sum."""
    cdef uint64_t total = 0, word
    cdef int64_t place
    for place in range(0, length, 8):
        word = 0
        if end - (text + place) >= WORD:
            memcpy(&word, text + place, WORD)
            word = FIRST_IS_LOWEST(word)
            if length - place < WORD:
                word &= (<uint64_t>1 << (8 * (length - place))) - 1
        else:
            memcpy(&word, text + place, length - place)
            word = FIRST_IS_LOWEST(word)
        total += _mixed(word + <uint64_t>place * <uint64_t>0x9E3779B97F4A7C15)
    return _mixed(total + <uint64_t>length * <uint64_t>0x9E3779B97F4A7C15)


cdef inline uint64_t _mixed(uint64_t value) noexcept nogil:
    value = (value ^ (value >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    value = (value ^ (value >> 27)) * <uint64_t>0x94D049BB133111EB
    return value ^ (value >> 31)
