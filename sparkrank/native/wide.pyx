# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that make wide rows (with the scores of all models) from long rows (with the score of one model)."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp cimport bool as flag

ctypedef fused Score:
    float
    double

cdef extern from "wide.h":
    cppclass WideRows:
        flag repeats
        int32_t number(
            const int32_t* codes, const int64_t* items, const uint8_t* models, int64_t count, int64_t of_models,
            int64_t groups, int32_t* numbers, int64_t* first
        ) except + nogil


def number(
    const int32_t[::1] codes,
    const int64_t[::1] items,
    const uint8_t[::1] models,
    Py_ssize_t of_models,
    Py_ssize_t groups,
    int32_t[::1] numbers,
    int64_t[::1] first,
):
    """Number the pairs of group (``codes``, below ``groups``) and item of the rows with a model below ``of_models``.

    Fills in the number of each such row in ``numbers``, and the row of its first model in ``first``, which needs room
    for all rows. Numbers ascend from group to group. Returns the number of distinct pairs, and whether two rows of one
    model have the same pair.
    """
    cdef WideRows wide
    cdef int32_t count = 0
    if codes.shape[0]:
        with nogil:
            count = wide.number(
                &codes[0], &items[0], &models[0], codes.shape[0], of_models, groups, &numbers[0], &first[0]
            )
    return count, wide.repeats


def place(
    const int32_t[::1] numbers,
    const uint8_t[::1] models,
    const uint8_t[::1] valid,
    const Score[::1] scores,
    Score[:, ::1] places,
    uint8_t[:, ::1] bits,
):
    """Copy each valid score to ``places`` (models, wide rows), and set its bit in ``bits`` (models, bytes).

    ``numbers`` has the wide row of each row. Rows of models without a row in ``places`` are left out.
    """
    cdef Py_ssize_t row
    cdef int32_t number
    cdef uint8_t model
    with nogil:
        for row in range(models.shape[0]):
            model = models[row]
            if model < places.shape[0] and valid[row]:
                number = numbers[row]
                places[model, number] = scores[row]
                bits[model, number >> 3] |= <uint8_t>(1 << (number & 7))
