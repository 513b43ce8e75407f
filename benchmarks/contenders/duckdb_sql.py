"""DuckDB SQL: one process, all its threads, the work of each query cut down to the rows that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import ITEM, Value, Values, Work, subject
from benchmarks.contenders.day import block_of, day_values, needs_blocks

if TYPE_CHECKING:
    import duckdb

# The window over all rows gives positions only. The hits are then numbered among themselves, one row in eight, and the
# sizes of the groups are counted apart: measured a fifth faster than a running sum and one aggregation over all rows.
GROUPS = """
CREATE OR REPLACE TEMP TABLE groups AS
WITH ranked AS (
    SELECT {group}, gain, row_number() OVER (PARTITION BY {group} ORDER BY {order}) AS i FROM log
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
WEIGHTED_BLOCKS = """
SELECT {block} AS block, coalesce(sum({weight}) FILTER (gain > 0), 0) AS pos, sum({weight}) AS n FROM log GROUP BY ALL
"""


def source(work: Work, folder: str = "") -> str:
    """The files of the log, or of a ``folder`` of it, as what a query reads from."""
    reads = {"parquet": "read_parquet", "csv": "read_csv"}[work.format]
    return f"{reads}('{work.log}/{folder or ('*' if work.days else '')}/*.{work.format}')"


class DuckDB:
    """The group table by window functions, everything else from it and from a count of score blocks.

    Models one after the other: each reads its own score column of the files, and a group table is held for one only.
    """

    name = "duckdb"

    def __init__(self, work: Work) -> None:
        self.table = work.table_of(self.name)
        self._work = work

    def prepare(self) -> None:
        import duckdb

        work = self._work
        self._database: duckdb.DuckDBPyConnection = duckdb.connect(config={"threads": work.cores})
        self.view(source(work))
        self._groups = {score: self._query(score) for score in work.scores}
        if self.table is not None:
            self.table.mkdir()

    def view(self, files: str) -> None:
        """Let the queries read ``files``."""
        work = self._work
        columns = [*work.keys, *work.scores, f"{work.label} AS gain"]
        columns += ([ITEM] if work.needs_item else []) + ([work.weight] if work.weight else [])
        self._database.execute(f"CREATE OR REPLACE VIEW log AS SELECT {', '.join(columns)} FROM {files}")  # noqa: S608

    def run(self) -> None:
        self._values: dict[str, dict[str, Value]] = {score: self.evaluate(score) for score in self._work.scores}

    def values(self) -> Values:
        return self._values

    def _query(self, score: str) -> str:
        work = self._work
        keys = ", ".join(work.keys)
        return GROUPS.format(
            group=keys,
            score=score,
            order=f"{score} DESC, {ITEM} DESC" if work.by_item else f"{score} DESC",
            aggregates=sql.aggregates(work.metrics, work.graded),
            values=sql.values(work.metrics),
            ideal_position=IDEAL_POSITION.format(group=keys) if work.graded else "",
        )

    def evaluate(self, score: str) -> dict[str, Value]:
        """The metrics of a model; its group table is written where one is asked for."""
        metrics, weight = self._work.metrics, self._work.weight
        self._database.execute(self._groups[score])
        groups = self._database.table("groups")
        if self.table is not None:
            groups.write_parquet(str(self.table / f"{score}.parquet"), compression="zstd")
        means = groups.aggregate(", ".join(sql.means(metrics))).fetchnumpy()
        values = {metric: Value(float(means[sql.column(metric)][0])) for metric in sql.of_groups(metrics)}
        if needs_blocks(metrics):
            query = WEIGHTED_BLOCKS if weight else BLOCKS
            blocks = self._database.execute(query.format(block=block_of(score, "round"), weight=weight)).fetchnumpy()
            values.update(day_values(metrics, blocks["block"], blocks["pos"], blocks["n"]))
        self._database.execute("DROP TABLE groups")
        return values


class DaysDuckDB(DuckDB):
    """Each day as a log of its own: its means, and its group table in a folder of its own."""

    def run(self) -> None:
        self._values = {}
        folder = self.table
        for day in self._work.days:
            self.view(source(self._work, f"day={day}"))
            if folder is not None:
                self.table = folder / day
                self.table.mkdir()
            for score in self._work.scores:
                self._values[subject(score, ("day",), (day,))] = self.evaluate(score)
        self.table = folder
