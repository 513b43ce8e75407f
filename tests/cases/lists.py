"""Properties of all lists together: coverage, Gini, novelty."""

from __future__ import annotations

from math import log2

from tests.cases.case import Case, Row, case_id, whole_day
from tests.cases.rows import NEVER_LISTED


def kept(share: float) -> float:
    """What is kept of the share of a row that counts for its item: 32 bits."""
    return round(share * 2**32) / 2**32


SECOND, THIRD = kept(1 / log2(3)), kept(1 / 3)  # discounts of position 2 by log2, and of 3 by zipf
NO_ITEM: tuple[Row, ...] = (("a", None, 0.9, 1.0), ("a", None, 0.5, 0.0))

# Lists x y z, x z, x, and none; w and v are in no list.
SHOWN = (
    ("a", "x", 3.0, 1.0),
    ("a", "y", 2.0, 0.0),
    ("a", "z", 1.0, 1.0),
    ("b", "x", 2.0, 0.0),
    ("b", "z", 1.0, 1.0),
    ("c", "x", 1.0, None),
    ("c", "w", None, 3.0),
    ("d", "v", None, 0.0),
)
TWO_TIED = (("a", "x", 1.0, 1.0), ("a", "y", 1.0, 0.0), ("b", "x", 1.0, 1.0))

LISTS = (
    # In the first two stand x of a, b, c, y of a, z of b: exposures 0, 0, 1, 1, 3 of v, w, y, z, x.
    *whole_day(
        "five items, four of them in lists",
        SHOWN,
        {
            "gini@2": ((0 * 1 + 2 * 1 + 4 * 3) / (5 * 5), 0),
            "gini(items=6)@2": ((1 * 1 + 3 * 1 + 5 * 3) / (6 * 5), 0),
            "gini(items=2)@2": ((0 * 1 + 2 * 1 + 4 * 3) / (5 * 5), 0),  # there are more than 2
            # exposures 0, 0, 1, 2, 3
            "gini": ((0 * 1 + 2 * 2 + 4 * 3) / (5 * 6), 0),
            "coverage": (3 / 5, 0),
            "coverage(items=10)": (3 / 10, 0),
            "coverage(by=count)": (3, 0),
            # relevant in 1, 0, 2 of 4 groups: x, y (counted as 1), z
            "novelty@2": ((3 * log2(4 / 1) + log2(4 / 1) + log2(4 / 2)) / 5, 0),
            "novelty": ((3 * log2(4 / 1) + log2(4 / 1) + 2 * log2(4 / 2)) / 6, 0),
            "novelty(rel=2)@1": (3 * log2(4 / 1) / 3, 0),
            # a shows x, y and z at 1, 2 and 3, b x and z at 1 and 2, c x at 1: at its discounts y has 1/2, z 1/2 + 1/3
            "gini(discount=none)": ((0 * 1 + 2 * 2 + 4 * 3) / (5 * 6), 0),
            "gini(discount=zipf)": ((0 * 1 / 2 + 2 * (1 / 2 + THIRD) + 4 * 3) / (5 * (1 / 2 + 1 / 2 + THIRD + 3)), 0),
            "gini(discount=log2)@2": ((0 * SECOND + 2 * SECOND + 4 * 3) / (5 * (2 * SECOND + 3)), 0),
            "gini(discount=[4,1],items=6)@3": ((1 * 1 / 4 + 3 * 1 / 4 + 5 * 3) / (6 * (1 / 4 + 1 / 4 + 3)), 0),
            "entropy@2": (3 / 5 * log2(5 / 3) + 2 * 1 / 5 * log2(5), 0),
            "entropy": (1 / 6 * log2(6) + 2 / 6 * log2(6 / 2) + 3 / 6 * log2(6 / 3), 0),
            "entropy(scale=bits)@1": (0, 0),
            "entropy(scale=unit)@2": ((3 / 5 * log2(5 / 3) + 2 * 1 / 5 * log2(5)) / log2(5), 0),
            "entropy(scale=unit,items=8)@2": ((3 / 5 * log2(5 / 3) + 2 * 1 / 5 * log2(5)) / 3, 0),
            # of four lists, the last empty: x is in three, z in two; of any of six rows and another list
            "personalization": (1 - (3 * 2 + 2 * 1) / (3 * 6), 0),
        },
    ),
    *(
        Case(case_id("five items", metric, {"ties": "item"}), SHOWN, metric, None, value, ties="item")
        for metric, value in (
            ("personalization@2", 1 - 3 * 2 / (2 * 4 * 3)),  # of any two of them, the places are two
            ("personalization@3", 1 - (3 * 2 + 2 * 1) / (3 * 4 * 3)),
        )
    ),
    *whole_day(
        "discounts of tied rows",  # y and z share positions 2 and 3, of which k leaves the former
        (("a", "x", 2.0, 1.0), ("a", "y", 1.0, 0.0), ("a", "z", 1.0, 0.0)),
        {
            "gini(discount=zipf)": (2 * (1 - kept((1 / 2 + 1 / 3) / 2)) / (3 * (1 + 2 * kept((1 / 2 + 1 / 3) / 2))), 0),
            "gini(discount=zipf)@2": (2 * (1 - 1 / 2 / 2) / (3 * (1 + 1 / 2)), 0),
        },
    ),
    *(
        Case(case_id("five items", metric, {"ties": "item"}), SHOWN, metric, None, value, ties="item")
        for metric, value in (("coverage@1", 1 / 5), ("coverage@2", 3 / 5), ("coverage(items=10)@2", 3 / 10))
    ),
    # x was shown to a twice and clicked twice: it is relevant in one of two groups, and y in none, counted as one
    *whole_day(
        "an item twice in a group",
        (("a", "x", 3.0, 1.0), ("a", "x", 2.0, 1.0), ("a", "y", 1.0, 0.0), ("b", "x", 1.0, 0.0)),
        {"novelty": ((3 * log2(2 / 1) + log2(2 / 1)) / 4, 0), "gini": ((-1 * 1 + 1 * 3) / (2 * 4), 0)},
    ),
    # x stands first in a with probability 1/2: exposures 1/2 and 3/2
    *whole_day(
        "a tie block that k cuts",
        TWO_TIED,
        {"gini@1": ((-1 * 1 / 2 + 1 * 3 / 2) / (2 * 2), 0), "novelty@1": ((3 / 2 * 0 + 1 / 2 * 1) / 2, 0)},
    ),
    *whole_day(
        "a tie block below the cut-off",
        (("a", "x", 2.0, 1.0), ("a", "y", 1.0, 0.0), ("a", "z", 1.0, 0.0)),
        {"gini@1": (2 * 1 / (3 * 1), 0), "novelty@1": (0, 0)},
    ),
    # b's x alone
    Case(case_id("one step", "gini@1", {"ties": "block"}), TWO_TIED, "gini@1", None, 1 / 2, ties="block"),
    *whole_day("no row has an item", NO_ITEM, dict.fromkeys(("gini", "novelty", "coverage", "entropy"), (None, 0))),
    *whole_day("nothing is listed", NEVER_LISTED, {"gini@3": (None, 0), "novelty": (None, 0), "coverage": (0, 0)}),
    # a group has no other to be compared with; of one item there is no entropy to reach
    *whole_day(
        "one list of one item",
        (("a", "x", 1.0, 1.0),),
        {"personalization": (None, 0), "entropy(scale=unit)": (None, 0), "entropy": (0, 0)},
    ),
    # a shows x twice: the lists [x, x] and [x, y] share x, one of two places, and the log says so once
    Case(
        "an item twice in a list, personalization@2",
        (("a", "x", 2.0, 0.0), ("a", "x", 1.0, 0.0), ("b", "x", 2.0, 0.0), ("b", "y", 1.0, 0.0)),
        "personalization@2",
        None,
        1 - 2 * 1 / (2 * 2 * 1),
        ties="item",
    ),
)
