"""The rows within a cut-off, found by compiled loops without sorting: held to numpy and to plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank.ranking.first_rows import first_rows
from sparkrank.states.items import UNIT
from tests.extent import examples
from tests.native.with_and_without import both, calls, ranking
from tests.support.strategies import PATIENT

SCORES = st.sampled_from([0.0, -0.0, 1.0, 2.0, math.inf, -math.inf]) | st.floats(allow_nan=False)
ROWS = st.lists(st.tuples(SCORES, st.integers(0, 3)), min_size=1, max_size=30)


def expected(scores: Sequence[float], groups: Sequence[int], k: int) -> list[int]:
    """A row counts whole, or by the chance that a random order of its tie block puts it within ``k``."""
    found = []
    for score, group in zip(scores, groups, strict=True):
        own = [other for other, of in zip(scores, groups, strict=True) if of == group]
        above, beside = sum(other > score for other in own), own.count(score)
        found.append(round(min(max(k - above, 0), beside) / beside * UNIT))
    return found


@settings(PATIENT, max_examples=examples(200))
@given(ROWS, st.integers(1, 7))
@example([(1.0, 0), (1.0, 0), (1.0, 0), (2.0, 0)], 2)
@example([(-math.inf, 0), (-math.inf, 0), (0.0, 1), (-0.0, 1), (-0.0, 1)], 1)
@example([(float(row * 7 % 13), row % 2) for row in range(126)] + [(3.0, 0)] * 9, 36)  # compared up to 64 in a list
def test_rows_within_a_cut_off(rows: list[tuple[float, int]], k: int) -> None:
    scores, groups = [score for score, _ in rows], [group for _, group in rows]
    for found in both(lambda: first_rows(ranking(scores, [0.0] * len(rows), groups), k, UNIT).tolist()):
        assert found == expected(scores, groups, k)


@pytest.mark.parametrize(("ties", "served"), [("expected", 1), ("block", 0), ("worst", 0)])
def test_the_loop_serves_where_ties_are_expectations(ties: str, served: int) -> None:
    rows = ranking([1.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    with calls() as called:
        found = first_rows(rows.under(ties), 2, UNIT).tolist()
    assert called["keys.stand_within"] == served
    assert found == {"expected": [UNIT // 2, UNIT // 2, UNIT], "block": [0, 0, UNIT], "worst": [UNIT, 0, UNIT]}[ties]
