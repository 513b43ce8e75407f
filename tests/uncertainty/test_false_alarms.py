"""How often a difference is found, through the whole engine: where there is none, and where it is as large as told."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from tests.extent import SPREAD, examples

pytestmark = pytest.mark.slow

USERS, ITEMS, TRIALS = 300, 5, examples(300)
ASKED: dict[str, Any] = {"group": "user", "label": "y", "score": {"a": "a", "b": "b"}, "compare": "a"}


def lists(draw: np.random.Generator, better: float) -> pa.Table:
    """Lists of users in which a model puts the one relevant item first with a probability: 1/2, or better for b."""
    hits = {"a": draw.random(USERS) < 0.5, "b": draw.random(USERS) < 0.5 + better}
    relevant = np.tile(np.arange(ITEMS) == 0, USERS)
    noise = {model: draw.random(USERS * ITEMS) for model in hits}
    scores = {
        model: np.where(relevant, np.where(np.repeat(hit, ITEMS), 2.0, -1.0), noise[model])
        for model, hit in hits.items()
    }
    return pa.table({"user": np.repeat(np.arange(USERS), ITEMS), "y": relevant.astype(np.int32), **scores})


@cache
def comparisons(better: float, seed: int) -> list[dict[str, dict[str, Any]]]:
    """The comparison of each trial, by metric."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(TRIALS):
        rows = sr.evaluate(lists(draw, better), ["p@1", "auc"], **ASKED).compare("a").to_pylist()
        found.append({row["metric"]: row for row in rows})
    return found


def test_models_that_do_not_differ_are_told_apart_at_the_nominal_rate() -> None:
    """An A/A test: p is below 0.05 in one of twenty trials, and a gate that allows nothing fails in one of forty."""
    found = comparisons(0.0, 3)
    for metric in ("p@1", "auc"):
        rows = [each[metric] for each in found]
        assert np.mean([row["p"] < 0.05 for row in rows]) == pytest.approx(0.05, abs=0.025 * SPREAD), metric
        assert np.mean([row["ci_high"] < 0 for row in rows]) == pytest.approx(0.025, abs=0.02 * SPREAD), metric


def test_a_difference_as_large_as_the_smallest_detectable_is_found_in_four_of_five_trials() -> None:
    told = float(np.mean([each["p@1"]["smallest_detectable"] for each in comparisons(0.0, 3)]))
    # (1.97 + 0.84) · sqrt((1/4 + 1/4) / 300), of differences of two independent hits
    assert told == pytest.approx(2.81 * np.sqrt(0.5 / USERS), rel=0.02 * SPREAD)
    found = np.mean([each["p@1"]["p"] < 0.05 for each in comparisons(told, 5)])
    assert found == pytest.approx(0.8, abs=0.06 * SPREAD)
