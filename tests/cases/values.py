"""Values of rows: those shown are labels, of which None is none, or items, and those gained are reference ranks."""

from __future__ import annotations

from math import log2

from tests.cases.case import Row, many_groups, one_group, ranking, under_ties

SHOWN = ranking("u", 4, None, 2, 9)
# y and z share the second place; one of them has no value
TIED: tuple[Row, ...] = (("u", "x", 3.0, 6.0), ("u", "y", 2.0, 3.0), ("u", "z", 2.0, None), ("u", "w", 1.0, 1.0))
# three rows of one score, one with a value
LEADING: tuple[Row, ...] = (("u", "x", 1.0, 6.0), ("u", "y", 1.0, None), ("u", "z", 1.0, None), ("u", "w", 0.0, 2.0))
# The last of each row is its price: w is not relevant, z has none, and v is in no list.
PRICED: tuple[Row, ...] = (
    ("u", "w", 5.0, 0.0, 50.0),
    ("u", "x", 4.0, 1.0, 2.0),
    ("u", "y", 3.0, 2.0, 0.5),
    ("u", "z", 2.0, 1.0, None),
    ("u", "v", None, 1.0, 8.0),
)
# x, y and z share the second place: their gains are 4, 0 and 1
TIED_PRICES: tuple[Row, ...] = (
    ("u", "w", 2.0, 1.0, 3.0),
    ("u", "x", 1.0, 1.0, 4.0),
    ("u", "y", 1.0, 0.0, 9.0),
    ("u", "z", 1.0, 2.0, 1.0),
)
BEST_PRICES = 8 / log2(2) + 2 / log2(3) + 0.5 / log2(4)
PRICE = "gain=reference_rank"

GAINED = (
    *one_group(
        "a relevant row without a price, and one in no list",
        PRICED,
        {
            f"cg({PRICE})": 2 + 0.5,
            f"cg({PRICE})@2": 2,
            f"dcg({PRICE})@3": 2 / log2(3) + 0.5 / log2(4),
            f"dcg({PRICE},discount=zipf)": 2 / 2 + 0.5 / 3,
            f"ndcg({PRICE})": (2 / log2(3) + 0.5 / log2(4)) / BEST_PRICES,
            f"ndcg({PRICE})@2": (2 / log2(3)) / (8 / log2(2) + 2 / log2(3)),
            f"ndcg({PRICE},ideal=retrieved)@3": (2 / log2(3) + 0.5 / log2(4)) / (2 / log2(2) + 0.5 / log2(3)),
        },
    ),
    *under_ties(
        "tied rows of several prices",
        TIED_PRICES,
        expected={
            f"cg({PRICE})@2": 3 + 5 / 3,
            f"ndcg({PRICE})@3": (3 + 5 / 3 * (1 / log2(3) + 1 / 2)) / (4 + 3 / log2(3) + 1 / 2),
        },
        item={f"cg({PRICE})@2": 3 + 1, f"cg({PRICE})@3": 3 + 1},
        # the row that is not relevant comes first or last, and of the others the lower price, whatever the labels
        worst={f"cg({PRICE})@2": 3, f"cg({PRICE})@3": 3 + 1},
        best={f"cg({PRICE})@2": 3 + 4, f"cg({PRICE})@3": 3 + 4 + 1},
        block={f"cg({PRICE})@3": 3, f"cg({PRICE})@4": 3 + 5},
    ),
    *one_group(
        "gains that are listed",
        (*ranking("u", 3, 1, 0, 2, unlisted=(3,)),),
        {
            "cg(gain=[0,1,3,7])@2": 7 + 1,
            "dcg(gain=[0,0,3,2])": 2 / log2(2) + 3 / log2(5),  # a gain need not grow with the label
            "ndcg(gain=[0,1,3,7])@2": (7 + 1 / log2(3)) / (7 + 7 / log2(3)),
            "ndcg(gain=[0,1,3,7],ideal=[2,1])@2": (7 + 1 / log2(3)) / (3 + 1 / log2(3)),
            "ndcg(gain=[0,0,3,2])": (2 + 3 / log2(5)) / (3 + 2 / log2(3) + 2 / log2(4)),
        },
    ),
    many_groups(
        "an ideal list whose prices are 0 or none",
        (("u", "x", 1.0, 1.0, 0.0), ("v", "x", 1.0, 1.0, None), ("w", "x", 2.0, 0.0, 1.0), ("w", "y", 1.0, 1.0, 3.0)),
        f"ndcg({PRICE})@2",
        {"u": None, "v": None, "w": 1 / log2(3)},
        1 / log2(3),
    ),
)

VALUES = (
    *GAINED,
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
