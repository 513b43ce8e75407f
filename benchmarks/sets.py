"""The sets of metrics that are measured."""

from __future__ import annotations

SETS = {
    "small": ("ndcg@10", "ap", "rr", "group_auc", "auc"),
    "six": ("ndcg@10", "p@10", "r@10", "ap", "rr", "hit@10"),
    # What a team looks at every morning: three cut-offs of everything, and the day as a classifier.
    "nightly": (
        *(f"{name}@{k}" for name in ("ndcg", "p", "r", "hit") for k in (5, 10, 20)),
        "ap",
        "ap(over=min_k_relevant)@10",
        "rr",
        "gauc",
        "auc",
        "auc_up(digits=5)",
    ),
}
# The day judged as a classifier: ranking, a threshold, calibration.
OF_DAY = (
    *("auc", "auc_up", "pr_auc", "bep", "ks"),
    *("accuracy", "precision", "recall", "specificity", "fpr", "tpr", "f1", "fbeta(beta=2)"),
    *("logloss", "ne", "brier", "ece", "copc"),
)
