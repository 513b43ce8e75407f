"""The benchmark itself: which values it refuses, whom it runs in which order, and what it times."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import cold, run
from benchmarks.check import Check, DisagreementError
from benchmarks.contenders import ALONE, LARGEST, Value, Values, Work
from benchmarks.entrants import Entrant
from benchmarks.generate import LogShape, lists_and_truth


@dataclass
class Told:
    """A contender that has run and says what it is told to."""

    name: str
    found: Mapping[str, Mapping[str, Value]]
    table: Path | None = None

    def prepare(self) -> None: ...

    def run(self) -> None: ...

    def values(self) -> Values:
        return self.found


def told(name: str, value: float, bound: float = 0.0, model: str = "score") -> Told:
    found = {"score": {"ap": Value(0.5)}}
    found.setdefault(model, {})["auc"] = Value(value, bound)
    return Told(name, found)


def table_of(path: Path, rows: int) -> Path:
    pq.write_table(pa.table({"n_rows": list(range(rows))}), path)
    return path


# Values


def test_the_check_accepts_what_differs_by_rounding() -> None:
    check = Check(LogShape())
    check.compare(told("first", 0.75))
    check.compare(told("second", 0.75 + 9e-7))
    assert check.values == {"score": {"ap": 0.5, "auc": 0.75}}


@pytest.mark.parametrize("model", ["score", "score_2"])
def test_the_check_refuses_a_wrong_value_and_names_both(model: str) -> None:
    for wrong in (0.75 + 2e-6, 0.75 - 2e-6, float("nan")):
        check = Check(LogShape(models=2))
        check.compare(told("first", 0.75, model=model))
        with pytest.raises(DisagreementError, match=rf"auc of {model} is .* by second and 0\.75 by first"):
            check.compare(told("second", wrong, model=model))


def test_a_contender_may_be_as_far_off_as_its_own_bound_says() -> None:
    check = Check(LogShape())
    check.compare(told("first", 0.75))
    check.compare(told("blocks", 0.7505, bound=0.001))
    with pytest.raises(DisagreementError):
        check.compare(told("worse blocks", 0.752, bound=0.001))


def test_the_check_refuses_a_group_table_of_other_length(tmp_path: Path) -> None:
    check = Check(LogShape())
    check.compare(replace(told("first", 0.75), table=table_of(tmp_path / "three", 3)))
    with pytest.raises(DisagreementError, match="4 rows by second and 3 by first"):
        check.compare(replace(told("second", 0.75), table=table_of(tmp_path / "four", 4)))


@pytest.mark.tools
@pytest.mark.peer
@pytest.mark.parametrize(("keys", "models", "labels"), [("int", 1, "click"), ("string", 2, "graded")])
def test_contenders_that_need_no_spark_agree(keys: str, models: int, labels: str, tmp_path: Path) -> None:
    from benchmarks.generate import write
    from benchmarks.process import OwnProcess
    from benchmarks.sets import SETS

    shape = LogShape(rows=20_000, groups=1_000, keys=keys, models=models, labels=labels, files=2)
    log = write(shape, tmp_path / "log")
    work = Work(log, SETS["nightly"], shape.label, shape.graded, shape.scores, 1, tmp_path)
    check = Check(shape)
    for name in (name for name, alone in ALONE.items() if alone.installed):
        with OwnProcess(name, work) as contender:
            contender.prepare()
            contender.run()
            check.compare(contender)
            assert set(contender.values()) == set(shape.scores)
    assert all(set(values) == set(SETS["nightly"]) for values in check.values.values())


def test_lists_repeat_no_item_and_about_half_of_the_true_items_are_in_them() -> None:
    lists, truth = lists_and_truth(LogShape(rows=20_000, layout="lists"), 20_000, chunk=0)
    pairs = [
        set(zip(*(side[name].to_pylist() for name in ("user_id", "item_id")), strict=True)) for side in (lists, truth)
    ]
    assert [len(each) for each in pairs] == [20_000, truth.num_rows]
    assert 3_500 < truth.num_rows < 4_500
    assert 0.4 < len(pairs[0] & pairs[1]) / truth.num_rows < 0.6


# Whole commands


@pytest.mark.tools
@pytest.mark.parametrize(("name", "group_table"), [("local", "groups"), ("duckdb", "duckdb")])
def test_a_command_evaluates_the_log(name: str, group_table: str, tmp_path: Path) -> None:
    from benchmarks.generate import write

    if name in ALONE and not ALONE[name].installed:
        pytest.skip(f"{name} is not installed")
    shape = LogShape(rows=2_000, groups=100, models=2, files=2)
    log = write(shape, tmp_path / "log")
    commands = cold.Commands(shape, log, tmp_path)
    assert cold.seconds_of(commands.all()[name], commands.tables) > 0
    users = set(pq.read_table(log, columns=["user_id"])["user_id"].to_pylist())
    groups = pq.read_table(commands.tables / group_table, columns=["model", "user_id"], partitioning=None).to_pydict()
    expected = [(model, user) for model in shape.scores for user in users]
    assert sorted(zip(groups["model"], groups["user_id"], strict=True)) == sorted(expected)


def test_a_command_that_fails_is_not_timed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        cold.seconds_of([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "tables")


def test_a_command_beside_the_base() -> None:
    # medians 3 and 4; rounds 2/4, 3/4, 9/3
    line = cold.line_of("both", [2.0, 3.0, 9.0], [4.0, 4.0, 3.0])
    assert line == ("both", "3.0", "2.0 to 9.0", "0.75 (0.50 to 3.00)")


# Runs


class Tellers:
    """Starts contenders that say what they are told to, and remembers which."""

    def __init__(self, *contenders: Told) -> None:
        self._contenders = {each.name: each for each in contenders}
        self.started: list[str] = []

    def entrant(self, name: str, work: Work) -> Entrant:
        self.started.append(name)
        return Entrant(self._contenders[name])


def course_of(rows: int, tellers: Tellers, *names: str) -> run.Course:
    work = Work(Path("log"), ("ap", "auc"), "clicked", False, ("score",), 1, Path("output"))
    return run.Course.of(LogShape(rows=rows), names, tellers, work)  # type: ignore[arg-type]


def test_every_contender_runs_once_and_then_once_a_round() -> None:
    course = course_of(1_000, Tellers(told("duckdb", 0.75), told("polars", 0.75)), "duckdb", "polars")
    course.first_runs()
    course.round(1)
    course.round(2)
    times = course.times()
    timings = [(each.contender, each.values, len(each.seconds)) for each in times.timings]
    assert timings == [("duckdb", 2, 2), ("polars", 2, 2)]
    assert times.values == {"score": {"ap": 0.5, "auc": 0.75}}


def test_who_rehearses_is_timed_in_its_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("benchmarks.entrants.time", types.SimpleNamespace(perf_counter=lambda: now[-1]))
    for rehearses, timed in ((True, 1.0), (False, 5.0)):
        lasts, contender = iter([5.0, 1.0]), told("floor", 0.75)
        contender.run = lambda lasts=lasts: now.append(now[-1] + next(lasts))  # type: ignore[method-assign]
        assert Entrant(contender, rehearses=rehearses).turn()[0] == timed


@pytest.mark.parametrize("is_folder", [True, False])
def test_the_table_of_the_run_before_is_gone_when_a_run_is_timed(is_folder: bool, tmp_path: Path) -> None:
    contender, found = told("duckdb", 0.75), []
    contender.table = tmp_path / ("groups" if is_folder else "groups.parquet")
    if is_folder:
        contender.table.mkdir()  # made once

    def write() -> None:
        found.append([*tmp_path.rglob("*.parquet")])
        table = contender.table / "score" / "part.parquet" if is_folder else contender.table
        table.parent.mkdir(exist_ok=True)
        table.write_text("groups")

    contender.run = write  # type: ignore[method-assign]
    for _ in range(2):
        Entrant(contender).run()
    assert found == [[], []]
    assert len([*tmp_path.rglob("*.parquet")]) == 1  # for who compares it


def test_nothing_is_timed_once_a_contender_disagrees() -> None:
    course = course_of(1_000, Tellers(told("duckdb", 0.75), told("polars", 0.76)), "duckdb", "polars")
    with pytest.raises(DisagreementError, match="by polars"):
        course.first_runs()
    assert not any(each.seconds for each in course.timings)


def test_what_is_too_slow_for_so_many_rows_is_not_started_but_named() -> None:
    most, why = LARGEST["per-group"]
    for rows, left_out in ((most, {}), (most + 1, {"per-group": why})):
        tellers = Tellers(told("duckdb", 0.75), told("per-group", 0.75))
        assert course_of(rows, tellers, "duckdb", "per-group").left_out == left_out
        assert ("per-group" in tellers.started) == (not left_out)
