"""Hand-worked cases: rows, a metric and its definitions, and the values with their arithmetic in sight.

The table is data: the kernels run it, and Spark runs it. The order of a case's rows means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log, log2, sqrt

Row = tuple[str, str | None, float | None, float | None]  # group, item, score, label


@dataclass(frozen=True)
class Case:
    """What one metric says of some rows.

    ``groups`` holds the value of every group, None where the metric is undefined; it is None itself for a metric of
    the whole day, whose value is ``mean``. A ``mean`` of None is undefined. ``error_bound`` is that of the day's value.
    """

    id: str
    rows: tuple[Row, ...]
    metric: str
    groups: Mapping[str, float | None] | None
    mean: float | None
    ties: str = "expected"
    undefined: str = "skip"
    error_bound: float = 0.0


def ranking(group: str, *labels: float | None, unlisted: tuple[float, ...] = ()) -> tuple[Row, ...]:
    """A list without ties, the best score first, and judged items that it lacks (their score is null)."""
    count = len(labels)
    listed = [(group, f"i{place}", float(count - place), label) for place, label in enumerate(labels)]
    absent = [(group, f"u{place}", None, label) for place, label in enumerate(unlisted)]
    return tuple(
        (name, item, score, None if label is None else float(label)) for name, item, score, label in [*listed, *absent]
    )


def one_group(title: str, rows: tuple[Row, ...], values: Mapping[str, float | None], **definitions) -> Iterator[Case]:
    """A case for each metric of a single group, whose value is the mean as well."""
    (group,) = {row[0] for row in rows}
    for metric, value in values.items():
        yield Case(_id(title, metric, definitions), rows, metric, {group: value}, value, **definitions)


def many_groups(title: str, rows: tuple[Row, ...], metric: str, groups, mean, **definitions) -> Case:
    return Case(_id(title, metric, definitions), rows, metric, groups, mean, **definitions)


def whole_day(
    title: str, rows: tuple[Row, ...], values: Mapping[str, tuple[float | None, float]], **definitions
) -> Iterator[Case]:
    """A case for each metric of the whole day: (value, error bound)."""
    for metric, (value, bound) in values.items():
        yield Case(_id(title, metric, definitions), rows, metric, None, value, error_bound=bound, **definitions)


def _id(title: str, metric: str, definitions: Mapping[str, str]) -> str:
    return ", ".join([title, metric, *(f"{name}={value}" for name, value in definitions.items())])


GOOD_BAD = ranking("u", 1, 0, 1, 0, 1)
LISTED_3_OF_4 = ranking("u", 1, 1, 0, 0, 1, unlisted=(1,))
LISTED_3_OF_10 = ranking("u", 1, 1, 0, 0, 1, unlisted=(1,) * 7)
GRADED = ranking("u", 3, 2, 1, 0, 1)
NEGATIVE = ranking("u", -2, 2, -1, 1)
UNJUDGED = ranking("u", 1, None, 1, None)
NO_ITEM: tuple[Row, ...] = (("a", None, 0.9, 1.0), ("a", None, 0.5, 0.0))
NEVER_LISTED = ranking("u", unlisted=(1, 2))

BINARY = (
    *one_group(
        "order good, bad, good, bad, good",
        GOOD_BAD,
        {
            "p@3": 2 / 3,
            "p@4": 2 / 4,
            "p@5": 3 / 5,
            "p": 3 / 5,
            "p@10": 3 / 10,
            "p(over=retrieved)@10": 3 / 5,
            "p(over=retrieved)@2": 1 / 2,
            "p(over=min_k_relevant)@10": 3 / 3,
            "p(over=min_k_relevant)@2": 1 / 2,
            "r@3": 2 / 3,
            "r": 3 / 3,
            "r(over=min_k_relevant)@2": 1 / 2,
            "r(over=min_k_relevant)@4": 2 / 3,
            "f@3": (1 + 1) * 2 / (1 * 3 + 3),
            "f(beta=2)@3": (1 + 4) * 2 / (4 * 3 + 3),
            "f(beta=0.5)@4": (1 + 1 / 4) * 2 / (1 / 4 * 3 + 4),
            "f@10": (1 + 1) * 3 / (1 * 3 + 10),
            "f(over=retrieved)@10": (1 + 1) * 3 / (1 * 3 + 5),
            "f": (1 + 1) * 3 / (1 * 3 + 5),
            "hit@1": 1,
            "hit": 1,
            "rprec": 2 / 3,
            "ap": (1 / 1 + 2 / 3 + 3 / 5) / 3,
            "ap@3": (1 / 1 + 2 / 3) / 3,
            "ap@4": (1 / 1 + 2 / 3) / 3,
            "ap(over=min_k_relevant)@2": (1 / 1) / 2,
            "ap(over=min_k_relevant)@4": (1 / 1 + 2 / 3) / 3,
            "ap(over=k)@4": (1 / 1 + 2 / 3) / 4,
            "ap(over=min_k_relevant_retrieved)@2": (1 / 1) / 2,
            "ap(over=min_k_relevant_retrieved)@4": (1 / 1 + 2 / 3) / 3,
            "rr": 1 / 1,
            "rbp": (1 - 0.8) * (1 + 0.8**2 + 0.8**4),
            "rbp(p=0.5)": (1 - 0.5) * (1 + 0.5**2 + 0.5**4),
            "rbp@3": (1 - 0.8) * (1 + 0.8**2),
            "group_auc": (2 + 1 + 0) / (3 * 2),
        },
    ),
    *one_group(
        "order good, bad, good, bad, good",
        GOOD_BAD,
        {
            "ap(over=hits)": (1 / 1 + 2 / 3 + 3 / 5) / 3,
            "ap(over=hits)@4": (1 / 1 + 2 / 3) / 2,
        },
        ties="item",
    ),
    *one_group("relevant at 1, 3, 6", ranking("u", 1, 0, 1, 0, 0, 1), {"ap": (1 / 1 + 2 / 3 + 3 / 6) / 3}),
    *one_group(
        "the only relevant item second",
        ranking("u", 0, 1),
        {"rr": 1 / 2, "rr@1": 0, "rr@2": 1 / 2, "hit@1": 0, "hit@2": 1, "rprec": 0, "group_auc": 0},
    ),
    *one_group("bad to the end, then good", ranking("u", 0, 0, 0, 1), {"ap(over=hits)@3": 0}, ties="worst"),
    *one_group(
        "1,1,0,0,1 and one relevant item never listed",
        LISTED_3_OF_4,
        {
            "ap(over=min_k_relevant)@5": (1 + 1 + 3 / 5) / 4,
            "ap": (1 + 1 + 3 / 5) / 4,
            "p@5": 3 / 5,
            "r@5": 3 / 4,
            "f@5": (1 + 1) * 3 / (1 * 4 + 5),
            "rprec": 2 / 4,
            "group_auc": (2 + 2 + 0) / (3 * 2),
            "ndcg": (1 / log2(2) + 1 / log2(3) + 1 / log2(6)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)),
            "ndcg(ideal=retrieved)": (1 / log2(2) + 1 / log2(3) + 1 / log2(6))
            / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
            "ndcg(ideal=k_relevant)@3": (1 / log2(2) + 1 / log2(3)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
        },
    ),
    *one_group(
        "1,1,0,0,1 and seven relevant items never listed",
        LISTED_3_OF_10,
        {"ap(over=min_k_relevant)@5": (1 + 1 + 3 / 5) / 5, "ap": (1 + 1 + 3 / 5) / 10, "rprec": 3 / 10},
    ),
    *one_group(
        "1,1,0,0,1 and seven relevant items never listed",
        LISTED_3_OF_10,
        {"ap(over=hits)": (1 + 1 + 3 / 5) / 3},
        ties="best",
    ),
    *one_group(
        "relevant items, none of them listed",
        NEVER_LISTED,
        {
            **dict.fromkeys(
                ("p@5", "p", "p(over=retrieved)@5", "r@5", "f", "f@5", "hit", "rprec", "ap", "rr", "rbp"), 0
            ),
            **dict.fromkeys(("cg", "dcg@5", "ndcg@5"), 0),
            **dict.fromkeys(("ndcg(ideal=retrieved)@5", "group_auc", "gauc"), None),
        },
    ),
    *one_group(
        "rows without a label are not relevant",
        UNJUDGED,
        {"p@4": 2 / 4, "r@1": 1 / 2, "ap": (1 / 1 + 2 / 3) / 2, "group_auc": (2 + 1) / (2 * 2), "cg": 1 + 1},
    ),
)

THRESHOLDS = (
    *one_group(
        "grades 3,2,1,0,1 at a threshold, which need not be a label",
        GRADED,
        {
            "p(rel=2)@5": 2 / 5,
            "p(rel=1)@5": 4 / 5,
            "p(rel=0.5)@5": 4 / 5,
            "p(over=retrieved,rel=2)@10": 2 / 5,
            "r(rel=2)@1": 1 / 2,
            "f(rel=2)@5": 2 * 2 / (2 + 5),
            "hit(rel=3)@1": 1,
            "rprec(rel=2)": 2 / 2,
            "ap(rel=1)": (1 / 1 + 2 / 2 + 3 / 3 + 4 / 5) / 4,
            "rr(rel=1.5)": 1 / 1,
            "rbp(p=0.5,rel=2)": (1 - 0.5) * (1 + 0.5),
            "group_auc(rel=2)": (3 + 3) / (2 * 3),
            "gauc(rel=3)": 4 / (1 * 4),
            "rr(rel=4)": None,
            "cg(gain=binary,rel=2)": 1 + 1,
            "dcg(gain=binary,rel=2)": 1 / log2(2) + 1 / log2(3),
            "ndcg(gain=binary,rel=3)@1": 1,
        },
    ),
)

DCG_32101 = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 0 / log2(5) + 1 / log2(6)
IDEAL_33332 = 3 / log2(2) + 3 / log2(3) + 3 / log2(4) + 3 / log2(5) + 2 / log2(6)
IDEAL_32110 = 3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 1 / log2(5) + 0 / log2(6)
DCG_EXP2 = 7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 0 / log2(5) + 1 / log2(6)
IDEAL_EXP2 = 7 / log2(2) + 3 / log2(3) + 1 / log2(4) + 1 / log2(5) + 0 / log2(6)
IDEAL_EXP2_33332 = 7 / log2(2) + 7 / log2(3) + 7 / log2(4) + 7 / log2(5) + 3 / log2(6)
FOUR_OF_FIVE = 1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(6)

GRADES = (
    *one_group(
        "gains 3,2,1,0,1",
        GRADED,
        {
            "cg@5": 3 + 2 + 1 + 0 + 1,
            "cg@2": 3 + 2,
            "cg": 3 + 2 + 1 + 0 + 1,
            "cg(gain=exp2)": 7 + 3 + 1 + 0 + 1,
            "cg(gain=binary)@4": 1 + 1 + 1 + 0,
            "dcg@5": DCG_32101,
            "dcg@2": 3 / log2(2) + 2 / log2(3),
            "dcg": DCG_32101,
            "dcg(gain=exp2)@5": DCG_EXP2,
            "dcg(gain=binary)": FOUR_OF_FIVE,
            "ndcg(ideal=[3,3,3,3,2])@5": DCG_32101 / IDEAL_33332,
            "ndcg(ideal=[3,3,3,3,2])@1": (3 / log2(2)) / (3 / log2(2)),
            "ndcg(gain=exp2,ideal=[3,3,3,3,2])@5": DCG_EXP2 / IDEAL_EXP2_33332,
            "ndcg@5": DCG_32101 / IDEAL_32110,
            "ndcg": DCG_32101 / IDEAL_32110,
            "ndcg@3": 1,
            "ndcg(gain=exp2)": DCG_EXP2 / IDEAL_EXP2,
            "ndcg(gain=binary)": FOUR_OF_FIVE / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)),
            "ndcg(gain=binary,ideal=k_relevant)@5": FOUR_OF_FIVE
            / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)),
        },
    ),
    *one_group(
        "grades 0,1 and a grade 2 never listed",
        ranking("u", 0, 1, unlisted=(2,)),
        {
            "ndcg@2": (1 / log2(3)) / (2 / log2(2) + 1 / log2(3)),
            "ndcg(ideal=retrieved)@2": (1 / log2(3)) / (1 / log2(2)),
            "ndcg(gain=exp2)@1": 0,
            "ndcg(gain=exp2)": (1 / log2(3)) / (3 / log2(2) + 1 / log2(3)),
        },
    ),
    *one_group(
        "negative labels: -2, 2, -1, 1",
        NEGATIVE,
        {
            "p@2": 1 / 2,
            "r@2": 1 / 2,
            "ap": (1 / 2 + 2 / 4) / 2,
            "cg": 0 + 2 + 0 + 1,
            "dcg": 0 / log2(2) + 2 / log2(3) + 0 / log2(4) + 1 / log2(5),
            "dcg(gain=exp2)": 3 / log2(3) + 1 / log2(5),
            "dcg(gain=binary)": 1 / log2(3) + 1 / log2(5),
            "ndcg": (2 / log2(3) + 1 / log2(5)) / (2 / log2(2) + 1 / log2(3)),
            "group_auc": (1 + 0) / (2 * 2),
            "p(rel=2)@4": 1 / 4,
        },
    ),
)

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
# Two of the first three are relevant: the orders are 110, 101 and 011.
THREE_TIED = (("u", "a", 2.0, 1.0), ("u", "b", 2.0, 1.0), ("u", "c", 2.0, 0.0), ("u", "d", 1.0, 0.0))
# No tied row of the first two is relevant, one of the next two is: the orders are 0010 and 0001.
NONE_THEN_ONE = (("u", "a", 2.0, 0.0), ("u", "b", 2.0, 0.0), ("u", "c", 1.0, 1.0), ("u", "d", 1.0, 0.0))
# A certain hit above two blocks of two rows, each with one relevant.
ONE_THEN_TIED = (("u", "a", 3.0, 1.0), *(("u", f"{place}", 2.0 - place // 2, float(place % 2)) for place in range(4)))
GRADES_TIED = (("u", "a", 1.0, 3.0), ("u", "b", 1.0, 1.0))

TIES = (
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            "p@2": (1 / 4) / 2,
            "p@3": (2 / 4) / 3,
            "p": 2 / 6,
            "r@3": (2 / 4) / 2,
            "f@3": (1 + 1) * (2 / 4) / (2 + 3),
            "hit@1": 0,
            "hit@3": 2 / 4,
            "hit@5": 1,
            "rr": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4,
            "rr@3": (1 / 2 + 1 / 3) / 4,
            "ap": ((1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4 + 2 / 6) / 2,
            "ap@3": ((1 / 2 + 1 / 3) / 4) / 2,
            "ap(over=min_k_relevant)@3": ((1 / 2 + 1 / 3) / 4) / 2,
            "ap(over=k)@3": ((1 / 2 + 1 / 3) / 4) / 3,
            "rprec": (1 / 4) / 2,
            "dcg@3": (1 / log2(3) + 1 / log2(4)) / 4,
            "ndcg@3": (1 / log2(3) + 1 / log2(4)) / 4 / (1 / log2(2) + 1 / log2(3)),
            "rbp": (1 - 0.8) * ((0.8 + 0.8**2 + 0.8**3 + 0.8**4) / 4 + 0.8**5),
            "group_auc": ((0 + 1 / 2 * 3) + 0) / (2 * 4),
            "group_auc(tied=zero)": (0 + 0) / (2 * 4),
        },
    ),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            **dict.fromkeys(("p@3", "hit@3", "rr@3", "rprec"), 0),
            "p@4": 1 / 4,
            "r@4": 1 / 2,
            "hit@4": 1,
            "rr": 1 / 4,
            "ap": (1 / 4 + 2 / 6) / 2,
            "dcg@4": 1 / log2(5),
            "rbp@4": (1 - 0.8) * 0.8**3,
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        ties="item",
    ),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            **dict.fromkeys(("p@4", "hit@4", "rprec", "dcg@4", "cg@4"), 0),
            "p@5": 1 / 5,
            "r@5": 1 / 2,
            "rr": 1 / 5,
            "ap": (1 / 5 + 2 / 6) / 2,
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        ties="worst",
    ),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            "p@2": 1 / 2,
            "r@2": 1 / 2,
            "hit@2": 1,
            "rr": 1 / 2,
            "rprec": 1 / 2,
            "dcg@2": 1 / log2(3),
            "ap": (1 / 2 + 2 / 6) / 2,
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        ties="best",
    ),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            **dict.fromkeys(("p@4", "hit@4", "rr@4", "dcg@4"), 0),
            "p@5": 1 / 5,
            "hit@5": 1,
            "rr": 1 / 5,
            "ap": (1 / 5 + 2 / 6) / 2,
            "dcg@5": 1 / log2(6),
            "group_auc": (1 / 2 * 3 + 0) / (2 * 4),
        },
        ties="block",
    ),
    *one_group(
        "three tied rows, two relevant",
        THREE_TIED,
        {
            "ap": ((1 / 1 + 2 / 2) / 2 + (1 / 1 + 2 / 3) / 2 + (1 / 2 + 2 / 3) / 2) / 3,
            "ap@1": ((1 / 1) / 2 + (1 / 1) / 2 + 0 / 2) / 3,
            "rr": (1 / 1 + 1 / 1 + 1 / 2) / 3,
            "hit@1": (1 + 1 + 0) / 3,
            "p@2": (2 / 2 + 1 / 2 + 1 / 2) / 3,
            "r(over=min_k_relevant)@1": (1 / 1 + 1 / 1 + 0 / 1) / 3,
            "rprec": (2 / 2 + 1 / 2 + 1 / 2) / 3,
            "group_auc": ((1 / 2 + 1) + (1 / 2 + 1)) / (2 * 2),
            "group_auc(tied=zero)": (1 + 1) / (2 * 2),
            "gauc(tied=zero)": (1 + 1) / (2 * 2),
        },
    ),
    *one_group(
        "three tied rows, two relevant",
        THREE_TIED,
        {
            **dict.fromkeys(("p@2", "hit@2", "rprec"), 0),
            "p@3": 2 / 3,
            "rr": 1 / 3,
            "ap": (2 / 3 + 2 / 3) / 2,
            "ap(over=hits)@2": 0,
            "ap(over=hits)@3": (2 / 3 + 2 / 3) / 2,
            "dcg": 1 / log2(4) + 1 / log2(4),
            "rbp": (1 - 0.8) * (0.8**2 + 0.8**2),
        },
        ties="block",
    ),
    *one_group(
        "two tied rows, none relevant, above two, one relevant",
        NONE_THEN_ONE,
        {
            "rr": (1 / 3 + 1 / 4) / 2,
            "rr@3": (1 / 3 + 0) / 2,
            "hit@2": 0,
            "hit@3": (1 + 0) / 2,
            "ap": (1 / 3 + 1 / 4) / 2,
            "p@3": (1 / 3 + 0) / 2,
            "group_auc": (0 + 0 + 1 / 2) / 3,
        },
    ),
    *one_group(
        "a relevant row above two times two tied rows, one relevant",
        ONE_THEN_TIED,
        {
            "rr": 1 / 1,
            "hit@1": 1,
            "ap": (1 / 1 + (2 / 2 + 2 / 3) / 2 + (3 / 4 + 3 / 5) / 2) / 3,
            "p@4": (1 + 1 + 1 / 2) / 4,
        },
    ),
    *one_group("three tied rows, two relevant", THREE_TIED, {"ap": (1 / 1 + 2 / 2) / 2}, ties="best"),
    *one_group("three tied rows, two relevant", THREE_TIED, {"ap": (1 / 2 + 2 / 3) / 2}, ties="worst"),
    *one_group(
        "grades 3 and 1 tied",
        GRADES_TIED,
        {
            "cg@1": (3 + 1) / 2,
            "cg(gain=exp2)@1": (7 + 1) / 2,
            "dcg": ((3 + 1) / 2) / log2(2) + ((3 + 1) / 2) / log2(3),
            "ndcg@1": ((3 + 1) / 2) / 3,
            "rr(rel=2)": (1 / 1 + 1 / 2) / 2,
        },
    ),
    *one_group("grades 3 and 1 tied", GRADES_TIED, {"dcg": 3 / log2(2) + 1 / log2(3), "cg@1": 3}, ties="best"),
    *one_group("grades 3 and 1 tied", GRADES_TIED, {"dcg": 1 / log2(2) + 3 / log2(3), "cg@1": 1}, ties="worst"),
    *one_group("grades 3 and 1 tied", GRADES_TIED, {"dcg": 1 / log2(2) + 3 / log2(3), "cg@1": 1}, ties="item"),
    *one_group("grades 3 and 1 tied", GRADES_TIED, {"dcg": (3 + 1) / log2(3), "cg@1": 0, "cg@2": 4}, ties="block"),
)

# AUC 1/4 of 4 rows, 1 of 2 rows (and one without a score), 3/4 of 5 rows; d has one class.
FOUR_USERS = (
    *ranking("a", 0, 1, 0, 1),
    *ranking("b", 1, 0, unlisted=(0,)),
    *ranking("c", 0, 1, 0, 0, 0),
    *ranking("d", 1, 1),
)
AUC_OF_USERS = {"a": 1 / 4, "b": 1 / 1, "c": 3 / 4, "d": None}
ONE_WITHOUT_TRUTH = (*ranking("a", 0, 1), *ranking("b", 0, 0), *ranking("c", unlisted=(1,)))

MEANS = (
    many_groups("weights", FOUR_USERS, "group_auc", AUC_OF_USERS, (1 / 4 + 1 + 3 / 4) / 3),
    many_groups("weights", FOUR_USERS, "gauc(weight=uniform)", AUC_OF_USERS, (1 / 4 + 1 + 3 / 4) / 3),
    many_groups("weights", FOUR_USERS, "gauc", AUC_OF_USERS, (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4) / (4 + 2 + 5)),
    *(
        many_groups("weights", FOUR_USERS, f"{name}(weight={weight})", AUC_OF_USERS, mean)
        for name, weight, mean in (
            ("group_auc", "rows", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4) / (4 + 2 + 5)),
            ("group_auc", "positives", (2 * 1 / 4 + 1 * 1 + 1 * 3 / 4) / (2 + 1 + 1)),
            ("group_auc", "pairs", (4 * 1 / 4 + 1 * 1 + 4 * 3 / 4) / (4 + 1 + 4)),
            ("gauc", "positives", (2 * 1 / 4 + 1 * 1 + 1 * 3 / 4) / (2 + 1 + 1)),
            ("gauc", "pairs", (4 * 1 / 4 + 1 * 1 + 4 * 3 / 4) / (4 + 1 + 4)),
        )
    ),
    many_groups("one class", FOUR_USERS, "group_auc", AUC_OF_USERS, (1 / 4 + 1 + 3 / 4 + 0) / 4, undefined="zero"),
    many_groups("one class", FOUR_USERS, "group_auc", AUC_OF_USERS, (1 / 4 + 1 + 3 / 4 + 1) / 4, undefined="one"),
    *(
        many_groups("one class", FOUR_USERS, "gauc", AUC_OF_USERS, mean, undefined=undefined)
        for undefined, mean in (
            ("zero", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4 + 2 * 0) / (4 + 2 + 5 + 2)),
            ("one", (4 * 1 / 4 + 2 * 1 + 5 * 3 / 4 + 2 * 1) / (4 + 2 + 5 + 2)),
        )
    ),
    *(
        many_groups("no truth", ONE_WITHOUT_TRUTH, metric, {"a": a, "b": None, "c": 0}, mean, undefined=undefined)
        for metric, a in (("r@2", 1 / 1), ("f@2", 2 * 1 / (1 + 2)), ("hit@2", 1), ("rprec", 0), ("ap", (1 / 2) / 1))
        for undefined, mean in (("skip", (a + 0) / 2), ("zero", (a + 0 + 0) / 3), ("one", (a + 1 + 0) / 3))
    ),
    *(
        many_groups("no truth", ONE_WITHOUT_TRUTH, metric, {"a": a, "b": None, "c": 0}, mean, undefined=undefined)
        for metric, a in (("rr", 1 / 2), ("rr@1", 0), ("ndcg@2", (1 / log2(3)) / (1 / log2(2))))
        for undefined, mean in (("skip", (a + 0) / 2), ("zero", (a + 0 + 0) / 3), ("one", (a + 1 + 0) / 3))
    ),
    many_groups("no truth", ONE_WITHOUT_TRUTH, "p@2", {"a": 1 / 2, "b": 0, "c": 0}, (1 / 2 + 0 + 0) / 3),
    many_groups("no truth", ONE_WITHOUT_TRUTH, "dcg", {"a": 1 / log2(3), "b": 0, "c": 0}, (1 / log2(3) + 0 + 0) / 3),
    many_groups("no group is defined", ranking("b", 0, 0), "ap", {"b": None}, None),
    many_groups("no group is defined", ranking("b", 0, 0), "ap", {"b": None}, 0, undefined="zero"),
    many_groups("no group is defined", ranking("b", 0, 0), "ap", {"b": None}, 1, undefined="one"),
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

DAYS = (
    *whole_day(
        "nine scores",
        CLICKS,
        {
            "auc(exact)": (16 / 20, 0),
            "auc": (16 / 20, 0),  # no two of them within 2^-12 of each other
            "auc(digits=2)": (16 / 20, 0),
            # .9 .8 .7 .5 .4 .3 hold 1+0, 1+0, 1+1, 1+0, 1+1, 0+2 rows clicked + not
            "auc(digits=1)": ((4 + 4 + 3.5 + 3 + 2.5) / 20, 0.5 * (1 * 1 + 1 * 1) / 20),
            # 1 and 0 hold 4+1 and 1+3
            "auc(digits=0)": ((4 * 3 + 4 * 1 / 2 + 1 * 3 / 2) / 20, 0.5 * (4 * 1 + 1 * 3) / 20),
            # from .75, .5, .375 and .25 on: 2+0, 2+1, 0+1, 1+2
            "auc(bits=1)": ((2 * 4 + 2 * (1 / 2 + 3) + 1 * 2 / 2) / 20, 0.5 * (2 * 1 + 1 * 2) / 20),
            "auc_up(exact)": (20 / 20, 0),
            "auc_up": (20 / 20, 0),
            "auc_up(digits=2)": (20 / 20, 0),
            # best order: .9 .8 .5 of rate 1, .7 and .4 of rate 1/2, .3 of rate 0
            "auc_up(digits=1)": ((3 * 4 + (1 / 2 + 1 + 2) + (1 / 2 + 2)) / 20, 0),
            # the block of the lower scores that holds 1+2 goes before the one that holds 0+1
            "auc_up(bits=1)": ((2 * 4 + 2 * (1 / 2 + 3) + (2 / 2 + 1)) / 20, 0),
            "auc_up(digits=0)": ((4 * 3 + 4 * 1 / 2 + 1 * 3 / 2) / 20, 0),
        },
    ),
    *whole_day(
        "0.0 and -0.0 tie, scores are logits",
        LOGITS_TIED,
        {
            "auc(exact)": ((2 + 1 / 2 + 1) / (2 * 2), 0),
            "auc": ((2 + 1 / 2 + 1) / (2 * 2), 0.5 * (1 * 1) / (2 * 2)),
            "auc_up(exact)": ((2 + 1 / 2 + 1) / (2 * 2), 0),
        },
    ),
    *whole_day(
        "grades at a threshold",
        ranking("u", 1, 3, 2, 0),
        {"auc(exact,rel=2)": ((1 + 1) / (2 * 2), 0), "auc_up(exact,rel=2)": (1, 0), "auc(bits=20,rel=3)": (2 / 3, 0)},
    ),
    *whole_day("a label below 0 and none at all", ranking("u", 1, -1, None, 2), {"auc": ((2 + 0) / (2 * 2), 0)}),
    *whole_day("one class", ranking("u", 1, 1, unlisted=(0,)), {"auc(exact)": (None, 0), "auc_up": (None, 0)}),
)

# Of R = 3 and N = 2 listed: one judged against, a hit, not judged twice, a hit, judged against; a hit is not listed.
PARTLY_JUDGED = ranking("u", 0, 1, None, -1, 2, 0, unlisted=(1,))
EPSILON = 0.00001

RETRIEVAL = (
    *one_group(
        "order good, bad, good, bad, good",
        GOOD_BAD,
        {"arhr": 1 / 1 + 1 / 3 + 1 / 5, "arhr@3": 1 / 1 + 1 / 3, "bpref": (1 + (1 - 1 / 2) + (1 - 2 / 2)) / 3},
    ),
    *one_group(
        "order good, bad, good, bad, good",
        GOOD_BAD,
        {
            "iprec": 1 / 1,
            "iprec(recall=0.1)": 1 / 1,  # the 1st hit on
            "iprec(recall=0.5)": 2 / 3,  # int(1.5 + 0.9) = the 2nd on
            "iprec(recall=1)": 3 / 5,
            "infap": (
                1
                + (1 / 3 + 2 / 3 * (1 + EPSILON) / (2 + 2 * EPSILON))
                + (1 / 5 + 4 / 5 * (2 + EPSILON) / (4 + 2 * EPSILON))
            )
            / 3,
        },
        ties="item",
    ),
    *one_group(
        "judged in part",
        PARTLY_JUDGED,
        {"bpref": ((1 - 1 / 2) + (1 - 1 / 2) + 0) / 3, "bpref(rel=2)": (1 - 1 / 1) / 1, "arhr(rel=2)": 1 / 5},
    ),
    *one_group(
        "judged in part",
        PARTLY_JUDGED,
        {
            "iprec(recall=0.3)": 1 / 2,  # int(0.9 + 0.9) = the 1st hit on
            "iprec(recall=0.5)": 2 / 5,  # int(1.5 + 0.9) = the 2nd on
            "iprec(recall=0.4,round=nearest)": 1 / 2,  # int(1.2 + 0.5) = the 1st on
            "iprec(recall=0.75)": 0,  # int(2.25 + 0.9) = the 3rd, which is not listed
            "iprec(recall=0.5,rel=2)": 1 / 5,
            "infap": (
                (1 / 2 + 1 / 2 * EPSILON / (1 + 2 * EPSILON)) + (1 / 5 + 3 / 5 * (1 + EPSILON) / (2 + 2 * EPSILON)) + 0
            )
            / 3,
            "infap(rel=2)": 1 / 5 + 3 / 5 * EPSILON / (2 + 2 * EPSILON),
        },
        ties="item",
    ),
    *one_group(
        "grades 3,2,1,0,1 of 4: satisfied with 7/16, 3/16, 1/16, 0, 1/16",
        GRADED,
        {
            "err": 7 / 16
            + 9 / 16 * 3 / 16 / 2
            + 9 / 16 * 13 / 16 * 1 / 16 / 3
            + 9 / 16 * 13 / 16 * 15 / 16 * 1 / 16 / 5,
            "err@2": 7 / 16 + 9 / 16 * 3 / 16 / 2,
            "err(max_grade=3)@2": 7 / 8 + 1 / 8 * 3 / 8 / 2,
            "err(max_grade=2)@2": 3 / 4 + 1 / 4 * 3 / 4 / 2,  # a label of 3 counts as 2
        },
        ties="item",
    ),
    *one_group("a label below 0 satisfies nobody", NEGATIVE, {"err(max_grade=2)@3": 1 / 2 * 3 / 4}, ties="item"),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            "arhr": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4 + 1 / 6,
            "arhr@3": (1 / 2 + 1 / 3) / 4,
            # R = 2, N = 4: 1 to 4 rows above the tied hit, each as likely, and 4 above the last: 1/2, 2/2 of 2 at most
            "bpref": (((1 - 1 / 2) + 0 + 0 + 0) / 4 + 0) / 2,
        },
    ),
    *one_group("four tied rows, one relevant", FOUR_TIED, {"bpref": 0, "iprec": 2 / 6, "arhr@4": 0}, ties="worst"),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {"bpref": (1 - 1 / 2) / 2, "iprec": 1 / 2, "iprec(recall=1)": 2 / 6, "err(max_grade=1)@2": 1 / 2 / 2},
        ties="best",
    ),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {"bpref": 0, "iprec": 2 / 6, "arhr": 1 / 5 + 1 / 6, "err(max_grade=1)": 1 / 2 / 5 + 1 / 2 * 1 / 2 / 6},
        ties="block",
    ),
    *one_group("no relevant row", ranking("u", 0, None), dict.fromkeys(("arhr", "bpref"), None)),
    *one_group("no relevant row", ranking("u", 0, None), {"iprec": None, "infap": None, "err": 0}, ties="item"),
    *one_group("no row judged against", ranking("u", None, 1, 1, unlisted=(1,)), {"bpref": (1 + 1 + 0) / 3}),
    *one_group("relevant items, none of them listed", NEVER_LISTED, {"bpref": 0, "arhr": 0}),
    *one_group("relevant items, none of them listed", NEVER_LISTED, {"iprec": 0, "infap": 0, "err": 0}, ties="worst"),
)

# Of "a" and "b" 2 and 1 of 3 pairs of different labels stand in order; "c" has no such pair.
GRADED_USERS = (*ranking("a", 2, 0, 1), *ranking("b", 0, 2, 1, unlisted=(3,)), *ranking("c", 1, 1))
PAIRS_OF_USERS = {"a": 2 / 3, "b": 1 / 3, "c": None}
# The labels of "b" and "c" tie both rows at the top: to depth 1 one list has a row and the other two.
AGREEING_USERS = (
    *ranking("a", 1, 0),
    *ranking("b", 0, 0),
    *ranking("c", 0, 0, unlisted=(-1,)),
    *ranking("d", None),
    *ranking("e", unlisted=(1,)),
)
BOTH_FIRST = 0.1 * (2 * 1 / (1 + 2) + 0.9 * 1) + 0.9**2 * 1

COMPARISONS = (
    *one_group(
        "labels 3,2,1,0,1: of 10 pairs 8 agree, 1 is reversed, the labels tie 1",
        GRADED,
        {
            "kendall_tau": (8 - 1) / sqrt(10 * 9),
            "kendall_tau(variant=c)": (8 - 1) / (5**2 * (4 - 1) / (2 * 4)),
            "kendall_distance": 1 / 10,
            # ranks from the lowest: 5, 4, 3, 2, 1 and 5, 4, 2.5, 1, 2.5, each less their mean 3
            "spearman": (2 * 2 + 1 * 1 + 0 * -0.5 + -1 * -2 + -2 * -0.5) / sqrt(10 * (4 + 1 + 0.25 + 4 + 0.25)),
            "pair_auc": 8 / 9,
        },
    ),
    *one_group(
        "scores tie 6 of 15 pairs, labels 7, both 3; 5 are reversed and none agrees",
        FOUR_TIED,
        {
            "kendall_tau": (0 - 5) / sqrt((15 - 6) * (15 - 7)),
            "kendall_tau(variant=c)": (0 - 5) / (6**2 * (2 - 1) / (2 * 2)),
            "kendall_distance": (5 + (6 - 3) / 2) / 15,
            "spearman": (2.5 * -1 + -2.5 * 2) / sqrt(2 * 2.5**2 * (4 * 1 + 2 * 2**2)),
            "pair_auc": (0 + (6 - 3) / 2) / (15 - 7),
        },
    ),
    *one_group(
        # the label's first positions are 1, 2, 3, 5, 3: to depth 3 it has four rows, of which three are among the first
        "labels 3,2,1,0,1: agreement 1, 1, 2·3/(3+4), 2·3/(4+4), 1",
        GRADED,
        {
            "rbo": 0.1 * (1 + 0.9 + 0.9**2 * 6 / 7 + 0.9**3 * 6 / 8 + 0.9**4) + 0.9**5,
            "rbo(p=0.5)": 0.5 * (1 + 0.5 + 0.5**2 * 6 / 7 + 0.5**3 * 6 / 8 + 0.5**4) + 0.5**5,
        },
    ),
    *one_group(
        # by label the absent row is first; to depth 3 one of two went on to be common at depth 2: 2 + 1/2 of 3
        "two of three judged rows listed",
        ranking("u", 1, 0, unlisted=(2,)),
        {"rbo": 0.1 * (0 + 0.9 * 1 / 2 + 0.9**2 * 2.5 / 3) + 0.9**3 * 2.5 / 3},
    ),
    # the list ends at depth 1, and what it has is common: so it goes on
    *one_group("the first of two judged rows listed", ranking("u", 1, unlisted=(0,)), {"rbo": 1}),
    *one_group("nothing is judged", ranking("u", None), {"rbo": None}),
    many_groups(
        "labels that end in one group as they begin in the next",
        AGREEING_USERS,
        "rbo",
        # the list of "c" ends at depth 2, and all of it is common: so it goes on
        {"a": 1, "b": BOTH_FIRST, "c": BOTH_FIRST, "d": None, "e": None},
        (1 + 2 * BOTH_FIRST) / 3,
    ),
    *one_group(
        "labels 3,2,1,0,1: by label the last two change places",
        GRADED,
        {
            "fitness": (1 / 1 + 1 / 1.5 + 1 / 2 + 1 / (0.5 * 2 + 0.5 * 4) + 1 / (0.5 * 2 + 0.5 * 5))
            / (1 / 1 + 1 / 1.5 + 1 / 2 + 1 / 2.5 + 1 / 3),
            "fitness(alpha=1)": (1 + 1 + 1 + 1 / 2 + 1 / 2) / 5,
            "fitness(alpha=0)": 1,  # the same positions in any order
            "fitness(alpha=1,weight=log2)": (
                1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / 2 / log2(6) + 1 / 2 / log2(5)
            )
            / (1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5) + 1 / log2(6)),
        },
        ties="item",
    ),
    # Four rows tie at positions 2 to 5; by label the relevant ones are 1 and 2: of FOUR_TIED, "10" and then "z".
    *(
        one
        for ties, p_of_10 in (("best", 2), ("worst", 5), ("item", 4))
        for one in one_group(
            "four tied rows, one relevant",
            FOUR_TIED,
            {
                "fitness(alpha=1)": (
                    1 / p_of_10  # q = 1
                    + 1 / (6 - 2 + 1)  # z, at the last position
                    # by label the others follow as they stand: a from 1 to 3, then the tied ones to 4, 5 and 6
                    + 1 / (3 - 1 + 1)
                    + sum(
                        1 / (q - p + 1)
                        for p, q in zip([p for p in (2, 3, 4, 5) if p != p_of_10], (4, 5, 6), strict=True)
                    )
                )
                / 6
            },
            ties=ties,
        )
    ),
    *one_group(
        "four tied rows, one relevant",
        FOUR_TIED,
        {
            "fitness(alpha=1)": (1 / 5 + 1 / 5 + 1 / 3 + 1 / 2 + 1 / 1 + 1 / 2) / 6,  # all four at 5: q = 1, 4, 5, 6
            "fitness": (
                (1 / (5 / 2 + 5 / 2) + 1 / (2 / 2 + 5 / 2) + 1 / (1 / 2 + 5 / 2) + 1 / (2 / 2 + 5 / 2))
                + 1 / (3 / 2 + 1 / 2)  # a, at 1 and 3
                + 1 / (5 / 2 + 6 / 2)  # z, at 6 and 2
            )
            / (1 / 1 + 1 / 1.5 + 1 / 2 + 1 / 2.5 + 1 / 3 + 1 / 3.5),
        },
        ties="block",
    ),
    # Beside metrics of the same rows that go by labels, not by items: of six items the first two places show two.
    *(
        one
        for ties in ("best", "worst", "block")
        for one in whole_day(
            "four tied rows, one relevant",
            FOUR_TIED,
            {"coverage@2": ((1 if ties == "block" else 2) / 6, 0)},
            ties=ties,
        )
    ),
    *one_group("nothing is judged", ranking("u", None), {"fitness": None}, ties="item"),
    *one_group("the same order", ranking("u", 3, 2, 1), {"kendall_tau": 1, "kendall_distance": 0, "spearman": 1}),
    *one_group("reversed", ranking("u", -1, 0, 1), {"kendall_tau": -1, "kendall_distance": 1, "spearman": -1}),
    *one_group(
        "two judged rows of one label",
        UNJUDGED,
        {
            **dict.fromkeys(("kendall_tau", "kendall_tau(variant=c)", "spearman"), None),
            "kendall_distance": 0,
            "pair_auc": 3 / 4,  # a row without a label has label 0
        },
    ),
    *one_group("no pair", ranking("u", 1, None), dict.fromkeys(("kendall_tau", "kendall_distance", "spearman"), None)),
    many_groups("graded", GRADED_USERS, "pair_auc", PAIRS_OF_USERS, (2 / 3 + 1 / 3) / 2),
    many_groups("graded", GRADED_USERS, "pair_auc(weight=rows)", PAIRS_OF_USERS, (3 * 2 / 3 + 3 * 1 / 3) / (3 + 3)),
    many_groups(
        "graded",
        (*GRADED_USERS, *ranking("d", 1, 0)),
        "pair_auc(weight=pairs)",
        {**PAIRS_OF_USERS, "d": 1},
        (3 * 2 / 3 + 3 * 1 / 3 + 1 * 1) / (3 + 3 + 1),
    ),
)

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
        Case(_id("five items", metric, {"ties": "item"}), SHOWN, metric, None, value, ties="item")
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
    Case(_id("one step", "gini@1", {"ties": "block"}), TWO_TIED, "gini@1", None, 1 / 2, ties="block"),  # x of b alone
    *whole_day("no row has an item", NO_ITEM, {"gini": (None, 0), "novelty": (None, 0), "coverage": (None, 0)}),
    *whole_day("nothing is listed", NEVER_LISTED, {"gini@3": (None, 0), "novelty": (None, 0), "coverage": (0, 0)}),
)

# At 0.5 five are picked, four of them clicked; at 0.7 three, two of them clicked. The fourth score is 0.66.
CLASSIFIED = (
    *whole_day(
        "nine scores judged as a classifier",
        CLICKS,
        {
            "accuracy": ((4 + 3) / 9, 0),
            "accuracy(threshold=0.7)": ((2 + 3) / 9, 0),
            "accuracy(threshold=0.66)": ((3 + 3) / 9, 0),  # a score at the threshold is picked
            "precision": (4 / 5, 0),
            "precision(threshold=0.7)": (2 / 3, 0),
            "recall": (4 / 5, 0),
            "recall(threshold=0.7)": (2 / 5, 0),
            "tpr": (4 / 5, 0),
            "tpr(threshold=0.7)": (2 / 5, 0),
            "specificity": (3 / 4, 0),
            "specificity(threshold=0.3)": (1 / 4, 0),
            "fpr": (1 / 4, 0),
            "fpr(threshold=0.3)": (3 / 4, 0),
            "f1": (2 * 4 / 5 * 4 / 5 / (4 / 5 + 4 / 5), 0),
            "f1(threshold=0.7)": (2 * 2 / 3 * 2 / 5 / (2 / 3 + 2 / 5), 0),
            "fbeta": (4 / 5, 0),
            "fbeta(beta=2,threshold=0.7)": ((4 + 1) * 2 / 3 * 2 / 5 / (4 * 2 / 3 + 2 / 5), 0),
            "pr_auc(exact)": ((1 / 1 + 2 / 2 + 3 / 4 + 4 / 5 + 5 / 7) / 5, 0),
            "pr_auc": ((1 / 1 + 2 / 2 + 3 / 4 + 4 / 5 + 5 / 7) / 5, 0),
            # .7 holds 1+1: its click may come first; .4 too. At worst each comes second, which is the value itself.
            "pr_auc(digits=1)": (
                (1 / 1 + 2 / 2 + 3 / 4 + 4 / 5 + 5 / 7) / 5,
                ((3 / 3 - 3 / 4) + (5 / 6 - 5 / 7)) / 5,
            ),
            # from .75, .5, .375 and .25 on: 2+0, 2+1, 0+1, 1+2
            "pr_auc(bits=1)": (
                (2 * 2 / 2 + 2 * 4 / 5 + 1 * 5 / 9) / 5,
                max(2 * (4 / 4 - 4 / 5) + 1 * (5 / 7 - 5 / 9), 2 * (4 / 5 - 3 / 4)) / 5,
            ),
            "ks(exact)": (4 / 5 - 1 / 4, 0),
            "ks": (4 / 5 - 1 / 4, 0),
            # after .7: 3/5 - 1/4, inside up to 3/5; after .5: 4/5 - 1/4; after .4: 5/5 - 2/4, inside up to 5/5 - 1/4
            "ks(digits=1)": (4 / 5 - 1 / 4, (5 / 5 - 1 / 4) - (4 / 5 - 1 / 4)),
            # after .75: 2/5; after .5: 4/5 - 1/4, inside up to 4/5
            "ks(bits=1)": (4 / 5 - 1 / 4, 4 / 5 - (4 / 5 - 1 / 4)),
            "bep(exact)": (4 / 5, 0),
            "bep": (4 / 5, 0),
            "bep(digits=1)": (4 / 5, 0),  # a block ends where five are picked
            "bep(bits=1)": (4 / 5, 0),
            # 1 holds 4+1, and five are picked there
            "bep(digits=0)": (4 / 5, 0),
        },
    ),
    *whole_day(
        "four clicked rows and another in one block",
        tuple(("u", f"{score}", score, float(score > 0.6)) for score in (0.95, 0.9, 0.8, 0.7, 0.6)),
        # the other may come last, or first: then all four stand where the first of them does at worst, behind it
        {"pr_auc(digits=0)": (4 / 5, max(1 - 4 / 5, 4 / 5 - 1 / 2))},
    ),
    *whole_day(
        "the break-even point inside a block",
        ranking("u", 1, 0, 1, 1, 0),
        {
            "bep(exact)": (2 / 3, 0),
            # scores 5 4 3 2 1; blocks of bits=1: 4 and 5 hold 1+1, 3 and 2 one each, so the third row is a click
            "bep(bits=1)": (2 / 3, 0),
        },
    ),
    *whole_day(
        "the break-even point inside a tie",
        (("u", "a", 0.9, 1.0), *(("u", f"t{label}{i}", 0.5, float(label)) for label in (1, 0) for i in range(2))),
        # three positives; after the first, two more of the four tied rows, of which half are clicked
        {"bep(exact)": ((1 + 2 * 2 / 4) / 3, 0), "bep": ((1 + 2 * 2 / 4) / 3, (2 - 1) / 3)},
    ),
)

TWENTY_OF_A_HUNDRED = tuple(
    ("u", str(row), 0.5 if row < 50 else 0.4, 1.0 if row < 20 else 0.0) for row in range(100)
)  # 20 positives, 50 picked, all 20 among them

PROBABILITIES = (("u", "a", 0.5, 1.0), ("u", "b", 0.25, 0.0), ("u", "c", 0.75, 1.0), ("u", "d", 0.5, 0.0))
HALF_AND_THREE_QUARTERS = (-log(0.5) - log(0.75) - log(0.75) - log(0.5)) / 4

CALIBRATED = (
    *whole_day(
        "a class of 100 with 20 positives, 50 picked, all 20 among them",
        TWENTY_OF_A_HUNDRED,
        {
            "accuracy": (70 / 100, 0),
            "precision": (40 / 100, 0),
            "recall": (100 / 100, 0),
            "f1": (4 / 7, 0),
            "fbeta": (4 / 7, 0),
            "specificity": (50 / 80, 0),
        },
    ),
    *whole_day(
        "four probabilities",
        PROBABILITIES,
        {
            "logloss": (HALF_AND_THREE_QUARTERS, 0),
            "ne": (HALF_AND_THREE_QUARTERS / log(2), 0),  # half of the rows are clicked
            "brier": ((0.25 + 0.0625 + 0.0625 + 0.25) / 4, 0),
            "copc": (2 / (0.5 + 0.25 + 0.75 + 0.5), 0),
            # .5 holds 1+1 with scores of 1 together; .25 none clicked; .75 one clicked
            "ece": ((0 + 0.25 + 0.25) / 4, 0),
            "ece(exact)": ((0 + 0.25 + 0.25) / 4, 0),
            "ece(digits=2)": ((0 + 0.25 + 0.25) / 4, 0),
            "ece(bits=3)": ((0 + 0.25 + 0.25) / 4, 0),
            # below 1/2 one row at .25; from 1/2 on 2 clicked, scores 1.75 together
            "ece(bins=2)": ((0.25 + 0.25) / 4, 0),
            "ece(bins=1)": (0, 0),
        },
    ),
    *whole_day(
        "certain and right, certain and wrong",
        (("u", "a", 1.0, 1.0), ("u", "b", 0.0, 0.0), ("u", "c", 1.0, 0.0)),
        {
            "logloss": ((-2 * log(1 - 2**-52) + 52 * log(2)) / 3, 0),  # clipped to 2^-52
            "brier": (1 / 3, 0),
            "ece": (1 / 3, 0),  # a score of 1 stands in the last bin
        },
    ),
    *whole_day(
        "grades at a threshold, as a classifier",
        tuple(("u", str(i), score, label) for i, (score, label) in enumerate([(0.8, 1.0), (0.6, 3.0), (0.4, 2.0)])),
        {
            "accuracy(rel=2)": (1 / 3, 0),
            "precision(rel=2)": (1 / 2, 0),
            "recall(rel=2)": (1 / 2, 0),
            "tpr(rel=2)": (1 / 2, 0),
            "specificity(rel=2)": (0, 0),
            "fpr(rel=2)": (1, 0),
            "f1(rel=2)": (1 / 2, 0),
            "fbeta(rel=3)": ((2 * 1 / 2 * 1) / (1 / 2 + 1), 0),
            "logloss(rel=2)": ((-log(0.2) - log(0.6) - log(0.4)) / 3, 0),
            "ne(rel=2)": ((-log(0.2) - log(0.6) - log(0.4)) / 3 / -(log(1 / 3) / 3 + log(2 / 3) * 2 / 3), 0),
            "brier(rel=2)": ((0.64 + 0.16 + 0.36) / 3, 0),
            "copc(rel=2)": (2 / 1.8, 0),
            "ece(rel=2)": ((0.8 + 0.4 + 0.6) / 3, 0),
            "pr_auc(exact,rel=2)": ((1 / 2 + 2 / 3) / 2, 0),
            "bep(exact,rel=2)": (1 / 2, 0),
            "ks(exact,rel=2)": (0, 0),
            "ks(exact,rel=3)": (1 - 1 / 2, 0),
            # joined from the top: .8 with .6, and .4, which is one row alone, with them
            "auc_up(exact,min_rows=2,rel=2)": (1 / 2, 0),
        },
    ),
    *whole_day(
        "neighbours joined",
        ranking("u", 0, 1, 1, 1, 0, 0, 0),
        {
            # from the top: 0+1 1, 1 1, 0 0, and the last 0 with them: 1+1, 2+0, 0+3 of 3 and 4
            "auc_up(exact,min_rows=2)": ((2 * 4 + 1 * (1 / 2 + 3)) / 12, 0),
            "auc_up(exact,min_rows=3)": ((2 * (1 / 2 * 1 + 3) + 1 * 3 / 2) / 12, 0),  # 2+1, and 1+3
            "auc_up(exact,min_rows=7)": (1 / 2, 0),
        },
    ),
    *whole_day(
        "no positive row",
        ranking("u", 0, 0),
        {
            **dict.fromkeys(("pr_auc(exact)", "bep(exact)", "ks(exact)"), (None, 0)),
            **dict.fromkeys(
                ("recall", "tpr", "f1(threshold=9)", "fbeta(threshold=9)", "precision(threshold=9)"), (None, 0)
            ),
            **dict.fromkeys(("f1", "fbeta", "precision"), (0, 0)),
        },
    ),
    *whole_day("no negative row", ranking("u", 1, 1), {"specificity": (None, 0), "fpr": (None, 0)}),
    *whole_day("one class of probabilities", PROBABILITIES[:1], {"ne": (None, 0), "logloss": (log(2), 0)}),
    *whole_day("nothing predicted", (("u", "a", 0.0, 0.0),), {"copc": (None, 0), "brier": (0, 0)}),
    *whole_day(
        "scores that are no probabilities",
        LOGITS_TIED,
        dict.fromkeys(("logloss", "ne", "brier", "copc", "ece"), (None, 0)),
    ),
    *whole_day(
        "no row with a score",
        (("u", "a", None, 1.0),),
        dict.fromkeys(("accuracy", "logloss", "brier", "ece", "auc(exact)"), (None, 0)),
    ),
)

GROUPED = (*BINARY, *THRESHOLDS, *GRADES, *TIES, *MEANS, *RETRIEVAL, *COMPARISONS)
CASES: tuple[Case, ...] = (*GROUPED, *DAYS, *CLASSIFIED, *CALIBRATED, *LISTS)
