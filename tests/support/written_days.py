"""Days written in one call, and what is left in their folders."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sparkrank.tables.commit.days import day_run
from sparkrank.tables.commit.links import DEFAULT_COMMIT, Commit, Table
from sparkrank.tables.commit.output_folder import DAY
from tests.support.commands import write_spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_day(
    output: str,
    day: str,
    tables: Mapping[str, Table],
    spark: SparkSession | None = None,
    column: str = DAY,
    how: Commit = DEFAULT_COMMIT,
) -> None:
    """Replace ``day`` in every table under ``output`` by ``tables``."""
    with day_run(output, day, spark, column, how) as run:
        run.commit(tables)


def tables_of(value: int, names: Iterable[str]) -> dict[str, pa.Table]:
    """A row for each of the tables ``names``; that of ``runs`` is of an old release, which listed no files."""
    done = {"runs": {"status": ["done"]}}
    return {name: pa.table({"name": [name], "value": [value], **done.get(name, {})}) for name in names}


def paths_in(output: Path) -> set[str]:
    """What is in ``output``, runs by their day alone: the rest of their names is drawn."""
    paths = (Path(folder, name) for folder, folders, files in os.walk(output) for name in (*folders, *files))
    return {re.sub(r"[.-][0-9a-f]{12}\b", "", str(path.relative_to(output))) for path in paths}


def conf_of(output: Path, **more: object) -> str:
    """The path of a spec, beside ``output``, whose tables are there."""
    output.parent.mkdir(exist_ok=True)
    columns = {"group": "u", "score": "s", "label": "y"}
    document = {"input": {"path": "/log", "columns": columns}, "metrics": ["rr"]}
    return write_spec(output.parent, {**document, "output": {"path": str(output), **more}})


def steps_below(root: Path, patch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is done from now on below ``root``, in order: each sync, and what is shown, moved or removed."""
    steps: list[tuple[str, str]] = []

    def recorded(owner: object, name: str, step: str, place: Callable[..., Path]) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            steps.append((step, os.path.relpath(place(*arguments), root)))
            return original(*arguments, **options)

        patch.setattr(owner, name, call)

    recorded(os, "fsync", "sync", lambda handle: Path(f"/proc/self/fd/{handle}").readlink())
    recorded(Path, "replace", "show", lambda _, target: target)
    recorded(Path, "rename", "move", lambda path, _: path)
    recorded(shutil, "rmtree", "remove", lambda path: path)
    return steps
