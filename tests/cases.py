"""Hand-worked cases: rows, a metric and its definitions, and the values with their arithmetic in sight.

The table is data: the kernels run it, and Spark runs it. The order of a case's rows means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log2

Row = tuple[str, str, float | None, float | None]  # group, item, score, label


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


def whole_day(title: str, rows: tuple[Row, ...], values: Mapping[str, tuple[float | None, float]]) -> Iterator[Case]:
    """A case for each metric of the whole day: (value, error bound)."""
    for metric, (value, bound) in values.items():
        yield Case(_id(title, metric, {}), rows, metric, None, value, error_bound=bound)


def _id(title: str, metric: str, definitions: Mapping[str, str]) -> str:
    return ", ".join([title, metric, *(f"{name}={value}" for name, value in definitions.items())])


GOOD_BAD = ranking("u", 1, 0, 1, 0, 1)
LISTED_3_OF_4 = ranking("u", 1, 1, 0, 0, 1, unlisted=(1,))
LISTED_3_OF_10 = ranking("u", 1, 1, 0, 0, 1, unlisted=(1,) * 7)
GRADED = ranking("u", 3, 2, 1, 0, 1)
NEGATIVE = ranking("u", -2, 2, -1, 1)
UNJUDGED = ranking("u", 1, None, 1, None)
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

CASES: tuple[Case, ...] = (*BINARY, *THRESHOLDS, *GRADES, *TIES, *MEANS, *DAYS)
