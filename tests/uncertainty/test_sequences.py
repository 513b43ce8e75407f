"""Intervals of many nights: of a window that grows from a first day, or of tables that share the chance of an error."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import special, stats

import sparkrank as sr
from sparkrank import cli
from sparkrank.base.errors import SpecError
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.results import metrics_table
from tests.windows.week import DAYS, evaluate, exit_code, impressions_of, merging, spec_of, window_table, write_log

ROLES = {"group": "user", "label": "clicked", "score": {"a": "a", "b": "b"}}


def log(users: int = 400, seed: int = 7) -> pa.Table:
    """Eight rows a user, of which some are clicked, and two models of which ``b`` knows less."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), 8)
    taste = rng.normal(size=len(user))
    clicked = rng.random(len(user)) < 1 / (1 + np.exp(1 - taste))
    scores = {name: taste + rng.normal(0, noise, len(user)) for name, noise in (("a", 0.5), ("b", 1.5))}
    return pa.table({"user": user, "clicked": clicked.astype(np.int32), **scores})


def test_a_single_day_is_no_window_that_grows() -> None:
    with pytest.raises(SpecError, match=r"sequential: \{nights: 365\}, or merge a window that grows"):
        sr.evaluate(log(), ["ap"], **ROLES, uncertainty={"sequential": True})


def test_nights_share_the_chance_of_an_error() -> None:
    """Of a mean over n groups, the interval of a look has the quantile 1 - 0.05 / 365 / 2 of Student's t: of log odds,
    whose standard error is that of the value over v (1 - v).
    """
    rows = log()
    one, many = (sr.evaluate(rows, ["ap", "auc"], **ROLES, compare="a", uncertainty=u) for u in (True, NIGHTS))
    ap = many.table.to_pylist()[0]
    n = ap["n_groups"] - ap["n_undefined"]
    half = stats.t.isf(0.05 / 365 / 2, n - 1) * ap["stderr"] / (ap["value"] * (1 - ap["value"]))
    assert ap["ci_high"] == pytest.approx(special.expit(special.logit(ap["value"]) + half))
    for before, after in zip(one.compare("a").to_pylist(), many.compare("a").to_pylist(), strict=True):
        assert after["p"] == pytest.approx(min(1.0, before["p"] * 365))
        assert after["ci_high"] - after["ci_low"] > 1.5 * (before["ci_high"] - before["ci_low"])
        assert after["smallest_detectable"] > before["smallest_detectable"]


NIGHTS = {"sequential": {"nights": 365}}


def test_other_values_are_refused() -> None:
    for given, sentence in (
        ({"sequential": {"nights": 0}}, "uncertainty.sequential.nights is 0: a whole number from 1 to 10000"),
        ({"sequential": {"nights": True}}, "uncertainty.sequential.nights is True"),
        ({"sequential": {"night": 3}}, "uncertainty.sequential has the keys night: only nights"),
        ({"sequential": 3}, "uncertainty.sequential is 3: true or false, or the number of nights"),
        ({"nights": 3}, 'uncertainty names "nights"'),
    ):
        with pytest.raises(SpecError, match=re.escape(sentence)):
            Uncertainty.of(given)


def test_a_sequence_is_wider_than_a_single_look() -> None:
    solved = sr.evaluate(log(), ["ap", "auc"], **ROLES, compare="a")
    merged, plan = solved.solved.merged, solved.plan
    growing = replace(plan, uncertainty=Uncertainty(sequential=True))
    for one, other in zip(
        solved.compare("a").to_pylist(), comparisons_table(merged, growing, plan.compare).to_pylist(), strict=True
    ):
        assert (other["interval"], other["stderr"]) == ("confidence sequence", one["stderr"])
        assert other["ci_high"] - other["ci_low"] > 1.4 * (one["ci_high"] - one["ci_low"])
        assert other["p"] >= one["p"]
        assert other["smallest_detectable"] > 1.4 * one["smallest_detectable"]
    assert set(metrics_table(merged, growing)["interval"].to_pylist()) == {"confidence sequence"}


def test_a_sequence_begins_at_a_number_of_groups_and_events() -> None:
    """Of fewer than 100 groups, or of fewer than 10 groups with what is counted or without it, nothing is told."""
    few = metrics_of(log(users=90), "hit@1")
    rare = metrics_of(rarely(users=3000, hits=9), "hit@1")
    enough = metrics_of(rarely(users=3000, hits=10), "hit@1")
    assert [row["interval"] for row in (few, rare, enough)] == ["too few", "too few", "confidence sequence"]


def rarely(users: int, hits: int) -> pa.Table:
    """Two rows a user, of which the first is clicked by the first ``hits`` users and the second by all others."""
    hit = np.arange(users) < hits
    clicked = np.stack([hit, ~hit], axis=1).ravel().astype(np.int32)
    scores = np.tile([0.9, 0.1], users)
    return pa.table({"user": np.repeat(np.arange(users), 2), "clicked": clicked, "a": scores, "b": scores})


def metrics_of(rows: pa.Table, metric: str) -> dict[str, object]:
    solved = sr.evaluate(rows, [metric], **ROLES)
    growing = replace(solved.plan, uncertainty=Uncertainty(sequential=True))
    row: dict[str, object] = metrics_table(solved.solved.merged, growing).to_pylist()[0]
    return row


def test_windows_that_grow_have_sequences(tmp_path: Path) -> None:
    once, growing = (
        spec_of(tmp_path, name, metrics=["ap", "auc"], uncertainty={"sequential": name == "growing"})
        for name in ("once", "growing")
    )
    for day in DAYS[:2]:
        rows = impressions_of(day, 4000)
        write_log(tmp_path, rows.assign(user_id=np.arange(len(rows)) % 500), day)
        evaluate(once, day)
    assert exit_code("evaluate", "--conf", growing, "--date", DAYS[0]) == 2
    cli.main(merging(growing, last=DAYS[1]))
    table = window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}")
    assert set(table["interval"]) == {"confidence sequence"}
