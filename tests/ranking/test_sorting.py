"""Rows in rank order, by one sort of whole numbers: held to a comparison sort on (group, score)."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.numeric.array_types import Ints
from sparkrank.ranking import ranking as sorting
from sparkrank.ranking.ranking import KeyLayout, Scores, SortedRows, rank_rows
from tests.support.strategies import PATIENT

GROUPS = 5
# Neighbours in their last bit, both zeros, both infinities, the largest and the smallest there are.
CLOSE = [math.nextafter(1.0, 2.0), 1.0, math.nextafter(1.0, 0.0), math.nextafter(-1.0, 0.0), -1.0]
EXTREME = [0.0, -0.0, 5e-324, -5e-324, math.inf, -math.inf, 1.7e308, -1.7e308]
WIDE = st.sampled_from(CLOSE + EXTREME) | st.floats(allow_nan=False)
NARROW = st.sampled_from(EXTREME[:2] + EXTREME[4:6]) | st.floats(allow_nan=False, width=32)


def lengths(codes: list[int]) -> Ints:
    """The rows of each group; some have none."""
    return np.array([codes.count(group) for group in range(GROUPS)])


def check(ranked: SortedRows, codes: list[int], scores: Scores) -> None:
    """Every field follows from the rows and from what rank order is."""
    order = sorted(range(len(codes)), key=lambda row: (codes[row], -scores[row]))
    assert sorted(ranked.row.tolist()) == list(range(len(codes)))
    stands = [(codes[row], float(scores[row])) for row in order]
    assert [(codes[row], float(scores[row])) for row in ranked.row] == stands
    groups = [group for group, _ in stands]
    places = [place + 1 for group in range(GROUPS) for place in range(codes.count(group))]
    assert ranked.lists.first.tolist() == [sum(code < group for code in codes) for group in range(GROUPS)]
    every_other = np.arange(0, len(codes), 2)
    assert ranked.lists.group_of(every_other).tolist() == groups[::2]
    assert ranked.lists.place_of(every_other).tolist() == places[::2]
    assert ranked.lists.group.tolist() == groups
    assert ranked.lists.place.tolist() == places
    tied = [index for index, here in enumerate(stands) if stands.count(here) > 1]
    assert ranked.tied.tolist() == tied
    assert ranked.opens.tolist() == [stands.index(stands[index]) == index for index in tied]


@pytest.mark.parametrize(("kind", "scores"), [(np.float64, WIDE), (np.float32, NARROW)])
@pytest.mark.parametrize("word", [64, 10, 7])
@given(data=st.data())
@PATIENT
def test_by_group_and_by_score(data: st.DataObject, word: int, kind: type, scores: st.SearchStrategy[float]) -> None:
    """Also where a key has little room, so that most scores of a group agree in what it holds of them."""
    rows = data.draw(st.lists(st.tuples(st.integers(0, GROUPS - 1), scores), max_size=15))
    codes = [code for code, _ in rows]
    of_rows = np.array([score for _, score in rows], kind)
    with mock.patch.object(sorting, "WORD", word):
        ranked = rank_rows(np.array(codes, np.int32), of_rows, lengths(codes))
    check(ranked, codes, of_rows)


def test_scores_that_agree_in_all_the_bits_that_have_room_are_put_right() -> None:
    """16 rows and 5 groups leave 57 bits for the score. 1e300 and -1e300 spread the scores over 2^63, so the last
    bits of those at 1 are dropped. They come in ascending order, so ranking them by row would leave them so.
    """
    assert KeyLayout.of(16, GROUPS) == KeyLayout(row=4, score=57)
    ascending = 1.0 + np.arange(14) * 2.0**-52
    scores = np.concatenate([[1e300, -1e300], ascending])
    ranked = rank_rows(np.zeros(16, np.int32), scores, lengths([0] * 16))
    assert ranked.row.tolist() == [0, *range(15, 1, -1), 1]
    assert len(ranked.tied) == 0
