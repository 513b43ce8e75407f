"""From recommenders: its metrics of accuracy and beyond, the same by sparkrank, and that the numbers are equal.

    python examples/migration/from_recommenders.py

Where recommenders is not installed (it needs an environment of its own), its numbers are those that 1.2.1 gave.
"""

from __future__ import annotations

import math

import numpy as np
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
train = pd.DataFrame(  # what users had before
    {
        "userID": ["ann", "ann", "bob", "cat", "cat", "dan", "dan", "dan", "eve", "eve"],
        "itemID": ["d", "e", "c", "b", "e", "a", "e", "f", "d", "e"],
    }
)
features = pd.DataFrame(
    {
        "itemID": ["a", "b", "c", "d", "e", "f"],
        "features": [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]],
    }
)

STATED = {
    "p@2": 1 / 3,
    "r@2": 5 / 18,
    "ap@2": 1 / 4,
    "ap(over=relevant)@2": 2 / 9,
    "ndcg@2": 1 / 4,
    "novelty": math.log2(10) - 1 / 3,
    "entropy": math.log2(9) - (3 * math.log2(3) + 4) / 9,
    "coverage": 5 / 6,
    "ild(by=catalog.features,distance=cosine)": 5 / 9 - 2 * math.sqrt(2) / 9,
}


def old_numbers() -> dict[str, float]:
    from recommenders.evaluation import python_evaluation as e

    accuracy = {
        "p@2": e.precision_at_k(truth, lists, k=2),
        "r@2": e.recall_at_k(truth, lists, k=2),
        "ap@2": e.map_at_k(truth, lists, k=2),
        "ap(over=relevant)@2": e.map(truth, lists, k=2),
        "ndcg@2": e.ndcg_at_k(truth, lists, k=2),
    }
    vectors = features.assign(features=features["features"].map(np.array))
    return {
        **accuracy,
        "novelty": e.novelty(train, lists),
        "entropy": e.distributional_coverage(train, lists),
        "coverage": e.catalog_coverage(train, lists),
        "ild(by=catalog.features,distance=cosine)": e.diversity(train, lists, vectors, "item_feature_vector"),
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
    others = ["novelty", "entropy", "coverage", "ild(by=catalog.features,distance=cosine)"]
    beyond = sr.evaluate(
        lists,
        others,
        interactions=train,
        catalog=features,
        group="userID",
        item="itemID",
        score="prediction",
        preset="recommenders",
        population="all",  # nothing here reads the truth
        undefined="skip",  # a list of one item has no diversity
    )
    accuracy = {**{metric: found[metric] for metric in metrics}, "ndcg@2": ndcg["ndcg@2"]}
    return {**accuracy, **{metric: beyond[metric] for metric in others}}


def main() -> None:
    try:
        old = old_numbers()
    except ImportError:
        old = STATED
    for metric, number in new_numbers().items():
        print(f"{metric:46}{old[metric]:10.6f}{number:10.6f}")
        if not all(math.isclose(number, theirs[metric], rel_tol=1e-12) for theirs in (old, STATED)):
            raise SystemExit(f"{metric} is not equal")


if __name__ == "__main__":
    main()
