"""Every metric, and every value of its parameters, against its oracle on a random log: a walk over the declarations."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.parameters import WEIGHT, Choice, Column, ColumnChoice, Flag, Name, Parameter
from tests.oracles import ALL_LISTS, ALL_ROWS, ORACLES, OTHERS, PAIRED, Value
from tests.oracles.catalogues import Shown
from tests.oracles.lists import alpha_ndcg_of, fairness, subtopic_recall_of
from tests.oracles.policy_values import Action
from tests.oracles.propensities import weighed
from tests.oracles.values import is_relevant
from tests.support.buckets import or_nan
from tests.support.strategies import Asked, text

K = 4
CLOSE = 1e-9  # of a discount that is kept to 2^-33
# A number for each parameter that takes one, which is not its default, and a list for each that takes one.
# fmt: off
NUMBERS: dict[str, float | int] = {
    "alpha": 0.25, "beta": 2.0, "clip": 0.4, "decay": 0.5, "fpr": 0.3, "gamma": 0.5, "max_fpr": 0.4, "max_grade": 3.0,
    "min_effective": 1.5, "p": 0.5, "precision": 0.4, "recall": 0.3, "rel": 2.0, "threshold": 0.3, "top": 0.2,
    "bins": 4, "bits": 1, "digits": 1, "items": 40, "mass": 3, "min_rows": 4, "sampled": 2,
}
# fmt: on
LISTS: dict[str, tuple[float, ...]] = {"gain": (0.0, 1.0, 2.0, 5.0), "discount": (1.0, 0.5, 0.25), "ideal": (3.0, 2.0)}
# What is named: a model, a text, and the column of each kind that a metric may read.
NAMED: dict[str, str] = {"ref": "other", "weight": "importance", "is": "drama", "gain": "price"}
COLUMNS = {"category": "genre", "number": "price", "texts": "topics"}
# What is given beside a parameter; beside that of a metric; and beside one value of it.
BESIDE: dict[tuple[str, ...], dict[str, Any]] = {
    ("against",): {"by": "catalog.genre"},
    ("gamma",): {"by": "minimal_bias"},
    ("is",): {"of": "genre"},
    ("distinct", "over"): {"by": "catalog.genre"},
    ("entropy", "items"): {"scale": "unit"},
    ("cg", "max_grade"): {"unjudged": "best"},
    ("dcg", "max_grade"): {"unjudged": "best"},
    ("past_novelty", "weight"): {"over": "lists"},
    ("rbp", "max_grade"): {"gain": "linear"},
    ("rbp", "gain", "linear"): {"max_grade": 3.0},
    ("ild", "scale"): {"by": ("genre", "year")},
    ("ild", "distance", "jaccard"): {"by": "tags"},
    ("ild", "distance", "cosine"): {"by": "vector"},
    **{(name, "clip"): {"propensity": "ips"} for name in ("p", "r", "cg", "dcg", "ndcg", "rbp", "arhr")},
    **{(name, "rel"): {"gain": "binary"} for name in ("cg", "dcg", "ndcg")},
}


class Row(NamedTuple):
    """A row of a log."""

    user: str
    item: str
    score: float | None
    label: float | None
    other: float | None  # the score of another model
    reference_rank: float | None
    propensity: float
    estimate: float
    policy_estimate: float
    importance: float  # the weight of its group
    price: float | None
    genre: str | None
    year: int
    tags: frozenset[str]
    vector: tuple[float, ...]
    topics: frozenset[str]


class Log(NamedTuple):
    """Rows, the genre of each item of a catalog, and the (group, item) of interactions."""

    rows: list[Row]
    catalog: dict[str, str | None]
    had: list[tuple[str, str]]


def some(draw: random.Random, *values: Any, most: int = 2) -> frozenset[Any]:
    return frozenset(draw.sample(values, draw.randint(1, most)))


@functools.cache
def log() -> Log:
    """Lists with ties, rows without a label and rows that no list has, which are the last; some lists are samples."""
    draw = random.Random(8)  # noqa: S311 - of a test
    items = [f"i{number}" for number in range(16)]
    catalog = {item: draw.choice(["drama", "comedy", "war", None]) for item in [*items, "unlisted"]}
    rows = []
    for user in range(24):
        is_sample = user < 6  # one relevant row, and two that are not
        listed, place_of_hit = 3 if is_sample else draw.randint(1, 7), draw.randint(0, 2)
        ranks = draw.sample(range(1, 10), 8)
        for place, item in enumerate(draw.sample(items, 8)):
            label = draw.choice([None, 0.0, 0.0, 1.0, 2.0, 3.0])
            if is_sample:
                label = draw.choice([1.0, 2.0]) if place == place_of_hit else draw.choice([None, 0.0])
            score = (draw.randint(1, 31) + (8 if label and label > 1 else 0)) / 40
            rows.append(
                Row(
                    *(str(user), item, score if place < listed else None, label),
                    *(draw.choice([None, place / 8, 1 - place / 8]), draw.choice([None, float(ranks[place])])),
                    *(draw.choice([0.2, 0.5, 1.0]), draw.random(), draw.random(), 1.0 + user % 3),
                    *(draw.choice([None, 1.5, 2.0, 4.0]), draw.choice(["drama", "comedy", None]), draw.randint(0, 2)),
                    *(some(draw, *"abc"), (draw.random(), 1.0, draw.random()), some(draw, *"abcd")),
                )
            )
    return Log(rows, catalog, [(str(draw.randint(0, 23)), draw.choice(items)) for _ in range(80)])


# What is asked of a declaration -----------------------------------------------------------------------------------


def values_of(parameter: Parameter) -> Iterator[Any]:
    """Every word of the parameter, and one of each other kind of value that it takes."""
    if isinstance(parameter, (Choice, Name)):
        yield from parameter.choices
    if isinstance(parameter, ColumnChoice):
        return
    if (isinstance(parameter, Choice) and parameter.grades) or getattr(parameter, "listed", None):
        yield LISTS[parameter.name]
    if isinstance(parameter, Column):
        yield COLUMNS.get(parameter.kind, NAMED.get(parameter.name))
    elif isinstance(parameter, Name):
        yield NAMED[parameter.name]
    elif isinstance(parameter, Flag):
        yield True
    elif not isinstance(parameter, Choice):
        yield NUMBERS[parameter.name]


def required(declaration: Declaration) -> dict[str, Any]:
    """The parameters without which the metric means nothing."""
    given: dict[str, Any] = {}
    for own in declaration.parameters:
        if isinstance(own, Column) and own.default is None:
            given[own.name] = COLUMNS[own.kind]
        elif isinstance(own, ColumnChoice):
            given[own.name] = own.choices[0]
        elif getattr(own, "required", False):
            given[own.name] = NUMBERS[own.name]
    return given


def asked_of(declaration: Declaration) -> list[Asked]:
    """The metric alone, with a cut-off and without, and with each value of each parameter of its own and of weights.

    Ties and rows without a label, which all metrics have too, are those of test_strict_ties, test_expected_ties and
    test_unjudged_rows.
    """
    whole, name = required(declaration), declaration.name
    cuts = [None] if declaration.cutoff == "none" else [K, None]
    found = [(name, whole, k) for k in cuts]
    for parameter in (*declaration.parameters, *(own for own in declaration.common if own == WEIGHT)):
        for value in values_of(parameter):
            keys = ((parameter.name,), (name, parameter.name), (name, parameter.name, str(value)))
            beside = {own: given for key in keys for own, given in BESIDE.get(key, {}).items()}
            found.append((name, {**whole, **beside, parameter.name: value}, cuts[0]))
    return found


# What oracles take ------------------------------------------------------------------------------------------------


def in_order(rows: Sequence[Row], score: Callable[[Row], float | None] = operator.attrgetter("score")) -> list[Row]:
    """The rows that have a score, the highest first, and of tied ones the highest item."""
    scored = [row for row in rows if score(row) is not None]
    return sorted(scored, key=lambda row: (score(row), row.item.encode()), reverse=True)


def ranked_by(rows: Sequence[Row], value: Callable[[Row], Any]) -> list[tuple[int, Any]]:
    return [(place, value(row)) for place, row in enumerate(in_order(rows), start=1)]


def items_of(rows: Sequence[Row]) -> list[str]:
    return [row.item for row in rows]


def value_of(by: str | tuple[str, ...]) -> Callable[[Row], Any]:
    """What a row has in a column, or its item in the catalog; of several columns each needs a value."""
    if by == "catalog.genre":
        return lambda row: log().catalog[row.item]
    if isinstance(by, str):
        return operator.attrgetter(by)
    return lambda row: None if None in (values := tuple(getattr(row, name) for name in by)) else values


def reference_of(ref: str) -> Callable[[Row], float | None]:
    """The number of a row by which another order puts it, the highest first."""
    if ref == "reference_rank":
        return lambda row: None if row.reference_rank is None else -row.reference_rank
    return value_of(ref)


def relevant_of(rows: Sequence[Row], rel: float | None) -> list[Row]:
    return [row for row in rows if is_relevant(row.label, rel)]


def target_of(rows: Sequence[Row], value: Callable[[Row], Any], against="relevant", rel=None) -> list[Any]:
    """The values among which attention is due."""
    if against == "relevant":
        return [value(row) for row in relevant_of(rows, rel)]
    return [*log().catalog.values()] if against == "catalog" else [log().catalog[item] for _, item in log().had]


def label_of(name: str, given: dict[str, Any]) -> Callable[[Row], Any]:
    """What an oracle takes as the label of a row. Parameters that this answers are taken out of ``given``."""
    if name == "new":
        return lambda row: float((row.user, row.item) in log().had)
    if name == "shown":
        value, texts = value_of(given["of"]), [given.pop("is")] if "is" in given else []
        return lambda row: float(value(row) in texts) if texts and value(row) is not None else value(row)
    if "by" in given:
        return value_of(given["by"])
    if "ref" in given:
        return reference_of(given["ref"])
    if given.get("gain") == "price":
        given["gain"] = "linear"
        return lambda row: (row.price or 0.0) if is_relevant(row.label) else 0.0
    if given.pop("unjudged", None) == "best":
        best = given.pop("max_grade")
        return lambda row: best if row.label is None else row.label
    return operator.attrgetter("label")


def of_group(rows: Sequence[Row], name: str, k: dict[str, int | None], given: dict[str, Any]) -> Value:
    """The value that the oracle of a metric of groups has for ``rows``; ``k`` is empty for one without a cut-off."""
    given = {own: value for own, value in given.items() if own != "weight"}
    if name in PAIRED:
        reference = reference_of(given.pop("ref", "label"))
        return PAIRED[name]([(row.score, reference(row)) for row in rows], **given)
    if "propensity" in given:
        places = {row.item: -float(place) for place, row in enumerate(in_order(rows))}
        return weighed(name, [(places.get(row.item), row.label or 0.0, row.propensity) for row in rows], **given, **k)
    if name == "past_novelty":
        return ORACLES[name](ranked_by(rows, operator.attrgetter("item")), log().had, **given, **k)
    if name == "awrf":
        value = value_of(given.pop("by"))
        target = target_of(rows, value, given.pop("against", "relevant"), given.pop("rel", None))
        return fairness(ranked_by(rows, value), target, **given, **k)
    relevant = relevant_of(rows, given.get("rel"))
    if name in ("overlap", "unexpected", "serendipity", "past_serendipity", "alpha_ndcg", "strecall"):
        given.pop("rel", None)
    if name in ("overlap", "unexpected", "serendipity"):
        other = in_order(rows, reference_of(given.pop("ref", "reference_rank")))
        return ORACLES[name](items_of(in_order(rows)), items_of(other), items_of(relevant), **given, **k)
    if name == "past_serendipity":
        given.pop("of")
        return ORACLES[name](ranked_by(rows, lambda row: (row.item, row in relevant)), log().had, **given, **k)
    if name in ("alpha_ndcg", "strecall"):
        value, oracle = value_of(given.pop("by")), alpha_ndcg_of if name == "alpha_ndcg" else subtopic_recall_of
        shown = [(place, value(row)) for place, row in enumerate(in_order(rows), start=1) if row in relevant]
        return oracle(shown, [(row.item, value(row)) for row in relevant], **given, **k)
    label = label_of(name, given)
    if given.get("over") == "catalog":
        given["catalog"] = [*filter(None, log().catalog.values())]
    return ORACLES[name](ranked_by(rows, label), [label(row) for row in rows], **given, **k)


def weight_of(rows: Sequence[Row], name: str, k: int | None, given: dict[str, Any]) -> float:
    """What a group counts in the mean. ``given`` has the defaults, too."""
    listed, relevant = in_order(rows), relevant_of(rows, given.get("rel"))
    weight = "shown" if name == "past_novelty" and given["over"] == "rows" else given.get("weight", "uniform")
    if weight == "importance":
        return rows[0].importance
    hits = len([row for row in listed if row in relevant])
    graded = sum((one.label or 0.0) < (other.label or 0.0) for one in listed for other in listed)
    return {
        "uniform": 1,
        "shown": len(listed[:k]),
        "rows": len([row for row in listed if row.label is not None or name not in ("group_rmse", "group_mae")]),
        "relevant": len(relevant),
        "positives": hits,
        "pairs": graded if name == "pair_auc" else hits * (len(listed) - hits),
    }[weight]


def ranks_of(groups: Sequence[Sequence[Row]], sampled: int, rel: float | None) -> list[int]:
    """The ranks of relevant rows in lists of one and ``sampled`` others."""
    found = []
    for rows in groups:
        relevant = relevant_of(rows, rel)
        if len(in_order(rows)) == sampled + 1 and len(relevant) == 1 and relevant[0].score is not None:
            found.append(in_order(rows).index(relevant[0]) + 1)
    return found


def by_oracle(metric: Metric, given: dict[str, Any]) -> Value:
    """The value of the whole log."""
    name, k, given = metric.name, metric.k, {**given}
    groups = [[*rows] for _, rows in itertools.groupby(log().rows, operator.attrgetter("user"))]
    listed = [row for row in log().rows if row.score is not None]
    if name in ORACLES:
        cut = {} if metric.declaration.cutoff == "none" else {"k": k}
        everything = {**metric.declaration.defaults, **given}
        weighted = [(of_group(rows, name, cut, given), weight_of(rows, name, k, everything)) for rows in groups]
        known = [(value, weight) for value, weight in weighted if value is not None]
        return math.fsum(value * weight for value, weight in known) / math.fsum(weight for _, weight in known)
    if name in ALL_ROWS:
        return ALL_ROWS[name]([(row.score, row.label) for row in listed], **given)
    if name in ALL_LISTS:
        lists = {rows[0].user: items_of(in_order(rows)) for rows in groups}
        judged = [(row.item, row.label) for row in log().rows]
        return ALL_LISTS[name](Shown(lists, sorted({item for item, _ in judged}), judged), k, **given)
    if name == "value":
        fields = Action._fields[3:]
        actions = [Action(row.user, row.score, row.label, *(getattr(row, own) for own in fields)) for row in listed]
        return OTHERS[name](actions, **given)
    if name == "exposure_gap":
        value = value_of(given.pop("by"))
        target = target_of(log().rows, value, given.pop("against", "relevant"), given.pop("rel", None))
        return OTHERS[name]([[value(row) for row in in_order(rows)] for rows in groups], target, k, **given)
    return OTHERS[name](ranks_of(groups, given["sampled"], given.pop("rel", None)), k, **given)


# The walk ---------------------------------------------------------------------------------------------------------

ROLES: dict[str, Any] = {"group": "user", "item": "item", "label": "label", "reference_rank": "reference_rank"}
ROLES |= {name: name for name in ("propensity", "estimate", "policy_estimate")}


def tables_read(metric: str) -> tuple[str, ...]:
    """Which of the other model and the two tables beside the lists the metric names."""
    named = {
        "other": ("ref=other",),
        "catalog": ("catalog",),
        "interactions": ("new", "(of=users", "(of=rows", "interactions"),
    }
    return tuple(table for table, words in named.items() if any(word in metric for word in words))


def values_of_log(metrics: Sequence[str]) -> dict[str, float]:
    """The values of the whole log, with the tables beside the lists for those that read them."""
    columns: dict[str, Any] = {name: [getattr(row, name) for row in log().rows] for name in Row._fields}
    columns |= {name: [[*own] for own in columns[name]] for name in ("tags", "topics", "vector")}
    catalog = pa.table({"item": [*log().catalog], "genre": [*log().catalog.values()]})
    tables = {
        "catalog": catalog,
        "interactions": pa.table(dict(zip(("user", "item"), zip(*log().had, strict=True), strict=True))),
    }
    values: dict[str, float] = {}
    for read, own in itertools.groupby(sorted(metrics, key=tables_read), tables_read):
        texts = [*own]
        beside = {name: tables[name] for name in read if name != "other"}
        beside["score"] = {"score": "score", "other": "other"} if "other" in read else "score"
        rows = sr.evaluate(pa.table(columns), texts, ties="item", uncertainty=False, **ROLES, **beside).metrics
        of_model = [row["value"] for row in rows.to_pylist() if row["model"] == "score"]
        values |= dict(zip(texts, of_model, strict=True))
    return values


def test_every_metric_has_one_oracle() -> None:
    assert sorted([*ORACLES, *ALL_ROWS, *ALL_LISTS, *OTHERS]) == sorted(CATALOG)


@pytest.mark.parametrize("declaration", CATALOG.values(), ids=lambda declaration: declaration.name)
def test_every_value_of_every_parameter_is_that_of_its_oracle(declaration: Declaration) -> None:
    asked = {str(Metric.parse(text(parts))): parts for parts in asked_of(declaration)}
    for own, value in values_of_log([*asked]).items():
        expected = or_nan(by_oracle(Metric.parse(own), asked[own][1]))
        assert value == pytest.approx(expected, abs=CLOSE, nan_ok=True), own
