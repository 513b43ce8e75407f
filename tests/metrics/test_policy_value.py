"""The value of a policy that was not run: an oracle, bad rows, ``quality``, a warning, stored days, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from tests.extent import examples
from tests.oracles.policy_values import Action, policy_value
from tests.support.strategies import PATIENT

ROLES: dict[str, Any] = {"group": "u", "score": "s", "label": "y", "propensity": "e"}
ESTIMATES: dict[str, Any] = {"estimate": "q", "policy_estimate": "p"}
FORMS: dict[str, dict[str, Any]] = {
    f"value({','.join(f'{name}={value}' for name, value in own.items())})": own
    for own in (
        {"by": by} | ({"clip": clip} if clip else {}) | {"per": per} | ({"min_effective": least} if least else {})
        for by in ("ips", "snips", "dr")
        for clip, least in ((None, None), (1.5, None), (1.5, 1.7))
        for per in ("row", "group")
    )
}
some_actions = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from([None, 0.0, 0.1, 0.3, 1.0]),
        st.sampled_from([None, -1.0, 0.0, 1.0, 2.5]),
        st.sampled_from([0.01, 0.1, 1 / 3, 1.0]),
        st.sampled_from([-0.5, 0.0, 0.3]),
        st.sampled_from([0.1, 1.0]),
        st.sampled_from("xy"),
    ),
    min_size=1,
    max_size=12,
)


def table(rows: list[tuple]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in zip("usyeqpk", zip(*rows, strict=True), strict=True)})


@settings(PATIENT, max_examples=examples(60))
@given(some_actions)
def test_values_are_those_of_the_rows_one_by_one(rows: list[tuple]) -> None:
    log = table(rows)
    if pa.types.is_null(log["s"].type) or pa.types.is_null(log["y"].type):
        log = log.cast(pa.schema([(n, pa.string() if n in "uk" else pa.float64()) for n in log.column_names]))
    for asked in ({}, {"slices": ["k"]}):
        found = sr.evaluate(log, [*FORMS], **ROLES, **ESTIMATES, **asked, uncertainty=False)
        for row in found.metrics.to_pylist():
            inside = [own[:6] for own in rows if row["slice_value"] in ("all", own[6])]
            form = next(own for text, own in FORMS.items() if str(sr.Metric.parse(text)) == row["metric"])
            value = policy_value([Action(*own) for own in inside], **form)
            assert row["value"] == pytest.approx(math.nan if value is None else value, abs=1e-12, nan_ok=True), row


def logged(count: int, seed: int = 7, factor: float = 1.0) -> pa.Table:
    """Actions of which the second policy takes the first of three more often; ``factor`` distorts the propensities."""
    rng = np.random.default_rng(seed)
    action = rng.choice(3, count, p=[0.2, 0.3, 0.5])
    propensity, score = np.array([0.2, 0.3, 0.5])[action], np.array([0.6, 0.3, 0.1])[action]
    reward = (rng.random(count) < np.array([0.5, 0.2, 0.1])[action]).astype(float)
    columns = {"u": np.arange(count) // 2, "s": score, "y": reward, "e": np.minimum(propensity * factor, 1.0)}
    return pa.table({**columns, "q": np.full(count, 0.2), "p": np.full(count, 0.3)})


def quality_of(rows: pa.Table, metrics: list[str], **asked: Any) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in sr.evaluate(rows, metrics, **ROLES, **asked).quality.to_pylist()}


@pytest.mark.parametrize("uncertainty", [True, False])
def test_propensities_that_are_wrong_are_warned_of(caplog: pytest.LogCaptureFixture, uncertainty: bool) -> None:
    """The mean of score / propensity is 1: of 4,000 actions to about sqrt(1.1 / 4,000), so 0.8 is far away."""
    shown = quality_of(logged(4000), ["value(clip=2)"], uncertainty=uncertainty)
    assert shown["mean weight of logged actions"]["count"] == pytest.approx(1, abs=0.07)
    assert shown["standard errors between the mean weight of logged actions and 1"]["ok"]
    assert shown["largest weight by propensity"]["count"] == 2
    assert "mean weight" not in caplog.text
    wrong = quality_of(logged(4000, factor=1.25), ["value(clip=2)"], uncertainty=uncertainty)
    far = wrong["standard errors between the mean weight of logged actions and 1"]
    error = math.sqrt(((9 * 0.2 + 0.3 + 0.04 * 0.5) / 1.25**2 - 0.8**2) / 4000)
    assert (far["count"], far["ok"]) == (pytest.approx(0.2 / error, rel=0.25), False)
    assert "The mean weight of the logged actions of s is 0.79" in caplog.text
    with pytest.raises(sr.InputError, match="standard errors between the mean weight"):
        quality_of(logged(4000, factor=1.25), ["value"], limits={checks.ERRORS_FROM_ONE: 4})


@pytest.mark.parametrize("uncertainty", [True, False])
def test_equal_weights_have_no_standard_error(caplog: pytest.LogCaptureFixture, uncertainty: bool) -> None:
    """Of 0.7 / 0.1 each weight is 7 up to rounding, and of 0.1 / 0.1 it is 1: no number of errors says more."""
    rows = pa.table({"u": range(50), "s": [0.7] * 50, "y": [1.0] * 50, "e": [0.1] * 50})
    shown = quality_of(rows, ["value"], uncertainty=uncertainty)
    assert shown["standard errors between the mean weight of logged actions and 1"]["count"] == math.inf
    assert "The mean weight of the logged actions of s is 7, as each of them: are the propensities" in caplog.text
    caplog.clear()
    shown = quality_of(rows.set_column(1, "s", rows["e"]), ["value"], uncertainty=uncertainty)
    assert shown["standard errors between the mean weight of logged actions and 1"]["count"] == 0
    assert "mean weight" not in caplog.text


def test_quality_counts_the_weights_of_actions() -> None:
    rows = pa.table({"u": [1, 1, 2], "s": [0.5, 0.25, 0.375], "y": [1.0, 0.0, 2.0], "e": [0.25, 0.5, 0.125]})
    shown = quality_of(rows, ["value", "value(clip=1)"])
    assert shown["effective sample size"]["count"] == (2 + 0.5 + 3) ** 2 / (4 + 0.25 + 9)
    assert shown["mean weight of logged actions"]["count"] == (2 + 0.5 + 3) / 3
    assert (shown["weights clipped"]["count"], shown["weights clipped"]["fraction"]) == (2, 2 / 3)
    assert shown["largest weight by propensity"]["count"] == 3
    with pytest.raises(sr.InputError, match=r'^"effective sample size" of s is 2.*, and limits allows at least 3'):
        quality_of(rows, ["value"], limits={"effective sample size": 3})


@pytest.mark.parametrize(
    ("column", "value", "check"),
    [
        *(("e", value, checks.BAD_PROPENSITY) for value in (None, math.nan, 0.0, 1.5)),
        *(("q", value, checks.BAD_ESTIMATE) for value in (None, math.nan, math.inf)),
        *(("p", value, checks.BAD_POLICY_ESTIMATE) for value in (None, math.nan, 1e10)),
    ],
)
def test_bad_rows_have_a_check_each(column: str, value: float | None, check: str) -> None:
    """An action without a reward is no row of the value, and its propensity is not read."""
    rows = logged(6)
    values = [value, *rows[column].to_pylist()[1:]]
    bad = rows.set_column(rows.column_names.index(column), column, pa.array(values, pa.float64()))
    shown = quality_of(bad, ["value(by=dr)"], **ESTIMATES, max_bad_fraction=1.0)
    assert (shown[check]["count"], shown["rows rejected"]["count"]) == (1, 1)
    labels = pa.array([None, *rows["y"].to_pylist()[1:]], pa.float64())
    unknown = bad.set_column(bad.column_names.index("y"), "y", labels)
    if column == "e":
        assert quality_of(unknown, ["value"])[check]["count"] == 0


def test_a_score_that_is_no_probability_is_counted() -> None:
    rows = logged(8)
    rows = rows.set_column(1, "s", pa.array([1.5, *rows["s"].to_pylist()[1:]]))
    found = sr.evaluate(rows, ["value", "value(by=snips)"], **ROLES)
    assert "value are undefined" in checks.OUTSIDE_ROWS
    assert all(math.isnan(value) for value in found.metrics["value"].to_pylist())
    assert {row["check"]: row["count"] for row in found.quality.to_pylist()}[checks.OUTSIDE_ROWS] == 1


@pytest.mark.parametrize(
    ("metric", "asked", "sentence"),
    [
        ("value", {"propensity": None}, "value reads the propensity, but no propensity column is named"),
        ("value(by=dr)", {"estimate": "q"}, "reads the policy estimate, but no policy_estimate column is named"),
        (
            "value(by=dr)",
            {"score": {"a": "s", "b": "q"}, **ESTIMATES},
            r"policy_estimate of one model, but there are 2: evaluate each in a run of its own, .* sr.compare_runs",
        ),
        (
            "value(label=pay)",
            {"label": {"click": "y", "pay": "y"}},
            r"propensities, which belong to the first label, click, in all rows: leave out label and among, also of",
        ),
        (
            "value",
            {"label": {"click": "y", "pay": "y"}, "score": {"a": {"column": "s", "label": "pay"}}},
            r"value\(label=pay\) reads propensities, .*, or evaluate it apart with its label named first$",
        ),
        ("value(per=group)", {"group": None}, "is a value of groups, but no group column is named"),
        ("value(per=group)", {"weight": "q"}, "counts groups, which have no weight"),
        ("value", {"item": "q", "truth": logged(2), "label": None}, "which are in the same rows: it takes no truth"),
    ],
)
def test_what_cannot_be_logged_actions_is_refused(metric: str, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sr.SpecError, match=sentence):
        sr.evaluate(logged(4), [metric], **{**ROLES, **asked})


def test_models_are_compared_on_the_same_actions() -> None:
    """The policy earns 0.6 · 0.5 + 0.3 · 0.2 + 0.1 · 0.1 by expectation, and the one that was run 0.2 · 0.5 + ..."""
    rows = logged(2000)
    asked = {**ROLES, "score": {"a": "s", "b": "e"}}
    found = sr.evaluate(rows, ["value", "value(by=snips)"], **asked)
    row = next(own for own in found.compare("b").to_pylist() if own["metric"] == "value")
    assert row["difference"] == pytest.approx(found.value("value", model="a") - found.value("value", model="b"))
    assert found.value("value", model="b") == pytest.approx(np.mean(rows["y"].to_numpy()))
    assert row["ci_low"] < 0.3 + 0.06 + 0.01 - (0.1 + 0.06 + 0.05) < row["ci_high"]
