"""Checks of the Python of Spark's workers, before work starts if possible. A message describes any fault."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SparkrankError, itemize, shorten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST = (4, 0)  # the oldest Spark: earlier versions return no Arrow tables and lack settings that are used here
NEEDED = ("numpy", "pyarrow")  # workers need no pandas
_OTHER_VERSION = (
    r"\[PYTHON_VERSION_MISMATCH\] Python in worker has different version\D+([\d.]*\d)\D+in driver\D+([\d.]*\d)"
)
_NOT_TOGETHER = (
    r"^(\w*Error: .*(?:multiarray failed to import|_ARRAY_API not found|numpy\.dtype size changed|"
    r"compiled using NumPy|undefined symbol).*)$"
)
_OF_SPARKS_OWN = r"\[(?:UNSUPPORTED_PACKAGE_VERSION|PACKAGE_NOT_INSTALLED)\] ([^\n]+?)\.?(?: SQLSTATE.*)?$"
_ARCHIVES = (".zip", ".egg", ".whl", ".py", ".gz")  # file types that may bring packages to workers
_HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
_SECONDS = 30
# Runs on any Python from 2.7 on.
_ASK = """
import json, sys
try:
    from importlib.util import find_spec
except ImportError:
    find_spec = lambda name: None
lacks = [name for name in sys.argv[1:] if find_spec(name) is None]
problem = ""
if not lacks:
    try:
        import numpy, pyarrow
    except BaseException as error:
        problem = "%s: %s" % (type(error).__name__, error)
print(json.dumps({"version": "%d.%d" % sys.version_info[:2], "lacks": lacks, "problem": problem}))
"""
# Patterns of Spark's errors, each with the end of a sentence about the Python that causes the error.
_SIGNS = (
    (_OTHER_VERSION, "which is Python {0} where this process is Python {1}"),
    (r'Cannot run program "(?P<program>[^"]*)": (?:error=\d+, )?([^\n]+)', "which cannot be run ({1})"),
    # if numpy, pyarrow or pandas was compiled for another version of numpy
    (_NOT_TOGETHER, "whose numpy and pyarrow do not go together ({0})"),
    (r"^ModuleNotFoundError: No module named '(numpy|pandas|pyarrow|pyspark|sparkrank)\b", "which has no {0}"),
    # the text that Python writes while it starts, which may be empty
    (r"^Error from python worker:\n(?:[ \t]+.*\n)*[ \t]+(.*)\n(?![ \t])", "which does not start as a worker ({0})"),
    (r"EOFException occurred while reading the port number from pyspark\.daemon", "which does not start as a worker"),
    (_OF_SPARKS_OWN, "which has a package that Spark cannot use ({0})"),
)


def validate_version(version: str) -> None:
    """Raise :class:`SparkrankError` if ``version``, a version of Spark, is older than :data:`OLDEST`."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SparkrankError(
            f"this is Spark {shorten(version)}, and sparkrank needs {oldest} or newer: upgrade it, or take the lane "
            f"local, which evaluates Parquet and tables in memory without it"
        )


def validate_session(spark: SparkSession) -> None:
    """Raise :class:`SparkrankError` if ``spark`` is stopped or too old, or if local workers have an unusable Python."""
    if _is_stopped(spark):
        raise SparkrankError("the Spark session was stopped: make the DataFrame again in a running session")
    validate_version(str(getattr(spark, "version", "")))
    program = _of_context(spark, "pythonExec")
    if program is not None and _is_on_this_machine(spark) and (problem := _problem_of(program, _may_ship())):
        raise SparkrankError(f"Spark's workers run {_named(program)}, {problem}: {_remedy(spark)}")


def python_error(error: Exception, spark: SparkSession | None) -> str | None:
    """Return the message for an ``error`` that the Python of workers or of this process has caused, or None."""
    for pattern, problem in _SIGNS:
        match = re.search(pattern, str(error), re.MULTILINE)
        if match is None:
            continue
        if isinstance(error, ImportError):
            return f"this process {problem.removeprefix('which ').format(*map(shorten, match.groups()))}"
        program = match.groupdict().get("program") or _of_context(spark, "pythonExec")
        named = "a Python" if program is None else f"{_named(program)},"
        about = problem.format(*(shorten(text.strip()) for text in match.groups()))
        return f"Spark's workers run {named} {about}: {_remedy(spark)}"
    return None


def _of_context(spark: SparkSession | None, name: str) -> Any:
    """Return the attribute ``name`` of the Spark context, or None if the session hides it, as Spark Connect does."""
    try:
        return getattr(spark.sparkContext, name)  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001 - what a session raises here differs by platform
        return None


def _is_stopped(spark: SparkSession) -> bool:
    with contextlib.suppress(Exception):  # over Spark Connect there is no context
        return getattr(spark.sparkContext, "_jsc", spark) is None
    return bool(getattr(spark, "is_stopped", False))


def _is_on_this_machine(spark: SparkSession) -> bool:
    return str(_of_context(spark, "master")).startswith("local")


def _may_ship() -> bool:
    """Return whether files that may contain sparkrank were added to the session, which ships them to workers."""
    from pyspark import SparkFiles

    try:
        return any(file.suffix in _ARCHIVES for file in Path(SparkFiles.getRootDirectory()).iterdir())
    except Exception:  # noqa: BLE001 - a session that does not reveal its files
        return True


def _named(program: str) -> str:
    path = shutil.which(program)
    if Path(program).is_absolute() or path is None:
        return shorten(program)
    why = "" if "PYSPARK_PYTHON" in os.environ else ", because PYSPARK_PYTHON is not set"
    return f"{shorten(path)} ({shorten(program)} of the PATH{why})"


def _remedy(spark: SparkSession | None) -> str:
    if spark is not None and _is_on_this_machine(spark):
        return f"set PYSPARK_PYTHON={shorten(sys.executable)} before the session starts"
    return (
        f"give them Python {_HERE} with {', '.join(NEEDED)} and sparkrank, by "
        f"PYSPARK_PYTHON or spark.pyspark.python, or by an environment in spark.archives (sparkrank also by --py-files)"
    )


def _problem_of(program: str, may_ship: bool) -> str | None:
    """Return why workers cannot use the local Python ``program``, as the end of a message, or None if workers can."""
    path = shutil.which(program)
    if path is None:
        return "which is not there, or no program"
    if Path(path).absolute().parent == Path(sys.executable).absolute().parent and Path(path).name.startswith("python"):
        return None  # this is the Python of the current environment
    return _python_problem(path, may_ship)


@functools.cache
def _python_problem(program: str, may_ship: bool) -> str | None:
    needed = NEEDED if may_ship else (*NEEDED, "sparkrank")
    try:
        done = subprocess.run(  # noqa: S603 - the very program that workers run
            [program, "-c", _ASK, *needed], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        answer = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None  # no Python, or a Python with unexpected output: the first task will show the problem
    if answer["version"] != _HERE:
        return f"which is Python {shorten(answer['version'])} where this process is Python {_HERE}"
    if answer["lacks"]:
        return f"which has no {itemize(answer['lacks'])}"
    if answer["problem"]:
        return f"whose numpy and pyarrow do not go together ({shorten(answer['problem'].splitlines()[0])})"
    return None
