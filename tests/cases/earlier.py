"""What groups had before: in every case, a group had the items of its rows with a label above 0."""

from __future__ import annotations

from tests.cases.case import many_groups, under_ties

# The list of a is x y z, of which it had x before; b has y alone; c, which had x, has no list.
HAD = (
    *(("a", "x", 3.0, 1.0), ("a", "y", 2.0, 0.0), ("a", "z", 1.0, None)),
    ("b", "y", 1.0, 0.0),
    ("c", "x", None, 1.0),
)
TIED = (("u", "x", 1.0, 1.0), ("u", "y", 1.0, None), ("u", "z", 0.5, 1.0))

EARLIER = (
    many_groups("what groups had", HAD, "new@2", {"a": 1 / 2, "b": 1 / 2, "c": 0.0}, (1 / 2 + 1 / 2 + 0) / 3),
    many_groups("what groups had", HAD, "new(over=retrieved)@2", {"a": 1 / 2, "b": 1.0, "c": None}, (1 / 2 + 1) / 2),
    many_groups("what groups had", HAD, "new", {"a": 2 / 3, "b": 1.0, "c": None}, (2 / 3 + 1) / 2),
    *under_ties(
        "a tie that k cuts",
        TIED,
        expected={"new@1": 1 / 2, "new@2": 1 / 2, "new@3": 1 / 3},
        item={"new@1": 1.0},  # y stands before x
        best={"new@1": 0.0},  # x, which is relevant, stands before y
        block={"new@1": 0.0, "new@2": 1 / 2},  # both rows stand second
    ),
)
