"""ranx: compiled loops over the groups, all threads.

Its documented way in, dictionaries of dictionaries of strings, takes minutes for a million rows. ``evaluate`` takes
lists of arrays as well, (item, score) and (item, label), which is what it makes of the dictionaries itself. They are
cut here from one array by compiled code, after Polars has read and sorted the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.contenders.contender import GROUP, Value, Values, Work, split
from benchmarks.contenders.sql import column

if TYPE_CHECKING:
    import polars as pl

NAMES = {"ndcg": "ndcg", "p": "precision", "r": "recall", "hit": "hit_rate", "ap": "map", "rr": "mrr"}
NEEDS_NO_HIT = "p"  # defined for every group; ranx is given those with a relevant row, for all others are 0


class Ranx:
    """The metrics of groups that ranx has: none of AUC, and no average precision over min(k, R)."""

    name = "ranx"

    def __init__(self, work: Work) -> None:
        self.table = work.output / self.name
        self._work = work
        self._metrics = {
            metric: f"{NAMES[name]}@{k}" if k else NAMES[name]
            for metric in work.metrics
            for name, k in [split(metric)]
            if name in NAMES
        }

    def prepare(self) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(self._work.cores)  # is read when polars is imported
        self._cut = compiled_cut()
        self.table.mkdir()

    def run(self) -> None:
        self._values = {score: self._evaluate(score) for score in self._work.scores}

    def values(self) -> Values:
        return self._values

    def _evaluate(self, score: str) -> dict[str, Value]:
        import polars as pl
        import ranx

        gain = pl.col("gain")
        log = pl.scan_parquet(self._work.log).select(GROUP, score, gain=pl.col(self._work.label)).collect()
        # A row's own number stands for its item: it is unique, and numbers need not be hashed.
        log = log.sort(GROUP, score, descending=[False, True]).with_row_index("item")
        groups = log.group_by(GROUP, maintain_order=True).agg(n_rows=pl.len(), n_relevant=(gain > 0).sum())
        judged = groups.filter(pl.col("n_relevant") > 0)
        rows = log.filter((gain > 0).any().over(GROUP))
        # The ideal list is the truth in its own order.
        truth = rows.filter(gain > 0).sort(GROUP, "gain", descending=[False, True], maintain_order=True)
        found = ranx.evaluate(
            self._cut(_pairs(truth, "gain"), _ends(judged, "n_relevant")),
            self._cut(_pairs(rows, score), _ends(judged, "n_rows")),
            list(self._metrics.values()),
            return_mean=False,
            threads=self._work.cores,
        )
        named = {metric: found[name] for metric, name in self._metrics.items()}
        columns = {column(metric): value for metric, value in named.items()}
        table = groups.join(judged.select(GROUP, **columns), on=GROUP, how="left", maintain_order="left")
        table = table.with_columns(
            pl.col(column(metric)).fill_null(0.0) for metric in named if split(metric)[0] == NEEDS_NO_HIT
        )
        table.with_columns(model=pl.lit(score)).write_parquet(self.table / f"{score}.parquet", compression="zstd")
        return {metric: Value(float(table[column(metric)].mean())) for metric in named}


def compiled_cut() -> Callable[[Any, Any], Any]:
    """Compiled once and for all runs: the rows of ``matrix`` up to each of ``ends`` as a list of arrays."""
    import numba
    from numba.typed import List

    @numba.njit
    def cut(matrix: Any, ends: Any) -> Any:
        arrays = List()
        start = 0
        for end in ends:
            arrays.append(matrix[start:end])
            start = end
        return arrays

    return cut


def _pairs(rows: pl.DataFrame, value: str) -> Any:
    import numpy as np
    import polars as pl

    return np.ascontiguousarray(rows.select(pl.col("item", value).cast(pl.Float64)).to_numpy())


def _ends(groups: pl.DataFrame, sizes: str) -> Any:
    import polars as pl

    return groups[sizes].cast(pl.Int64).cum_sum().to_numpy()
