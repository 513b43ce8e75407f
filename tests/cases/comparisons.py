"""Orders compared: pairs, correlations, overlaps."""

from __future__ import annotations

from math import log2, sqrt

from tests.cases.case import many_groups, one_group, ranking, under_ties, whole_day
from tests.cases.rows import FOUR_TIED, GRADED, UNJUDGED

# Of "a" and "b" 2 and 1 of 3 pairs of different labels stand in order; "c" has no such pair.
GRADED_USERS = (*ranking("a", 2, 0, 1), *ranking("b", 0, 2, 1, unlisted=(3,)), *ranking("c", 1, 1))
PAIRS_OF_USERS = {"a": 2 / 3, "b": 1 / 3, "c": None}
# The labels of "b" and "c" tie both rows at the top: to depth 1 one list has a row and the other two.
AGREEING_USERS = (
    *ranking("a", 1, 0),
    *ranking("b", 0, 0),
    *ranking("c", 0, 0, unlisted=(-1,)),
    *ranking("d", None),
    *ranking("e", unlisted=(1,)),
)
BOTH_FIRST = 0.1 * (2 * 1 / (1 + 2) + 0.9 * 1) + 0.9**2 * 1

# By score a b c d, by reference b d a e; of the latter e is in no list.
TWO_LISTS = (
    ("u", "a", 4.0, 1.0, 3.0),
    ("u", "b", 3.0, 0.0, 1.0),
    ("u", "c", 2.0, 2.0, None),
    ("u", "d", 1.0, 0.0, 2.0),
    ("u", "e", None, 1.0, 4.0),
)
# By score a and b, of which b is not relevant, then c; by reference c, then a and b. As text descending b is before a.
TIED_LISTS = (("u", "a", 2.0, 1.0, 2.0), ("u", "b", 2.0, 0.0, 2.0), ("u", "c", 1.0, 1.0, 1.0))
NO_LISTS = (("u", "a", None, 1.0, None),)

COMPARISONS = (
    *one_group(
        "a b c d beside b d a e",
        TWO_LISTS,
        {
            "overlap@1": 0,
            "overlap@2": 1 / 2,
            "overlap@3": 2 / 3,
            "overlap(over=k)@6": 3 / 6,
            "overlap(over=retrieved)@6": 3 / 4,
            "overlap(ref=reference_rank)": 3 / 4,
            "overlap(over=union)": 3 / 5,
            "unexpected@2": 1 - 1 / 2,
            "unexpected": 1 - 3 / 4,
            "unexpected(over=retrieved)@6": 1 - 3 / 4,
            "unexpected(over=union)": 1 - 3 / 5,
            # a is relevant and first, where the other list has b; to depth 3 that has a, and c never
            "serendipity@1": 1 / 1,
            "serendipity@2": 1 / 2,
            "serendipity@3": 1 / 3,
            "serendipity": 1 / 4,
            "serendipity(rel=2)@2": 0,
            "serendipity(rel=2)@3": 1 / 3,
        },
    ),
    *(
        one
        for name, sign in (("overlap", 1), ("unexpected", -1))
        for one in one_group(
            "to depth 2 and 3 one of three rows, and two of four, are in both",
            TWO_LISTS,
            {f"{name}(over=union)@{k}": (1 - sign) / 2 + sign * share for k, share in ((2, 1 / 3), (3, 2 / 4))},
            ties="item",
        )
    ),
    *under_ties(
        "a and b tie first, and last beside c",
        TIED_LISTS,
        # of two rows the list shows a and b, the other list c and, as likely, a or b
        expected={"overlap@2": (1 * 1 / 2 + 1 * 1 / 2) / 2, "serendipity@1": 1 / 2, "serendipity@2": 1 * 1 / 2 / 2},
        item={"overlap@2": 1 / 2, "overlap(over=union)@2": 1 / 3, "serendipity@2": 1 / 2},  # c and b
        worst={"overlap@2": 1 / 2, "serendipity@1": 0, "serendipity@2": 1 / 2},  # b and then a, c and then b
        best={"overlap@2": 1 / 2, "serendipity@1": 1, "serendipity@2": 0},  # a and then b, c and then a
        block={"overlap@2": 0, "overlap(over=union)@2": 0 / 3, "unexpected(over=union)@1": 1},  # a and b, c alone
    ),
    *one_group("no row is in a list", NO_LISTS, {"overlap": 0, "unexpected": 1, "serendipity": 0, "overlap@3": 0}),
    *one_group("no row is in a list", NO_LISTS, {"overlap(over=union)": None, "unexpected(over=union)": None}),
    *one_group(
        "labels 3,2,1,0,1: of 10 pairs 8 agree, 1 is reversed, the labels tie 1",
        GRADED,
        {
            "kendall_tau": (8 - 1) / sqrt(10 * 9),
            "kendall_tau(variant=c)": (8 - 1) / (5**2 * (4 - 1) / (2 * 4)),
            "kendall_distance": 1 / 10,
            # ranks from the lowest: 5, 4, 3, 2, 1 and 5, 4, 2.5, 1, 2.5, each less their mean 3
            "spearman": (2 * 2 + 1 * 1 + 0 * -0.5 + -1 * -2 + -2 * -0.5) / sqrt(10 * (4 + 1 + 0.25 + 4 + 0.25)),
            "pair_auc": 8 / 9,
        },
    ),
    *one_group(
        "scores tie 6 of 15 pairs, labels 7, both 3; 5 are reversed and none agrees",
        FOUR_TIED,
        {
            "kendall_tau": (0 - 5) / sqrt((15 - 6) * (15 - 7)),
            "kendall_tau(variant=c)": (0 - 5) / (6**2 * (2 - 1) / (2 * 2)),
            "kendall_distance": (5 + (6 - 3) / 2) / 15,
            "spearman": (2.5 * -1 + -2.5 * 2) / sqrt(2 * 2.5**2 * (4 * 1 + 2 * 2**2)),
            "pair_auc": (0 + (6 - 3) / 2) / (15 - 7),
        },
    ),
    *one_group(
        # the label's first positions are 1, 2, 3, 5, 3: to depth 3 it has four rows, of which three are among the first
        "labels 3,2,1,0,1: agreement 1, 1, 2·3/(3+4), 2·3/(4+4), 1",
        GRADED,
        {
            "rbo": 0.1 * (1 + 0.9 + 0.9**2 * 6 / 7 + 0.9**3 * 6 / 8 + 0.9**4) + 0.9**5,
            "rbo(p=0.5)": 0.5 * (1 + 0.5 + 0.5**2 * 6 / 7 + 0.5**3 * 6 / 8 + 0.5**4) + 0.5**5,
        },
    ),
    *one_group(
        # by label the absent row is first; to depth 3 one of two went on to be common at depth 2: 2 + 1/2 of 3
        "two of three judged rows listed",
        ranking("u", 1, 0, unlisted=(2,)),
        {"rbo": 0.1 * (0 + 0.9 * 1 / 2 + 0.9**2 * 2.5 / 3) + 0.9**3 * 2.5 / 3},
    ),
    # the list ends at depth 1, and what it has is common: so it goes on
    *one_group("the first of two judged rows listed", ranking("u", 1, unlisted=(0,)), {"rbo": 1}),
    *one_group("nothing is judged", ranking("u", None), {"rbo": None}),
    many_groups(
        "labels that end in one group as they begin in the next",
        AGREEING_USERS,
        "rbo",
        # the list of "c" ends at depth 2, and all of it is common: so it goes on
        {"a": 1, "b": BOTH_FIRST, "c": BOTH_FIRST, "d": None, "e": None},
        (1 + 2 * BOTH_FIRST) / 3,
    ),
    *one_group(
        "labels 3,2,1,0,1: by label the last two change places",
        GRADED,
        {
            "fitness": (1 / 1 + 1 / 1.5 + 1 / 2 + 1 / (0.5 * 2 + 0.5 * 4) + 1 / (0.5 * 2 + 0.5 * 5))
            / (1 / 1 + 1 / 1.5 + 1 / 2 + 1 / 2.5 + 1 / 3),
            "fitness(alpha=1)": (1 + 1 + 1 + 1 / 2 + 1 / 2) / 5,
            "fitness(alpha=0)": 1,  # the same positions in any order
            "fitness(alpha=1,discount=log2)": (
                1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / 2 / log2(6) + 1 / 2 / log2(5)
            )
            / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)),
        },
        ties="item",
    ),
    # Four rows tie at positions 2 to 5; by label the relevant ones are 1 and 2: of FOUR_TIED, "10" and then "z".
    *under_ties(
        "four tied rows, one relevant",
        FOUR_TIED,
        **{
            ties: {
                "fitness(alpha=1)": (
                    1 / p_of_10  # q = 1
                    + 1 / (6 - 2 + 1)  # z, at the last position
                    # by label the others follow as they stand: a from 1 to 3, then the tied ones to 4, 5 and 6
                    + 1 / (3 - 1 + 1)
                    + sum(1 / (q - p + 1) for p, q in zip(sorted({2, 3, 4, 5} - {p_of_10}), (4, 5, 6), strict=True))
                )
                / 6
            }
            for ties, p_of_10 in (("best", 2), ("worst", 5), ("item", 4))
        },
        block={
            "fitness(alpha=1)": (1 / 5 + 1 / 5 + 1 / 3 + 1 / 2 + 1 / 1 + 1 / 2) / 6,  # all four at 5: q = 1, 4, 5, 6
            "fitness": (
                (1 / (5 / 2 + 5 / 2) + 1 / (2 / 2 + 5 / 2) + 1 / (1 / 2 + 5 / 2) + 1 / (2 / 2 + 5 / 2))
                + 1 / (3 / 2 + 1 / 2)  # a, at 1 and 3
                + 1 / (5 / 2 + 6 / 2)  # z, at 6 and 2
            )
            / (1 / 1 + 1 / 1.5 + 1 / 2 + 1 / 2.5 + 1 / 3 + 1 / 3.5),
        },
    ),
    # Beside metrics of the same rows that go by labels, not by items: of six items the first two places show two.
    *(
        one
        for ties, shown in (("best", 2), ("worst", 2), ("block", 1))
        for one in whole_day("four tied rows, one relevant", FOUR_TIED, {"coverage@2": (shown / 6, 0)}, ties=ties)
    ),
    *one_group("nothing is judged", ranking("u", None), {"fitness": None}, ties="item"),
    *one_group("the same order", ranking("u", 3, 2, 1), {"kendall_tau": 1, "kendall_distance": 0, "spearman": 1}),
    *one_group("reversed", ranking("u", -1, 0, 1), {"kendall_tau": -1, "kendall_distance": 1, "spearman": -1}),
    *one_group(
        "two judged rows of one label",
        UNJUDGED,
        {
            **dict.fromkeys(("kendall_tau", "kendall_tau(variant=c)", "spearman"), None),
            "kendall_distance": 0,
            "pair_auc": 3 / 4,  # a row without a label has label 0
        },
    ),
    *one_group("no pair", ranking("u", 1, None), dict.fromkeys(("kendall_tau", "kendall_distance", "spearman"), None)),
    many_groups("graded", GRADED_USERS, "pair_auc", PAIRS_OF_USERS, (2 / 3 + 1 / 3) / 2),
    many_groups("graded", GRADED_USERS, "pair_auc(weight=rows)", PAIRS_OF_USERS, (3 * 2 / 3 + 3 * 1 / 3) / (3 + 3)),
    many_groups(
        "graded",
        (*GRADED_USERS, *ranking("d", 1, 0)),
        "pair_auc(weight=pairs)",
        {**PAIRS_OF_USERS, "d": 1},
        (3 * 2 / 3 + 3 * 1 / 3 + 1 * 1) / (3 + 3 + 1),
    ),
)
