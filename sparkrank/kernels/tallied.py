"""Rows counted by block in one compiled walk (:mod:`sparkrank.loops.blocks`), where blocks lie close together.

It gives the bits that :mod:`sparkrank.kernels.cells` gives. It does not serve rows with weights, nor blocks of decimals
among which some scores are too large to have any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank import loops
from sparkrank.kernels.cells import Places, left_out, no_pages
from sparkrank.kernels.coding import Bins, Coding, Decimals, LeadingBits
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags, Ints
from sparkrank.kernels.segments import Segments

_ALL = np.empty(0, np.int64)  # no page is left out, or no sum is asked for
_ONE = np.empty(0, np.int32)  # of all rows


class Tallied(NamedTuple):
    """The rows of each block: its number, ascending in each segment, positives, negatives, and the sum of offsets.

    ``starts`` (segments + 1) is where the blocks of each segment begin.
    """

    block: Ints
    starts: Ints
    pos: Ints
    neg: Ints
    offset: Ints


def tallied(
    coding: Coding, scores: Floats, flags: Flags, places: Places, most: int, sums: bool, segments: Segments
) -> Tallied | None:
    """The blocks of rows with ``scores`` (n) and ``flags`` (n), counted in ``places``.

    Where these are more than ``most``, in those of their pages that have rows; nothing where these are more, too, or
    where the coding has no loop. ``sums`` asks for offsets.
    """
    cut = cut_by_loops(coding)
    if cut is None:
        return None
    before = _ALL
    if places.span > most:
        filled = no_pages(places.span)
        loops.blocks.pages(*cut, scores, places.lowest, filled.view(np.uint8))
        span, gaps, before = left_out(filled)
        if span > most:
            return None
        places = Places(places.lowest, span, gaps)
    span = places.span
    counted, offsets = np.zeros((2 if sums else 1, segments.count * span), np.int64), _ALL
    if sums:
        offsets = counted[1]
    codes = _ONE if segments.code is None else segments.code
    relevant: NDArray[np.uint8] = flags.view(np.uint8)
    loops.blocks.count(*cut, scores, relevant, places.lowest, before, codes, span, counted[0], offsets)
    place, pos, neg = kept(counted[0])
    starts = np.searchsorted(place, np.arange(segments.count + 1) * span)
    block = coding.numbers(places.codes(place if segments.code is None else place % span))
    return Tallied(block, starts, pos, neg, offsets[place] if sums else np.zeros_like(pos))


def kept(counted: Ints) -> tuple[Ints, Ints, Ints]:
    """The places of ``counted`` with rows, and of each its relevant rows and others.

    A relevant row has counted ``loops.blocks.RELEVANT`` there, another one 1.
    """
    place, pos, neg = (np.empty(np.count_nonzero(counted), np.int64) for _ in range(3))
    loops.blocks.kept(counted, place, pos, neg)
    return place, pos, neg


def cut_by_loops(coding: Coding) -> tuple[int, float] | None:
    """How the loops cut scores as ``coding`` does, or nothing where they cannot."""
    if isinstance(coding, LeadingBits):
        return loops.blocks.LEADING_BITS, coding.dropped
    if isinstance(coding, Decimals):
        return loops.blocks.DECIMALS, 10.0**coding.size
    if isinstance(coding, Bins):
        return loops.blocks.BINS, coding.size
    return None
