"""Polars for lists joined with a truth, and for means by the values of slices."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from benchmarks.contenders.contender import GROUP, ITEM, Value, Values, Work, split, subject
from benchmarks.contenders.polars_frames import group_aggregates, group_value, mean_of
from benchmarks.contenders.sql import column

if TYPE_CHECKING:
    import polars as pl


class _Polars:
    """What is asked of Polars beside a log alone."""

    name = "polars"

    def __init__(self, work: Work) -> None:
        self.table = work.table_of(self.name)
        self._work = work

    def prepare(self) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(self._work.cores)  # is read when polars is imported
        if self.table is not None:
            self.table.mkdir()

    def run(self) -> None:
        self._values: dict[str, dict[str, Value]] = {}
        for score in self._work.scores:
            self._evaluate(score)

    def values(self) -> Values:
        return self._values

    def _evaluate(self, score: str) -> None:
        raise NotImplementedError

    def _aggregates(self) -> dict[str, pl.Expr]:
        found = {}
        for metric in self._work.metrics:
            found.update(group_aggregates(*split(metric), ideal="hits"))
        return found


class JoinedPolars(_Polars):
    """Positions by rank over the user, a semi join for the hits, and the ideal gain from the number of true items."""

    def _evaluate(self, score: str) -> None:
        import polars as pl

        metrics, best = self._work.metrics, [0.0]
        for position in range(1, max(split(metric)[1] for metric in metrics) + 1):
            best.append(best[-1] + 1 / math.log2(position + 1))
        lists, truth = pl.scan_parquet(self._work.log), pl.scan_parquet(self._work.truth or "")
        position = pl.col(score).rank("ordinal", descending=True).over(GROUP).cast(pl.Int64)
        hits = lists.with_columns(i=position, gain=pl.lit(1)).join(truth, on=[GROUP, ITEM], how="semi")
        hits = hits.with_columns(hits=pl.col("i").rank("ordinal").over(GROUP))
        sums = hits.group_by(GROUP).agg(**self._aggregates())
        retrieved = lists.group_by(GROUP).agg(n_retrieved=pl.len().cast(pl.Int64))
        relevant = truth.group_by(GROUP).agg(n_relevant=pl.len().cast(pl.Int64))
        groups = retrieved.join(relevant, on=GROUP, how="full", coalesce=True).join(sums, on=GROUP, how="left")
        count = pl.col("n_relevant").fill_null(0)
        ideal = {
            f"ideal_{k}": pl.lit(pl.Series(best)).gather(pl.min_horizontal(count, k))
            for name, k in map(split, metrics)
            if name == "ndcg"
        }
        groups = groups.with_columns(pl.col("n_retrieved").fill_null(0), n_relevant=count, **ideal)
        values = [
            pl.when(pl.col("n_relevant") > 0).then(value.fill_null(0)) if not metric.startswith("p@") else value
            for metric, value in ((metric, group_value(*split(metric))) for metric in metrics)
        ]
        found = groups.select(
            pl.lit(score).alias("model"),
            *(GROUP, "n_retrieved", "n_relevant"),
            *(value.alias(column(metric)) for metric, value in zip(metrics, values, strict=True)),
        ).collect(engine="streaming")
        if self.table is not None:
            found.write_parquet(self.table / f"{score}.parquet", compression="zstd")
        means = found.select(mean_of(metric) for metric in metrics).row(0, named=True)
        self._values[score] = {metric: Value(means[column(metric)]) for metric in metrics}


class SlicedPolars(_Polars):
    """The rows of a user with one value of a slice are a group."""

    def _evaluate(self, score: str) -> None:
        import polars as pl

        work = self._work
        for columns in ((), *work.slices):
            keys = [GROUP, *columns]
            log = pl.scan_parquet(work.log).select(*keys, score, gain=pl.col(work.label))
            position = pl.col(score).rank("ordinal", descending=True).over(keys).cast(pl.Int64)
            hits = log.with_columns(i=position).filter(pl.col("gain") > 0)
            hits = hits.with_columns(hits=pl.col("i").rank("ordinal").over(keys))
            sums = hits.group_by(keys).agg(n_relevant=pl.len().cast(pl.Int64), **self._aggregates())
            sizes = log.group_by(keys).agg(n_rows=pl.len().cast(pl.Int64))
            groups = sizes.join(sums, on=keys, how="left").with_columns(pl.col("n_relevant").fill_null(0))
            values = [group_value(*split(metric)).alias(column(metric)) for metric in work.metrics]
            groups = groups.select(*keys, "n_rows", *values)
            means = [mean_of(metric) for metric in work.metrics]
            by_value = groups.group_by(columns).agg(means) if columns else groups.select(means)
            for row in by_value.collect(engine="streaming").to_dicts():
                of = subject(score, columns, [row[name] for name in columns]) if columns else score
                self._values[of] = {metric: Value(row[column(metric)]) for metric in work.metrics}
