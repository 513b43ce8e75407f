"""Ranks among sampled items, and what metrics among all items come from them."""

from __future__ import annotations

from math import log2

from tests.cases.case import one_group, ranking, whole_day

# One other item is drawn for each list, and two lists of three are as they should be: ranks 1 and 2.
ONE_OTHER = (*ranking("a", 1, 0), *ranking("b", 0, 1), *ranking("c", 1, 0, 0))
# Of three items the relevant one is above the other with chance 1, 1/2 or 0 for R = 1, 2, 3. As half of the sampled
# ranks are 1, the uniform distribution is the most likely one: EM stays there.
THIRD = 1 / 3
# (1/2 · [[5/4, 1/4], [1/4, 5/4]] + 1/2 · [[3/2, 0], [0, 3/2]]) f = (1, 0), of which the thirds are left out
FIRST, SECOND = 1.375 / (1.375**2 - 0.125**2), -0.125 / (1.375**2 - 0.125**2)
# of gamma = 0.1: (9/10 · [[5/4, 1/4], [1/4, 5/4]] + 1/10 · [[3/2, 0], [0, 3/2]]) f = M's share
OWN, OTHER = 0.9 * 1.25 + 0.1 * 1.5, 0.9 * 0.25


def least(first: float, second: float) -> float:
    """The mean of f over both ranks, where f solves [[OWN, OTHER], [OTHER, OWN]] f = (first, second)."""
    return (first + second) / (OWN + OTHER) / 2


SAMPLED = (
    *whole_day(
        "one other of three items",
        ONE_OTHER,
        {
            "hit(sampled=1,items=3)@1": (THIRD, 0),
            "hit(sampled=1,items=3)": (1, 0),
            "hit(sampled=1,items=3,rel=1)@2": (2 * THIRD, 0),
            "hit(sampled=1,items=3,by=minimal_bias,gamma=0.5)@1": ((FIRST + SECOND) / 2, 0),
            "r(sampled=1,items=3)@1": (THIRD, 0),
            "r(sampled=1,items=3,rel=1)": (1, 0),
            "r(sampled=1,items=3,by=minimal_bias)@1": (least(1, 0), 0),
            "r(sampled=1,items=3,by=minimal_bias,gamma=0.5)@1": ((FIRST + SECOND) / 2, 0),
            "rr(sampled=1,items=3)": (THIRD * (1 + 1 / 2 + 1 / 3), 0),
            "rr(sampled=1,items=3,rel=1)@2": (THIRD * (1 + 1 / 2), 0),
            "rr(sampled=1,items=3,by=minimal_bias)@2": (least(1 + 1 / 2 / 2, 1 / 2 / 2), 0),
            "rr(sampled=1,items=3,by=minimal_bias,gamma=0.5)@1": ((FIRST + SECOND) / 2, 0),
            "ndcg(sampled=1,items=3)": (THIRD * (1 + 1 / log2(3) + 1 / 2), 0),
            "ndcg(sampled=1,items=3,rel=1)@2": (THIRD * (1 + 1 / log2(3)), 0),
            "ndcg(sampled=1,items=3,by=minimal_bias)@2": (least(1 + 1 / log2(3) / 2, 1 / log2(3) / 2), 0),
            "ndcg(sampled=1,items=3,by=minimal_bias,gamma=0.5)@1": ((FIRST + SECOND) / 2, 0),
        },
        ties="item",
    ),
    # Of two items the sample is all there is: the sampled rank is the rank.
    *whole_day(
        "one other of two items",
        (*ONE_OTHER, *ranking("d", 0, 1)),
        {
            "hit(sampled=1,items=2)@1": (1 / 3, 0),
            "rr(sampled=1,items=2)": ((1 + 2 * 1 / 2) / 3, 0),
            "ndcg(sampled=1,items=2,by=minimal_bias)": ((1 + 2 / log2(3)) / 3, 0),
        },
        ties="worst",
        undefined="one",  # which a group without a rank is not counted as
    ),
    *whole_day(
        "no list of one relevant row and three others",
        ONE_OTHER,
        {f"{name}(sampled=3,items=9)@2": (None, 0) for name in ("hit", "r", "rr", "ndcg")},
        ties="item",
    ),
    *one_group(
        "a rank among sampled items",
        ranking("u", 0, 1, 0),
        {
            "first_rank(sampled=2,ties=item)": 2,
            "first_rank(sampled=3,ties=item)": None,
            "first_rank(sampled=2,ties=item)@1": None,
        },
    ),
    *one_group("two relevant rows", ranking("u", 0, 1, 1), {"first_rank(sampled=2,ties=item)": None}),
    *one_group("not listed", ranking("u", 0, 0, 0, unlisted=(1,)), {"first_rank(sampled=2,ties=item)": None}),
)
