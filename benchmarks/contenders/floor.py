"""The least that the scan lane must do: the same read, cut, pack and shuffle. Nothing is computed, nothing written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.contenders.contender import GROUP, Values, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def count_bytes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many bytes of pieces came."""
    sizes = (pc.sum(pc.binary_length(batch.column("piece"))).as_py() or 0 for batch in batches)
    yield pa.record_batch({"bytes": pa.array([sum(sizes)], pa.int64())})


class Floor:
    """The scan lane's own functions as far as the shuffle, and a count of bytes on the other side."""

    name = "floor"
    table = None

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        from sparkrank.metrics import Definitions, Plan
        from sparkrank.roles import Roles

        work = self._work
        self._roles = Roles.of(GROUP, work.label, {score: score for score in work.scores})
        self._plan = Plan.of(
            work.metrics, work.scores, self._roles.group, Definitions(), group_table=True, score_sums=True
        )

    def run(self) -> None:
        from sparkrank.engine.batches import BYTES_OF_PIECES, batches_of
        from sparkrank.engine.buckets import bucket_count
        from sparkrank.engine.parquet import ParquetInput
        from sparkrank.engine.scan import shuffled_pieces
        from sparkrank.engine.sources import Sides, Source

        sides = Sides(Source(ParquetInput.at(str(self._work.log))), None, self._roles)
        pieces = shuffled_pieces(self._spark, sides, self._plan, bucket_count(sides.rows))
        counted = pieces.mapInArrow(count_bytes, "bytes long")
        with batches_of(self._spark, BYTES_OF_PIECES):
            counted.write.format("noop").mode("overwrite").save()

    def values(self) -> Values:
        return {}
