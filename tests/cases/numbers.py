"""Predicted numbers, such as ratings, beside the numbers that came out."""

from __future__ import annotations

from math import sqrt

from tests.cases.case import many_groups, whole_day

RATINGS = (
    ("u", "a", 3.5, 4.0),
    ("u", "b", 2.0, 1.0),
    ("v", "c", -1.0, -3.0),
    ("v", "d", 5.0, None),
    ("v", "e", None, 2.0),
)
SQUARES = 0.5**2 + 1**2 + 2**2
NAMES = ("rmse", "mse", "mae", "bias", "r2")

PREDICTED_NUMBERS = (
    *whole_day(
        "three ratings, one below 0, and two rows that lack a score or a label",
        RATINGS,
        {
            "rmse": (sqrt(SQUARES / 3), 0),
            "mse": (SQUARES / 3, 0),
            "mae": ((0.5 + 1 + 2) / 3, 0),
            "bias": ((-0.5 + 1 + 2) / 3, 0),
            # labels 4, 1 and -3 with the mean 2/3
            "r2": (1 - SQUARES / ((10 / 3) ** 2 + (1 / 3) ** 2 + (11 / 3) ** 2), 0),
        },
    ),
    *whole_day("no row with a score and a label", RATINGS[3:], dict.fromkeys(NAMES, (None, 0))),
    *whole_day("a score that is too far", ((*RATINGS[0][:2], 5e9, 4.0), *RATINGS[1:]), dict.fromkeys(NAMES, (None, 0))),
    *whole_day("labels that are all the same", tuple((*row[:3], 0.1) for row in RATINGS[:2]), {"r2": (None, 0)}),
)

# u has the errors 1/2 and 1, v has 2 and 1, and w has no row with both numbers.
RATINGS_OF_USERS = (*RATINGS[:3], ("v", "d", 5.0, 4.0), ("v", "e", None, 2.0), ("w", "a", 1.0, None))
TOO_FAR = (*RATINGS[:2], ("v", "c", 5e9, 1.0))
ROOTS = {"u": sqrt((0.5**2 + 1**2) / 2), "v": sqrt((2**2 + 1**2) / 2), "w": None}
MEANS_OF_ERRORS = {"u": (0.5 + 1) / 2, "v": (2 + 1) / 2, "w": None}
UNEVEN = (*RATINGS[:2], ("v", "c", -1.0, -3.0), ("v", "d", 5.0, None))  # of v one row counts, of u two

PREDICTED_IN_GROUPS = (
    many_groups("ratings", RATINGS_OF_USERS, "group_rmse", ROOTS, (ROOTS["u"] + ROOTS["v"]) / 2),
    many_groups("ratings", RATINGS_OF_USERS, "group_mae", MEANS_OF_ERRORS, (0.75 + 1.5) / 2),
    many_groups(
        "ratings", UNEVEN, "group_rmse(weight=rows)", {"u": ROOTS["u"], "v": 2}, (2 * sqrt(1.25 / 2) + 1 * 2) / 3
    ),
    many_groups("ratings", UNEVEN, "group_mae(weight=rows)", {"u": 0.75, "v": 2}, (2 * 0.75 + 1 * 2) / 3),
    many_groups("a score of one user that is too far", TOO_FAR, "group_rmse", {"u": ROOTS["u"], "v": None}, ROOTS["u"]),
    many_groups("a score of one user that is too far", TOO_FAR, "group_mae", {"u": 0.75, "v": None}, 0.75),
)
