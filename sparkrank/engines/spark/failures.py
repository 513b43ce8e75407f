"""What went wrong in Spark or one of its tasks, as a sentence: Spark itself shows it somewhere in a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sparkrank import errors

# Errors by which Spark says that there is nothing at a place, or nothing of this kind.
_NOTHING_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
_NO_SQL = ("PARSE_", "INVALID_SQL_SYNTAX", "UNRESOLVED_ROUTINE", "WRONG_NUM_ARGS")  # whatever the rows are
# What py4j raises itself where the JVM ends during a call; later ones are refused by the operating system.
_GONE = ("Py4JError", "Py4JNetworkError")
# What Spark's Arrow raises where the texts of a batch outgrow its memory, or 2 GiB.
_BATCH_TOO_LARGE = re.compile(r"OutOfDirectMemoryError|OversizedAllocationException|Memory required for vector")
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+?)\.?$", re.MULTILINE)
_RAISED = re.compile(r"^sparkrank\.errors\.(\w+): (.+)$", re.MULTILINE)
# What a worker says that finds no module of a function that came to it by its name.
_NO_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (\S+?)\.?\s")
# The end of a worker's traceback: its first line that is not indented. The last traceback is that of what was raised.
# It may begin within a line: over Spark Connect a condition stands before it.
_IN_WORKER = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(\S.*)$", re.MULTILINE)
# A condition of Spark's with its sentence, and the code of SQL behind it.
_CONDITION = re.compile(r"(\[(?!PYTHON_EXCEPTION)[A-Z][A-Z_.]+\] .+?)(?:\s+SQLSTATE.*)?$", re.MULTILINE)
# A task that ended without an error of its own: its worker or its executor died, often for want of memory. Where it
# ran, and what Spark saw of it, without its advice on settings.
_DIED = re.compile(
    r"Lost task \S+ in stage \S+ \(TID \d+\) \((.+?)\): (?:[\w.$]+: )?(\S.*?)(?:\. Consider setting .*)?$", re.MULTILINE
)
# What the values of rows cannot be: SQL's class of data exceptions (22), what a session reads otherwise than older
# versions of Spark, and what a condition raises itself.
_OF_A_VALUE = re.compile(r"(\[[A-Z][A-Z0-9_.]+\] .+?)\s+SQLSTATE: (?:22\w{3}|42K0B|P0001)", re.DOTALL)
_IN_JVM = re.compile(r"^An error occurred while calling .*\n: (\S.*)$", re.MULTILINE)


@contextmanager
def told_by_tasks() -> Iterator[None]:
    """Raise a :class:`sparkrank.errors.SparkrankError` of a task as one of this process; leave other errors alone.

    A file that Spark itself cannot read is an :class:`sparkrank.errors.InputError`, as one that Arrow cannot read is,
    and so is a value for which a condition or a cast of SQL fails.
    """
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:
        if unread := _UNREADABLE.search(str(error)):
            causes = _CAUSE.findall(str(error))[-1:]
            raise errors.InputError(": ".join([f"{errors.shortened(unread[1])} cannot be read", *causes])) from error
        if _BATCH_TOO_LARGE.search(str(error)):
            raise errors.InputError(
                "texts of the input are so long that a batch of rows outgrows Spark's memory: give the driver and the "
                "executors more, or lower spark.sql.execution.arrow.maxRecordsPerBatch"
            ) from error
        found = _RAISED.search(str(error))
        kind = None if found is None else getattr(errors, found[1], None)
        if found is not None and kind is not None:
            raise kind(found[2]) from error
        if module := _NO_MODULE.search(str(error)):
            raise errors.SparkrankError(
                f"the module {module[1]} is missing on Spark's workers (No module named '{module[1]}'): give it to "
                f"spark-submit with --py-files, or install it there"
            ) from error
        if value := _OF_A_VALUE.search(str(error)):
            raise errors.InputError(f"a value of the rows cannot be read: {' '.join(value[1].split())}") from error
        raise


def reason_of(error: Exception) -> str:
    """``error`` in one line, its type before it; of one that Spark reports, what was raised where it happened."""
    text = str(error)
    for pattern in (_IN_WORKER, _CONDITION):
        if found := pattern.findall(text):
            return str(found[-1]).strip()
    if died := _DIED.search(text):
        return f"a task was lost on {died[1]}: {died[2]}"
    if found := _IN_JVM.findall(text):
        return str(found[-1]).strip()
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {first}"


@contextmanager
def told_by_reading(name: str, kind: str, what: str) -> Iterator[None]:
    """Raise what Spark says while it looks at ``name``, a ``what`` (input or truth) of some ``kind``, as
    :class:`sparkrank.errors.InputError`, but not that Spark itself has gone.
    """
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:  # some are raised by the JVM, and not converted by pyspark
        if isinstance(error, ConnectionError) or type(error).__name__ in _GONE:
            raise
        condition = getattr(error, "getCondition", lambda: None)() or ""
        if condition.startswith(_NOTHING_THERE):
            raise errors.InputError(f"there is no {kind} at {name}") from error
        if "DATA_SOURCE_NOT_" in str(error):
            raise
        raise errors.InputError(f"the {what} {name} cannot be read: {_said(error)}") from error


@contextmanager
def told_by_condition(what: str, condition: str) -> Iterator[None]:
    """Raise what Spark says of the SQL of ``what``.where as :class:`sparkrank.errors.SpecError` where it is no SQL or
    calls a function that is none; what does not fit these rows is left to others.
    """
    try:
        yield
    except Exception as error:
        named = getattr(error, "getCondition", lambda: None)() or ""
        if type(error).__name__ == "ParseException" or named.startswith(_NO_SQL):
            raise errors.SpecError(f"{what}.where is {condition[:200]!r}: {_said(error)}") from error
        raise


def _said(error: Exception) -> str:
    """What Spark says, in one line."""
    text = str(error)
    first = [" ".join(line.split()) for line in text.split("\n") if line.strip()][:1]
    reasons = _CAUSE.findall(text)[-1:] or _CONDITION.findall(text)[:1] or _IN_JVM.findall(text)[-1:] or first
    return " ".join(reasons)
