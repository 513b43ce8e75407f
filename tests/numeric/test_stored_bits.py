"""Every stored table has the same bits in however many buckets its groups were, that of limbs too."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.numeric.exact_sums import LIMBS, UNITS, carried
from tests.support.numbers import bits
from tests.windows.week import DAYS, evaluate, impressions_of, spec_of, write_log

METRICS = ["ndcg@5", "ap", "dcg@5", "ndcg(weight=rows)@5", "gauc", "median(ap)", "auc", "auc(exact)", "logloss", "ece"]
MADE_OF_STATES = {"metrics", "comparisons", "blocks", "curves", "distributions", "parts", "quality", "states"}
WHOLE_LIMBS = st.lists(st.integers(-(2**45), 2**45), min_size=LIMBS, max_size=LIMBS)


@given(WHOLE_LIMBS, WHOLE_LIMBS)
def test_limbs_of_one_sum_have_one_form(multiples: list[int], moved: list[int]) -> None:
    """Amounts are moved from limb to limb, which leaves the sum as it is."""
    units = np.array(UNITS)
    limbs = np.array(multiples) * units
    other = limbs.copy()
    for place, each in enumerate(moved[1:]):
        amount = (each // 2**22) * UNITS[place]
        other[place] += amount
        other[place + 1] -= amount
    one, two = carried(limbs), carried(other)
    assert one.tobytes() == two.tobytes()
    assert sum(map(Fraction, one.tolist())) == sum(map(Fraction, limbs.tolist()))
    assert all(-unit / 2 <= limb < unit / 2 for limb, unit in zip(one[1:], UNITS, strict=False))
    assert all(float(limb / unit).is_integer() for limb, unit in zip(one, UNITS, strict=True))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"input__columns__weight": "weight"},
        {"slices": ["kind", "country"]},
        {"slices": ["kind"], "input__columns__weight": "weight", "definitions__undefined": "zero"},
    ],
    ids=["rows", "weights", "slices", "slices and weights"],
)
def test_the_number_of_buckets_shows_in_no_stored_table(tmp_path: Path, changes: dict[str, Any]) -> None:
    rows = impressions_of(DAYS[0], 1500)
    rows["user_id"] = np.random.default_rng(1).integers(0, 200, len(rows))
    rows["other"] = 1 / (1 + np.exp(-rows["other"]))
    write_log(tmp_path, rows, DAYS[0])
    settings = {"metrics": METRICS, "compare": {"baseline": "production"}, "output__blocks": True, "output__curves": 10}
    found = []
    for buckets in (1, 3, 17):
        of = {**settings, **changes, "engine__buckets": buckets, "output__path": f"{tmp_path}/{buckets}"}
        evaluate(spec_of(tmp_path, **of), DAYS[0])
        folders = [each for each in (tmp_path / str(buckets)).iterdir() if each.name in MADE_OF_STATES]
        assert {each.name for each in folders} == MADE_OF_STATES
        found.append({each.name: pq.read_table(each / f"day={DAYS[0]}", partitioning=None) for each in folders})
    kinds = {"mean", "sum", "count", "part_mean", "part_sum", "pair", "parts", "blocks", "distributions"}
    assert set(found[0]["states"]["kind"].to_pylist()) == kinds
    for other in found[1:]:
        for name, table in found[0].items():
            (_, ours), (_, theirs) = bits(table), bits(other[name])
            assert [column for column in ours if ours[column] != theirs[column]] == [], name
