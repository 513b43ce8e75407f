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
    """The ``facts`` of the day or window, the ``standard`` of days before it, and settings as of ``Judge``."""

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


class GateKind:
    """One kind of condition. A new one is a class in a module of its own, and one line of
    :data:`sparkrank.gates.register.KINDS`.
    """

    name: ClassVar[str]  # in the column ``kind`` of the table ``gates``
    word: ClassVar[str]  # the key of a gate in the spec that asks for it: ``name`` where nothing else is said
    phrase: ClassVar[str]  # the words for it in the name of a gate to which the spec gives none: likewise
    value: ClassVar[str | None] = None  # the one value of ``word`` that asks for it, where several kinds share the word
    compares: ClassVar[bool] = False  # whether the value of ``word`` is a model; otherwise it is a number, the bound
    needs_margin: ClassVar[bool] = False  # whether the gate must give a margin (``by``) with it
    is_directed: ClassVar[bool] = False  # whether it is about metrics alone of which one side is better
    # Whether it compares with the accepted days before the day. A failure that is none among all cells of its gate
    # then passes, because the value is where it usually is; of other kinds it is undecided.
    reads_history: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        for attribute in ("word", "phrase"):
            if "name" in vars(cls) and attribute not in vars(cls):
                setattr(cls, attribute, cls.name)

    def needed_days(self, history: History) -> int:
        """How many accepted days before the day it needs."""
        return history.days if self.reads_history else 0

    def days_apart(self, history: History) -> int:
        """How many days lie between two days that it looks at."""
        return DAYS_OF_WEEK if self.reads_history and history.same_weekday else 1

    def needs_direction(self, history: History) -> bool:
        """Whether it can be about those metrics alone of which one side is better."""
        return self.is_directed or (self.reads_history and history.sides == "worse")

    def covers(self, rule: Rule, cell: Cell, better: Mapping[str, bool | None], history: History) -> bool:
        """Whether ``rule`` is about ``cell``; ``better`` as in :class:`sparkrank.gates.judge.Judge`."""
        return rule.covers(cell) and not (self.needs_direction(history) and better.get(cell.metric, True) is None)

    def verdict(self, rule: Rule, cell: Cell, measured: IntervalEstimate, evidence: Evidence) -> Judged:
        """The verdict on one cell, which has a value."""
        raise NotImplementedError
