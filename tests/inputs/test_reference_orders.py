"""Orders to compare with beside the labels: another model's score, and a column of ranks."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import InputError, MetricError, SpecError
from sparkrank.bucket import bucket_columns
from sparkrank.metrics import Metric, Plan
from tests.extent import examples
from tests.oracles import rank_biased_overlap
from tests.support.buckets import or_nan
from tests.support.strategies import PATIENT

COMPARED = ("kendall_tau", "kendall_distance", "spearman")
# Of user u, rows 0 to 3: by a 0, 1, 2, 3; by b 3, 2, 1 (it lacks row 0); by rank 1, 0, 3, 2.
ROWS = pa.table(
    {
        "user": ["u", "u", "u", "u", "v", "v"],
        "clicked": pa.array([None, 1, 0, 0, 1, 0], pa.int64()),
        "a": pa.array([0.9, 0.8, 0.7, 0.6, 0.5, None]),
        "b": pa.array([None, 1.0, 2.0, 3.0, None, 0.1], pa.float32()),
        "shown": pa.array([2, 1, 4, 3, None, 1], pa.int64()),
    }
)
ROLES = {"group": "user", "score": {"a": "a", "B": "b"}, "label": "clicked", "reference_rank": "shown"}


def evaluated(metrics: list[str], rows: pa.Table = ROWS, **roles) -> dict[tuple[str, str], float]:
    """The value of user u by (model, metric)."""
    groups = sr.evaluate(rows, metrics, **{**ROLES, **roles}).groups.to_pylist()
    return {(row["model"], metric): row[metric] for row in groups for metric in metrics if row["user"] == "u"}


def test_another_model_is_a_reference() -> None:
    """Three rows have both scores, and stand in opposite orders."""
    found = evaluated([f"{name}(ref=B)" for name in COMPARED])
    assert found["a", "kendall_tau(ref=B)"] == found["a", "spearman(ref=B)"] == -1
    assert found["a", "kendall_distance(ref=B)"] == 1
    assert found["B", "kendall_tau(ref=B)"] == 1  # with itself


def test_a_column_of_ranks_is_a_reference_the_lowest_first() -> None:
    """By a 0, 1, 2, 3; by rank 1, 0, 3, 2: of 6 pairs 2 are reversed, d² sums to 4."""
    found = evaluated([f"{name}(ref=reference_rank)" for name in COMPARED])
    assert found["a", "kendall_tau(ref=reference_rank)"] == pytest.approx((4 - 2) / 6)
    assert found["a", "kendall_distance(ref=reference_rank)"] == pytest.approx(2 / 6)
    assert found["a", "spearman(ref=reference_rank)"] == pytest.approx(1 - 6 * 4 / (4 * (4**2 - 1)))
    # b: rows 3, 2, 1 stand at ranks 3, 4, 1, so that two of three pairs are reversed
    assert found["B", "kendall_tau(ref=reference_rank)"] == pytest.approx((1 - 2) / 3)


def test_the_label_is_the_reference_by_default() -> None:
    """Row 0 has no label: by a, labels 1, 0, 0."""
    assert evaluated(["kendall_tau"])["a", "kendall_tau"] == pytest.approx(2 / math.sqrt(3 * 2))


def test_the_name_of_a_model_keeps_its_case() -> None:
    assert str(Metric.parse("Kendall_Tau(REF=Prod-2)")) == "kendall_tau(ref=Prod-2)"
    assert Metric.parse("kendall_tau(ref=a)") != Metric.parse("kendall_tau(ref=A)")


def test_a_reference_that_is_none_is_refused() -> None:
    for name in ("a b", "", "a@b", "f(x)", "[a]"):
        with pytest.raises(MetricError, match=r"label\|reference_rank\|<model>"):
            Metric.parse(f"spearman(ref={name})")
    with pytest.raises(MetricError, match=r'ref=pord of spearman\(ref=pord\).*did you mean "prod"\?.*label, refer'):
        Plan.of(["spearman(ref=pord)"], ["prod"], ["u"])
    assert Plan.of(["ap"], ["label"], ["u"]).references == ()
    with pytest.raises(MetricError, match="rename the model"):
        Plan.of(["kendall_tau"], ["label"], ["u"])


def test_the_column_of_ranks_is_read_only_where_it_is_compared_with() -> None:
    assert bucket_columns(Plan.of(["spearman(ref=m)", "ap"], ["m"], ["u"]), 1) == ["key_0", "label", "score_0"]
    asked = Plan.of(["spearman(ref=reference_rank)"], ["m"], ["u"])
    assert bucket_columns(asked, 1) == ["key_0", "label", "score_0", "reference_rank"]


def test_a_missing_role_is_named() -> None:
    with pytest.raises(SpecError, match="no reference_rank column is named"):
        evaluated(["spearman(ref=reference_rank)"], reference_rank=None)
    with pytest.raises(InputError, match=r'reference rank column "user" is of type string'):
        evaluated(["ap"], rows=ROWS.append_column("key", ROWS["user"]), group="key", reference_rank="user")
    with pytest.raises(SpecError, match="both group and reference rank"):
        evaluated(["ap"], reference_rank="user")


def test_a_rank_that_is_nan_is_a_bad_row() -> None:
    ranks = pa.array([math.nan, 1.0, 4.0, 3.0, None, 1.0])
    rows = ROWS.set_column(4, "shown", ranks)
    with pytest.raises(InputError, match="1 NaN reference rank"):
        evaluated(["spearman(ref=reference_rank)"], rows=rows)
    assert evaluated(["ap"], rows=rows)["a", "ap"] == 1 / 2  # where nothing reads it, all rows count


def test_overlap_is_symmetric_and_knows_items_of_one_list() -> None:
    """a has rows 0, 1, 2, 3, B has 3, 2, 1: overlap 0, 0, 2, 3 to depths 1 to 4, and B ends at 3."""
    p = 0.8
    found = evaluated([f"rbo(p={p},ref={model})" for model in "aB"])
    # Webber, Moffat and Zobel's equation 32, with X_s = 2 at s = 3 and X_l = 3 at l = 4
    series = 2 / 3 * p**3 + 3 / 4 * p**4 + 2 * (4 - 3) / (3 * 4) * p**4
    expected = (1 - p) / p * series + ((3 - 2) / 4 + 2 / 3) * p**4
    assert found["a", f"rbo(p={p},ref=B)"] == pytest.approx(expected)
    assert found["B", f"rbo(p={p},ref=a)"] == pytest.approx(expected)
    assert found["a", f"rbo(p={p},ref=a)"] == pytest.approx(1)


some_score = st.none() | st.integers(0, 5)


@settings(PATIENT, max_examples=examples(100))
@given(st.lists(st.tuples(some_score, some_score), min_size=1, max_size=9), st.floats(0.1, 0.9))
def test_overlap_by_its_definition(rows: list[tuple[int | None, int | None]], p: float) -> None:
    """Two scores with ties and gaps: the agreement of two sets at every depth, whichever list comes first."""
    a, b = ([None if row[side] is None else float(row[side]) for row in rows] for side in (0, 1))
    scores = {"a": pa.array(a, pa.float64()), "B": pa.array(b, pa.float64())}
    table = pa.table({"user": ["u"] * len(rows), **scores, "label": [1] * len(rows)})
    metrics = [f"rbo(p={p!r},ref={model})" for model in "aB"]
    ev = sr.evaluate(table, metrics, group="user", score={"a": "a", "B": "B"}, label="label")
    found = {row["model"]: row for row in ev.groups.to_pylist()}
    for model, other in ("aB", "Ba"):
        expected = or_nan(rank_biased_overlap(list(zip(a, b, strict=True)), p=p))
        assert found[model][str(Metric.parse(f"rbo(p={p!r},ref={other})"))] == pytest.approx(expected, nan_ok=True)
