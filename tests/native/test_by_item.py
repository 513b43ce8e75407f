"""The compiled loop over hits where tied rows stand by their items, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.bucket.encoding import TextOrder
from sparkrank.ranking.hit_sums import Sum, compiled_sums
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Ranking
from tests.native.with_and_without import calls


def by_item(
    scores: Sequence[float], labels: Sequence[float], items: Sequence[str | None], kind: str = "string"
) -> Ranking:
    judgments = Judgments(np.zeros(len(labels), np.int32), np.array(labels), 1)
    order = TextOrder(pa.chunked_array([pa.array(items).cast(kind)]))
    return Ranking(judgments, np.array(scores, np.float64), None, "item", order, cutoffs=(1, 3))


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


def test_a_null_item_is_left_to_numpy() -> None:
    with calls() as called:
        assert compiled_sums(by_item([1.0, 1.0], [0, 1], ["a", None]), None, None) is None
    assert not called["hits.sum_hits"]
