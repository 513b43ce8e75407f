"""examples/prefect_flow.py by Prefect itself, with a server that lives as long as the test (make test-places)."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import PROJECT, local_conf

pytest.importorskip("prefect", reason="Prefect runs the example: make test-places installs it")

DAY = "2026-11-19"
# The click of ann stands second: rr is 1/2.
ROWS = pa.table({"user": ["ann", "ann"], "s": [0.9, 0.8], "y": [0, 1]})
pytestmark = pytest.mark.filterwarnings("ignore")  # Prefect's own


@pytest.fixture(scope="module", autouse=True)
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
        patch.setenv("DO_NOT_TRACK", "1")
        with prefect_test_harness(server_startup_timeout=120):
            yield


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    found = runpy.run_path(str(PROJECT / "examples" / "prefect_flow.py"))
    space = found["nightly"].fn.__globals__
    space["EVALUATE"] = [sys.executable, "-m", *found["EVALUATE"]]
    space["evaluate"] = found["evaluate"].with_options(retry_delay_seconds=0)
    return space


def test_the_flow_returns_the_document_of_the_day(example: dict[str, Any], tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "log.parquet")
    columns = {"group": "user", "label": "y", "score": {"new": "s"}}
    conf = local_conf(tmp_path, str(tmp_path / "log.parquet"), columns, ["rr"])
    document = example["nightly"](conf, DAY)
    assert [(row["metric"], row["value"]) for row in document["metrics"]] == [("rr", 1 / 2)]


def test_what_may_end_otherwise_is_tried_again(example: dict[str, Any], tmp_path: Path) -> None:
    """A command of Python adds a line each time, and ends with the code."""
    for code, times in ((1, 4), (2, 1), (3, 1), (4, 4), (5, 1)):
        file = tmp_path / str(code)
        script = f"import sys; open({str(file)!r}, 'a').write('x'); print('told', file=sys.stderr); sys.exit({code})"
        example["EVALUATE"] = [sys.executable, "-c", script]
        with pytest.raises(example["StoppedError"], match=f"^exit code {code}: told$"):
            example["nightly"]("x.yaml", DAY)
        assert len(file.read_text()) == times, code
