"""Exact metrics of a day with more distinct scores than fit in one process. Spark computes them by ranges of scores.

Tasks divide the bins by range, and each range is merged by one task. The driver then sends each range the totals of the
ranges with higher scores.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.engines.result import ExactBins
from sparkrank.engines.score_ranges import (
    ExactMetric,
    RangeBounds,
    RangePlace,
    ScoreRanges,
    Totals,
    exact_metrics,
    exact_terms,
    places,
    sizes,
    sketches,
    sweep,
)
from sparkrank.engines.spark.session_features import Batches, packed_once, why_not_cached
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.wire import NarrowHistogram, NarrowRows, merged
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.histogram_table import BLOCK_SCHEMA, WEIGHTED_BLOCK_SCHEMA, blocks_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The number of bins of a range: 20 MB in the shuffle, and a second's work for a task.
RANGE_BINS = 1_000_000

READINGS = 3  # the samples, the totals of the ranges, and the sweeps
_PIECES = pa.schema({"score_range": pa.int32(), "blocks": pa.binary()})
_MERGED = pa.schema({"score_range": pa.int32(), "blocks": pa.binary(), "totals": pa.binary()})
_TERMS = pa.schema({"score_range": pa.int32(), "terms": pa.binary()})
ByRule = Mapping[BinRule, Sequence[ExactMetric]]


class ExactDay:
    """The exact bins (of equal scores) of a day in merged ranges of scores.

    If permitted, Spark caches the ranges until :meth:`release`.
    """

    def __init__(self, packed: DataFrame, plan: Plan, is_cached: bool = True) -> None:
        """Read ``packed``, in which a row has a bucket's exact bins (``blocks``) and a ``sample`` of them, or nulls."""
        bounds = RangeBounds.of(
            (row.as_py() for row in packed.select("sample").toArrow()["sample"] if row.is_valid), RANGE_BINS
        )
        self._plan = plan
        self._ranges = bounds.score_ranges()
        self._exact = exact_metrics(plan)
        pieces = packed.select("blocks").mapInArrow(packed_once(partial(_cut, bounds)), _ddl(_PIECES))
        merge = packed_once(partial(_merge, self._ranges, self._exact, plan.curve_points > 0 or plan.gains))
        tasks = max(1, len(self._ranges))
        self._merged = pieces.repartition(tasks, "score_range").mapInArrow(merge, _ddl(_MERGED))
        self.is_cached = is_cached and why_not_cached(self._merged) is None

    def solved(self) -> ExactBins:
        """Return the exact bins (one for each distinct score), as terms of each metric and rows of ``blocks``.

        For each model and slice value, the result also contains the number of bins and a histogram with coarser bins.
        """
        totals = _by_range(self._merged.select("score_range", "totals"))
        sweeper = packed_once(partial(_sweep, self._ranges, self._exact, places(self._ranges, totals)))
        terms = _by_range(self._merged.select("score_range", "blocks").mapInArrow(sweeper, _ddl(_TERMS)))
        lister = packed_once(partial(_list, self._ranges, self._plan.weighted))
        schema = _ddl(WEIGHTED_BLOCK_SCHEMA if self._plan.weighted else BLOCK_SCHEMA)
        return ExactBins(
            exact_terms(self._ranges, totals, terms, self._exact),
            self._merged.select("score_range", "blocks").mapInArrow(lister, schema),
            sizes(self._ranges, totals),
            sketches(self._ranges, totals),
        )

    def release(self) -> None:
        """Free the memory of the ranges that Spark has cached."""
        if self.is_cached:
            self._merged.unpersist()


def _ddl(schema: pa.Schema) -> str:
    kinds = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}
    return ", ".join(f"`{field.name}` {kinds.get(field.type, 'binary')}" for field in schema)


def _by_range(rows: DataFrame) -> dict[int, Any]:
    """Return a dict from each range to its unpickled value in the second column, which is only a few numbers."""
    table = rows.toArrow()
    return dict(zip(table.column(0).to_pylist(), map(pickle.loads, table.column(1).to_pylist()), strict=True))


def _rows(batches: Batches) -> Iterator[tuple[int, NarrowHistogram | NarrowRows]]:
    for batch in batches:
        for score_range, packed in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield score_range, pickle.loads(packed.as_buffer())  # noqa: S301 - packed by this run


def _batch(schema: pa.Schema, *row: Any) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([value], field.type) for value, field in zip(row, schema, strict=True)], schema=schema
    )


def _cut(bounds: RangeBounds, batches: Batches) -> Batches:
    for batch in batches:
        for packed in batch.column(0):
            if packed.is_valid:
                for score_range, histogram in bounds.pieces(Partials.unpack([packed.as_buffer()])):
                    yield _batch(_PIECES, score_range, pickle.dumps(NarrowHistogram.of(histogram)))


def _merge(score_ranges: ScoreRanges, exact: ByRule, curves: bool, batches: Batches) -> Batches:
    pieces: dict[int, list[NarrowHistogram | NarrowRows]] = {}
    for score_range, histogram in _rows(batches):
        pieces.setdefault(score_range, []).append(histogram)
    for score_range in sorted(pieces):
        whole = merged(pieces.pop(score_range))
        totals = Totals.of(whole, exact[score_ranges[score_range][0].rule], curves)
        yield _batch(_MERGED, score_range, pickle.dumps(NarrowHistogram.of(whole)), pickle.dumps(totals))


def _sweep(score_ranges: ScoreRanges, exact: ByRule, where: Mapping[int, RangePlace], batches: Batches) -> Batches:
    for score_range, histogram in _rows(batches):
        terms = sweep(histogram.widened(), where[score_range], exact[score_ranges[score_range][0].rule])
        yield _batch(_TERMS, score_range, pickle.dumps(terms))


def _list(score_ranges: ScoreRanges, weighted: bool, batches: Batches) -> Batches:
    for score_range, histogram in _rows(batches):
        yield from blocks_table({score_ranges[score_range][0]: histogram.widened()}, weighted=weighted).to_batches()
