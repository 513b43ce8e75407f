"""Exact metrics of a day whose distinct scores no one process should hold: a pass over ranges of scores on Spark.

Buckets leave their exact blocks beside their states. Samples of them place the cuts; each bucket's blocks are cut into
stretches of scores, Spark shuffles the pieces by stretch, and a task merges a stretch. Its totals, a few numbers, go
to the driver and come back as the amounts above each stretch; then every stretch is walked where it lies.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.engine.cuts import Cuts, Stretches
from sparkrank.engine.result import ExactBlocks
from sparkrank.engine.stretches import Asked, Place, Totals, exact_metrics, measured, places, sizes, sketches, walk
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from sparkrank.states.block_rows import BLOCKS, WEIGHTED_BLOCKS, blocks_table
from sparkrank.states.narrow_blocks import NarrowBlocks, merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Blocks of one stretch: 20 MB on their way, and a second's work for a task.
STRETCH_BLOCKS = 1_000_000

_PIECES = pa.schema({"stretch": pa.int32(), "blocks": pa.binary()})
_MERGED = pa.schema({"stretch": pa.int32(), "blocks": pa.binary(), "totals": pa.binary()})
_TERMS = pa.schema({"stretch": pa.int32(), "terms": pa.binary()})
Batches = Iterator[pa.RecordBatch]
ByLabel = Mapping[float | None, Sequence[Asked]]


class ExactDay:
    """The exact blocks of a day in merged stretches, which Spark keeps until :meth:`release`."""

    def __init__(self, packed: DataFrame, plan: Plan) -> None:
        """``packed`` has a row per bucket: its exact ``blocks`` and a ``sample`` of them, null where it has none."""
        cuts = Cuts.of(
            (row.as_py() for row in packed.select("sample").toArrow()["sample"] if row.is_valid), STRETCH_BLOCKS
        )
        self._plan = plan
        self._stretches = cuts.stretches()
        self._exact = exact_metrics(plan)
        pieces = packed.select("blocks").mapInArrow(_cutter(cuts), _ddl(_PIECES))
        merge = _merger(self._stretches, self._exact, curves=plan.curve_points > 0)
        tasks = max(1, len(self._stretches))
        self._merged = pieces.repartition(tasks, "stretch").mapInArrow(merge, _ddl(_MERGED)).persist()

    def solved(self) -> ExactBlocks:
        """Every metric that reads exact blocks, and the blocks as rows of their table, made where they lie."""
        totals = _by_stretch(self._merged.select("stretch", "totals"))
        walker = _walker(self._stretches, places(self._stretches, totals), self._exact)
        terms = _by_stretch(self._merged.select("stretch", "blocks").mapInArrow(walker, _ddl(_TERMS)))
        lister = _lister(self._stretches, self._plan.weighted)
        schema = _ddl(WEIGHTED_BLOCKS if self._plan.weighted else BLOCKS)
        return ExactBlocks(
            measured(self._stretches, totals, terms, self._exact),
            self._merged.select("stretch", "blocks").mapInArrow(lister, schema),
            sizes(self._stretches, totals),
            sketches(self._stretches, totals),
        )

    def release(self) -> None:
        """Give back the memory that holds the stretches."""
        self._merged.unpersist()


def _ddl(schema: pa.Schema) -> str:
    kinds = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}
    return ", ".join(f"`{field.name}` {kinds.get(field.type, 'binary')}" for field in schema)


def _by_stretch(rows: DataFrame) -> dict[int, Any]:
    """The unpickled second column by stretch: a few numbers each."""
    table = rows.toArrow()
    return dict(zip(table.column(0).to_pylist(), map(pickle.loads, table.column(1).to_pylist()), strict=True))


def _rows(batches: Batches) -> Iterator[tuple[int, NarrowBlocks]]:
    for batch in batches:
        for stretch, packed in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            yield stretch, pickle.loads(packed.as_buffer())  # noqa: S301 - packed by this run


def _batch(schema: pa.Schema, *row: Any) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([value], field.type) for value, field in zip(row, schema, strict=True)], schema=schema
    )


def _cutter(cuts: Cuts) -> Callable[[Batches], Batches]:
    def cut(batches: Batches) -> Batches:
        for batch in batches:
            for packed in batch.column(0):
                if packed.is_valid:
                    for stretch, blocks in cuts.pieces(Partials.unpack([packed.as_buffer()])):
                        yield _batch(_PIECES, stretch, pickle.dumps(NarrowBlocks.of(blocks)))

    return cut


def _merger(stretches: Stretches, exact: ByLabel, curves: bool) -> Callable[[Batches], Batches]:
    def merge(batches: Batches) -> Batches:
        pieces: dict[int, list[NarrowBlocks]] = {}
        for stretch, blocks in _rows(batches):
            pieces.setdefault(stretch, []).append(blocks)
        for stretch in sorted(pieces):
            whole = merged(pieces.pop(stretch))
            totals = Totals.of(whole, exact[stretches[stretch][0].rule.rel], curves)
            yield _batch(_MERGED, stretch, pickle.dumps(NarrowBlocks.of(whole)), pickle.dumps(totals))

    return merge


def _walker(stretches: Stretches, where: Mapping[int, Place], exact: ByLabel) -> Callable[[Batches], Batches]:
    def walk_all(batches: Batches) -> Batches:
        for stretch, blocks in _rows(batches):
            terms = walk(blocks.widened(), where[stretch], exact[stretches[stretch][0].rule.rel])
            yield _batch(_TERMS, stretch, pickle.dumps(terms))

    return walk_all


def _lister(stretches: Stretches, weighted: bool) -> Callable[[Batches], Batches]:
    def list_all(batches: Batches) -> Batches:
        for stretch, blocks in _rows(batches):
            yield from blocks_table({stretches[stretch][0]: blocks.widened()}, weighted=weighted).to_batches()

    return list_all
