"""Tied scores by each rule."""

from __future__ import annotations

from math import log2

from tests.cases.case import one_group, under_ties
from tests.cases.rows import FOUR_TIED

# Two of the first three are relevant: the orders are 110, 101 and 011.
THREE_TIED = (("u", "a", 2.0, 1.0), ("u", "b", 2.0, 1.0), ("u", "c", 2.0, 0.0), ("u", "d", 1.0, 0.0))
# No tied row of the first two is relevant, one of the next two is: the orders are 0010 and 0001.
NONE_THEN_ONE = (("u", "a", 2.0, 0.0), ("u", "b", 2.0, 0.0), ("u", "c", 1.0, 1.0), ("u", "d", 1.0, 0.0))
# A certain hit above two blocks of two rows, each with one relevant.
ONE_THEN_TIED = (("u", "a", 3.0, 1.0), *(("u", f"{place}", 2.0 - place // 2, float(place % 2)) for place in range(4)))
GRADES_TIED = (("u", "a", 1.0, 3.0), ("u", "b", 1.0, 1.0))

TIES = (
    *under_ties(
        "four tied rows, one relevant",
        FOUR_TIED,
        expected={
            "p@2": (1 / 4) / 2,
            "p": 2 / 6,
            "r@3": (2 / 4) / 2,
            "f@3": (1 + 1) * (2 / 4) / (2 + 3),
            "hit@1": 0,
            "hit@3": 2 / 4,
            "hit@5": 1,
            "rr": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4,
            "rr@3": (1 / 2 + 1 / 3) / 4,
            "ap": ((1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4 + 2 / 6) / 2,
            "ap@3": ((1 / 2 + 1 / 3) / 4) / 2,
            "ap(over=min_k_relevant)@3": ((1 / 2 + 1 / 3) / 4) / 2,
            "ap(over=k)@3": ((1 / 2 + 1 / 3) / 4) / 3,
            "rprec": (1 / 4) / 2,
            "dcg@3": (1 / log2(3) + 1 / log2(4)) / 4,
            "ndcg@3": (1 / log2(3) + 1 / log2(4)) / 4 / (1 / log2(2) + 1 / log2(3)),
            "rbp": (1 - 0.8) * ((0.8 + 0.8**2 + 0.8**3 + 0.8**4) / 4 + 0.8**5),
            "group_auc": ((0 + 1 / 2 * 3) + 0) / (2 * 4),
            "group_auc(tied=zero)": (0 + 0) / (2 * 4),
        },
        item={
            **dict.fromkeys(("p@3", "hit@3", "rr@3", "rprec"), 0),
            "r@4": 1 / 2,
            "hit@4": 1,
            "rr": 1 / 4,
            "ap": (1 / 4 + 2 / 6) / 2,
            "dcg@4": 1 / log2(5),
            "rbp@4": (1 - 0.8) * 0.8**3,
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        worst={
            **dict.fromkeys(("p@4", "hit@4", "rprec", "dcg@4", "cg@4"), 0),
            "r@5": 1 / 2,
            "rr": 1 / 5,
            "ap": (1 / 5 + 2 / 6) / 2,
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        best={
            "r@2": 1 / 2,
            "hit@2": 1,
            "rr": 1 / 2,
            "rprec": 1 / 2,
            "dcg@2": 1 / log2(3),
            "ap": (1 / 2 + 2 / 6) / 2,
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        block={
            **dict.fromkeys(("p@4", "hit@4", "rr@4", "dcg@4"), 0),
            "hit@5": 1,
            "rr": 1 / 5,
            "ap": (1 / 5 + 2 / 6) / 2,
            "dcg@5": 1 / log2(6),
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
    ),
    *under_ties(
        "three tied rows, two relevant",
        THREE_TIED,
        expected={
            "ap": ((1 / 1 + 2 / 2) / 2 + (1 / 1 + 2 / 3) / 2 + (1 / 2 + 2 / 3) / 2) / 3,
            "ap@1": ((1 / 1) / 2 + (1 / 1) / 2 + 0 / 2) / 3,
            "rr": (1 / 1 + 1 / 1 + 1 / 2) / 3,
            "hit@1": (1 + 1 + 0) / 3,
            "p@2": (2 / 2 + 1 / 2 + 1 / 2) / 3,
            "r(over=min_k_relevant)@1": (1 / 1 + 1 / 1 + 0 / 1) / 3,
            "rprec": (2 / 2 + 1 / 2 + 1 / 2) / 3,
            "group_auc": ((1 / 2 + 1) + (1 / 2 + 1)) / (2 * 2),
            "group_auc(tied=zero)": (1 + 1) / (2 * 2),
            "gauc(tied=zero)": (1 + 1) / (2 * 2),
        },
        block={
            **dict.fromkeys(("p@2", "hit@2", "rprec", "ap(over=hits)@2"), 0),
            "p@3": 2 / 3,
            "rr": 1 / 3,
            "ap": (2 / 3 + 2 / 3) / 2,
            "ap(over=hits)@3": (2 / 3 + 2 / 3) / 2,
            "dcg": 1 / log2(4) + 1 / log2(4),
            "rbp": (1 - 0.8) * (0.8**2 + 0.8**2),
        },
        best={"ap": (1 / 1 + 2 / 2) / 2},
        worst={"ap": (1 / 2 + 2 / 3) / 2},
    ),
    *one_group(
        "two tied rows, none relevant, above two, one relevant",
        NONE_THEN_ONE,
        {
            "rr": (1 / 3 + 1 / 4) / 2,
            "rr@3": (1 / 3 + 0) / 2,
            "hit@2": 0,
            "hit@3": (1 + 0) / 2,
            "ap": (1 / 3 + 1 / 4) / 2,
            "p@3": (1 / 3 + 0) / 2,
            "group_auc": (0 + 0 + 1 / 2) / 3,
        },
    ),
    *one_group(
        "a relevant row above two times two tied rows, one relevant",
        ONE_THEN_TIED,
        {
            "rr": 1 / 1,
            "hit@1": 1,
            "ap": (1 / 1 + (2 / 2 + 2 / 3) / 2 + (3 / 4 + 3 / 5) / 2) / 3,
            "p@4": (1 + 1 + 1 / 2) / 4,
        },
    ),
    *under_ties(
        "grades 3 and 1 tied",
        GRADES_TIED,
        expected={
            "cg@1": (3 + 1) / 2,
            "cg(gain=exp2)@1": (7 + 1) / 2,
            "dcg": ((3 + 1) / 2) / log2(2) + ((3 + 1) / 2) / log2(3),
            "ndcg@1": ((3 + 1) / 2) / 3,
            "dcg(discount=[1,0.5])": ((3 + 1) / 2) * 1 + ((3 + 1) / 2) * 0.5,
            "ndcg(discount=zipf)": (((3 + 1) / 2) / 1 + ((3 + 1) / 2) / 2) / (3 / 1 + 1 / 2),
            "ndcg(discount=[1,0.5])@1": ((3 + 1) / 2) / 3,
            "rr(rel=2)": (1 / 1 + 1 / 2) / 2,
        },
        best={"dcg(discount=zipf)": 3 / 1 + 1 / 2, "dcg": 3 / log2(2) + 1 / log2(3), "cg@1": 3},
        worst={"dcg(discount=zipf)": 1 / 1 + 3 / 2, "dcg": 1 / log2(2) + 3 / log2(3), "cg@1": 1},
        item={"dcg": 1 / log2(2) + 3 / log2(3), "cg@1": 1},
        block={"dcg(discount=zipf)": (3 + 1) / 2, "dcg": (3 + 1) / log2(3), "cg@1": 0, "cg@2": 4},
    ),
)
