"""Two days or runs compared as they are, by parts: the values of the tables, by hand, and in simulated weeks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sparkrank as sr
from tests.comparison.tables import groups as group_table
from tests.support.commands import exit_code
from tests.uncertainty.test_parts import days_of, jackknifed, log, part_of
from tests.windows.week import DAYS

ROLES: dict[str, Any] = {"group": "user", "label": "y", "score": "one"}
SIDES: dict[str, Any] = {"group": "user", "item": "item", "score": "one"}
METRICS = ["ndcg@5", "gauc", "auc(bits=6)", "logloss", "coverage(ties=item)@2"]


def day(seed: int, **more: Any) -> sr.Evaluation:
    return sr.evaluate(log(seed, items=np.arange(3000) % 40), METRICS, **ROLES, item="items", **more)


def rows_of(compared: sr.RunComparison) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in compared.table.to_pylist()}


def test_every_metric_of_both_is_compared_by_its_value() -> None:
    left, right = day(1), day(2)
    compared = sr.compare_runs(left, right)
    assert (compared.groups, compared.n_left, compared.n_right, compared.n_common) == ("all", 300, 300, None)
    assert compared.table["metric"].to_pylist() == METRICS
    assert compared.notes == ()
    for name, row in rows_of(compared).items():
        assert row["difference"] == right[name] - left[name]
        assert row["family"] == "whole day"
        if name.startswith("coverage"):
            assert (row["interval"], row["stderr"], row["p"]) == (None, None, None)
        else:
            assert (row["interval"], row["n_groups"]) == ("jackknife", 300)
            assert row["ci_low"] < row["difference"] < row["ci_high"]
            assert row["relative_low"] < row["relative"] < row["relative_high"]


def test_the_error_is_that_of_evaluations_without_each_part() -> None:
    """Users of the second day are others in part, and more: the parts are those of both days together."""
    one, other = log(3), log(4, users=400, rows=2000)
    metrics = ["auc(bits=6)", "logloss", "gauc"]

    def difference(without: int | None) -> dict[str, float]:
        values = []
        for rows in (one, other):
            kept = rows if without is None else rows.filter(pa.array(part_of(rows) != without))
            values.append(sr.evaluate(kept, metrics, **ROLES, uncertainty=False))
        return {name: values[1][name] - values[0][name] for name in metrics}

    def users(rows: pa.Table, part: int) -> int:
        return len(set(np.asarray(rows["user"])[part_of(rows) == part]))

    sizes = {part: users(one, part) + users(other, part) for part in set(part_of(one)) | set(part_of(other))}
    whole, without = difference(None), {part: difference(part) for part in sizes}
    compared = rows_of(sr.compare_runs(*(sr.evaluate(rows, metrics, **ROLES) for rows in (one, other))))
    for name in metrics:
        expected = jackknifed(whole[name], {part: without[part][name] for part in sizes}, sizes)
        assert compared[name]["stderr"] == pytest.approx(expected, rel=1e-8)


def test_users_who_come_again_cancel() -> None:
    """The same rows with a little noise: the error of the difference is far below that of two independent days."""
    rows = log(5)
    noise = np.random.default_rng(5).normal(0, 0.01, rows.num_rows)
    again = rows.set_column(rows.column_names.index("one"), "one", pc.add(rows["one"], pa.array(noise)))
    left, right = (sr.evaluate(side, ["auc", "ndcg@5"], **ROLES) for side in (rows, again))
    apart = {row["metric"]: row["stderr"] for row in left.table.to_pylist()}
    for name, row in rows_of(sr.compare_runs(left, right)).items():
        assert row["stderr"] < 0.2 * apart[name]


def test_equal_runs_say_nothing() -> None:
    for row in sr.compare_runs(day(1), day(1)).table.to_pylist():
        assert (row["difference"], row["p"]) == (0.0, None)
        assert row["interval"] in ("too few", None)


def test_which_groups_is_said_and_chosen() -> None:
    left, right = day(1), day(2)
    common = sr.compare_runs(left, right, groups="common")
    assert (common.groups, common.n_common) == ("common", 300)
    assert common.table["metric"].to_pylist() == ["ndcg@5", "gauc"]
    assert any(all(name in note for name in METRICS[2:]) for note in common.notes if "not metrics of groups" in note)
    assert "all groups of each, 300 against 300" in repr(sr.compare_runs(left, right))
    assert "over the 300 groups of both" in repr(common)
    table = left.groups
    mixed = sr.compare_runs(table, right)
    assert mixed.groups == "common"
    why = "the left rows are a group table, which has no states"
    assert f"{why}: groups that are common to both are compared" in mixed.notes
    with pytest.raises(sr.InputError, match=f"{why}: groups that are"):
        sr.compare_runs(table, right, groups="all")
    with pytest.raises(sr.SpecError, match="groups is 'both': all or common is allowed"):
        sr.compare_runs(left, right, groups="both")


def test_without_parts_the_difference_stands_alone_and_it_is_said() -> None:
    compared = sr.compare_runs(day(1), day(2, uncertainty=False))
    assert "the right evaluation has no parts of its groups: there are no intervals" in compared.notes
    assert set(compared.table["interval"].to_pylist()) == {"off", None}
    assert (compared.table["difference"].null_count, compared.table["stderr"].null_count) == (0, len(METRICS))


def test_groups_without_a_list_are_said_of_the_side_that_lacks_them() -> None:
    truth = pa.table({"user": [1, 2, 3], "item": ["a", "b", "c"]})
    whole = pa.table({"user": [1, 2, 3], "item": ["a", "a", "c"], "one": [1.0, 1.0, 1.0]})
    left, right = (sr.evaluate(rows, ["rr"], **SIDES, truth=truth) for rows in (whole, whole.slice(0, 1)))
    said = [note for note in sr.compare_runs(left, right).notes if "list" in note]
    assert said == [
        "the right evaluation: 2 of 3 groups have no list of one: they count as empty lists, 0 in most metrics"
    ]


def test_groups_of_another_key_are_refused() -> None:
    other = sr.evaluate(log(1), ["ndcg@5"], **{**ROLES, "group": "country"})
    with pytest.raises(sr.InputError, match=r"groups are by user in the left evaluation, and by country in the right"):
        sr.compare_runs(day(1), other)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    spec = days_of(
        tmp_path_factory.mktemp("runs"),
        [log(seed) for seed in (6, 7, 8, 9)],
        metrics=["ndcg@5", "p90(ndcg@5)", "auc", "logloss"],
        slices=["country"],
        compare={"baseline": "a"},
        gates=[{"metric": "auc", "min": 0.1}],
    )
    return spec, str(Path(spec).parent / "tables")


def of_command(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert exit_code("compare", *words, "--json") == 0
    compared: dict[str, Any] = json.loads(capsys.readouterr().out)
    return compared


@pytest.mark.parametrize("by", ["--conf", "--left"])
def test_stored_days_are_those_of_the_call(
    by: str, output: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    spec, place = output
    where = ("--conf", spec) if by == "--conf" else ("--left", place, "--right", place)
    days = ("--left-date", DAYS[0], "--right-date", DAYS[1])
    compared = of_command(capsys, *where, *days, "--model", "b")
    assert compared["groups"] == "all"
    both: dict[str, Any] = {**ROLES, "score": {"a": "one", "b": "two"}}
    metrics = [row["metric"] for row in compared["comparisons"]]
    left, right = (sr.evaluate(log(seed), metrics, **both) for seed in (6, 7))
    expected = sr.compare_runs(left, right, left_model="b", right_model="b").table.to_pylist()
    assert metrics == ["ndcg@5", "p90(ndcg@5)", "auc", "logloss"]
    for one, other in zip(compared["comparisons"], expected, strict=True):
        own = {"spec_hash": None, "run_id": None}
        assert {**one, **own} == {**other, **own}
        assert one["run_id"].startswith(DAYS[1])


def test_windows_are_compared_with_windows(output: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    _, place = output
    weeks = f"{DAYS[0]}..{DAYS[1]}", f"{DAYS[2]}..{DAYS[3]}"
    compared = sr.compare_runs(place, place, left_day=weeks[0], right_day=weeks[1], right_model="a")
    rows = rows_of(compared)
    assert rows["auc"]["interval"] == rows["ndcg@5"]["interval"] == "jackknife"
    both = [pa.concat_tables([log(seed) for seed in seeds]) for seeds in ((6, 7), (8, 9))]
    pooled = [sr.evaluate(rows, ["logloss"], **ROLES)["logloss"] for rows in both]
    assert rows["logloss"]["difference"] == pytest.approx(pooled[1] - pooled[0], rel=1e-9)
    words = ("--left", place, "--right", place, "--left-date", weeks[0], "--right-date", weeks[1], "--model", "a")
    assert of_command(capsys, *words)["comparisons"][0]["difference"] == rows["ndcg@5"]["difference"]
    with pytest.raises(sr.InputError, match=r"there are no states of 2026-12-01 under"):
        sr.compare_runs(place, place, left_day=weeks[0], right_day="2026-12-01..2026-12-01", right_model="a")


def test_a_place_without_states_is_said(output: tuple[str, str], tmp_path: Path) -> None:
    _, place = output
    rows = sr.evaluate(log(7), ["ndcg@5"], **ROLES).groups
    compared = sr.compare_runs(f"{place}/groups/day={DAYS[0]}", rows, left_model="a")
    assert compared.groups == "common"
    with pytest.raises(sr.InputError, match="is no day of an output, so that it has no states"):
        sr.compare_runs(str(tmp_path), str(tmp_path), groups="all")
    tables = sr.compare_runs(group_table(1, range(9)), group_table(2, range(9)))
    assert not [note for note in tables.notes if "states" in note]
