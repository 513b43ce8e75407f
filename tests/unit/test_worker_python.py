"""A Python that cannot work for Spark, and a Spark that is too old, are told in one sentence. No JVM runs here."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.engines.spark import worker_python
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.worker_python import validate_session, validate_version
from sparkrank.jobs import evaluate_day
from sparkrank.run.session import spark_session
from sparkrank.run.stages import Stages

pytestmark = pytest.mark.same_without_loops

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
ROLES: dict[str, Any] = {"group": "u", "score": "s", "label": "y"}
LOG = {"u": [1, 1], "s": [0.2, 0.1], "y": [0, 1]}  # the second of two: rr is 1/2
_TRACE = 'Traceback (most recent call last):\n  File "worker.py", line 75, in read_command\n'
_STARTED = (
    'Error from python worker:\n  Traceback (most recent call last):\n    File "x.py", line 1\n  {}\nPYTHONPATH was:\n'
)
_OTHER_VERSION = (
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
    "version: 3.9 than that in driver: 3.12, PySpark cannot run with different minor versions.\n"
)
_CANNOT_RUN = 'Lost task 0.0: java.io.IOException: Cannot run program "py": error=2, No such file\n\tat java.base/java'
_NOT_TOGETHER = (
    "ImportError: numpy.core.multiarray failed to import",
    "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88",
)
_TOO_OLD = "[UNSUPPORTED_PACKAGE_VERSION] PyArrow >= 18.0.0 must be installed; however, your version is 14.0.2"


def session(program: str, master: str = "local[2]", version: str = "4.1.0") -> Any:
    """What is asked of a session before the work."""
    context = SimpleNamespace(pythonExec=program, master=master)
    return SimpleNamespace(version=version, sparkContext=context, createDataFrame=None)


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (f"{_TRACE}ModuleNotFoundError: No module named 'pyarrow'", "which has no pyarrow"),
        (f"{_TRACE}ModuleNotFoundError: No module named 'numpy.core'", "which has no numpy"),
        (f"{_TRACE}ModuleNotFoundError: No module named 'sparkrank'", "which has no sparkrank"),
        (f"{_TRACE}{_OTHER_VERSION}", "which is Python 3.9 where this process is Python 3.12"),
        (_CANNOT_RUN, "which cannot be run (No such file)"),
        *((f"{_TRACE}{each}", f"whose numpy and pyarrow do not go together ({each})") for each in _NOT_TOGETHER),
        (
            _STARTED.format("SyntaxError: invalid syntax"),
            "which does not start as a worker (SyntaxError: invalid syntax)",
        ),
        (
            _STARTED.format("ModuleNotFoundError: No module named 'importlib.resources'"),
            "which does not start as a worker (ModuleNotFoundError: No module named 'importlib.resources')",
        ),
        (
            "EOFException occurred while reading the port number from pyspark.daemon's stdout.",
            "which does not start as a worker",
        ),
        (f"{_TRACE}PySparkImportError: {_TOO_OLD}.", f"which has a package that Spark cannot use ({_TOO_OLD[30:]})"),
    ],
)
@pytest.mark.parametrize("master", ["local[2]", "yarn", None])
def test_an_error_of_the_python_of_workers(error: str, problem: str, master: str | None) -> None:
    spark = None if master is None else session("/their/python", master)
    with pytest.raises(sr.SparkrankError) as told, task_errors(spark):
        raise RuntimeError(error)
    program = "/their/python," if master is not None else "a Python"
    if "Cannot run" in error:
        program = "py,"
    if master == "local[2]":
        remedy = f"set PYSPARK_PYTHON={sys.executable} before the session starts"
    else:
        remedy = (
            f"give them Python {HERE} with numpy, pyarrow and sparkrank, by PYSPARK_PYTHON or spark.pyspark.python, or "
            f"by an environment in spark.archives (sparkrank also by --py-files)"
        )
    assert str(told.value) == f"Spark's workers run {program} {problem}: {remedy}"
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__  # nobody sees the lines of Java behind it


@pytest.mark.parametrize(
    "error",
    [
        f"{_TRACE}ModuleNotFoundError: No module named 'mine'",
        f"{_TRACE}ModuleNotFoundError: No module named 'numpy_of_mine'",
        f"{_TRACE}ValueError: a metric of mine says that No module named 'pyarrow' is there",
        "Lost task 0.0: Python worker exited unexpectedly (crashed)",
    ],
)
def test_other_errors_are_none_of_them(error: str) -> None:
    with pytest.raises(Exception, match=r"(?s).") as told, task_errors(session("/their/python")):
        raise RuntimeError(error)
    assert "Spark's workers run" not in str(told.value)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The program of a virtual environment without packages."""
    venv.create(tmp_path / "bare", with_pip=False)
    return tmp_path / "bare/bin/python"


def test_a_bare_environment_is_found_before_the_work(bare: Path) -> None:
    remedy = f"set PYSPARK_PYTHON={sys.executable} before the session starts"
    with pytest.raises(sr.SparkrankError, match=r"which has no numpy, pyarrow") as told:
        validate_session(session(str(bare)))
    assert str(told.value).startswith(f"Spark's workers run {bare}, which has no numpy, pyarrow")
    assert str(told.value).endswith(f": {remedy}")
    gone = str(bare.parent / "python9")
    with pytest.raises(sr.SparkrankError) as told:
        validate_session(session(gone))
    assert str(told.value) == f"Spark's workers run {gone}, which is not there, or no program: {remedy}"


def test_the_python_of_the_path_is_named_with_the_reason(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bare.parent))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    with pytest.raises(sr.SparkrankError, match=r"which has no numpy, pyarrow") as told:
        validate_session(session("python3"))
    named = f"{bare.parent}/python3 (python3 of the PATH, because PYSPARK_PYTHON is not set), which"
    assert str(told.value).startswith(f"Spark's workers run {named}")


def test_packages_that_do_not_go_together_are_found_before_the_work(bare: Path) -> None:
    (packages,) = bare.parents[1].glob("lib/python*/site-packages")
    (packages / "numpy.py").write_text("")
    (packages / "pyarrow.py").write_text('raise ImportError("numpy.core.multiarray failed to import")')
    (packages / "sparkrank.py").write_text("")
    with pytest.raises(sr.SparkrankError, match="whose numpy and pyarrow do not go together") as told:
        validate_session(session(str(bare)))
    assert "(ImportError: numpy.core.multiarray failed to import)" in str(told.value)


def test_another_version_of_python_is_found_before_the_work(bare: Path) -> None:
    bare.unlink()
    bare.write_text('#!/bin/sh\necho \'{"version": "3.6", "lacks": [], "problem": ""}\'\n')
    bare.chmod(0o755)
    with pytest.raises(sr.SparkrankError, match=f"which is Python 3.6 where this process is Python {HERE}"):
        validate_session(session(str(bare)))


def test_this_python_and_those_elsewhere_are_not_asked(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", run)
    validate_session(session(sys.executable))
    validate_session(session(sys.executable, "yarn"))
    validate_session(session(str(bare), "spark://host:7077"))
    validate_session(SimpleNamespace(version="4.0.0"))  # a session of Connect tells nothing of its workers


@pytest.mark.parametrize(
    ("version", "fits"), [("3.5.3", False), ("2.4", False), ("4.0.0", True), ("10.1", True), ("", True)]
)
def test_versions_of_spark(version: str, fits: bool) -> None:
    if fits:
        validate_version(version)
        return
    with pytest.raises(sr.SparkrankError) as told:
        validate_version(version)
    assert str(told.value) == (
        f"this is Spark {version}, and sparkrank needs 4.0 or newer: upgrade it, or take the lane local, which "
        f"evaluates Parquet and tables in memory without it"
    )


@pytest.mark.parametrize("lane", ["auto", "scan", "frame"])
def test_an_older_spark_is_told_before_anything_is_read(tmp_path: Path, lane: str) -> None:
    old = session(sys.executable, version="3.5.3")
    with pytest.raises(sr.SparkrankError, match=r"this is Spark 3\.5\.3, and sparkrank needs 4\.0 or newer"):
        sr.evaluate(str(tmp_path / "nothing"), ["rr"], spark=old, lane=lane, **ROLES)
    columns = {"input": {"path": str(tmp_path / "{date}"), "columns": ROLES}, "output": {"path": str(tmp_path / "out")}}
    spec = Spec.model_validate({**columns, "metrics": ["rr"], "engine": {"lane": lane}})
    with pytest.raises(sr.SparkrankError, match=r"this is Spark 3\.5\.3, and sparkrank needs 4\.0 or newer"):
        evaluate_day(spec, "2026-01-01", old, Stages())
    assert not (tmp_path / "out").exists()


def test_the_local_lane_does_not_care_which_spark_is_there(tmp_path: Path) -> None:
    old = session("/nowhere", version="3.5.3")
    pq.write_table(pa.table(LOG), tmp_path / "log.parquet")
    assert sr.evaluate(str(tmp_path / "log.parquet"), ["rr"], spark=old, lane="local", **ROLES)["rr"] == 1 / 2
    assert sr.evaluate(pa.table(LOG), ["rr"], spark=old, **ROLES)["rr"] == 1 / 2


def test_a_command_names_an_older_pyspark_before_it_starts_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("pyspark"), "__version__", "3.5.1")
    with pytest.raises(sr.SparkrankError, match=r"this is Spark 3\.5\.1"):
        spark_session("test")


def test_each_python_is_asked_once(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *given, **named: asked.append(given) or run(*given, **named))
    worker_python._asked.cache_clear()
    for _ in range(2):
        with pytest.raises(sr.SparkrankError):
            validate_session(session(str(bare)))
    assert len(asked) == 1


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_a_stopped_session_is_found_before_the_work(kind: str) -> None:
    of_kind = {"classic": {"sparkContext": SimpleNamespace(_jsc=None)}, "connect": {"is_stopped": True}}[kind]
    with pytest.raises(sr.SparkrankError, match="the Spark session was stopped: make the DataFrame anew"):
        validate_session(SimpleNamespace(version="4.1.0", **of_kind))


def test_a_column_without_a_session_is_one_sentence() -> None:
    script = (
        "from sparkrank import functions as srf\n"
        "for ask in (lambda: srf.rr('s', 'l'), lambda: srf.auc('s', 'l')):\n"
        "    try:\n        ask()\n    except Exception as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["no Spark session runs: columns are made in one"] * 2
