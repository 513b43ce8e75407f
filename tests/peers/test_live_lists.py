"""Lists beside lists against scikit-learn and scipy: the mean cosine of two users, Jaccard's index, and entropy."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from tests.peers.rankings import EXACT

pytestmark = pytest.mark.peer

USERS, ITEMS, K = 40, 30, 5


def log(seed: int) -> tuple[pa.Table, dict[str, np.ndarray]]:
    """A log of all users and items with two scores, and the matrix of users and items in the first K of each."""
    draw = np.random.default_rng(seed)
    shown, columns = {}, {}
    for model in ("new", "old"):
        scores = draw.random((USERS, ITEMS)) + np.linspace(0, 1, ITEMS)  # no ties, and some items more often
        shown[model] = (scores.argsort(axis=1).argsort(axis=1) >= ITEMS - K).astype(float)
        columns[model] = scores.ravel()
    users, items = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    return pa.table({"user": users, "item": items, **columns}), shown


@pytest.mark.parametrize("seed", range(5))
def test_scikit_learn_and_scipy(sklearn_metrics: ModuleType, scipy_stats: ModuleType, seed: int) -> None:
    """1 less the mean cosine of two users of full lists is personalization in evidently, and diversity in jurity."""
    rows, shown = log(seed)
    metrics = [f"personalization@{K}", f"entropy@{K}", f"overlap(ref=old,over=union)@{K}", f"overlap(ref=old)@{K}"]
    found = sr.evaluate(rows, metrics, group="user", item="item", score={"new": "new", "old": "old"})
    values = {row["metric"]: row["value"] for row in found.metrics.to_pylist() if row["model"] == "new"}
    cosines = sklearn_metrics.pairwise.cosine_similarity(shown["new"])
    jaccard = sklearn_metrics.jaccard_score(shown["new"], shown["old"], average="samples")
    expected = [
        1 - (cosines.sum() - USERS) / (USERS * (USERS - 1)),
        scipy_stats.entropy(shown["new"].sum(axis=0), base=2),
        jaccard,
        sklearn_metrics.precision_score(shown["old"], shown["new"], average="samples"),
    ]
    assert [*values.values()] == pytest.approx(expected, rel=EXACT)
    assert 0 < values[f"personalization(ties=item)@{K}"] < 1
