"""From RecTools: its metrics of accuracy and beyond, the same by sparkrank, and that the numbers are equal.

    python examples/migration/from_rectools.py

Where RecTools is not installed (`pip install rectools`), its numbers are those that 0.19.0 gave.
"""

from __future__ import annotations

import math

import pandas as pd

import sparkrank as sr

lists = pd.DataFrame(
    {
        "user_id": ["ann", "ann", "ann", "bob", "bob", "bob", "cat", "cat", "eve"],
        "item_id": ["a", "b", "c", "b", "e", "a", "c", "d", "a"],
        "rank": [1, 2, 3, 1, 2, 3, 1, 2, 1],
    }
)
truth = pd.DataFrame(  # dan has no list; eve, who has one, is not here
    {
        "user_id": ["ann", "ann", "bob", "bob", "bob", "cat", "dan"],
        "item_id": ["a", "c", "a", "d", "e", "a", "b"],
    }
)
train = pd.DataFrame(
    {
        "user_id": ["ann", "ann", "bob", "cat", "cat", "dan", "dan", "eve", "eve"],
        "item_id": ["d", "e", "c", "b", "e", "a", "e", "d", "e"],
    }
)

STATED = {
    "Precision@2": 1 / 4,
    "Recall@2": 5 / 24,
    "MAP@2": 1 / 6,
    "NDCG@2": 1 / 4,
    "MeanInvUserFreq@2": math.log2(5) - 3 / 8,
    "AvgRecPopularity@2": 3 / 2,
    "Serendipity@2": 1 / 20,
    "CatalogCoverage@2": 5.0,
}


def old_numbers() -> dict[str, float]:
    from rectools import metrics as m

    asked = [m.Precision(2), m.Recall(2), m.MAP(2), m.NDCG(2), m.MeanInvUserFreq(2)]
    asked += [m.AvgRecPopularity(2), m.Serendipity(2), m.CatalogCoverage(2)]
    by_name = {f"{type(metric).__name__}@2": metric for metric in asked}
    return dict(m.calc_metrics(by_name, lists, truth, train, train["item_id"].unique()))


def new_numbers() -> dict[str, float]:
    metrics = ["Precision@2", "Recall@2", "MAP@2", "NDCG@2"]  # its names are known
    accuracy = sr.evaluate(lists, metrics, group="user_id", item="item_id", rank="rank", truth=truth, preset="rectools")
    others = ["MeanInvUserFreq@2", "AvgRecPopularity@2", "Serendipity@2", "CatalogCoverage@2"]
    beyond = sr.evaluate(
        lists,
        others,
        group="user_id",
        item="item_id",
        rank="rank",
        truth=truth,
        interactions=train,
        preset="rectools",
        population="lists",  # beyond accuracy it averages over the users with a list
    )
    return {**{name: accuracy[name] for name in metrics}, **{name: beyond[name] for name in others}}


def main() -> None:
    try:
        old = old_numbers()
    except ImportError:
        old = STATED
    for metric, number in new_numbers().items():
        print(f"{metric:20}{old[metric]:10.6f}{number:10.6f}")
        if not all(math.isclose(number, theirs[metric], rel_tol=1e-12) for theirs in (old, STATED)):
            raise SystemExit(f"{metric} is not equal")


if __name__ == "__main__":
    main()
