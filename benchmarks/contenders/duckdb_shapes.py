"""DuckDB SQL for lists joined with a truth and in arrays, for slices, distinct scores and the novelty of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.contenders import sql
from benchmarks.contenders.contender import GROUP, ITEM, Value, Values, Work, split, subject
from benchmarks.contenders.duckdb_sql import DuckDB

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

# A list and its true items are one row, so nothing is joined: the hits are positions in the list.
ARRAYS = """
CREATE OR REPLACE TEMP TABLE groups AS
WITH hits AS (
    SELECT {group}, len(items) AS n_retrieved, len(true_items) AS n_relevant, list_filter(
        list_transform(items, lambda item, i: CASE WHEN list_contains(true_items, item) THEN i END),
        lambda i: i IS NOT NULL
    ) AS hits FROM log
), sums AS (
    SELECT {group}, n_retrieved, n_relevant, {aggregates}, {ideals} FROM hits
)
SELECT '{score}' AS model, {group}, n_retrieved, n_relevant, {values} FROM sums
"""
ARRAY_AGGREGATES = {
    "first_hit": "hits[1]",
    "precision": "list_sum(list_transform(hits, lambda i, h: h / i))",
    "hits_{k}": "len(list_filter(hits, lambda i: i <= {k}))",
    "dcg_{k}": "list_sum(list_transform(list_filter(hits, lambda i: i <= {k}), lambda i: 1 / log2(i + 1)))",
}

# As many blocks as rows, so DuckDB adds them up itself. A threshold takes its whole block.
EXACT = """
WITH blocks AS (
    SELECT {score} AS score, {positives} AS pos, {rows} AS n FROM log GROUP BY ALL
), sweep AS (
    SELECT pos, n - pos AS neg, sum(pos) OVER above AS tp, sum(n - pos) OVER above AS fp
    FROM blocks WINDOW above AS (ORDER BY score DESC ROWS UNBOUNDED PRECEDING)
), totals AS (
    SELECT sum(pos) AS p, sum(neg) AS n FROM sweep
)
SELECT sum(neg * (tp - pos / 2)) / any_value(totals.p * totals.n),
    sum(pos * tp / (tp + fp)) / any_value(totals.p),
    greatest(max(tp / totals.p - fp / totals.n), 0)
FROM sweep, totals
"""

NOVELTY = """
WITH shown AS (
    SELECT {item} FROM log QUALIFY row_number() OVER (PARTITION BY {group} ORDER BY {score} DESC) <= {k}
), known AS (
    SELECT {item}, count(DISTINCT {group}) AS groups FROM log WHERE gain > 0 GROUP BY {item}
), total AS (
    SELECT count(DISTINCT {group}) AS groups FROM log
)
SELECT avg(-log2(coalesce(known.groups, 1) / total.groups)) FROM shown LEFT JOIN known USING ({item}), total
"""

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
        self.table = work.table_of(self.name)
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

    def _tell(self, score: str, query: str) -> None:
        """Write the group table that ``query`` makes, and take the means from it."""
        metrics = self._work.metrics
        self._database.execute(query)
        groups = self._database.table("groups")
        if self.table is not None:
            groups.write_parquet(str(self.table / f"{score}.parquet"), compression="zstd")
        means = groups.aggregate(", ".join(sql.means(metrics))).fetchnumpy()
        self._values[score] = {metric: Value(float(means[sql.column(metric)][0])) for metric in metrics}
        self._database.execute("DROP TABLE groups")


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
        self._tell(score, query)


class ArraysDuckDB(_DuckDB):
    """The group table by functions of lists; the means from it."""

    def _evaluate(self, score: str) -> None:
        metrics = self._work.metrics
        query = ARRAYS.format(
            group=GROUP,
            score=score,
            aggregates=", ".join(_array_aggregates(metrics)),
            values=", ".join(map(_value, metrics)),
            ideals=", ".join(IDEAL.format(best=_best(k), k=k) for k in _ideals(metrics).values()),
        )
        self._tell(score, query)


def _array_aggregates(metrics: tuple[str, ...]) -> list[str]:
    """What the ``metrics`` need of the hits of a list, each once."""
    found = {}
    for name, k in map(split, metrics):
        for aggregate in sql.FORMULAS[name].aggregates:
            if aggregate in ARRAY_AGGREGATES:
                found[aggregate.format(k=k)] = ARRAY_AGGREGATES[aggregate].format(k=k)
    return [f"{expression} AS {name}" for name, expression in found.items()]


class ExactDuckDB(_DuckDB):
    """The metrics of every distinct score by one sweep over the sorted scores: ROC, precision and recall, KS."""

    def _evaluate(self, score: str) -> None:
        weight = self._work.weight
        query = EXACT.format(
            score=score,
            positives=f"coalesce(sum({weight}) FILTER (gain > 0), 0)" if weight else "count(*) FILTER (gain > 0)",
            rows=f"sum({weight})" if weight else "count(*)",
        )
        found = self._database.execute(query).fetchone()
        assert found is not None  # noqa: S101 - an aggregation has a row
        self._values[score] = {
            metric: Value(float(each)) for metric, each in zip(self._work.metrics, found, strict=True)
        }


class NovelDuckDB(DuckDB):
    """As a log, and the novelty of the items that lists show, by a join of its own."""

    def evaluate(self, score: str) -> dict[str, Value]:
        work = self._work
        values = super().evaluate(score)
        for metric in work.metrics:
            name, k = split(metric)
            if name == "novelty":
                query = NOVELTY.format(group=GROUP, item=ITEM, score=score, k=k)
                found = self._database.execute(query).fetchone()
                values[metric] = Value(float((found or (0,))[0]))
        return values


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
