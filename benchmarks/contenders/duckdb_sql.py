"""DuckDB SQL: one process, all its threads, the work of each query cut down to the rows that matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, SCORE, Value, Work
from benchmarks.contenders.day import block_of, day_values, needs_blocks

if TYPE_CHECKING:
    import duckdb

# The window over all rows gives positions only. The hits are then numbered among themselves, one row in eight, and the
# sizes of the groups are counted apart: measured a fifth faster than a running sum and one aggregation over all rows.
GROUPS = """
CREATE OR REPLACE TEMP TABLE groups AS
WITH ranked AS (
    SELECT {group}, gain, row_number() OVER (PARTITION BY {group} ORDER BY {score} DESC) AS i FROM log
), placed AS (
    SELECT {group}, gain, i, row_number() OVER (PARTITION BY {group} ORDER BY i) AS hits{ideal_position}
    FROM ranked WHERE gain > 0
), sums AS (
    SELECT {group}, count(*) AS n_relevant, {aggregates} FROM placed GROUP BY {group}
), counts AS (
    SELECT {group}, count(*) AS n_rows FROM log GROUP BY {group}
), joined AS (
    SELECT * REPLACE (coalesce(n_relevant, 0) AS n_relevant) FROM counts LEFT JOIN sums USING ({group})
)
SELECT {group}, n_rows, n_rows AS n_retrieved, n_relevant, {values} FROM joined
"""
IDEAL_POSITION = ", row_number() OVER (PARTITION BY {group} ORDER BY gain DESC) AS j"
BLOCKS = "SELECT {block} AS block, count(*) FILTER (gain > 0) AS pos, count(*) AS n FROM log GROUP BY ALL"


class DuckDB:
    """The group table by window functions, everything else from it and from a count of score blocks."""

    name = "duckdb"

    def __init__(self, work: Work) -> None:
        self.table = work.output / f"{self.name}.parquet"
        self._work = work

    def prepare(self) -> None:
        import duckdb

        work = self._work
        self._database: duckdb.DuckDBPyConnection = duckdb.connect(config={"threads": work.cores})
        log = self._database.read_parquet(str(work.log / "*.parquet"))
        log.project(f"{GROUP}, {SCORE}, {work.label} AS gain").create_view("log")
        self._groups = GROUPS.format(
            group=GROUP,
            score=SCORE,
            aggregates=sql.aggregates(work.metrics, work.graded),
            values=sql.values(work.metrics),
            ideal_position=IDEAL_POSITION.format(group=GROUP) if work.graded else "",
        )

    def run(self) -> None:
        metrics = self._work.metrics
        self._database.execute(self._groups)
        self._database.table("groups").write_parquet(str(self.table), compression="zstd")
        means = self._database.table("groups").aggregate(", ".join(sql.means(metrics))).fetchnumpy()
        self._values = {metric: Value(float(means[sql.column(metric)][0])) for metric in sql.of_groups(metrics)}
        if needs_blocks(metrics):
            blocks = self._database.execute(BLOCKS.format(block=block_of(SCORE, "round"))).fetchnumpy()
            self._values.update(day_values(metrics, blocks["block"], blocks["pos"], blocks["n"]))

    def values(self) -> Mapping[str, Value]:
        return self._values
