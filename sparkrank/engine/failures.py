"""What Spark or one of its tasks refused, told as a sentence: Spark itself shows it somewhere in a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sparkrank import errors

# Errors by which Spark says that there is nothing at a place, or nothing of this kind.
_NOTHING_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
_UNREAD = re.compile(r"\[FAILED_READ_FILE[\w.]*\] (.+?)\.?(?: SQLSTATE.*)?$", re.MULTILINE)
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+?)\.?$", re.MULTILINE)
_RAISED = re.compile(r"^sparkrank\.errors\.(\w+): (.+)$", re.MULTILINE)


@contextmanager
def told_by_tasks() -> Iterator[None]:
    """Raise a :class:`sparkrank.errors.SparkrankError` of a task as one of this process; leave other errors alone.

    A file that Spark cannot read is an :class:`sparkrank.errors.InputError`.
    """
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:
        if unread := _UNREAD.search(str(error)):
            causes = _CAUSE.findall(str(error))[-1:]
            raise errors.InputError(f"Spark cannot read the input: {': '.join([unread[1], *causes])}") from error
        found = _RAISED.search(str(error))
        kind = None if found is None else getattr(errors, found[1], None)
        if found is None or kind is None:
            raise
        raise kind(found[2]) from error


@contextmanager
def told_by_reading(name: str, kind: str, what: str) -> Iterator[None]:
    """Raise what Spark says while it looks at ``name``, a ``what`` (input or truth) of some ``kind``, as
    :class:`sparkrank.errors.InputError`.
    """
    try:
        yield
    except Exception as error:  # some are raised by the JVM, and not converted by pyspark
        condition = getattr(error, "getCondition", lambda: None)() or ""
        if condition.startswith(_NOTHING_THERE):
            raise errors.InputError(f"there is no {kind} at {name}") from error
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise
        reasons = _CAUSE.findall(str(error))[-1:] or [" ".join(str(error).split("\n")[0].split())]
        raise errors.InputError(f"the {what} {name} cannot be read: {reasons[0]}") from error
