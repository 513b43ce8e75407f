"""Metrics of the whole day that are undefined: null, without a bound, or an error where the definitions say so."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import sparkrank as sr

ROLES = {"group": "user", "score": "score", "label": "label"}
ONE_CLASS_LOG = pa.table(
    {"user": [1, 1, 2, 2], "kind": ["a", "b", "a", "b"], "score": [0.9, 0.1, 0.8, 0.3], "label": [1, 0, 1, 0]}
)
NOTHING_LISTED = pa.table({"user": [1], "item": ["x"], "score": pa.array([None], pa.float64()), "label": [1]})


def test_what_is_undefined_has_no_error_bound() -> None:
    """Of one negative row whose score is no probability accuracy alone is defined, of the metrics here."""
    asked = ["brier", "recall", "precision(threshold=9)", "auc", "auc_up", "pr_auc", "bep", "ks", "ece", "ece(exact)"]
    log = {"user": [1], "item": ["x"], "score": [8.0], "label": [0]}
    metrics = sr.evaluate(pa.table(log), [*asked, "median(rr)", "accuracy"], **ROLES).metrics
    assert metrics["error_bound"].to_pylist() == [None] * (len(asked) + 1) + [0.0]
    metrics = sr.evaluate(NOTHING_LISTED, ["gini", "novelty"], **ROLES, item="item").metrics
    assert metrics["error_bound"].to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("log", "metrics", "sentence"),
    [
        (ONE_CLASS_LOG.slice(0, 1), ["ap", "auc"], "auc of score is undefined: R·N = 0 (one class only)"),
        (ONE_CLASS_LOG.slice(1, 1), ["recall(threshold=0.25)"], "recall(threshold=0.25) of score is undefined: P = 0"),
        (
            ONE_CLASS_LOG.set_column(2, "score", pa.array([9.0, 0.1, 0.8, 0.3])),
            ["auc", "brier"],
            "brier of score is undefined: no rows; a score outside [0, 1]",
        ),
        (NOTHING_LISTED, ["hit@5", "novelty"], "novelty of score is undefined: no row is listed"),
        (ONE_CLASS_LOG.slice(1, 2), ["median(ap)"], "median(ap) of score is undefined in 1 of 2 groups"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "",
)
def test_undefined_as_an_error_is_one_for_the_whole_day_too(log: pa.Table, metrics: list[str], sentence: str) -> None:
    roles = {**ROLES, "item": "item"} if "item" in log.column_names else ROLES
    assert sr.evaluate(log, metrics, **roles).metrics["n_undefined"].to_pylist()[-1] == 1
    with pytest.raises(sr.InputError, match=f"^{re.escape(sentence)}, and undefined=error$"):
        sr.evaluate(log, metrics, **roles, undefined="error")


def test_undefined_as_an_error_looks_at_slices() -> None:
    """Each kind has one class, the day has both."""
    assert sr.evaluate(ONE_CLASS_LOG, ["auc"], **ROLES, undefined="error")["auc"] == 1.0
    told = r"^auc of score where kind is a is undefined: R·N = 0 \(one class only\), and undefined=error$"
    with pytest.raises(sr.InputError, match=told):
        sr.evaluate(ONE_CLASS_LOG, ["auc"], **ROLES, undefined="error", slices=["kind"])
