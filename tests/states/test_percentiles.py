"""Percentiles of the values of groups: numpy's, from merged states, exact while there are few distinct values."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.states import Distribution, distributions
from tests.cases import ranking
from tests.extent import examples
from tests.support.buckets import bucket
from tests.support.states import distribution_of
from tests.support.strategies import PATIENT

SHARES = (0.0, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0)
finite = st.floats(-1e3, 1e3, allow_subnormal=False)
values_of_groups = st.lists(finite | st.sampled_from([0.0, -0.0, 0.5, 1 / 3, 1.0]), max_size=40)


def dealt(values: list[float], parts: int) -> Distribution:
    """The values in ``parts`` states, merged."""
    states = [distribution_of(np.array(values[part::parts], float)) for part in range(parts)]
    return states[0].merge(*states[1:])


@settings(PATIENT, max_examples=examples(200))
@given(values_of_groups, st.integers(1, 4))
def test_few_values_give_numpy_s_quantiles(values: list[float], parts: int) -> None:
    state = dealt(values, parts)
    for share in SHARES:
        value, bound = state.quantile(share)
        assert bound == 0
        assert np.isnan(value) if not values else value == pytest.approx(np.quantile(values, share), rel=1e-15)
    if values:
        assert state.quantile(0.5)[0] == np.median(values)  # to the last bit


def test_the_median_of_two_is_their_mean_to_the_last_bit() -> None:
    """Interpolated from either end it would be another float64."""
    values = [0.9153239601117659, 127.40300904890634]
    assert dealt(values, 1).quantile(0.5)[0] == np.median(values) == sum(values) / 2 != np.quantile(values, 0.5)


@settings(PATIENT, max_examples=examples(100))
@given(values_of_groups, st.integers(1, 4), st.integers(1, 30))
@example([0.1, 0.2, 0.3], 2, 1)  # two values in blocks meet one that is kept as it is
def test_many_values_give_quantiles_within_the_bound(values: list[float], parts: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributions, "MAX_EXACT_VALUES", most)
        state = dealt(values, parts)
        whole = distribution_of(np.array(values, float))
    few = len({value + 0.0 for value in values}) <= most
    assert str(state.histogram.rule) == ("exact" if few else "bits=16")
    assert [state.histogram.bins.tolist(), state.histogram.neg.tolist()] == [
        whole.histogram.bins.tolist(),
        whole.histogram.neg.tolist(),
    ]
    for share in SHARES if values else ():
        found, bound = state.quantile(share)
        exact = np.quantile(values, share)
        assert abs(found - exact) <= bound + 1e-12
        assert bound <= max(map(abs, values)) * 2.0**-16


# Of four users rr is 1, 1/2, 1/3 and undefined.
ROWS = (*ranking("a", 1), *ranking("b", 0, 1), *ranking("c", 0, 0, 1), *ranking("d", 0))
ASKED = ["median(rr)", "P25(mrr)", "p0(rr)", "p100(rr)", "rr", "p90( RR(rel=1.0) @ 2 )"]


@pytest.mark.parametrize(
    ("undefined", "expected"),
    [
        ("skip", [1 / 2, (1 / 3 + 1 / 2) / 2, 1 / 3, 1, (1 + 1 / 2 + 1 / 3) / 3, 1 / 2 + 0.8 * (1 - 1 / 2)]),
        ("zero", [(1 / 3 + 1 / 2) / 2, 1 / 3 * 3 / 4, 0, 1, (1 + 1 / 2 + 1 / 3) / 4, 1 / 2 + 0.7 * (1 - 1 / 2)]),
        ("one", [(1 / 2 + 1) / 2, 1 / 3 + 3 / 4 * (1 / 2 - 1 / 3), 1 / 3, 1, (2 + 1 / 2 + 1 / 3) / 4, 1]),
    ],
)
def test_the_metrics_table_has_them_beside_the_mean(undefined: str, expected: list[float]) -> None:
    """p90 of rr@2 is of 1, 1/2, 0 and, where d counts, 0 or 1."""
    ev = sr.evaluate(bucket(ROWS), ASKED, group="key_0", score="score_0", label="label", undefined=undefined, buckets=2)
    rows = ev.metrics.to_pylist()
    canonical = ["median(rr)", "p25(rr)", "p0(rr)", "p100(rr)", "rr", "p90(rr(rel=1)@2)"]
    assert [row["metric"] for row in rows] == canonical
    assert [row["value"] for row in rows] == pytest.approx(expected)
    assert {(row["n_groups"], row["n_undefined"], row["n_rows"]) for row in rows} == {(4, 1, 7)}
    assert {row["weight"] for row in rows} == {3 if undefined == "skip" else 4}
    assert [row["error_bound"] for row in rows] == [0, 0, 0, 0, None, 0]
    assert rows[0]["definition"].startswith("median(rr); ties=expected")
    assert ev.groups.column_names[-2:] == ["rr", "rr(rel=1)@2"]  # of a group there is one value


@pytest.mark.parametrize("metric", ["median(hit@1)", "p90(rr)", "median(rr)"])
def test_a_percentile_whose_interval_has_no_width_is_too_few(metric: str) -> None:
    """Of 40 users 38 have their click first: ranks, and parts, would have it that nobody else ever is otherwise."""
    users = np.repeat(np.arange(40), 2)
    first = np.where(users < 38, np.arange(80) % 2 == 0, np.arange(80) % 2 == 1)
    rows = pa.table({"u": users, "s": np.arange(80) % 2 * -1.0, "y": first.astype(np.int32)})
    ev = sr.evaluate(rows, [metric], group="u", score="s", label="y")
    (found,) = ev.table.to_pylist()
    assert (found["value"], found["ci_low"], found["ci_high"], found["interval"]) == (1.0, None, None, "too few")
    assert "1.0000 (too few)" in str(ev)
    assert "too few" in ev._repr_html_()


def test_without_a_group_in_it_a_percentile_is_undefined() -> None:
    ev = sr.evaluate(bucket(ranking("d", 0)), ["p90(ap)"], group="key_0", score="score_0", label="label")
    assert math.isnan(ev.metrics["value"][0].as_py())
