"""The base class of gate kinds, and the evidence for the verdict of a gate kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from sparkrank.gates.facts import Facts, IntervalEstimate, Standard
from sparkrank.gates.rules import Cell, History, Rule
from sparkrank.gates.verdicts import GateVerdict

DAYS_OF_WEEK = 7


@dataclass(frozen=True)
class Evidence:
    """The evidence for a verdict besides the value: a day's ``facts``, the earlier days (``standard``), and settings.

    The settings are those of :class:`sparkrank.gates.judge.Judge`.
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
        """The significance level of the one-sided test behind a failure."""
        return (1 - self.level) / 2

    def sign(self, cell: Cell) -> int:
        """Return -1 if higher values of the metric of ``cell`` are worse, and otherwise 1."""
        return -1 if self.better.get(cell.metric) is False else 1


class GateKind:
    """The base class of a kind of gate condition.

    A new kind needs a subclass in a module of its own, and a line in :data:`sparkrank.gates.register.KINDS`.
    """

    name: ClassVar[str]  # the name in the column ``kind`` of the ``gates`` table
    word: ClassVar[str]  # the key that selects this kind in a gate of the spec; ``name`` by default
    phrase: ClassVar[str]  # the words for this kind in the name of a gate that the spec leaves unnamed; or ``name``
    value: ClassVar[str | None] = None  # the value of ``word`` that selects this kind, if several kinds share the word
    compares: ClassVar[bool] = False  # whether the value of ``word`` is a model; otherwise it is a number, the bound
    needs_margin: ClassVar[bool] = False  # whether a gate of this kind must have a margin (``by``)
    is_directed: ClassVar[bool] = False  # whether the kind concerns only metrics of which higher or lower is better
    # Whether the kind compares a day with the accepted days before it. If so, a failure that is not significant among
    # all cells of its gate passes, because the value is where it usually is; for other kinds it is undecided.
    reads_history: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        for attribute in ("word", "phrase"):
            if "name" in vars(cls) and attribute not in vars(cls):
                setattr(cls, attribute, cls.name)

    def needed_days(self, history: History) -> int:
        """Return the number of earlier accepted days that this kind needs."""
        return history.days if self.reads_history else 0

    def days_apart(self, history: History) -> int:
        """Return the distance, in days, between consecutive earlier days that this kind reads: 1 or 7."""
        return DAYS_OF_WEEK if self.reads_history and history.same_weekday else 1

    def needs_direction(self, history: History) -> bool:
        """Return whether this kind can judge only metrics for which either higher or lower values are better."""
        return self.is_directed or (self.reads_history and history.sides == "worse")

    def covers(self, rule: Rule, cell: Cell, better: Mapping[str, bool | None], history: History) -> bool:
        """Return whether ``rule`` concerns ``cell`` (metric, model, slice value).

        ``better`` and ``history`` are those of :class:`sparkrank.gates.judge.Judge`.
        """
        return rule.covers(cell) and not (self.needs_direction(history) and better.get(cell.metric, True) is None)

    def verdict(self, rule: Rule, cell: Cell, estimate: IntervalEstimate, evidence: Evidence) -> GateVerdict:
        """Return the verdict of ``rule`` on ``cell`` (metric, model, slice value), whose value must be defined."""
        raise NotImplementedError
