"""Where the compiled loops are not there, numpy does everything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

# A module that is None raises ImportError, as one that was never built does.
MISSING = 'import sys; sys.modules["sparkrank.native.hits"] = None'
SCRIPT = """
import pandas as pd
import sparkrank as sr
rows = pd.DataFrame({"user": [7, 7, 8], "score": [0.5, 0.25, 0.5], "label": [0, 1, 1]})
found = sr.evaluate(rows, ["rr", "auc"], group="user", score="score", label="label").metrics
print(sr.native.COMPILED, *found.sort_by("metric")["value"].to_pylist())
"""


@pytest.mark.parametrize(("before", "environment"), [(MISSING, {}), ("", {"SPARKRANK_NATIVE": "0"})], ids=["no", "off"])
def test_a_bucket_is_evaluated_without_loops(before: str, environment: dict[str, str]) -> None:
    """The relevant rows are second and first: rr is (1/2 + 1)/2. Of the pairs (0.25, 0.5) and (0.5, 0.5) of a relevant
    and another row none is in order and one is tied: auc is (0 + 1/2)/2."""
    command, env = [sys.executable, "-c", before + SCRIPT], {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT, env=env)
    assert done.stdout.split() == ["False", "0.25", "0.75"]
