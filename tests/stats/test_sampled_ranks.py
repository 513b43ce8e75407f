"""Ranks among all items from ranks among sampled ones: the arithmetic, and made-up models whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank.base.errors import InputError, MetricError
from sparkrank.metrics import Metric
from sparkrank.stats.sampled_ranks import chances, estimates, least_error, ranks_of, rough_estimates
from tests.extent import IS_LONG
from tests.oracles import jackknife
from tests.oracles.sampling import most_likely

ITEMS, SAMPLED = 10_000, 100
RANKS = np.arange(1.0, ITEMS + 1)
HIT = np.where(RANKS <= 10, 1.0, 0.0)
GAIN = HIT / np.log2(RANKS + 1)
# How far hits of a model reach, how many of its groups have them, and how steeply the others fall.
MODELS = {"good": (20, 0.5167, 3.5314), "middling": (60, 0.1522, 1.9284), "blurred": (200, 0.1815, 3.8507)}
HITS = {"good": (0.205, 0.664), "middling": (0.025, 0.306), "blurred": (0.012, 0.446)}  # among all, among sampled ones


def distribution(reach: float, share: float, steep: float) -> np.ndarray:
    head, tail = np.exp(-RANKS / reach), np.diff(stats.beta.cdf(np.arange(ITEMS + 1) / ITEMS, 1, steep))
    return share * head / head.sum() + (1 - share) * tail


def binomial(sampled: int, ranks: np.ndarray, items: int) -> np.ndarray:
    return stats.binom.pmf(np.arange(sampled + 1)[None], sampled, ((ranks - 1) / (items - 1))[:, None])


@pytest.mark.parametrize(("sampled", "items"), [(1, 2), (3, 7), (100, 10_000), (1000, 1500)])
def test_chances_are_binomial(sampled: int, items: int) -> None:
    ranks = np.arange(1, items + 1)
    np.testing.assert_allclose(chances(sampled, items), binomial(sampled, ranks, items), rtol=1e-11, atol=1e-60)


@pytest.mark.parametrize(
    ("counts", "items"), [((3, 0, 2, 1), 9), ((1, 0), 3), ((5, 1, 0, 0, 0, 7), 30), ((0, 0, 4), 12)]
)
def test_the_estimate_is_that_of_em_in_loops(counts: tuple[int, ...], items: int) -> None:
    gains = 1 / np.arange(1.0, items + 1)
    expected = sum(p * gain for p, gain in zip(most_likely(counts, items), gains, strict=True))
    assert estimates(np.array([counts], float), gains, items)[0] == pytest.approx(expected, rel=1e-12)


def test_of_many_items_ranks_are_taken_in_ranges() -> None:
    assert ranks_of(100_000).size.tolist() == [1.0] * 100_000
    middle, size = ranks_of(1_000_000)
    assert size.sum() == 1_000_000
    assert middle[:10_000].tolist() == list(range(1, 10_001))
    # from 10,001 to 10,010, which is 1.001 times as much; the next range begins at 10,011
    assert (middle[10_000], size[10_000]) == ((10_001 + 10_010) / 2, 10)
    assert (size[10_000:-1] / (middle[10_000:-1])).max() < 1.001e-3


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.9])
def test_minimal_bias_has_the_least_error(gamma: float) -> None:
    """Of (1 - gamma)·bias² + gamma·(bias² + variance), by its definition; no change of any weight makes it less."""
    items, m = 40, 5
    table, gains = binomial(m, np.arange(1, items + 1), items), 1 / np.arange(1.0, items + 1)

    def error(counted: np.ndarray) -> float:
        mean = table @ counted
        variance = table @ counted**2 - mean**2
        return float(((mean - gains) ** 2 + gamma * variance).mean())

    found = least_error(gains, m, items, gamma)
    for place in range(m + 1):
        for change in (-1e-4, 1e-4):
            assert error(found + change * (np.arange(m + 1) == place)) > error(found)


@pytest.mark.parametrize(
    ("name", "most"), [("good", 0.02), ("middling", 0.01), ("blurred", 0.01)][: 3 if IS_LONG else 1]
)
def test_made_up_models_have_a_tenth_of_the_plain_bias_at_most(name: str, most: float) -> None:
    """With as many groups as make chance small: what is left of the bias is that of the estimate."""
    p = distribution(*MODELS[name])
    of_sampled = p @ binomial(SAMPLED, RANKS, ITEMS)
    plain_gain = np.where(np.arange(1, SAMPLED + 2) <= 10, 1 / np.log2(np.arange(2, SAMPLED + 3)), 0)
    truth, plain = (p @ HIT, p @ GAIN), (of_sampled[:10].sum(), of_sampled @ plain_gain)
    assert (truth[0], plain[0]) == pytest.approx(HITS[name], abs=5e-4)
    for gains, true, biased in zip((HIT, GAIN), truth, plain, strict=True):
        found = estimates(of_sampled[None] * 1e5, gains, ITEMS)[0]
        assert abs(found - true) <= min(0.1, most) * abs(biased - true)


def lists(name: str, groups: int, seed: int, sampled: int = SAMPLED) -> pa.Table:
    """Lists of one relevant item and ``sampled`` that were drawn, of a model in its order."""
    rng = np.random.default_rng(seed)
    rank = rng.choice(RANKS, size=groups, p=distribution(*MODELS[name]))
    above = rng.binomial(sampled, (rank - 1) / (ITEMS - 1))
    place = np.tile(np.arange(sampled + 1), groups)
    hit = (place == np.repeat(above, sampled + 1)).astype(float)
    users = np.repeat(np.arange(groups), sampled + 1)
    return pa.table({"u": users, "s": -place.astype(float), "y": hit, "c": np.where(users % 3, "de", "fr")})


def evaluated(rows: pa.Table, *metrics: str, **more: Any) -> sr.Evaluation:
    return sr.evaluate(rows, metrics, group="u", score="s", label="y", **more)


def test_models_are_in_their_true_order() -> None:
    """Among sampled items the blurred model is above the middling one; among all items it is below."""
    of_sampled = {name: distribution(*MODELS[name]) @ binomial(SAMPLED, RANKS, ITEMS) for name in MODELS}
    assert sorted(MODELS, key=lambda name: of_sampled[name][:10].sum()) == ["middling", "blurred", "good"]
    counts = np.stack([of_sampled[name] * 1e5 for name in MODELS])
    assert np.argsort(estimates(counts, HIT, ITEMS)).tolist() == [2, 1, 0]  # blurred, middling, good


def test_rough_estimates_differ_as_those_of_single_ranks() -> None:
    rng = np.random.default_rng(3)
    parts = rng.multinomial(60, distribution(*MODELS["good"]) @ binomial(20, RANKS, ITEMS), size=16).astype(float)
    counts = np.concatenate([parts.sum(axis=0)[None], parts.sum(axis=0) - parts])
    gains = np.where(np.arange(1, 301) <= 10, 1.0, 0.0)
    exact, rough = estimates(counts, gains, 300), rough_estimates(counts, gains, 300)
    assert rough[0] == pytest.approx(exact[0], rel=0.05)
    errors = [jackknife.standard_error(each[0], [*each[1:]], [60] * 16) for each in (exact, rough)]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


def test_lists_of_another_shape_are_undefined_and_counted() -> None:
    rows = lists("good", 50, 4, 20)
    shorter = rows.filter((rows["u"].to_numpy() >= 7) | (rows["s"].to_numpy() > -20))
    row = evaluated(shorter, "rr(sampled=20,items=300)").table.to_pylist()[0]
    whole = evaluated(rows.filter(rows["u"].to_numpy() >= 7), "rr(sampled=20,items=300)").table.to_pylist()[0]
    assert (row["n_groups"], row["n_undefined"], row["weight"]) == (50, 7, 43)
    assert row["value"] == whole["value"]
    with pytest.raises(InputError, match="none of 50 groups has a list of one relevant row and 19 others") as raised:
        evaluated(rows, "hit(sampled=19,items=300)@5")
    assert raised.value.exit_code == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hit(sampled=100)@10", "lacks items: write hit.sampled=m,items=I., m others drawn from I items"),
        ("sampled_rr(items=9)", "lacks sampled"),
        ("rr(sampled=100,items=100)", "draws 100 others from 100 items: items must be more"),
        ("ndcg(sampled=9,items=100,gamma=0.5)", "gives gamma, which by=minimal_bias alone reads"),
        ("auc(sampled=100,items=1000)", "gives sampled, but auc takes none: it needs no correction"),
        ("gauc(sampled=100)", "gives sampled, but gauc takes none: it needs no correction"),
        ("median(hit(sampled=9,items=100)@1)", "has no percentiles"),
        ("uni100", "unknown metric"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(MetricError, match=why):
        Metric.parse(text)
