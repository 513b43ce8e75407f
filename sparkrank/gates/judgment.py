"""The verdicts on a day or window, with what a person has accepted of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank.base.errors import CodedSentence, shorten
from sparkrank.gates.day_verdict import DayVerdict, day_verdict
from sparkrank.gates.facts import Facts
from sparkrank.gates.verdicts import Judged, exit_code, gates_table


@dataclass(frozen=True)
class Judgment:
    """The verdicts on a day or window. ``acceptance`` says when and why a person has accepted it. ``dropped`` is the
    reason of an acceptance that is no longer valid, because the result has changed.
    """

    name: str
    judged: tuple[Judged, ...]
    facts: Facts | None
    acceptance: Mapping[str, Any]
    dropped: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return exit_code(verdict.check for verdict in self.judged)

    def verdict(self, n_warnings: int = 0) -> DayVerdict:
        """The verdict on the whole, which also counts the warnings of the run."""
        return day_verdict((verdict.check for verdict in self.judged), n_warnings)

    @property
    def table(self) -> pa.Table:
        """The table ``gates``."""
        return gates_table(self.judged, self.facts)

    @property
    def warnings(self) -> list[str]:
        """The sentence about an acceptance that no longer holds."""
        if self.dropped is None:
            return []
        sentence = f'{self.name} was accepted ("{shorten(self.dropped)}") with another result: that no longer holds'
        return [CodedSentence("acceptance_dropped", sentence)]
