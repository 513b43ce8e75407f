"""Limits of checks: any check by its name, over which nothing is written, and names that are refused."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.tables.rows.limits import checks_of
from tests.bucket.test_unmatched import job, sides
from tests.support.commands import exit_code

LOG = pa.table(
    {
        "u": [1, 1, 1, 2, 2, None],
        "i": ["a", "a", "b", "c", None, "a"],
        "s": [0.5, 0.5, 0.25, 1.5, 0.5, 0.5],
        "y": pa.array([1.0, 0.0, 0.0, None, 1.0, 1.0]),
        "w": [1.0] * 6,
        "r": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
    }
)
ROLES = {"group": "u", "item": "i", "score": "s", "label": "y", "weight": "w", "reference_rank": "r"}
METRICS = ["ap", "logloss", "coverage", "auc_up(digits=1)", "auc_up(min_rows=20)", "spearman(ref=reference_rank)"]
LISTS, TRUTH = sides([("u", "a"), ("u", "a"), ("u", "b"), ("v", "c")], [("u", "a"), ("u", "x"), ("w", "c")])
SETTINGS: dict[str, dict[str, Any]] = {
    "log": {"rows": LOG, **ROLES},
    "log, by item": {"rows": LOG, **ROLES, "duplicates": "first", "unjudged": "drop", "ties": "item"},
    "groups left out": {"rows": LOG, **ROLES, "population": "truth"},
    "join": {"rows": LISTS, "truth": TRUTH, "group": "u", "item": "i", "score": "s"},
    "slices": {"rows": LOG, **ROLES, "slices": ["i"]},
    "given ranks": {"rows": LOG, "group": "u", "rank": "r", "label": "y", "positions": "given"},
}


LEAST = "rows per block"  # whose limit is the least that is allowed


def evaluated(rows: pa.Table, **asked: Any) -> sr.Evaluation:
    asked = {"max_bad_fraction": 1.0, **asked}
    metrics = METRICS if "weight" in asked else ["r@1"]
    return sr.evaluate(rows, metrics, **asked)


def test_every_check_of_a_run_has_a_limit_that_stops_and_one_that_does_not() -> None:
    """What is counted is allowed, all of it at once; less of one is not, in the first setting that counts some."""
    stopped: set[str] = set()
    for setting, asked in SETTINGS.items():
        whole = evaluated(**asked)
        quality = whole.quality.to_pylist()
        unread = set() if "weight" in asked else {checks.BAD_WEIGHT, checks.NAN_REFERENCE}
        known = checks_of(whole.plan)
        assert known == {row["check"]: row["of"] is not None for row in quality if row["check"] not in unread}, setting
        kept = {}
        for name, share in known.items():
            own = [row["fraction"] or 0.0 if share else row["count"] for row in quality if row["check"] == name]
            kept[name] = min(own) if name.startswith(LEAST) else max(own)
        given = {**asked, "max_bad_fraction": 0.0}  # which is not given beside the limit of rejected rows
        allowed = [row for row in evaluated(**given, limits=kept).quality.to_pylist() if row["check"] in kept]
        for row in allowed:
            assert (row["limit"], row["ok"]) == (kept[row["check"]], True), (setting, row)
        for name in {name for name, count in kept.items() if count} - stopped:
            less = {name: kept[name] * (1.01 if name.startswith(LEAST) else 0.99)}
            with pytest.raises(sr.InputError, match=r"(limits|max_bad_fraction) allows"):
                evaluated(**(given if name == checks.ROWS_REJECTED else asked), limits=less)
            stopped.add(name)
    assert len(stopped) > 15


UNCOUNTED = 'limits names "{}", which this run does not count (it counts "rows'
NO_SHARE = 'limits of "truth in no list" is {}: a share from 0 to 1 is needed'
NO_LIMITS: list[tuple[Any, str]] = [
    ({"truth in no lst": 0.5}, 'limits names "truth in no lst", did you mean "truth in no list"? (checks of this run'),
    ({"ok": 0.5}, 'limits names "ok" (checks of this run: "rows read", "rows of truth", '),
    ({3: 0.5}, 'limits names "3"'),
    *(({name: 0.5}, UNCOUNTED.format(name)) for name in (checks.BAD_WEIGHT, checks.GROUPS_LEFT_OUT)),
    *(({name: 0.5}, UNCOUNTED.format(name)) for name in checks.LACKING_ITEMS.values()),
    *(({checks.TRUTH_UNLISTED: value}, NO_SHARE.format(repr(value))) for value in (1.5, -1, math.nan, True, "a")),
    *(({checks.GROUPS: value}, f'limits of "groups" is {value}: a count from 0 is needed') for value in (-1, math.inf)),
    (
        {checks.ROWS_REJECTED: 0.5},
        'limits of "rows rejected" and max_bad_fraction set the same limit: give only one of them',
    ),
    (["truth in no list"], "limits is ['truth in no list']: a mapping of checks to numbers is needed"),
    ("truth", "limits is 'truth': a mapping of checks to numbers is needed"),
]


def test_what_is_no_limit_is_refused() -> None:
    for limits, sentence in NO_LIMITS:
        with pytest.raises(sr.SpecError) as refused:
            evaluated(**SETTINGS["join"], limits=limits)
        assert str(refused.value).startswith(sentence)
    for none in (None, {}):
        assert evaluated(**SETTINGS["join"], limits=none).limits == checks.Limits(1.0)


def test_the_limit_of_rejected_rows_is_that_of_bad_ones() -> None:
    with pytest.raises(sr.InputError, match=r"16\.6667% of the rows cannot be evaluated"):
        sr.evaluate(LOG, ["ap"], group="u", score="s", label="y", limits={checks.ROWS_REJECTED: 0.1})
    sr.evaluate(LOG, ["ap"], group="u", score="s", label="y", limits={checks.ROWS_REJECTED: 0.2})


def test_a_spec_is_refused_before_anything_is_read(tmp_path, capsys) -> None:
    for limits, sentence in (
        ({"truth in no lst": 0.5}, 'quality.limits names "truth in no lst", did you mean "truth in no list"?'),
        ({"truth in no list": 1.5}, 'quality.limits of "truth in no list" is 1.5: a share from 0 to 1 is needed'),
        ({"truth in no list": True}, "quality.limits.truth in no list is True: a number is needed"),
        ({checks.BAD_RANK: 0.5}, f'quality.limits names "{checks.BAD_RANK}", which this run does not count'),
        (["truth in no list"], "quality.limits is ['truth in no list']: keys are needed"),
    ):
        assert job(tmp_path, LISTS, TRUTH, quality={"limits": limits}) == 2
        assert sentence in capsys.readouterr().err
        assert exit_code("validate", "--conf", f"{tmp_path}/spec.yaml") == 2


def test_a_window_is_held_to_its_limits(tmp_path, capsys) -> None:
    """Of three true items one is listed."""
    assert job(tmp_path, LISTS, TRUTH) == 0
    merge = ["merge", "--conf", f"{tmp_path}/spec.yaml", "--from", "2026-01-31", "--to", "2026-01-31", "--set"]
    assert exit_code(*merge, "quality.limits.truth in no list=0.5") == 4
    assert '"truth in no list" is 66.6667% (2) of' in capsys.readouterr().err
    assert not (tmp_path / "out/windows").exists()
    assert exit_code(*merge, "quality.limits.truth in no list=0.7") == 0
    assert "truth in no list" not in capsys.readouterr().out


def test_a_window_warns_of_truth_in_no_list_only_where_nothing_matches(tmp_path, capsys) -> None:
    """Of three true items one is listed, which is no warning, then none is."""
    of_day = ["--conf", f"{tmp_path}/spec.yaml", "--from", "2026-01-31", "--to", "2026-01-31"]
    for truth, told in ((TRUTH, False), (TRUTH.filter(pc.not_equal(TRUTH["i"], "a")), True)):
        assert job(tmp_path, LISTS, truth) == 0
        capsys.readouterr()
        assert exit_code("merge", *of_day) == 0
        assert ("No truth is found in any list" in capsys.readouterr().out) == told
