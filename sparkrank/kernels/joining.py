"""Neighbouring blocks joined from the first on until each holds enough rows, also over stretches walked apart.

A joined block may begin in one stretch and end in another. So each stretch tells, for every number of rows that an open
block may still need when it comes in, how many rows are open when it goes out (:func:`open_rows`). With these one
after the other every stretch knows what comes in, joins its own blocks (:func:`join_part`), and what lies over its
ends is put together (:func:`put_together`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparkrank.kernels.order import Ints
from sparkrank.kernels.rates import Rates
from sparkrank.kernels.walk import Extent, Steps


def joined(steps: Steps, min_rows: int) -> Steps:
    """``steps`` with neighbours joined from the first on, each until it holds ``min_rows`` rows.

    What is left at the end goes to the step before; where that is all, it stays one step.
    """
    if min_rows <= 1 or len(steps.rows) == 0:
        return steps
    first = joined_starts(steps.rows, min_rows)
    short = len(first) > 1 and steps.rows[first[-1] :].sum() < min_rows
    return _summed(steps, first[:-1] if short else first)


def joined_starts(rows: Ints, min_rows: int) -> Ints:
    """The first of each run of neighbours that are joined; the last run may be short.

    Which blocks begin a run is found by following, from the first block, the links from each block to the block after
    a run that begins there, in strides that double: log2(blocks) passes, no loop over runs.
    """
    count = len(rows)
    begins = np.zeros(count + 1, np.bool_)
    begins[0] = True
    stride = np.minimum(_links(rows, min_rows), count)
    for _ in range(count.bit_length()):
        begins[stride[begins]] = True
        stride = stride[stride]
    return np.flatnonzero(begins[:-1])


def _links(rows: Ints, min_rows: int) -> Ints:
    """For a run that begins at each block: the block after its end; beyond ``len(rows)`` where it has no end."""
    taken = np.cumsum(rows)
    return np.append(np.searchsorted(taken, taken - rows + min_rows) + 1, len(rows))


def open_rows(rows: Ints, min_rows: int) -> Ints:
    """How many rows are open at the end, for a block that comes in and needs 1, 2, ... more rows to be closed.

    The array ends where the rows of the stretch are too few to close it, or at ``min_rows``.
    """
    count = len(rows)
    taken = np.cumsum(rows)
    last = _links(rows, min_rows)
    last = np.where(last > count, np.arange(count + 1), last)  # a run without an end stays where it is
    for _ in range(count.bit_length()):
        last = last[last]
    needed = np.arange(1, min(min_rows, int(taken[-1])) + 1)
    starts = np.searchsorted(taken, needed) + 1
    left: Ints = taken[-1] - np.append(taken - rows, taken[-1])[last[starts]]
    return left


@dataclass(frozen=True)
class JoinedPart:
    """The joined blocks of a stretch: what it adds to the open one (``head``) and whether that ``closed`` it; the rates
    of its ``blocks`` whole ones but the last; the ``last`` whole one; and the open one at its end (``tail``).
    """

    head: Extent
    closed: bool
    rates: Rates | None = None
    blocks: int = 0
    last: Extent | None = None
    tail: Extent | None = None


def join_part(steps: Steps, min_rows: int, needed: int) -> JoinedPart:
    """The blocks of a stretch (not empty) joined, where the open block that comes in needs ``needed`` more rows."""
    taken = np.cumsum(steps.rows)
    if taken[-1] < needed:
        return JoinedPart(Extent.of(steps), closed=False)
    end = int(np.searchsorted(taken, needed)) + 1
    head, rest = Extent.of(_cut(steps, 0, end)), _cut(steps, end, len(taken))
    if len(rest.rows) == 0:
        return JoinedPart(head, closed=True)
    first = joined_starts(rest.rows, min_rows)
    tail = None
    if rest.rows[first[-1] :].sum() < min_rows:
        tail = Extent.of(_cut(rest, first[-1], len(rest.rows)))
        rest, first = _cut(rest, 0, first[-1]), first[:-1]
    if len(first) == 0:
        return JoinedPart(head, closed=True, tail=tail)
    whole = _summed(rest, first)
    others, last = _cut(whole, 0, len(first) - 1), Extent.of(_cut(whole, len(first) - 1, len(first)))
    return JoinedPart(head, True, Rates.of(others), len(first) - 1, last, tail)


def put_together(parts: Sequence[JoinedPart]) -> tuple[Rates, int]:
    """The rates of all joined blocks of a day, and how many there are, from its stretches in their order."""
    closed: list[Extent] = []
    opened: Extent | None = None
    for part in parts:
        opened = part.head if opened is None else opened + part.head
        if part.closed:
            closed += [opened] if part.last is None else [opened, part.last]
            opened = part.tail
    if opened is not None:
        closed = [*closed[:-1], closed[-1] + opened] if closed else [opened]
    pos, neg, rows = (np.array([getattr(each, name) for each in closed]) for name in ("pos", "neg", "rows"))
    rates = Rates.of(Steps(pos, neg, rows)).merged(*(part.rates for part in parts if part.rates is not None))
    return rates, len(closed) + sum(part.blocks for part in parts)


def _cut(steps: Steps, start: int, end: int) -> Steps:
    return Steps(steps.pos[start:end], steps.neg[start:end], steps.rows[start:end])


def _summed(steps: Steps, first: Ints) -> Steps:
    pos, neg, rows = (np.add.reduceat(each, first) for each in (steps.pos, steps.neg, steps.rows))
    return Steps(pos, neg, rows)
