"""How often a difference that is as large as told is found, through the whole engine."""

from __future__ import annotations

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


def compared(better: float, seed: int) -> list[dict[str, Any]]:
    """The comparison of each trial in the precision of the first place."""
    draw = np.random.default_rng(seed)
    trials = (sr.evaluate(lists(draw, better), ["p@1"], **ASKED).compare("a") for _ in range(TRIALS))
    return [row for rows in trials for row in rows.to_pylist()]


def test_a_difference_as_large_as_the_smallest_detectable_is_found_in_four_of_five_trials() -> None:
    detectable = float(np.mean([row["smallest_detectable"] for row in compared(0.0, 3)]))
    # (1.97 + 0.84) · sqrt((1/4 + 1/4) / 300), of differences of two independent hits
    assert detectable == pytest.approx(2.81 * np.sqrt(0.5 / USERS), rel=0.02 * SPREAD)
    share = np.mean([row["p"] < 0.05 for row in compared(detectable, 5)])
    assert share == pytest.approx(0.8, abs=0.06 * SPREAD)
