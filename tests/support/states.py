"""Every state as the merge law sees it: what it is made of, how it is made, merged, stored and read."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparkrank.bucket.encoding import encode
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum, ScoredRows
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.states import Distribution, ItemCounts, MeanStates, Partials, RowSums, ScoreHistogram, ScoreSeries
from sparkrank.states.forms import SMALL_FORMS, large_forms
from sparkrank.states.items import UNIT, items_table
from sparkrank.states.keys import SliceKey
from sparkrank.states.means import MeanRows, weighted_sums
from tests.support.buckets import bits_of_partials, evaluate
from tests.support.strategies import impressions

METRICS = ["ndcg@3", "ap", "rr", "p@2", "gauc", "group_auc(weight=pairs)", "auc", "auc(exact)", "auc_up(digits=1)"]
METRICS += ["logloss", "f1", "precision(threshold=1.5)", "ece"]
LOGITS = BinRule("bits", 4)
KEY = ("model", "all", "all", "ap")
SLICE_KEY = SliceKey(KEY[0], KEY[1], [KEY[2]], KEY[3])
SERIES = ScoreSeries("model", "all", "all", LOGITS)


@dataclass(frozen=True)
class State:
    """A state as the law sees it: what it is made of, how it is made and read, and its place in partials.

    It stands in ``field`` of partials, there by ``key`` where it has one. One that is ``whole`` is partials itself.
    """

    name: str
    elements: st.SearchStrategy[list[Any]]
    of: Callable[[Sequence[Any]], Any]
    empty: Callable[[], Any]
    bits: Callable[[Any], object]
    field: Any = None
    key: Any = None
    whole: bool = False

    def merge(self, parts: Sequence[Any]) -> Any:
        return Partials.merged(parts) if self.whole else parts[0].merge(*parts[1:])

    def partials(self, state: Any) -> Partials:
        return state if self.whole else Partials(**{self.field: state if self.key is None else {self.key: state}})

    def state(self, partials: Partials) -> Any:
        if self.whole:
            return partials
        found = getattr(partials, self.field)
        return found if self.key is None else found.get(self.key, self.empty())


def means_of(groups: Sequence[tuple[float, float]]) -> MeanStates:
    values, weights = np.array(groups, dtype=float).reshape(len(groups), 2).T
    counts = np.array([[len(groups), 0, len(groups), 3 * len(groups)]])
    return MeanStates.of([MeanRows(SLICE_KEY, counts, weighted_sums(values, weights))])


def histogram_of(
    rule: BinRule, scores: NDArray[Any], flags: NDArray[np.bool_], sums: bool, weights: NDArray[Any] | None = None
) -> ScoreHistogram:
    """The histogram of rows that are relevant where ``flags``."""
    (histogram,) = ScoreHistogram.of_each(replace(rule, rel=None), ScoredRows(scores, flags, weights), sums)
    return replace(histogram, rule=rule)


def distribution_of(values: NDArray[Any]) -> Distribution:
    return Distribution.of_each(values)[0]


def blocks_of(rows: Sequence[tuple[float, bool]]) -> ScoreHistogram:
    scores, flags = np.array(rows, dtype=float).reshape(len(rows), 2).T
    return histogram_of(LOGITS, scores, flags > 0, sums=True)


def weighted_blocks_of(rows: Sequence[tuple[float, bool, float]]) -> ScoreHistogram:
    scores, flags, weights = np.array(rows, dtype=float).reshape(len(rows), 3).T
    return histogram_of(LOGITS, scores, flags > 0, True, weights)


QUANTITIES = [
    *map(RowSum, ("rows", "weight", "scores", "squared_error", "log_loss", "outside")),
    RowSum("positives", rel=2.0),
    *(RowSum(name, threshold=0.5) for name in ("predicted", "true_positives")),
]


def row_sums_of(rows: Sequence[tuple[float, float, float]]) -> RowSums:
    scored = ScoredRows(*np.array(rows, dtype=float).reshape(len(rows), 3).T)
    return RowSums.of([(SLICE_KEY._replace(name=str(each)), scored.sums(each)) for each in QUANTITIES])


def bits_of_row_sums(sums: RowSums) -> list[object]:
    nothing = [(SLICE_KEY._replace(name=str(each)), np.zeros((1, LIMBS))) for each in QUANTITIES]
    found = sums.results() or RowSums.of(nothing).results()
    return sorted((key, repr(value)) for key, value in found.items())


def bits_of_blocks(blocks: ScoreHistogram) -> list[list[int]]:
    return [getattr(blocks, name).tolist() for name in ("bins", "pos", "neg", "offset", "rows")]


def bits_of_distribution(values: Distribution) -> object:
    return (str(values.histogram.rule), *bits_of_blocks(values.histogram)) if len(values.histogram.bins) else None


def items_of(rows: Sequence[tuple[str, int, bool]]) -> ItemCounts:
    items, shown, relevant = zip(*rows, strict=True) if rows else ((), (), ())
    codes, distinct = encode(pa.chunked_array([pa.array(items, pa.string())]))
    return ItemCounts.of(SLICE_KEY, distinct, codes, np.array(shown, np.int64), np.array(relevant, bool))


def bits_of_filled_partials(partials: Partials) -> dict[str, object]:
    """Without series that have no block: a table has no row for them."""
    filled = {series: blocks for series, blocks in partials.blocks.items() if len(blocks.bins)}
    return bits_of_partials(replace(partials, blocks=filled))


def of_groups(groups: Sequence[list[Any]]) -> Partials:
    return evaluate([row for group in groups for row in group], METRICS).partials


def bits_of_parts(partials: Partials) -> dict[str, object]:
    """The numbers of parts by form and key: exact sums by what their limbs add up to."""
    weighted = any(bins.rows is not None for bins in partials.parts.histograms.by_series.values())
    found: dict[str, object] = {}
    for form in (*SMALL_FORMS, *large_forms(weighted=weighted)):
        if form.is_of_parts:
            rows = form.to_table(partials).to_pylist()
            found[form.kind] = {tuple(row[name] for name in form.key): numbers_of(row, form.numbers) for row in rows}
    return found


def numbers_of(row: dict[str, Any], numbers: pa.Schema) -> dict[str, object]:
    """Whole numbers, and the sums of the limbs."""
    found: dict[str, Any] = {}
    for field in numbers:
        name = field.name if pa.types.is_integer(field.type) else field.name.rpartition("_")[0]
        found[name] = found.get(name, 0) + Fraction(row[field.name])
    return found


WHOLE_GROUPS = impressions(most_rows=4, groups=[f"g{number}" for number in range(8)]).map(
    lambda rows: [[row for row in rows if row[0] == group] for group in sorted({row[0] for row in rows})]
)
WEIGHTS = st.floats(0, 1000) | st.sampled_from([0.0, 1.0, 1 / 3, 1e-9, 2.0**-70])
SCORES = st.floats(-20, 20) | st.just(math.inf)


def lists_of(*columns: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.tuples(*columns), max_size=30)


BLOCKS = partial(ScoreHistogram.empty, LOGITS)
DRAWN_VALUES = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]) | st.floats(0, 1), max_size=30)
COUNTED = lists_of(st.sampled_from(["groups", "rows read"]), st.sampled_from(["", "model"]))
SHOWN = lists_of(st.sampled_from(["x", "y", "é", ""]), st.integers(0, UNIT), st.booleans())
WEIGHTED = lists_of(SCORES, st.booleans(), WEIGHTS)
SUMMED = lists_of(st.floats(-0.1, 1), st.sampled_from([0.0, 1.0, 2.0]), WEIGHTS)
STATES = [
    State("MeanStates", lists_of(st.floats(-8, 1000), st.floats(0, 10000)), means_of, MeanStates.empty,
          lambda means: repr(sorted(means.results().items())), "means"),
    State("ScoreHistogram", lists_of(SCORES, st.booleans()), blocks_of, BLOCKS, bits_of_blocks, "blocks", SERIES),
    State("ScoreHistogram with weights", WEIGHTED, weighted_blocks_of, BLOCKS, bits_of_blocks, "blocks", SERIES),
    State("ItemCounts", SHOWN, items_of, ItemCounts.empty, lambda items: items_table(items).to_pylist(), "items"),
    State("RowSums", SUMMED, row_sums_of, RowSums.empty, bits_of_row_sums, "sums"),
    State("Distribution", DRAWN_VALUES, lambda values: distribution_of(np.array(values, dtype=float)),
          lambda: distribution_of(np.empty(0)), bits_of_distribution, "distributions", KEY),
    State("counts", COUNTED, lambda counted: Partials(counts=Counter(counted)), Partials,
          lambda partials: sorted(partials.counts.items()), "counts", whole=True),
    State("Partials", WHOLE_GROUPS, of_groups, Partials, bits_of_filled_partials, whole=True),
    State("PartStates", WHOLE_GROUPS, of_groups, Partials, bits_of_parts, "parts", whole=True),
]  # fmt: skip


def through_tables(parts: Sequence[Partials]) -> Partials:
    """Each part written as its tables, the files read and merged as those of days are."""
    found = []
    weighted = any(blocks.count is not None for part in parts for blocks in part.blocks.values())
    for form in (*SMALL_FORMS, *large_forms(weighted=weighted)):
        tables = []
        for part in parts:
            file = io.BytesIO()
            pq.write_table(form.to_table(part), file)
            texts = [name for name in form.key if name not in ("block", "part")]
            tables.append(pq.ParquetFile(file, read_dictionary=texts).read(form.columns))
        found.append(form.from_table(form.merged(tables)))
    return Partials.merged(found)
