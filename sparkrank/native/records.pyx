# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Blocks of CSV: what stands there that readers take differently, and columns of numbers and texts."""

from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as flag
from libcpp.vector cimport vector

cdef extern from "records.h":
    flag has_loose_quote(
        const char* block, int64_t size, char quote, char separator, flag doubled, flag may_have_lines
    ) nogil
    int64_t count_letter(const char* block, int64_t size, char letter) nogil
    int64_t count_lines(const char* block, int64_t size) nogil
    cppclass Field:
        int64_t kind, low, high, length, others
        void* values
        uint8_t* state
        char* text
    cppclass Records:
        Records(const char* block, int64_t size, char separator, char quote, flag has_quote) nogil
        flag pass_line() nogil
        int64_t read(vector[Field]& fields, int64_t most) except + nogil


def loose_quote(const uint8_t[::1] block, int quote, int separator, bint doubled, bint may_have_lines):
    """Whether ``block`` has a ``quote`` that does not enclose a field."""
    cdef flag found
    with nogil:
        found = has_loose_quote(
            <const char*>&block[0], block.shape[0], <char>quote, <char>separator, doubled, may_have_lines
        )
    return found


def count(const uint8_t[::1] block, int letter):
    """How often ``letter`` stands in ``block``."""
    cdef int64_t found
    with nogil:
        found = count_letter(<const char*>&block[0], block.shape[0], <char>letter)
    return found


def line_ends(const uint8_t[::1] block):
    """How many lines of ``block`` end, or -1 where a line has blanks and control letters alone."""
    cdef int64_t found
    with nogil:
        found = count_lines(<const char*>&block[0], block.shape[0])
    return found


def read(
    const uint8_t[::1] block,
    int separator,
    int quote,
    bint header,
    int64_t most,
    const int64_t[:, ::1] kinds,
    list values,
    list states,
    list texts,
    int64_t[::1] lengths,
    int64_t[::1] others,
):
    """Fill in the columns of the records of ``block``; returns how many records, or -1 where Arrow should read them.

    These are records that have other than all columns, line ends of other letters than most, quotes within fields, and
    numbers that the loop cannot round. ``quote`` is -1 where there is none. With a ``header`` the first line is
    none of the records, of which there are at most ``most``.

    ``kinds`` (columns, 3) has each column's kind, as :mod:`sparkrank.engines.arrow.csv_records` numbers them, and of
    whole numbers the least and the greatest. Of numbers ``values`` (most) and ``states`` (most) are filled in. Of texts
    ``values`` (most + 1) are their ends in ``texts``, which has room for the block; ``lengths`` (columns) are their
    bytes. ``others`` (columns) are the rows without a value of the kind. What a column does not need is empty.
    """
    cdef Py_ssize_t column, columns = kinds.shape[0]
    cdef int64_t found
    cdef uint8_t[::1] memory
    cdef vector[Field] fields
    cdef Records* records
    fields.resize(columns)
    for column in range(columns):
        fields[column].kind = kinds[column, 0]
        fields[column].low = kinds[column, 1]
        fields[column].high = kinds[column, 2]
        fields[column].length = fields[column].others = 0
        memory = values[column]
        fields[column].values = &memory[0] if memory.shape[0] else NULL
        memory = states[column]
        fields[column].state = &memory[0] if memory.shape[0] else NULL
        memory = texts[column]
        fields[column].text = <char*>&memory[0] if memory.shape[0] else NULL
    records = new Records(
        <const char*>&block[0], block.shape[0], <char>separator, <char>quote if quote >= 0 else 0, quote >= 0
    )
    with nogil:
        found = -1
        if not header or records.pass_line():
            found = records.read(fields, most)
    del records
    for column in range(columns):
        lengths[column] = fields[column].length
        others[column] = fields[column].others
    return found
