"""What is shown: the value columns are the labels, of which None is no value, and the items, which are texts."""

from __future__ import annotations

from math import log2

from tests.cases.case import Row, many_groups, one_group, ranking, under_ties

SHOWN = ranking("u", 4, None, 2, 9)
# y and z share the second place; one of them has no value
TIED: tuple[Row, ...] = (("u", "x", 3.0, 6.0), ("u", "y", 2.0, 3.0), ("u", "z", 2.0, None), ("u", "w", 1.0, 1.0))
# three rows of one score, one with a value
LEADING: tuple[Row, ...] = (("u", "x", 1.0, 6.0), ("u", "y", 1.0, None), ("u", "z", 1.0, None), ("u", "w", 0.0, 2.0))

VALUES = (
    *one_group(
        "a row without a value",
        SHOWN,
        {
            "shown(of=label)": (4 + 2 + 9) / 3,
            "shown(of=label)@3": (4 + 2) / 2,
            "shown(of=label,by=sum)@3": 4 + 2,
            "shown(of=label,discount=log2)@3": (4 / log2(2) + 2 / log2(4)) / (1 / log2(2) + 1 / log2(4)),
            "shown(of=label,discount=zipf)@3": (4 / 1 + 2 / 3) / (1 / 1 + 1 / 3),
            "shown(of=label,by=sum,discount=[1,0.5])": 4 * 1,  # the third position counts 0
            "shown(of=item,is=i0)@2": 1 / 2,
            "shown(of=item,is=i3,by=sum)@2": 0,
        },
        ties="item",
    ),
    # with y at k the mean is (6 + 3) / 2, with z it is 6
    *under_ties(
        "k between tied rows, of which one has no value",
        TIED,
        expected={
            "shown(of=label)@2": (9 / 2 + 6) / 2,
            "shown(of=label,by=sum)@2": (9 + 6) / 2,
            "shown(of=label,by=sum,discount=log2)": 6 + 3 * (1 / log2(3) + 1 / log2(4)) / 2 + 1 / log2(5),
            "shown(of=label)": 10 / 3,
        },
        item={"shown(of=label)@2": 6},
        worst={"shown(of=label)@2": 9 / 2},
        best={"shown(of=label)@2": 9 / 2},
        block={"shown(of=label)@2": 6, "shown(of=label)@3": 9 / 2},
    ),
    # of the orders of three rows the one that shows x alone has a value at k = 1; at k = 2 two of three do
    *one_group(
        "orders that show no value",
        LEADING,
        {"shown(of=label)@1": 6, "shown(of=label)@2": 6, "shown(of=label,by=sum)@2": 6},
    ),
    many_groups(
        "a list that shows no value",
        (*ranking("u", 3, 1), *ranking("v", None, 5), *ranking("w", unlisted=(1,))),
        "shown(of=label)@1",
        {"u": 3, "v": None, "w": None},
        3,
    ),
)
