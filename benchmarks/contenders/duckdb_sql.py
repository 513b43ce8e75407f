"""DuckDB SQL: one process, all its threads, the work of each query cut down to the rows that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, Value, Values, Work
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
SELECT '{score}' AS model, {group}, n_rows, n_rows AS n_retrieved, n_relevant, {values} FROM joined
"""
IDEAL_POSITION = ", row_number() OVER (PARTITION BY {group} ORDER BY gain DESC) AS j"
BLOCKS = "SELECT {block} AS block, count(*) FILTER (gain > 0) AS pos, count(*) AS n FROM log GROUP BY ALL"


class DuckDB:
    """The group table by window functions, everything else from it and from a count of score blocks.

    Models one after the other: each reads its own score column of the files, and a group table is held for one only.
    """

    name = "duckdb"

    def __init__(self, work: Work) -> None:
        self.table = work.output / self.name
        self._work = work

    def prepare(self) -> None:
        import duckdb

        work = self._work
        self._database: duckdb.DuckDBPyConnection = duckdb.connect(config={"threads": work.cores})
        log = self._database.read_parquet(str(work.log / "*.parquet"))
        log.project(f"{GROUP}, {', '.join(work.scores)}, {work.label} AS gain").create_view("log")
        self._groups = {score: self._query(score) for score in work.scores}
        self.table.mkdir()

    def run(self) -> None:
        self._values = {score: self._evaluate(score) for score in self._work.scores}

    def values(self) -> Values:
        return self._values

    def _query(self, score: str) -> str:
        work = self._work
        return GROUPS.format(
            group=GROUP,
            score=score,
            aggregates=sql.aggregates(work.metrics, work.graded),
            values=sql.values(work.metrics),
            ideal_position=IDEAL_POSITION.format(group=GROUP) if work.graded else "",
        )

    def _evaluate(self, score: str) -> dict[str, Value]:
        metrics = self._work.metrics
        self._database.execute(self._groups[score])
        groups = self._database.table("groups")
        groups.write_parquet(str(self.table / f"{score}.parquet"), compression="zstd")
        means = groups.aggregate(", ".join(sql.means(metrics))).fetchnumpy()
        values = {metric: Value(float(means[sql.column(metric)][0])) for metric in sql.of_groups(metrics)}
        if needs_blocks(metrics):
            blocks = self._database.execute(BLOCKS.format(block=block_of(score, "round"))).fetchnumpy()
            values.update(day_values(metrics, blocks["block"], blocks["pos"], blocks["n"]))
        self._database.execute("DROP TABLE groups")
        return values
