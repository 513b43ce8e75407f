"""The sets of metrics that are measured."""

from __future__ import annotations

SETS = {
    "small": ("ndcg@10", "ap", "rr", "group_auc", "auc"),
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
# What papers on recommenders report, and thereby what lists are judged by.
SIX = ("ndcg@10", "p@10", "r@10", "ap", "rr", "hit@10")
# Of every distinct score, and of score bins.
EXACT, BINNED = ("auc(exact)", "pr_auc(exact)", "ks(exact)"), ("auc", "pr_auc", "ks")
# The day judged as a classifier: ranking, a threshold, calibration.
OF_DAY = (
    *("auc", "auc_up", "pr_auc", "bep", "ks"),
    *("accuracy", "precision", "recall", "specificity", "fpr", "tpr", "f1", "fbeta(beta=2)"),
    *("logloss", "ne", "brier", "ece", "copc"),
)
