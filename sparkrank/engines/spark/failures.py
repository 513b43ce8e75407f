"""One-line messages for errors of Spark and its tasks, taken from Spark's long tracebacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sparkrank.base import errors
from sparkrank.engines.spark.worker_python import python_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's error conditions for a path or table that does not exist or has no data.
_NOTHING_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
# Errors in the SQL itself, whatever the rows.
_NO_SQL = ("PARSE_", "FAILED_TO_PARSE_TOO_COMPLEX", "INVALID_SQL_SYNTAX", "UNRESOLVED_ROUTINE", "WRONG_NUM_ARGS")
# Errors of py4j where the JVM ends during a call. Later calls are refused by the operating system.
_JVM_GONE = ("Py4JError", "Py4JNetworkError")
# Errors of Arrow in Spark where the texts of a batch exceed its memory, or 2 GiB.
_BATCH_TOO_LARGE = re.compile(r"OutOfDirectMemoryError|OversizedAllocationException|Memory required for vector")
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+?)\.?$", re.MULTILINE)
_RAISED = re.compile(rf"^{re.escape(errors.__name__)}\.(\w+): (.+)$", re.MULTILINE)
# The message of a worker that lacks the module of a function that was sent to it by name.
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (\S+?)\.?\s")
# The last line of a worker's traceback: the first line that is not indented. The last traceback has the actual error.
# A traceback may start within a line, because Spark Connect puts an error condition before it.
_IN_WORKER = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(\S.*)$", re.MULTILINE)
# A Spark error condition with its message, followed by the SQL state.
_CONDITION = re.compile(r"(\[(?!PYTHON_EXCEPTION)[A-Z][A-Z_.]+\] .+?)(?:\s+SQLSTATE.*)?$", re.MULTILINE)
# A task whose worker or executor died: where it ran, and Spark's message without the advice on settings.
_DIED = re.compile(
    r"Lost task \S+ in stage \S+ \(TID \d+\) \((.+?)\): (?:[\w.$]+: )?(\S.*?)(?:\. Consider setting .*)?$", re.MULTILINE
)
# SQL states of data exceptions (class 22), of values that older versions of Spark read otherwise, and of errors that
# conditions raise.
_OF_A_VALUE = re.compile(r"(\[[A-Z][A-Z0-9_.]+\] .+?)\s+SQLSTATE: (?:22\w{3}|42K0B|P0001)", re.DOTALL)
_USER_RAISED = re.compile(r"(\[USER_RAISED_EXCEPTION\]) (.*)", re.DOTALL)
# The check that Spark makes when it reads a column of its own vector type.
_NO_VECTOR = re.compile(r"at org\.apache\.spark\.ml\.linalg\.VectorUDT\.deserialize\b")
MOST_REPEATED = 100  # letters of a text that Spark repeats
_QUOTED = re.compile(r"""'[^']{100,}'|"[^"]{100,}"|`[^`]{100,}`""")
_WORD = re.compile(r"\S{200,}")
_IN_JVM = re.compile(r"^An error occurred while calling .*\n: (\S.*)$", re.MULTILINE)


@contextmanager
def task_errors(spark: SparkSession | None = None) -> Iterator[None]:
    """Convert errors of tasks inside a ``with`` block to :class:`SparkrankError`.

    Unreadable files and values that make SQL fail become :class:`InputError`. Unknown errors pass unchanged.
    """
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:
        if unread := _UNREADABLE.search(str(error)):
            causes = _CAUSE.findall(str(error))[-1:]
            parts = [f"{errors.shorten(unread[1])} cannot be read", *map(_bounded, causes)]
            raise errors.InputError(": ".join(parts)) from error
        if _BATCH_TOO_LARGE.search(str(error)):
            raise errors.InputError(
                "texts of the input are so long that a batch of rows exceeds Spark's memory: give the driver and the "
                "executors more memory, or lower spark.sql.execution.arrow.maxRecordsPerBatch"
            ) from error
        raised = _RAISED.search(str(error))
        kind = None if raised is None else getattr(errors, raised[1], None)
        if raised is not None and kind is not None:
            raise kind(raised[2]) from error
        if sentence := python_error(error, spark):
            raise errors.SparkrankError(sentence) from None  # Spark's own text has hundreds of lines
        if module := _NO_MODULE.search(str(error)):
            raise errors.SparkrankError(
                f"the module {module[1]} is missing on Spark's workers (No module named '{module[1]}'): give it to "
                f"spark-submit with --py-files, or install it there"
            ) from error
        if _NO_VECTOR.search(str(error)):
            raise errors.InputError("a column of the rows has a vector that Spark ML calls malformed") from error
        if value := _OF_A_VALUE.search(str(error)):
            raise errors.InputError(f"a value of the rows cannot be read: {_bounded(value[1])}") from error
        raise


def reason_of(error: Exception) -> str:
    """Return the type and message of ``error`` in one line.

    If a task has failed, the type and message are those of the task's error.
    """
    text = str(error)
    for pattern in (_IN_WORKER, _CONDITION):
        if matches := pattern.findall(text):
            return _bounded(str(matches[-1]))
    if died := _DIED.search(text):
        return f"a task was lost on {died[1]}: {died[2]}"
    if matches := _IN_JVM.findall(text):
        return str(matches[-1]).strip()
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {first}"


@contextmanager
def reading_errors(name: str, kind: str, what: str) -> Iterator[None]:
    """Convert errors of reading the input ``name`` inside a ``with`` block to :class:`InputError`.

    If the JVM has ended, errors pass unchanged.
    """
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:  # pyspark does not convert all errors of the JVM
        if isinstance(error, ConnectionError) or type(error).__name__ in _JVM_GONE:
            raise
        condition = getattr(error, "getCondition", lambda: None)() or ""
        if condition.startswith(_NOTHING_THERE):
            raise errors.NoInputError(f"there is no {kind} at {errors.shorten(name)}") from error
        if "DATA_SOURCE_NOT_" in str(error):
            raise
        raise errors.InputError(f"the {what} {errors.shorten(name)} cannot be read: {_message(error)}") from error


@contextmanager
def condition_errors(what: str, condition: str) -> Iterator[None]:
    """Convert errors in the SQL of ``condition`` inside a ``with`` block to :class:`SpecError`."""
    try:
        yield
    except Exception as error:
        named = getattr(error, "getCondition", lambda: None)() or ""
        if "StackOverflowError" in str(error):
            problem = "it has more parts within parts than Spark can read"
            raise errors.SpecError(f"{what}.where is {errors.quote(condition)}: {problem}") from error
        if type(error).__name__ == "ParseException" or named.startswith(_NO_SQL):
            raise errors.SpecError(f"{what}.where is {errors.quote(condition)}: {_message(error)}") from error
        raise


def _message(error: Exception) -> str:
    """Return the message of a Spark error in one line, with long parts shortened."""
    text = str(error)
    first = [" ".join(line.split()) for line in text.split("\n") if line.strip()][:1]
    reasons = _CAUSE.findall(text)[-1:] or _CONDITION.findall(text)[:1] or _IN_JVM.findall(text)[-1:] or first
    return _bounded(" ".join(reasons))


def _bounded(text: str) -> str:
    """Return a message of Spark in one line, with long quotations and long words shortened."""
    if raised := _USER_RAISED.search(text):  # a text from the rows, or the whole condition
        return f"{raised[1]} {errors.shorten(' '.join(raised[2].split()))}"
    for pattern in (_QUOTED, _WORD):
        text = pattern.sub(lambda found: errors.shorten(found[0], MOST_REPEATED), text)
    return errors.shorten(" ".join(text.split()), errors.MOST_LISTED)
