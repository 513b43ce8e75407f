"""AUC_UP: the area over blocks in the order of their rates, by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.extent import examples
from tests.support.days import values
from tests.support.strategies import PATIENT


def brute_auc_up(blocks: Sequence[tuple[int, int]]) -> Fraction:
    """The walk over blocks of (positives, negatives), in the order of their rates."""
    area = taken = Fraction(0)
    for pos, neg in sorted(blocks, key=lambda block: Fraction(block[0], sum(block)), reverse=True):
        area += (taken + Fraction(pos, 2)) * neg
        taken += pos
    return area / (sum(pos for pos, _ in blocks) * sum(neg for _, neg in blocks))


def joined(blocks: Sequence[tuple[int, int]], least: int) -> list[tuple[int, int]]:
    """From the first on, one after the other; what is left joins the last."""
    found: list[tuple[int, int]] = []
    pos = neg = 0
    for more_pos, more_neg in blocks:
        pos, neg = pos + more_pos, neg + more_neg
        if pos + neg >= least:
            found.append((pos, neg))
            pos = neg = 0
    if pos + neg:
        last = found.pop() if found else (0, 0)
        found.append((last[0] + pos, last[1] + neg))
    return found


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
    assert up == pytest.approx(float(brute_auc_up(joined(blocks, least))), abs=1e-14)
    if least == 1:
        assert auc <= up + 1e-15
        rates = [Fraction(pos, pos + neg) for pos, neg in blocks]
        if all(higher >= lower for higher, lower in itertools.pairwise(rates)):
            assert auc == pytest.approx(up, abs=1e-15)
