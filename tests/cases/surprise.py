"""What items had before: in every case, a group had the items of its rows with a label above 0, once for each row."""

from __future__ import annotations

from math import log2

from tests.cases.case import Case, many_groups, ranking

# Three groups had items: x all of them, and w twice; y one. Nobody had z. So x has 4 of 5 rows, and y 1.
HAD = (
    *(("u", "x", 3.0, 1.0), ("u", "y", 2.0, 0.0), ("u", "z", 1.0, None)),
    *(("v", "y", 2.0, 1.0), ("v", "x", 1.0, 1.0)),
    *(("w", "x", None, 1.0), ("w", "x", None, 1.0)),
)
BITS = log2(3 / 1)
# Of two groups that had items, both had x and z: y, which nobody had, shares the first place with x.
TIED = (
    *(("u", "x", 1.0, 1.0), ("u", "y", 1.0, None), ("u", "z", 0.5, 1.0)),
    *(("v", "x", None, 1.0), ("v", "z", None, 1.0)),
)
# By rows a is the first of four items, c the second, and b and d share the third rank.
RANKED = (
    *(("u", "b", 4.0, 2.0), ("u", "d", 3.0, 1.0), ("u", "c", 2.0, 1.0), ("u", "a", 1.0, 0.0)),
    *(("v", "a", None, 1.0), ("v", "c", None, 1.0), ("w", "a", None, 1.0), ("t", "a", None, 1.0)),
)
RANKED_TIED = (
    *(("u", "b", 4.0, 2.0), ("u", "a", 4.0, 0.0), ("u", "d", 3.0, 1.0), ("u", "c", None, 1.0)),
    *(("v", "a", None, 1.0), ("v", "c", None, 1.0), ("w", "a", None, 1.0), ("t", "a", None, 1.0)),
)
UNLISTED = {"v": 0.0, "w": 0.0, "t": 0.0}


def _novelty(metric: str, u: float, v: float, mean: float) -> Case:
    return many_groups("popularity before", HAD, metric, {"u": u, "v": v, "w": None}, mean)


def _serendipity(metric: str, u: float) -> Case:
    return many_groups("rank before", RANKED, metric, {"u": u, **UNLISTED}, u / 4)


SURPRISE = (
    _novelty("novelty(of=users)@1", 0, BITS, (0 + BITS) / 2),
    _novelty("novelty(of=users)", 2 * BITS / 3, BITS / 2, (2 * BITS + BITS) / (3 + 2)),
    _novelty("novelty(of=users,over=lists)", 2 * BITS / 3, BITS / 2, (2 * BITS / 3 + BITS / 2) / 2),
    _novelty("novelty(of=rows,over=lists)@1", log2(5 / 4), log2(5 / 1), (log2(5 / 4) + log2(5 / 1)) / 2),
    _novelty("novelty(of=users,over=k)@2", BITS / 2, BITS / 2, BITS / 2),
    _novelty("novelty(of=users,over=k,scale=unit)@4", 2 / 4, 1 / 4, (2 / 4 + 1 / 4) / 2),
    _novelty("novelty(of=users,scale=unit)", 2 / 3, 1 / 2, (2 + 1) / (3 + 2)),
    many_groups("nobody had anything", ranking("u", 0, 0), "novelty(of=users)@1", {"u": None}, None),
    many_groups("one group had all", ranking("u", 1, 0), "novelty(of=users)@1", {"u": 0.0}, 0.0),
    many_groups("one group had all", ranking("u", 1, 0), "novelty(of=users,scale=unit)@1", {"u": None}, None),
    *(
        many_groups("a tie that k cuts", TIED, f"novelty(of=users,over=lists)@{k}", {"u": u, "v": None}, u, ties=ties)
        for ties, k, u in (
            ("expected", 1, (0 + 1) / 2),
            ("item", 1, 1.0),  # y stands before x
            ("best", 1, 0.0),  # x, which is relevant, stands before y
            ("block", 1, None),  # both rows stand second
            ("block", 2, (0 + 1) / 2),
        )
    ),
    # b is two positions above its rank, d one, and c, the third, below its own
    _serendipity("serendipity(of=rows)@1", 2 / 4 / 1),
    _serendipity("serendipity(of=rows)@2", (2 + 1) / 4 / 2),
    _serendipity("serendipity(of=rows)@6", (2 + 1) / 4 / 6),
    _serendipity("serendipity(of=rows,over=retrieved)@6", (2 + 1) / 4 / 4),
    _serendipity("serendipity(of=rows)", (2 + 1) / 4 / 4),
    _serendipity("serendipity(of=rows,rel=2)@2", 2 / 4 / 2),
    many_groups("there is no item", ranking("u", 0, 0), "serendipity(of=rows)@1", {"u": None}, None),
    *(
        many_groups("a tie", RANKED_TIED, f"serendipity(of=rows)@{k}", {"u": u / 4, **UNLISTED}, u / 4 / 4, ties=ties)
        for ties, k, u in (
            ("expected", 1, (2 + 0) / 2),
            ("expected", 2, (2 + 1) / 2 / 2),
            ("item", 1, 2),
            ("worst", 2, 1 / 2),
            ("block", 1, 0),
            ("block", 2, 1 / 2),
        )
    ),
)
