# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A compiled loop for logarithms that have the same bits on every processor."""

from libc.stdint cimport int64_t

cdef extern from "logs.h":
    void log_of(const double* values, int64_t count, double* found) nogil


def log(const double[::1] values, double[::1] found):
    """Write the natural logarithms of ``values``, which must be positive, finite and not subnormal, to ``found``."""
    if values.shape[0] == 0:
        return
    with nogil:
        log_of(&values[0], values.shape[0], &found[0])
