"""Properties of all lists together: coverage, Gini, novelty."""

from __future__ import annotations

from math import log2

from tests.cases.case import Case, Row, case_id, whole_day
from tests.cases.rows import NEVER_LISTED

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
            # relevant in 1, 0, 2 of 4 groups: x, y (counted as 1), z
            "novelty@2": ((3 * log2(4 / 1) + log2(4 / 1) + log2(4 / 2)) / 5, 0),
            "novelty": ((3 * log2(4 / 1) + log2(4 / 1) + 2 * log2(4 / 2)) / 6, 0),
            "novelty(rel=2)@1": (3 * log2(4 / 1) / 3, 0),
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
    *whole_day("no row has an item", NO_ITEM, {"gini": (None, 0), "novelty": (None, 0), "coverage": (None, 0)}),
    *whole_day("nothing is listed", NEVER_LISTED, {"gini@3": (None, 0), "novelty": (None, 0), "coverage": (0, 0)}),
)
