"""The compiled loop over hits where tied rows stand by their items: by hand, and as Python sorts them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank.bucket.encoding import TextOrder
from sparkrank.ranking.hit_sums import Sum, compiled_sums
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Ranking
from tests.extent import examples
from tests.native.with_and_without import calls
from tests.support.strategies import PATIENT

TEXTS = ("", "a", "ab", "b", "B", "ü", "item-0000000000000001", "item-0000000000000002", "a\0", "9", "10")


def by_item(
    scores: Sequence[float],
    labels: Sequence[float],
    items: Sequence[str | None],
    codes: Sequence[int] | None = None,
    retrieved: Sequence[int] | None = None,
    kind: str = "string",
) -> Ranking:
    group = np.array([0] * len(labels) if codes is None else codes, np.int32)
    judgments = Judgments(group, np.array(labels), int(group.max()) + 1)
    rows = None if retrieved is None else np.array(retrieved, np.int64)
    order = TextOrder(pa.chunked_array([pa.array(items).cast(kind)]))
    return Ranking(judgments, np.array(scores, np.float64), rows, "item", order, cutoffs=(1, 3))


# Of one score, rows stand by their items: b, ab, a, B. The hits, b and a, are second and fourth behind the row z.
SCORES, CLICKS, ITEMS = (1.0, 2.0, 1.0, 1.0, 1.0), (1, 0, 0, 1, 0), ("a", "z", "ab", "b", "B")


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize("below", [0, 40, 300], ids=lambda below: f"{below} tied rows below")
def test_tied_rows_stand_by_item(below: int, kind: str) -> None:
    """Below, half of the rows are hits, of one score and items that ascend: the last stands first."""
    labels = [*CLICKS, *[row % 2 for row in range(below)]]
    items = [*ITEMS, *(f"{row:03}" for row in range(below))]
    of = by_item([*SCORES, *[0.0] * below], labels, items, kind=kind)
    with calls() as called:
        found = compiled_sums(of, None, None)
    assert called["hits.sum_hits"] == 1
    assert found is not None
    hits = [2, 4, *range(6, 6 + below, 2)]  # the last row below, an odd one, is a hit
    assert found.sums[Sum.COUNT, :, 0].tolist() == [0, 1, len(hits)]
    assert found.sums[Sum.FIRST, :, 0].tolist() == [0, 1 / 2, 1 / 2]
    assert found.sums[Sum.GAIN, 1, 0] == 1 / math.log2(3)
    whole = sum(number / place for number, place in enumerate(hits, 1))
    assert found.sums[Sum.PRECISION, 2, 0] == pytest.approx(whole, rel=1e-13)
    # by score: four rows at 2 to 5 with the mid-rank 3.5, and those below at 6 and on
    assert found.mid_ranks.tolist() == [2 * 3.5 + below // 2 * (5 + (below + 1) / 2)]
    assert found.tied_pairs.tolist() == [2 * 2 + (below // 2) ** 2]
    assert found.tied_rows == 4 + below


def test_of_one_item_and_score_the_lower_label_comes_first() -> None:
    """The gains 0, 1, 3 at 1, 2, 3."""
    found = compiled_sums(by_item([1.0, 1.0, 1.0], [3, 0, 1], ["a", "a", "a"]), None, None)
    assert found is not None
    assert found.sums[Sum.GAIN, 2, 0] == pytest.approx(1 / math.log2(3) + 3 / 2, rel=1e-15)


ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0.0, -0.0, 0.5, 1.0]),
        st.integers(-1, 3),
        st.sampled_from(TEXTS),
        st.booleans(),
    ),
    min_size=1,
    max_size=60,
)


@given(rows=ROWS, graded=st.booleans(), some=st.booleans())
@example(rows=[(0, 0.5, row % 2, f"{row}", True) for row in range(300)], graded=False, some=False)
@example(rows=[(0, row // 2, 1, f"{row}", True) for row in range(300)], graded=True, some=False)
@settings(PATIENT, max_examples=examples(300))
def test_the_sums_are_those_of_rows_that_python_sorts(
    rows: list[tuple[int, float, int, str, bool]], graded: bool, some: bool
) -> None:
    """Few and many ties, an item on several rows, graded labels, and rows without a score."""
    labels = [label if graded else min(label, 1) for _, _, label, _, _ in rows]
    listed = [row for row, (*_, is_listed) in enumerate(rows) if is_listed or not some]
    of = by_item(
        [rows[row][1] for row in listed],
        labels,
        [row[3] for row in rows],
        [row[0] for row in rows],
        listed if some else None,
    )
    found = compiled_sums(of, None, None)
    if found is None:  # nothing is listed
        assert not listed
        return
    for group in range(of.groups):
        mine = [row for row in listed if rows[row][0] == group]
        mine.sort(key=lambda row: labels[row])
        mine.sort(key=lambda row: rows[row][3].encode(), reverse=True)
        # a reversed sort keeps the order of equal ones, too
        mine.sort(key=lambda row: rows[row][1], reverse=True)
        hits = [place for place, row in enumerate(mine, 1) if labels[row] > 0]
        at = found.distinct.code[group]
        assert found.sums[Sum.COUNT, 2, at] == len(hits)
        assert found.sums[Sum.FIRST, 2, at] == (1 / hits[0] if hits else 0)
        gain = sum(labels[mine[place - 1]] / math.log2(place + 1) for place in hits)
        assert found.sums[Sum.GAIN, 2, at] == pytest.approx(gain, rel=1e-13)
        assert found.sums[Sum.GAIN, 0, at] == (labels[mine[0]] if hits and hits[0] == 1 else 0)
        precisions = sum(number / place for number, place in enumerate(hits, 1))
        assert found.sums[Sum.PRECISION, 2, at] == pytest.approx(precisions, rel=1e-13)
        others = [rows[row][1] for row in mine if labels[row] <= 0]
        scores = [rows[row][1] for row in mine if labels[row] > 0]
        assert found.tied_pairs[at] == sum(others.count(score) for score in scores)
        every = [*others, *scores]
        ranks = [sum(other > score for other in every) + (every.count(score) + 1) / 2 for score in scores]
        assert found.mid_ranks[at] == sum(ranks)


def test_a_null_item_is_left_to_numpy() -> None:
    with calls() as called:
        assert compiled_sums(by_item([1.0, 1.0], [0, 1], ["a", None]), None, None) is None
    assert not called["hits.sum_hits"]
