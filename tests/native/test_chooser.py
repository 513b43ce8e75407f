"""One place chooses between a compiled loop and numpy, and counts what ran."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sparkrank import native
from sparkrank.config import load_spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.native.test_served import user_rows


def test_what_a_loop_does_not_serve_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "COMPILED", True)
    native.counted()
    assert native.runs("loop")
    assert not native.runs("loop", serves=False)
    assert not native.runs("loop", serves=False)
    assert native.counted() == {"loop compiled": 1, "loop numpy": 2}
    assert native.counted() == {}


def test_a_run_says_what_served_its_buckets(tmp_path: Path) -> None:
    rows = user_rows().rename_columns(["user", "label", "score", "item", "weight", "slice"])
    pq.write_table(rows, tmp_path / "rows.parquet")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        f"input: {{path: {tmp_path}/rows.parquet, columns: {{group: user, label: label, score: score}}}}\n"
        f"metrics: [ap]\noutput: {{path: {tmp_path}/out}}\nengine: {{lane: local, buckets: 1}}\n"
    )
    result = evaluate_day(load_spec(str(spec)), "2026-01-01", None, Stages())
    (row,) = pq.read_table(result.folders["runs"]).to_pylist()
    assert json.loads(row["versions"])["loops of buckets"]["hits compiled"] == 1


def test_nothing_else_chooses() -> None:
    """But for what is said of an installation as a whole."""
    package = Path(native.__file__).parents[1]
    asking = {file.relative_to(package).as_posix() for file in package.rglob("*.py") if "COMPILED" in file.read_text()}
    assert asking == {"native/__init__.py", "cli/command_line.py", "run/provenance.py"}
