"""Means over groups, and what is undefined."""

from __future__ import annotations

from math import log2

from tests.cases.case import many_groups, ranking

# AUC 1/4 of 4 rows, 1 of 2 rows (and one without a score), 3/4 of 5 rows; d has one class.
FOUR_USERS = (
    *ranking("a", 0, 1, 0, 1),
    *ranking("b", 1, 0, unlisted=(0,)),
    *ranking("c", 0, 1, 0, 0, 0),
    *ranking("d", 1, 1),
)
AUC_OF_USERS = {"a": 1 / 4, "b": 1 / 1, "c": 3 / 4, "d": None}
ONE_WITHOUT_TRUTH = (*ranking("a", 0, 1), *ranking("b", 0, 0), *ranking("c", unlisted=(1,)))

MEANS = (
    many_groups("lengths", FOUR_USERS, "list_length", {"a": 4, "b": 2, "c": 5, "d": 2}, (4 + 2 + 5 + 2) / 4),
    many_groups(
        "lengths", FOUR_USERS, "filled@4", {"a": 1, "b": 2 / 4, "c": 1, "d": 2 / 4}, (1 + 2 / 4 + 1 + 2 / 4) / 4
    ),
    many_groups("no list", ONE_WITHOUT_TRUTH, "filled", {"a": 1, "b": 1, "c": 0}, 2 / 3),
    *(
        many_groups("weights", FOUR_USERS, metric, AUC_OF_USERS, mean)
        for metric, mean in (
            ("group_auc", (1 / 4 + 1 + 3 / 4) / 3),
            ("group_auc(weight=rows)", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4) / (4 + 2 + 5)),
            ("group_auc(weight=positives)", (2 * 1 / 4 + 1 * 1 + 1 * 3 / 4) / (2 + 1 + 1)),
            ("group_auc(weight=pairs)", (4 * 1 / 4 + 1 * 1 + 4 * 3 / 4) / (4 + 1 + 4)),
            ("gauc", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4) / (4 + 2 + 5)),
            ("gauc(weight=uniform)", (1 / 4 + 1 + 3 / 4) / 3),
            ("gauc(weight=positives)", (2 * 1 / 4 + 1 * 1 + 1 * 3 / 4) / (2 + 1 + 1)),
            ("gauc(weight=pairs)", (4 * 1 / 4 + 1 * 1 + 4 * 3 / 4) / (4 + 1 + 4)),
        )
    ),
    *(
        many_groups("one class", FOUR_USERS, metric, AUC_OF_USERS, mean, undefined=undefined)
        for metric, undefined, mean in (
            ("group_auc", "zero", (1 / 4 + 1 + 3 / 4 + 0) / 4),
            ("group_auc", "one", (1 / 4 + 1 + 3 / 4 + 1) / 4),
            ("gauc", "zero", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4 + 2 * 0) / (4 + 2 + 5 + 2)),
            ("gauc", "one", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4 + 2 * 1) / (4 + 2 + 5 + 2)),
        )
    ),
    *(
        many_groups("no truth", ONE_WITHOUT_TRUTH, metric, {"a": a, "b": None, "c": 0}, mean, undefined=undefined)
        for metric, a in (
            *(("r@2", 1 / 1), ("f@2", 2 * 1 / (1 + 2)), ("hit@2", 1), ("rprec", 0), ("ap", (1 / 2) / 1)),
            *(("rr", 1 / 2), ("rr@1", 0), ("ndcg@2", (1 / log2(3)) / (1 / log2(2)))),
        )
        for undefined, mean in (("skip", (a + 0) / 2), ("zero", (a + 0 + 0) / 3), ("one", (a + 1 + 0) / 3))
    ),
    many_groups("no truth", ONE_WITHOUT_TRUTH, "p@2", {"a": 1 / 2, "b": 0, "c": 0}, (1 / 2 + 0 + 0) / 3),
    many_groups("no truth", ONE_WITHOUT_TRUTH, "dcg", {"a": 1 / log2(3), "b": 0, "c": 0}, (1 / log2(3) + 0 + 0) / 3),
    *(
        many_groups("no group is defined", ranking("b", 0, 0), "ap", {"b": None}, mean, undefined=undefined)
        for undefined, mean in (("skip", None), ("zero", 0), ("one", 1))
    ),
)
