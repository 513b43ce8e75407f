"""Whether a difference of two models is clear, and the sentence beside one that only seems so."""

from __future__ import annotations

from typing import Any

import pytest

from sparkrank.report.certainty import is_sure, with_doubts
from sparkrank.report.data import ComparisonRow

CLEAR = {"difference": 0.2, "ci_low": 0.1, "ci_high": 0.3, "p": 0.001, "p_adjusted": 0.002, "n_groups": 1000}
ROWS: list[tuple[dict[str, Any], bool, str | None]] = [
    ({}, True, None),
    ({"p_adjusted": 0.06}, False, "clear by itself; not after correction for 42 comparisons"),
    ({"ci_low": -0.1, "p": 0.3, "p_adjusted": 1.0}, False, None),
    ({"p": 0.07, "p_adjusted": 0.07}, False, "clear by its interval; p by itself is not below 0.05"),  # of 90 %, say
    ({"n_unpaired": 10}, True, None),  # 10 of 1,010 are less than 1 %
    (
        {"n_groups": 50, "n_unpaired": 50},
        False,
        "in 50 of 100 groups only one of the two has a value: the two values are of different groups",
    ),
    ({"ci_low": None, "ci_high": None, "p": None, "p_adjusted": None}, False, None),
]


@pytest.mark.parametrize(("changes", "sure", "doubt"), ROWS)
def test_a_difference(changes: dict[str, Any], sure: bool, doubt: str | None) -> None:
    (row,) = with_doubts([ComparisonRow(family="slice country", **CLEAR | changes)], {"slice country": 42}, 0.01)
    assert (is_sure(row), row.doubt) == (sure, doubt)
