"""Exact blocks of a day in stretches of scores, each merged and walked apart. Pure numpy and pyarrow.

Exact blocks are as many as there are distinct scores, which may be more than one process holds. A stretch is all
blocks of one series between two block numbers; stretches are numbered from the highest scores down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkrank.day import Key, Measured, measure_rates, steps_of
from sparkrank.engine.cuts import Stretches
from sparkrank.kernels.joining import JoinedPart, join_part, open_rows, put_together
from sparkrank.kernels.order import Ints
from sparkrank.kernels.rates import Rates
from sparkrank.kernels.walk import Extent, Terms, Walk
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.declaration import BlockMetric
from sparkrank.states import ScoreBlocks, Series
from sparkrank.states.sketch import sketched


@dataclass(frozen=True)
class Asked:
    """A metric that reads exact blocks, with its declaration."""

    metric: Metric
    declaration: BlockMetric

    @property
    def min_rows(self) -> int:
        """The rows to which a metric by rate joins neighbouring blocks."""
        return int(self.metric.number("min_rows"))


def exact_metrics(plan: Plan) -> dict[float | None, list[Asked]]:
    """The metrics that read exact blocks, by the least relevant label of their rule."""
    found: dict[float | None, list[Asked]] = {}
    for metric, declaration in plan.block_metrics:
        rule = declaration.rule(metric)
        if rule.kind == "exact":
            found.setdefault(rule.rel, []).append(Asked(metric, declaration))
    return found


@dataclass(frozen=True)
class Totals:
    """What the driver must know of a stretch before it is walked.

    Its ``extent``; its ``rates`` where a metric asks for them; for each least number of rows to which a metric joins
    blocks, the rows left open at its end (:func:`sparkrank.kernels.joining.open_rows`); and a ``sketch`` of its blocks
    where curves are asked for.
    """

    extent: Extent
    rates: Rates | None
    left_open: Mapping[int, Ints]
    sketch: ScoreBlocks | None = None

    @classmethod
    def of(cls, blocks: ScoreBlocks, asked: Sequence[Asked], curves: bool = False) -> Totals:
        steps = steps_of(blocks)
        least = {each.min_rows for each in asked if each.declaration.by_rate}
        rates = Rates.of(steps) if 1 in least else None
        left_open = {rows: open_rows(steps.rows, rows) for rows in least - {1}}
        return cls(Extent.of(steps), rates, left_open, sketched(blocks) if curves else None)


@dataclass(frozen=True)
class Place:
    """Where a stretch stands: the extent of its day, that of the stretches above it, and for each least number of rows
    to which blocks are joined, how many more the block needs that is open above.
    """

    day: Extent
    above: Extent | None
    needed: Mapping[int, int]


def places(stretches: Stretches, totals: Mapping[int, Totals]) -> dict[int, Place]:
    """The place of each stretch that has blocks."""
    found: dict[int, Place] = {}
    for numbers in _days(stretches, totals).values():
        above: Extent | None = None
        needed = {rows: rows for rows in totals[numbers[0]].left_open}
        before: list[tuple[Extent | None, Mapping[int, int]]] = []
        for number in numbers:
            before.append((above, needed))
            of = totals[number]
            above = of.extent if above is None else above + of.extent
            needed = {rows: _needed(rows, more, of) for rows, more in needed.items()}
        assert above is not None  # noqa: S101 - a day has a stretch
        found |= {number: Place(above, *each) for number, each in zip(numbers, before, strict=True)}
    return found


def _needed(min_rows: int, needed: int, totals: Totals) -> int:
    """How many rows the block needs that is open behind a stretch, where one came in that needed ``needed``."""
    left_open = totals.left_open[min_rows]
    return min_rows - int(left_open[needed - 1]) if needed <= len(left_open) else needed - totals.extent.rows


def _days(stretches: Stretches, totals: Mapping[int, Totals]) -> dict[Series, list[int]]:
    """The stretches of each series that have blocks, the highest scores first."""
    days: dict[Series, list[int]] = {}
    for number in sorted(totals):
        days.setdefault(stretches[number][0], []).append(number)
    return days


def sizes(stretches: Stretches, totals: Mapping[int, Totals]) -> dict[Series, int]:
    """How many blocks each series has."""
    days = _days(stretches, totals)
    return {series: sum(totals[number].extent.blocks for number in numbers) for series, numbers in days.items()}


def sketches(stretches: Stretches, totals: Mapping[int, Totals]) -> dict[Series, ScoreBlocks]:
    """The sketch of each series, where the totals hold some."""
    found: dict[Series, ScoreBlocks] = {}
    for series, numbers in _days(stretches, totals).items():
        parts = [part for number in numbers if (part := totals[number].sketch) is not None]
        if parts:
            found[series] = parts[0].merge(*parts[1:])
    return found


def walk(blocks: ScoreBlocks, place: Place, asked: Sequence[Asked]) -> list[Terms | JoinedPart | None]:
    """What a stretch adds to each metric: terms, joined blocks, or nothing that the totals do not hold."""
    walks: dict[bool, Walk] = {}
    added: list[Terms | JoinedPart | None] = []
    for each in asked:
        if each.declaration.by_rate:
            least = each.min_rows
            added.append(None if least == 1 else join_part(steps_of(blocks), least, place.needed[least]))
            continue
        sums = each.declaration.score_sums
        if sums not in walks:
            walks[sums] = Walk(steps_of(blocks, sums), place.day, place.above)
        added.append(each.declaration.terms(walks[sums]))
    return added


def measured(
    stretches: Stretches,
    totals: Mapping[int, Totals],
    added: Mapping[int, Sequence[Any]],
    exact: Mapping[float | None, Sequence[Asked]],
) -> dict[Key, Measured]:
    """Every metric of every series from what its stretches add (:func:`walk`)."""
    found: dict[Key, Measured] = {}
    where = places(stretches, totals)
    for series, numbers in _days(stretches, totals).items():
        day = where[numbers[0]].day
        for index, each in enumerate(exact[series.rule.rel]):
            parts = [added[number][index] for number in numbers]
            if not each.declaration.by_rate:
                value = Measured(Terms.merged(parts), day)
            elif each.min_rows == 1:
                rates = [part for number in numbers if (part := totals[number].rates) is not None]
                value = measure_rates(rates[0].merged(*rates[1:]), each.declaration, day.blocks)
            else:
                joined, blocks = put_together(parts)
                value = measure_rates(joined, each.declaration, blocks)
            found[series.model, series.slice, series.slice_value, str(each.metric)] = value
    return found
