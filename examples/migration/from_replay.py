"""From RePlay: its metrics of accuracy and beyond, the same by sparkrank, and that the numbers are equal.

    python examples/migration/from_replay.py

Where RePlay is not installed (`pip install replay-rec`), its numbers are those that 0.22.0 gave.
"""

from __future__ import annotations

import math

import pandas as pd

import sparkrank as sr

lists = pd.DataFrame(
    {
        "query_id": ["ann", "ann", "ann", "bob", "bob", "bob", "cat", "cat", "eve"],
        "item_id": ["a", "b", "c", "b", "e", "a", "c", "d", "a"],
        "rating": [4.0, 3.0, 2.0, 3.0, 2.0, 1.0, 2.0, 1.0, 1.0],
    }
)
truth = pd.DataFrame(  # dan has no list; eve, who has one, is not here
    {
        "query_id": ["ann", "ann", "bob", "bob", "bob", "cat", "dan"],
        "item_id": ["a", "c", "a", "d", "e", "a", "b"],
    }
)
train = pd.DataFrame(
    {
        "query_id": ["ann", "ann", "bob", "cat", "cat", "cat", "eve", "eve", "eve", "eve"],
        "item_id": ["d", "e", "e", "a", "b", "e", "c", "d", "e", "f"],
    }
)

STATED = {
    "Precision@2": 1 / 4,
    "Recall@2": 5 / 24,
    "MAP@2": 3 / 16,
    "NDCG@2": 1 / 4,
    "HitRate@2": 1 / 2,
    "MRR@2": 3 / 8,
    "Novelty@2": 7 / 8,
    "Surprisal@2": 11 / 16,
    "Coverage@2": 5 / 6,
}


def old_numbers() -> dict[str, float]:
    from replay import metrics as m

    asked = [m.Precision(2), m.Recall(2), m.MAP(2), m.NDCG(2), m.HitRate(2), m.MRR(2)]
    asked += [m.Novelty(2), m.Surprisal(2), m.Coverage(2)]
    return dict(m.OfflineMetrics(asked)(lists, truth, train))


def new_numbers() -> dict[str, float]:
    metrics = ["Precision@2", "Recall@2", "MAP@2", "NDCG@2", "HitRate@2", "MRR@2"]  # its names are known
    accuracy = sr.evaluate(
        lists, metrics, truth=truth, group="query_id", item="item_id", score="rating", preset="replay"
    )
    others = ["Novelty@2", "Surprisal@2", "Coverage@2"]
    beyond = sr.evaluate(
        lists,
        others,
        interactions=train,
        catalog=train[["item_id"]].drop_duplicates(),  # an item that no list shows counts, too
        group="query_id",
        item="item_id",
        score="rating",
        preset="replay",
        population="all",  # nothing here reads the truth
        ties="item",  # coverage needs an order of tied rows
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
