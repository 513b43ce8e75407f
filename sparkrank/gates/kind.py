"""The base class of the kinds of gates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from sparkrank.gates.facts import Facts, IntervalEstimate, Standard
from sparkrank.gates.rules import Cell, History, Rule
from sparkrank.gates.verdicts import Judged

DAYS_OF_WEEK = 7


@dataclass(frozen=True)
class Evidence:
    """The ``facts`` of the day or window, the ``standard`` of days before it, and the settings of the ``Judge``."""

    facts: Facts
    standard: Standard
    history: History
    better: Mapping[str, bool | None]
    level: float
    without_interval: Collection[str]
    most_unpaired: float

    @property
    def alpha(self) -> float:
        """The level of the test behind a failure: one side of the interval."""
        return (1 - self.level) / 2

    def sign(self, cell: Cell) -> int:
        """1 if lower is worse, -1 if higher is."""
        return -1 if self.better.get(cell.metric) is False else 1


class GateKind:
    """One kind of condition. A new kind is a class in a module of its own, and one line of
    :data:`sparkrank.gates.register.KINDS`.
    """

    name: ClassVar[str]  # in the column ``kind`` of the table ``gates``
    word: ClassVar[str]  # the key in a gate of the spec that asks for it; ``name`` by default
    phrase: ClassVar[str]  # its words in the name of a gate to which the spec gives none; ``name`` by default
    value: ClassVar[str | None] = None  # the one value of ``word`` that asks for it, if several kinds share the word
    compares: ClassVar[bool] = False  # whether the value of ``word`` is a model; otherwise it is a number, the bound
    needs_margin: ClassVar[bool] = False  # whether the gate must give a margin (``by``) with it
    is_directed: ClassVar[bool] = False  # whether it concerns only metrics with a better side
    # Whether it compares with the accepted days before the day. If so, a failure that does not remain among all cells
    # of its gate passes, because the value is where it usually is; for other kinds it is undecided.
    reads_history: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        for attribute in ("word", "phrase"):
            if "name" in vars(cls) and attribute not in vars(cls):
                setattr(cls, attribute, cls.name)

    def needed_days(self, history: History) -> int:
        """The number of accepted days before the day that it needs."""
        return history.days if self.reads_history else 0

    def days_apart(self, history: History) -> int:
        """The number of days between two days that it reads."""
        return DAYS_OF_WEEK if self.reads_history and history.same_weekday else 1

    def needs_direction(self, history: History) -> bool:
        """Whether it can concern only metrics with a better side."""
        return self.is_directed or (self.reads_history and history.sides == "worse")

    def covers(self, rule: Rule, cell: Cell, better: Mapping[str, bool | None], history: History) -> bool:
        """Whether ``rule`` concerns ``cell``; ``better`` as in :class:`sparkrank.gates.judge.Judge`."""
        return rule.covers(cell) and not (self.needs_direction(history) and better.get(cell.metric, True) is None)

    def verdict(self, rule: Rule, cell: Cell, measured: IntervalEstimate, evidence: Evidence) -> Judged:
        """The verdict on one cell, which has a value."""
        raise NotImplementedError
