"""What a kind of gate is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from sparkrank.gates.facts import Facts, IntervalEstimate, Standard
from sparkrank.gates.rules import Cell, History, Rule
from sparkrank.gates.verdicts import Judged


@dataclass(frozen=True)
class Evidence:
    """What a day or window is judged by: its ``facts``, the ``standard`` of days before it, and the settings.

    These are the same as of :class:`sparkrank.gates.judge.Judge`.
    """

    facts: Facts
    standard: Standard
    history: History
    better: Mapping[str, bool | None]
    level: float
    without_interval: Collection[str]
    most_unpaired: float

    @property
    def alpha(self) -> float:
        """The level of the test that a failure rests on: one side of the interval."""
        return (1 - self.level) / 2

    def sign(self, cell: Cell) -> int:
        """1 where lower is worse, -1 where higher is."""
        return -1 if self.better.get(cell.metric) is False else 1


class Kind(Protocol):
    """One kind of condition. A new one is a class in a module of its own, and one line of
    :data:`sparkrank.gates.register.KINDS`.

    Attributes
    ----------
    name : str
        The word of the column ``kind`` of the table ``gates``.
    is_directed : bool
        Whether it is about metrics alone of which one side is better.
    reads_history : bool
        Whether it needs the accepted days before the day.
    """

    name: ClassVar[str]
    is_directed: ClassVar[bool]
    reads_history: ClassVar[bool] = False

    def judged(self, rule: Rule, cell: Cell, measured: IntervalEstimate, night: Evidence) -> Judged:
        """The verdict on one cell, which has a value."""
