"""The state of one call of the command line, and the ways in which a call ends after its result is stored."""

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
    """One call of the command line: the signals that it ignores, and the results to print with an error."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    done: dict[str, object] = field(default_factory=dict)


@contextmanager
def after_commit() -> Iterator[None]:
    """Context manager for printing an answer after a commit. An error within it is printed and does not propagate."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the day is shown, whatever the error is
        tell(f"sparkrank: this is done, but cannot be printed: {reason_of(error)}", err=True)


def end_with_verdict(judgment: Judgment | None) -> None:
    """Exit with the exit code of ``judgment``. Return if the code is 0, or if ``judgment`` is None (no gates)."""
    if judgment is not None and judgment.exit_code:
        sys.exit(judgment.exit_code)
