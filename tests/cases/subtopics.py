"""Relevance by subtopic: the items are their subtopics, ``a+b`` those a and b, or the labels are."""

from __future__ import annotations

from math import log2

from tests.cases.case import Row, many_groups, one_group, ranking, under_ties

# The greedy list: a+d, as the greater of two equal rows, a+b with b and half of a, c, and a quarter of a. The row c+d
# of label 0 is not relevant, and d is in no list.
COVERED: tuple[Row, ...] = (
    ("u", "a+b", 4.0, 1.0),
    ("u", "c+d", 3.0, 0.0),
    ("u", "a", 2.0, 1.0),
    ("u", "c", 1.0, 2.0),
    ("u", "a+d", None, 1.0),
)
EQUAL: tuple[Row, ...] = (("u", "a+b", 3.0, 1.0), ("u", "b+c", 2.0, 1.0), ("u", "a+d", 1.0, 1.0))
# All three positions are one tie; under block each counts at the third, whatever the order.
TIED: tuple[Row, ...] = (("u", "a", 1.0, 1.0), ("u", "a+b", 1.0, 2.0), ("u", "c", 1.0, 0.0))

SECOND, THIRD = 1 / log2(3), 1 / log2(4)
BEST_OF_THREE = 2 + (1 + 1 / 2) * SECOND + THIRD

SUBTOPICS = (
    *one_group(
        "a subtopic that rows above have, a row that is not relevant and one that no list has",
        COVERED,
        {
            "alpha_ndcg(by=item)@1": 1,
            "alpha_ndcg(by=item)@3": (2 + 1 / 2 * THIRD) / BEST_OF_THREE,
            "alpha_ndcg(by=item)": (2 + 1 / 2 * THIRD + 1 / log2(5)) / (BEST_OF_THREE + 1 / 4 / log2(5)),
            "alpha_ndcg(by=item,alpha=0)@3": (2 + THIRD) / (2 + 2 * SECOND + THIRD),
            "alpha_ndcg(by=item,alpha=1)@3": 2 / (2 + SECOND + THIRD),
            # c alone, at the fourth position
            "alpha_ndcg(by=item,rel=2)": 1 / log2(5),
            "strecall(by=item)@3": 2 / 4,
            "strecall(by=item)": 3 / 4,
            "strecall(by=item,rel=2)": 1,
            "strecall(by=item,rel=2)@3": 0,
        },
        ties="item",
    ),
    # All have two new subtopics, so that b+c is first, as the greatest text; a+d has two more, and a+b half of each.
    # In the list a+b leaves a half of b to b+c, and of a to a+d.
    *one_group(
        "equal rows of the greedy list stand by their items, the greatest first",
        EQUAL,
        {
            "alpha_ndcg(by=item)@2": (2 + 3 / 2 * SECOND) / (2 + 2 * SECOND),
            "alpha_ndcg(by=item)": (2 + 3 / 2 * SECOND + 3 / 2 * THIRD) / (2 + 2 * SECOND + THIRD),
        },
        ties="item",
    ),
    *under_ties(
        "all rows tied",
        TIED,
        expected={"strecall(by=item)": 1},
        item={"strecall(by=item)@1": 0, "strecall(by=item)@2": 1, "alpha_ndcg(by=item)@1": 0},
        worst={"strecall(by=item)@2": 1 / 2, "alpha_ndcg(by=item)@2": SECOND / (2 + 1 / 2 * SECOND)},
        best={"alpha_ndcg(by=item)@1": 1, "alpha_ndcg(by=item)@2": 1},
        block={
            "strecall(by=item)@2": 0,
            "strecall(by=item)@3": 1,
            "alpha_ndcg(by=item)@3": (1 + 1 + 1 / 2) * THIRD / (2 + 1 / 2 * SECOND),
        },
    ),
    many_groups(
        "lists of subtopics that are the labels, without a relevant row, and of relevant rows that no list has",
        (*ranking("u", 3, 1, 3, unlisted=(7,)), *ranking("v", 0, None), *ranking("w", 0, unlisted=(2,))),
        "alpha_ndcg(by=label)@2",
        {"u": 1, "v": None, "w": 0},
        1 / 2,
        ties="item",
    ),
    many_groups(
        "lists of subtopics that are the labels, without a relevant row, and of relevant rows that no list has",
        (*ranking("u", 3, 1, 3, unlisted=(7,)), *ranking("v", 0, None), *ranking("w", 0, unlisted=(2,))),
        "strecall(by=label)@2",
        {"u": 2 / 3, "v": None, "w": 0},
        1 / 3,
        ties="item",
    ),
)
