"""The state under quantiles over groups: how many groups have each value of a metric.

Values are kept as they are while there are few distinct ones, and then a quantile is exact. Beyond, they fall into
blocks 2^-16 wide relative to the value. Which of the two holds depends on the distinct values of all groups together,
so the layout of the data cannot show in it, and memory is bounded: a metric in [0, 1] fills some 65,536 blocks for each
power of two that its values span.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.numeric.segments import WHOLE, Segments, run_starts
from sparkrank.numeric.types import Floats
from sparkrank.states.keys import StateKey, in_order, rows_by_key
from sparkrank.tables.schemas import DISTRIBUTIONS as TABLE

KEY = ("model", "slice", "slice_value", "metric", "rule", "block")
DISTRIBUTIONS = TABLE.schema
EXACT = BinRule("exact")
COARSE = BinRule("bits", 16)
MOST_VALUES = 2**16  # 1 MiB of values and counts


@dataclass(frozen=True)
class Distribution:
    """The values of groups as blocks of equal values, each group a row of them."""

    blocks: ScoreHistogram

    @classmethod
    def empty(cls) -> Distribution:
        """No value of any group."""
        return cls(ScoreHistogram.empty(EXACT))

    @classmethod
    def of(cls, values: Floats) -> Distribution:
        """The distribution of ``values``, one per group (no NaN)."""
        return cls.of_each(values)[0]

    @classmethod
    def of_each(cls, values: Floats, segments: Segments = WHOLE) -> list[Distribution]:
        """The distribution of the ``values`` of each segment."""
        rows = ScoredRows(values, np.zeros(len(values), np.bool_))
        return [_bounded(each) for each in ScoreHistogram.of_each(EXACT, rows, False, segments)]

    def merge(self, *others: Distribution) -> Distribution:
        """The distribution over all groups together; no group may be in two of them."""
        parts = [part.blocks for part in (self, *others)]
        if any(part.rule == COARSE for part in parts):
            parts = [_coarsened(part) for part in parts]
        return _bounded(parts[0].merge(*parts[1:]))

    def quantile(self, share: float) -> tuple[float, float]:
        """The value below which ``share`` of the groups lie, and how far the exact quantile may be from it.

        Between two values it is interpolated linearly (Hyndman and Fan's method 7, numpy's default); the median of
        an even number is the mean of the middle two. NaN without groups.
        """
        through = np.cumsum(self.blocks.neg)
        if len(through) == 0:
            return math.nan, 0.0
        place = (int(through[-1]) - 1) * share
        below = math.floor(place)
        at = np.searchsorted(through, [below, min(below + 1, int(through[-1]) - 1)], side="right")
        low, high = self.blocks.score[at].tolist()
        bound = float(self.blocks.rule.width(self.blocks.score[at]).max())
        if share == 0.5 and place != below:
            return (low + high) / 2, bound
        return _between(low, high, place - below), bound


def _between(low: float, high: float, share: float) -> float:
    """The value ``share`` of the way from ``low`` to ``high``, from the nearer end, so that both ends are met."""
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def _bounded(blocks: ScoreHistogram) -> Distribution:
    return Distribution(_coarsened(blocks) if len(blocks.block) > MOST_VALUES else blocks)


def _coarsened(blocks: ScoreHistogram) -> ScoreHistogram:
    """The same groups by the blocks of :data:`COARSE`."""
    if blocks.rule == COARSE or len(blocks.block) == 0:
        return ScoreHistogram(COARSE, blocks.block, blocks.pos, blocks.neg, blocks.offset)
    number = COARSE.numbers(blocks.score)
    first = run_starts(number)
    none = np.zeros(len(first), np.int64)
    return ScoreHistogram(COARSE, number[first], none, np.add.reduceat(blocks.neg, first), none)


def distributions_table(by_metric: Mapping[StateKey, Distribution]) -> pa.Table:
    """One row per model, slice, metric and value of groups; ``value`` is there to be read."""
    tables = [DISTRIBUTIONS.empty_table()]
    for key, found in sorted(by_metric.items(), key=lambda item: in_order(item[0])):
        blocks = found.blocks
        texts = [pa.repeat(pa.scalar(text, pa.string()), len(blocks.block)) for text in (*key, str(blocks.rule))]
        columns = [*texts, *map(pa.array, (blocks.block, blocks.score, blocks.neg))]
        tables.append(pa.Table.from_arrays(columns, schema=DISTRIBUTIONS))
    return pa.concat_tables(tables)


def distributions_of_table(rows: pa.Table) -> dict[StateKey, Distribution]:
    """The distribution of each (model, slice, slice value, metric), whose rows may be of both rules."""
    found: dict[StateKey, list[Distribution]] = {}
    block, groups = (rows[name].to_numpy() for name in ("block", "groups"))
    for (*key, rule), places in rows_by_key(rows, KEY[:-1]):
        ascending = places[np.argsort(block[places], kind="stable")]
        none = np.zeros(len(places), np.int64)
        blocks = ScoreHistogram(BinRule.parse(rule), block[ascending], none, groups[ascending], none)
        found.setdefault(StateKey(*key), []).append(Distribution(blocks))
    return {key: parts[0].merge(*parts[1:]) for key, parts in found.items()}
