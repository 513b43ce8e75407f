"""From recommenders: its Python evaluation, the same by sparkrank, and that the numbers are equal.

    python examples/migration/from_recommenders.py

Where recommenders is not installed (it needs an environment of its own), its numbers are those that 1.2.1 gave.
"""

from __future__ import annotations

import math

import pandas as pd

import sparkrank as sr

lists = pd.DataFrame(
    {
        "userID": ["ann", "ann", "ann", "bob", "bob", "bob", "cat", "cat", "eve"],
        "itemID": ["a", "b", "c", "b", "e", "a", "c", "d", "a"],
        "prediction": [4.0, 3.0, 2.0, 3.0, 2.0, 1.0, 2.0, 1.0, 1.0],
    }
)
truth = pd.DataFrame(  # dan has no list; eve, who has one, is not here
    {
        "userID": ["ann", "ann", "bob", "bob", "bob", "cat", "dan"],
        "itemID": ["a", "c", "a", "d", "e", "a", "b"],
        "rating": [5.0, 3.0, 4.0, 2.0, 4.0, 1.0, 5.0],
    }
)

STATED = {"p@2": 1 / 3, "r@2": 5 / 18, "ap@2": 1 / 4, "ap(over=relevant)@2": 2 / 9, "ndcg@2": 1 / 4}


def old_numbers() -> dict[str, float]:
    from recommenders.evaluation.python_evaluation import map as mean_ap
    from recommenders.evaluation.python_evaluation import map_at_k, ndcg_at_k, precision_at_k, recall_at_k

    return {
        "p@2": precision_at_k(truth, lists, k=2),
        "r@2": recall_at_k(truth, lists, k=2),
        "ap@2": map_at_k(truth, lists, k=2),
        "ap(over=relevant)@2": mean_ap(truth, lists, k=2),
        "ndcg@2": ndcg_at_k(truth, lists, k=2),
    }


def new_numbers() -> dict[str, float]:
    metrics = ["p@2", "r@2", "ap@2", "ap(over=relevant)@2"]
    found = sr.evaluate(
        lists, metrics, truth=truth, group="userID", item="itemID", score="prediction", preset="recommenders"
    )
    # ndcg_at_k alone counts the users of the truth who have no list, as 0
    ndcg = sr.evaluate(
        lists,
        ["ndcg@2"],
        truth=truth,
        group="userID",
        item="itemID",
        score="prediction",
        preset="recommenders",
        population="truth",
    )
    return {**{metric: found[metric] for metric in metrics}, "ndcg@2": ndcg["ndcg@2"]}


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
