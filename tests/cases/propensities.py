"""Hits weighed by propensity, which is the last number of a row: v = 2 of x, 4 of y, and 10 of v, which no list has."""

from __future__ import annotations

from math import log2

from tests.cases.case import Row, many_groups, one_group, under_ties

# The propensities of w and z, which are not relevant, are not read. The label of y is 2.
WEIGHED: tuple[Row, ...] = (
    ("u", "w", 5.0, 0.0, None),
    ("u", "x", 4.0, 1.0, 0.5),
    ("u", "y", 3.0, 2.0, 0.25),
    ("u", "z", 2.0, 0.0, 0.0),
    ("u", "v", None, 1.0, 0.1),
)
# x, y and z share the second place: two are relevant, with v = 2 and 8
TIED: tuple[Row, ...] = (
    ("u", "w", 2.0, 1.0, 1.0),
    ("u", "x", 1.0, 1.0, 0.5),
    ("u", "y", 1.0, 0.0, None),
    ("u", "z", 1.0, 1.0, 0.125),
)
TWO: tuple[Row, ...] = (("a", "x", 1.0, 1.0, 0.5), ("b", "x", 1.0, 0.0, None))
ALL = 2 + 4 + 10  # Σ v, which snips divides by
# with clip=0.2 the v of the unlisted row is 1 / 0.2
CLIPPED = 2 + 4 + 5
IDEAL = 2 / log2(2) + 1 / log2(3) + 1 / log2(4)
DCG = 2 * 1 / log2(3) + 4 * 2 / log2(4)
BEST = 10 * 1 / log2(2) + 4 * 2 / log2(3) + 2 * 1 / log2(4)
OF_UNITS = 2 / log2(3) + 4 / log2(4)

PROPENSITIES = (
    *one_group(
        "v of 2 second, 4 third, 10 not listed",
        WEIGHED,
        {
            "p(propensity=ips)": (2 + 4) / 4,
            "p(propensity=ips)@2": 2 / 2,
            "p(propensity=ips)@9": (2 + 4) / 9,
            "p(propensity=ips,over=retrieved)@9": (2 + 4) / 4,
            "p(propensity=ips,over=min_k_relevant)@9": (2 + 4) / 3,
            "p(propensity=ips,over=min_retrieved_relevant)@2": 2 / 2,
            "p(propensity=snips)@2": 2 / ALL,
            "p(propensity=best)": 1.0 * (2 + 4) / (10 + 4 + 2),
            "p(propensity=best)@2": 2 / (10 + 4),
            "p(propensity=snips,clip=0.2)@3": (2 + 4) / CLIPPED,
            "r(propensity=ips)": (2 + 4) / 3,
            "r(propensity=ips,over=min_k_relevant)@2": 2 / 2,
            "r(propensity=snips)": (2 + 4) / ALL,
            "r(propensity=snips)@2": 2 / ALL,
            "r(propensity=snips,rel=2)": 4 / 4,
            "r(propensity=best)@2": 2 / (10 + 4),
            "r(propensity=best,clip=0.2)@2": 2 / (5 + 4),
            "cg(propensity=ips)": 2 * 1 + 4 * 2,
            "cg(propensity=ips,gain=binary)@3": 2 + 4,
            "cg(propensity=snips)": (2 * 1 + 4 * 2) / ALL,
            "cg(propensity=best)@2": 2 / (10 * 1 + 4 * 2),
            "cg(propensity=best,clip=0.2)": (2 * 1 + 4 * 2) / (4 * 2 + 5 * 1 + 2 * 1),
            "dcg(propensity=ips)": DCG,
            "dcg(propensity=ips,gain=exp2)@3": 2 * 1 / log2(3) + 4 * 3 / log2(4),
            "dcg(propensity=snips)@2": 2 * 1 / log2(3) / ALL,
            "dcg(propensity=best)": DCG / BEST,
            "dcg(propensity=snips,clip=0.2,discount=zipf)": (2 / 2 + 4 * 2 / 3) / CLIPPED,
            "ndcg(propensity=ips)": DCG / IDEAL,
            "ndcg(propensity=ips,clip=0.3)@3": (2 * 1 / log2(3) + 2 / 0.3 / log2(4)) / IDEAL,
            # Jain et al.: KDD 2016, equations of PSnDCG@k, plain and normalised
            "ndcg(propensity=ips,gain=binary,ideal=k_relevant)@3": OF_UNITS / (1 + 1 / log2(3) + 1 / log2(4)),
            "ndcg(propensity=best,gain=binary)@3": OF_UNITS / (10 + 4 / log2(3) + 2 / log2(4)),
            "ndcg(propensity=snips)": DCG / ALL,
            "ndcg(propensity=best)@2": (2 * 1 / log2(3)) / (10 * 1 / log2(2) + 4 * 2 / log2(3)),
            "arhr(propensity=ips)": 2 / 2 + 4 / 3,
            "arhr(propensity=ips)@2": 2 / 2,
            "arhr(propensity=snips,clip=0.2)": (2 / 2 + 4 / 3) / CLIPPED,
            "arhr(propensity=best)": (2 / 2 + 4 / 3) / (10 / 1 + 4 / 2 + 2 / 3),
            "rbp(propensity=ips,p=0.5)": 0.5 * (2 * 0.5 + 4 * 0.25),
            "rbp(propensity=ips,p=0.5,gain=linear,max_grade=2)@3": 0.5 * (2 * 0.5 * 1 / 2 + 4 * 0.25 * 2 / 2),
            "rbp(propensity=snips,p=0.5,clip=0.2)@2": 0.5 * 2 * 0.5 / CLIPPED,
            "rbp(propensity=best,p=0.5)": (2 * 0.5 + 4 * 0.25) / (10 + 4 * 0.5 + 2 * 0.25),
            "rbp(propensity=best,p=0.5,gain=linear,max_grade=2)": (2 * 0.5 + 8 * 0.25) / (10 + 8 * 0.5 + 2 * 0.25),
        },
    ),
    *under_ties(
        "tied rows of several propensities",
        TIED,
        expected={
            "r(propensity=snips)@2": (1 + (2 + 8 + 0) / 3) / (1 + 2 + 8),
            "arhr(propensity=ips)": 1 + (2 + 8) / 3 * (1 / 2 + 1 / 3 + 1 / 4),
        },
        worst={"r(propensity=snips)@2": 1 / 11, "r(propensity=snips)@3": (1 + 2) / 11},
        best={"r(propensity=snips)@2": (1 + 8) / 11, "r(propensity=snips)@3": 11 / 11},
        item={"r(propensity=snips)@2": (1 + 8) / 11, "r(propensity=snips)@3": (1 + 8) / 11},
        block={"r(propensity=snips)@3": 1 / 11, "r(propensity=snips)@4": 11 / 11},
    ),
    *(
        many_groups("a relevant row, and none", TWO, metric, {"a": value, "b": other}, mean)
        for metric, value, other, mean in (
            ("p(propensity=ips)", 2, 0, (2 + 0) / 2),
            *((f"{name}(propensity={word})", 1, None, 1) for name in ("p", "cg", "dcg") for word in ("snips", "best")),
            ("r(propensity=ips)", 2, None, 2),
            ("arhr(propensity=ips)", 2, None, 2),
            ("ndcg(propensity=ips)", 2, None, 2),
            ("cg(propensity=ips)", 2, 0, 1),
            ("rbp(propensity=ips)", 2 * (1 - 0.8), 0, 1 - 0.8),
            ("rbp(propensity=snips)", 1 - 0.8, None, 1 - 0.8),
            ("rbp(propensity=best)", 1, None, 1),
        )
    ),
)
