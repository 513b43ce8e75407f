"""One call of the command line, and how a command ends by its gates."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkrank.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from sparkrank.gates.judgment import Judgment


@dataclass
class Invocation:
    """One call of the command line: its signals, and the document of what was done before an error."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    done: dict[str, object] = field(default_factory=dict)


def end_with_verdict(judgment: Judgment | None) -> None:
    """Exit with the code of the gates, unless that is 0."""
    if judgment is not None and judgment.exit_code:
        sys.exit(judgment.exit_code)
