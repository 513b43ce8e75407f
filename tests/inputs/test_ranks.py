"""Orders beside scores: a column of ranks, which may be positions, and orders to compare with."""

from __future__ import annotations

import math
from math import log2

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.base.errors import InputError, MetricError, SpecError
from sparkrank.bucket import bucket_columns
from sparkrank.metrics import Metric, gain, plan_of
from tests.extent import examples
from tests.oracles import ORACLES, PAIRED, rank_biased_overlap
from tests.support.buckets import or_nan
from tests.support.joined import counts_of
from tests.support.strategies import PATIENT, Asked, arguments, group_metrics, text

ROLES = {"group": "user", "rank": "place", "label": "label"}


def log(places: list[float | None], labels: list[float | None], kind: pa.DataType | None = None) -> pa.Table:
    columns = {"place": pa.array(places, kind or pa.float64()), "label": pa.array(labels, pa.float64())}
    return pa.table({"user": ["u"] * len(places), **columns})


def value(rows: pa.Table, metric: str, **definitions: str) -> float:
    return sr.evaluate(rows, [metric], **ROLES, **definitions).groups[-1].to_pylist()[0]


# Relevant, not, relevant, relevant at ranks 2, 3, 6, 9; one more relevant item is not listed.
GAPS = log([6, 2, 9, 3, None], [1, 1, 1, 0, 1], pa.int32())


def test_ranks_with_gaps() -> None:
    for metric, dense, as_given in (
        ("rr", 1, 1 / 2),
        ("p@3", 2 / 3, 1 / 3),
        ("r@6", 3 / 4, 2 / 4),
        ("ap", (1 / 1 + 2 / 3 + 3 / 4) / 4, (1 / 2 + 2 / 6 + 3 / 9) / 4),
        ("dcg", 1 / log2(2) + 1 / log2(4) + 1 / log2(5), 1 / log2(3) + 1 / log2(7) + 1 / log2(10)),
        ("rbp(p=0.5)", (1 + 0.5**2 + 0.5**3) / 2, (0.5 + 0.5**5 + 0.5**8) / 2),
        ("group_auc", 1 / 3, 1 / 3),  # an order, whatever the positions
    ):
        assert value(GAPS, metric) == pytest.approx(dense, rel=1e-15)
        assert value(GAPS, metric, positions="given") == pytest.approx(as_given, rel=1e-15)
    assert value(log([0.5, -3, 10**12], [0, 0, 1]), "rr") == 1 / 3  # any number ranks where positions are dense


def test_ranks_from_0() -> None:
    from_0 = GAPS.set_column(1, "place", pa.array([5, 1, 8, 2, None], pa.int64()))
    for metric in ("rr", "ap", "dcg", "p@3"):
        assert value(from_0, metric, positions="given_from_0") == value(GAPS, metric, positions="given")
        assert value(from_0, metric) == value(GAPS, metric)
    told = r"\(1 rank that is no position\): .*, and ranks that begin with 0 are positions=given_from_0$"
    for kind in (pa.int64(), pa.float64()):
        with pytest.raises(sr.InputError, match=told):
            value(log([0, 1], [0, 1], kind), "rr", positions="given")


def test_a_reader_walks_over_gaps() -> None:
    """ERR at ranks 2 and 5, each satisfying with probability 1/2; the overlap of two orders knows no gaps."""
    gaps, dense = log([2, 5], [1, 1]), log([1, 2], [1, 1])
    assert value(gaps, "err(max_grade=1)", positions="given") == 1 / 2 * 1 / 2 + 1 / 2 * 1 / 2 * 1 / 5
    assert value(gaps, "rbo", positions="given") == value(dense, "rbo")


def test_rows_of_one_rank_enter_together() -> None:
    """A hit and another share rank 2, below a hit at 1: (1/1 + 2/2 + 3/4) / 3 of hits at 1, 2 and 4."""
    rows = log([1, 2, 2, 4], [1, 0, 1, 1])
    for ties in ("expected", "block"):
        assert value(rows, "ap", positions="given", ties=ties) == pytest.approx((1 / 1 + 2 / 2 + 3 / 4) / 3, rel=1e-15)
    with pytest.raises(sr.SpecError, match="ties=best orders tied rows, but positions=given takes them as given"):
        value(rows, "ap", positions="given", ties="best")


@pytest.mark.parametrize(
    ("positions", "bad"),
    [("given", [0, -1, 1.5, float("inf"), 2.0**31]), ("given_from_0", [-1, 0.5]), ("dense", [float("nan")])],
)
def test_a_rank_that_is_no_position_is_rejected(positions: str, bad: list[float]) -> None:
    rows = log([1, *bad, 2], [1, *[1] * len(bad), 0])
    reason, check = ("NaN score", checks.NAN_SCORE) if positions == "dense" else ("rank that is no", checks.BAD_RANK)
    with pytest.raises(sr.InputError, match=rf"\({len(bad)} {reason}"):
        value(rows, "rr", positions=positions)
    evaluation = sr.evaluate(rows, ["p"], positions=positions, max_bad_fraction=0.9, **ROLES)
    assert evaluation.groups["p"].to_pylist() == [1 / 2]
    assert counts_of(evaluation)[check] == len(bad)


def test_a_column_of_ranks_is_named_as_one() -> None:
    rows = log([1], [1]).append_column("name", pa.array(["x"]))
    for rank, sentence in (
        ("plce", 'the rank column "plce" is not in the input, did you mean "place"?'),
        ("user", 'column "user" is both group and rank'),
        ({"m": "name"}, 'the m rank column "name" is of type string: a number is needed'),
    ):
        with pytest.raises(sr.SparkrankError) as told:
            sr.evaluate(rows, ["rr"], group="user", rank=rank, label="label")
        assert sentence in str(told.value)


def test_a_rank_far_down_costs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gain, "TABLED_POSITIONS", 8)
    rows = log([1, 2**31 - 2], [1, 1], pa.int64())
    assert value(rows, "dcg", positions="given") == pytest.approx(1 + 1 / log2(2**31 - 1), rel=1e-15)
    assert value(log([1, 7], [1, 1]), "dcg", positions="given") == 1 + 1 / 3
    with pytest.raises(sr.SparkrankError, match="1 rank that is no position"):
        value(log([1, 2**31 - 1], [1, 1], pa.int64()), "dcg", positions="given")


@settings(PATIENT, max_examples=examples(150))
@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, 0.0, 1.0, 2.0])), min_size=1, max_size=7),
    st.lists(st.sampled_from([0.0, 1.0, 3.0]), max_size=3),
    group_metrics(tied=True),
)
def test_given_positions_against_the_oracle(
    ranked: list[tuple[int, float | None]], unlisted: list[float], parts: Asked
) -> None:
    labels = [label for _, label in ranked] + unlisted
    rows = log([float(place) for place, _ in ranked] + [None] * len(unlisted), labels)
    if parts[0] in PAIRED:
        unranked = [(None, label) for label in unlisted]
        expected = PAIRED[parts[0]]([(-place, label) for place, label in ranked] + unranked, **parts[1])
    else:
        expected = ORACLES[parts[0]](ranked, labels, **arguments(parts))
    got = value(rows, text(parts), positions="given")
    assert got == pytest.approx(or_nan(expected), rel=0, abs=1e-13, nan_ok=True)


@settings(PATIENT, max_examples=examples(50))
@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1]), min_size=1, max_size=8), group_metrics(tied=True))
def test_positions_given_without_gaps_are_the_dense_ones(labels: list[float], parts: Asked) -> None:
    rows = log([float(place) for place in range(1, len(labels) + 1)], labels)
    assert repr(value(rows, text(parts), positions="given")) == repr(value(rows, text(parts)))


# Of user u, rows 0 to 3: by a 0, 1, 2, 3; by b 3, 2, 1 (it lacks row 0); by rank 1, 0, 3, 2.
ORDERS = pa.table(
    {
        "user": ["u", "u", "u", "u", "v", "v"],
        "clicked": pa.array([None, 1, 0, 0, 1, 0], pa.int64()),
        "a": pa.array([0.9, 0.8, 0.7, 0.6, 0.5, None]),
        "b": pa.array([None, 1.0, 2.0, 3.0, None, 0.1], pa.float32()),
        "shown": pa.array([2, 1, 4, 3, None, 1], pa.int64()),
    }
)
OF_ORDERS = {"group": "user", "score": {"a": "a", "B": "b"}, "label": "clicked", "reference_rank": "shown"}


def evaluated(metrics: list[str], rows: pa.Table = ORDERS, **roles) -> dict[tuple[str, str], float]:
    """The value of user u by (model, metric)."""
    groups = sr.evaluate(rows, metrics, **{**OF_ORDERS, **roles}).groups.to_pylist()
    return {(row["model"], metric): row[metric] for row in groups for metric in metrics if row["user"] == "u"}


REFERENCES: dict[tuple[str, str], float] = {
    # Three rows have both scores, and stand in opposite orders.
    ("a", "kendall_tau(ref=B)"): -1,
    ("a", "spearman(ref=B)"): -1,
    ("a", "kendall_distance(ref=B)"): 1,
    ("B", "kendall_tau(ref=B)"): 1,  # with itself
    # By a 0, 1, 2, 3; by rank, the lowest first, 1, 0, 3, 2: of 6 pairs 2 are reversed, d² sums to 4.
    ("a", "kendall_tau(ref=reference_rank)"): (4 - 2) / 6,
    ("a", "kendall_distance(ref=reference_rank)"): 2 / 6,
    ("a", "spearman(ref=reference_rank)"): 1 - 6 * 4 / (4 * (4**2 - 1)),
    # b: rows 3, 2, 1 stand at ranks 3, 4, 1, so that two of three pairs are reversed
    ("B", "kendall_tau(ref=reference_rank)"): (1 - 2) / 3,
    # The label by default, of which row 0 has none: by a, labels 1, 0, 0.
    ("a", "kendall_tau"): 2 / math.sqrt(3 * 2),
}


def test_another_model_a_column_of_ranks_and_the_label_are_references() -> None:
    values = evaluated(list(dict.fromkeys(metric for _, metric in REFERENCES)))
    assert {key: values[key] for key in REFERENCES} == pytest.approx(REFERENCES)


def test_the_name_of_a_model_keeps_its_case() -> None:
    assert str(Metric.parse("Kendall_Tau(REF=Prod-2)")) == "kendall_tau(ref=Prod-2)"
    assert Metric.parse("kendall_tau(ref=a)") != Metric.parse("kendall_tau(ref=A)")


def test_a_reference_that_is_none_is_refused() -> None:
    for name in ("a b", "", "a@b", "f(x)", "[a]"):
        with pytest.raises(MetricError, match=r"label\|reference_rank\|<model>"):
            Metric.parse(f"spearman(ref={name})")
    with pytest.raises(MetricError, match=r'ref=pord of spearman\(ref=pord\).*did you mean "prod"\?.*label, refer'):
        plan_of(["spearman(ref=pord)"], ["prod"], ["u"])
    assert plan_of(["ap"], ["label"], ["u"]).references == ()
    with pytest.raises(MetricError, match="rename the model"):
        plan_of(["kendall_tau"], ["label"], ["u"])


def test_the_column_of_ranks_is_read_only_where_it_is_compared_with() -> None:
    assert bucket_columns(plan_of(["spearman(ref=m)", "ap"], ["m"], ["u"]), 1) == ["key_0", "label", "score_0"]
    asked = plan_of(["spearman(ref=reference_rank)"], ["m"], ["u"])
    assert bucket_columns(asked, 1) == ["key_0", "label", "score_0", "reference_rank"]


def test_a_missing_role_is_named() -> None:
    with pytest.raises(SpecError, match="no reference_rank column is named"):
        evaluated(["spearman(ref=reference_rank)"], reference_rank=None)
    with pytest.raises(InputError, match=r'reference rank column "user" is of type string'):
        evaluated(["ap"], rows=ORDERS.append_column("key", ORDERS["user"]), group="key", reference_rank="user")
    with pytest.raises(SpecError, match="both group and reference rank"):
        evaluated(["ap"], reference_rank="user")


def test_a_rank_that_is_nan_is_a_bad_row() -> None:
    ranks = pa.array([math.nan, 1.0, 4.0, 3.0, None, 1.0])
    rows = ORDERS.set_column(4, "shown", ranks)
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
