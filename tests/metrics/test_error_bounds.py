"""Error bounds of metrics of binned scores: the exact value lies within them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.extent import examples
from tests.support.days import bounded
from tests.support.strategies import PATIENT

DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "click model": lambda rng, n: rng.beta(1, 999, n),
    "logits": lambda rng, n: rng.normal(0, 3, n),
    "three values": lambda rng, n: rng.choice([0.1, 0.1001, 0.9], n),
    "grid": lambda rng, n: rng.integers(0, 30, n) / 30,
}
RULES = ["bits=12", "bits=3", "bits=1", "digits=5", "digits=3", "digits=1", "digits=0"]


NAMES = ["auc", "pr_auc", "ks", "bep", "partial_auc(max_fpr=0.3)", "recall_at_precision(precision=0.4)"]
NAMES += ["precision_at_recall(recall=0.5)", "tpr_at_fpr(fpr=0.2)", "capture(top=0.3)", "lift(top=0.3)"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [*itertools.product(NAMES, DISTRIBUTIONS), *itertools.product(["mcb", "dsc"], set(DISTRIBUTIONS) - {"logits"})],
)
@settings(PATIENT, max_examples=examples(15))
@given(seed=st.integers(0, 2**32), n=st.integers(2, 400), rate=st.sampled_from([0.02, 0.3, 0.9]))
def test_the_exact_value_lies_within_the_bound(name: str, kind: str, seed: int, n: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    clicks = rng.random(n) < rate
    rows = list(zip(DISTRIBUTIONS[kind](rng, n).tolist(), clicks.tolist(), [1.0] * n, strict=True))
    own, _, given = name.rstrip(")").partition("(")
    (exact, nothing), *binned = bounded(rows, [f"{own}({given},{rule})" for rule in ("exact", *RULES)])
    assert nothing == 0
    for rule, (value, bound) in zip(RULES, binned, strict=True):
        # of coarse bins no end may have the precision that single scores have
        assert math.isnan(value) == math.isnan(exact) or (own == "recall_at_precision" and math.isnan(bound))
        assert math.isnan(value) or abs(value - exact) <= bound + 1e-12, rule


def test_a_click_weighs_as_little_as_it_likes() -> None:
    """One block of clicks that weigh 3 and a row that weighs 1. The least precision inside it is that of its first
    click behind that row: nearly 0 where it may be any part of the 3.
    """
    rows = [(0.9, True, 2.75), (0.8, True, 0.25), (0.7, False, 1.0)]
    assert bounded(rows, ["pr_auc(digits=0)"], weighted=True) == [(3 / 4, 3 / 4 - 0)]


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_one_row_or_of_one_class_leave_no_doubt(weighted: bool) -> None:
    """At 1 two clicks, at 0 two others; at 0.9, 0.7 and 0.4 one row each."""
    apart = [(0.9, True, 2.0), (0.7, False, 2.0), (0.4, True, 2.0)]
    assert bounded(apart, ["pr_auc(digits=1)"], weighted) == [((2 / 2 + 4 / 6) / 2, 0)]
    alike = [(0.9, True, 2.0), (0.8, True, 2.0), (0.2, False, 2.0), (0.1, False, 2.0)]
    assert bounded(alike, ["pr_auc(digits=0)"], weighted) == [(1, 0)]
