"""The judge, which applies rules to facts and returns verdicts. Missing and undefined values always fail."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkrank.gates.facts import NO_STANDARD, Facts, Standard
from sparkrank.gates.kind import Evidence
from sparkrank.gates.register import KINDS
from sparkrank.gates.rules import Cell, History, Rule
from sparkrank.gates.verdicts import GateVerdict, VerdictKey, VerdictWord, correct, failure, worst_first
from sparkrank.metrics.slices import ALL


@dataclass(frozen=True)
class Judge:
    """The judge of days and windows by ``rules``.

    ``better`` maps each metric to whether higher is better (None: neither direction is). ``level`` is the confidence
    level of the intervals. Metrics in ``without_interval`` never have an interval. Slice values with fewer than
    ``least_groups`` groups are left out. Two models are not compared if the share of groups with a value of only one
    model exceeds ``most_unpaired``.
    """

    rules: Sequence[Rule]
    history: History = field(default_factory=History)
    better: Mapping[str, bool | None] = field(default_factory=dict)
    level: float = 0.95
    without_interval: Collection[str] = ()
    most_unpaired: float = 0.01
    least_groups: int = 1

    @property
    def needed_days(self) -> int:
        """The number of earlier days that rules need. A rule with wildcards needs one, to notice vanished values."""
        days = [KINDS[rule.kind].needed_days(self.history) for rule in self.rules]
        return max(days, default=0) or int(any(rule.has_wildcards for rule in self.rules))

    @property
    def days_apart(self) -> int:
        """The distance, in days, between consecutive earlier days or windows that are read: 1 or 7."""
        return max(KINDS[rule.kind].days_apart(self.history) for rule in self.rules)

    def has_history(self, cell: Cell) -> bool:
        return any(KINDS[rule.kind].reads_history and self._covers(rule, cell) for rule in self.rules)

    @property
    def models_compared_with(self) -> set[str]:
        return {rule.against for rule in self.rules if rule.against is not None}

    def verdicts(self, facts: Facts | None, name: str, standard: Standard = NO_STANDARD) -> list[GateVerdict]:
        """Return at least one verdict per rule on the day or window ``name``. ``facts`` is None without tables."""
        return [verdict for rule in self.rules for verdict in self._of_rule(rule, facts, name, standard)]

    def _of_rule(self, rule: Rule, facts: Facts | None, name: str, standard: Standard) -> list[GateVerdict]:
        unnamed = Cell(rule.metric, rule.model or "*", *_named_slice(rule))
        if facts is None:
            return [failure(rule, unnamed, f"{name} has no tables, and what has no data never passes")]
        kind, settings = KINDS[rule.kind], (self.level, self.without_interval, self.most_unpaired)
        evidence = Evidence(facts, standard, self.history, self.better, *settings)
        before = standard.before
        cells = rule.cells(facts.values)
        if before is not None:
            earlier = rule.cells(before.values)
            covered = [cell for cell in before.measured if self._covers(rule, cell)]
            cells = list(dict.fromkeys([*cells, *earlier, *covered]))
        if not cells:
            return [failure(rule, unnamed, f"{name} has no value of a slice that the gate names")]
        kept = [cell for cell in cells if not self._is_small(cell, facts, before)]
        left_out = len({cell[2:] for cell in cells} - {cell[2:] for cell in kept})
        if not kept:
            reason = f"{_small_text(left_out, self.least_groups)}: nothing is left to judge"
            key = VerdictKey(rule.gate, rule.kind, unnamed)
            return [GateVerdict(key, "undecided", reason, policy=rule.undecided, left_out=left_out)]
        otherwise: VerdictWord = "pass" if kind.reads_history else "undecided"
        verdicts = []
        for cell in kept:
            measured = facts.measured.get(cell)
            if measured is None:
                verdicts.append(failure(rule, cell, _vanished(cell, facts, before)))
            elif measured.value is None or math.isnan(measured.value):
                verdicts.append(failure(rule, cell, f"it is undefined on {name}, and what is undefined never passes"))
            else:
                verdicts.append(kind.verdict(rule, cell, measured, evidence))
        verdicts = [replace(verdict, left_out=left_out) for verdict in correct(verdicts, rule.correction, otherwise)]
        return sorted(verdicts, key=worst_first)

    def _is_small(self, cell: Cell, facts: Facts, before: Facts | None) -> bool:
        """Return whether the slice value of ``cell`` has too few groups on the day or, if the day lacks it, before."""
        measured = facts.measured.get(cell) or (None if before is None else before.measured.get(cell))
        groups = None if measured is None else measured.n_groups
        return cell.slice != ALL and groups is not None and groups < self.least_groups

    def _covers(self, rule: Rule, cell: Cell) -> bool:
        """Return whether ``rule`` concerns ``cell``. Some gate kinds skip metrics for which no direction is better."""
        return KINDS[rule.kind].covers(rule, cell, self.better, self.history)


def _small_text(count: int, least: int) -> str:
    values, have = ("value", "has") if count == 1 else ("values", "have")
    return f"{count:,} slice {values} {have} fewer than {least:,} groups (least_groups)"


def _named_slice(rule: Rule) -> tuple[str, str | None]:
    """Return the slice and the slice value as the gate writes them, including wildcards."""
    if not rule.slice_patterns:
        return ALL, ALL
    return ",".join(column for column, _ in rule.slice_patterns), ",".join(
        value or "(null)" for _, value in rule.slice_patterns
    )


def _vanished(cell: Cell, facts: Facts, before: Facts | None) -> str:
    if cell.model not in facts.models:
        what = f"the model {cell.model}"
    elif cell.metric not in facts.metrics:
        what = f"the metric {cell.metric}"
    elif not any((other.slice, other.slice_value) == (cell.slice, cell.slice_value) for other in facts.measured):
        what = cell.shown_slice or "the whole day"
    else:
        what = "its row"
    was_there = before is not None and cell in before.measured
    had = f", but was in those of {before.name}, the last accepted one" if before and was_there else ""
    return f"{what} is not in the tables of {facts.name}{had}: what has vanished never passes"
