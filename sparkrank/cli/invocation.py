"""One call of the command line, and what must not fail it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sparkrank.engines.spark.failures import reason_of
from sparkrank.jobs.interrupts import Interrupts
from sparkrank.text.terminal import tell


@dataclass
class Invocation:
    """One call of the command line: its signals, and the document of what was done before an error."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    done: dict[str, object] = field(default_factory=dict)


@contextmanager
def after_commit() -> Iterator[None]:
    """Print what was done. Once a day is shown, no answer that cannot be printed may say that it is not."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the day is shown
        tell(f"sparkrank: this is done, but cannot be printed: {reason_of(error)}", err=True)
