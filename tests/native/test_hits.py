"""The compiled loop over the hits of each group: cases worked by hand, and all pairs compared."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.ranking.hit_sums import CompiledSums, Sum, compiled_sums, placed_hits
from sparkrank.ranking.judgments import Gain, Judgments, best_order
from sparkrank.ranking.ranking import Ranking
from tests.extent import examples
from tests.native.with_and_without import BACK, array_bits, both, ranking
from tests.support.strategies import PATIENT

log2 = math.log2


def summed(rows: Ranking, gain: Gain | None = None) -> CompiledSums:
    """The sums of each group, one for each group in place of each list."""
    found = compiled_sums(rows, None, None, gain)
    assert found is not None
    of = found.distinct.code
    return replace(found, sums=found.sums[:, :, of], mid_ranks=found.mid_ranks[of], tied_pairs=found.tied_pairs[of])


# A row, a block of three with two relevant ones at positions 2 to 4, a relevant row, two blocks of their own.
SCORE = (5.0, 3.0, 1.0, 3.0, 0.0, 3.0)
CLICK = (0, 1, 1, 1, 0, 0)
# Rows below, which change nothing above them: of more than 1,024 rows ties are found in another way, hits of more than
# 24 relevant ones among few others, and of more than 64 they are sorted in another way.
BELOW = {
    "alone": ((), ()),
    "beside few": ([-1.0 - row for row in range(26)], [0] * 26),
    "in a long list": ([-1.0 - row for row in range(40)], [0] * 40),
    "in a very long list": ([-1.0 - row for row in range(1019)], [0] * 1019),  # 1,025 in all
    "before 21 relevant": ([-1.0 - row for row in range(21)], [1] * 21),  # 24 in all
    "before 22 relevant": ([-1.0 - row for row in range(22)], [1] * 22),
    "before 22 relevant and many others": ([-1.0 - row for row in range(62)], [1] * 22 + [0] * 40),
    "before many relevant": ([-1.0 - row for row in range(40)], [1] * 40),
    "before 70 relevant": ([-70.0 + row for row in range(70)], [1] * 70),
}


@pytest.mark.parametrize("below", BELOW)
def test_sums_up_to_cutoffs_across_a_tie_block(below: str) -> None:
    """In the block at 2 to 4, a row is relevant with chance 2/3, and after s rows of it s/2 of the other hit were."""
    scores, labels = BELOW[below]
    found = summed(ranking([*SCORE, *scores], [*CLICK, *labels], cutoffs=(1, 2, 3, 5)))
    expected = {
        Sum.COUNT: [0, 2 / 3, 2 / 3 * 2, 3],
        Sum.PRECISION: [0, 2 / 3 / 2, 2 / 3 * (1 / 2 + 1.5 / 3), 2 / 3 * (1 / 2 + 1.5 / 3 + 2 / 4) + 3 / 5],
        # the first hit is the block's first row with chance 2/3, else its second
        Sum.ANY: [0, 2 / 3, 1, 1],
        Sum.FIRST: [0, 2 / 3 / 2, 2 / 3 / 2 + 1 / 3 / 3, 2 / 3 / 2 + 1 / 3 / 3],
        Sum.GAIN: [
            0,
            2 / 3 / log2(3),
            2 / 3 * (1 / log2(3) + 1 / log2(4)),
            2 / 3 * (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) + 1 / log2(6),
        ],
    }
    for each, sums in expected.items():
        assert found.sums[each, :4, 0] == pytest.approx(sums, rel=1e-15), each.name
    if not any(labels):
        ideal = [1, 1 + 1 / log2(3), 1 + 1 / log2(3) + 1 / log2(4), 1 + 1 / log2(3) + 1 / log2(4)]
        assert found.sums[Sum.IDEAL, :4, 0] == pytest.approx(ideal, rel=1e-15)
    for each in (Sum.COUNT, Sum.ANY, Sum.FIRST):
        rest = sum(labels) if each is Sum.COUNT else 0
        assert found.sums[each, 4, 0] == pytest.approx(expected[each][-1] + rest, rel=1e-15)  # over the whole list
    # 2 to 4 have the mid-rank 3; the rows below stand at 7, 8, ...
    below_sum = sum(position for position, label in enumerate(labels, 7) if label)
    assert found.mid_ranks.tolist() == [3 + 3 + 5 + below_sum]
    assert found.tied_pairs.tolist() == [2 * 1]
    assert found.tied_rows == 3


@pytest.mark.parametrize("others", [0, 30, 40])
def test_zeros_of_either_sign_are_tied(others: int) -> None:
    """The relevant of four zeros has the mid-rank 2.5 and is tied with three others; ``others`` stand below."""
    scores = [0.0, -0.0, -0.0, 0.0, *(-1.0 - row for row in range(others))]
    found = summed(ranking(scores, [0, 1, 0, 0, *[0] * others]))
    assert (found.mid_ranks.tolist(), found.tied_pairs.tolist(), found.tied_rows) == ([2.5], [3], 4)
    assert found.sums[Sum.FIRST, -1, 0] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, rel=1e-15)


def test_scores_that_hash_to_the_end_of_the_table_go_on_at_its_start() -> None:
    """Two lists of 40 distinct scores whose hashes all are the last one; 3 of them stand twice and 1 thrice."""
    words = np.array([(2**64 - 1 - place) * BACK % 2**64 for place in range(90)], np.uint64)
    scores = words.view(np.float64)
    distinct = scores[np.isfinite(scores)][:40]
    assert len(np.unique(distinct)) == 40
    one = [*distinct, *distinct[:3], *distinct[10:11], *distinct[10:11]]
    found = summed(ranking(one + one, [1, *[0] * 44] * 2, [0] * 45 + [1] * 45))
    assert found.tied_rows == 2 * (3 * 2 + 3)


@pytest.mark.parametrize("rows", [2, 40, 1024, 1025])
def test_scores_that_share_a_bit_are_compared(rows: int) -> None:
    """Distinct scores whose hashes begin with zeros are not tied, nor with another list; two equal ones are."""
    words = np.array([place * BACK % 2**64 for place in range(1, 3 * rows)], np.uint64)
    scores = words.view(np.float64)
    distinct = scores[np.isfinite(scores)][:rows]
    assert len(np.unique(distinct)) == rows
    tied = [*distinct[:-1], distinct[0]]
    for lists, tied_rows in (([distinct, distinct], 0), ([distinct, tied], 2), ([tied, distinct], 2)):
        found = summed(ranking(np.concatenate(lists).tolist(), [1, *[0] * (rows - 1)] * 2, [0] * rows + [1] * rows))
        assert found.tied_rows == tied_rows


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33])
def test_two_equal_scores_are_found_wherever_they_stand(rows: int) -> None:
    """A list for each two of its rows, and one without ties; a third row with their score makes three."""
    pairs = list(itertools.combinations(range(rows), 2))
    lists = np.tile(np.arange(1.0, rows + 1), (len(pairs) + 1, 1))
    for scores, (one, other) in zip(lists, pairs, strict=False):
        scores[other] = scores[one]
    codes = np.repeat(np.arange(len(lists)), rows).tolist()
    labels = [0] * lists.size
    assert summed(ranking(lists.ravel().tolist(), labels, codes)).tied_rows == 2 * len(pairs)
    if rows > 2:
        lists[:-1, -1] = [scores[one] for scores, (one, _) in zip(lists, pairs, strict=False)]
        tied = sum(2 if other == rows - 1 else 3 for _, other in pairs)
        assert summed(ranking(lists.ravel().tolist(), labels, codes)).tied_rows == tied


@pytest.mark.parametrize("tied", range(2, 13))
def test_a_hit_of_a_block_is_sure_by_its_end(tied: int) -> None:
    """The chances of its rows to be the first hit add up to 1, but for their rounding; and the count to the hits."""
    for inside in range(1, tied + 1):
        found = summed(ranking([0.5] * tied + [0.25], [1] * inside + [0] * (tied - inside + 1), cutoffs=(tied,)))
        assert found.sums[Sum.ANY, :, 0].tolist() == [1.0, 1.0]
        assert found.sums[Sum.COUNT, :, 0] == pytest.approx([inside, inside], rel=1e-15)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 60)), min_size=1, max_size=4),
    st.sampled_from([3, 30, 1000]),
)
@settings(PATIENT, max_examples=examples(100))
def test_ranks_and_ties_are_those_of_all_pairs(seed: int, sizes: list[tuple[int, int]], distinct: int) -> None:
    """``sizes`` are the relevant rows of each group, and how many others but one."""
    rng = np.random.default_rng(seed)
    rows = [(group, row < hits) for group, (hits, others) in enumerate(sizes) for row in range(hits + others + 1)]
    codes, labels = rng.permutation(np.array(rows, int)).T
    scores = rng.integers(0, distinct, len(rows)) / 3
    same = codes[:, np.newaxis] == codes
    above = (same & (scores > scores[:, np.newaxis])).sum(axis=1)
    equal = same & (scores == scores[:, np.newaxis])
    mid_rank = above + (equal.sum(axis=1) + 1) / 2
    pairs = (equal & (labels == 0)).sum(axis=1)
    found = summed(ranking(scores.tolist(), labels.tolist(), codes.tolist()))
    for group in range(len(sizes)):
        hits = (codes == group) & (labels == 1)
        assert found.mid_ranks[group] == mid_rank[hits].sum()
        assert found.tied_pairs[group] == pairs[hits].sum()
        assert found.sums[Sum.COUNT, -1, group] == pytest.approx(sizes[group][0], rel=1e-13)
    assert found.tied_rows == np.count_nonzero(equal.sum(axis=1) > 1)


def test_hits_are_placed_by_position_in_every_group() -> None:
    """Groups of none, one, a few and more than 128 relevant rows, none tied: positions are those of a sort.

    Rows whose hits are weighed have propensities, which say nothing of positions.
    """
    rng = np.random.default_rng(61)
    sizes = [(0, 3), (1, 0), (2, 40), (0, 0), (70, 5), (128, 9), (129, 30), (400, 1000)]  # relevant and other rows
    codes = np.concatenate([np.full(sum(size), group, np.int32) for group, size in enumerate(sizes)])
    labels = np.concatenate([np.repeat([1, 0], size) for size in sizes])
    order, scores = rng.permutation(len(codes)), rng.permutation(len(codes)) / 7
    codes, labels = codes[order], labels[order]
    judgments = Judgments(codes, labels, len(sizes), propensities=np.ones(len(codes)))
    placed = placed_hits(Ranking(judgments, scores))
    assert placed is not None
    by_group: dict[int, list[tuple[int, int]]] = {}
    for row, group, position in zip(*(values.tolist() for values in placed), strict=True):
        by_group.setdefault(group, []).append((position, row))
    for group in range(len(sizes)):
        ranked = sorted(np.flatnonzero(codes == group), key=lambda row: -scores[row])
        expected = [(place, row) for place, row in enumerate(ranked, 1) if labels[row]]
        assert by_group.get(group, []) == expected


def test_hits_are_not_placed_where_rows_are_tied_or_not_weighed() -> None:
    codes, labels, scores = np.zeros(3, np.int32), np.array([1, 0, 0]), np.array([3.0, 2.0, 1.0])
    weighed = Judgments(codes, labels, 1, propensities=np.ones(3))
    assert placed_hits(Ranking(weighed, scores)) is not None
    assert placed_hits(Ranking(weighed, np.array([3.0, 2.0, 2.0]))) is None
    assert placed_hits(Ranking(replace(weighed, propensities=None), scores)) is None


@pytest.mark.parametrize("graded", [False, True])
def test_a_further_label_has_the_sums_that_it_has_alone(graded: bool) -> None:
    """Groups without a hit are not brought into order for it; the longest of them is longer than all others."""
    rng = np.random.default_rng(62)
    codes = np.concatenate([rng.integers(0, 200, 3000), np.full(150, 200)]).astype(np.int32)
    labels = np.where(codes % 3 == 0, rng.integers(0, 4 if graded else 2, len(codes)), 0)
    scores = rng.integers(0, 60, len(codes)) / 8
    clicks = Ranking(Judgments(codes, rng.integers(0, 2, len(codes)), 201), scores, cutoffs=(2, 5))
    judgments = Judgments(codes, labels, 201)
    further = summed(Ranking(judgments, scores, cutoffs=(2, 5), sorted_rows=clicks.sorted_rows))
    alone = summed(Ranking(Judgments(codes, labels, 201), scores, cutoffs=(2, 5)))
    for own, other in zip(
        (further.sums, further.mid_ranks, further.tied_pairs),
        (alone.sums, alone.mid_ranks, alone.tied_pairs),
        strict=True,
    ):
        assert own.tobytes() == other.tobytes()
    assert 0 < further.tied_rows < alone.tied_rows


def test_gains_of_each_group_are_sorted_as_numpy_sorts_them() -> None:
    """Of groups with no gain, a few, and more than 24."""
    rng = np.random.default_rng(63)
    sizes = [0, 1, 5, 0, 24, 25, 300]
    codes = rng.permutation(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
    gains = rng.integers(0, 50, len(codes)) / 3
    compiled, plain = both(lambda: best_order(codes, gains, len(sizes)))
    for name in ("group", "position", "amount"):
        assert array_bits(getattr(compiled, name)) == array_bits(getattr(plain, name))
