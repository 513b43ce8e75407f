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
from sparkrank.engines.spark.failures import task_errors
from sparkrank.engines.spark.worker_python import validate_session, validate_version
from sparkrank.jobs import evaluate_day
from sparkrank.run.session import spark_session
from sparkrank.run.stages import Stages

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
ROLES: dict[str, Any] = {"group": "u", "score": "s", "label": "y"}
_TRACE = 'Traceback (most recent call last):\n  File "worker.py", line 75, in read_command\n'
_STARTED = 'Error from python worker:\n  Traceback (most recent call last):\n    File "x"\n  {}\nPYTHONPATH was:\n'
_OTHER_VERSION = (
    "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
    "version: 3.9 than that in driver: 3.12, PySpark cannot run with different minor versions.\n"
)
_CANNOT_RUN = 'Lost task 0.0: java.io.IOException: Cannot run program "py": error=2, No such file\n\tat java.base/java'
_NOT_TOGETHER = (
    "ImportError: numpy.core.multiarray failed to import",
    "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88",
)
_NO_START = ("SyntaxError: invalid syntax", "ModuleNotFoundError: No module named 'importlib.resources'")
_NOT_STARTED = "which does not start as a worker"
_TOO_OLD = "[UNSUPPORTED_PACKAGE_VERSION] PyArrow >= 18.0.0 must be installed; however, your version is 14.0.2"


def session(program: str, master: str = "local[2]", version: str = "4.1.0") -> Any:
    """What is asked of a session before the work."""
    context = SimpleNamespace(pythonExec=program, master=master)
    return SimpleNamespace(version=version, sparkContext=context, createDataFrame=None)


ERRORS = [
    (f"{_TRACE}ModuleNotFoundError: No module named 'pyarrow'", "which has no pyarrow"),
    (f"{_TRACE}ModuleNotFoundError: No module named 'numpy.core'", "which has no numpy"),
    (f"{_TRACE}ModuleNotFoundError: No module named 'sparkrank'", "which has no sparkrank"),
    (f"{_TRACE}{_OTHER_VERSION}", "which is Python 3.9 where this process is Python 3.12"),
    (_CANNOT_RUN, "which cannot be run (No such file)"),
    *((f"{_TRACE}{line}", f"whose numpy and pyarrow do not go together ({line})") for line in _NOT_TOGETHER),
    *((_STARTED.format(line), f"which does not start as a worker ({line})") for line in _NO_START),
    ("EOFException occurred while reading the port number from pyspark.daemon's stdout.", _NOT_STARTED),
    (f"{_TRACE}PySparkImportError: {_TOO_OLD}.", f"which has a package that Spark cannot use ({_TOO_OLD[30:]})"),
]
OTHERS = [
    f"{_TRACE}ModuleNotFoundError: No module named 'numpy_of_mine'",
    f"{_TRACE}ValueError: a metric of mine says that No module named 'pyarrow' is there",
    "Lost task 0.0: Python worker exited unexpectedly (crashed)",
]
HERE_REMEDY = f"set PYSPARK_PYTHON={sys.executable} before the session starts"
REMEDY = (
    f"give them Python {HERE} with numpy, pyarrow and sparkrank, by PYSPARK_PYTHON or spark.pyspark.python, or by an "
    f"environment in spark.archives (sparkrank also by --py-files)"
)


def sentence_of(error: str, spark: Any) -> str:
    with pytest.raises(Exception, match=r"(?s).") as raised, task_errors(spark):
        raise RuntimeError(error)
    if str(raised.value).startswith("Spark's workers run"):
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__  # nobody sees the lines of Java behind it
    return str(raised.value)


def test_an_error_of_the_python_of_workers() -> None:
    for error, problem in ERRORS:
        program = "py," if "Cannot run" in error else "/their/python,"
        for master, remedy in (("local[2]", HERE_REMEDY), ("yarn", REMEDY)):
            said = sentence_of(error, session("/their/python", master))
            assert said == f"Spark's workers run {program} {problem}: {remedy}"
    assert sentence_of(ERRORS[0][0], None) == f"Spark's workers run a Python {ERRORS[0][1]}: {REMEDY}"
    for error in OTHERS:
        assert "Spark's workers run" not in sentence_of(error, session("/their/python"))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The program of a virtual environment without packages."""
    venv.create(tmp_path / "bare", with_pip=False)
    return tmp_path / "bare/bin/python"


def refusal_of(program: str) -> str:
    with pytest.raises(sr.SparkrankError, match=r"^Spark's workers run ") as raised:
        validate_session(session(program))
    assert str(raised.value).endswith(f": {HERE_REMEDY}")
    return str(raised.value).removeprefix("Spark's workers run ")


def test_a_bare_environment_is_found_before_the_work(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal_of(str(bare)).startswith(f"{bare}, which has no numpy, pyarrow")
    gone = f"{bare.parent}/python9"
    assert refusal_of(gone).startswith(f"{gone}, which is not there, or no program: ")
    monkeypatch.setenv("PATH", str(bare.parent))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    named = f"{bare.parent}/python3 (python3 of the PATH, because PYSPARK_PYTHON is not set)"
    assert refusal_of("python3").startswith(f"{named}, which has no numpy, pyarrow")


def test_packages_that_do_not_go_together_are_found_before_the_work(bare: Path) -> None:
    (packages,) = bare.parents[1].glob("lib/python*/site-packages")
    broken = 'raise ImportError("numpy.core.multiarray failed to import")'
    for name, text in {"numpy": "", "pyarrow": broken, "sparkrank": ""}.items():
        (packages / f"{name}.py").write_text(text)
    problem = "whose numpy and pyarrow do not go together (ImportError: numpy.core.multiarray failed to import)"
    assert problem in refusal_of(str(bare))


def test_another_version_of_python_is_found_before_the_work(bare: Path) -> None:
    bare.unlink()
    bare.write_text('#!/bin/sh\necho \'{"version": "3.6", "lacks": [], "problem": ""}\'\n')
    bare.chmod(0o755)
    assert f"which is Python 3.6 where this process is Python {HERE}" in refusal_of(str(bare))


def test_this_python_and_those_elsewhere_are_not_asked(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)  # no process is started
    validate_session(session(sys.executable))
    validate_session(session(sys.executable, "yarn"))
    validate_session(session(str(bare), "spark://host:7077"))
    validate_session(SimpleNamespace(version="4.0.0"))  # a session of Connect tells nothing of its workers


def test_versions_of_spark() -> None:
    for version in ("4.0.0", "10.1", ""):
        validate_version(version)
    advice = "upgrade it, or take the lane local, which evaluates Parquet and tables in memory without it"
    for version in ("3.5.3", "2.4"):
        sentence = f"^this is Spark {version}, and sparkrank needs 4.0 or newer: {advice}$"
        with pytest.raises(sr.SparkrankError, match=sentence):
            validate_version(version)


OLD = r"this is Spark 3\.5\.3, and sparkrank needs 4\.0 or newer"


@pytest.mark.parametrize("lane", ["auto", "scan", "frame"])
def test_an_older_spark_is_told_before_anything_is_read(tmp_path: Path, lane: str) -> None:
    old = session(sys.executable, version="3.5.3")
    with pytest.raises(sr.SparkrankError, match=OLD):
        sr.evaluate(str(tmp_path / "nothing"), ["rr"], spark=old, lane=lane, **ROLES)
    columns = {"input": {"path": str(tmp_path / "{date}"), "columns": ROLES}, "output": {"path": str(tmp_path / "out")}}
    spec = Spec.model_validate({**columns, "metrics": ["rr"], "engine": {"lane": lane}})
    with pytest.raises(sr.SparkrankError, match=OLD):
        evaluate_day(spec, "2026-01-01", old, Stages())
    assert not (tmp_path / "out").exists()


def test_the_local_lane_does_not_care_which_spark_is_there(tmp_path: Path) -> None:
    old = session("/nowhere", version="3.5.3")
    log = pa.table({"u": [1, 1], "s": [0.2, 0.1], "y": [0, 1]})  # the second of two
    pq.write_table(log, tmp_path / "log.parquet")
    assert sr.evaluate(str(tmp_path / "log.parquet"), ["rr"], spark=old, lane="local", **ROLES)["rr"] == 1 / 2
    assert sr.evaluate(log, ["rr"], spark=old, **ROLES)["rr"] == 1 / 2


def test_a_command_names_an_older_pyspark_before_it_starts_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("pyspark"), "__version__", "3.5.1")
    with pytest.raises(sr.SparkrankError, match=r"this is Spark 3\.5\.1"):
        spark_session("test")


def test_a_stopped_session_is_found_before_the_work() -> None:
    for of_kind in ({"sparkContext": SimpleNamespace(_jsc=None)}, {"is_stopped": True}):  # classic, Connect
        with pytest.raises(sr.SparkrankError, match="the Spark session was stopped: make the DataFrame again"):
            validate_session(SimpleNamespace(version="4.1.0", **of_kind))


def test_a_column_without_a_session_is_one_sentence() -> None:
    script = (
        "from sparkrank import functions as srf\n"
        "for ask in (lambda: srf.rr('s', 'l'), lambda: srf.auc('s', 'l')):\n"
        "    try:\n        ask()\n    except Exception as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["no Spark session runs: start one before making columns"] * 2
