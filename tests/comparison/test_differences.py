"""The difference of two models: when it is tested, by what, and as a share of the baseline. By hand and by scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank.metrics.uncertainty import Comparison
from tests.support.quantiles import RELATIVE

ROLES: dict[str, Any] = {"group": "user", "label": "y", "score": {"a": "a", "b": "b"}}
UNTESTED = ("stderr", "ci_low", "ci_high", "degrees", "p", "p_adjusted", "smallest_detectable", "relative_low")


def lists(hits: dict[str, np.ndarray], items: int = 3) -> pa.Table:
    """Lists of users of which each model puts the one relevant item first (a hit) or last."""
    users = len(hits["a"])
    relevant = np.tile(np.arange(items) == 0, users)
    scores = {
        model: np.where(relevant, np.where(np.repeat(hit, items), 9.0, -9.0), np.tile(np.arange(items), users) * 1.0)
        for model, hit in hits.items()
    }
    return pa.table({"user": np.repeat(np.arange(users), items), "y": relevant.astype(np.int32), **scores})


def row(metric: str, rows: pa.Table, **more: Any) -> dict[str, Any]:
    (compared,) = sr.evaluate(rows, [metric], **ROLES, **{"compare": "a", **more}).compare("a").to_pylist()
    return compared


def few_of(users: int, better: int) -> pa.Table:
    """Users of whom ``better`` have a hit by b alone, and the others by neither."""
    return lists({"a": np.zeros(users, bool), "b": np.arange(users) < better})


@pytest.mark.parametrize("compare", ["a", None])
def test_too_few_groups_that_differ_give_no_test(compare: str | None) -> None:
    """Two that agree, one, equal models, one of 50, and 50 alike."""
    for users, better in ((2, 2), (1, 1), (50, 0), (50, 1), (50, 50)):
        compared = row("p@1", few_of(users, better), compare=compare)
        assert compared["difference"] == pytest.approx(better / users)
        assert compared["interval"] == "too few"
        assert [compared[name] for name in UNTESTED] == [None] * len(UNTESTED)


def test_p_is_not_below_what_signs_of_the_groups_that_differ_allow() -> None:
    """5 of 6 users are better: t is 5, whose p with 5 degrees is 0.004; signs of 5 allow 2/32, by parts too."""
    assert stats.ttest_1samp(np.arange(6) < 5, 0).pvalue < 0.01
    compared, by_parts = (row("p@1", few_of(6, 5), compare=compare) for compare in ("a", None))
    assert compared["p"] == 2 / 32
    assert (compared["ci_low"], compared["wins"], compared["ties"], compared["losses"]) == (0.0, 5, 1, 0)
    assert by_parts["interval"] == "jackknife"
    assert by_parts["p"] >= 2 / 32


@pytest.mark.parametrize(("users", "finds"), [(5, False), (6, True)])
@pytest.mark.parametrize("compare", ["a", None])
def test_so_few_groups_detect_no_difference_however_large(users: int, finds: bool, compare: str | None) -> None:
    """All of 5 users are worse by far, and p is 2/32: no difference would be compared, nor is one of shares."""
    n = np.arange(users * 10) % 10
    place = np.repeat(np.arange(users) % 3 + 5, 10)  # the relevant row is fifth to seventh
    other = np.where(n == 0, place - 0.5, np.where(n < place, n - 1.0, n * 1.0))
    rows = {"user": np.arange(users * 10) // 10, "y": (n == 0).astype(np.int32), "a": -n - n**2.0, "b": -other}
    rows["a"][0] -= 3  # so that the baseline has an error, too
    rows["a"][10] -= 7
    compared = row("rr", pa.table(rows), compare=compare)
    assert compared["p"] >= 2.0 ** (1 - users)
    assert (compared["ci_high"] < 0, compared["relative_high"] < 0) == (finds, finds)
    assert (compared["smallest_detectable"] is not None) == finds


def test_shares_that_do_not_vary_have_no_interval() -> None:
    """A candidate whose loss is the same multiple of the baseline's for every user is so of these users alone."""
    user, y = np.repeat(np.arange(6), 4), np.arange(24) % 4 < np.repeat([1, 2, 3, 1, 2, 2], 4)
    rows = {"user": user, "y": y.astype(np.int32), "a": np.where(y, 0.9, 0.1), "b": np.where(y, 0.1, 0.9)}
    compared = row("ne", pa.table(rows))
    assert compared["relative"] > 1
    assert (compared["relative_low"], compared["relative_high"]) == (None, None)


def test_without_parts_what_needs_them_is_off() -> None:
    rows = lists({"a": np.arange(40) % 2 == 0, "b": np.arange(40) % 3 == 0})
    compared = sr.evaluate(rows, ["p@1", "auc"], **ROLES, compare="a", uncertainty=False).compare("a").to_pylist()
    assert [line["interval"] for line in compared] == ["paired t", "off"]
    assert [compared[1][name] for name in UNTESTED] == [None] * len(UNTESTED)


def test_the_share_of_the_baseline_has_fieller_s_interval() -> None:
    """Of paired means: the roots in r of (d - r·b)² = t² · var(d - r·b), as numpy finds them."""
    draw = np.random.default_rng(1)
    hits = {"a": draw.random(80) < 0.6, "b": draw.random(80) < 0.7}
    compared = row("p@1", lists(hits))
    d, b = hits["b"].astype(float) - hits["a"], hits["a"].astype(float)
    covariance = np.cov(d, b) / 80
    quantile = stats.t.ppf(0.975, 79) ** 2
    means = np.array([b.mean() ** 2, -2 * d.mean() * b.mean(), d.mean() ** 2])
    roots = np.roots(means - quantile * np.array([covariance[1, 1], -2 * covariance[0, 1], covariance[0, 0]]))
    close = {"rel": max(1e-9, RELATIVE)}
    assert (compared["relative_low"], compared["relative_high"]) == pytest.approx(sorted(roots), **close)
    assert compared["relative"] == pytest.approx(d.mean() / b.mean())


def test_a_baseline_near_0_has_no_interval_of_shares() -> None:
    draw = np.random.default_rng(2)
    compared = row("p@1", lists({"a": np.arange(60) < 2, "b": draw.random(60) < 0.5}))
    assert compared["relative"] > 5
    assert (compared["relative_low"], compared["relative_high"]) == (None, None)
    assert compared["p"] < 0.001


def test_an_undefined_value_has_no_method() -> None:
    rows = lists({"a": np.ones(5, bool), "b": np.ones(5, bool)})
    rows = rows.set_column(rows.column_names.index("y"), "y", pa.array(np.zeros(15, np.int32)))
    compared = row("auc", rows)
    assert math.isnan(compared["difference"])
    assert [compared[name] for name in ("interval", "relative", *UNTESTED)] == [None] * (2 + len(UNTESTED))


def test_a_slice_column_does_not_make_the_whole_day_less_sure() -> None:
    draw = np.random.default_rng(3)
    rows = lists({"a": draw.random(400) < 0.4, "b": draw.random(400) < 0.52})
    shops = rows.append_column("shop", pa.array(np.asarray(rows["user"]) % 20))
    asked = {"metrics": ["p@1", "rr"], **ROLES, "compare": "a"}
    alone, sliced = sr.evaluate(rows, **asked), sr.evaluate(shops, **asked, slices=["shop"])
    tables = alone.compare("a"), sliced.compare("a"), sliced.compare("a", family="candidate")
    adjusted = [table["p_adjusted"].to_pylist() for table in tables]
    assert adjusted[1][:2] == adjusted[0]
    assert tables[1]["family"].to_pylist() == ["whole day"] * 2 + ["slice shop"] * 40
    assert adjusted[2][0] > adjusted[0][0]


def test_the_most_unpaired_are_a_share() -> None:
    for share in (-0.1, 1.5, math.nan):
        with pytest.raises(sr.SpecError, match=r"compare.most_unpaired is .*: a share from 0 to 1 is needed"):
            Comparison("a", most_unpaired=share).validate_models(("a", "b"))
