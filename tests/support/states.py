"""Every state as the merge law sees it: what it is made of, how it is made, merged, stored and read."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
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
from sparkrank.states.forms import SMALL_FORMS, StateForm, large_forms
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
    """A state as the law sees it: what it is made of, how it is made, and read as ``bits``.

    ``field`` is its place in partials, there by ``key`` where it has one; some are partials themselves.
    """

    name: str
    elements: st.SearchStrategy[list[Any]]
    of: Callable[[Sequence[Any]], Any]
    bits: Callable[[Any], object]
    field: str | None = None
    empty: Callable[[], Any] = Partials
    key: Any = None

    def merge(self, parts: Sequence[Any]) -> Any:
        return Partials.merged(parts) if self.empty is Partials else parts[0].merge(*parts[1:])

    def partials(self, state: Any) -> Partials:
        """Partials with the state where tables take it from."""
        if self.empty is Partials or self.field is None:
            return state
        return Partials(**{self.field: state if self.key is None else {self.key: state}})

    def state(self, partials: Partials) -> Any:
        """The state of ``partials``."""
        if self.empty is Partials or self.field is None:
            return partials
        whole = getattr(partials, self.field)
        return whole if self.key is None else whole.get(self.key, self.empty())


def means_of(groups: Sequence[tuple[float, float]]) -> MeanStates:
    values, weights = (np.array(column, dtype=float) for column in (zip(*groups, strict=True) if groups else ((), ())))
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
    scores, flags = zip(*rows, strict=True) if rows else ((), ())
    return histogram_of(LOGITS, np.array(scores, dtype=float), np.array(flags, dtype=bool), sums=True)


def weighted_blocks_of(rows: Sequence[tuple[float, bool, float]]) -> ScoreHistogram:
    scores, flags, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return histogram_of(
        LOGITS, np.array(scores, dtype=float), np.array(flags, dtype=bool), True, np.array(weights, dtype=float)
    )


QUANTITIES = [
    *map(RowSum, ("rows", "weight", "scores", "squared_error", "log_loss", "outside")),
    RowSum("positives", rel=2.0),
    *(RowSum(name, threshold=0.5) for name in ("predicted", "true_positives")),
]


def row_sums_of(rows: Sequence[tuple[float, float, float]]) -> RowSums:
    columns = np.array(rows, dtype=float).reshape(len(rows), 3).T
    scored = ScoredRows(columns[0], columns[1], columns[2])
    return RowSums.of([(SLICE_KEY._replace(name=str(each)), scored.sums(each)) for each in QUANTITIES])


def bits_of_row_sums(sums: RowSums) -> list[object]:
    nothing = [(SLICE_KEY._replace(name=str(each)), np.zeros((1, LIMBS))) for each in QUANTITIES]
    found = sums.results() or RowSums.of(nothing).results()
    return sorted((key, repr(value)) for key, value in found.items())


def bits_of_blocks(blocks: ScoreHistogram) -> list[list[int]]:
    return [getattr(blocks, name).tolist() for name in ("bins", "pos", "neg", "offset", "rows")]


def items_of(rows: Sequence[tuple[str, int, bool]]) -> ItemCounts:
    items, shown, relevant = zip(*rows, strict=True) if rows else ((), (), ())
    codes, distinct = encode(pa.chunked_array([pa.array(items, pa.string())]))
    return ItemCounts.of(SLICE_KEY, distinct, codes, np.array(shown, np.int64), np.array(relevant, bool))


def bits_of_means(means: MeanStates) -> str:
    return repr(sorted(means.results().items()))


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


def no_blocks() -> ScoreHistogram:
    return ScoreHistogram.empty(LOGITS)


STATES = [
    State(
        "MeanStates",
        lists_of(st.floats(-8, 1000), st.floats(0, 10000)),
        means_of,
        bits_of_means,
        "means",
        MeanStates.empty,
    ),
    State("ScoreHistogram", lists_of(SCORES, st.booleans()), blocks_of, bits_of_blocks, "blocks", no_blocks, SERIES),
    State(
        "ScoreHistogram with weights",
        lists_of(SCORES, st.booleans(), WEIGHTS),
        weighted_blocks_of,
        bits_of_blocks,
        "blocks",
        no_blocks,
        SERIES,
    ),
    State(
        "ItemCounts",
        lists_of(st.sampled_from(["x", "y", "é", ""]), st.integers(0, UNIT), st.booleans()),
        items_of,
        lambda items: items_table(items).to_pylist(),
        "items",
        ItemCounts.empty,
    ),
    State(
        "RowSums",
        lists_of(st.floats(-0.1, 1), st.sampled_from([0.0, 1.0, 2.0]), WEIGHTS),
        row_sums_of,
        bits_of_row_sums,
        "sums",
        RowSums.empty,
    ),
    State(
        "Distribution",
        st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]) | st.floats(0, 1), max_size=30),
        lambda values: distribution_of(np.array(values, dtype=float)),
        lambda it: (str(it.histogram.rule), *bits_of_blocks(it.histogram)) if len(it.histogram.bins) else None,
        "distributions",
        lambda: distribution_of(np.empty(0)),
        KEY,
    ),
    State(
        "counts",
        lists_of(st.sampled_from(["groups", "rows read"]), st.sampled_from(["", "model"])),
        lambda counted: Partials(counts=Counter(counted)),
        lambda partials: sorted(partials.counts.items()),
        "counts",
    ),
    State("Partials", WHOLE_GROUPS, of_groups, bits_of_filled_partials),
    State("PartStates", WHOLE_GROUPS, of_groups, bits_of_parts, "parts"),
]


def through_tables(parts: Sequence[Partials]) -> Partials:
    """Each part written as its tables, the files read and merged as those of days are."""
    weighted = any(blocks.count is not None for part in parts for blocks in part.blocks.values())

    def stored(part: Partials, form: StateForm) -> pa.Table:
        file = io.BytesIO()
        pq.write_table(form.to_table(part), file)
        texts = [name for name in form.key if name not in ("block", "part")]
        return pq.ParquetFile(file, read_dictionary=texts).read(form.columns)

    forms = (*SMALL_FORMS, *large_forms(weighted=weighted))
    return Partials.merged([form.from_table(form.merged([stored(part, form) for part in parts])) for form in forms])
