"""Graded relevance: gains, DCG, NDCG, ERR."""

from __future__ import annotations

from math import log2

from tests.cases.case import one_group, ranking
from tests.cases.rows import GRADED, NEGATIVE

DCG_32101 = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 0 / log2(5) + 1 / log2(6)
IDEAL_33332 = 3 / log2(2) + 3 / log2(3) + 3 / log2(4) + 3 / log2(5) + 2 / log2(6)
IDEAL_32110 = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5) + 0 / log2(6)
DCG_EXP2 = 7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 0 / log2(5) + 1 / log2(6)
IDEAL_EXP2 = 7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 1 / log2(5) + 0 / log2(6)
IDEAL_EXP2_33332 = 7 / log2(2) + 7 / log2(3) + 7 / log2(4) + 7 / log2(5) + 3 / log2(6)
FOUR_OF_FIVE = 1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(6)

GRADES = (
    *one_group(
        "gains 3,2,1,0,1",
        GRADED,
        {
            "cg@5": 3 + 2 + 1 + 0 + 1,
            "cg@2": 3 + 2,
            "cg": 3 + 2 + 1 + 0 + 1,
            "cg(gain=exp2)": 7 + 3 + 1 + 0 + 1,
            "cg(gain=binary)@4": 1 + 1 + 1 + 0,
            "dcg@5": DCG_32101,
            "dcg@2": 3 / log2(2) + 2 / log2(3),
            "dcg": DCG_32101,
            "dcg(gain=exp2)@5": DCG_EXP2,
            "dcg(gain=binary)": FOUR_OF_FIVE,
            "ndcg(ideal=[3,3,3,3,2])@5": DCG_32101 / IDEAL_33332,
            "ndcg(ideal=[3,3,3,3,2])@1": (3 / log2(2)) / (3 / log2(2)),
            "ndcg(gain=exp2,ideal=[3,3,3,3,2])@5": DCG_EXP2 / IDEAL_EXP2_33332,
            "ndcg@5": DCG_32101 / IDEAL_32110,
            "ndcg": DCG_32101 / IDEAL_32110,
            "ndcg@3": 1,
            "ndcg(gain=exp2)": DCG_EXP2 / IDEAL_EXP2,
            "ndcg(gain=binary)": FOUR_OF_FIVE / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)),
            "ndcg(gain=binary,ideal=k_relevant)@5": FOUR_OF_FIVE
            / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)),
        },
    ),
    *one_group(
        "grades 0,1 and a grade 2 never listed",
        ranking("u", 0, 1, unlisted=(2,)),
        {
            "ndcg@2": (1 / log2(3)) / (2 / log2(2) + 1 / log2(3)),
            "ndcg(ideal=retrieved)@2": (1 / log2(3)) / (1 / log2(2)),
            "ndcg(gain=exp2)@1": 0,
            "ndcg(gain=exp2)": (1 / log2(3)) / (3 / log2(2) + 1 / log2(3)),
        },
    ),
    *one_group(
        "negative labels: -2, 2, -1, 1",
        NEGATIVE,
        {
            "p@2": 1 / 2,
            "r@2": 1 / 2,
            "ap": (1 / 2 + 2 / 4) / 2,
            "cg": 0 + 2 + 0 + 1,
            "dcg": 0 / log2(2) + 2 / log2(3) + 0 / log2(4) + 1 / log2(5),
            "dcg(gain=exp2)": 3 / log2(3) + 1 / log2(5),
            "dcg(gain=binary)": 1 / log2(3) + 1 / log2(5),
            "ndcg": (2 / log2(3) + 1 / log2(5)) / (2 / log2(2) + 1 / log2(3)),
            "group_auc": (1 + 0) / (2 * 2),
            "p(rel=2)@4": 1 / 4,
        },
    ),
)
