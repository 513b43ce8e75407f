"""The shapes of the benchmark: rows as they are said to be, values on which all agree, and the table of the page."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from benchmarks import cold, machine, run, shapes, suite, whole
from benchmarks.check import Check, DisagreementError
from benchmarks.contenders import ALONE, LIST_LIBRARIES, ON_SPARK, PLAIN_ALONE, PLAIN_ON_SPARK, Value, Work
from benchmarks.contenders.sparkrank_jobs import document_of
from benchmarks.generate import LogShape, arrays_of, impressions, lists_and_truth, write
from benchmarks.process import EVERY, OwnProcess, serve
from benchmarks.results import LogTimes, Session, Timing
from benchmarks.shape_table import session_names, shapes_block
from benchmarks.shapes import LANES, PLAIN, SHAPES, YARDSTICK
from sparkrank.config import Spec
from sparkrank.metrics import Metric

ROWS = 20_000


def test_arrays_are_the_lists_and_the_truth_of_their_users() -> None:
    """No list repeats an item, and about half of the true items are in the lists."""
    lists, truth = lists_and_truth(LogShape(rows=ROWS, layout="lists"), ROWS, chunk=3)
    of_lists, of_truth = ([(row["user_id"], row["item_id"]) for row in side.to_pylist()] for side in (lists, truth))
    rows = arrays_of(lists, truth).to_pylist()
    assert sorted((row["user_id"], item) for row in rows for item in row["items"]) == sorted(of_lists)
    listed = {user for user, _ in of_lists}
    found = sorted((row["user_id"], item) for row in rows for item in row["true_items"])
    assert found == sorted(pair for pair in of_truth if pair[0] in listed)
    assert len(rows) == ROWS // 20
    assert any(not row["true_items"] for row in rows)
    assert (len(set(of_lists)), len(set(of_truth))) == (lists.num_rows, truth.num_rows)
    assert 0.4 < len({*of_lists} & {*of_truth}) / truth.num_rows < 0.6


def test_a_log_has_what_is_asked_for_and_its_other_columns_as_before() -> None:
    plain = impressions(LogShape(), ROWS, 0, 0)
    for added in ({"sessions": True}, {"weighted": True}, {"slices": True}):
        more = impressions(LogShape(**added), ROWS, 0, 0)
        assert more.num_columns > plain.num_columns
        assert more.select(plain.column_names) == plain
    log = impressions(LogShape(sessions=True, weighted=True), ROWS, 0, 0)
    assert set(log["session_id"].to_pylist()) == {0, 1, 2, 3}
    assert 0.5 <= min(log["weight"].to_pylist()) < 0.51
    assert 1.99 < max(log["weight"].to_pylist()) <= 2
    (_, most), (_, second) = Counter(impressions(LogShape(heavy=0.5), ROWS, 0, 0)["user_id"].to_pylist()).most_common(2)
    assert 0.48 < most / ROWS < 0.53
    assert second < most / 20
    shape = LogShape(rows=6_000, items="text", row_group_rows=1_000)
    items = [item for chunk in range(6) for item in impressions(shape, 1_000, chunk, 0)["item_id"].to_pylist()]
    assert len(set(items)) == 6_000
    assert {type(item) for item in items} == {str}


def test_each_day_is_a_folder_of_its_own_rows_and_csv_has_those_of_parquet(tmp_path: Path) -> None:
    log = write(LogShape(rows=3_000, groups=50, layout="days", days=3), tmp_path)
    days = {day.name: pq.read_table(day / "part-00000.parquet") for day in log.iterdir()}
    assert sorted(days) == ["day=2026-01-01", "day=2026-01-02", "day=2026-01-03"]
    assert [day.num_rows for day in days.values()] == [1_000] * 3
    assert len({score for day in days.values() for score in day["score"].to_pylist()}) == 3_000
    shape = LogShape(rows=1_000, groups=50, files=2)
    parquet, csv = (write(replace(shape, format=name), tmp_path) for name in ("parquet", "csv"))
    rows = pa.concat_tables(pa_csv.read_csv(path) for path in sorted(csv.glob("*.csv")))
    assert rows.to_pydict() == pq.read_table(parquet).to_pydict()


def test_shapes_of_logs_that_differ_have_folders_that_differ() -> None:
    logs = {str(shape.log): LogShape(**shape.log).folder for shape in SHAPES.values()}
    assert len(set(logs.values())) == len(logs)
    assert max(map(len, logs.values())) < 200


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_asked_of_contenders_that_there_are(name: str, tmp_path: Path) -> None:
    """Their work is the same on the other side of a process, and the spec of a job is one."""
    shape = SHAPES[name]
    assert set(shape.contenders) <= {*ON_SPARK, *ALONE, *LIST_LIBRARIES, *PLAIN_ON_SPARK, *PLAIN_ALONE}
    assert YARDSTICK in shape.contenders or set(PLAIN) <= set(shape.contenders)
    assert set(shape.limits) <= set(LANES)
    assert ("plain" in shape.asked) == (PLAIN[0] in shape.contenders)
    for metric in (*shape.metrics, *shape.asked.get("plain", {}).get("metrics", ())):
        Metric.parse(metric)
    work = replace(run.work_of(LogShape(**shape.log), tmp_path, shape.metrics, 1, tmp_path), **shape.asked)
    again = Work.from_json(work.to_json())
    assert again.to_json() == work.to_json()
    assert again.without().metrics == work.without().metrics
    assert (again.keys, again.days, again.slices) == (work.keys, work.days, work.slices)
    if "job" in shape.asked:
        for asked in (work, work.without()) if work.plain else (work,):
            spec = Spec.model_validate(document_of(asked, "local", "tables"))
            assert spec.roles.group == ("user_id",)
            assert ("{date}" in spec.input.path) == bool(work.days)


def test_the_long_benchmark_measures_every_shape() -> None:
    for shape, name in session_names().items():
        assert suite.SESSIONS[name].split()[0] == ("whole" if shape == "whole" else "shapes")
        assert shape == "whole" or suite.SESSIONS[name].split()[1] == shape


def test_a_shape_has_its_own_rows_and_contenders_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Any] = []
    monkeypatch.setattr(run, "measure", lambda o, *_: measured.append((o.rows, o.groups, o.days, o.contenders)))
    for rows, contenders in ((None, None), (8_000, ["duckdb", "polars"])):
        shapes.measure("backfill", argparse.Namespace(rows=rows, repeats=None, contenders=contenders), [])
    assert measured == [([1_000_000], 250, 200, ["sparkrank-local", "duckdb"]), ([8_000], 2, 200, ["duckdb"])]


def ended(name: str, work: Work) -> whole.Ended:
    """A contender that has run in this process, asked and answering as from its own, whose start takes seconds."""
    if EVERY[name].python != Path(sys.executable):
        with OwnProcess(name, work) as elsewhere:
            elsewhere.prepare()
            elsewhere.run()
            return whole.Ended(name, elsewhere.values(), elsewhere.table)
    replies = io.StringIO()
    serve(EVERY[name].make(Work.from_json(work.to_json())), ["table", "prepare", "run", "values"], replies)
    table, _, _, values = map(json.loads, replies.getvalue().splitlines())
    found = {model: {metric: Value(*each) for metric, each in of.items()} for model, of in values.items()}
    return whole.Ended(name, found, None if table is None else Path(table))


# Two users whose rows tie across users.
FOUR = {"user_id": [1, 1, 2, 2], "item_id": [7, 8, 8, 9], "score": [4.0, 3.0, 3.0, 1.0], "clicked": [1, 0, 1, 0]}
EXACT_BY_HAND = {
    # pairs: 4 beats 3 and 1, 3 ties with 3 and beats 1: (1 + 1 + 0.5 + 1) / 4; precision 1 at recall 0.5, 2/3 at 1;
    # above 4: TPR 0.5, FPR 0; above 3: TPR 1, FPR 0.5
    None: (3.5 / 4, 0.5 * 1 + 0.5 * 2 / 3, 0.5),
    # the negative at 3 counts twice: pairs (2 + 1 + 1 + 1) / 6, precision 2/4 at recall 1, FPR 2/3 above 3
    "weight": (5 / 6, 0.5 * 1 + 0.5 * 2 / 4, 0.5),
}


@pytest.mark.peer
@pytest.mark.parametrize("name", ["duckdb", "sparkrank-local"])
def test_metrics_by_hand(name: str, tmp_path: Path) -> None:
    if not ALONE[name].installed:
        pytest.skip(f"{name} is not installed")
    metrics, log = SHAPES["exact"].metrics, tmp_path / "log"
    log.mkdir()
    pq.write_table(pa.table({**FOUR, "weight": [1.0, 2.0, 1.0, 1.0]}), log / "part.parquet")
    work = Work(log, metrics, "clicked", False, ("score",), 1, tmp_path, group_table=False)
    for weight, expected in EXACT_BY_HAND.items():
        values = ended(name, replace(work, weight=weight)).values()["score"]
        assert [values[metric].value for metric in metrics] == pytest.approx(expected)
    # the first row of each user: item 7 is relevant to one of two users, item 8 to one: -log2(1/2) each
    novelty = replace(work, metrics=("ndcg@1", "novelty@1"), group_table=True)
    assert ended(name, novelty).values()["score"]["novelty@1"].value == pytest.approx(1.0)


@pytest.mark.tools
@pytest.mark.peer
@pytest.mark.parametrize("name", SHAPES)
def test_contenders_agree_on_every_shape(name: str, tmp_path: Path) -> None:
    """Also by the values of slices and by day, of which each contender has as many."""
    shape = SHAPES[name]
    few = {"days": 4} if name.startswith("backfill") else {}
    days = {**shape.log, **few}.get("days", 1)
    log = LogShape(**{"rows": ROWS, "groups": ROWS // days // 20, "files": 2, **shape.log, **few})
    work = run.work_of(log, write(log, tmp_path / "log"), shape.metrics, 1, tmp_path)
    work = replace(work, **shape.asked)
    check, names = Check(log, work.by_item), defaultdict(list)
    contenders = [each for each in shape.contenders if each in EVERY and EVERY[each].installed]
    contenders = [each for each in contenders if each != "recommenders-spark"]  # needs a JVM
    if not contenders:
        pytest.skip("no contender that needs no Spark is installed")
    for contender in contenders:
        answer = ended(contender, work)
        check.compare(answer)
        for model, values in answer.values().items():
            names[model].append(set(values))
            assert set(values) <= {*shape.metrics, *work.without().metrics}
    subjects = {"slices": 1 + 20 + 4 + 80, "models-3": 3, "models-10": 10, "comparisons": 2}
    assert len(names) == {**subjects, "backfill": 4, "backfill-scan": 4}.get(name, 1)
    assert len({len(by_contender) for by_contender in names.values()}) == 1
    assert all(set(values) >= set(shape.metrics) for values in check.values.values())


@pytest.mark.parametrize("value", [0.7501, 0.7499])
def test_ties_by_item_leave_nothing_to_chance(value: float) -> None:
    first, second = (whole.Ended(name, {"score": {"ap": Value(ap)}}) for name, ap in (("a", 0.75), ("b", value)))
    for by_item in (False, True):
        check = Check(LogShape(ties=0.3, groups=100), by_item)
        check.compare(first)
        with pytest.raises(DisagreementError, match="ap of score") if by_item else nullcontext():
            check.compare(second)


def commands_on(folder: Path) -> cold.Commands:
    shape = LogShape(rows=2_000, groups=100, files=2)
    return cold.Commands(shape, write(shape, folder / "log"), folder)


def test_the_bare_job_must_have_read_every_row(tmp_path: Path) -> None:
    commands = commands_on(tmp_path)
    log = pq.read_table(commands.work.log).to_pydict()
    total = sum(score for score, label in zip(log["score"], log["clicked"], strict=True) if label > 0)
    whole.compare_bare({"rows": 2_000, "sum": total}, commands)
    for wrong in ({"rows": 1_999, "sum": total}, {"rows": 2_000, "sum": total * 1.001}):
        with pytest.raises(DisagreementError, match="the bare job has"):
            whole.compare_bare(wrong, commands)


def test_values_of_whole_commands_are_compared(tmp_path: Path) -> None:
    commands = commands_on(tmp_path)
    known = whole.commands_of(commands)
    assert list(known)[:4] == ["bare", "sparkrank-scan", "sparkrank-local", "sparkrank-frame"]
    check = Check(LogShape())
    for name in (each for each in ("sparkrank-local", "duckdb") if each in known):
        _, printed = cold.ended(known[name], commands.tables)
        whole.compare(name, printed, commands, check)
    assert set(check.values["score"]) == set(commands.work.metrics)


def session_of(title: str, *timings: tuple[str, Sequence[float]]) -> Session:
    timed = [Timing(name, 6, True, 9.0, list(seconds)) for name, seconds in timings]
    log = LogTimes(asdict(LogShape(rows=100)), {}, timed, {})
    described = {"processor": "one", "cores": "2", "memory": "24 GiB", "commit": "c0ffee", "load before": "0.1"}
    return Session(f"python -m benchmarks.{title}", described, ("ap",), {}, {}, 0, [log])


def line(text: str, title: str) -> list[str]:
    (found,) = (line for line in text.splitlines() if line.startswith(f"| {title} "))
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_shapes_meet_or_miss_their_targets() -> None:
    scan, local = "sparkrank-scan", "sparkrank-local"
    lists = session_of("shapes lists", (scan, [2, 2]), (local, [3, 3]), ("duckdb", [4, 4]), ("polars", [6, 6]))
    exact = session_of("shapes exact", (scan, [8, 8]), ("plain-scan", [4, 4]), (local, [9]), ("plain-local", [4]))
    command = session_of("whole", ("bare", [10, 10]), (scan, [12, 13]), (local, [1, 1]))
    text = shapes_block({"shapes-lists": lists, "shapes-exact": exact, "whole": command})
    assert line(text, "lists joined with a truth") == [
        *("lists joined with a truth", "100", "4.00"),
        *("0.50 (0.50 to 0.50), met (<= 0.5)", "0.75 (0.75 to 0.75), missed (<= 0.25)", "", "1.50 (1.50 to 1.50)"),
    ]
    assert line(text, "nightly set")[1:3] == ["20,000,000", "not measured"]
    over_plain = text[text.index("over the same without it") :]
    assert line(over_plain, "exact bins, scores all distinct")[1:] == [
        *("100", "2.00 (2.00 to 2.00), met (<= 2)", "2.25 (2.25 to 2.25), missed (<= 2)", ""),
    ]
    assert line(over_plain, "a whole command over a bare spark-submit")[1:] == [
        *("100", "1.25 (1.20 to 1.30), missed (<= 1.2)", "0.10 (0.10 to 0.10)", ""),
    ]
    assert line(text, "shapes-lists")[1:] == ["`python -m benchmarks.shapes lists`", "2", "0.1", "c0ffee"]


def test_no_shape_lacks_a_row_and_a_page_without_results_says_what_makes_them() -> None:
    text = shapes_block({"whole": session_of("whole", ("bare", [1.0]))})
    assert [shape.title for shape in SHAPES.values() if f"| {shape.title} " not in text] == []
    assert shapes_block({}) == "Not measured yet: `make bench-all` makes the tables that stand here."


def test_the_commit_is_told_or_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert machine.commit().rstrip("+").isalnum()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.commit() == "unknown"
