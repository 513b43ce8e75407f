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
from benchmarks.generate import LogShape


@dataclass
class Scripted:
    """A contender that has run, with values from a test."""

    name: str
    scripted: Mapping[str, Mapping[str, Value]]
    table: Path | None = None

    def prepare(self) -> None: ...

    def run(self) -> None: ...

    def values(self) -> Values:
        return self.scripted


def scripted(name: str, value: float = 0.75, bound: float = 0.0, model: str = "score") -> Scripted:
    values = {"score": {"ap": Value(0.5)}}
    values.setdefault(model, {})["auc"] = Value(value, bound)
    return Scripted(name, values)


def test_the_check_accepts_what_differs_by_rounding_or_within_a_bound() -> None:
    check = Check(LogShape())
    for contender in (scripted("first"), scripted("second", 0.75 + 9e-7), scripted("blocks", 0.7505, 0.001)):
        check.compare(contender)
    assert check.values == {"score": {"ap": 0.5, "auc": 0.75}}


def test_the_check_refuses_a_wrong_value_and_names_both() -> None:
    for value, bound in ((0.75 + 2e-6, 0.0), (0.75 - 2e-6, 0.0), (float("nan"), 0.0), (0.752, 0.001)):
        for model in ("score", "score_2"):
            check = Check(LogShape(models=2))
            check.compare(scripted("first", model=model))
            with pytest.raises(DisagreementError, match=rf"auc of {model} is .* by second and 0\.75 by first"):
                check.compare(scripted("second", value, bound, model))


def test_the_check_refuses_a_group_table_of_other_length(tmp_path: Path) -> None:
    check, tables = Check(LogShape()), (tmp_path / "three", tmp_path / "four")
    for rows, table in enumerate(tables, 3):
        pq.write_table(pa.table({"n_rows": list(range(rows))}), table)
    check.compare(replace(scripted("first"), table=tables[0]))
    with pytest.raises(DisagreementError, match="4 rows by second and 3 by first"):
        check.compare(replace(scripted("second"), table=tables[1]))


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
    expected = ("both", "3.0", "2.0 to 9.0", "0.75 (0.50 to 3.00)")
    assert cold.line_of("both", [2.0, 3.0, 9.0], [4.0, 4.0, 3.0]) == expected


class Starter:
    """Starts scripted contenders, and remembers which."""

    def __init__(self, *contenders: Scripted) -> None:
        self.contenders = {contender.name: contender for contender in contenders}
        self.started: list[str] = []

    def entrant(self, name: str, work: Work) -> Entrant:
        self.started.append(name)
        return Entrant(self.contenders[name])


def course_of(rows: int, starter: Starter) -> run.Course:
    work = Work(Path("log"), ("ap", "auc"), "clicked", False, ("score",), 1, Path("output"))
    return run.Course.of(LogShape(rows=rows), [*starter.contenders], starter, work)  # type: ignore[arg-type]


def test_every_contender_runs_once_and_then_once_a_round() -> None:
    course = course_of(1_000, Starter(scripted("duckdb"), scripted("polars")))
    course.first_runs()
    course.round(1)
    course.round(2)
    times = course.times()
    timings = [(timing.contender, timing.values, len(timing.seconds)) for timing in times.timings]
    assert timings == [("duckdb", 2, 2), ("polars", 2, 2)]
    assert times.values == {"score": {"ap": 0.5, "auc": 0.75}}


@pytest.mark.parametrize(("rehearses", "timed"), [(True, 1.0), (False, 5.0)])
def test_who_rehearses_is_timed_in_its_second_run(
    rehearses: bool, timed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, lasts = [0.0], iter([5.0, 1.0])
    contender = scripted("floor")
    contender.run = lambda: now.append(now[-1] + next(lasts))  # type: ignore[method-assign]
    monkeypatch.setattr("benchmarks.entrants.time", types.SimpleNamespace(perf_counter=lambda: now[-1]))
    seconds, _ = Entrant(contender, rehearses=rehearses).turn()
    assert seconds == timed


@pytest.mark.parametrize("name", ["groups", "groups.parquet"])
def test_the_table_of_the_run_before_is_gone_when_a_run_is_timed(name: str, tmp_path: Path) -> None:
    """The files of a folder, which is made once, or the file."""
    contender, before = scripted("duckdb"), []
    contender.table = tmp_path / name
    file = contender.table if contender.table.suffix else contender.table / "score" / "part.parquet"

    def write() -> None:
        before.append([*tmp_path.rglob("*.parquet")])
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("groups")

    contender.run = write  # type: ignore[method-assign]
    for _ in range(2):
        Entrant(contender).run()
    assert before == [[], []]
    assert [*tmp_path.rglob("*.parquet")] == [file]  # for who compares it


def test_nothing_is_timed_once_a_contender_disagrees() -> None:
    course = course_of(1_000, Starter(scripted("duckdb"), scripted("polars", 0.76)))
    with pytest.raises(DisagreementError, match="by polars"):
        course.first_runs()
    assert not any(timing.seconds for timing in course.timings)


def test_what_is_too_slow_for_so_many_rows_is_not_started_but_named() -> None:
    most, why = LARGEST["per-group"]
    for rows, left_out in ((most, {}), (most + 1, {"per-group": why})):
        starter = Starter(scripted("duckdb"), scripted("per-group"))
        assert course_of(rows, starter).left_out == left_out
        assert ("per-group" in starter.started) == (not left_out)
