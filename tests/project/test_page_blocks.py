"""Every block of code on a page is run here or by another test; specs are validated, and commands parsed."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from itertools import dropwhile, groupby, takewhile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from sparkrank.base.errors import SpecError
from sparkrank.cli.command_line import COMMANDS, commands, full_command
from sparkrank.config import load_spec
from tests.project.test_pages import PAGES, PROJECT
from tests.support.page_blocks import INDENTED, Block, blocks_of, run_python

BLOCKS = {page.relative_to(PROJECT).as_posix(): blocks_of(page) for page in [*PAGES, PROJECT / "CHANGELOG.md"]}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
# Languages whose blocks run, whose blocks are checked, and whose blocks show an output or a text.
RUN, CHECKED, SHOWN = {"python", "sql", "{code-cell}"}, {"yaml", "sh", "bash", "console", INDENTED}, {"text"}

# The blocks that need more than their page says, such as a session, a database or a log: how many, and who runs them.
_MIGRATION = (3, "project/test_examples.py")
RUN_BY: dict[tuple[str, str], tuple[int, str]] = {
    ("README.md", "python"): (2, "project/test_readme.py"),
    ("docs/first_steps.md", "python"): (5, "jobs/test_first_steps.py"),
    ("docs/functions.md", "python"): (8, "spark/test_functions.py"),
    ("docs/how_it_works.md", "python"): (2, "project/test_site.py"),
    ("docs/migration/ranx.md", "python"): _MIGRATION,
    ("docs/migration/recommenders.md", "python"): _MIGRATION,
    ("docs/migration/rectools.md", "python"): _MIGRATION,
    ("docs/migration/replay.md", "python"): _MIGRATION,
    ("docs/migration/scikit_learn.md", "python"): _MIGRATION,
    ("docs/migration/spark_ml.md", "python"): (3, "spark/test_examples.py"),
    ("docs/publish.md", "python"): (1, "sources/test_lakes_on_s3.py"),
    ("docs/python.md", "python"): (4, "spark/test_examples.py"),
    ("docs/queries.md", "python"): (4, "project/test_queries.py spark/test_queries.py"),
    ("docs/queries.md", "sql"): (4, "project/test_queries.py"),
    ("docs/report.md", "python"): (1, "report/test_report_forms.py"),
    ("docs/schedulers.md", "python"): (1, "doors/test_airflow_example.py"),
    ("docs/sessions.md", "python"): (3, "spark/test_sealed_sessions.py connect/test_lanes.py spark/test_streams.py"),
    ("docs/spark_ml.md", "python"): (2, "spark/test_ml.py"),
    ("docs/trackers.md", "python"): (3, "tables/test_mlflow_tracker.py doors/test_wandb_example.py"),
    ("docs/tutorials/ads_calibration.md", "{code-cell}"): (14, "project/test_tutorials.py"),
    ("docs/tutorials/movielens.md", "{code-cell}"): (12, "project/test_tutorials.py"),
    ("docs/tutorials/ranking_evaluator.md", "{code-cell}"): (12, "project/test_tutorials.py"),
    ("docs/tutorials/search_trec.md", "{code-cell}"): (10, "project/test_tutorials.py"),
    ("docs/tutorials/week_of_gates.md", "{code-cell}"): (12, "project/test_tutorials.py"),
    ("docs/warehouses.md", "python"): (3, "sources/test_warehouses.py"),
}
RUN_HERE = sorted({block.page for block in ALL if block.language == "python"} - {page for page, _ in RUN_BY})


def test_every_block_is_of_a_language_that_is_run_or_checked() -> None:
    assert [(str(block), block.language) for block in ALL if block.language not in {*RUN, *CHECKED, *SHOWN}] == []


def test_a_block_that_is_not_run_here_is_run_by_another_test() -> None:
    """All blocks of a page, which that test names: a new one is counted here when it runs there."""
    there = Counter((block.page, block.language) for block in ALL if block.language in RUN)
    for page in RUN_HERE:
        del there[page, "python"]
    assert there == {place: count for place, (count, _) in RUN_BY.items()}
    for (page, _), (_, tests) in RUN_BY.items():
        for test in tests.split():
            assert re.search(rf"\b{Path(page).stem}\b", (PROJECT / "tests" / test).read_text(encoding="utf-8")), page


@pytest.mark.parametrize("page", RUN_HERE)
def test_python_prints_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block, printed in run_python(BLOCKS[page], {}):
        assert [line.rstrip() for line in printed.splitlines()] == [line.rstrip() for line in block.text.splitlines()]


# The spec around a block that is a part of one.
COLUMNS = "{group: user, item: item, label: y, score: {production: p, candidate: c, als: a, popularity: q}}"
AROUND = {"metrics": "[ndcg@10, logloss]", "output": "{path: tables}"}
AROUND_GATES = {**AROUND, "slices": "[country]", "compare": "{baseline: production}"}
PLUGIN = "my_package.metrics"  # of the reader; here it is the example


def test_yaml_is_a_spec_or_a_part_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_package").mkdir()
    example = (PROJECT / "examples" / "outside_metric.py").read_text(encoding="utf-8")
    (tmp_path / f"{PLUGIN.replace('.', '/')}.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    blocks = [block for block in ALL if block.language == "yaml"]
    assert len(blocks) > 25
    wrong = []
    for block in blocks:
        (file := tmp_path / "spec.yaml").write_text(block.text, encoding="utf-8")
        try:
            load_spec(file, lacking(yaml.safe_load(block.text)))
        except (SpecError, yaml.YAMLError) as error:
            wrong.append(f"{block}: {error}")
    for module in (PLUGIN, "my_package"):
        sys.modules.pop(module, None)
    assert wrong == []


def lacking(document: dict[str, Any]) -> Iterator[str]:
    """What a whole spec has beside the keys of a block."""
    rows = document.get("input", {})
    if not ({"path", "table"} & rows.keys() or isinstance(rows.get("models"), dict)):
        yield "input.path=/log"
    if "columns" not in rows:
        yield f"input.columns={COLUMNS}"
    for key, value in (AROUND_GATES if "gates" in document else AROUND).items():
        if key not in document:
            yield f"{key}={value}"


# The first words of commands: programs whose arguments are parsed here, and others.
OURS = {"make", "python", "spark-submit", "sparkrank"}
OTHERS = {
    *(".", "cat", "curl", "dagster", "echo", "export", "grep", "pip", "python3", "sed", "test"),
    *("environment/bin/pip", "environment/bin/venv-pack"),
}
MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"^(\w+) \?=", MAKEFILE, re.MULTILINE)) | set(re.findall(r"\$\((\w+)\)", MAKEFILE))
_LINE = re.compile(r"(?:\\\n|[^\n])+")
_HERE = re.compile(r"<< (\w+)\n.*?^\1$", re.MULTILINE | re.DOTALL)


def commands_of(block: Block) -> list[list[str]]:
    """The words of every command of a block of commands, without prompts, variables and files of redirections."""
    lines = [re.sub(r"\s# .*", "", line.replace("\\\n", "")) for line in _LINE.findall(_HERE.sub("", block.text))]
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    elif block.language in SHOWN | {INDENTED} and lines[0].split()[0] not in OURS | OTHERS:
        lines = []
    found = []
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
        lexer.whitespace_split, lexer.commenters = True, ""
        for is_between, part in groupby(lexer, {";", "|", "&&", "||"}.__contains__):
            if not is_between and (words := list(dropwhile(re.compile(r"\w+=").match, part))):
                program, *rest = takewhile(lambda word: word not in {">", ">>"}, words)
                found.append([program.removeprefix(".venv/bin/"), *rest])
    return found


def problem_of(words: list[str], before: str) -> str | None:
    """What is wrong with a command on a page, whose text ``before`` it may write the spec that it reads."""
    program, *rest = words
    if program not in OURS | OTHERS:
        return f"{program} is not known"
    if program == "make":
        absent = {word.partition("=")[0] for word in rest} - TARGETS - VARIABLES
        return f"make has no {absent}" if absent else None
    if program == "python" and rest[0] == "-m" and rest[1] != "venv":
        return problem_of_module(rest[1], rest[2:])
    if program == "spark-submit":
        (job,) = (word for word in rest if re.fullmatch(r"jobs/\w+\.py", word))
        rest = [Path(job).stem, *rest[rest.index(job) + 1 :]]
    return problem_of_arguments(rest, before) if program in {"spark-submit", "sparkrank"} else None


def problem_of_arguments(words: list[str], before: str) -> str | None:
    if words[0] not in COMMANDS:
        return f"sparkrank has no command {words[0]}"
    try:
        context = full_command(words[0]).make_context(words[0], words[1:], parent=click.Context(commands))
    except click.UsageError as error:
        return error.format_message()
    conf = context.params.get("conf")
    is_there = conf is None or any((folder / conf).exists() for folder in (PROJECT, PROJECT / "conf")) or conf in before
    return None if is_there else f"nothing writes {conf}"


def problem_of_module(name: str, arguments: list[str]) -> str | None:
    """What the parser of a module says, which then goes no further."""
    parse = ArgumentParser.parse_args

    def parse_alone(parser: ArgumentParser) -> None:
        parse(parser, arguments)
        raise StopIteration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentParser, "parse_args", parse_alone)
        try:
            runpy.run_path(f"{PROJECT}/{name.replace('.', '/')}.py", run_name="__main__")
        except StopIteration:
            return None
        except SystemExit:
            return f"{name} does not take {arguments}"
    return f"{name} takes no arguments"


def test_commands_are_those_that_there_are() -> None:
    wrong, tried = [], 0
    for blocks in BLOCKS.values():
        before = "sparkrank.yaml"  # which `sparkrank init` writes
        for block in blocks:
            if block.language not in RUN | {"yaml"}:
                found = commands_of(block)
                wrong += [f"{block}: {problem}" for words in found if (problem := problem_of(words, before))]
                tried += len(found)
            before += block.text
    assert wrong == []
    assert tried > 100


def test_a_block_without_a_fence_is_no_python() -> None:
    """Which would not run. A line that shows a document of JSON is a dict, and one of words no Python at all."""
    python = []
    for block in ALL:
        if block.language == INDENTED and not commands_of(block):
            try:
                tree = ast.parse(block.text)
            except SyntaxError:
                continue
            if any(isinstance(node, ast.Call | ast.stmt) and not isinstance(node, ast.Expr) for node in ast.walk(tree)):
                python.append(str(block))
    assert python == []
