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

import sparkrank as sr
from sparkrank import native
from sparkrank.metrics import CATALOG
from sparkrank.run import execute
from sparkrank.text.text import metrics_text
from tests.support.commands import exit_code, write_spec


def test_metrics_prints_every_declaration_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("metrics") == 0
    printed = capsys.readouterr().out
    for declaration in CATALOG.values():
        texts = (declaration.title, declaration.formula, declaration.undefined, declaration.reference)
        for text in (*texts, *(parameter.doc for parameter in declaration.parameters)):
            assert text in printed
    better = dict(re.findall(r"^(\S+?)(?:\[@k\])?  .*\n(?:  .*\n)*?  better: (\w+)", printed, re.MULTILINE))
    assert better.keys() == {declaration.written for declaration in CATALOG.values()}
    lower = {"logloss", "ne", "brier", "ece", "fpr", "gini", "kendall_distance", "exposure_gap"}
    lower |= {"rmse", "mse", "mae", "mce", "ece_by_mass", "mcb", "unj"}
    lower |= {"calibration_gap", "group_rmse", "group_mae"}
    lower |= {"relevance_position", "first_rank", "percentile_rank", "fallout"}
    assert lower == {name for name, word in better.items() if word == "lower"}
    assert {name for name, word in better.items() if word != "higher"} == lower | {
        "copc",
        "unc",
        "bias",
        "list_length",
        "n_rel",
        "n_ret",
        "overlap",
        "unexpected",
        "shown",
    }


def test_the_module_is_the_command() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "sparkrank", "metrics", "mmr"], capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("sparkrank: ")
    assert 'did you mean "mrr"?' in told.stderr


def test_metrics_by_name_alias_and_the_text_of_a_spec(capsys: pytest.CaptureFixture[str]) -> None:
    for text, printed in (
        ("MRR", "rr[@k]  reciprocal rank"),
        ("precision@5", "p[@k]  precision\n"),
        ("median(p(rel=2))", "p[@k]  precision\n"),
    ):
        assert exit_code("metrics", text) == 0
        assert capsys.readouterr().out.startswith(printed)
    assert exit_code("metrics", "novelty") == 0
    shown = re.findall(r"^(\S+)\[@k\]  ", capsys.readouterr().out, re.MULTILINE)
    assert shown == ["novelty", "novelty(of=users|rows)"]
    for words, told in (
        (["mmr"], 'did you mean "mrr"?'),
        (["ndcg(ideal=exp)@5"], "ideal takes judged"),
        (["ndcg", "--preset", "mllib"], "--preset and NAMES do not go together"),
        (["--preset", "relay"], 'preset is "relay", did you mean "replay"?'),
        (["--markdown"], "prints no --markdown: docs/metrics.md"),
        (["--definitions"], "prints no --definitions: they are docs/definitions.md"),
    ):
        assert exit_code("metrics", *words) == 2
        assert told in capsys.readouterr().err


def test_models_with_other_groups_or_too_many_stand_below_each_other() -> None:
    """The item of the model n is not retrieved: of its list gauc is undefined."""
    rows = {"user": ["a", "a"], "m": [0.5, 0.25], "n": [0.5, None], "label": [1, 0]}
    for metric, models, stand_below in (("gauc", "mn", True), ("p@1", "mn", False), ("p@1", "m" * 20, True)):
        score = {f"{model}{place}": model for place, model in enumerate(models)}
        found = sr.evaluate(pa.table(rows), [metric], group="user", label="label", score=score)
        assert ("model" in metrics_text(found.metrics).split()[:2]) == stand_below, (metric, models[:3])


def test_anything_else_is_exit_1_with_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is gone\nand more")

    monkeypatch.setattr("sparkrank.cli.options.load_spec", broken)
    assert exit_code("validate", "--conf", "x") == 1
    assert capsys.readouterr().err == "sparkrank: RuntimeError: the disk is gone (--debug shows where)\n"
    assert exit_code("validate", "--conf", "x", "--debug") == 1
    assert "Traceback" in capsys.readouterr().err


def test_under_spark_submit_a_document_stands_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints the stderr of Python on its own stdout."""
    words = ("validate", "--conf", "nowhere.yaml", "--json")
    assert exit_code(*words) == 2
    assert capsys.readouterr().err.startswith("sparkrank: cannot read the spec nowhere.yaml")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert exit_code(*words) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["code"] == "spec"
    assert printed.err == ""


def _document(rows: str, tables: str) -> dict:
    columns = {"group": "user", "score": "score", "label": "label"}
    source = {"path": rows, "columns": columns}
    return {"input": source, "metrics": ["rr"], "output": {"path": tables}, "engine": {"lane": "local"}}


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
    pq.write_table(pa.table({"user": [1], "score": [0.5], "label": [1]}), tmp_path / "rows.parquet")
    conf = write_spec(tmp_path, _document(f"{tmp_path}/rows.parquet", f"{tmp_path}/tables"))
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(execute, "validate_partials", stop)
    assert exit_code("evaluate", "--conf", conf, "--date", "2026-11-19") == 1
    assert capsys.readouterr().err.strip() == "sparkrank: interrupted"
    assert signal.getsignal(signal.SIGTERM) == before
    assert not (tmp_path / "tables").exists()


def test_a_store_without_spark_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = write_spec(tmp_path, _document("/nowhere", "hdfs://host/tables"))
    assert exit_code("evaluate", "--conf", conf, "--date", "2026-11-19") == 2
    assert "output.path is hdfs://host/tables, which needs Spark" in capsys.readouterr().err


def test_a_terminal_without_the_letters_shows_others(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="latin-1"))
    assert exit_code("metrics", "rbp") == 0
    sys.stdout.flush()
    assert "(1-p) · ? rel_i" in shown.getvalue().decode("latin-1")  # a sum sign is not in Latin 1, the dot is


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    form = "loops compiled" if native.COMPILED else "loops in numpy"
    assert capsys.readouterr().out == f"sparkrank, version {sr.__version__}, {form}\n"
    assert exit_code("--help") == 0
    assert re.search(r"evaluate .*metrics .*validate ", capsys.readouterr().out, re.DOTALL)


def test_a_job_without_pyspark_takes_the_local_lane_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As ``sr.evaluate`` does. What only Spark reads is refused, with what to install."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    pq.write_table(pa.table({"user": ["a"], "score": [1.0], "label": [1]}), tmp_path / "rows.parquet")
    document = _document(str(tmp_path / "rows.parquet"), str(tmp_path / "out")) | {"engine": {"lane": "auto"}}
    at = ("--conf", write_spec(tmp_path, document), "--date", "2026-01-01")
    assert exit_code("evaluate", *at) == 0
    assert "\nLane: local (pyspark is not installed)\n" in capsys.readouterr().out
    assert exit_code("explain", *at, "--group", "user=a", "rr") == 0
    assert exit_code("evaluate", *at, "--set", "input.where=score > 0 or label > 0") == 2
    assert "and pyspark is not installed: pip install 'sparkrank[spark]' brings it\n" in capsys.readouterr().err
