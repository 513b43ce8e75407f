"""Percentiles of groups that are not independent: Woodruff's interval by parts, of windows, and of differences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank.metrics.merged import Merged
from sparkrank.states import Partials
from sparkrank.stats.woodruff import ShareOfGroups, difference_of_quantiles, share_of_groups, spread, woodruff
from sparkrank.tables.rows.results import metrics_table
from tests.support.commands import exit_code
from tests.windows.week import DAYS, evaluate, merging, spec_of, spoil, window_table, write_log

ROLES: dict[str, Any] = {"group": "user", "label": "y", "group_table": False}


def test_a_share_varies_as_its_parts_do() -> None:
    """Parts of 4, 2 and 2 groups have 3, 1 and 0 below: 1/2 in all, and 1, 0 and -1 more than half of theirs."""
    share = share_of_groups([3, 0, 1, 0], [4, 0, 2, 2])
    assert share.value == 0.5
    assert share.by_part.tolist() == [1 / 8, 0, 0, -1 / 8]
    assert share.stderr**2 == pytest.approx(3 / 2 * (2 / 64))
    none = share_of_groups([0, 0], [5, 5])
    assert (none.value, none.stderr, none.degrees) == (0.0, 0.0, 1.0)


def test_the_ends_are_read_off_the_distribution_by_hand() -> None:
    """Values 1 to 10, the median between 5 and 6: 4 groups are below 5 and 6 up to 6, and t of 4 degrees is 2.776."""
    below, upto = ShareOfGroups(0.4, 0.05, 4.0, np.zeros(5)), ShareOfGroups(0.6, 0.1, 4.0, np.zeros(5))
    interval = woodruff(np.arange(1, 11), [1] * 10, 0.5, below, upto, 5)
    assert pytest.approx((0.3612, 0.7776)) == (0.5 - 2.776 * 0.05, 0.5 + 2.776 * 0.1)
    # the first value that 3.6 groups are at or below, and the first that more than 7.8 are
    assert (interval.low, interval.high, interval.stderr, interval.method) == (4.0, 8.0, None, "woodruff")


@pytest.mark.parametrize(("ends", "high"), [((0.0, 1.0), 1.0), ((0.0, 2.0), None)])
def test_beyond_all_groups_only_an_end_of_the_range_is_known(ends: tuple[float, float], high: float | None) -> None:
    half, all_ = ShareOfGroups(0.5, 0.05, 8.0, np.zeros(9)), ShareOfGroups(1.0, 0.0, 8.0, np.zeros(9))
    interval = woodruff([0.0, 1.0], [50, 50], 0.95, half, all_, 9, ends=ends)
    assert interval.high == high
    assert interval.method == ("too few" if high is None else "woodruff")


def test_fewer_than_two_parts_say_nothing() -> None:
    one = share_of_groups([3], [6])
    assert woodruff([1.0, 2.0], [3, 3], 0.5, one, one, 1).method == "too few"


def test_a_difference_takes_the_sides_that_face_each_other() -> None:
    below, above = np.array([0.1, -0.1, 0.0]), np.array([0.3, -0.3, 0.0])
    higher, lower, none = (difference_of_quantiles(d, below, above, 3) for d in (0.2, -0.2, 0.0))
    small, large = (spread(each, 3)[0] for each in (below, above))
    assert (higher.stderr, lower.stderr, none.stderr) == (small, large, large)
    assert small == pytest.approx(math.sqrt(1.5 * 0.02))
    assert difference_of_quantiles(0.2, np.zeros(3), above, 3).method == "too few"
    t = stats.t.ppf(0.975, higher.degrees)
    assert (higher.low, higher.high) == pytest.approx((0.2 - t * small, 0.2 + t * large))


def test_p_is_not_below_what_signs_of_the_parts_allow() -> None:
    moved = np.where(np.arange(16) < 5, [0.001, -0.001] * 8, 0.0)
    test = difference_of_quantiles(-0.5, moved, moved, 16)
    assert (test.p, test.high) == (2 / 32, 0.0)
    assert test.low is not None
    assert test.low < -0.5


def day(draw: np.random.Generator, liking: np.ndarray) -> pa.Table:
    """A day of users who come with a liking of their own."""
    rows = np.maximum(2, draw.poisson(8, len(liking)))
    user = np.repeat(np.arange(len(liking)), rows)
    taste = draw.normal(0, 1, len(user))
    clicked = draw.random(len(user)) < 1 / (1 + np.exp(1 - taste - liking[user]))
    a, b = (taste + draw.normal(0, 1, len(user)) for _ in range(2))
    return pa.table({"user": user, "a": a, "b": b, "y": clicked.astype(np.int32)})


@pytest.mark.parametrize("weight", [None, "weight"])
def test_stored_days_have_the_parts_of_percentiles(tmp_path: Path, capsys, weight: str | None) -> None:
    """A window has the interval of its days; one whose states were stored without these parts leaves it out."""
    draw, liking = np.random.default_rng(3), np.random.default_rng(4).normal(size=120)
    columns = {"group": "user", "label": "y", "score": "a", **({"weight": weight} if weight else {})}
    spec = spec_of(tmp_path, input__columns=columns, metrics=["median(ap)", "auc"])
    days = []
    for date in DAYS[:2]:
        rows = day(draw, liking)
        rows = rows.append_column("weight", pa.array(draw.exponential(1.0, len(rows))))
        days.append(sr.evaluate(rows, ["median(ap)", "auc"], **ROLES, score="a", weight=weight))
        write_log(tmp_path, rows.to_pandas().assign(date=date), date)
        evaluate(spec, date)
    window = f"{DAYS[0]}..{DAYS[1]}"
    merged = Merged(Partials.merged(each.partials for each in days))
    expected = metrics_table(merged, days[0].plan, clustered=True).to_pandas()
    assert exit_code(*merging(spec, last=DAYS[1])) == 0
    found = window_table(tmp_path, "metrics", window)
    columns_of = ["metric", "value", "ci_low", "ci_high", "interval"]
    pd.testing.assert_frame_equal(found[columns_of], expected[columns_of], check_exact=True)
    assert list(found["interval"]) == ["woodruff", "logit"]

    def without(rows: pa.Table) -> pa.Table:
        return rows.filter(pa.array([" of " not in each for each in rows["name"].to_pylist()]))

    spoil(tmp_path, "states", without, DAYS[0])
    assert exit_code(*merging(spec, last=DAYS[1])) == 0, capsys.readouterr().err
    assert list(window_table(tmp_path, "metrics", window)["interval"]) == ["too few", "logit"]
