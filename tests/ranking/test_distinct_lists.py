"""Distinct lists of groups: their order, what is spread from them to groups, and sums that count each several times."""

from __future__ import annotations

import numpy as np
import pytest

from sparkrank import native
from sparkrank.numeric.exact_sums import exact_sums, sums_with_squares
from sparkrank.numeric.segments import WHOLE, Segments
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues, in_order
from sparkrank.ranking.hits import hits_of
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Ranking
from tests.native.with_and_without import array_bits, ranking

# DistinctLists in no order: rows, relevant ones, positions of hits. Groups of each: 1, 0, 2, 1, 0, 2 of six.
KINDS = [(3, 1, [2]), (2, 0, []), (4, 1, [1]), (2, 1, [2]), (2, 2, [1, 2]), (5, 1, [2])]


def places(positions: list[int]) -> int:
    return sum(2 ** (64 - position) for position in positions)


def kinds(of: list[tuple[int, int, list[int]]], code: list[int]) -> DistinctLists:
    rows, relevant, hits = zip(*of, strict=True)
    of_hits = np.array(list(map(places, hits)), np.uint64), np.array(list(map(len, hits)))
    return DistinctLists(np.array(code, np.int32), np.array(rows), np.array(relevant), *of_hits)


def test_groups_stand_by_relevant_rows_then_hits_then_rows() -> None:
    """A hit at the first position stands behind one at the second."""
    found = kinds(KINDS, [2, 0, 5, 3, 1, 4, 0])
    alike = found.alike_together()
    assert alike.distinct.tolist() == [1, 3, 0, 0, 5, 2, 4]
    assert alike.order.tolist() == [4, 3, 1, 6, 2, 0, 5]
    assert found.sizes.tolist() == [2, 1, 1, 1, 1, 1]


def test_likeness_sees_48_positions_and_255_rows() -> None:
    at_48 = kinds([(64, 1, [48]), (64, 1, [47]), (64, 1, [46])], [2, 1, 0])
    assert at_48.alike_together().order.tolist() == [2, 1, 0]
    assert kinds([(64, 1, [49]), (64, 1, [48])], [1, 0]).alike_together().distinct.tolist() == [0, 1]
    assert kinds([(255, 254, []), (254, 254, [])], [0, 1]).alike_together().distinct.tolist() == [1, 0]
    assert kinds([(9, 300, []), (300, 254, [1])], [0, 1]).alike_together().distinct.tolist() == [1, 0]
    # 256 rows are not those of the next relevant one
    assert kinds([(1000, 1, []), (1, 2, [])], [1, 0]).alike_together().distinct.tolist() == [0, 1]


def test_each_group_may_be_a_kind_of_its_own() -> None:
    scores, labels, codes = [3.0, 2.0, 1.0, 7.0, 9.0, 8.0, 0.0], [0, 1, 0, 1, 1, 0, 1], [0, 0, 0, 1, 2, 2, 2]
    hits = hits_of(ranking(scores, labels, codes), None)
    found = DistinctLists.of_each(np.array([3, 1, 3]), hits)
    alike = found.alike_together()
    assert alike.order.tolist() == alike.distinct.tolist() == [0, 1, 2]
    assert found.sizes.tolist() == [1, 1, 1]
    assert found.relevant.tolist() == [1, 1, 2]
    assert found.places.tolist() == [places([2]), places([1]), places([1, 3])]


def test_hits_beyond_the_48th_position_and_several_at_one_are_in_order_all_the_same() -> None:
    labels = np.array([0] * 47 + [1, 1])
    far = DistinctLists.of_each(np.array([49]), hits_of(ranking((-np.arange(49.0)).tolist(), labels.tolist()), None))
    assert far.places.tolist() == [places([48])]
    tied = Ranking(Judgments(np.zeros(3, np.int32), np.array([1, 1, 1]), 1), np.array([-1.0] * 3), positions="given")
    assert DistinctLists.of_each(np.array([3]), hits_of(tied, None)).places.tolist() == [places(list(range(1, 49)))]


def test_values_of_kinds_are_those_of_their_groups() -> None:
    """Beside values of groups, and of other kinds of the same groups."""
    found = kinds(KINDS, [2, 0, 5, 3, 1, 4, 0])
    other = kinds([(9, 0, []), (9, 1, [])], [0, 1, 0, 1, 0, 1, 0])
    by_kind = GroupValues(np.arange(6.0), found)
    by_other = GroupValues(np.array([0.5, 0.25]), other)
    by_group = GroupValues(np.arange(7.0))
    assert by_kind.by_group().tolist() == [2, 0, 5, 3, 1, 4, 0]
    assert by_group.by_group().tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert (by_group.segments, by_kind.segments.sizes(6).tolist()) == (WHOLE, [7])
    alike = found.alike_together()
    values = [by_group, by_kind, by_other, by_kind]
    assert [each.tolist() for each in in_order(values, found, alike)] == [
        [4, 3, 1, 6, 2, 0, 5],
        [1, 3, 0, 0, 5, 2, 4],
        [0.5, 0.25, 0.25, 0.5, 0.5, 0.5, 0.25],
        [1, 3, 0, 0, 5, 2, 4],
    ]
    assert [each.tolist() for each in in_order([by_other], found, alike)] == [[0.5, 0.25, 0.25, 0.5, 0.5, 0.5, 0.25]]
    counts = in_order([GroupValues(found.rows, found)], found, alike)
    assert (counts[0].dtype, counts[0].tolist()) == (np.int64, [2, 2, 3, 3, 5, 4, 2])


def test_segments_count_an_item_as_often_as_it_stands_for_others() -> None:
    segments = Segments(times=np.array([3, 1, 2]))
    assert segments.sizes(3).tolist() == [6]
    assert segments.count_flagged(np.array([True, False, True])).tolist() == [5]
    assert segments.sum(np.array([0.5, 1.0, 4.0])).tolist() == [1.5 + 1 + 8]
    assert segments.repeated(np.array([7, 8, 9])).tolist() == [7, 7, 7, 8, 9, 9]
    some = segments.of(np.array([True, False, True]))
    assert (some.sizes(2).tolist(), some.count_flagged(np.array([False, True])).tolist()) == ([5], [2])
    assert segments.of(None) is segments


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("large", [1.0, 2.0**21, 2.0**41])  # of 2^21 the square, and then the value, leave the loops
@pytest.mark.parametrize("items", [1, 8, 511, 512, 513, 1500])
def test_sums_of_repeated_items(items: int, large: float, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "COMPILED", compiled)
    rng = np.random.default_rng(items)
    times = rng.integers(1, 1000, items)
    values = np.where(rng.random(items) < 0.2, np.nan, rng.random(items))
    values[-1], values[0] = large, np.nan if items > 1 else large
    segments = Segments(times=times)
    for counted_as in (0.0, 0.75):
        found = sums_with_squares([values, values - 0.5], counted_as, segments)
        expected = sums_with_squares([np.repeat(each, times) for each in (values, values - 0.5)], counted_as)
        assert [array_bits(each) for each in found] == [array_bits(each) for each in expected]
        assert found[0][0].tolist() == [int(times[np.isnan(values)].sum())]
    whole = np.nan_to_num(values)
    assert array_bits(exact_sums(whole, segments)) == array_bits(exact_sums(np.repeat(whole, times)))


def test_lists_of_segments_are_counted_once_each() -> None:
    """Groups 0 to 5 have lists 1, 0, 1, 1, 0, 0 and are in segments 0, 0, 0, 1, 1, 1."""
    found = kinds([(2, 1, [1]), (2, 1, [2])], [1, 0, 1, 1, 0, 0])
    of = found.in_segments(found.code, Segments(2, np.array([0, 0, 0, 1, 1, 1], np.int32)))
    assert of is not None
    lists, segments = of
    assert lists.tolist() == [0, 1, 0, 1]
    assert segments.code is not None
    assert segments.code.tolist() == [0, 0, 1, 1]
    assert segments.times is not None
    assert segments.times.tolist() == [1, 2, 2, 1]
    assert segments.sizes(4).tolist() == [3, 3]
    assert found.in_segments(found.code[:1], Segments(2, np.zeros(1, np.int32))) is None  # 4 pairs, 1 group
    assert found.in_segments(found.code, Segments()) is None
