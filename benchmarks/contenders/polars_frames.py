"""Polars: one process, all its threads, the streaming engine, ranks over groups instead of a sort of the log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.contenders.contender import Value, Values, Work, split
from benchmarks.contenders.day import DIGITS, day_values, needs_blocks
from benchmarks.contenders.sql import column, of_groups

if TYPE_CHECKING:
    import polars as pl


class Polars:
    """Positions by ``rank().over(group)``, measured twice as fast as sorting the log and numbering the rows.

    As in SQL, only the rows that are hits go on from there, and the sizes of the groups are counted apart. Models one
    after the other.
    """

    name = "polars"

    def __init__(self, work: Work) -> None:
        self.table = work.table_of(self.name)
        self._work = work

    def prepare(self) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(self._work.cores)  # is read when polars is imported
        import polars as pl

        work = self._work
        log = pl.scan_parquet(work.log) if work.format == "parquet" else pl.scan_csv(work.log / "*.csv")
        weight = {"weight": pl.col(work.weight)} if work.weight else {}
        self._log = log.select(*work.keys, *work.scores, gain=pl.col(work.label), **weight)
        self._groups = {score: self._group_table(score) for score in work.scores}
        if self.table is not None:
            self.table.mkdir()

    def run(self) -> None:
        self._values = {score: self._evaluate(score) for score in self._work.scores}

    def values(self) -> Values:
        return self._values

    def _evaluate(self, score: str) -> dict[str, Value]:
        import polars as pl

        metrics = self._work.metrics
        groups = self._groups[score].collect(engine="streaming")
        if self.table is not None:
            groups.write_parquet(self.table / f"{score}.parquet", compression="zstd")
        means = groups.select(mean_of(metric) for metric in of_groups(metrics)).row(0, named=True)
        values = {metric: Value(means[column(metric)]) for metric in of_groups(metrics)}
        if needs_blocks(metrics):
            block = (pl.col(score) * 10**DIGITS).round().cast(pl.Int64)
            is_hit, weight = pl.col("gain") > 0, pl.col("weight")
            sums = (weight.filter(is_hit).sum(), weight.sum()) if self._work.weight else (is_hit.sum(), pl.len())
            counted = self._log.group_by(block=block).agg(pos=sums[0], n=sums[1]).collect(engine="streaming")
            blocks = [counted[name].to_numpy() for name in ("block", "pos", "n")]
            values.update(day_values(metrics, *blocks))
        return values

    def _group_table(self, score: str) -> pl.LazyFrame:
        import polars as pl

        keys = self._work.keys
        position = pl.col(score).rank("ordinal", descending=True).over(keys).cast(pl.Int64)
        hits = self._log.with_columns(i=position).filter(pl.col("gain") > 0)
        hits = hits.with_columns(hits=pl.col("i").rank("ordinal").over(keys))
        if self._work.graded:
            hits = hits.with_columns(j=pl.col("gain").rank("ordinal", descending=True).over(keys))
        aggregates = {}
        for metric in of_groups(self._work.metrics):
            aggregates.update(group_aggregates(*split(metric), ideal="j" if self._work.graded else "hits"))
        sums = hits.group_by(keys).agg(n_relevant=pl.len().cast(pl.Int64), **aggregates)
        sizes = self._log.group_by(keys).agg(n_rows=pl.len().cast(pl.Int64))
        groups = sizes.join(sums, on=keys, how="left")
        return groups.select(
            pl.lit(score).alias("model"),
            *keys,
            "n_rows",
            pl.col("n_rows").alias("n_retrieved"),
            pl.col("n_relevant").fill_null(0),
            *(group_value(*split(metric)).alias(column(metric)) for metric in of_groups(self._work.metrics)),
        )


def group_aggregates(name: str, k: int, ideal: str) -> dict[str, pl.Expr]:
    """What one metric needs of a group's hits."""
    import polars as pl

    i, hits, gain = pl.col("i"), pl.col("hits"), pl.col("gain")

    def discounted(position: pl.Expr) -> pl.Expr:
        return (gain / (position + 1).log(2)).filter(position <= k).sum()

    return {
        "ndcg": lambda: {f"dcg_{k}": discounted(i), f"ideal_{k}": discounted(pl.col(ideal))},
        "p": lambda: {f"hits_{k}": (i <= k).sum()},
        "r": lambda: {f"hits_{k}": (i <= k).sum()},
        "hit": lambda: {"first": i.min()},
        "ap": lambda: {"precision": (hits / i).sum()},
        "ap(over=min_k_relevant)": lambda: {f"precision_{k}": (hits / i).filter(i <= k).sum()},
        "rr": lambda: {"first": i.min()},
        "group_auc": lambda: {"ranks": i.sum()},
        "gauc": lambda: {"ranks": i.sum()},
    }[name]()


def group_value(name: str, k: int) -> pl.Expr:
    """The metric of a group from its aggregates; null where it is undefined."""
    import polars as pl

    relevant = pl.col("n_relevant")
    pairs = relevant * (pl.col("n_rows") - relevant)
    auc = (pairs + relevant * (relevant + 1) / 2 - pl.col("ranks")) / pl.when(pairs > 0).then(pairs)
    return {
        "ndcg": lambda: pl.col(f"dcg_{k}") / pl.col(f"ideal_{k}"),
        "p": lambda: pl.col(f"hits_{k}").fill_null(0) / k,
        "r": lambda: pl.col(f"hits_{k}") / relevant,
        "hit": lambda: (pl.col("first") <= k).cast(pl.Float64),
        "ap": lambda: pl.col("precision") / relevant,
        "ap(over=min_k_relevant)": lambda: pl.col(f"precision_{k}") / pl.min_horizontal(relevant, k),
        "rr": lambda: 1 / pl.col("first"),
        "group_auc": lambda: auc,
        "gauc": lambda: auc,
    }[name]()


def mean_of(metric: str) -> pl.Expr:
    """The mean over the group table, groups where the metric is undefined left out."""
    import polars as pl

    value = pl.col(column(metric))
    if metric != "gauc":
        return value.mean()
    rows = pl.col("n_rows")
    return (value * rows).sum() / rows.filter(value.is_not_null()).sum()
