"""Who is shown: the values are the labels, of which None is no value, or what a catalog says of the items."""

from __future__ import annotations

from math import log2

from tests.cases.case import Row, many_groups, one_group, ranking, under_ties, whole_day

# The catalog: of the items with a kind, two of five are a, one is b, and two are c.
KINDS: dict[str, str | None] = {"i0": "a", "i1": "b", "i2": "a", "i3": None, "i8": "c", "i9": "c"}
# The rows that the interactions have of items with a kind: of eight one is a, three are b, and four are c.
HAD: dict[str, int] = {"i0": 1, "i1": 3, "i2": 0, "i3": 5, "i8": 4, "i9": 0}
# Of the relevant rows half are 2, a quarter is 4 and a quarter 3, which is not listed. The second row has no value.
SHOWN = ranking("u", 2, None, 4, 2, unlisted=(3,))
TIED: tuple[Row, ...] = (("u", "x", 3.0, 1.0), ("u", "y", 2.0, 2.0), ("u", "z", 2.0, 1.0))

FAIRNESS = (
    # in the first three rows 2 has 1 of 1 + 1/2
    *one_group(
        "values that are due a half and a quarter each",
        SHOWN,
        {
            "awrf(by=label)@3": 1 - (abs(2 / 3 - 1 / 2) + abs(1 / 3 - 1 / 4) + 1 / 4) / 2,
            # the mean of the shares is 7/12, 7/24 and 1/8
            "awrf(by=label,distance=js)@3": 1
            - (
                2 / 3 * log2((2 / 3) / (7 / 12))
                + 1 / 3 * log2((1 / 3) / (7 / 24))
                + 1 / 2 * log2((1 / 2) / (7 / 12))
                + 1 / 4 * log2((1 / 4) / (7 / 24))
                + 1 / 4 * log2((1 / 4) / (1 / 8))
            )
            / 2,
            # 4 and 3 are due a half each, and 4 alone has some of it
            "awrf(by=label,rel=3)@3": 1 / 3,
            "awrf(by=label,rel=3)": 1 / 2 / (1 + 1 / 2 + 1 / log2(5)),
            "awrf(by=label,rel=3,discount=zipf)@3": (1 / 3) / (1 + 1 / 3),
            "awrf(by=label,rel=3,discount=[1,0.5,0.25])@3": 0.25 / (1 + 0.25),
            # the second kind has more than its fifth, the first more than its two fifths, the third nothing
            "awrf(by=catalog.kind,against=catalog)@2": 2 / 5 + 1 / 5,
            # a has more than its eighth, b more than its three eighths
            "awrf(by=catalog.kind,against=interactions)@2": 1 / 8 + 3 / 8,
            # i0 is relevant, and so are i2, i3 without a kind, and what the catalog lacks
            "awrf(by=catalog.kind)@2": 1 / (1 + 1 / log2(3)),
        },
        ties="item",
    ),
    *under_ties(
        "k between tied values",
        TIED,
        item={"awrf(by=label)@2": 2 / 3},
        worst={"awrf(by=label)@2": 2 / 3},
        best={"awrf(by=label)@2": 1 / (1 + 1 / log2(3)) + 1 / 3},
        block={"awrf(by=label)@2": 2 / 3, "awrf(by=label)@3": 2 / 3 + 1 / 4},
    ),
    many_groups(
        "lists without a value, without a target and with both",
        (*ranking("u", 3, 1), *ranking("v", None, 5), *ranking("w", 0, -1), *ranking("x", unlisted=(1,))),
        "awrf(by=label)@1",
        {"u": 1 / 2, "v": None, "w": None, "x": None},
        1 / 2,
        ties="item",
    ),
    # the second position counts 0, and the first has no value
    many_groups("no attention", ranking("u", None, 5), "awrf(by=label,discount=[1])", {"u": None}, None, ties="item"),
)

# Two lists. In the first 3 stands first and 1 third, in the second 1 stands alone: of the relevant rows a third is 3.
LISTS_OF_TWO = (*ranking("u", 3, None, 1), *ranking("v", 1))
CUT: tuple[Row, ...] = (("u", "x", 1.0, 1.0), ("u", "y", 1.0, 0.0), ("v", "x", 1.0, 0.0))

GAPS = (
    *whole_day(
        "a value that is due a third",
        LISTS_OF_TWO,
        {
            # 1 of 1 + (1/2 + 1)
            "exposure_gap(by=label)": (2 / 5 - 1 / 3, 0.0),
            "exposure_gap(by=label)@1": (1 / 2 - 1 / 3, 0.0),
            # the mean of the shares is 5/12 and 7/12
            "exposure_gap(by=label,distance=js)@1": (
                (
                    1 / 2 * log2((1 / 2) / (5 / 12))
                    + 1 / 2 * log2((1 / 2) / (7 / 12))
                    + 1 / 3 * log2((1 / 3) / (5 / 12))
                    + 2 / 3 * log2((2 / 3) / (7 / 12))
                )
                / 2,
                0.0,
            ),
            "exposure_gap(by=label,rel=2)": (1 - 2 / 5, 0.0),
            "exposure_gap(by=label,discount=[1,0.5,0.25])": (1 / (1 + 1 / 4 + 1) - 1 / 3, 0.0),
            # a is shown twice, for 2/5 of the catalog; b is due a fifth and c two fifths
            "exposure_gap(by=catalog.kind,against=catalog)@1": (1 - 2 / 5, 0.0),
            "exposure_gap(by=catalog.kind,against=interactions)@1": (1 - 1 / 8, 0.0),
        },
        ties="item",
    ),
    *whole_day(
        "half as much further down",
        ranking("u", 3, 1),
        {"exposure_gap(by=label,discount=zipf)": (2 / 3 - 1 / 2, 0.0)},
        ties="item",
    ),
    # x is due all; of the first list it has the half of a place, and the whole of the other
    *whole_day("k between tied rows", CUT, {"exposure_gap(by=item)@1": (1 - (1 / 2 + 1) / 2, 0.0)}),
    *whole_day("nothing is due", ranking("u", 0, -1), {"exposure_gap(by=item)@1": (None, 0.0)}),
    *whole_day(
        "nothing is shown",
        (*ranking("u", None, 2), *ranking("v", unlisted=(1,))),
        {"exposure_gap(by=label)@1": (None, 0.0)},
        ties="item",
    ),
)
