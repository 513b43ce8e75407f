"""ties=expected is the mean over every order of the tied rows: here by walking all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.metrics import CATALOG, Metric
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ORACLES, Ranked, Value, expected_over_orders
from tests.support.buckets import evaluate, group_values, or_nan
from tests.support.strategies import (
    PATIENT,
    Asked,
    arguments,
    group_metrics,
    has_expectation,
    impressions,
    needed,
    reads_the_past,
    text,
)

CLOSE = 1e-13
WITH_EXPECTATION = [
    name
    for name, declared in CATALOG.items()
    if has_expectation((name, needed(name), None)) and not reads_the_past(declared)
]


def enumerated(rows: list[Row], metrics: list[Asked]) -> dict[str, list[Value]]:
    """The mean of each metric over all orders, by group."""
    means = {}
    for group in {row[0] for row in rows}:
        judged = [label for name, _, _, label in rows if name == group]
        scored = [(score, label) for name, _, score, label in rows if name == group and score is not None]

        def value(ranked: Ranked, parts: Asked, judged: list[float | None] = judged) -> Value:
            return ORACLES[parts[0]](ranked, judged, **arguments(parts))

        means[group] = expected_over_orders(scored, [lambda ranked, m=m: value(ranked, m) for m in metrics])
    return means


@settings(PATIENT, max_examples=examples(150))
@given(
    impressions(most_rows=6), st.lists(group_metrics(tied=True, values=True), min_size=1, max_size=6, unique_by=text)
)
def test_the_mean_over_all_orders(rows: list[Row], metrics: list[Asked]) -> None:
    found = evaluate(rows, [text(parts) for parts in metrics])
    expected = enumerated(rows, metrics)
    for index, parts in enumerate(metrics):
        by_group = {group: or_nan(means[index]) for group, means in expected.items()}
        canonical = str(Metric.parse(text(parts)))
        assert group_values(found, canonical) == pytest.approx(by_group, rel=0, abs=CLOSE, nan_ok=True), canonical


@pytest.mark.parametrize("name", WITH_EXPECTATION)
def test_a_whole_list_of_ties(name: str) -> None:
    """Seven rows of one score: the block where most can go wrong, for each metric at every cut-off."""
    labels = (2.0, 0.0, 1.0, 0.0, 3.0, -1.0, None)
    rows = [("u", str(place), 0.5, label) for place, label in enumerate(labels)]
    cutoffs = [None] if CATALOG[name].cutoff == "none" else [None, *range(1, 9)]
    metrics = [asked for k in cutoffs if has_expectation(asked := (name, needed(name), k))]
    found = evaluate(rows, [text(parts) for parts in metrics])
    for parts, mean in zip(metrics, enumerated(rows, metrics)["u"], strict=True):
        assert group_values(found, text(parts)) == pytest.approx({"u": or_nan(mean)}, rel=0, abs=CLOSE, nan_ok=True)


def test_long_blocks_stay_precise() -> None:
    """One relevant row among 3,000 tied ones: at each position with probability 1/3000."""
    n = 3000
    rows = [("u", str(place), 1.0, float(place == 0)) for place in range(n)]
    found = evaluate(rows, ["rr", "ap", "hit@30", "p@30", "rr@30", "hit", "hit@3000"])
    harmonic = math.fsum(1 / position for position in range(1, n + 1))
    harmonic_30 = math.fsum(1 / position for position in range(1, 31))
    expected = {"rr": harmonic / n, "ap": harmonic / n, "hit@30": 30 / n, "p@30": 1 / n, "rr@30": harmonic_30 / n}
    for metric, value in expected.items():
        assert group_values(found, metric)["u"] == pytest.approx(value, rel=1e-12), metric
    assert group_values(found, "hit") == group_values(found, "hit@3000") == {"u": 1.0}  # certain, so without rounding


def test_a_block_of_relevant_rows_alone_is_certain() -> None:
    rows = [("u", str(place), 1.0, 1.0) for place in range(5)]
    found = evaluate(rows, ["hit@1", "rr", "ap", "p@3", "rprec", "ndcg@2"])
    for metric in ("hit@1", "rr", "ap", "p@3", "rprec", "ndcg@2"):
        assert group_values(found, metric)["u"] == 1.0, metric
