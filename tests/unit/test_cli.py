"""What the command line prints, and how it ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import sparkrank
from sparkrank import cli
from sparkrank.metrics import CATALOG

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


def test_metrics_by_name_and_alias(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("metrics", "MRR") == 0
    assert capsys.readouterr().out.startswith("rr[@k]  reciprocal rank")
    assert _run("metrics", "mmr") == 2
    assert 'did you mean "mrr"?' in capsys.readouterr().err


def test_the_table_of_the_readme_is_the_program_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("metrics", "--markdown") == 0
    table = capsys.readouterr().out.strip()
    assert table in (PROJECT / "README.md").read_text(encoding="utf-8"), "print it with sparkrank metrics --markdown"


@pytest.mark.parametrize("conf", sorted((PROJECT / "conf").glob("*.yaml")), ids=lambda path: path.name)
def test_validate_writes_out_every_default_of_a_shipped_spec(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("validate", "--conf", str(conf), "--set", "definitions.undefined=zero") == 0
    resolved = yaml.safe_load(capsys.readouterr().out)
    assert resolved["definitions"] == {
        "preset": None,
        "ties": "expected",
        "undefined": "zero",
        "unretrieved": "zero",
        "unjudged": "nonrelevant",
        "duplicates": "keep",
        "population": "all",
        "positions": "dense",
    }
    assert resolved["quality"]["max_bad_fraction"] in (0.0, 0.0001)
    assert resolved["input"]["columns"]["group"] == ["user_id"]


@pytest.mark.parametrize(
    ("document", "arguments", "sentence"),
    [
        (None, [], "cannot read the spec"),
        ("a: [", [], "is not YAML"),
        ("- a", [], "holds no document of keys"),
        ("input: {}", ["--set", "metrics"], "--set metrics is not of the form key.key=value"),
        ("input: 3", ["--set", "input.path=x"], "--set input.path=x: input is a value, not a part with keys"),
        ("metrics: [p@1]", [], "input is missing"),
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


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("--version") == 0
    assert sparkrank.__version__ in capsys.readouterr().out
    assert _run("--help") == 0
    assert re.search(r"evaluate .*metrics .*validate ", capsys.readouterr().out, re.DOTALL)
