"""The explained arithmetic of every declared metric adds up to what the group table has, whatever the rows are like."""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, Definitions, GroupMetric, Metric, PooledMetric, plan_of
from sparkrank.metrics.arithmetic import TermColumn
from sparkrank.results.explanation import ExplainedMetric
from tests.extent import IS_LONG

# The metrics of a group, with the parameters of each that change its steps.
OF_A_GROUP = {
    "p": "over=k over=retrieved over=min_retrieved_relevant",
    "p@5": "over=k over=retrieved over=min_k_relevant over=min_retrieved_relevant",
    "r@5": "over=relevant over=min_k_relevant",
    "f@5": "beta=1 beta=2",
    "hit@5": "",
    "rprec": "",
    "ap": "over=relevant over=hits",
    "ap@5": "over=relevant over=min_k_relevant over=k over=hits",
    "rr@5": "",
    "cg@5": "gain=linear gain=exp2 gain=binary",
    "dcg@5": "gain=linear gain=exp2 gain=binary discount=log2 discount=zipf discount=[1,0.5]",
    "ndcg": "gain=linear gain=exp2 gain=binary ideal=judged ideal=retrieved ideal=[3,2,1] discount=log2 discount=zipf",
    "ndcg@5": "gain=linear ideal=judged ideal=retrieved ideal=k_relevant ideal=[3,2,1]",
    "rbp": "p=0.8 p=0.5 gain=linear,max_grade=2",
    "rbp@3": "gain=linear,max_grade=1",
    "fallout@3": "rel=2",
    "n_ret@3": "",
    "judged": "",
    "judged@3": "over=k",
    "unj@3": "",
    "ndcg@4": "unjudged=drop",
    "rr": "unjudged=drop unjudged=best",
    "dcg@4": "max_grade=3,unjudged=best",
    "n_rel_ret@3": "",
    "first_rank": "",
    "percentile_rank": "items=20",
    "pfound@5": "decay=0.85 decay=1",
    "calibration_gap": "rel=2 unjudged=drop",
    "group_rmse": "weight=rows",
    "group_mae": "weight=rows",
    "group_auc": "weight=uniform weight=rows weight=positives weight=pairs",
    "gauc": "weight=rows weight=uniform weight=positives weight=pairs",
    "pair_auc": "weight=uniform weight=rows weight=pairs",
    "kendall_tau": "variant=b variant=c ref=label ref=reference_rank ref=model",
    "kendall_distance": "ref=label ref=reference_rank ref=model",
    "spearman": "ref=label ref=reference_rank ref=model",
    "fitness": "alpha=0.5 alpha=1 discount=none discount=log2",
    "err@5": "",
    "bpref": "",
    "iprec": "recall=0 recall=0.5",
    "arhr@5": "",
    "new@5": "over=k over=retrieved",
    "rbo": "p=0.9 p=0.5",
    "filled@3": "",
    **dict.fromkeys(("overlap@3", "unexpected@3"), "ref=reference_rank ref=model over=k over=retrieved over=union"),
    **dict.fromkeys(("overlap", "unexpected"), "over=k over=union"),
    "serendipity@3": "ref=reference_rank ref=model",
    "serendipity": "",
    "list_length": "",
    "shown(of=price)": "",
    "shown(of=price)@3": "",
    "shown(of=price,by=sum)@3": "",
    "shown(of=price,discount=log2)@3": "",
    "shown(of=price,by=sum,discount=log2)@3": "",
    "shown(of=item,is=i1)@3": "",
    **dict.fromkeys(
        [
            *("distinct(by=price)", "distinct(by=price)@3", "distinct(by=price,over=retrieved)@3"),
            *("category_entropy(by=price)", "category_entropy(by=price)@3"),
            *("ild(by=price)", "ild(by=price)@3", "ild(by=[price,item])@3", "ild(by=[price,item],scale=mean)@3"),
            "ild(by=price,single=zero)@2",
        ],
        "",
    ),
    **dict.fromkeys(("alpha_ndcg(by=tags)@3", "alpha_ndcg(by=tags,alpha=0.25,rel=2)", "strecall(by=tags)"), ""),
    "strecall(by=tags,rel=2)@3": "",
    **dict.fromkeys(
        [
            *("past_novelty(of=users)", "past_novelty(of=rows,over=lists)@3", "past_novelty(of=users,scale=unit)@3"),
            *("past_serendipity(of=rows)", "past_serendipity(of=rows,over=retrieved)@3"),
        ],
        "",
    ),
    "awrf(by=item)": "",
    "awrf(by=item)@3": "",
    "awrf(by=item,distance=js,rel=2)@3": "",
    "awrf(by=item,discount=[1,0,0])@3": "",
}
WITHOUT_EXPECTATION = {"alpha_ndcg", "awrf", "err", "iprec", "iprec11", "infap", "pfound"}
OF_UNJUDGED = {"judged", "unj"}  # which an evaluation that drops such rows refuses
OF_GROUPS = {name for name, declared in CATALOG.items() if isinstance(declared, GroupMetric)}
GROUPS = 6 if IS_LONG else 4
MODELS = {"one": "one", "two": "two"}
TIES = ("expected", "item", "worst", "best", "block")


def _rows(seed: int) -> pa.Table:
    """Groups of up to nine rows with few scores, so that most are tied; nulls in scores and labels; items twice."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 10, GROUPS)
    rows = int(sizes.sum())

    def with_nulls(values: np.ndarray) -> pa.Array:
        return pa.array(values, mask=draw.random(rows) < 0.15)

    return pa.table(
        {
            "user": np.repeat(np.arange(GROUPS), sizes),
            "item": [f"i{item}" for item in draw.integers(0, 7, rows)],
            **{model: with_nulls(draw.integers(0, 5, rows) / 4) for model in MODELS},
            "label": with_nulls(draw.integers(-1, 4, rows)),
            "place": with_nulls(draw.integers(1, 6, rows).astype(float)),
            "weight": draw.integers(1, 4, rows) / 2,
            "price": with_nulls(draw.integers(0, 9, rows) / 4),
            "tags": pa.array([[*"abcde"[: n % 4], *"cd"[n // 4 :]] for n in draw.integers(0, 8, rows)]),
            "worth": np.repeat(draw.integers(1, 5, GROUPS).astype(float), sizes),
        }
    )


def _name(text: str) -> str:
    return text.partition("(")[0].partition("@")[0]


def _texts(*, with_parameters: bool = True) -> list[str]:
    """Every declared metric of groups, with a cut-off and without, and with each value of its parameters if asked."""
    texts = [*OF_A_GROUP]
    for text, settings in OF_A_GROUP.items() if with_parameters else ():
        name, at, k = text.partition("@")
        texts += [f"{name}({setting}){at}{k}" for setting in settings.replace("ref=model", "ref=two").split()]
    texts += OF_GROUPS - set(map(_name, texts))
    weighted = ["ndcg(weight=worth)@3", "rr(weight=rows)", "p(weight=relevant,rel=2)@3", "group_auc(tied=zero)"]
    return [*dict.fromkeys([*texts, *weighted, "iprec@0.5", "iprec(round=nearest)@0.5", "r(rel=2)@2"])]


HAD = pa.table({"user": [0, 0, 1, 2, 3, 4, 9], "item": [f"i{item}" for item in (0, 1, 2, 3, 4, 5, 6)]})
JOINED = {"score": MODELS, "label": "label", "item": "item"}
COLUMNS = {**JOINED, "reference_rank": "place"}
# Settings of an evaluation, of which each changes what a list, a position or a mean is.
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "once and zero": {"duplicates": "once", "undefined": "zero", "population": "both"},
    "first and one": {"duplicates": "first", "undefined": "one", "unretrieved": "skip"},
    "drop": {"unjudged": "drop"},
}


OPERATIONS: dict[str, Callable[..., float]] = {
    "sum": lambda column: float(sum(map(Fraction, column))),
    "highest": lambda column: max([0.0, *column]),
    "ratio": lambda one, other: one / other if other else math.nan,
    "share": lambda one, other: one / other if other else 0.0,
    "times": operator.mul,
    "plus": operator.add,
    "minus": operator.sub,
    "min": min,
    "max": max,
    "root": math.sqrt,
    "where": lambda one, other: one if other else math.nan,
}


def recomputed(explained: ExplainedMetric) -> float:
    """The value of the last step, done again by hand: from the columns as they are shown, and exact but for the end."""
    columns = {
        TermColumn(table.name, name): [value for value in values if value is not None]
        for table in explained.tables
        for name, values in table.columns.items()
        if all(value is None or isinstance(value, (int, float)) for value in values)
    }
    done: dict[str, float] = {}
    for step in explained.steps:
        operands = [
            columns[part] if isinstance(part, TermColumn) else done.get(part, part) if isinstance(part, str) else part
            for part in step.operands
        ]
        if step.operation == "given":
            done[step.name] = step.value
        elif any(isinstance(part, float) and math.isnan(part) for part in operands):
            done[step.name] = math.nan
        else:
            done[step.name] = OPERATIONS[step.operation](*operands)
    return done[explained.steps[-1].name]


def _agree(found: float, value: float) -> bool:
    return (math.isnan(found) and math.isnan(value)) or math.isclose(found, value, rel_tol=1e-12, abs_tol=1e-14)


def _accepted(texts: list[str], settings: dict[str, Any]) -> list[str]:
    """Those of ``texts`` that are computed under ``settings``: some metrics have no mean over orders of tied rows."""
    kept = []
    for text in texts:
        with suppress(MetricError):
            plan_of([text], [*MODELS], ["user"], Definitions(**settings))
            kept.append(text)
    return kept


def _same_by_group(
    rows: pa.Table, texts: list[str], columns: dict[str, Any], settings: dict[str, Any], **more: Any
) -> int:
    given = {**columns, **settings, **more, "interactions": HAD}
    by_group = {
        (row["user"], row["model"]): row for row in sr.evaluate(rows, texts, group="user", **given).groups.to_pylist()
    }
    checked = 0
    for user in range(GROUPS):
        for shown in sr.explain(rows, texts, group={"user": user}, **given):
            row = by_group.get((user, shown.model))
            if row is None:  # the population leaves the group out
                assert math.isnan(shown.counts_as)
                assert any("left out" in sentence for sentence in shown.notes)
                continue
            value = row[shown.metric]
            assert shown.value == value or (math.isnan(shown.value) and math.isnan(value)), shown.metric
            for again in (shown.steps[-1].value, recomputed(shown)):
                assert _agree(again, value), (shown.metric, user, shown.steps, value)
            checked += 1
    return checked


# Every rule of ties alone, and each setting where tied rows have chances; in a long run also where they have positions.
UNDER = [
    *((ties, "plain") for ties in TIES),
    *((ties, name) for ties in ("expected", *(["item"] if IS_LONG else [])) for name in SETTINGS if name != "plain"),
]
# Parameters change how steps are made of positions.
WITH_PARAMETERS = UNDER if IS_LONG else [("expected", "plain")]


@pytest.mark.parametrize(("ties", "name"), UNDER)
def test_the_steps_lead_to_the_value_of_the_group_table(ties: str, name: str) -> None:
    settings = {**SETTINGS[name], "ties": ties}
    texts = _accepted(_texts(with_parameters=(ties, name) in WITH_PARAMETERS), settings)
    refused = WITHOUT_EXPECTATION if ties == "expected" else set()
    assert OF_GROUPS - set(map(_name, texts)) <= refused | (OF_UNJUDGED if name == "drop" else set())
    seed = TIES.index(ties) * 10 + list(SETTINGS).index(name)
    assert _same_by_group(_rows(seed), texts, COLUMNS, settings) > 100


@pytest.mark.parametrize("positions", ["given", "given_from_0"])
def test_the_steps_where_positions_are_given(positions: str) -> None:
    rows = _rows(7)
    ranks = [None if score is None else round(score * 4) + (positions == "given") for score in rows["one"].to_pylist()]
    rows = rows.append_column("rank", pa.array(ranks, pa.int64()))
    columns = {"rank": "rank", "label": "label", "item": "item", "reference_rank": "place"}
    settings = {"positions": positions}
    texts = _accepted([text for text in _texts(with_parameters=IS_LONG) if "two" not in text], settings)
    assert len(texts) > 40
    assert _same_by_group(rows, texts, columns, settings) > 100


@pytest.mark.parametrize("ties", TIES if IS_LONG else ["item"])
def test_the_steps_where_lists_are_joined_with_a_truth(ties: str) -> None:
    rows = _rows(21)
    lists, truth = rows.select(["user", "item", "one", "two", "worth", "price"]), rows.select(["user", "item", "label"])
    truth = truth.filter(pa.array([group != 3 for group in truth["user"].to_pylist()]))
    texts = _accepted(_texts(with_parameters=IS_LONG), {"ties": ties})
    texts = [text for text in texts if "by=tags" not in text]  # a truth has no tags
    texts = [text for text in texts if "reference_rank" not in Metric.parse(text).definition]
    assert _same_by_group(lists, texts, JOINED, {"ties": ties}, truth=truth) > 100


def test_the_steps_of_arrays() -> None:
    lists = [["a", "b", "c"], ["b"], ["a", "b"], ["x", "y"]]
    rows = pa.table({"user": [1, 2, 2, 3], "found": lists, "liked": [["c", "z"], ["b"], ["q"], []]})
    columns = {"items": "found", "true_items": "liked"}
    texts = ["ndcg", "ap", "p@2", "rr", "bpref"]
    table = sr.evaluate(rows, texts, group="user", **columns).groups.to_pylist()
    values = [(row["user"], *(row[text] for text in texts)) for row in table]
    explained = [
        (user, *(shown.steps[-1].value for shown in group.metrics))
        for user in (1, 2, 3)
        for key in sr.explain(rows, texts, group={"user": user}, **columns).keys
        for group in key.groups
    ]
    assert len(values) == 4
    assert sorted(map(_rounded, explained)) == sorted(map(_rounded, values))


def _rounded(row: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(-1.0 if math.isnan(value) else round(value, 12) for value in row)


def test_what_groups_add_to_pooled_sums_is_all_there_is() -> None:
    """Added up over all groups, the terms of rows give the sums of the day, and the bins its bins."""
    rows = _rows(5)
    columns = {**JOINED, "weight": "weight"}
    texts = [name for name, declared in CATALOG.items() if isinstance(declared, PooledMetric) and name != "value"]
    ev = sr.evaluate(rows, texts, group="user", **columns)
    sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for user in range(GROUPS):
        for shown in sr.explain(rows, texts, group={"user": user}, **columns):
            assert _agree(recomputed(shown), shown.steps[-1].value)
            sums[shown.metric, shown.model].update({step.name: step.value for step in shown.steps})
    for row in ev.metrics.to_pylist():
        added = sums[row["metric"], row["model"]]
        assert (added["rows"], added["weight"]) == (row["n_rows"], pytest.approx(row["weight"]))
    for metric, part, whole in (
        ("precision", "true_positives(threshold=0.5)", "predicted(threshold=0.5)"),
        ("recall", "true_positives(threshold=0.5)", "positives"),
        ("brier", "squared_error", "weight"),
        ("logloss", "log_loss", "weight"),
    ):
        for model in MODELS:
            added = sums[metric, model]
            assert math.isclose(added[part] / added[whole], ev.value(metric, model=model))


def test_what_a_list_adds_to_all_lists() -> None:
    """Of three tied rows k cuts one off: each is shown with the chance 2/3."""
    rows = pa.table({"user": ["a"] * 3, "item": ["x", "y", "z"], "score": [1.0, 1.0, 1.0], "click": [1, 0, 0]})
    (found,) = sr.explain(rows, "gini@2", group={"user": "a"}, score="score", label="click", item="item")
    assert found.tables[0].columns["shown"] == pytest.approx([2 / 3] * 3)
    assert found.steps[-1].value == pytest.approx(2)
    assert math.isnan(found.value)
    assert any("all lists together" in sentence for sentence in found.notes)
