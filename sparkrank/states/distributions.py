"""The mergeable state of quantiles over groups: the number of groups with each value of a metric.

Up to 2^16 distinct values are stored exactly. If there are more, values are rounded to bins of a relative width of
2^-16, which limits memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.schemas.tables import DISTRIBUTIONS as TABLE
from sparkrank.states.keys import StateKey, in_order, rows_by_key

DISTRIBUTION_KEY = ("model", "slice", "slice_value", "metric", "rule", "block")
DISTRIBUTION_SCHEMA = TABLE.schema
EXACT = BinRule("exact")
COARSE = BinRule("bits", 16)
MAX_EXACT_VALUES = 2**16  # 1 MiB of values and counts


@dataclass(frozen=True)
class Distribution:
    """The distribution of a metric's values over groups, as a histogram in which each group is one row."""

    histogram: ScoreHistogram

    @classmethod
    def empty(cls) -> Distribution:
        return cls(ScoreHistogram.empty(EXACT))

    @classmethod
    def of_each(cls, values: Floats, segments: Segments = WHOLE) -> list[Distribution]:
        rows = ScoredRows(values, np.zeros(len(values), np.bool_))
        return [_bounded(histogram) for histogram in ScoreHistogram.of_each(EXACT, rows, False, segments)]

    def merge(self, *others: Distribution) -> Distribution:
        """Return the distribution over the groups of this and all ``others``. No group may be in two of them."""
        parts = [part.histogram for part in (self, *others)]
        if any(part.rule == COARSE for part in parts):
            parts = [_coarsened(part) for part in parts]
        return _bounded(parts[0].merge(*parts[1:]))

    def quantile(self, share: float) -> tuple[float, float]:
        """Return the quantile for ``share`` by Hyndman and Fan's method 7, and the largest error that bins may cause.

        The median of an even number of groups is the mean of the two middle values. Without groups, the quantile is
        NaN.
        """
        through = np.cumsum(self.histogram.neg)
        if len(through) == 0:
            return math.nan, 0.0
        place = (int(through[-1]) - 1) * share
        below = math.floor(place)
        at = np.searchsorted(through, [below, min(below + 1, int(through[-1]) - 1)], side="right")
        low, high = self.histogram.score[at].tolist()
        bound = float(self.histogram.rule.width(self.histogram.score[at]).max())
        if share == 0.5 and place != below:
            return (low + high) / 2, bound
        return _between(low, high, place - below), bound


def _between(low: float, high: float, share: float) -> float:
    """Interpolate between ``low`` (``share`` 0) and ``high`` (1), from the nearer end so that both ends are exact."""
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


def _bounded(histogram: ScoreHistogram) -> Distribution:
    return Distribution(_coarsened(histogram) if len(histogram.bins) > MAX_EXACT_VALUES else histogram)


def _coarsened(histogram: ScoreHistogram) -> ScoreHistogram:
    if histogram.rule == COARSE or histogram.is_empty:
        return replace(histogram, rule=COARSE)
    return histogram.coarser(COARSE)


def distributions_table(by_metric: Mapping[StateKey, Distribution]) -> pa.Table:
    """Return one table row per model, slice value, metric and value. The column ``value`` is for people to read."""
    tables = [DISTRIBUTION_SCHEMA.empty_table()]
    for key, distribution in sorted(by_metric.items(), key=lambda item: in_order(item[0])):
        histogram = distribution.histogram
        texts = [pa.repeat(pa.scalar(text, pa.string()), len(histogram.bins)) for text in (*key, str(histogram.rule))]
        columns = [*texts, *map(pa.array, (histogram.bins, histogram.score, histogram.neg))]
        tables.append(pa.Table.from_arrays(columns, schema=DISTRIBUTION_SCHEMA))
    return pa.concat_tables(tables)


def distributions_of_table(rows: pa.Table) -> dict[StateKey, Distribution]:
    by_metric: dict[StateKey, list[Distribution]] = {}
    bins, groups = (rows[name].to_numpy() for name in ("block", "groups"))
    for (*key, rule), places in rows_by_key(rows, DISTRIBUTION_KEY[:-1]):
        ascending = places[np.argsort(bins[places], kind="stable")]
        none = np.zeros(len(places), np.int64)
        histogram = ScoreHistogram(BinRule.parse(rule), bins[ascending], none, groups[ascending], none)
        by_metric.setdefault(StateKey(*key), []).append(Distribution(histogram))
    return {key: parts[0].merge(*parts[1:]) for key, parts in by_metric.items()}
