"""Rows without a label: how many there are, what a list is without them, and the most that its value can be."""

from __future__ import annotations

from math import log2

from tests.cases.case import one_group, ranking, under_ties
from tests.cases.rows import NEVER_LISTED

# Judged against, relevant, not judged, with a label below 0, relevant, judged against; a relevant one is not listed.
PARTLY_JUDGED = ranking("u", 0, 1, None, -1, 2, 0, unlisted=(1,))

# One row, then four of equal score, of which "9" and "2" have no label. As text descending they stand 9, 2, 10, 1.
TIED_IN_PART = (
    ("u", "a", 3.0, 0.0),
    ("u", "1", 2.0, 0.0),
    ("u", "10", 2.0, 1.0),
    ("u", "2", 2.0, None),
    ("u", "9", 2.0, None),
)

UNJUDGED_ROWS = (
    *under_ties(
        "the third of six not judged",
        PARTLY_JUDGED,
        expected={
            "judged": 5 / 6,
            "judged@3": 2 / 3,
            "judged@10": 5 / 6,
            "judged(over=k)@10": 5 / 10,
            "unj": 1 / 6,
            "unj@2": 0 / 2,
            "unj@3": 1 / 3,
            "unj@10": 1 / 10,
            # the list 0, 1, -1, 2, 0
            "p(unjudged=drop)@4": 2 / 4,
            "ap(unjudged=drop)": (1 / 2 + 2 / 4) / 3,
            "r(unjudged=drop,rel=2)@4": 1 / 1,
            "arhr(unjudged=drop)": 1 / 2 + 1 / 4,
            "list_length(unjudged=drop)": 5,
            "ndcg(unjudged=drop)@3": (1 / log2(3)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4)),
            # the labels 0, 1, the highest, -1, 2, 0
            "p(unjudged=best)@3": 2 / 3,
            "p(unjudged=best)": 3 / 6,
            "p(over=retrieved,unjudged=best)@10": 3 / 6,
            "hit(unjudged=best,rel=2)@3": 1,
            "hit(unjudged=best)@1": 0,
            "rr(unjudged=best,rel=2)": 1 / 3,
            "rbp(unjudged=best)": 0.2 * (0.8 + 0.8**2 + 0.8**4),
            "rbp(gain=linear,max_grade=2,unjudged=best)@3": 0.2 * (0.8 * 1 / 2 + 0.8**2),
            "cg(max_grade=3,unjudged=best)": 1 + 3 + 2,
            "cg(gain=binary,unjudged=best)@3": 2,
            "dcg(gain=exp2,max_grade=3,unjudged=best)@3": 1 / log2(3) + 7 / log2(4),
            "dcg(gain=binary,rel=2,unjudged=best)": 1 / log2(4) + 1 / log2(6),
        },
        item={"err(max_grade=2,unjudged=best)@3": 1 / 4 / 2 + 3 / 4 * 3 / 4 / 3},
    ),
    *one_group(
        "listed gains, of which the label 1 has the highest",
        ranking("u", 0, 1, None, 2),
        {"cg(gain=[0,5,1],unjudged=best)": 5 + 5 + 1, "dcg(gain=[0,5,1],unjudged=best)@1": 0},
    ),
    *under_ties(
        "two of four tied rows not judged",
        TIED_IN_PART,
        expected={"judged@3": (1 + 2 * 2 / 4) / 3, "unj@3": 2 * 2 / 4 / 3, "rr(unjudged=drop)": (1 / 2 + 1 / 3) / 2},
        item={"judged@3": 1 / 3, "judged@4": 2 / 4, "unj@3": 2 / 3, "rr(unjudged=drop)": 1 / 2},
        worst={"judged@3": 1 / 3, "unj@4": 2 / 4, "rr(unjudged=drop)": 1 / 3, "rr(unjudged=best)": 1 / 3},
        best={"judged@3": 3 / 3, "unj@4": 1 / 4, "rr(unjudged=drop)": 1 / 2, "rr(unjudged=best)": 1 / 2},
        block={"judged@4": 1 / 4, "judged@5": 3 / 5, "unj@5": 2 / 5, "rr(unjudged=drop)": 1 / 3},
    ),
    *one_group(
        "a row that nobody judged, and one that is not relevant",
        ranking("u", 0, None),
        {"rr": None, "rr(unjudged=best)": 1 / 2, "rr(unjudged=drop)": None, "hit(unjudged=best)@1": 0},
    ),
    *one_group(
        "nothing left to judge",
        ranking("u", 0, 0),
        {"rr(unjudged=best)": None, "p(unjudged=best)": 0, "judged": 1, "unj@1": 0},
    ),
    *one_group(
        "relevant items, none of them listed",
        NEVER_LISTED,
        {"judged": None, "judged@3": None, "judged(over=k)@3": 0, "unj": None, "unj@3": 0, "p(unjudged=best)@3": 0},
    ),
)
