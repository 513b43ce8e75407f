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
        expected={
            "set_ap": 3 / 5 * 3 / 3,
            "fallout": 2 / 2,
            "fallout@3": 1 / 2,
            "n_ret": 5,
            "n_ret@3": 3,
            "n_rel": 3,
            "n_rel_ret": 3,
            "n_rel_ret@3": 2,
            "p(over=min_retrieved_relevant)": 3 / 3,
            "p(over=min_retrieved_relevant)@2": 1 / 2,
            "first_rank": 1,
            "relevance_position": (1 + 3 + 5) / 3,
            "percentile_rank": (0 / 5 + 2 / 5 + 4 / 5) / 3,
            "percentile_rank(items=10)": (0 / 10 + 2 / 10 + 4 / 10) / 3,
            "arhr": 1 / 1 + 1 / 3 + 1 / 5,
            "arhr@3": 1 / 1 + 1 / 3,
            "bpref": (1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3,
        },
        item={
            "iprec": 1 / 1,
            "iprec(recall=0.1)": 1 / 1,  # the 1st hit on
            "iprec(recall=0.5)": 2 / 3,  # int(1.5 + 0.9) = the 2nd on
            "iprec(recall=1)": 3 / 5,
            # int(3 l + 0.9): the 1st hit on to l = 0.3, the 2nd to 0.7, for which float64 has a little less than 3
            "iprec11": (4 * 1 / 1 + 4 * 2 / 3 + 3 * 3 / 5) / 11,
            "pfound": 1,
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
        expected={
            "bpref": ((1 - 1 / 2) + (1 - 1 / 2) + 0) / 3,
            "bpref(rel=2)": (1 - 1 / 1) / 1,
            "arhr(rel=2)": 1 / 5,
            "set_ap": 2 / 6 * 2 / 3,
            "set_ap(rel=2)": 1 / 6 * 1 / 1,
            "fallout@3": 2 / 4,  # one judged against, and one that nobody judged
            "fallout(rel=2)@3": 3 / 6,
            "n_rel": 3,
            "n_rel(rel=2)": 1,
            "n_rel_ret": 2,
            "n_rel_ret(rel=2)@4": 0,
            "p(over=min_retrieved_relevant)": 2 / 3,
            "first_rank": 2,
            "first_rank(rel=2)": 5,
            "relevance_position": (2 * 1 + 5 * 2) / (1 + 2),
            "percentile_rank": (1 / 7 + 4 / 7 + (5 + 7) / 2 / 7) / 3,
            "percentile_rank(items=20)": (1 / 20 + 4 / 20 + (5 + 20) / 2 / 20) / 3,
            "percentile_rank(rel=2)": 4 / 7,
        },
        item={
            # the 3rd hit is not listed; int(3 l + 0.5) is 1 to l = 0.4, and 2 to 0.8
            "iprec11": (4 * 1 / 2 + 4 * 2 / 5) / 11,
            "iprec11(round=nearest)": (5 * 1 / 2 + 4 * 2 / 5) / 11,
            "iprec11(rel=2)": 11 * 1 / 5 / 11,
            "first_rank@2": 2,
            "first_rank@1": None,
            "pfound": 0.85,
            "pfound(decay=1)@2": 1,
            "pfound@1": 0,
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
        expected={
            "rbp(gain=linear,max_grade=4)": 0.2 * (3 / 4 + 0.8 * 2 / 4 + 0.8**2 * 1 / 4 + 0.8**4 * 1 / 4),
            "rbp(gain=linear,max_grade=1,p=0.5)@2": 0.5 * (3 + 0.5 * 2),  # more than 1
            "relevance_position": (3 * 1 + 2 * 2 + 1 * 3 + 1 * 5) / (3 + 2 + 1 + 1),
        },
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
    *under_ties(
        "a label below 0 satisfies nobody",
        NEGATIVE,
        item={"err(max_grade=2)@3": 1 / 2 * 3 / 4, "pfound": 0.85, "rbp(gain=linear,max_grade=2)@3": 0.2 * 0.8},
    ),
    *under_ties(
        "chances of 1/4, 0, 1/2, 1/2",
        ranking("u", 0.25, 0, 0.5, 0.5),
        item={
            "pfound": 1 / 4 + 3 / 4 * 0.85**2 * (1 / 2 + 1 / 2 * 0.85 * 1 / 2),
            "pfound(decay=0.5)@3": 1 / 4 + 3 / 4 * 1 / 2**2 * 1 / 2,
        },
    ),
    *under_ties(
        "four tied rows, one relevant",
        FOUR_TIED,
        expected={
            "arhr": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4 + 1 / 6,
            "arhr@3": (1 / 2 + 1 / 3) / 4,
            "fallout@3": (3 - 2 / 4) / 4,
            "n_rel_ret@3": 2 / 4,
            "first_rank": (2 + 3 + 4 + 5) / 4,
            "relevance_position": ((2 + 3 + 4 + 5) / 4 + 6) / 2,
            "percentile_rank": ((1 + 2 + 3 + 4) / 4 + 5) / 6 / 2,
            "rbp(gain=linear,max_grade=2)@3": 0.2 * (0.8 + 0.8**2) / 4 / 2,
            # R = 2, N = 4: 1 to 4 rows above the tied hit, each as likely, and 4 above the last: 1/2, 2/2 of 2 at most
            "bpref": (((1 - 1 / 2) + 0 + 0 + 0) / 4 + 0) / 2,
        },
        worst={"first_rank@5": 5, "first_rank@4": None, "fallout@5": 4 / 4, "bpref": 0, "iprec": 2 / 6, "arhr@4": 0},
        best={
            "first_rank@4": 2,
            "pfound": 0.85,
            "bpref": (1 - 1 / 2) / 2,
            "iprec": 1 / 2,
            "iprec(recall=1)": 2 / 6,
            "err(max_grade=1)@2": 1 / 2 / 2,
        },
        block={
            "first_rank": 5,
            "fallout@4": 1 / 4,
            "fallout@5": 4 / 4,
            "bpref": 0,
            "iprec": 2 / 6,
            "arhr": 1 / 5 + 1 / 6,
            "err(max_grade=1)": 1 / 2 / 5 + 1 / 2 * 1 / 2 / 6,
        },
    ),
    *under_ties(
        "no relevant row",
        ranking("u", 0, None),
        expected={
            **dict.fromkeys(("arhr", "bpref", "set_ap", "first_rank", "relevance_position", "percentile_rank"), None),
            "fallout@1": 1 / 2,
            "n_rel": 0,
            "n_rel_ret": 0,
            "p(over=min_retrieved_relevant)": 0,
        },
        item={"iprec11": None, "pfound": 0, "iprec": None, "infap": None, "err": 0},
    ),
    *one_group("no row judged against", ranking("u", None, 1, 1, unlisted=(1,)), {"bpref": (1 + 1 + 0) / 3}),
    *one_group("only relevant rows", ranking("u", 1, 2), {"fallout": None}),
    *under_ties(
        "relevant items, none of them listed",
        NEVER_LISTED,
        expected={
            "bpref": 0,
            "arhr": 0,
            "set_ap": 0,
            "n_rel": 2,
            "n_ret": 0,
            "p(over=min_retrieved_relevant)": 0,
            "first_rank": None,
            "relevance_position": None,
            "percentile_rank": 1 / 2,
            "fallout": None,
        },
        worst={"iprec11": 0, "pfound": 0, "iprec": 0, "infap": 0, "err": 0},
    ),
)
