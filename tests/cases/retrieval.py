"""Measures of retrieval evaluation, with rows that nobody judged."""

from __future__ import annotations

from tests.cases.case import one_group, ranking, under_ties
from tests.cases.rows import FOUR_TIED, GOOD_BAD, GRADED, NEGATIVE, NEVER_LISTED

# Of R = 3 and N = 2 listed: one judged against, a hit, not judged twice, a hit, judged against; a hit is not listed.
PARTLY_JUDGED = ranking("u", 0, 1, None, -1, 2, 0, unlisted=(1,))
EPSILON = 0.00001

RETRIEVAL = (
    *under_ties(
        "order good, bad, good, bad, good",
        GOOD_BAD,
        expected={"arhr": 1 / 1 + 1 / 3 + 1 / 5, "arhr@3": 1 / 1 + 1 / 3, "bpref": (1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3},
        item={
            "iprec": 1 / 1,
            "iprec(recall=0.1)": 1 / 1,  # the 1st hit on
            "iprec(recall=0.5)": 2 / 3,  # int(1.5 + 0.9) = the 2nd on
            "iprec(recall=1)": 3 / 5,
            "infap": (
                1
                + (1 / 3 + 2 / 3 * (1 + EPSILON) / (2 + 2 * EPSILON))
                + (1 / 5 + 4 / 5 * (2 + EPSILON) / (4 + 2 * EPSILON))
            )
            / 3,
        },
    ),
    *under_ties(
        "judged in part",
        PARTLY_JUDGED,
        expected={"bpref": ((1 - 1 / 2) + (1 - 1 / 2) + 0) / 3, "bpref(rel=2)": (1 - 1 / 1) / 1, "arhr(rel=2)": 1 / 5},
        item={
            "iprec(recall=0.3)": 1 / 2,  # int(0.9 + 0.9) = the 1st hit on
            "iprec(recall=0.5)": 2 / 5,  # int(1.5 + 0.9) = the 2nd on
            "iprec(recall=0.4,round=nearest)": 1 / 2,  # int(1.2 + 0.5) = the 1st on
            "iprec(recall=0.75)": 0,  # int(2.25 + 0.9) = the 3rd, which is not listed
            "iprec(recall=0.5,rel=2)": 1 / 5,
            "infap": (
                (1 / 2 + 1 / 2 * EPSILON / (1 + 2 * EPSILON)) + (1 / 5 + 3 / 5 * (1 + EPSILON) / (2 + 2 * EPSILON)) + 0
            )
            / 3,
            "infap(rel=2)": 1 / 5 + 3 / 5 * EPSILON / (2 + 2 * EPSILON),
        },
    ),
    *under_ties(
        "grades 3,2,1,0,1 of 4: satisfied with 7/16, 3/16, 1/16, 0, 1/16",
        GRADED,
        item={
            "err": 7 / 16
            + 9 / 16 * 3 / 16 / 2
            + 9 / 16 * 13 / 16 * 1 / 16 / 3
            + 9 / 16 * 13 / 16 * 15 / 16 * 1 / 16 / 5,
            "err@2": 7 / 16 + 9 / 16 * 3 / 16 / 2,
            "err(max_grade=3)@2": 7 / 8 + 1 / 8 * 3 / 8 / 2,
            "err(max_grade=2)@2": 3 / 4 + 1 / 4 * 3 / 4 / 2,  # a label of 3 counts as 2
        },
    ),
    *under_ties("a label below 0 satisfies nobody", NEGATIVE, item={"err(max_grade=2)@3": 1 / 2 * 3 / 4}),
    *under_ties(
        "four tied rows, one relevant",
        FOUR_TIED,
        expected={
            "arhr": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4 + 1 / 6,
            "arhr@3": (1 / 2 + 1 / 3) / 4,
            # R = 2, N = 4: 1 to 4 rows above the tied hit, each as likely, and 4 above the last: 1/2, 2/2 of 2 at most
            "bpref": (((1 - 1 / 2) + 0 + 0 + 0) / 4 + 0) / 2,
        },
        worst={"bpref": 0, "iprec": 2 / 6, "arhr@4": 0},
        best={"bpref": (1 - 1 / 2) / 2, "iprec": 1 / 2, "iprec(recall=1)": 2 / 6, "err(max_grade=1)@2": 1 / 2 / 2},
        block={"bpref": 0, "iprec": 2 / 6, "arhr": 1 / 5 + 1 / 6, "err(max_grade=1)": 1 / 2 / 5 + 1 / 2 * 1 / 2 / 6},
    ),
    *under_ties(
        "no relevant row",
        ranking("u", 0, None),
        expected={"arhr": None, "bpref": None},
        item={"iprec": None, "infap": None, "err": 0},
    ),
    *one_group("no row judged against", ranking("u", None, 1, 1, unlisted=(1,)), {"bpref": (1 + 1 + 0) / 3}),
    *under_ties(
        "relevant items, none of them listed",
        NEVER_LISTED,
        expected={"bpref": 0, "arhr": 0},
        worst={"iprec": 0, "infap": 0, "err": 0},
    ),
)
