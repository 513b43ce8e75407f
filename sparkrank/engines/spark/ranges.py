"""Exact metrics of a day whose distinct scores no one process should hold: a pass over ranges of scores on Spark.

Buckets leave their exact blocks beside their states. Samples of them place the cuts; each bucket's blocks are cut into
ranges of scores, Spark shuffles the pieces by range, and a task merges a range. Its totals, a few
numbers, go to the driver and come back as the amounts above each range; then every range is swept where it
lies.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.engines.ranges import (
    Asked,
    Place,
    RangeBounds,
    ScoreRanges,
    Totals,
    exact_metrics,
    measured,
    places,
    sizes,
    sketches,
    sweep,
)
from sparkrank.engines.result import ExactBins
from sparkrank.histogram.wire import NarrowHistogram, merged
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.histogram_table import BLOCKS, WEIGHTED_BLOCKS, blocks_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Blocks of one range: 20 MB on their way, and a second's work for a task.
RANGE_BINS = 1_000_000

_PIECES = pa.schema({"score_range": pa.int32(), "blocks": pa.binary()})
_MERGED = pa.schema({"score_range": pa.int32(), "blocks": pa.binary(), "totals": pa.binary()})
_TERMS = pa.schema({"score_range": pa.int32(), "terms": pa.binary()})
Batches = Iterator[pa.RecordBatch]
ByLabel = Mapping[float | None, Sequence[Asked]]


class ExactDay:
    """The exact blocks of a day in merged ranges, which Spark keeps until :meth:`release`."""

    def __init__(self, packed: DataFrame, plan: Plan) -> None:
        """``packed`` has a row per bucket: its exact ``blocks`` and a ``sample`` of them, null where it has none."""
        cuts = RangeBounds.of(
            (row.as_py() for row in packed.select("sample").toArrow()["sample"] if row.is_valid), RANGE_BINS
        )
        self._plan = plan
        self._ranges = cuts.score_ranges()
        self._exact = exact_metrics(plan)
        pieces = packed.select("blocks").mapInArrow(_cutter(cuts), _ddl(_PIECES))
        merge = _merger(self._ranges, self._exact, curves=plan.curve_points > 0)
        tasks = max(1, len(self._ranges))
        self._merged = pieces.repartition(tasks, "score_range").mapInArrow(merge, _ddl(_MERGED)).persist()

    def solved(self) -> ExactBins:
        """Every metric that reads exact blocks, and the blocks as rows of their table, made where they lie."""
        totals = _by_range(self._merged.select("score_range", "totals"))
        sweeper = _sweeper(self._ranges, places(self._ranges, totals), self._exact)
        terms = _by_range(self._merged.select("score_range", "blocks").mapInArrow(sweeper, _ddl(_TERMS)))
        lister = _lister(self._ranges, self._plan.weighted)
        schema = _ddl(WEIGHTED_BLOCKS if self._plan.weighted else BLOCKS)
        return ExactBins(
            measured(self._ranges, totals, terms, self._exact),
            self._merged.select("score_range", "blocks").mapInArrow(lister, schema),
            sizes(self._ranges, totals),
            sketches(self._ranges, totals),
        )

    def release(self) -> None:
        """Give back the memory that holds the ranges."""
        self._merged.unpersist()


def _ddl(schema: pa.Schema) -> str:
    kinds = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}
    return ", ".join(f"`{field.name}` {kinds.get(field.type, 'binary')}" for field in schema)


def _by_range(rows: DataFrame) -> dict[int, Any]:
    """The unpickled second column by range: a few numbers each."""
    table = rows.toArrow()
    return dict(zip(table.column(0).to_pylist(), map(pickle.loads, table.column(1).to_pylist()), strict=True))


def _rows(batches: Batches) -> Iterator[tuple[int, NarrowHistogram]]:
    for batch in batches:
        for score_range, packed in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield score_range, pickle.loads(packed.as_buffer())  # noqa: S301 - packed by this run


def _batch(schema: pa.Schema, *row: Any) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([value], field.type) for value, field in zip(row, schema, strict=True)], schema=schema
    )


def _cutter(cuts: RangeBounds) -> Callable[[Batches], Batches]:
    def cut(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column(0):
                if packed.is_valid:
                    for score_range, blocks in cuts.pieces(Partials.unpack([packed.as_buffer()])):
                        yield _batch(_PIECES, score_range, pickle.dumps(NarrowHistogram.of(blocks)))

    return cut


def _merger(score_ranges: ScoreRanges, exact: ByLabel, curves: bool) -> Callable[[Batches], Batches]:
    def merge(batches: Batches) -> Batches:
        pieces: dict[int, list[NarrowHistogram]] = {}
        for score_range, blocks in _rows(batches):
            pieces.setdefault(score_range, []).append(blocks)
        for score_range in sorted(pieces):
            whole = merged(pieces.pop(score_range))
            totals = Totals.of(whole, exact[score_ranges[score_range][0].rule.rel], curves)
            yield _batch(_MERGED, score_range, pickle.dumps(NarrowHistogram.of(whole)), pickle.dumps(totals))

    return merge


def _sweeper(score_ranges: ScoreRanges, where: Mapping[int, Place], exact: ByLabel) -> Callable[[Batches], Batches]:
    def walk_all(batches: Batches) -> Batches:
        for score_range, blocks in _rows(batches):
            terms = sweep(blocks.widened(), where[score_range], exact[score_ranges[score_range][0].rule.rel])
            yield _batch(_TERMS, score_range, pickle.dumps(terms))

    return walk_all


def _lister(score_ranges: ScoreRanges, weighted: bool) -> Callable[[Batches], Batches]:
    def list_all(batches: Batches) -> Batches:
        for score_range, blocks in _rows(batches):
            yield from blocks_table({score_ranges[score_range][0]: blocks.widened()}, weighted=weighted).to_batches()

    return list_all
