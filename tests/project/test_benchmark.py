"""The benchmark itself: which values it refuses, and that each of its programs runs."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import day, kernels, merging, metric_costs, run
from benchmarks.check import Check, DisagreementError
from benchmarks.contenders import Value, Work
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


class Starter:
    """Starts scripted contenders."""

    def __init__(self, *contenders: Ended) -> None:
        self.contenders = {contender.name: contender for contender in contenders}

    def entrant(self, name: str, work: Work) -> Entrant:
        return Entrant(self.contenders[name])


def test_every_contender_runs_once_and_then_once_a_round() -> None:
    starter = Starter(scripted("duckdb"), scripted("polars"))
    work = Work(Path("log"), ("ap", "auc"), "clicked", False, ("score",), 1, Path("output"))
    course = run.Course.of(LogShape(rows=1_000), [*starter.contenders], starter, work)  # type: ignore[arg-type]
    course.first_runs()
    course.round(1)
    course.round(2)
    times = course.times()
    timings = [(timing.contender, timing.values, len(timing.seconds)) for timing in times.timings]
    assert timings == [("duckdb", 2, 2), ("polars", 2, 2)]
    assert times.values == {"score": {"ap": 0.5, "auc": 0.75}}


LARGE = 8, 4, 20  # metrics, models and slice values of a large team: a fifth, a fifth and two fifths of the benchmark's


@pytest.mark.tools
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


@pytest.mark.tools
def test_nanoseconds_of_every_kind_of_bucket() -> None:
    options = Namespace(rows=2000, groups=100, keys="int", repeats=1)
    assert len({name for name, *_ in kernels.measure(options)}) == 12


@pytest.mark.tools
def test_costs_of_every_metric_that_is_added(tmp_path: Path) -> None:
    shape = LogShape(rows=2000, groups=100, layout="beside", funnel=True)
    found = {name for name, *_ in metric_costs.measure(shape, None, 1, tmp_path)}
    assert len(found) == sum(map(len, metric_costs.ADDED.values()))


@pytest.mark.tools
def test_both_forms_of_a_day_run_in_turns(tmp_path: Path) -> None:
    shape = LogShape(rows=2000, groups=100)
    log = write(shape, tmp_path)
    specs = {
        form: partial(day.spec_of, log, shape.label, shape.scores[0], "local", metrics)
        for form, metrics in day.FORMS.items()
    }
    seconds = day.in_turns(specs, None, 2)
    assert [len(each) for each in seconds.values()] == [2, 2]
