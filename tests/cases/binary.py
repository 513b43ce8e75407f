"""Binary relevance at cut-offs and thresholds: precision, recall, F, hit, AP, reciprocal rank."""

from __future__ import annotations

from math import log2

from tests.cases.case import one_group, ranking, under_ties
from tests.cases.rows import GOOD_BAD, GRADED, NEVER_LISTED, UNJUDGED

LISTED_3_OF_4 = ranking("u", 1, 1, 0, 0, 1, unlisted=(1,))
LISTED_3_OF_10 = ranking("u", 1, 1, 0, 0, 1, unlisted=(1,) * 7)

BINARY = (
    *under_ties(
        "order good, bad, good, bad, good",
        GOOD_BAD,
        expected={
            "p@3": 2 / 3,
            "p": 3 / 5,
            "p@10": 3 / 10,
            "p(over=retrieved)@10": 3 / 5,
            "p(over=min_k_relevant)@10": 3 / 3,
            "p(over=min_k_relevant)@2": 1 / 2,
            "r@3": 2 / 3,
            "r": 3 / 3,
            "r(over=min_k_relevant)@2": 1 / 2,
            "r(over=min_k_relevant)@4": 2 / 3,
            "f@3": (1 + 1) * 2 / (1 * 3 + 3),
            "f(beta=2)@3": (1 + 4) * 2 / (4 * 3 + 3),
            "f(beta=0.5)@4": (1 + 1 / 4) * 2 / (1 / 4 * 3 + 4),
            "f(over=retrieved)@10": (1 + 1) * 3 / (1 * 3 + 5),
            "f": (1 + 1) * 3 / (1 * 3 + 5),
            "hit@1": 1,
            "hit": 1,
            "rprec": 2 / 3,
            "ap": (1 / 1 + 2 / 3 + 3 / 5) / 3,
            "ap@3": (1 / 1 + 2 / 3) / 3,
            "ap(over=min_k_relevant)@2": (1 / 1) / 2,
            "ap(over=min_k_relevant)@4": (1 / 1 + 2 / 3) / 3,
            "ap(over=k)@4": (1 / 1 + 2 / 3) / 4,
            "ap(over=min_k_relevant_retrieved)@2": (1 / 1) / 2,
            "ap(over=min_k_relevant_retrieved)@4": (1 / 1 + 2 / 3) / 3,
            "rr": 1 / 1,
            "rbp": (1 - 0.8) * (1 + 0.8**2 + 0.8**4),
            "rbp(p=0.5)": (1 - 0.5) * (1 + 0.5**2 + 0.5**4),
            "rbp@3": (1 - 0.8) * (1 + 0.8**2),
            "group_auc": (2 + 1 + 0) / (3 * 2),
        },
        item={"ap(over=hits)": (1 / 1 + 2 / 3 + 3 / 5) / 3, "ap(over=hits)@4": (1 / 1 + 2 / 3) / 2},
    ),
    *one_group("relevant at 1, 3, 6", ranking("u", 1, 0, 1, 0, 0, 1), {"ap": (1 / 1 + 2 / 3 + 3 / 6) / 3}),
    *one_group(
        "the only relevant item second",
        ranking("u", 0, 1),
        {"rr": 1 / 2, "rr@1": 0, "rr@2": 1 / 2, "hit@1": 0, "hit@2": 1, "rprec": 0, "group_auc": 0},
    ),
    *one_group("bad to the end, then good", ranking("u", 0, 0, 0, 1), {"ap(over=hits)@3": 0}, ties="worst"),
    *one_group(
        "1,1,0,0,1 and one relevant item never listed",
        LISTED_3_OF_4,
        {
            "ap(over=min_k_relevant)@5": (1 + 1 + 3 / 5) / 4,
            "ap": (1 + 1 + 3 / 5) / 4,
            "p@5": 3 / 5,
            "r@5": 3 / 4,
            "f@5": (1 + 1) * 3 / (1 * 4 + 5),
            "rprec": 2 / 4,
            "group_auc": (2 + 2 + 0) / (3 * 2),
            "ndcg": (1 / log2(2) + 1 / log2(3) + 1 / log2(6)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)),
            "ndcg(ideal=retrieved)": (1 / log2(2) + 1 / log2(3) + 1 / log2(6))
            / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
            "ndcg(ideal=k_relevant)@3": (1 / log2(2) + 1 / log2(3)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
        },
    ),
    *under_ties(
        "1,1,0,0,1 and seven relevant items never listed",
        LISTED_3_OF_10,
        expected={"ap(over=min_k_relevant)@5": (1 + 1 + 3 / 5) / 5, "ap": (1 + 1 + 3 / 5) / 10, "rprec": 3 / 10},
        best={"ap(over=hits)": (1 + 1 + 3 / 5) / 3},
    ),
    *one_group(
        "relevant items, none of them listed",
        NEVER_LISTED,
        {
            **dict.fromkeys(("p@5", "p", "p(over=retrieved)@5", "r@5", "f", "f@5", "hit", "rprec", "ap"), 0),
            **dict.fromkeys(("rr", "rbp", "cg", "dcg@5", "ndcg@5"), 0),
            **dict.fromkeys(("ndcg(ideal=retrieved)@5", "group_auc", "gauc"), None),
        },
    ),
    *one_group(
        "rows without a label are not relevant",
        UNJUDGED,
        {"p@4": 2 / 4, "r@1": 1 / 2, "ap": (1 / 1 + 2 / 3) / 2, "group_auc": (2 + 1) / (2 * 2), "cg": 1 + 1},
    ),
)

THRESHOLDS = (
    *one_group(
        "grades 3,2,1,0,1 at a threshold, which need not be a label",
        GRADED,
        {
            "p(rel=2)@5": 2 / 5,
            "p(rel=0.5)@5": 4 / 5,
            "p(over=retrieved,rel=2)@10": 2 / 5,
            "r(rel=2)@1": 1 / 2,
            "f(rel=2)@5": 2 * 2 / (2 + 5),
            "hit(rel=3)@1": 1,
            "rprec(rel=2)": 2 / 2,
            "ap(rel=1)": (1 / 1 + 2 / 2 + 3 / 3 + 4 / 5) / 4,
            "rr(rel=1.5)": 1 / 1,
            "rbp(p=0.5,rel=2)": (1 - 0.5) * (1 + 0.5),
            "group_auc(rel=2)": (3 + 3) / (2 * 3),
            "gauc(rel=3)": 4 / (1 * 4),
            "rr(rel=4)": None,
            "cg(gain=binary,rel=2)": 1 + 1,
            "dcg(gain=binary,rel=2)": 1 / log2(2) + 1 / log2(3),
            "ndcg(gain=binary,rel=3)@1": 1,
        },
    ),
)
