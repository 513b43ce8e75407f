# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows counted by score block in one walk, where blocks lie close together."""

from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

cdef int64_t WITHOUT_SIGN = 0x7FFFFFFFFFFFFFFF
cdef int64_t RELEVANT = <int64_t>1 << 32  # what a relevant row counts, others count 1


def leading_bits(
    const double[::1] scores, const uint8_t[::1] relevant, int dropped, int64_t lowest, int64_t[::1] counted
):
    """Count rows with ``scores`` (n) by block of leading bits, and those ``relevant`` (n) apart, in ``counted`` (span).

    Its places are the codes of :class:`sparkrank.kernels.coding.LeadingBits` from ``lowest``.
    """
    cdef Py_ssize_t row
    cdef int64_t bits
    with nogil:
        for row in range(scores.shape[0]):
            memcpy(&bits, &scores[row], sizeof(bits))
            bits = (bits ^ ((bits >> 63) & WITHOUT_SIGN)) >> dropped
            bits += bits == -1  # -0.0, and what is cut to it
            counted[bits - lowest] += 1 + (RELEVANT - 1) * relevant[row]


def decimals(
    const double[::1] scores, const uint8_t[::1] relevant, double scale, int64_t lowest, int64_t[::1] counted
):
    """The same by block of decimals (:class:`sparkrank.kernels.coding.Decimals`), of which ``scale`` make 1."""
    cdef Py_ssize_t row
    cdef int64_t place
    with nogil:
        for row in range(scores.shape[0]):
            place = <int64_t>rint(scores[row] * scale) - lowest
            counted[place] += 1 + (RELEVANT - 1) * relevant[row]


def kept(const int64_t[::1] counted, int64_t lowest, int64_t[::1] code, int64_t[::1] pos, int64_t[::1] neg):
    """Fill in the ``code``, the relevant rows ``pos`` and the others ``neg`` (kept) of places with rows."""
    cdef Py_ssize_t place, found = 0
    with nogil:
        for place in range(counted.shape[0]):
            if counted[place]:
                code[found] = lowest + place
                pos[found] = counted[place] >> 32
                neg[found] = counted[place] & (RELEVANT - 1)
                found += 1


def add(int64_t[::1] sums, const int64_t[::1] places, const int64_t[::1] amounts):
    """Add each of ``amounts`` (n) to ``sums`` at its one of ``places`` (n)."""
    cdef Py_ssize_t at
    with nogil:
        for at in range(places.shape[0]):
            sums[places[at]] += amounts[at]
