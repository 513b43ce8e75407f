"""Wide rows of the compiled loops and of numpy, beside rows that plain Python puts together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.impressions import ITEM, LABEL, MODEL, key_column, score_column
from sparkrank.bucket.joining import Counts
from sparkrank.bucket.wide_rows import wide_rows
from sparkrank.metrics import plan_of
from tests.native.with_and_without import both, calls

Long = tuple[int, "int | None", int, "float | None", "int | None"]  # group, item, model, score, label


def wide(rows: Sequence[Long], models: int, score: pa.DataType) -> tuple[list[tuple[object, ...]], Counts]:
    """The wide rows in an order of their own, and what was counted."""
    kinds = [pa.int64(), pa.int64(), pa.int16(), score, pa.int8()]
    names = [key_column(0), ITEM, MODEL, score_column(0), LABEL]
    table = pa.table(dict(zip(names, map(pa.array, zip(*rows, strict=True), kinds), strict=True)))
    plan = plan_of(["rr"], [f"m{model:03}" for model in range(models)], ["user"], item="item", long=True)
    counts: Counts = Counter()
    columns = [key_column(0), ITEM, *map(score_column, range(models)), LABEL]
    made = wide_rows(BucketRows(table), plan, counts).table.select(columns)
    return sorted(zip(*(column.to_pylist() for column in made.columns), strict=True), key=repr), counts


def by_definition(rows: Sequence[Long], models: int) -> list[tuple[object, ...]]:
    listed: dict[tuple[int, int], dict[int, list[tuple[float, float, int | None]]]]
    listed = defaultdict(lambda: defaultdict(list))
    found: list[tuple[object, ...]] = []
    for group, item, model, score, label in rows:
        if item is None:
            found.append((group, None, *[None] * models, label))
        else:
            listed[group, item][model].append((score is None, -(score or 0.0), label))
    for (group, item), lists in listed.items():
        for place in range(max(map(len, lists.values()))):
            own = {
                model: sorted(given, key=lambda row: row[:2])[place]
                for model, given in lists.items()
                if len(given) > place
            }
            scores = [None if model not in own or own[model][0] else -own[model][1] for model in range(models)]
            label = next((own[model][2] for model in sorted(own) if own[model][2] is not None), None)
            found.append((group, item, *scores, label))
    return sorted(found, key=repr)


@pytest.mark.parametrize("score", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize(("models", "repeated"), [(1, 0), (3, 0), (3, 9), (64, 9), (65, 0), (200, 9)])
def test_rows_of_many_models_meet_as_in_plain_python(models: int, repeated: int, score: pa.DataType) -> None:
    random = np.random.default_rng(models)
    kept = random.permutation([(g, i, m) for g in range(3) for i in range(5) for m in range(models)])
    kept = kept[: len(kept) // 2 + 1]
    kept = random.permutation(np.concatenate([kept, kept[:repeated]])).tolist()
    scores = (random.permutation(len(kept)) / 64).tolist()  # all differ, and fit 32 bits
    labels = random.integers(-1, 3, len(kept)).tolist()
    rows: list[Long] = [
        (g, i - 2**62, m, s if s > 0 else None, y if y >= 0 else None)
        for (g, i, m), s, y in zip(kept, scores, labels, strict=True)
    ]
    rows.insert(1, (2, None, 0, None, 1))
    expected = by_definition(rows, models)
    with calls() as called:
        found = both(lambda: wide(rows, models, score))
    assert found[0] == found[1]
    assert found[0][0] == expected
    assert found[0][1][checks.ROWS_JOINED, ""] == len(rows) - len(expected)
    assert called["wide.number"] == 1 + bool(repeated)
    assert called["wide.place"] == 1
