"""The verdicts of gates on a day or window, together with a person's acceptance of failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank.base.errors import CodedSentence, shorten
from sparkrank.gates.day_verdict import DayVerdict, day_verdict
from sparkrank.gates.facts import Facts
from sparkrank.gates.verdicts import GateVerdict, exit_code, gates_table


@dataclass(frozen=True)
class Judgment:
    """The judgment of the day or window ``name``: its ``verdicts``, and its ``facts`` (None without tables).

    ``acceptance`` contains the time and the reason of a person's acceptance. ``dropped`` is the reason given for an
    earlier acceptance that is no longer valid, because the result has changed. ``stored_warnings`` contains the
    warnings of the stored run that was judged, and a sentence for each exceeded limit.
    """

    name: str
    verdicts: tuple[GateVerdict, ...]
    facts: Facts | None
    acceptance: Mapping[str, Any]
    dropped: str | None = None
    stored_warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code of the command that judged the day or window."""
        return exit_code(verdict.check for verdict in self.verdicts)

    def verdict(self) -> DayVerdict:
        """Return the verdict on the whole day or window, from the gates and the run's warnings."""
        return day_verdict((verdict.check for verdict in self.verdicts), len(self.stored_warnings))

    @property
    def table(self) -> pa.Table:
        """The table ``gates``, with one row per verdict."""
        return gates_table(self.verdicts, self.facts)

    @property
    def warnings(self) -> list[str]:
        """A list with a warning if an earlier acceptance is no longer valid; otherwise an empty list."""
        if self.dropped is None:
            return []
        sentence = f'{self.name} was accepted ("{shorten(self.dropped)}") with another result: that no longer holds'
        return [CodedSentence("acceptance_dropped", sentence)]
