# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compiled loops that count rows by score bin in one pass, for bins close together. Array shapes are in parentheses.

The three ways to put scores into bins are those of the classes in :mod:`sparkrank.numeric.ordered_integers`.
"""

from libc.math cimport copysign, fabs, floor, ldexp, llrint, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "vectors.h":
    void range_of(const double* scores, int64_t count, double* lowest, double* highest) nogil

cdef extern from "row_sort.h":
    cppclass RowSort:
        RowSort(bint have_weights)
        void add(const int64_t* bins, const uint8_t* relevant, const double* weights, int64_t rows) except +
        void sort(bint are_sorted, int64_t* bins, uint8_t* relevant, double* weights) except + nogil

cdef extern from "limbs.h":
    cppclass Anchors:
        Anchors(const double* units) nogil
        void add(double value, int first, int last, double* sums) nogil

cdef enum:
    WITHOUT_SIGN = 0x7FFFFFFFFFFFFFFF
    _RELEVANT = 0x100000000  # the amount that a relevant row adds; other rows add 1
    PAGE_BITS = 8
    MANTISSA_BITS = 52
    OFFSET_BITS = 32
    LIMBS = 6
    _LEADING_BITS = 0
    _DECIMALS = 1
    _BINS = 2

LEADING_BITS, DECIMALS, BINS, RELEVANT = _LEADING_BITS, _DECIMALS, _BINS, <int64_t>_RELEVANT

ctypedef fused Whole:
    const uint8_t
    const uint16_t
    const uint32_t
    const int64_t

cdef struct Limbs:
    const Anchors* anchors
    int first
    int last

cdef struct Cut:
    int64_t dropped  # bits of the mantissa
    double narrow  # below this, the unit of a bin of leading bits is no float64
    double scale  # bins per 1
    double units  # units of an offset per 1


def ends(const double[::1] scores):
    """Return the lowest and the highest of ``scores``, which must have at least one score and no NaN."""
    cdef double lowest, highest
    with nogil:
        range_of(&scores[0], scores.shape[0], &lowest, &highest)
    return lowest, highest


def pages(int way, double size, const double[::1] scores, int64_t lowest, uint8_t[::1] filled):
    """Set ``filled`` (pages) to 1 for each page of 256 bin codes, counted from ``lowest``, that contains a score.

    ``way`` and ``size`` define the bins. Either the lowest ``size`` bits are dropped (:data:`LEADING_BITS`), or scores
    are rounded to multiples of 1 / ``size`` (:data:`DECIMALS`), or [0, 1] is cut into ``size`` bins (:data:`BINS`).
    """
    cdef Py_ssize_t row
    cdef Cut cut = _cut(way, size)
    with nogil:
        if way == _LEADING_BITS:
            for row in range(scores.shape[0]):
                filled[(_code(_LEADING_BITS, scores[row], cut) - lowest) >> PAGE_BITS] = 1
        elif way == _DECIMALS:
            for row in range(scores.shape[0]):
                filled[(_code(_DECIMALS, scores[row], cut) - lowest) >> PAGE_BITS] = 1
        else:
            for row in range(scores.shape[0]):
                filled[(_code(_BINS, scores[row], cut) - lowest) >> PAGE_BITS] = 1


def count(
    int way,
    double size,
    const double[::1] scores,
    const uint8_t[::1] relevant,
    int64_t lowest,
    const int64_t[::1] left_out,
    const int32_t[::1] segments,
    const int32_t[::1] owners,
    int64_t span,
    int64_t[::1] counted,
    int64_t[::1] offsets,
):
    """Count rows and relevant rows in ``counted``, by the score bins that ``way`` and ``size`` define (:func:`pages`).

    ``counted`` (segments · span) has one element per segment and bin code, with codes from ``lowest``. Its high 32 bits
    get the relevant rows, and its low 32 bits the other rows. ``left_out`` (pages, or empty) has the number of codes
    omitted before each page. ``segments`` (or empty) has the segment of each row or, if ``owners`` has an index for
    each row, of each index. ``offsets`` (segments · span, or empty) gets the sums of the distances of scores from the
    start of their bins, in 2^-32 of a bin's width.
    """
    with nogil:
        if way == _LEADING_BITS:
            _count(
                _LEADING_BITS, _cut(way, size), scores, relevant, lowest, left_out, segments, owners, span, counted, offsets
            )
        elif way == _DECIMALS:
            _count(
                _DECIMALS, _cut(way, size), scores, relevant, lowest, left_out, segments, owners, span, counted, offsets
            )
        else:
            _count(_BINS, _cut(way, size), scores, relevant, lowest, left_out, segments, owners, span, counted, offsets)


cdef inline void _count(
    int way, Cut cut, const double[::1] scores, const uint8_t[::1] relevant, int64_t lowest,
    const int64_t[::1] left_out, const int32_t[::1] segments, const int32_t[::1] owners, int64_t span,
    int64_t[::1] counted, int64_t[::1] offsets
) noexcept nogil:
    """The loop of :func:`count`, with ``way`` known to the compiler."""
    cdef Py_ssize_t row
    cdef int64_t code, place
    cdef bint are_apart = segments.shape[0] > 0, have_gaps = left_out.shape[0] > 0, sums = offsets.shape[0] > 0
    cdef bint are_owned = owners.shape[0] > 0
    if not (are_apart or have_gaps or sums):  # the usual case: without the branches, two thirds of the time
        for row in range(scores.shape[0]):
            counted[_code(way, scores[row], cut) - lowest] += 1 + (<int64_t>_RELEVANT - 1) * relevant[row]
        return
    if are_owned and not (have_gaps or sums):
        for row in range(scores.shape[0]):
            place = _code(way, scores[row], cut) - lowest + span * segments[owners[row]]
            counted[place] += 1 + (<int64_t>_RELEVANT - 1) * relevant[row]
        return
    for row in range(scores.shape[0]):
        code = _code(way, scores[row], cut)
        place = code - lowest
        if have_gaps:
            place -= left_out[place >> PAGE_BITS]
        if are_apart:
            place += span * segments[owners[row] if are_owned else row]
        counted[place] += 1 + (<int64_t>_RELEVANT - 1) * relevant[row]
        if sums:
            offsets[place] += <int64_t>_step(way, scores[row], code, cut)


def weigh(
    int way,
    double size,
    const double[::1] scores,
    const uint8_t[::1] relevant,
    int64_t lowest,
    const int64_t[::1] left_out,
    const int32_t[::1] segments,
    const int32_t[::1] owners,
    int64_t span,
    const int32_t[::1] number,
    const double[::1] weights,
    int first,
    int last,
    const double[::1] units,
    double[:, ::1] pos,
    double[:, ::1] neg,
    double[:, ::1] offsets,
):
    """Add the weights of relevant rows to ``pos``, and of other rows to ``neg``, both of the shape (bins, 6).

    The six limbs of an exact sum are multiples of ``units``, and only limbs from ``first`` to before ``last`` may be
    nonzero. Segments and bin codes are as in :func:`count`: ``number`` (segments · span) has the row of ``pos`` for
    each pair of both with rows. ``offsets`` (bins, 6; or empty) gets the weighted sums of the distances of scores from
    the start of their bins, in 2^-32 of a bin's width.
    """
    cdef Anchors* anchors = new Anchors(&units[0])
    cdef Limbs limbs
    limbs.anchors, limbs.first, limbs.last = anchors, first, last
    with nogil:
        if way == _LEADING_BITS:
            _weigh(
                _LEADING_BITS, _cut(way, size), scores, relevant, lowest, left_out, segments, owners, span, number, weights,
                limbs, pos, neg, offsets
            )
        elif way == _DECIMALS:
            _weigh(
                _DECIMALS, _cut(way, size), scores, relevant, lowest, left_out, segments, owners, span, number, weights,
                limbs, pos, neg, offsets
            )
        else:
            _weigh(
                _BINS, _cut(way, size), scores, relevant, lowest, left_out, segments, owners, span, number, weights, limbs,
                pos, neg, offsets
            )
        del anchors


cdef inline void _weigh(
    int way, Cut cut, const double[::1] scores, const uint8_t[::1] relevant, int64_t lowest,
    const int64_t[::1] left_out, const int32_t[::1] segments, const int32_t[::1] owners, int64_t span,
    const int32_t[::1] number, const double[::1] weights, Limbs limbs, double[:, ::1] pos, double[:, ::1] neg,
    double[:, ::1] offsets
) noexcept nogil:
    """The loop of :func:`weigh`, with ``way`` known to the compiler."""
    cdef Py_ssize_t row
    cdef int64_t code, place
    cdef bint are_apart = segments.shape[0] > 0, have_gaps = left_out.shape[0] > 0, sums = offsets.shape[0] > 0
    cdef bint are_owned = owners.shape[0] > 0
    for row in range(scores.shape[0]):
        code = _code(way, scores[row], cut)
        place = code - lowest
        if have_gaps:
            place -= left_out[place >> PAGE_BITS]
        if are_apart:
            place += span * segments[owners[row] if are_owned else row]
        if relevant[row]:
            limbs.anchors.add(weights[row], limbs.first, limbs.last, &pos[number[place], 0])
        else:
            limbs.anchors.add(weights[row], limbs.first, limbs.last, &neg[number[place], 0])
        if sums:
            limbs.anchors.add(_step(way, scores[row], code, cut) * weights[row], 0, LIMBS, &offsets[number[place], 0])


cdef Cut _cut(int way, double size) noexcept nogil:
    cdef Cut cut
    cut.dropped = 0
    cut.narrow = 0.0
    cut.scale = size
    cut.units = size * ldexp(1.0, OFFSET_BITS)
    if way == _LEADING_BITS:
        cut.dropped = <int64_t>size
        cut.narrow = ldexp(1.0, <int>max(-1022, MANTISSA_BITS - cut.dropped - 1042))
        cut.units = ldexp(1.0, OFFSET_BITS - <int>cut.dropped)
    return cut


cdef inline int64_t _code(int way, double score, const Cut& cut) noexcept nogil:
    """Return the code of the bin that contains ``score``. Codes ascend with scores."""
    cdef int64_t bits
    cdef double inside, place, whole
    if way == _LEADING_BITS:
        memcpy(&bits, &score, sizeof(bits))
        bits = (bits ^ ((bits >> 63) & <int64_t>WITHOUT_SIGN)) >> cut.dropped
        return bits + (bits == -1)  # -0.0, and scores that are cut to it
    if way == _DECIMALS:
        return llrint(score * cut.scale)
    inside = _inside(score)
    place = inside * cut.scale
    whole = floor(place)
    place -= whole
    if not (place > cut.scale * 2.0**-52 and place < 1 - cut.scale * 2.0**-52):
        # the product may have been rounded across a bin's edge
        whole += inside >= (whole + 1) / cut.scale
        whole -= inside < whole / cut.scale
        whole = min(whole, cut.scale - 1)
    return <int64_t>whole


cdef inline double _step(int way, double score, int64_t code, const Cut& cut) noexcept nogil:
    """Return the distance of ``score`` from the start of its bin, in whole units of the bin's width / 2^32."""
    cdef int64_t bits
    if way == _LEADING_BITS:
        if fabs(score) < cut.narrow:
            return 0.0
        memcpy(&bits, &score, sizeof(bits))
        bits &= (<int64_t>1 << cut.dropped) - 1
        return copysign(rint(<double>bits * cut.units), score)
    if way == _DECIMALS:
        return rint((score - <double>code / cut.scale) * cut.units)
    return rint((_inside(score) - <double>code / cut.scale) * cut.units)


cdef inline double _inside(double score) noexcept nogil:
    return min(max(score, 0.0), 1.0)


def codes(int way, double size, const int64_t[::1] blocks, int64_t[::1] found):
    """Fill in ``found``: the code of each bin number in ``blocks``. ``way`` and ``size``: see :func:`pages`."""
    cdef Cut cut = _cut(way, size)
    with nogil:
        if way == _LEADING_BITS:
            _codes(_LEADING_BITS, cut, blocks, found)
        elif way == _DECIMALS:
            _codes(_DECIMALS, cut, blocks, found)
        else:
            _codes(_BINS, cut, blocks, found)


cdef inline void _codes(int way, Cut cut, const int64_t[::1] blocks, int64_t[::1] found) noexcept nogil:
    """The loop of :func:`codes`, with ``way`` known to the compiler."""
    cdef Py_ssize_t each
    cdef int64_t bits
    cdef double score
    for each in range(blocks.shape[0]):
        bits = blocks[each] ^ ((blocks[each] >> 63) & <int64_t>WITHOUT_SIGN)
        memcpy(&score, &bits, sizeof(score))
        found[each] = _code(way, score, cut)


def ascend(int64_t first, int64_t least, Whole[::1] steps, int64_t[::1] found):
    """Fill in ``found``: n + 1 numbers that start with ``first`` and grow by each of the n ``steps`` plus ``least``.

    Arithmetic is modulo 2^64, because a step may exceed the range of the type.
    """
    cdef Py_ssize_t each
    cdef uint64_t number = <uint64_t>first, more = <uint64_t>least
    with nogil:
        found[0] = first
        for each in range(steps.shape[0]):
            number += more + <uint64_t>steps[each]
            found[each + 1] = <int64_t>number


def kept(const int64_t[::1] counted, int64_t[::1] place, int64_t[::1] pos, int64_t[::1] neg):
    """Fill in the index (``place``), relevant rows (``pos``) and other rows (``neg``) of each element with rows.

    ``counted`` has the counts of :func:`count`.
    """
    cdef Py_ssize_t each, found = 0
    with nogil:
        for each in range(counted.shape[0]):
            if counted[each]:
                place[found] = each
                pos[found] = counted[each] >> 32
                neg[found] = counted[each] & (<int64_t>_RELEVANT - 1)
                found += 1


def add(
    int64_t[::1] sums, const int64_t[::1] codes, int64_t lowest, int64_t least, Whole[::1] amounts, int64_t times
):
    """Add ``times`` · (``least`` + amount) to the sum of each code, for each pair from ``codes`` and ``amounts``.

    The first of ``sums`` is the sum of the code ``lowest``.
    """
    cdef Py_ssize_t each
    with nogil:
        for each in range(codes.shape[0]):
            sums[codes[each] - lowest] += times * (least + <int64_t>amounts[each])


def sort_rows(list runs, bint are_sorted, int64_t[::1] bins, uint8_t[::1] relevant, double[::1] weights):
    """Fill in ``bins``, ``relevant`` and ``weights`` of n rows, sorted by bin. ``weights`` is empty if rows have none.

    ``runs`` are triples of such arrays, with n rows in all and at least one in each. ``are_sorted`` says that each run
    is already sorted by bin. The order within a bin is arbitrary.
    """
    cdef const int64_t[::1] bins_of_run
    cdef const uint8_t[::1] relevant_of_run
    cdef const double[::1] weights_of_run
    cdef const double* first_weight = NULL
    cdef bint have_weights = weights.shape[0] > 0
    cdef RowSort* rows
    if not bins.shape[0]:
        return
    rows = new RowSort(have_weights)
    try:
        for bins_of_run, relevant_of_run, weights_of_run in runs:
            if have_weights:
                first_weight = &weights_of_run[0]
            rows.add(&bins_of_run[0], &relevant_of_run[0], first_weight, bins_of_run.shape[0])
        with nogil:
            rows.sort(are_sorted, &bins[0], &relevant[0], &weights[0] if have_weights else NULL)
    finally:
        del rows


def sweep_rows(
    const uint8_t[::1] relevant,
    const double[::1] weights,
    const double[::1] units,
    double scale,
    double[:, ::1] taken,
    double[::1] pos,
    double[::1] neg,
    double[::1] tp,
    double[::1] fp,
):
    """Fill in the weight of each row, in ``pos`` if it is relevant, else in ``neg``, and the totals ``tp`` and ``fp``.

    Each row is a separate bin, and all four arrays have n elements. ``tp`` and ``fp`` have the sums of ``pos`` and
    ``neg`` down to each row. A row has its weight in ``weights`` (n), or 1 if
    ``weights`` is empty. ``taken`` (2, 6) has the limbs, as multiples of ``units``, of the
    positives and negatives before the first row, and gets those after the last. All results are times ``scale``.
    """
    cdef Py_ssize_t row
    cdef int limb
    cdef int64_t is_relevant, positives, negatives
    cdef double rest, value, tp_now, fp_now
    cdef double[LIMBS] anchor
    cdef double[LIMBS] own
    cdef double* sums
    with nogil:
        for limb in range(LIMBS):
            anchor[limb] = 1.5 * 4503599627370496.0 * units[limb]  # leaves no bit below the unit
        if not weights.shape[0]:
            positives, negatives = <int64_t>taken[0, 0], <int64_t>taken[1, 0]
            for row in range(relevant.shape[0]):
                is_relevant = relevant[row]
                positives += is_relevant
                negatives += 1 - is_relevant
                pos[row], neg[row] = scale * is_relevant, scale * (1 - is_relevant)
                tp[row], fp[row] = positives * scale, negatives * scale
            taken[0, 0], taken[1, 0] = positives, negatives
        else:
            tp_now, fp_now = _rounded(&taken[0, 0]) * scale, _rounded(&taken[1, 0]) * scale
            for row in range(relevant.shape[0]):
                rest = weights[row]
                sums = &taken[not relevant[row], 0]
                for limb in range(LIMBS):
                    own[limb] = (rest + anchor[limb]) - anchor[limb]
                    rest -= own[limb]
                    sums[limb] += own[limb]
                value = _rounded(own) * scale
                if relevant[row]:
                    pos[row], neg[row] = value, 0.0
                    tp_now = _rounded(sums) * scale
                else:
                    pos[row], neg[row] = 0.0, value
                    fp_now = _rounded(sums) * scale
                tp[row], fp[row] = tp_now, fp_now


cdef inline double _rounded(const double* limbs) noexcept nogil:
    """Return the sum of ``limbs`` as a float64, added from the finest limb up."""
    return ((((limbs[5] + limbs[4]) + limbs[3]) + limbs[2]) + limbs[1]) + limbs[0]
