"""What a task of Spark's refused, told as the sentence it was: Spark itself shows it at the end of a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sparkrank import errors

_RAISED = re.compile(r"^sparkrank\.errors\.(\w+): (.+)$", re.MULTILINE)


@contextmanager
def told_by_tasks() -> Iterator[None]:
    """Raise a :class:`sparkrank.errors.SparkrankError` of a task as one of this process; leave other errors alone."""
    try:
        yield
    except errors.SparkrankError:
        raise
    except Exception as error:
        found = _RAISED.search(str(error))
        kind = None if found is None else getattr(errors, found[1], None)
        if found is None or kind is None:
            raise
        raise kind(found[2]) from error
