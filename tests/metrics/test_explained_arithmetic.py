"""The explained arithmetic of every declared metric adds up to what the group table has, whatever the rows are like."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, Definitions, GroupMetric, Plan, PooledMetric
from sparkrank.metrics.arithmetic import TermColumn
from sparkrank.results.explanation import ExplainedMetric

# The metrics of a group, with the parameters of each that change its steps.
OF_A_GROUP = {
    "p": "over=k over=retrieved",
    "p@5": "over=k over=retrieved over=min_k_relevant",
    "r@5": "over=relevant over=min_k_relevant",
    "f@5": "beta=1 beta=2",
    "hit@5": "",
    "rprec": "",
    "ap": "over=relevant over=hits",
    "ap@5": "over=relevant over=min_k_relevant over=k over=hits",
    "rr": "",
    "rr@5": "",
    "cg@5": "gain=linear gain=exp2 gain=binary",
    "dcg@5": "gain=linear gain=exp2 gain=binary discount=log2 discount=zipf discount=[1,0.5]",
    "ndcg": "gain=linear gain=exp2 gain=binary ideal=judged ideal=retrieved ideal=[3,2,1] discount=log2 discount=zipf",
    "ndcg@5": "gain=linear ideal=judged ideal=retrieved ideal=k_relevant ideal=[3,2,1]",
    "rbp": "p=0.8 p=0.5",
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
    "rbo": "p=0.9 p=0.5",
}
GROUPS = 6
MODELS = {"one": "one", "two": "two"}
TIES = ("expected", "item", "worst", "best", "block")


def _rows(seed: int) -> pa.Table:
    """Groups of up to nine rows with few scores, so that most are tied; nulls in scores and labels; items twice."""
    random = np.random.default_rng(seed)
    names = ("user", "item", "one", "two", "label", "place", "weight", "worth")
    rows: dict[str, list[Any]] = {name: [] for name in names}
    for group in range(GROUPS):
        worth = float(random.integers(1, 5))
        for _ in range(int(random.integers(1, 10))):
            rows["user"].append(group)
            rows["item"].append(f"i{random.integers(0, 7)}")
            for model in MODELS:
                rows[model].append(None if random.random() < 0.15 else float(random.integers(0, 5)) / 4)
            rows["label"].append(None if random.random() < 0.15 else int(random.integers(-1, 4)))
            rows["place"].append(None if random.random() < 0.15 else float(random.integers(1, 6)))
            rows["weight"].append(float(random.integers(1, 4)) / 2)
            rows["worth"].append(worth)
    return pa.table(rows)


def _texts() -> list[str]:
    """Every declared metric of groups, with each value of its parameters, with a cut-off and without."""
    found = []
    for text, settings in OF_A_GROUP.items():
        name, at, k = text.partition("@")
        own = [""] if name == "iprec" else []
        found += [
            f"{name}({setting}){at}{k}" if setting else text
            for setting in (*own, *settings.replace("ref=model", "ref=two").split())
        ]
    named = {each.partition("(")[0].partition("@")[0] for each in found}
    missing = [name for name, declared in CATALOG.items() if isinstance(declared, GroupMetric) and name not in named]
    weighted = ["ndcg(weight=worth)@3", "rr(weight=rows)", "p(weight=relevant,rel=2)@3", "group_auc(tied=zero)"]
    return list(
        dict.fromkeys([*OF_A_GROUP, *found, *missing, *weighted, "iprec@0.5", "iprec(round=nearest)@0.5", "r(rel=2)@2"])
    )


COLUMNS = {"score": MODELS, "label": "label", "item": "item", "reference_rank": "place"}
# Settings of an evaluation, of which each changes what a list, a position or a mean is.
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    **{f"duplicates={each}": {"duplicates": each} for each in ("once", "first")},
    "zero": {"undefined": "zero", "population": "both"},
    "one": {"undefined": "one", "unretrieved": "skip"},
    "drop": {"unjudged": "drop"},
}


def recomputed(found: ExplainedMetric) -> float:
    """The value of the last step, done again by hand: from the columns as they are shown, and exact but for the end."""
    columns = {
        TermColumn(table.name, name): [value for value in values if value is not None]
        for table in found.tables
        for name, values in table.columns.items()
        if all(value is None or isinstance(value, (int, float)) for value in values)
    }
    done: dict[str, float] = {}
    for step in found.steps:
        of = [
            columns[each] if isinstance(each, TermColumn) else done[each] if isinstance(each, str) else each
            for each in step.operands
        ]
        done[step.name] = _done(step.operation, of, step.value)
    return done[found.steps[-1].name]


def _done(operation: str, of: list[Any], given: float) -> float:
    if operation == "given":
        return given
    if operation == "sum":
        return float(sum(map(Fraction, of[0])))
    if operation == "highest":
        return max([0.0, *of[0]])
    if any(math.isnan(each) for each in of):
        return math.nan
    one, other = (*of, 0.0)[:2]
    with np.errstate(all="ignore"):
        return {
            "ratio": lambda: one / other if other else math.nan,
            "share": lambda: one / other if other else 0.0,
            "times": lambda: one * other,
            "plus": lambda: one + other,
            "minus": lambda: one - other,
            "min": lambda: min(one, other),
            "max": lambda: max(one, other),
            "root": lambda: math.sqrt(one),
            "where": lambda: one if other else math.nan,
        }[operation]()


def _agree(found: float, value: float) -> bool:
    return (math.isnan(found) and math.isnan(value)) or math.isclose(found, value, rel_tol=1e-12, abs_tol=1e-14)


def _accepted(texts: list[str], settings: dict[str, Any]) -> list[str]:
    """Those of ``texts`` that are computed under ``settings``: some metrics have no mean over orders of tied rows."""
    kept = []
    for text in texts:
        with suppress(MetricError):
            Plan.of([text], [*MODELS], ["user"], Definitions(**settings))
            kept.append(text)
    return kept


def _same_by_group(
    rows: pa.Table, texts: list[str], columns: dict[str, Any], settings: dict[str, Any], **more: Any
) -> int:
    ev = sr.evaluate(rows, texts, group="user", **columns, **settings, **more)
    table = ev.groups.to_pylist()
    by_group = {(row["user"], row["model"]): row for row in table}
    names = [str(metric) for metric in ev.plan.metrics]
    checked = 0
    for user in sorted({row["user"] for row in table}):
        for found in sr.explain(rows, texts, group={"user": user}, **columns, **settings, **more):
            row = by_group.get((user, found.model))
            assert found.metric in names
            if row is None:  # the population leaves the group out
                assert math.isnan(found.counts_as)
                assert any("left out" in sentence for sentence in found.told)
                continue
            value = row[found.metric]
            assert found.value == value or (math.isnan(found.value) and math.isnan(value)), found.metric
            assert _agree(found.steps[-1].value, value), (found.metric, user, found.steps, value)
            assert _agree(recomputed(found), value), (found.metric, user, found.steps, value)
            checked += 1
    return checked


# Every rule of ties alone, and each setting where tied rows have positions and where they have chances.
UNDER = [
    *((ties, "plain") for ties in TIES),
    *((ties, name) for ties in ("expected", "item") for name in SETTINGS if name != "plain"),
]


@pytest.mark.parametrize(("ties", "name"), UNDER)
def test_the_steps_lead_to_the_value_of_the_group_table(ties: str, name: str) -> None:
    settings = {**SETTINGS[name], "ties": ties}
    texts = _accepted(_texts(), settings)
    missing = {name for name, each in CATALOG.items() if isinstance(each, GroupMetric)} - {
        text.partition("(")[0].partition("@")[0] for text in texts
    }
    assert missing <= ({"err", "iprec", "infap"} if ties == "expected" else set())
    seed = TIES.index(ties) * 10 + list(SETTINGS).index(name)
    assert _same_by_group(_rows(seed), texts, COLUMNS, settings) > 100


@pytest.mark.parametrize("positions", ["given", "given_from_0"])
def test_the_steps_where_positions_are_given(positions: str) -> None:
    rows = _rows(7)
    ranks = [None if each is None else round(each * 4) + (positions == "given") for each in rows["one"].to_pylist()]
    rows = rows.append_column("rank", pa.array(ranks, pa.int64()))
    columns = {"rank": "rank", "label": "label", "item": "item", "reference_rank": "place"}
    settings = {"positions": positions}
    texts = _accepted([text for text in _texts() if "two" not in text], settings)
    assert len(texts) > 40
    assert _same_by_group(rows, texts, columns, settings) > 100


@pytest.mark.parametrize("ties", TIES)
def test_the_steps_where_lists_are_joined_with_a_truth(ties: str) -> None:
    rows = _rows(21)
    lists, truth = rows.select(["user", "item", "one", "two", "worth"]), rows.select(["user", "item", "label"])
    truth = truth.filter(pa.array([group != 3 for group in truth["user"].to_pylist()]))
    columns = {"score": MODELS, "label": "label", "item": "item"}
    texts = [text for text in _texts() if "reference_rank" not in text]
    texts = _accepted(texts, {"ties": ties})
    assert _same_by_group(lists, texts, columns, {"ties": ties}, truth=truth) > 100


def test_the_steps_of_arrays() -> None:
    lists = [["a", "b", "c"], ["b"], ["a", "b"], ["x", "y"]]
    rows = pa.table({"user": [1, 2, 2, 3], "found": lists, "liked": [["c", "z"], ["b"], ["q"], []]})
    columns = {"items": "found", "true_items": "liked"}
    texts = ["ndcg", "ap", "p@2", "rr", "bpref"]
    ev = sr.evaluate(rows, texts, group="user", **columns)
    values = [(row["user"], *(row[text] for text in texts)) for row in ev.groups.to_pylist()]
    explained = []
    for user in (1, 2, 3):
        for key in sr.explain(rows, texts, group={"user": user}, **columns).keys:
            explained += [(user, *(each.steps[-1].value for each in group.metrics)) for group in key.groups]
    same = {tuple(round(each, 12) if not math.isnan(each) else None for each in row) for row in values}
    assert {tuple(round(each, 12) if not math.isnan(each) else None for each in row) for row in explained} == same
    assert len(explained) == len(values) == 4


def test_what_groups_add_to_pooled_sums_is_all_there_is() -> None:
    """Added up over all groups, the terms of rows give the sums of the day, and the bins its bins."""
    rows = _rows(5)
    columns = {"score": MODELS, "label": "label", "item": "item", "weight": "weight"}
    texts = [name for name, each in CATALOG.items() if isinstance(each, PooledMetric)]
    ev = sr.evaluate(rows, texts, group="user", **columns)
    found = [list(sr.explain(rows, texts, group={"user": user}, **columns)) for user in range(GROUPS)]
    by_metric: dict[tuple[str, str], dict[str, float]] = {}
    for each in itertools.chain.from_iterable(found):
        sums = by_metric.setdefault((each.metric, each.model), {})
        for step in each.steps:
            assert _agree(recomputed(each), each.steps[-1].value)
            sums[step.name] = sums.get(step.name, 0.0) + step.value
    for row in ev.metrics.to_pylist():
        sums = by_metric[row["metric"], row["model"]]
        assert sums["rows"] == row["n_rows"]
        assert math.isclose(sums["weight"], row["weight"])
    for model in MODELS:
        share = {name: by_metric[f"{name}", model] for name in ("accuracy", "precision", "recall", "brier", "logloss")}
        for metric, part, whole in (
            ("precision", "true_positives(threshold=0.5)", "predicted(threshold=0.5)"),
            ("recall", "true_positives(threshold=0.5)", "positives"),
        ):
            assert math.isclose(share[metric][part] / share[metric][whole], ev.value(metric, model=model))
        for metric, part in (("brier", "squared_error"), ("logloss", "log_loss")):
            assert math.isclose(share[metric][part] / share[metric]["weight"], ev.value(metric, model=model))


def test_what_a_list_adds_to_all_lists() -> None:
    """Of three tied rows k cuts one off: each is shown with the chance 2/3."""
    rows = pa.table({"user": ["a"] * 3, "item": ["x", "y", "z"], "score": [1.0, 1.0, 1.0], "click": [1, 0, 0]})
    (found,) = sr.explain(rows, "gini@2", group={"user": "a"}, score="score", label="click", item="item")
    assert found.tables[0].columns["shown"] == pytest.approx([2 / 3] * 3)
    assert found.steps[-1].value == pytest.approx(2)
    assert math.isnan(found.value)
    assert any("all lists together" in sentence for sentence in found.told)
