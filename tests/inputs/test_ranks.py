"""A rank column in place of a score: lower is better, and a rank may be a position as it stands."""

from __future__ import annotations

from math import log2

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.metrics import gain
from tests.extent import examples
from tests.oracles import ORACLES, PAIRED
from tests.support.buckets import or_nan
from tests.support.strategies import PATIENT, Asked, arguments, group_metrics, text

ROLES = {"group": "user", "rank": "place", "label": "label"}


def log(places: list[float | None], labels: list[float | None], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table(
        {
            "user": ["u"] * len(places),
            "place": pa.array(places, kind or pa.float64()),
            "label": pa.array(labels, pa.float64()),
        }
    )


def value(rows: pa.Table, metric: str, **definitions: str) -> float:
    return sr.evaluate(rows, [metric], **ROLES, **definitions).groups[-1].to_pylist()[0]


# Relevant, not, relevant, relevant at ranks 2, 3, 6, 9; one more relevant item is not listed.
GAPS = log([6, 2, 9, 3, None], [1, 1, 1, 0, 1], pa.int32())


@pytest.mark.parametrize(
    ("metric", "dense", "given_"),
    [
        ("rr", 1, 1 / 2),
        ("p@3", 2 / 3, 1 / 3),
        ("r@6", 3 / 4, 2 / 4),
        ("ap", (1 / 1 + 2 / 3 + 3 / 4) / 4, (1 / 2 + 2 / 6 + 3 / 9) / 4),
        ("dcg", 1 / log2(2) + 1 / log2(4) + 1 / log2(5), 1 / log2(3) + 1 / log2(7) + 1 / log2(10)),
        ("rbp(p=0.5)", (1 + 0.5**2 + 0.5**3) / 2, (0.5 + 0.5**5 + 0.5**8) / 2),
        ("group_auc", 1 / 3, 1 / 3),  # an order, whatever the positions
    ],
)
def test_ranks_with_gaps(metric: str, dense: float, given_: float) -> None:
    assert value(GAPS, metric) == pytest.approx(dense, rel=1e-15)
    assert value(GAPS, metric, positions="given") == pytest.approx(given_, rel=1e-15)


def test_ranks_from_0() -> None:
    from_0 = GAPS.set_column(1, "place", pa.array([5, 1, 8, 2, None], pa.int64()))
    for metric in ("rr", "ap", "dcg", "p@3"):
        assert value(from_0, metric, positions="given_from_0") == value(GAPS, metric, positions="given")
        assert value(from_0, metric) == value(GAPS, metric)


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
    reason = "NaN score" if positions == "dense" else "rank that is no position"
    with pytest.raises(sr.InputError, match=rf"\({len(bad)} {reason}\)"):
        sr.evaluate(rows, ["rr"], positions=positions, **ROLES)
    found = sr.evaluate(rows, ["p"], positions=positions, max_bad_fraction=0.9, **ROLES)
    assert found.groups["p"].to_pylist() == [1 / 2]
    if positions != "dense":
        assert found.partials.counts[checks.BAD_RANK, ""] == len(bad)


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


def test_any_number_ranks_where_positions_are_dense() -> None:
    assert value(log([0.5, -3, 10**12], [0, 0, 1]), "rr") == 1 / 3


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
