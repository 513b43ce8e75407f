# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that join rows by group and item, and find the lowest hashes of items."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from libcpp.vector cimport vector

import numpy as np

cdef extern from "matches.h":
    cppclass Matches:
        @staticmethod
        Matches& of_thread() nogil
        void forget() nogil
        int64_t overruled, joined, pairs, places
        vector[int32_t] twins, numbers
        void find(
            const int32_t* list_codes, const int64_t* list_items, int64_t rows, const int32_t* truth_codes,
            const int64_t* truth_items, const double* grades, int64_t true_rows, int64_t groups, int32_t* given,
            uint8_t* fates, uint8_t* are_judged
        ) except + nogil

cdef extern from "lowest_hashes.h":
    cppclass LowestHashes:
        vector[uint64_t] lowest
        vector[int64_t] rows
        void find(const int64_t* items, int64_t count, size_t most) except + nogil

cdef extern from "members.h":
    cppclass Members:
        @staticmethod
        Members& of_thread() nogil
        void find(
            const int32_t* codes, const int64_t* items, int64_t rows, const int32_t* codes_of_pairs,
            const int64_t* items_of_pairs, int64_t pairs, int64_t groups, uint8_t* flags
        ) except + nogil


def find(
    const int32_t[::1] codes,
    const int64_t[::1] items,
    const double[::1] grades,
    int32_t[::1] given,
    uint8_t[::1] fates,
    uint8_t[::1] are_judged,
):
    """Join rows of lists with rows of a truth, for :class:`sparkrank.bucket.matching.Matches`.

    ``codes`` (n) and ``items`` (n) have the group and the item of each row. The rows of lists come first, as many as
    ``given``; the rows of the truth follow, as many as ``grades`` and ``fates``. A truth row without a label has the
    grade NaN. Fills in the truth row that gives each list row its label, or -1 (``given``); whether each truth row is
    beaten, listed or unlisted (``fates``); and whether each group has a judged item (``are_judged``). Returns six
    results: the numbers of overruled labels, of groups with rows of both lists and truth, of pairs of a list row and a
    judged item of its group, and of judged items that would fit into the lists of their groups; the list rows with the
    same group and item as another list row; and the number of this pair of group and item for each of them.
    """
    cdef Matches* matches = &Matches.of_thread()
    cdef Py_ssize_t rows = given.shape[0], true_rows = fates.shape[0], row
    cdef int64_t[::1] twin_rows, twin_codes
    if not rows or not true_rows:
        raise ValueError("both sides have rows")
    with nogil:
        matches.find(
            &codes[0], &items[0], rows, &codes[rows], &items[rows], &grades[0], true_rows, are_judged.shape[0],
            &given[0], &fates[0], &are_judged[0]
        )
    found = np.empty((2, matches.twins.size()), np.int64)
    twin_rows, twin_codes = found
    for row in range(twin_rows.shape[0]):
        twin_rows[row] = matches.twins[row]
        twin_codes[row] = matches.numbers[row]
    counts = matches.overruled, matches.joined, matches.pairs, matches.places
    matches.forget()
    return *counts, found[0], found[1]


def flag_members(
    const int32_t[::1] codes,
    const int64_t[::1] items,
    const int32_t[::1] codes_of_pairs,
    const int64_t[::1] items_of_pairs,
    Py_ssize_t groups,
    uint8_t[::1] flags,
):
    """Fill in ``flags`` (n): whether the pair of group (``codes``) and item of each row is one of the given pairs.

    These have the groups ``codes_of_pairs`` and the items ``items_of_pairs``. All codes are below ``groups``.
    """
    cdef Py_ssize_t rows = flags.shape[0], pairs = codes_of_pairs.shape[0]
    if not rows or not pairs:
        raise ValueError("both sides have rows")
    with nogil:
        Members.of_thread().find(
            &codes[0], &items[0], rows, &codes_of_pairs[0], &items_of_pairs[0], pairs, groups, &flags[0]
        )


def find_lowest(const int64_t[::1] items, size_t most):
    """Return the ``most`` lowest distinct hashes of ``items``, ascending, and the rows that have them, ascending."""
    cdef LowestHashes found
    cdef Py_ssize_t place
    cdef uint64_t[::1] hashes
    cdef int64_t[::1] of_rows
    if items.shape[0]:
        with nogil:
            found.find(&items[0], items.shape[0], most)
    lowest, rows = np.empty(found.lowest.size(), np.uint64), np.empty(found.rows.size(), np.int64)
    hashes, of_rows = lowest, rows
    for place in range(hashes.shape[0]):
        hashes[place] = found.lowest[place]
    for place in range(of_rows.shape[0]):
        of_rows[place] = found.rows[place]
    return lowest, rows
