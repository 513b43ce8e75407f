"""Cells in which rows are counted by block: places of an array where blocks lie close together, else sorted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkrank.kernels.coding import Coding
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.limbs import parts
from sparkrank.kernels.order import Flags, Ints, run_starts, stable_order
from sparkrank.kernels.segments import Segments

# Blocks that span many places often lie close together but for gaps, as where some scores are 0, or where scores of
# both signs are cut by their leading bits. Pages of 256 places without a row are left out (4 ns a row).
PAGE_BITS = 8
NO_GAPS = np.empty(0, np.int64)


@dataclass(frozen=True)
class InPlace:
    """Rows of blocks that lie close together, counted without sorting (3 ns a row).

    ``block`` are the block numbers in ascending order and ``rows`` the rows of each; ``starts`` (segments + 1) is where
    the blocks of each segment begin. ``place`` is each row's of ``span`` places for each of ``lanes``; ``kept`` are
    those of the ``span`` that hold rows.
    """

    block: Ints
    rows: Ints
    starts: Ints
    place: Ints
    span: int
    lanes: int
    kept: Ints

    def count(self, chosen: Ints) -> Ints:
        """The rows of each block among the rows ``chosen``."""
        return _tally(self.place[chosen], self.span, self.lanes)[self.kept]

    def sum(self, amounts: Floats, chosen: Ints | None = None) -> Floats:
        """The sum of ``amounts`` (one a row) over each block, or over its rows ``chosen``."""
        place = self.place if chosen is None else self.place[chosen]
        weights = amounts if chosen is None else amounts[chosen]
        return np.asarray(_tally(place, self.span, self.lanes, weights)[self.kept], np.float64)


@dataclass(frozen=True)
class Sorted:
    """Rows of blocks that lie far apart, sorted (15 ns a row).

    ``order`` sorts the rows by block, and ``first`` is where each block begins in it.
    """

    block: Ints
    rows: Ints
    starts: Ints
    order: Ints
    first: Ints

    def count(self, chosen: Ints) -> Ints:
        counted = np.zeros(len(self.order), np.int64)
        counted[chosen] = 1
        return np.add.reduceat(counted[self.order], self.first)

    def sum(self, amounts: Floats, chosen: Ints | None = None) -> Floats:
        if chosen is not None:
            all_, amounts = amounts, np.zeros(len(amounts))
            amounts[chosen] = all_[chosen]
        return np.add.reduceat(amounts[self.order], self.first)


class Places(NamedTuple):
    """The ``span`` places in which codes from ``lowest`` are counted.

    ``gaps`` are the codes that were left out before each page of places, where any were.
    """

    lowest: int
    span: int
    gaps: Ints

    def codes(self, place: Ints) -> Ints:
        """The codes that are counted at ``place``."""
        return place + self.lowest + (self.gaps[place >> PAGE_BITS] if len(self.gaps) else 0)


def without_gaps(code: Ints, span: int, most: int) -> tuple[int, Ints]:
    """The places that pages with rows take of ``span``, and how many were left out before each of these pages.

    They are left out of ``code`` where the others are ``most`` at most.
    """
    filled = no_pages(span)
    for part in parts(len(code)):
        filled[code[part] >> PAGE_BITS] = True
    left, gaps, before = left_out(filled)
    if left <= most:
        for part in parts(len(code)):
            code[part] -= before[code[part] >> PAGE_BITS]
    return left, gaps


def no_pages(span: int) -> Flags:
    """The pages of ``span`` places, none of them filled."""
    return np.zeros((span >> PAGE_BITS) + 1, np.bool_)


def left_out(filled: Flags) -> tuple[int, Ints, Ints]:
    """The places of the ``filled`` pages, how many are left out before each of these, and before each page of all."""
    pages = np.flatnonzero(filled)
    gaps = (pages - np.arange(len(pages))) << PAGE_BITS
    before = np.zeros(len(filled), np.int64)
    before[pages] = gaps
    return len(pages) << PAGE_BITS, gaps, before


def in_place(coding: Coding, place: Ints, places: Places, lanes: int, segments: Segments) -> InPlace:
    """The rows counted in an array of ``places`` for each segment; ``place`` becomes the place in it."""
    span = places.span
    if segments.code is not None:
        place += segments.code * np.int64(span * lanes)
    rows = _tally(place, span * segments.count, lanes)
    kept = np.flatnonzero(rows)
    block = coding.numbers(places.codes(kept if segments.code is None else kept % span))
    starts = np.searchsorted(kept, np.arange(segments.count + 1) * span)
    return InPlace(block, rows[kept], starts, place, span * segments.count, lanes, kept)


def by_sorting(coding: Coding, code: Ints, base: int, segments: Segments) -> Sorted:
    """The rows sorted by segment and code, which is that above ``base``."""
    order = np.argsort(code)
    if segments.code is None:
        ascending = code[order]
        first = run_starts(ascending)
        starts = np.array([0, len(first)])
    else:
        order = stable_order(segments.code, order)
        ascending, of = code[order], segments.code[order]
        first = run_starts(ascending, of)
        starts = np.searchsorted(of[first], np.arange(segments.count + 1))
    return Sorted(coding.numbers(ascending[first] + base), np.diff(first, append=len(code)), starts, order, first)


def _tally(place: Ints, span: int, lanes: int, weights: Floats | None = None) -> NDArray[Any]:
    """The rows at each of ``span`` places, or the sum of their ``weights``, all lanes together."""
    counted = np.bincount(place, weights=weights, minlength=span * lanes)
    return counted if lanes == 1 else counted.reshape(span, lanes).sum(axis=1)
