"""DuckDB SQL for lists joined with a truth, and for means by the values of slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, ITEM, Value, Values, Work, split, subject

if TYPE_CHECKING:
    import duckdb

# One window over all rows gives positions; a semi join leaves the hits, which are numbered among themselves. Gains are
# equal, so the ideal gain of a group follows from its number of true items.
JOINED = """
CREATE OR REPLACE TEMP TABLE groups AS
WITH ranked AS (
    SELECT {group}, {item}, row_number() OVER (PARTITION BY {group} ORDER BY {score} DESC) AS i FROM log
), placed AS (
    SELECT {group}, 1 AS gain, i, row_number() OVER (PARTITION BY {group} ORDER BY i) AS hits
    FROM ranked SEMI JOIN truth USING ({group}, {item})
), sums AS (
    SELECT {group}, {aggregates} FROM placed GROUP BY {group}
), retrieved AS (
    SELECT {group}, count(*) AS n_retrieved FROM log GROUP BY {group}
), relevant AS (
    SELECT {group}, count(*) AS n_relevant FROM truth GROUP BY {group}
), joined AS (
    SELECT * REPLACE (coalesce(n_retrieved, 0) AS n_retrieved, coalesce(n_relevant, 0) AS n_relevant), {ideals}
    FROM retrieved FULL JOIN relevant USING ({group}) LEFT JOIN sums USING ({group})
)
SELECT '{score}' AS model, {group}, n_retrieved, n_relevant, {values} FROM joined
"""
IDEAL = "list_extract({best}, CAST(least(n_relevant, {k}) AS INT)) AS ideal_{k}"

SLICED = """
WITH ranked AS (
    SELECT {keys}, gain, row_number() OVER (PARTITION BY {keys} ORDER BY {score} DESC) AS i FROM log
), placed AS (
    SELECT {keys}, gain, i, row_number() OVER (PARTITION BY {keys} ORDER BY i) AS hits FROM ranked WHERE gain > 0
), sums AS (
    SELECT {keys}, count(*) AS n_relevant, {aggregates} FROM placed GROUP BY {keys}
), counts AS (
    SELECT {keys}, count(*) AS n_rows FROM log GROUP BY {keys}
), groups AS (
    SELECT {keys}, n_rows, coalesce(n_relevant, 0) AS n_relevant, {values}
    FROM (SELECT * REPLACE (coalesce(n_relevant, 0) AS n_relevant) FROM counts LEFT JOIN sums USING ({keys}))
)
SELECT {slice} {means} FROM groups {by}
"""


class _DuckDB:
    """A database with the log as a view."""

    name = "duckdb"

    def __init__(self, work: Work) -> None:
        self.table = None if work.slices else work.output / self.name
        self._work = work

    def prepare(self) -> None:
        import duckdb

        work = self._work
        self._database: duckdb.DuckDBPyConnection = duckdb.connect(config={"threads": work.cores})
        self._view("log", str(work.log))
        if work.truth is not None:
            self._view("truth", str(work.truth))
        if self.table is not None:
            self.table.mkdir()

    def run(self) -> None:
        self._values: dict[str, dict[str, Value]] = {}
        for score in self._work.scores:
            self._evaluate(score)

    def values(self) -> Values:
        return self._values

    def _view(self, name: str, folder: str) -> None:
        files = self._database.read_parquet(f"{folder}/*.parquet")
        label = self._work.label
        (files.project(f"*, {label} AS gain") if label in files.columns else files).create_view(name)

    def _evaluate(self, score: str) -> None:
        raise NotImplementedError


class JoinedDuckDB(_DuckDB):
    """The group table by a window, a semi join and a full join; the means from it."""

    def _evaluate(self, score: str) -> None:
        metrics = self._work.metrics
        aggregates = sql.aggregates(metrics, graded=False).split(", ")
        query = JOINED.format(
            group=GROUP,
            item=ITEM,
            score=score,
            aggregates=", ".join(each for each in aggregates if not each.endswith(tuple(_ideals(metrics)))),
            values=", ".join(map(_value, metrics)),
            ideals=", ".join(IDEAL.format(best=_best(k), k=k) for k in _ideals(metrics).values()),
        )
        self._database.execute(query)
        groups = self._database.table("groups")
        if self.table is not None:
            groups.write_parquet(str(self.table / f"{score}.parquet"), compression="zstd")
        means = groups.aggregate(", ".join(sql.means(metrics))).fetchnumpy()
        self._values[score] = {metric: Value(float(means[sql.column(metric)][0])) for metric in metrics}
        self._database.execute("DROP TABLE groups")


def _value(metric: str) -> str:
    """The metric of a group: 0 where no true item is in the list, undefined where there is none at all."""
    name, k = split(metric)
    value = sql.FORMULAS[name].value.format(k=k)
    if name != "p":
        value = f"CASE WHEN n_relevant > 0 THEN coalesce({value}, 0) END"
    return f"{value} AS {sql.column(metric)}"


def _ideals(metrics: tuple[str, ...]) -> dict[str, int]:
    """The cut-offs of the ideal gains that ``metrics`` read, by their columns."""
    return {f"ideal_{split(metric)[1]}": split(metric)[1] for metric in metrics if split(metric)[0] == "ndcg"}


def _best(k: int) -> str:
    """The gains of the ideal lists of one to ``k`` relevant items."""
    return "[" + ", ".join("+".join(f"1/log2({i + 1})" for i in range(1, n + 1)) for n in range(1, k + 1)) + "]"


class SlicedDuckDB(_DuckDB):
    """The means of the day, and those by the values of each slice: the rows of a user with one value are a group."""

    def _evaluate(self, score: str) -> None:
        metrics = self._work.metrics
        for columns in ((), *self._work.slices):
            named = ", ".join(columns)
            query = SLICED.format(
                keys=", ".join((GROUP, *columns)),
                score=score,
                aggregates=sql.aggregates(metrics, graded=False),
                values=sql.values(metrics),
                slice=f"{named}," if columns else "",
                means=", ".join(sql.means(metrics)),
                by=f"GROUP BY {named}" if columns else "",
            )
            found = self._database.execute(query).fetchnumpy()
            for row in range(len(found[sql.column(metrics[0])])):
                of = subject(score, columns, [str(found[column][row]) for column in columns]) if columns else score
                self._values[of] = {metric: Value(float(found[sql.column(metric)][row])) for metric in metrics}
