"""RePlay: ``OfflineMetrics``, which shares the sorting and joining among its metrics, on Polars frames.

On Spark frames it runs the same Python functions, one call a user and metric, behind an RDD.
RePlay needs another Polars than the newest, hence an environment of its own (``make .venv-replay``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.contenders.contender import GROUP, Value, Values, Work, split

WHOLE_LIST = 10**9  # a cut-off that no list reaches: RePlay has no metric without one
NAMES = {
    "ndcg": "NDCG",
    "p": "Precision",
    "r": "Recall",
    "hit": "HitRate",
    "ap": "MAP",  # RePlay divides by min(k, R), which is R for the whole list
    "ap(over=min_k_relevant)": "MAP",
    "rr": "MRR",
}


class RePlay:
    """The metrics of the set that RePlay has: means only. Its AUC of a user is 1 or 0 where it is undefined."""

    name = "replay"
    table = None

    def __init__(self, work: Work) -> None:
        self._work = work
        known = [(metric, *split(metric)) for metric in work.metrics]
        self._asked = {
            metric: (NAMES[name], k or WHOLE_LIST)
            for metric, name, k in known
            # Its NDCG knows relevant and not relevant only; its MAP at a cut-off is the one over min(k, R).
            if name in NAMES and not (name == "ndcg" and work.graded) and not (name == "ap" and k)
        }

    def prepare(self) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(self._work.cores)  # is read when polars is imported

    def run(self) -> None:
        self._values = {score: self._evaluate(score) for score in self._work.scores}

    def values(self) -> Values:
        return self._values

    def _evaluate(self, score: str) -> Mapping[str, Value]:
        import polars as pl
        from replay import metrics

        log = pl.scan_parquet(self._work.log).select(GROUP, score, gain=pl.col(self._work.label))
        # A row's own number stands for its item: RePlay counts an item once, and a log may show it twice.
        rows = log.with_row_index("item").collect()
        truth = rows.filter(pl.col("gain") > 0).select(GROUP, "item")
        # Users without relevant rows are left out of all means; precision counts them, as 0.
        lists = rows.join(truth.select(GROUP).unique(), on=GROUP, how="semi").select(GROUP, "item", score)
        share = truth[GROUP].n_unique() / rows[GROUP].n_unique()
        offline = metrics.OfflineMetrics(
            self._with_cutoffs(metrics.__dict__), query_column=GROUP, item_column="item", rating_column=score
        )
        found = offline(lists, truth)
        return {
            metric: Value(found[f"{name}@{k}"] * (share if name == "Precision" else 1))
            for metric, (name, k) in self._asked.items()
        }

    def _with_cutoffs(self, classes: Mapping[str, Callable[[list[int]], Any]]) -> list[Any]:
        cutoffs: dict[str, set[int]] = {}
        for name, k in self._asked.values():
            cutoffs.setdefault(name, set()).add(k)
        return [classes[name](sorted(ks)) for name, ks in cutoffs.items()]
