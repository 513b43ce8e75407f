"""The state of one call of the command line, and the end of a call whose result is stored."""

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
    """One call of the command line: the signals that the call ignores, and the results to print with an error."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    done: dict[str, object] = field(default_factory=dict)


@contextmanager
def after_commit() -> Iterator[None]:
    """Print errors inside a ``with`` block that prints an answer after a commit, instead of raising them."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the day is shown, whatever the error is
        tell(f"sparkrank: this is done, but cannot be printed: {reason_of(error)}", err=True)


def end_with_verdict(judgment: Judgment | None) -> None:
    """Exit with the exit code of ``judgment``, unless the code is 0 or ``judgment`` is None (no gates)."""
    if judgment is not None and judgment.exit_code:
        sys.exit(judgment.exit_code)
