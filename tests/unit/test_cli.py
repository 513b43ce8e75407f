"""What the command line prints, and how it ends."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from sparkrank import cli
from sparkrank.errors import SpecError
from sparkrank.metrics import CATALOG, PRESETS
from sparkrank.pipeline import evaluate
from sparkrank.report.text import metrics_text
from sparkrank.spec import Spec, load_spec

PROJECT = Path(__file__).resolve().parents[2]


def _run(*arguments: str) -> int:
    """The exit code of the command."""
    try:
        cli.main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_metrics_prints_every_declaration_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("metrics") == 0
    printed = capsys.readouterr().out
    for declaration in CATALOG.values():
        texts = (declaration.title, declaration.formula, declaration.undefined, declaration.reference)
        for text in (*texts, *(parameter.doc for parameter in declaration.parameters)):
            assert text in printed


def test_the_module_is_the_command() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "sparkrank", "metrics", "mmr"], capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("sparkrank: ")
    assert 'did you mean "mrr"?' in told.stderr


def test_metrics_by_name_and_alias(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("metrics", "MRR") == 0
    assert capsys.readouterr().out.startswith("rr[@k]  reciprocal rank")
    assert _run("metrics", "mmr") == 2
    assert 'did you mean "mrr"?' in capsys.readouterr().err


def test_metrics_by_the_text_of_a_spec(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("precision@5", "median(p(rel=2))"):
        assert _run("metrics", text) == 0
        assert capsys.readouterr().out.startswith("p[@k]  precision\n")
    assert _run("metrics", "ndcg(gain=exp)@5") == 2
    assert "gain takes linear|exp2|binary" in capsys.readouterr().err


def test_metrics_of_many_models_and_of_models_with_other_groups_stand_below_each_other() -> None:
    """The item of the second model is not retrieved: of its list gauc is undefined."""
    log = {"user": ["a", "a"], "m": [0.5, 0.25], "n": [0.5, None], "label": [1, 0]}
    asked = {"group": "user", "label": "label", "score": {"m": "m", "n": "n"}}
    lines = metrics_text(sr.evaluate(pa.table(log), ["gauc", "p@1"], **asked).metrics).splitlines()
    assert [line.split() for line in lines] == [
        ["metric", "model", "value", "groups", "undefined"],
        ["------", "-----", "---------", "------", "---------"],
        ["gauc", "m", "1.0000", "1", "0"],
        ["gauc", "n", "undefined", "1", "1"],
        ["p@1", "m", "1.0000", "1", "0"],
        ["p@1", "n", "1.0000", "1", "0"],
    ]
    many = {f"a-model-{number}": f"a-model-{number}" for number in range(20)}
    log = {"user": ["a"], "label": [1], **{model: [0.5] for model in many}}
    lines = metrics_text(sr.evaluate(pa.table(log), ["p@1"], **{**asked, "score": many}).metrics).splitlines()
    assert len(lines) == 2 + 20
    few = metrics_text(sr.evaluate(pa.table(log), ["p@1"], **{**asked, "score": "a-model-1"}).metrics).splitlines()
    assert [line.split() for line in few[::2]] == [
        ["metric", "a-model-1", "groups", "undefined"],
        ["p@1", "1.0000", "1", "0"],
    ]


def test_the_table_of_the_readme_is_the_program_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("metrics", "--markdown") == 0
    table = capsys.readouterr().out.strip()
    assert table in (PROJECT / "README.md").read_text(encoding="utf-8"), "print it with sparkrank metrics --markdown"


@pytest.mark.parametrize("conf", sorted((PROJECT / "conf").glob("*.yaml")), ids=lambda path: path.name)
def test_validate_writes_out_every_default_of_a_shipped_spec(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("validate", "--conf", str(conf), "--set", "definitions.undefined=zero") == 0
    resolved = yaml.safe_load(capsys.readouterr().out)
    written = {
        "preset": None,
        "ties": "expected",
        "undefined": "zero",
        "unretrieved": "zero",
        "unjudged": "nonrelevant",
        "duplicates": "keep",
        "population": "all",
        "positions": "dense",
    }
    if conf.name == "recommendations.yaml":  # what its preset sets is written out, too
        written |= {"preset": "replay", "duplicates": "first", "population": "truth"}
    assert resolved["definitions"] == written
    assert resolved["quality"]["max_bad_fraction"] in (0.0, 0.0001)
    assert resolved["input"]["columns"]["group"] == ["user_id"]


def test_a_preset_is_printed_with_what_it_cannot_match(capsys: pytest.CaptureFixture[str]) -> None:
    for preset in PRESETS.values():
        assert _run("metrics", "--preset", preset.name) == 0
        printed = capsys.readouterr().out
        for text in (preset.library, *(f"{name}={word}" for name, word in preset.definitions.items())):
            assert text in printed
        for note in preset.unmatched:
            assert note in printed
    assert _run("metrics", "--preset", "relay") == 2
    assert 'preset is "relay", did you mean "replay"?' in capsys.readouterr().err


def test_a_preset_in_a_spec_is_in_the_names_of_the_metrics_and_in_no_hash(tmp_path: Path) -> None:
    """The same numbers said in two ways are the same question."""
    conf = PROJECT / "conf" / "recommendations.yaml"
    by_preset = load_spec(conf)
    assert [str(metric) for metric in by_preset.plan().metrics][:2] == [
        "ndcg(gain=binary)@10",
        "ap(over=min_k_relevant)@10",
    ]
    written_out = [
        "definitions={undefined: skip, population: truth, duplicates: first}",
        "metrics=['ndcg(gain=binary)@10', 'ap(over=min_k_relevant)@10', r@10, hit@10, rr]",
    ]
    assert load_spec(conf, written_out).hash() == by_preset.hash()
    assert load_spec(conf, ["definitions.preset=ranx"]).hash() != by_preset.hash()
    with pytest.raises(SpecError, match=r'recommendations.yaml: preset is "relay", did you mean "replay"'):
        load_spec(conf, ["definitions.preset=relay"])


@pytest.mark.parametrize(
    ("document", "arguments", "sentence"),
    [
        (None, [], "cannot read the spec"),
        ("a: [", [], "is not YAML"),
        ("day: 2026-02-30", [], "is not YAML: day is out of range for month"),
        ("- a", [], "holds no document of keys"),
        ("input: {}", ["--set", "day=2026-13-01"], "the value is not YAML: month must be in 1..12"),
        ("day: 20260101", [], "day is 20260101: a day of the form YYYY-MM-DD is needed"),
        ("metrics: p@1", [], "metrics is 'p@1': a list is needed"),
        ("engine: local", [], "engine is 'local': keys are needed"),
        ("engine: {buckets: x}", [], "engine.buckets is 'x': a whole number is needed"),
        ("quality: {max_bad_fraction: yes}", [], "quality.max_bad_fraction is True: a number is needed"),
        ("output: {path: x, groups: 7}", [], "output.groups is 7: true or false is needed"),
        ("output: {path: ~/x}", [], "output.path is '~/x': ~ is written out by a shell alone: name the folder in full"),
        ("output: {path: 'x/{day}'}", [], "output.path is 'x/{day}': { stands for nothing: {date} is the day, and"),
        ("? [a]\n: b", [], "is not YAML: while constructing a mapping"),
        ("input: {}", ["--set", "metrics"], "--set metrics is not of the form key.key=value"),
        ("input: {}", ["--set", "=x"], "--set =x is not of the form key.key=value"),
        ("input: {}", ["--set", "input..path=x"], "--set input..path=x is not of the form key.key=value"),
        ("input: 3", ["--set", "input.path=x"], "--set input.path=x: input is a value, not a part with keys"),
        ("metrics: [p@1]", [], "input is missing"),
        ("metrics: [p@1]\noutput: {path: x}\nmetrics: [rr]", [], 'the key "metrics" stands twice'),
        ("input: {columns: {score: {a: x, a: y}}}", [], 'the key "a" stands twice'),
        ("metrics: [p@1]", ["--set", "output={path: x, path: y}"], "--set output={path: x, path: y}: the value is not"),
    ],
)
def test_a_spec_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str | None, arguments: list[str], sentence: str
) -> None:
    conf = tmp_path / "spec.yaml"
    if document is not None:
        conf.write_text(document, encoding="utf-8")
    assert _run("validate", "--conf", str(conf), *arguments) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert told[0].startswith("sparkrank: ")
    assert sentence in told[0]


def test_a_key_with_comments_alone_below_it_has_its_defaults(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    least = "input: {path: x, columns: {group: u, score: s, label: y}}\nmetrics: [p@1]\noutput: {path: z}\n"
    conf.write_text(least)
    expected = load_spec(conf)
    conf.write_text(f"{least}engine:\n  # lane: local\nquality:\ndefinitions:\n  # ties: item\n")
    assert load_spec(conf) == expected
    assert load_spec(conf, ["engine.lane=local", "definitions.undefined=zero"]) == load_spec(
        conf, ["engine={lane: local}", "definitions={undefined: zero}"]
    )


def test_what_looks_like_a_password_is_shown_to_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``runs`` holds the spec as text, and whoever may read it need not know the database's password."""
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE)
    urls = (
        "url: 'jdbc:x://db:5432/y?user=a&Password=tiger&ssl=1', host: 'a://b:tiger@c/d', other: 'jdbc:x://db:5432/y@z'"
    )
    options = f"{{user: reader, password: tiger, {urls}}}"

    def loaded(changed: str) -> Spec:
        return load_spec(conf, ["input.format=jdbc", f"input.options={changed}"])

    spec = loaded(options)
    assert "tiger" in spec.input.options.values()
    shown = {
        "user": "reader",
        "password": "(not shown)",
        "url": "jdbc:x://db:5432/y?user=a&Password=(not shown)&ssl=1",
        "host": "a://b:(not shown)@c/d",
        "other": "jdbc:x://db:5432/y@z",
    }
    assert json.loads(spec.as_text())["input"]["options"] == shown
    assert _run("validate", "--conf", str(conf), "--set", f"input.options={options}") == 0
    assert yaml.safe_load(capsys.readouterr().out)["input"]["options"] == shown
    assert loaded(options.replace("tiger", "lion")).hash() == spec.hash()  # it changes no number
    assert loaded(options.replace("//db:", "//db2:")).hash() != spec.hash()


WHOLE = "input: {path: log, columns: {group: user, score: s, label: l}}\nmetrics: [rr]\noutput: {path: tables}"
PARTS = "input, metrics, output, slices, truth, day, definitions, quality, engine"
TEXT, MAPPING = "a text is needed", "keys are needed"
AT_LEAST, AT_MOST = "a number of at least", "a number of at most"
NO_HOST = "a file has no host, and its path begins with a slash: file:///folder"
AS_ROWS = "tables would be read as rows"
SHOWN = "a path with a password, which runs would show: give it by the environment"


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("metrcs=[rr]", f'unknown key "metrcs", did you mean "metrics"? (known here: {PARTS})'),
        (
            "truth.columns.lable=x",
            'unknown key "truth.columns.lable", did you mean "label"? (known here: group, item, label)',
        ),
        ("quality.xyz=1", 'unknown key "quality.xyz" (known here: max_bad_fraction)'),
        ("output={}", "output.path is missing"),
        ("metrics=[]", "metrics is empty: name at least one, for example ndcg@10"),
        ("input.columns.label=user", 'column "user" is both group and label: a column has one role'),
        ("truth={}", "truth names a path or a table: one of the two"),
        ("input.path=s3://key:secret@logs/day", f"input has {SHOWN}"),
        ("output.path=s3://key:secret@tables", f"output has {SHOWN}"),
        ("metrics=[rr, 3]", f"metrics.1 is 3: {TEXT}"),
        ("slices={a: b}", "slices: a list is needed"),
        ("input.path=file://logs/day", f"input.path is 'file://logs/day': {NO_HOST}"),
        ("output.path=file://tables", f"output.path is 'file://tables': {NO_HOST}"),
        ("output.path=log/", f"the document has output.path log/ within input.path log: {AS_ROWS}"),
        ("output.path=log/tables", f"the document has output.path log/tables within input.path log: {AS_ROWS}"),
        ("truth.path=tables", f"the document has output.path tables within truth.path tables: {AS_ROWS}"),
        ("engine.buckets=0", f"engine.buckets is 0: {AT_LEAST} 1 is needed"),
        ("engine.buckets=1000000", f"engine.buckets is 1000000: {AT_MOST} 100000 is needed"),
        ("quality.max_bad_fraction=1.5", f"quality.max_bad_fraction is 1.5: {AT_MOST} 1 is needed"),
        ("quality.max_bad_fraction=.nan", f"quality.max_bad_fraction is nan: {AT_MOST} 1 is needed"),
        ("engine.lane=lokal", "engine.lane is 'lokal', did you mean \"local\"? (allowed: auto, frame, scan, local)"),
        ("input.path=''", "input.path is '': a text that is not empty is needed"),
        # a value may be of two kinds; the names that pydantic gives them are no keys
        ("input.columns.score=3", f"input.columns.score is 3: {TEXT}; input.columns.score is 3: {MAPPING}"),
        ("input.columns.score={a: 3}", f"input.columns.score: {TEXT}; input.columns.score.a is 3: {TEXT}"),
        ("output.curves=5", f"output.curves is 5: {AT_LEAST} 10 is needed; output.curves is 5 (allowed: false)"),
    ],
)
def test_what_is_wrong_in_a_spec_is_told_by_its_path(tmp_path: Path, override: str, sentence: str) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    load_spec(conf)
    with pytest.raises(SpecError) as told:
        load_spec(conf, [override])
    assert str(told.value) == f"{conf}: {sentence}"


def test_a_path_may_name_a_user_and_a_port(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    for path in ("hdfs://me@host:8020/log", "s3://logs/a:b@c", "file:///log"):
        assert load_spec(conf, [f"input.path={path}"]).input.path == path


def test_an_override_may_not_go_through_a_value(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    for override, value in (("input.path.of=x", "input.path"), ("input.columns.score.a.b=x", "input.columns.score")):
        with pytest.raises(SpecError) as told:
            load_spec(conf, [override])
        assert str(told.value) == f"--set {override}: {value} is a value, not a part with keys"


def test_a_spec_in_another_encoding_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text("metrics: [p@1]  # café", encoding="latin-1")  # 14 bytes of the list, 7 of the comment
    assert _run("validate", "--conf", str(conf)) == 2
    assert capsys.readouterr().err == f"sparkrank: {conf} is not text in UTF-8: byte 21 is none\n"


def test_anything_else_is_exit_1_with_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the disk is gone\nand more")

    monkeypatch.setattr(cli, "load_spec", broken)
    assert _run("validate", "--conf", "x") == 1
    assert capsys.readouterr().err == "sparkrank: RuntimeError: the disk is gone (--debug shows where)\n"
    assert _run("validate", "--conf", "x", "--debug") == 1
    assert "Traceback" in capsys.readouterr().err


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def _stopped(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _failed_as_it_was_interrupted(*_: object) -> None:
    try:
        raise KeyboardInterrupt
    finally:
        raise RuntimeError("job 1 was cancelled")


@pytest.mark.parametrize("stop", [_interrupted, _stopped, _failed_as_it_was_interrupted])
def test_an_interrupt_leaves_nothing_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stop: Callable[..., None]
) -> None:
    rows = pa.table({"user": [1], "score": [0.5], "label": [1]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    conf = tmp_path / "spec.yaml"
    columns = "{group: user, score: score, label: label}"
    conf.write_text(
        f"input: {{path: {tmp_path}/rows.parquet, columns: {columns}}}\nmetrics: [rr]\n"
        f"output: {{path: {tmp_path}/tables}}\nengine: {{lane: local}}\n"
    )
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(evaluate, "refuse_unusable", stop)
    assert _run("evaluate", "--conf", str(conf), "--date", "2026-11-19") == 1
    assert capsys.readouterr().err.strip() == "sparkrank: interrupted"
    assert signal.getsignal(signal.SIGTERM) == before
    assert not (tmp_path / "tables").exists()


def test_a_store_without_spark_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(
        "input: {path: /nowhere, columns: {group: user, score: score, label: label}}\nmetrics: [rr]\n"
        "output: {path: 's3a://bucket/tables'}\nengine: {lane: local}\n"
    )
    assert _run("evaluate", "--conf", str(conf), "--date", "2026-11-19") == 2
    assert "output.path is s3a://bucket/tables, which needs Spark" in capsys.readouterr().err


def test_a_terminal_without_the_letters_shows_others(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="latin-1"))
    assert _run("metrics", "rbp") == 0
    sys.stdout.flush()
    assert "(1-p) · ? rel_i" in shown.getvalue().decode("latin-1")  # a sum sign is not in Latin 1, the dot is


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--version") == 0
    assert sr.__version__ in capsys.readouterr().out
    assert _run("--help") == 0
    assert re.search(r"evaluate .*metrics .*validate ", capsys.readouterr().out, re.DOTALL)
