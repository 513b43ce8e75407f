"""The benchmark itself: which values it refuses, whom it runs in which order, what it times, and its small tables."""

from __future__ import annotations

import math
import subprocess
import sys
import types
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import cold, day, kernels, merging, run
from benchmarks.check import Check, DisagreementError
from benchmarks.contenders import LARGEST, Value, Work
from benchmarks.entrants import Entrant
from benchmarks.generate import LogShape, write
from benchmarks.whole import Ended


def scripted(name: str, value: float = 0.75, bound: float = 0.0, model: str = "score") -> Ended:
    values = {"score": {"ap": Value(0.5)}}
    values.setdefault(model, {})["auc"] = Value(value, bound)
    return Ended(name, values)


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


def test_a_command_that_fails_is_not_timed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        cold.seconds_of([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "tables")


def test_a_command_beside_the_base() -> None:
    # medians 3 and 4; rounds 2/4, 3/4, 9/3
    expected = ("both", "3.0", "2.0 to 9.0", "0.75 (0.50 to 3.00)")
    assert cold.line_of("both", [2.0, 3.0, 9.0], [4.0, 4.0, 3.0]) == expected


class Starter:
    """Starts scripted contenders, and remembers which."""

    def __init__(self, *contenders: Ended) -> None:
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
    monkeypatch.setattr(Ended, "run", lambda _: now.append(now[-1] + next(lasts)))
    monkeypatch.setattr("benchmarks.entrants.time", types.SimpleNamespace(perf_counter=lambda: now[-1]))
    seconds, _ = Entrant(scripted("floor"), rehearses=rehearses).turn()
    assert seconds == timed


@pytest.mark.parametrize("name", ["groups", "groups.parquet"])
def test_the_table_of_the_run_before_is_gone_when_a_run_is_timed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of a folder, which is made once, or the file."""
    table, before = tmp_path / name, []
    file = table if table.suffix else table / "score" / "part.parquet"

    def run_of(_: Ended) -> None:
        before.append([*tmp_path.rglob("*.parquet")])
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("groups")

    monkeypatch.setattr(Ended, "run", run_of)
    for _ in range(2):
        Entrant(replace(scripted("duckdb"), table=table)).run()
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


LARGE = 8, 4, 20  # metrics, models and slice values of a large team: a fifth, a fifth and two fifths of the benchmark's


@pytest.mark.parametrize(
    ("team", "at_least", "has_blocks"), [("large", math.prod(LARGE), False), ("nightly", 17 * 2, True)]
)
def test_the_days_of_a_team_are_merged(
    team: str, at_least: int, has_blocks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, _, _, rows = merging.TEAMS["large"]
    monkeypatch.setitem(merging.TEAMS, "large", (metrics[:: len(metrics) // LARGE[0]], *LARGE[1:], rows))
    found, states, blocks, *_ = merging.measure(team, days=2, rows=4000, repeats=1, folder=tmp_path)
    assert found == team
    assert int(states.replace(",", "")) >= 2 * at_least
    assert (int(blocks.replace(",", "")) > 0) == has_blocks
    values = tmp_path / team / "windows"
    assert list(values.rglob("*.parquet"))


def test_nanoseconds_of_every_kind_of_bucket() -> None:
    options = Namespace(rows=2000, groups=100, keys="int", repeats=1)
    assert len({name for name, *_ in kernels.measure(options)}) == 12


def test_both_forms_of_a_day_run_in_turns(tmp_path: Path) -> None:
    shape = LogShape(rows=2000, groups=100)
    log = write(shape, tmp_path)
    specs = {
        form: partial(day.spec_of, log, shape.label, shape.scores[0], "local", metrics)
        for form, metrics in day.FORMS.items()
    }
    seconds = day.in_turns(specs, None, 2)
    assert [len(each) for each in seconds.values()] == [2, 2]
