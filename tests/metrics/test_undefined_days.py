"""Metrics of the whole day that are undefined: null, without a bound, or an error where the definitions say so."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sparkrank as sr

ONE_CLASS_LOG = pa.table(
    {"user": [1, 1, 2, 2], "kind": ["a", "b", "a", "b"], "score": [0.9, 0.1, 0.8, 0.3], "label": [1, 0, 1, 0]}
)
NOTHING_LISTED = pa.table({"user": [1], "item": ["x"], "score": pa.array([None], pa.float64()), "label": [1]})


def test_what_is_undefined_has_no_error_bound() -> None:
    """Of one negative row whose score is no probability accuracy alone is defined, of the metrics here."""
    asked = ["brier", "recall", "precision(threshold=9)", "auc", "auc_up", "pr_auc", "bep", "ks", "ece", "ece(exact)"]
    log = {"user": [1], "item": ["x"], "score": [8.0], "label": [0]}
    found = sr.evaluate(pa.table(log), [*asked, "median(rr)", "accuracy"], group="user", score="score", label="label")
    assert found.metrics["error_bound"].to_pylist() == [None] * (len(asked) + 1) + [0.0]
    shown = sr.evaluate(
        NOTHING_LISTED, ["gini", "novelty"], group="user", score="score", label="label", item="item"
    ).metrics
    assert shown["error_bound"].to_pylist() == [None, None]


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
@pytest.mark.parametrize("undefined", ["error", "skip"])
def test_undefined_as_an_error_is_one_for_the_whole_day_too(
    log: pa.Table, metrics: list[str], sentence: str, undefined: str
) -> None:
    roles = {"group": "user", "score": "score", "label": "label"}
    roles |= {"item": "item"} if "item" in log.column_names else {}
    if undefined == "skip":
        assert sr.evaluate(log, metrics, **roles).metrics["n_undefined"].to_pylist()[-1] == 1
        return
    with pytest.raises(sr.InputError) as raised:
        sr.evaluate(log, metrics, **roles, undefined=undefined)
    assert str(raised.value) == f"{sentence}, and undefined=error"


def test_undefined_as_an_error_looks_at_slices() -> None:
    """Each kind has one class, the day has both."""
    roles = {"group": "user", "score": "score", "label": "label", "undefined": "error"}
    assert sr.evaluate(ONE_CLASS_LOG, ["auc"], **roles).metrics["value"].to_pylist() == [1.0]
    with pytest.raises(sr.InputError) as raised:
        sr.evaluate(ONE_CLASS_LOG, ["auc"], **roles, slices=["kind"])
    told = "auc of score where kind is a is undefined: R·N = 0 (one class only), and undefined=error"
    assert str(raised.value) == told
