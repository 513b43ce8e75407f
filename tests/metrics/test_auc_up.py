"""AUC_UP: the area over blocks in the order of their rates, by brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.extent import examples
from tests.oracles.thresholds import area_by_rate, joined_blocks
from tests.support.days import values
from tests.support.strategies import PATIENT


@settings(PATIENT, max_examples=examples(200))
@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=40).filter(
        lambda rows: len({click for _, click in rows}) == 2
    ),
    st.sampled_from([1, 2, 3, 5, 8, 13, 100]),
    st.sampled_from(["exact", "digits=1", "bits=20"]),
)
def test_auc_up_by_brute_force(rows: list[tuple[int, bool]], least: int, rule: str) -> None:
    blocks = []
    for score in sorted({score for score, _ in rows}, reverse=True):
        clicks = [click for other, click in rows if other == score]
        blocks.append((clicks.count(True), clicks.count(False)))
    scored = [(score / 10, click, 1.0) for score, click in rows]
    up, auc = values(scored, [f"auc_up({rule},min_rows={least})", f"auc({rule})"], weighted=False)
    assert up == pytest.approx(float(area_by_rate(joined_blocks(blocks, least))), abs=1e-14)
    if least == 1:
        assert auc <= up + 1e-15
        rates = [Fraction(pos, pos + neg) for pos, neg in blocks]
        if all(higher >= lower for higher, lower in itertools.pairwise(rates)):
            assert auc == pytest.approx(up, abs=1e-15)
