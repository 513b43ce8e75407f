"""Which groups the compiled loop takes to share a list, and that each has the sums that it has alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.ranking.distinct_lists import DistinctLists
from sparkrank.ranking.hit_sums import CompiledSums, compiled_sums
from sparkrank.ranking.judgments import Gain
from sparkrank.ranking.ranking import Ranking
from tests.extent import examples
from tests.native.with_and_without import ranking
from tests.support.strategies import PATIENT


def summed(of: Ranking, gain: Gain | None = None) -> CompiledSums:
    found = compiled_sums(of, None, None, gain)
    assert found is not None
    return found


def distinct_of(*lists: list[int], ties: int = 0, below: int = 0) -> DistinctLists:
    """The distinct lists of groups with these labels by falling score, the last ``ties`` of one score, above others."""
    rows = [
        (group, -float(position if group < len(lists) - 1 else min(position, len(labels) + below - ties)), label)
        for group, labels in enumerate(lists)
        for position, label in enumerate([*labels, *[0] * below])
    ]
    codes, scores, labels = zip(*rows, strict=True)
    return summed(ranking(scores, labels, codes, cutoffs=(1,))).distinct


def test_groups_with_the_same_hits_and_rows_are_of_one_kind() -> None:
    """The first and fourth are, whatever the scores; lists are numbered in the order of their hits and rows."""
    found = distinct_of([0, 1, 0], [1, 0, 0], [0, 1], [0, 1, 0], [0, 1, 1], [0, 0], [0, 1])
    assert found.code.tolist() == [2, 3, 1, 2, 4, 0, 1]
    assert found.rows.tolist() == [2, 2, 3, 3, 3]
    assert found.relevant.tolist() == [0, 1, 1, 1, 2]
    assert [f"{word:064b}"[:4] for word in found.places.tolist()] == ["0000", "0100", "0100", "1000", "0110"]


def test_a_group_with_ties_is_a_kind_of_its_own() -> None:
    """Also where no relevant row is tied: the tied rows of each list are counted."""
    found = distinct_of([1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], ties=2)
    assert found.code.tolist() == [0, 0, 1]
    assert [f"{word:064b}"[:4] for word in found.places.tolist()] == ["1000", "0000"]


@pytest.mark.parametrize(("below", "codes"), [(61, [0, 0]), (62, [0, 1])])
def test_up_to_64_rows_groups_may_be_alike(below: int, codes: list[int]) -> None:
    found = distinct_of([0, 1, 1], [0, 1, 1], below=below)
    assert found.code.tolist() == codes
    assert set(found.places.tolist()) == {2**62 + 2**61}


def test_the_64th_position_tells_groups_apart() -> None:
    found = distinct_of([*[0] * 63, 1], [*[0] * 62, 1, 0], [*[0] * 63, 1])
    assert found.code.tolist() == [0, 1, 0]
    assert found.places.tolist() == [1, 2]


def test_where_gains_differ_no_two_groups_are_alike() -> None:
    scores, codes = [2.0, 1.0, 2.0, 1.0], [0, 0, 1, 1]
    assert summed(ranking(scores, [7, 0, 7, 0], codes)).distinct.code.tolist() == [0, 0]
    assert summed(ranking(scores, [7, 0, 6, 0], codes)).distinct.code.tolist() == [0, 1]
    assert summed(ranking(scores, [7, 0, 6, 0], codes), Gain("binary")).distinct.code.tolist() == [0, 0]


@pytest.mark.parametrize("count", [511, 512, 513, 3000])
def test_more_kinds_than_the_first_table_holds(count: int) -> None:
    """The first table is for 128 lists, the second for 512, the third for 2,048. Every list stands twice, far apart."""
    position = np.array([[bit for bit in range(12) if (number + 1) >> bit & 1] for number in range(count)], object)
    labels = np.zeros((count, 12), np.int64)
    for number, bits in enumerate(position):
        labels[number, bits] = 1
    twice = np.concatenate([labels, labels[::-1]])
    codes = np.repeat(np.arange(2 * count), 12)
    scores = np.tile(-np.arange(12.0), 2 * count).tolist()
    found = summed(ranking(scores, twice.ravel().tolist(), codes.tolist())).distinct
    assert len(found.rows) == count
    assert found.code[:count].tolist() == found.code[count:][::-1].tolist()
    assert sorted(set(found.code.tolist())) == list(range(count))
    assert found.relevant[found.code].tolist() == twice.sum(axis=1).tolist()
    places = [f"{word:064b}"[:12] for word in found.places[found.code].tolist()]
    assert places == ["".join(map(str, row)) for row in twice.tolist()]


def test_kinds_whose_numbers_no_longer_fit_16_bits() -> None:
    """A group with ties shares its list with no other; two more are alike."""
    groups = 70_000
    scores = [*[1.0] * (2 * groups), 2.0, 1.0, 2.0, 1.0]
    found = summed(ranking(scores, [0] * len(scores), np.repeat(np.arange(groups + 2), 2).tolist())).distinct
    assert len(found.rows) == groups + 1
    assert sorted(found.code.tolist()) == [*range(groups + 1), found.code[-1]]
    assert found.code[-2] == found.code[-1]


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from([1, 2, 3, 5, 64, 65, 140]), min_size=1, max_size=40),
    st.sampled_from([(0, 1), (0, 0, 0, 1), (0, 1, 2)]),
    st.booleans(),
)
@settings(PATIENT, max_examples=examples(60))
def test_a_kind_has_sums_of_its_groups(seed: int, sizes: list[int], labels: tuple[int, ...], are_tied: bool) -> None:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    label, score = rng.choice(labels, len(codes)), rng.permutation(len(codes)) // (1 + are_tied) / 7
    mixed = rng.permutation(len(codes))
    found = summed(ranking(score[mixed].tolist(), label[mixed].tolist(), codes[mixed].tolist(), cutoffs=(1, 3, 64)))
    relevant = label[label > 0]
    gain = Gain() if len(set(relevant.tolist())) == 1 else None
    for group in range(len(sizes)):
        rows = mixed[codes[mixed] == group]
        alone = summed(ranking(score[rows].tolist(), label[rows].tolist(), cutoffs=(1, 3, 64)), gain)
        number = found.distinct.code[group]
        assert found.distinct.rows[number] == sizes[group]
        assert found.distinct.relevant[number] == alone.distinct.relevant[0] == np.count_nonzero(label[rows])
        assert found.sums[:, :, number].tolist() == alone.sums[:, :, 0].tolist()
        assert found.mid_ranks[number] == alone.mid_ranks[0]
        assert found.tied_pairs[number] == alone.tied_pairs[0]
