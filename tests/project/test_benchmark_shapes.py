"""The shapes of the benchmark: rows as they are said to be, values on which all agree, and the table of the page."""

from __future__ import annotations

import io
import json
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import cold, run, submit, whole
from benchmarks.check import Check, DisagreementError
from benchmarks.contenders import ALONE, LIST_LIBRARIES, ON_SPARK, PLAIN_ALONE, PLAIN_ON_SPARK, Value, Work
from benchmarks.contenders.sparkrank_jobs import document_of
from benchmarks.generate import LogShape, arrays_of, lists_and_truth, write
from benchmarks.process import EVERY, OwnProcess, serve
from benchmarks.results import LogTimes, Session, Timing
from benchmarks.shape_table import shapes_block
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


def test_the_commands_of_a_pair_take_turns_on_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that does not count comes first, and values that differ by a bit are refused."""
    pair = submit.PAIRS[1]._replace(rows=2_000, one=submit.PAIRS[1].one._replace(files=7))
    rows, seconds, value = [], {True: 30.0, False: 10.0}, {True: 0.5, False: 0.5}

    def seconds_of(started: Sequence[str], tables: Path) -> float:
        is_one = "engine.buckets=1000" in started
        spec = json.loads(Path(started[started.index("--conf") + 1]).read_text())
        files = sorted(Path(spec["input"]["path"]).iterdir())
        assert len(files) == (7 if is_one else 8)
        rows.append(pa.concat_tables(map(pq.read_table, files)))
        for name, of in {
            "metrics": {"model": "score", "metric": "ap", "value": value[is_one]},
            "runs": {"stages": json.dumps({"open": 1.0, "evaluate": seconds[is_one] - 6})},
        }.items():
            (tables / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist([of]), tables / name / "part.parquet")
        return seconds[is_one]

    monkeypatch.setattr(cold, "seconds_of", seconds_of)
    one, other = submit.measure(pair, 2, tmp_path)
    assert (one, other) == (([30.0, 30.0], [25.0, 25.0]), ([10.0, 10.0], [5.0, 5.0]))
    assert len(rows) == 6
    assert all(each.equals(rows[0]) for each in rows)
    assert submit.line_of(pair._replace(limit=4), one, other)[2:] == (
        *("2,000", "30.0", "3.00 (3.00 to 3.00), met (<= 4)", "25.0", "5.00 (5.00 to 5.00), missed (<= 4)"),
    )
    value[True] = math.nextafter(0.5, 1)
    with pytest.raises(DisagreementError, match="500 splits and 1,000 buckets and 8 files and few buckets give"):
        submit.measure(pair, 1, tmp_path)


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
