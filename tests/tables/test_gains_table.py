"""The table of gains: by hand, and the numbers of the metrics ``capture`` and ``lift``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import SpecError


def rows_of(log: pa.Table, metrics: list[str], **asked: Any) -> list[dict[str, Any]]:
    table = sr.evaluate(log, metrics, **{"score": "score", "label": "label", **asked}, gains=True).gains
    assert table is not None
    return table.to_pylist()


def test_gains_by_hand() -> None:
    """Scores .9 (clicked), .5 (one of two), .25 (not): each row is a quarter, and 2 are clicked."""
    log = pa.table({"score": [0.9, 0.5, 0.5, 0.25], "label": [1, 1, 0, 0]})
    rows = rows_of(log, ["auc(digits=2)"])
    assert [row["top"] for row in rows] == [part / 20 for part in range(1, 21)]
    by_top = {row.pop("top"): tuple(row.values()) for row in rows}
    assert by_top[0.05] == ("score", "all", "all", "digits=2", 0.9, pytest.approx(0.2 / 2), pytest.approx(2), 0)
    assert by_top[0.25][4:] == (0.9, 1 / 2, 2, 0)
    # one of the two rows at .5: half of the click there, which may be a whole one or none
    assert by_top[0.5][4:] == (0.5, (1 + 1 / 2) / 2, 1.5, (1 / 2) / 2)
    assert by_top[0.75][4:] == (0.5, 1, pytest.approx(4 / 3), 0)
    assert by_top[1.0][4:] == (0.25, 1, 1, 0)
    assert [row["capture"] for row in rows_of(log, ["auc(rel=2)"])] == [None] * 20
    assert rows_of(log.set_column(0, "score", pa.nulls(4, pa.float64())), ["auc"]) == []


@pytest.mark.parametrize("rule", ["bits=3", "bits=3,rel=2", "exact"])
def test_gains_are_lift_and_capture(rule: str) -> None:
    """To the bit, also with weights, by slices and labels; of exact bins by those that stand in for them."""
    draw = np.random.default_rng(2)
    log = pa.table(
        {
            "user": np.arange(300) // 5,
            "score": draw.random(300).round(3),
            "label": draw.integers(0, 3, 300),
            "paid": draw.integers(0, 3, 300),
            "weight": draw.exponential(1, 300),
            "kind": draw.choice(["x", "y"], 300),
        }
    )
    kept = "bits=14" if rule == "exact" else rule
    tops = [part / 20 for part in range(1, 21)]
    for label in ("", ",label=pay,among=click"):
        texts = {
            (name, top): str(sr.Metric.parse(f"{name}(top={top},{kept}{label})"))
            for top in tops
            for name in ("capture", "lift")
        }
        ev = sr.evaluate(log, [f"auc({rule}{label})", *texts.values()], group="user", score="score", weight="weight",
                         label={"click": "label", "pay": "paid"}, slices=["kind"], gains=True,
                         uncertainty=False)  # fmt: skip
        assert ev.gains is not None
        rows = [row for row in ev.gains.to_pylist() if row["rule"] == rule + label]
        assert len(rows) == 3 * 20
        bounds = {(row["metric"], row["slice_value"]): row["error_bound"] for row in ev.metrics.to_pylist()}
        for row in rows:
            slice_ = None if row["slice"] == "all" else f"kind={row['slice_value']}"
            capture, lift = (texts[name, row["top"]] for name in ("capture", "lift"))
            assert (row["capture"], row["lift"]) == tuple(ev.value(text, slice=slice_) for text in (capture, lift))
            assert row["error_bound"] == bounds[capture, row["slice_value"]]
            assert row["error_bound"] / row["top"] == pytest.approx(bounds[lift, row["slice_value"]], abs=1e-15)


def test_gains_without_score_bins_are_refused() -> None:
    log = pa.table({"score": [0.9], "label": [1]})
    with pytest.raises(SpecError, match="gains come from the score bins of auc, capture or lift, but none of these"):
        rows_of(log, ["logloss", "ks"])
