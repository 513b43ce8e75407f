"""The least that the scan lane must do: the same read, cut, pack and shuffle. Nothing is computed, nothing written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from benchmarks.contenders.contender import GROUP, Values, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.engines.spark.shuffle import Pair


def count_bytes(pairs: Iterable[Pair]) -> Iterator[int]:
    """How many bytes of pieces came."""
    yield sum(piece.size for _, piece in pairs)


class Floor:
    """The scan lane's own functions as far as the shuffle, and a count of bytes on the other side."""

    name = "floor"
    table = None

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self._work, self._spark = work, spark

    def prepare(self) -> None:
        from sparkrank.inputs.roles import Roles
        from sparkrank.metrics import Definitions, plan_of

        work = self._work
        self._roles = Roles.of(GROUP, work.label, {score: score for score in work.scores})
        self._plan = plan_of(
            work.metrics, work.scores, self._roles.group, Definitions(), group_table=True, score_sums=True
        )

    def run(self) -> None:
        from sparkrank.engines.spark.scan import pairs_of
        from sparkrank.engines.spark.shuffle import remove_shuffled, shuffled_pairs
        from sparkrank.inputs.buckets import bucket_count
        from sparkrank.sources.parquet import ParquetInput
        from sparkrank.sources.selection import Selection, Sides

        sides = Sides([(Selection(ParquetInput.at(str(self._work.log))), self._roles)], self._roles)
        buckets = bucket_count(sides.rows)
        pairs = pairs_of(self._spark.sparkContext, sides, self._plan, buckets)
        shuffled = shuffled_pairs(pairs, buckets)
        shuffled.mapPartitions(count_bytes).sum()
        remove_shuffled(shuffled)

    def values(self) -> Values:
        return {}
