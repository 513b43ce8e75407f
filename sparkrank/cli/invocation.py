"""One call of the command line: its exit code from gates, and errors that must not make it fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkrank.cli.interrupts import Interrupts
from sparkrank.engines.spark.failures import reason_of
from sparkrank.text.terminal import tell

if TYPE_CHECKING:
    from sparkrank.gates.judgment import Judgment


@dataclass
class Invocation:
    """One call of the command line: its signals, and the document of what was done before an error."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    done: dict[str, object] = field(default_factory=dict)


@contextmanager
def after_commit() -> Iterator[None]:
    """Context manager for printing an answer after a commit. A failure to print does not make the command fail."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the day is shown
        tell(f"sparkrank: this is done, but cannot be printed: {reason_of(error)}", err=True)


def end_with_verdict(judgment: Judgment | None) -> None:
    """Exit with the exit code of ``judgment``, unless that is 0 or there are no gates."""
    if judgment is not None and judgment.exit_code:
        sys.exit(judgment.exit_code)
