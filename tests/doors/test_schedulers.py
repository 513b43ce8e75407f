"""What programs read of a command: one JSON document or nothing on stdout, the sentence last on stderr, and codes."""

from __future__ import annotations

import ast
import errno
import importlib.util
import json
import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pydantic
import pytest
import yaml

import sparkrank as sr
from sparkrank.base import checks, errors
from sparkrank.cli.command_line import commands
from sparkrank.config import load_spec
from sparkrank.config.json_schema import FILE, spec_schema_text
from sparkrank.schemas.tables import QUALITY
from sparkrank.tables.commit.links import LinkedRun
from sparkrank.tables.rows.limits import checks_of
from sparkrank.tables.stored.day_files import day_files
from tests.support.commands import PROJECT, exit_code, write_spec

DAYS = ["2026-01-30", "2026-01-31"]
CONFIG = Path(sr.__file__).parent / "config"
ROWS = pa.table(
    {
        "user": ["a", "a", "b", "b"], "old": [0.9, 0.5, 0.7, 0.2], "new": [0.1, 0.5, 0.7, 0.2], "click": [0, 1, 1, 0],
        "country": ["de", "de", "fr", "fr"],
    }
)  # fmt: skip


def _document(folder: Path) -> dict[str, Any]:
    columns = {"group": "user", "label": "click", "score": {"old": "old", "new": "new"}}
    return {
        "input": {"path": f"{folder}/log/dt={{date}}", "columns": columns},
        "metrics": ["rr", "auc"],
        "slices": ["country"],
        "compare": {"baseline": "old"},
        "gates": [{"metric": "rr", "model": "old", "min": 50}],
        "output": {"path": f"{folder}/out"},
        "engine": {"lane": "local"},
    }


@pytest.fixture(autouse=True)
def _without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo takes Spark where it can start."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two days, of which a gate stops each: rr is at most 1."""
    folder = tmp_path_factory.mktemp("scheduled")
    for day in DAYS:
        (folder / f"log/dt={day}").mkdir(parents=True)
        pq.write_table(ROWS, folder / f"log/dt={day}/0.parquet")
    conf = write_spec(folder, _document(folder))
    for day in DAYS:
        assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", day) == 3
    return conf


OF_JUDGMENT = {"name", "exit_code", "run_id", "gates", "accepted", "warnings"}
OF_RESULT = ["exit_code", "run_id", "metrics", "comparisons", "quality", "gates", "warnings", "tables", "stages"]
OF_PLAN = {"day", "rows", "rows_from", "splits", "buckets", "tasks", "pieces", "stored", "tables", "partitions"}
OF_SCHEMA = {*("$defs", "$schema", "additionalProperties", "title", "type", "properties", "required", "description")}
# Of every command: its words, whether it takes --conf, how it ends, and the keys of its document.
COMMANDS: dict[str, tuple[list[str], bool, int, set[str]]] = {
    "evaluate": (["--date", DAYS[1]], True, 3, {"day", "lane", "lane_reason", "changes", *OF_RESULT}),
    "merge": (["--from", DAYS[0], "--to", DAYS[1]], True, 3, {"window", "days", "missing", *OF_RESULT}),
    "gate": (["--date", DAYS[1]], True, 3, OF_JUDGMENT),
    "accept": (
        ["--date", DAYS[0], "--reason", "seen"], True, 0, OF_JUDGMENT,
    ),
    "validate": (["--date", DAYS[1]], True, 0, {"spec", "places"}),
    "metrics": (["ndcg"], False, 0, {"metrics"}),
    "tables": (["quality"], False, 0, {"tables"}),
    "compare": (["--date", DAYS[1]], True, 0, {"window", "missing", "notes", "comparisons"}),
    "movers": (["--date", DAYS[1], "--metric", "rr"], True, 0, set()),
    "explain": (
        ["--date", DAYS[1], "--group", "user=a", "rr"], True, 0,
        {"day", "spec", "models", "lane", "lane_reason", "groups"},
    ),
    "report": (["--date", DAYS[1], "--format", "md"], True, 0, {"name", "format", "report", "missing"}),
    "plan": (["--date", DAYS[1]], True, 0, OF_PLAN),
    "path": (["--date", DAYS[1]], True, 0, {"path"}),
    "publish": (
        ["--date", DAYS[1], "--set", "output.publish=[{{format: delta, path: {folder}/lake}}]"],
        True,
        0,
        {"published", "missing"},
    ),
    "export": (["{folder}/exported", "--date", DAYS[1]], True, 0, {"days", "warnings"}),
    "clean": ([], True, 0, {"removed"}),
    "unlock": (["--date", DAYS[1]], True, 0, {"unlocked"}),
    "init": (["{folder}/new.yaml"], False, 0, {"path"}),
    "demo": (
        ["--folder", "{folder}/demo", "--rows", "1000"], False, 0,
        {"day", "lane", "lane_reason", "changes", *OF_RESULT},
    ),
    "schema": ([], False, 0, OF_SCHEMA),
}  # fmt: skip
MORE: dict[str, tuple[list[str], bool, int, set[str]]] = {
    "evaluate": (["--from", DAYS[0], "--to", DAYS[1], "--again"], True, 3, {"exit_code", "days"}),
    "gate": (["--date", DAYS[1], "--replay", "2d"], True, 0, {"first", "last", "nights", "days", "gates"}),
    "explain": (
        ["--date", DAYS[1], "--from", "ranx", "--to", "mllib", "ndcg@2"], True, 0,
        {"day", "from", "to", "metrics", "notes"},
    ),
    "metrics": (["--preset", "ranx"], False, 0, {"preset"}),
    "report": (
        ["--date", DAYS[1], "--out", "{folder}/report.md"], True, 0, {"name", "format", "path", "missing"},
    ),
    "compare": (
        ["--left-date", DAYS[0], "--right-date", DAYS[1], "--model", "old", "--decompose", "country"], True, 0,
        {"notes", "decomposition"},
    ),
}  # fmt: skip
HAS_DELTA = importlib.util.find_spec("deltalake") is not None
CASES = [case for case in (*COMMANDS.items(), *MORE.items()) if case[0] != "publish" or HAS_DELTA]


def _words(name: str, case: tuple, conf: str, folder: Path) -> list[str]:
    return [name, *(["--conf", conf] if case[1] else []), *(each.format(folder=folder) for each in case[0])]


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(commands.commands)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_json_is_one_document_on_stdout_and_nothing_else(
    conf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, case: tuple
) -> None:
    assert exit_code(*_words(name, case, conf, tmp_path), "--json") == case[2]
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert printed.err == ""
    if case[3]:
        assert set(document) == case[3]
    assert document.get("exit_code", case[2]) == case[2] if isinstance(document, dict) else document


def test_a_verdict_names_the_run_that_it_is_about(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs = pq.read_table(Path(conf).parent / "out" / "runs" / f"day={DAYS[1]}")
    for day, run_id in ((DAYS[1], runs["run_id"][0].as_py()), ("2026-02-01", None)):
        assert exit_code("gate", "--conf", conf, "--date", day, "--json") == 3
        assert json.loads(capsys.readouterr().out)["run_id"] == run_id


def test_quiet_prints_nothing(conf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, case in CASES:
        assert exit_code(*_words(name, case, conf, tmp_path), "--quiet") == case[2], name
        assert capsys.readouterr() == ("", ""), name
    assert exit_code("validate", "--conf", conf, "--json", "--quiet") == 2
    assert "--json and --quiet do not go together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "exits"),
    [
        (["evaluate", "--date", DAYS[1], "--set", "metrics=[ndgc]"], "metric", 2),
        (["evaluate", "--date", DAYS[1], "--set", "metrcs=[rr]"], "spec", 2),
        (["evaluate", "--date", "2026-02-01"], "no_input", 4),
        (["evaluate", "--date", DAYS[1], "--set", "input.columns.label=clik"], "input", 4),
        (["evaluate", "--what"], "usage", 2),
        (["merge", "--from", "2026-02-01", "--to", "2026-02-02"], "input", 4),
    ],
    ids=lambda each: "-".join(each[:3]) if isinstance(each, list) else str(each),
)
def test_an_error_is_the_last_line_on_stderr_and_with_json_a_document_too(
    conf: str, capsys: pytest.CaptureFixture[str], words: list[str], code: str, exits: int
) -> None:
    for form in ([], ["--quiet"], ["--json"]):
        assert exit_code(words[0], "--conf", conf, *words[1:], *form) == exits
        printed = capsys.readouterr()
        last = printed.err.splitlines()[-1]
        assert last.startswith("sparkrank: ")
        error = {"code": code, "exit_code": exits, "sentence": last.removeprefix("sparkrank: ")}
        assert (json.loads(printed.out) == {"error": error}) if form == ["--json"] else printed.out == ""


def test_a_document_of_an_unexpected_error_and_of_an_interrupt(
    conf: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for raised, code in ((RuntimeError("the disk is gone"), "unexpected"), (KeyboardInterrupt(), "interrupted")):

        def fails(*_: object, raised: BaseException = raised, **__: object) -> None:
            raise raised

        monkeypatch.setattr("sparkrank.cli.options.load_spec", fails)
        assert exit_code("validate", "--conf", conf, "--json", "--debug") == 1
        printed = capsys.readouterr()
        assert json.loads(printed.out)["error"]["code"] == code
        assert printed.err.splitlines()[-1].startswith("sparkrank: ")


def test_the_document_of_a_day_has_numbers_codes_and_places(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And that of a backfill that fails has the days before."""
    assert exit_code("evaluate", "--conf", conf, "--date", DAYS[1], "--json") == 3
    document = json.loads(capsys.readouterr().out)
    values = {(row["model"], row["metric"]): row["value"] for row in document["metrics"] if row["slice"] == "all"}
    assert values == {("old", "rr"): 0.75, ("old", "auc"): 0.5, ("new", "rr"): 1.0, ("new", "auc"): 1.0}
    assert {(gate["verdict"], gate["stops"]) for gate in document["gates"]} == {("fail", True)}
    assert {row["code"] for row in document["quality"]} >= {"rows_read", "tied_rows", "groups_of_one_class"}
    assert Path(document["tables"]["metrics"]).is_dir()
    assert exit_code("evaluate", "--conf", conf, "--from", DAYS[1], "--to", "2026-02-01", "--again", "--json") == 4
    document = json.loads(capsys.readouterr().out)
    assert document["error"]["code"] == "no_input"
    (day,) = document["days"]
    assert (day["day"], day["state"], day["result"]["exit_code"]) == (DAYS[1], "evaluated", 3)


# Programs know checks, warnings and errors by these: a code that changes breaks them, so it is changed here alone.
CODES_OF_CHECKS = [
    "items_of_catalog", "items_not_in_catalog", "items_not_in_interactions", "rejected_bad_value",
    "rejected_bad_vector", "rows_without_value",
    "rejected_label_without_gain", "rejected_bad_gain", "relevant_rows_without_gain",
    "rows_with_label", "rows_among_label", "groups_checked",
    "interactions", "pairs_to_exclude", "interactions_without_pair", "pairs_to_exclude_without_pair",
    "groups_of_interactions", "days_without_popularity",
    "rows_in_interactions", "rows_excluded", "truth_excluded", "truth_in_interactions", "interactions_after_list",
    "truth_before_list", "items_listed_early", "rows_of_lists_with_time",
    "labels_of_models_differ", "rows_of_other_models", "rows_read_of_model",
    "rows_read", "rows_evaluated", "rows_rejected", "rejected_no_number", "rejected_null_group", "rejected_nan_score",
    "rejected_bad_label", "rejected_small_label", "rejected_nan_reference_rank", "rejected_bad_weight",
    "rejected_small_weight", "rejected_label_beyond_true_items", "rejected_bad_group_weight",
    "rejected_small_group_weight", "rejected_several_clusters", "rejected_null_item", "rejected_bad_rank",
    "nan_labels_of_pandas", "nan_reference_ranks_of_pandas", "nan_scores_of_pandas", "nan_ratings_of_pandas",
    "rows_without_label", "rows_without_label_dropped", "groups", "largest_group", "second_largest_group",
    "third_largest_group", "most_rows_of_one_group", "group_keys_with_several_lists", "rows_without_cluster",
    "groups_without_cluster", "rows_without_item", "truth_rows", "truth_items", "truth_in_a_list", "truth_in_no_list",
    "truth_repeated", "truth_overruled", "truth_without_label", "rows_only_of_group", "groups_without_truth",
    "groups_joined", "rows_with_score", "rows_with_score_of_groups", "rows_with_score_in_truth", "tied_rows",
    "repeated_rows", "groups_without_scored_row", "scores_no_probability", "groups_without_weight", "groups_left_out",
    "slice_values_left_out", "groups_of_one_class", "relevant_truth", "relevant_truth_in_no_list",
    "values_above_ideal", "values_outside_range", "rows_per_block", "most_weight_of_one_group",
    "rejected_bad_propensity", "effective_sample_size", "largest_weight_by_propensity", "clipped_weights",
    "rejected_bad_estimate", "rejected_bad_policy_estimate", "mean_weight", "standard_errors_of_mean_weight",
    "truth_with_room_in_lists", "pairs_of_list_and_truth", "lists_decided_by_ties", "lists_shorter",
]  # fmt: skip
CODES_OF_WARNINGS = [
    "nan_of_pandas", "truth_in_no_list", "model_hardly_in_truth", "no_labels", "no_scores", "undefined_everywhere",
    "past_in_no_list", "items_of_no_list",
    "few_groups", "large_group", "expectation_not_checked", "large_text_file", "acceptance_dropped", "not_tracked",
    "not_notified",
    "candidate_lacks_days", "ties_decide", "defined_for_few", "report_index", "lists_shorter", "values_pooled",
    "weights_not_one", "few_checked_groups",
]  # fmt: skip
CODES_OF_ERRORS = {
    "SparkrankError": "failed", "SpecError": "spec", "FrameLaneNeededError": "frame_lane_needed",
    "UnappliedFeatureError": "input",
    "MetricError": "metric", "OutOfMemoryError": "out_of_memory", "InputError": "input", "MissingColumnError": "input",
    "NoInputError": "no_input",
    "RejectedRowsError": "rejected_rows",
    "StoreError": "store", "StateError": "state", "UnknownResultError": "unknown_result",
}  # fmt: skip


def test_no_code_changes(caplog: pytest.LogCaptureFixture) -> None:
    """And each is on the page; a warning has it when it is logged and when it is sent, and each check has one."""
    assert sorted(checks.all_codes()) == sorted(CODES_OF_CHECKS)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert {kind.__name__: vars(kind)["code"] for kind in kinds} == CODES_OF_ERRORS
    literal = set()
    for file in Path(sr.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "CodedSentence":
                literal |= {node.args[0].value} if isinstance(node.args[0], ast.Constant) else set()
    assert literal == set(CODES_OF_WARNINGS)
    assert all(re.fullmatch("[a-z_]{4,40}", code) for code in (*CODES_OF_CHECKS, *CODES_OF_WARNINGS))
    codes = {*CODES_OF_WARNINGS, *CODES_OF_ERRORS.values(), "usage", "interrupted", "unexpected"}
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()
    again = pickle.loads(pickle.dumps(errors.CodedSentence("no_labels", "no row has a label")))  # noqa: S301
    assert (again, again.code) == ("no row has a label", "no_labels")
    words = {value for name, value in vars(checks).items() if name.isupper() and isinstance(value, str)}
    assert {checks.code_of(word) for word in words} <= set(CODES_OF_CHECKS)
    asked = ["rr", "ndcg(ideal=[3])@3", "p(rel=2)@2", "logloss", "auc_up"]
    rows = ROWS.set_column(3, "click", pa.nulls(4, pa.int64()))
    plan = sr.evaluate(rows, asked, group="user", score="old", label="click").plan
    assert None not in {checks.code_of(check) for check in checks_of(plan)}
    assert "no_labels" in {getattr(record, "code", None) for record in caplog.records}


def test_quality_has_codes_and_older_tables_without_are_read(conf: str, tmp_path: Path) -> None:
    """``expect`` reads the quality of the day before, which may be of an older release."""
    table = pq.read_table(Path(load_spec(conf).output.path) / f"quality/day={DAYS[0]}", partitioning=None)
    codes = dict(zip(table["check"].to_pylist(), table["code"].to_pylist(), strict=True))
    assert codes["rows read"] == "rows_read"
    assert table.schema.names == QUALITY.schema.names
    (older := tmp_path / "quality" / f"day={DAYS[0]}").mkdir(parents=True)
    pq.write_table(table.drop_columns(["code"]), older / "part-0.parquet")
    asked = pa.schema([QUALITY.schema.field(name) for name in ("check", "count")])
    assert day_files(str(tmp_path), DAYS[0], ("quality",), None).read("quality", asked).num_rows == table.num_rows


def test_init_writes_a_spec_that_can_be_checked_and_overwrites_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code("init") == 0
    text = Path("sparkrank.yaml").read_text(encoding="utf-8")
    assert text == (CONFIG / "starter.yaml").read_text(encoding="utf-8")
    assert exit_code("init", "my nightly.yaml") == 0
    assert Path("my nightly.yaml").read_text(encoding="utf-8") == text.replace("sparkrank.yaml", "'my nightly.yaml'")
    assert capsys.readouterr().out.endswith("Check it with: sparkrank validate --conf 'my nightly.yaml'\n")
    assert exit_code("validate", "--conf", "sparkrank.yaml", "--quiet") == 2
    assert re.findall(r"(\S+) is '[^']+': (<.+?>) is a placeholder", capsys.readouterr().err) == [
        ("input.path", "<folder>"), ("output.path", "<folder of tables>"),
    ]  # fmt: skip
    Path("filled.yaml").write_text(re.sub("<.+?>", "x", text).replace("path: x\n", "path: y\n"), encoding="utf-8")
    assert exit_code("validate", "--conf", "filled.yaml", "--quiet") == 0
    Path("sparkrank.yaml").write_text("mine", encoding="utf-8")
    for words, sentence in (
        ([], "sparkrank.yaml exists already"),
        (["none/here.yaml"], "there is no folder for none/here.yaml"),
        ([" "], "FILE is empty"),
    ):
        assert exit_code("init", *words) == 2
        assert sentence in capsys.readouterr().err
    assert Path("sparkrank.yaml").read_text(encoding="utf-8") == "mine"


def test_the_stored_schema_is_what_the_program_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """`sparkrank schema > sparkrank/config/spec.schema.json` mends it. Each pydantic writes some of it its own way."""
    pinned = re.search(
        r"^pydantic==(\d+\.\d+)", (PROJECT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    if pinned is None or not pydantic.VERSION.startswith(f"{pinned[1]}."):
        pytest.skip(f"it is stored as the pydantic of constraints.txt writes it, and this is {pydantic.VERSION}")
    stored = (CONFIG / FILE).read_text(encoding="utf-8")
    assert exit_code("schema") == 0
    assert capsys.readouterr().out == stored == spec_schema_text()


def test_the_schema_takes_the_specs_that_the_program_takes() -> None:
    schema = json.loads((CONFIG / FILE).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in (*sorted((PROJECT / "conf").glob("*.yaml")), CONFIG / "starter.yaml"):
        text = path.read_text(encoding="utf-8")
        jsonschema.validate(_plain(yaml.safe_load(text)), schema, jsonschema.Draft202012Validator)
        if path.parent.name == "conf":
            head = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
            assert head is not None, path
            assert (path.parent / head[1]).resolve() == CONFIG / FILE


WRITTEN = [
    "slices=[country, [country, device]]", "input.columns.group=[a, b]", "engine.row_memory=2.5GB",
    "engine.lane=local", "output.curves=false", "input.expect={min_rows: 1e6}", "day=2026-01-31", "quality=",
    "input.options={header: true, fetchsize: 10}", "gates=[{metric: rr, not_worse_than: history, by: 1%}]",
]  # fmt: skip
NOT_WRITTEN = [
    "metrcs=[rr]", "metrics=rr", "engine.lane=fast", "output.curves=5", "quality.max_bad_fraction=2",
    "input.columns.score=[a]", "uncertainty.level=x", "gates=[{metric: rr, by: much}]", "input.expect={min_rows: many}",
]  # fmt: skip


def test_the_schema_takes_what_a_person_may_write_and_no_more(tmp_path: Path) -> None:
    schema = jsonschema.Draft202012Validator(json.loads((CONFIG / FILE).read_text(encoding="utf-8")))
    for override in (*WRITTEN, *NOT_WRITTEN):
        document = {**_document(tmp_path), "gates": []}
        key, _, value = override.partition("=")
        place: Any = document
        *parents, last = key.split(".")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = yaml.safe_load(value)
        assert schema.is_valid(_plain(document)) == (override in WRITTEN), override


def _plain(document: Any) -> Any:
    """As an editor sees it, to which a day is a text."""
    return json.loads(json.dumps(document, default=str))


PAGE = (PROJECT / "docs" / "schedulers.md").read_text(encoding="utf-8")


@pytest.mark.tools
def test_the_commands_of_the_page_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each block of commands in turn, in a folder with one day of rows; behind # is the exit code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log/dt=2026-11-19").mkdir(parents=True)
    rows = ROWS.rename_columns(["user_id", "score", "other", "clicked", "country"])
    pq.write_table(rows, tmp_path / "log/dt=2026-11-19/0.parquet")
    lines = [line.strip() for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        command, _, told = line.partition("  # ")
        program, *words = command.split()
        assert program == "sparkrank"
        if ">" in words:
            words = words[: words.index(">")]
        code = int(told.partition("exit code ")[2][:1] or 0)
        assert exit_code(*words) == code, line
        if words[0] == "init":
            text = Path("sparkrank.yaml").read_text(encoding="utf-8")
            filled = text.replace("path: <folder>/dt={date}", "path: log/dt={date}", 1)
            filled = filled.replace("<folder of tables>", "tables").replace("lane: auto", "lane: local")
            Path("sparkrank.yaml").write_text(filled, encoding="utf-8")
        printed = capsys.readouterr()
        if "--json" in words:
            json.loads(printed.out)
        if "--quiet" in words:
            assert printed.out == ""


SHOWN = [(name, case) for name, case in CASES if name in ("evaluate", "merge", "accept", "export")]


@pytest.mark.parametrize("form", ["--json", "text"])
@pytest.mark.parametrize(("name", "case"), SHOWN)
def test_nothing_after_the_commit_fails_a_command(
    conf: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    case: tuple,
    form: str,
) -> None:
    """A signal right after it, and an output that takes nothing: the code is that of the day."""
    show, echo, signals = LinkedRun._show, click.echo, []

    def shown(run: LinkedRun) -> None:
        show(run)
        signals.append(os.kill(os.getpid(), signal.SIGTERM))

    def full(*arguments: Any, err: bool = False, **options: Any) -> None:
        if not err:
            raise OSError(errno.ENOSPC, "No space left on device")
        echo(*arguments, err=err, **options)

    monkeypatch.setattr(LinkedRun, "_show", shown)
    monkeypatch.setattr(click, "echo", full)
    words = _words(name, case, conf, tmp_path)
    assert exit_code(*words, *(["--json"] if form == "--json" else [])) == case[2]
    assert signals
    told = "sparkrank: this is done, but cannot be printed: "
    assert {line[: len(told)] for line in capsys.readouterr().err.splitlines()} == {told}


def test_the_job_ends_with_the_code_of_the_day_where_nobody_reads(conf: str) -> None:
    words = [sys.executable, "-m", "sparkrank", "evaluate", "--conf", conf, "--date", DAYS[1], "--json"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert subprocess.run(words, stdout=full, stderr=full, check=False).returncode == 3


def test_the_sentence_is_on_stderr_where_stdout_fails() -> None:
    for words in (("metrics", "--json"), ("schema",)):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            command = [sys.executable, "-m", "sparkrank", *words]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith("sparkrank: ")
        assert "Traceback" not in done.stderr
