"""What differs within a list: the categories are the labels, of which None is no value."""

from __future__ import annotations

from math import log2, sqrt

from tests.cases.case import Row, many_groups, one_group, ranking, under_ties

MIXED = ranking("u", 4, None, 2, 4, 9)
# y, z and w share three places, of which k = 2 leaves one and k = 3 two; w has no value
CUT: tuple[Row, ...] = (
    ("u", "x", 3.0, 6.0),
    ("u", "y", 2.0, 6.0),
    ("u", "z", 2.0, 1.0),
    ("u", "w", 2.0, None),
)
# all rows are tied; two of three have the same value
LEADING: tuple[Row, ...] = (("u", "x", 1.0, 6.0), ("u", "y", 1.0, 6.0), ("u", "z", 1.0, 3.0))

DIVERSITY = (
    *one_group(
        "a value twice, and a row without one",
        MIXED,
        {
            "distinct(by=label)@4": 2 / 4,  # 4 and 2
            "distinct(by=label)@9": 3 / 9,
            "distinct(by=label)": 3 / 5,
            "distinct(by=label,over=retrieved)@9": 3 / 5,
            "distinct(by=catalog.label,over=catalog)@3": 2 / 3,  # the catalog has 2, 4 and 9
            "category_entropy(by=label)@4": -(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3)),
            "category_entropy(by=label)": -(2 / 4 * log2(2 / 4) + 2 * 1 / 4 * log2(1 / 4)),
            "category_entropy(by=label)@2": 0,
            "ild(by=label)@4": 2 / 3,  # of the pairs (4,2), (4,4) and (2,4) two differ
            "ild(by=label)": 5 / 6,
            "ild(by=[label,item])@4": (2 + 3) / 3,
            "ild(by=[label,item],scale=mean)@4": (2 + 3) / 6,
            "ild(by=label)@2": None,
            "ild(by=label,single=zero)@2": 0,
        },
        ties="item",
    ),
    # at k = 2 of x with y, z or w the last is no pair; at k = 3 the pairs are xyz, xy and xz: 2/3, 0 and 1
    *under_ties(
        "k between tied rows, of which one has no value",
        CUT,
        expected={
            "ild(by=label)@2": (0 + 1) / 2,
            "ild(by=label,single=zero)@2": (0 + 1 + 0) / 3,
            "ild(by=label)@3": (2 / 3 + 0 + 1) / 3,
            "ild(by=label)": 2 / 3,
            "ild(by=label)@1": None,
            "category_entropy(by=label)": -(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3)),
            "distinct(by=label)": 2 / 4,
        },
        item={"ild(by=label)@2": 1, "ild(by=label)@3": 2 / 3, "distinct(by=label)@3": 2 / 3},
        best={"ild(by=label)@2": 0, "distinct(by=label)@2": 1 / 2},
        worst={"ild(by=label)@3": 1, "category_entropy(by=label)@3": 1},
        block={"ild(by=label)@3": None, "ild(by=label)@4": 2 / 3, "distinct(by=label)@3": 1 / 3},
    ),
    *one_group(
        "arrays of texts: a+b and a have one of two texts in common",
        (("u", "a+b", 3.0, 1.0), ("u", "a", 2.0, 1.0), ("u", "c", 1.0, 1.0)),
        {"ild(by=item,distance=jaccard)": (1 / 2 + 1 + 1) / 3, "ild(by=item,distance=jaccard)@2": 1 / 2},
        ties="item",
    ),
    *one_group(
        "arrays of numbers: the third is between the first two, which are at right angles",
        (("u", "1+0", 3.0, 1.0), ("u", "0+2", 2.0, 1.0), ("u", "3+3", 1.0, 1.0), ("u", "-1+0", 0.0, 1.0)),
        {
            "ild(by=item,distance=cosine)@3": (1 + 2 * (1 - 1 / sqrt(2))) / 3,
            "ild(by=item,distance=cosine)@2": 1,
            "ild(by=item,distance=cosine)": (1 + 2 * (1 - 1 / sqrt(2)) + 2 + 1 + 1 + 1 / sqrt(2)) / 6,
        },
        ties="item",
    ),
    *one_group("k within a list of ties", LEADING, {"ild(by=label)@2": 2 / 3, "ild(by=label)@1": None}),
    many_groups(
        "lists of one value, and of none",
        (*ranking("u", 3, 1), *ranking("v", None, 5), *ranking("w", unlisted=(1,))),
        "ild(by=label)@2",
        {"u": 1, "v": None, "w": None},
        1,
    ),
    many_groups(
        "a list without a value",
        (*ranking("u", 3, 1), *ranking("v", None, 5), *ranking("w", unlisted=(1,))),
        "category_entropy(by=label)@1",
        {"u": 0, "v": None, "w": None},
        0,
        ties="item",
    ),
)
