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
TF_RANKING = ",".join(str(1 / (position + 10)) for position in range(1, 5))

GRADES = (
    *one_group(
        "gains 3,2,1,0,1",
        GRADED,
        {
            "cg@2": 3 + 2,
            "cg": 3 + 2 + 1 + 0 + 1,
            "cg(gain=exp2)": 7 + 3 + 1 + 0 + 1,
            "cg(gain=binary)@4": 1 + 1 + 1 + 0,
            "dcg@2": 3 / log2(2) + 2 / log2(3),
            "dcg": DCG_32101,
            "dcg(gain=exp2)@5": DCG_EXP2,
            "dcg(gain=binary)": FOUR_OF_FIVE,
            "dcg(discount=zipf)": 3 / 1 + 2 / 2 + 1 / 3 + 0 / 4 + 1 / 5,
            "dcg(discount=inverse)@2": 3 / 1 + 2 / 2,
            "dcg(discount=[1,0.5,0.25])": 3 * 1 + 2 * 0.5 + 1 * 0.25,
            "dcg(gain=exp2,discount=[2,2,2,2,2,1])": 2 * (7 + 3 + 1 + 0 + 1),
            "ndcg(discount=zipf)": (3 / 1 + 2 / 2 + 1 / 3 + 1 / 5) / (3 / 1 + 2 / 2 + 1 / 3 + 1 / 4),
            "ndcg(discount=[5,4,3,2,1])@5": (5 * 3 + 4 * 2 + 3 * 1 + 1 * 1) / (5 * 3 + 4 * 2 + 3 * 1 + 2 * 1),
            "ndcg(discount=[5,4,3,2,1],ideal=[3,3])@5": (5 * 3 + 4 * 2 + 3 * 1 + 1 * 1) / (5 * 3 + 4 * 3),
            "ndcg(discount=zipf,gain=binary,ideal=k_relevant)@5": (1 / 1 + 1 / 2 + 1 / 3 + 1 / 5)
            / (1 / 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5),
            "ndcg(ideal=[3,3,3,3,2])@5": DCG_32101 / IDEAL_33332,
            "ndcg(gain=exp2,ideal=[3,3,3,3,2])@5": DCG_EXP2 / IDEAL_EXP2_33332,
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
            "ndcg(discount=zipf)": (1 / 2) / (2 / 1 + 1 / 2),
            "ndcg(discount=zipf,ideal=retrieved)": (1 / 2) / (1 / 1),
            "ndcg(discount=[1])": 0,
            "ndcg(gain=exp2)@1": 0,
            "ndcg(gain=exp2)": (1 / log2(3)) / (3 / log2(2) + 1 / log2(3)),
        },
    ),
    # tf-ranking, metrics_impl_test: test_dcg_ and test_ndcg_should_use_custom_rank_discount_fn, 1 / (position + 10)
    *one_group(
        "gains 0,3,1,0 of tf-ranking",
        ranking("u", 0, 3, 1, 0),
        {
            f"dcg(gain=exp2,discount=[{TF_RANKING}])": 7 / (2 + 10) + 1 / (3 + 10),
            f"ndcg(gain=exp2,discount=[{TF_RANKING}])": (7 / (2 + 10) + 1 / (3 + 10)) / (7 / (1 + 10) + 1 / (2 + 10)),
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
