"""The tracker of one's own in docs/trackers.md, by W&B itself, which sends nothing (make test-places)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import PROJECT
from tests.support.examples import blocks

pytest.importorskip("wandb", reason="W&B takes what the example logs: make test-places installs it")

# The click of ann stands second: rr is 1/2.
EVALUATION = """
import pyarrow as pa
import sparkrank as sr
rows = pa.table({"user": ["ann", "ann"], "new": [0.9, 0.8], "y": [0, 1]})
ev = sr.evaluate(rows, ["rr"], group="user", label="y", score="new")
"""
KEY = "S3CRET".rjust(40, "0")
CONFIG = "\nimport json\nprint('CONFIG', json.dumps(dict(run.config)))\n"


def test_what_the_example_logs_is_there_after_the_call(tmp_path: Path) -> None:
    example = next(block for block in blocks(PROJECT / "docs" / "trackers.md", "python") if "import wandb" in block)
    (tmp_path / "track.py").write_text(EVALUATION + example + CONFIG)
    places = {"WANDB_DIR": str(tmp_path), "WANDB_DATA_DIR": str(tmp_path / "data"), "WANDB_MODE": "offline"}
    places["WANDB_API_KEY"] = KEY
    done = subprocess.run(
        [sys.executable, "track.py"],
        env={**os.environ, **places, "PYTHONPATH": str(PROJECT)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    summary = done.stdout.partition("Run summary:")[2]
    assert re.search(r"new/rr +0\.5\n", summary), done.stdout
    config = json.loads(re.findall(r"^CONFIG (.*)$", done.stdout, re.MULTILINE)[0])
    assert {"spec_hash", "lane"} <= set(config)
    # what waits for its upload are files, not links to what is gone
    waiting = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
    assert [file for file in waiting if ',"rr",' in file.read_text()], waiting  # metrics.csv
    assert not [file for file in tmp_path.rglob("*") if file.is_symlink() and not file.exists()]
    written = [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert (written, KEY in done.stdout) == ([], False)
