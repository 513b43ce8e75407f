"""From scikit-learn by groupby: a call for each user, the same by sparkrank, and that the numbers are equal.

python examples/migration/from_scikit_learn.py
"""

from __future__ import annotations

import math

import pandas as pd

import sparkrank as sr

log = pd.DataFrame(
    {
        "user": ["ann", "ann", "ann", "ann", "bob", "bob", "bob", "cat", "cat"],
        "score": [0.9, 0.5, 0.5, 0.1, 0.8, 0.6, 0.2, 0.7, 0.3],  # two of ann's are tied
        "label": [1, 0, 1, 0, 0, 1, 0, 0, 0],  # cat clicked nothing
    }
)


def old_numbers() -> dict[str, float]:
    from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

    users = [rows for _, rows in log.groupby("user")]
    ndcg = [ndcg_score([rows["label"]], [rows["score"]], k=2) for rows in users]
    ap = [average_precision_score(rows["label"], rows["score"]) if rows["label"].any() else 0.0 for rows in users]
    auc = [roc_auc_score(rows["label"], rows["score"]) for rows in users if rows["label"].nunique() == 2]
    return {
        "ndcg@2": sum(ndcg) / len(ndcg),
        "ap(ties=block)": sum(ap) / len(ap),
        "auc": roc_auc_score(log["label"], log["score"]),  # of all rows together
        "group_auc": sum(auc) / len(auc),
    }


def new_numbers() -> dict[str, float]:
    metrics = ["ndcg@2", "ap(ties=block)", "auc"]
    found = sr.evaluate(log, metrics, group="user", score="score", label="label", preset="sklearn")
    both = sr.evaluate(
        log, ["group_auc"], group="user", score="score", label="label", preset="sklearn", undefined="skip"
    )
    return {**{metric: found[metric] for metric in metrics}, "group_auc": both["group_auc"]}


def main() -> None:
    old = old_numbers()
    for metric, number in new_numbers().items():
        print(f"{metric:20}{old[metric]:10.6f}{number:10.6f}")
        if not math.isclose(number, old[metric], rel_tol=1e-12):
            raise SystemExit(f"{metric} is not equal")


if __name__ == "__main__":
    main()
