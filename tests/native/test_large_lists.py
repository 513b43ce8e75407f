"""Groups that are summed up from sorted scores, range by range, have the bits of the numpy kernels."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank import native
from sparkrank.bucket import evaluate_bucket
from sparkrank.metrics import plan_of
from sparkrank.ranking import hit_sums
from tests.extent import examples
from tests.native.test_same_bits import everything
from tests.native.with_and_without import calls, ranking
from tests.support.random_buckets import buckets, plans
from tests.support.strategies import PATIENT


def short_of_all(patch: pytest.MonkeyPatch) -> None:
    """Every group is a large one, of many ranges of scores and stretches of positions."""
    for name, rows in {"LARGE_ROWS": 0, "SORTED_AT_ONCE": 3, "SAMPLED_SCORES": 20, "DISCOUNTED_AT_ONCE": 4}.items():
        patch.setattr(hit_sums, name, rows)


@given(st.data())
@settings(PATIENT, max_examples=examples(80))
def test_large_groups_have_the_bits_of_numpy(data: st.DataObject) -> None:
    plan = data.draw(plans())
    rows = data.draw(buckets(plan))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "COMPILED", False)
        plain = everything(rows, plan)
    with pytest.MonkeyPatch.context() as patch:
        short_of_all(patch)
        large = everything(rows, plan)
    assert large.keys() == plain.keys()
    for part in plain:
        assert large[part] == plain[part], part


def test_the_way_of_large_groups_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test above would compare other ways."""
    short_of_all(monkeypatch)
    rows = pa.table({"key_0": [1, 1, 1, 2, 2], "label": [1, 0, 1, 0, 1], "score_0": [0.5, 0.5, 0.1, 0.2, 0.7]})
    with calls() as counted:
        evaluate_bucket(rows, plan_of(["ndcg@2", "ap"], ["m"], ["user"]))
    assert counted["hits.LargeList"] == 2 * 1
    assert not counted["hits.sum_hits"]


MEMORY = """
import numpy as np, pyarrow as pa
from sparkrank.bucket import evaluate_bucket
from sparkrank.metrics import plan_of

n, rng = 3_000_000, np.random.default_rng(0)
rows = pa.table({
    "key_0": pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int8)), pa.array([7])),
    "label": (rng.random(n) < 0.05).astype(np.int8), "score_0": rng.random(n).round(4)})
plan = plan_of("ndcg@10 ndcg p@10 ap ap@10 rr r@5 hit@5 gauc auc auc_up(digits=5)".split(), ["m"], ["user"])
evaluate_bucket(rows.slice(0, 300_000), plan)
size = lambda name: int(open("/proc/self/status").read().split(name)[1].split()[0]) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here on
before = size("VmRSS:")
evaluate_bucket(rows, plan)
print((size("VmHWM:") - before) / n)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read where Linux has them")
def test_one_group_of_many_rows_takes_few_bytes_of_each_beside_them() -> None:
    """Of tied scores too: 25 bytes where this is written, 180 in one sort of all rows."""
    ran = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120, check=True)
    assert float(ran.stdout) < 45


@pytest.mark.parametrize(
    "scores", [np.zeros(40), np.arange(40.0), np.array([np.inf, -np.inf] * 20), np.tile([1.0, 2], 20)]
)
def test_ranges_of_scores_have_every_row_once_and_equal_scores_together(scores: np.ndarray) -> None:
    ranked = ranking(scores.tolist(), [0.0] * 40)
    ranges = list(ranked.ranges_of_scores(0, 6, 15))
    assert sorted(np.concatenate(ranges).tolist()) == list(range(40))
    filled = [scores[rows] for rows in ranges if len(rows)]
    assert all(high.min() > low.max() for high, low in itertools.pairwise(filled))


KINDS = {
    "of both signs": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
    "close together": lambda rng, n: 0.5 + rng.random(n) * 1e-9,
    "few different": lambda rng, n: rng.choice([-1.0, -0.0, 0.0, 0.25, np.inf, -np.inf], n),
    "one": lambda rng, n: np.full(n, 0.1),
    "one far away": lambda rng, n: np.append(rng.random(n - 1), -1e300),
    "the smallest": lambda rng, n: rng.integers(-3, 4, n) * 5e-324,
}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_sorted_by_their_bits(kind: str) -> None:
    """A few by comparing, more digit by digit, and those that outgrow a cache in parts. -0.0 and 0.0 are equal."""
    for rows in (1, 2, 255, 256, 257, 4000, (1 << 17) + 1, 400_000):
        scores = KINDS[kind](np.random.default_rng(rows), rows)
        found = scores.copy()
        native.hits.sort_scores(found)
        assert np.array_equal(found, np.sort(scores)), rows
        assert np.array_equal(np.sort(found.view(np.int64)), np.sort(scores.view(np.int64))), rows
