"""Metrics of the first rows of lists rank these rows alone, with the bits that the ranking of all rows gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.numeric.cached import drop_cached
from sparkrank.ranking.first_rows import head_of
from tests.native.with_and_without import both, calls, ranking

METRICS = ["shown(of=x)@3", "shown(of=x,by=sum,discount=log2)@3", "ild(by=c)@3", "ild(by=[c,x],scale=mean)@4"]


def rows(scores: int) -> Mapping[str, object]:
    """Lists of none to thirty rows, with ties the more, the fewer ``scores`` there are, and rows without a value."""
    random, count = np.random.default_rng(scores), 900
    numbers, lacks = random.integers(1, 90, count) / 7, random.random((2, count)) < 0.2
    return {
        "user": random.integers(0, 60, count) ** 2 // 60,
        "score": random.integers(0, scores, count) / 8,
        "label": random.integers(0, 2, count),
        "x": pa.array(numbers, mask=lacks[0]),
        "c": pa.array(random.choice([*"abcd"], count), mask=lacks[1]),
    }


@pytest.mark.parametrize("scores", [4, 30, 10**6])
@pytest.mark.parametrize("unscored", [False, True])
def test_first_rows_alone_give_the_same_bits(scores: int, unscored: bool) -> None:
    """Without the loops all rows are ranked."""
    table = pa.table(rows(scores))
    if unscored:
        lacks = pa.array(np.random.default_rng(1).random(len(table)) < 0.3)
        column = pa.array(table["score"].to_numpy(), mask=lacks.to_numpy(zero_copy_only=False))
        table = table.set_column(1, "score", column)

    def bits() -> object:
        found = sr.evaluate(table, METRICS, group="user", score="score", label="label", buckets=1)
        return found.groups.sort_by("user").to_pydict(), found.metrics.to_pydict()

    with calls() as called:
        compiled, plain = both(bits)
    assert called["keys.stand_within"] == 2  # for 3 and for 4 rows
    assert repr(compiled) == repr(plain)  # NaN is not NaN


def test_the_first_rows_and_those_tied_with_them_are_ranked() -> None:
    of = ranking([3.0, 2.0, 2.0, 1.0, *map(float, range(9))], [0.0] * 13, [0] * 4 + [1] * 9)

    def ranked() -> list[int]:
        drop_cached(of)
        return head_of(of, 2).row.tolist()

    compiled, plain = both(ranked)
    assert compiled == [0, 1, 2, 12, 11]
    assert plain == of.row.tolist()
    for whole in (head_of(of, 9), head_of(of, None), head_of(of.under("worst"), 2)):
        assert len(whole.row) == 13
