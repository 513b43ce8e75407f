"""Rows that cases of several subjects use."""

from __future__ import annotations

from tests.cases.case import ranking

GOOD_BAD = ranking("u", 1, 0, 1, 0, 1)

GRADED = ranking("u", 3, 2, 1, 0, 1)
NEGATIVE = ranking("u", -2, 2, -1, 1)
UNJUDGED = ranking("u", 1, None, 1, None)

NEVER_LISTED = ranking("u", unlisted=(1, 2))

# One row, then four of equal score of which "10" alone is relevant, then the second relevant row.
# As text descending the four stand 9, 2, 10, 1.
FOUR_TIED = (
    ("u", "a", 3.0, 0.0),
    ("u", "1", 2.0, 0.0),
    ("u", "10", 2.0, 1.0),
    ("u", "2", 2.0, 0.0),
    ("u", "9", 2.0, 0.0),
    ("u", "z", 1.0, 1.0),
)

# 5 clicked, 4 not: 4 + 4 + 3 + 3 + 2 of the 20 pairs stand in order. Two users, for a day knows no groups; the row
# without a score stands in no pair.
CLICKS = tuple(
    (group, f"i{place}", score, float(label))
    for place, (group, score, label) in enumerate(
        [
            *(("v", None, 1), ("u", 0.86, 1), ("v", 0.81, 1), ("u", 0.73, 0), ("v", 0.66, 1)),
            *(("u", 0.52, 1), ("v", 0.43, 0), ("u", 0.36, 1), ("v", 0.31, 0), ("u", 0.26, 0)),
        ]
    )
)
LOGITS_TIED = (("u", "a", 2.5, 1.0), ("u", "b", 0.0, 1.0), ("u", "c", -0.0, 0.0), ("u", "d", -7.0, 0.0))
