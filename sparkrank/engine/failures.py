"""What went wrong in a task of Spark's, as the sentence it was: Spark itself shows it at the end of a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sparkrank import errors

_RAISED = re.compile(r"^sparkrank\.errors\.(\w+): (.+)$", re.MULTILINE)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (\S+?)\.?\s")
# The end of a worker's traceback: its first line that is not indented. The last traceback is that of what was raised.
_IN_WORKER = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(\S.*)$", re.MULTILINE)
# A condition of Spark's with its sentence, and the code of SQL behind it.
_CONDITION = re.compile(r"(\[(?!PYTHON_EXCEPTION)[A-Z][A-Z_.]+\] .+?)(?:\s+SQLSTATE.*)?$", re.MULTILINE)
_IN_JVM = re.compile(r"^An error occurred while calling .*\n: (\S.*)$", re.MULTILINE)


@contextmanager
def told_by_tasks() -> Iterator[None]:
    """Raise a :class:`sparkrank.errors.SparkrankError` of a task as one of this process; leave other errors alone.

    A file that Spark itself cannot read is an :class:`sparkrank.errors.InputError`, as one that Arrow cannot read is.
    """
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:
        unreadable = _UNREADABLE.search(str(error))
        if unreadable is not None:
            raise errors.InputError(f"{unreadable[1]} cannot be read") from error
        found = _RAISED.search(str(error))
        kind = None if found is None else getattr(errors, found[1], None)
        if found is None or kind is None:
            raise
        raise kind(found[2]) from error


def reason_of(error: Exception) -> str:
    """``error`` in one line, its type before it; of one that Spark reports, what was raised where it happened."""
    text = str(error)
    for pattern in (_IN_WORKER, _CONDITION, _IN_JVM):
        found = pattern.findall(text)
        if found:
            return str(found[-1]).strip()
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return f"{type(error).__name__}: {first}"
