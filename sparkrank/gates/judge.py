"""From the rules and what the tables say to verdicts.

Nothing that is not there, and nothing undefined, ever passes: that is a failure with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

import pyarrow as pa

from sparkrank.gates.facts import Facts, Measured
from sparkrank.gates.history import band_of
from sparkrank.gates.rules import Cell, History, Kind, Policy, Rule
from sparkrank.metrics.slices import ALL
from sparkrank.tables.schemas import GATES

Verdict: TypeAlias = Literal["pass", "fail", "undecided"]
FAILED, UNDECIDED = 3, 5  # exit codes


class Key(NamedTuple):
    """Which verdict of a day or window it is."""

    gate: str
    kind: Kind
    cell: Cell


@dataclass(frozen=True)
class Judged:
    """A verdict: a row of the table ``gates``.

    ``expected`` is where ``judged`` (the value, or the difference) would be if nothing had changed, None where only
    other days can tell; ``deviation`` is the standard deviation of it then, with ``degrees`` of freedom. ``sign`` is 1
    where lower is worse, -1 where higher is.
    """

    key: Key
    verdict: Verdict
    reason: str
    value: float | None = None
    against: str | None = None
    bound: float | None = None
    low: float | None = None
    high: float | None = None
    policy: Policy = "warn"
    accepted: str | None = None
    judged: float | None = None
    expected: float | None = None
    deviation: float | None = None
    degrees: float = math.inf
    sign: int = 1

    @property
    def stops(self) -> bool:
        """Whether somebody has to look at it before the day goes on."""
        is_bad = self.verdict == "fail" or (self.verdict == "undecided" and self.policy == "fail")
        return is_bad and self.accepted is None

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """What an acceptance holds for."""
        return self.value, self.low, self.high


@dataclass(frozen=True)
class Standard:
    """The accepted days before, the latest first; ``unread`` are those whose tables cannot be read."""

    days: Sequence[Facts] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True)
class Judge:
    """Judges days by ``rules``. ``better`` says of each metric whether higher is better, None where neither is."""

    rules: Sequence[Rule]
    history: History = field(default_factory=History)
    better: Mapping[str, bool | None] = field(default_factory=dict)

    @property
    def needed_days(self) -> int:
        """How many accepted days before the day are needed: none, or the last one, to see what has vanished."""
        if any(rule.kind == "history" for rule in self.rules):
            return self.history.days
        return int(any(rule.has_wildcards for rule in self.rules))

    @property
    def models_compared_with(self) -> set[str]:
        """The models that rules compare with."""
        return {rule.against for rule in self.rules if rule.against is not None}

    def verdicts(self, facts: Facts | None, name: str, standard: Standard = Standard()) -> list[Judged]:
        """The verdicts of a day or window.

        Parameters
        ----------
        facts
            What its tables say, or None where it has none.
        name
            The day or window, as sentences name it.
        standard
            The accepted days before it.

        Returns
        -------
        list of Judged
            In the order of the rules; of each at least one.
        """
        return [judged for rule in self.rules for judged in self._of_rule(rule, facts, name, standard)]

    def _of_rule(self, rule: Rule, facts: Facts | None, name: str, standard: Standard) -> list[Judged]:
        if facts is None:
            unnamed = Cell(rule.metric, rule.model or "*", *_named_slice(rule))
            return [_failed(rule, unnamed, f"{name} has no tables, and what has no data never passes")]
        without = [metric for metric, better in self.better.items() if better is None]
        before = standard.days[0] if standard.days else None
        cells = rule.cells(facts.values)
        if before is not None:
            earlier = rule.cells(before.values)
            covered = [cell for cell in before.measured if rule.covers(cell, without)]
            cells = list(dict.fromkeys([*cells, *earlier, *covered]))
        if not cells:
            unnamed = Cell(rule.metric, rule.model or "*", *_named_slice(rule))
            return [_failed(rule, unnamed, f"{name} has no value of a slice that the gate names")]
        found = []
        for cell in cells:
            measured = facts.measured.get(cell)
            if measured is None:
                found.append(_failed(rule, cell, _vanished(cell, facts, before)))
            elif measured.value is None or math.isnan(measured.value):
                found.append(_failed(rule, cell, f"it is undefined on {name}, and what is undefined never passes"))
            elif rule.kind == "history":
                found.append(self._by_history(rule, cell, measured, standard))
            elif rule.kind == "not_worse_than":
                found.append(self._by_difference(rule, cell, measured.value, facts))
            else:
                found.append(_by_bound(rule, cell, measured))
        return found

    def _sign(self, cell: Cell) -> int:
        return -1 if self.better.get(cell.metric) is False else 1

    def _by_difference(self, rule: Rule, cell: Cell, value: float, facts: Facts) -> Judged:
        """Whether the worst end of the difference's interval is within the margin (non-inferiority)."""
        against, sign = str(rule.against), self._sign(cell)
        if facts.compared is None:
            return _failed(rule, cell, f"{facts.name} has no table comparisons, so nothing tells", value)
        difference = facts.compared.get((cell, against))
        baseline = facts.measured.get(cell._replace(model=against))
        if difference is None:
            return _failed(rule, cell, f"{facts.name} has no comparison of it with {against}", value)
        if difference.value is None or math.isnan(difference.value):
            return _failed(rule, cell, f"its difference to {against} is undefined on {facts.name}", value)
        if rule.margin.relative and (baseline is None or baseline.value is None or math.isnan(baseline.value)):
            told = f"{against} has no value on {facts.name}, of which the margin {rule.margin} is a share"
            return _failed(rule, cell, told, value)
        of = math.nan if baseline is None or baseline.value is None else baseline.value
        bound = 0.0 - sign * rule.margin.of(of)
        verdict = _against_bound(difference, bound, sign)
        told = {
            "pass": "is no worse than the margin allows",
            "fail": "is worse than the margin allows",
            "undecided": "may or may not be worse than the margin allows",
        }[verdict]
        reason = f"its difference to {against}, {_told(difference)}, {told} ({_short(bound)}){_alone(difference)}"
        return Judged(
            Key(rule.gate, rule.kind, cell),
            verdict,
            reason,
            value,
            against if math.isnan(of) else f"{against} {_short(of)}",
            bound,
            difference.low,
            difference.high,
            rule.undecided,
            judged=difference.value,
            expected=0.0,
            deviation=difference.stderr,
            sign=sign,
        )

    def _by_history(self, rule: Rule, cell: Cell, today: Measured, standard: Standard) -> Judged:
        """Whether the value is beyond the band of the accepted days before, on the side that is worse."""
        options, sign, value = self.history, self._sign(cell), float(today.value or 0.0)
        known = [each for facts in standard.days if (each := facts.measured.get(cell)) is not None]
        alike = [each for each in known if each.definition == today.definition]
        used = [each for each in alike if each.value is not None and not math.isnan(each.value)]
        counts = {
            "of another definition": len(known) - len(alike),
            "without a value": len(standard.days) - len(known) + len(alike) - len(used),
            "that cannot be read": len(standard.unread),
        }
        left_out = ", ".join(f"{_days(count)} {why}" for why, count in counts.items() if count)
        left_out = f" (left out: {left_out})" if left_out else ""
        key = Key(rule.gate, rule.kind, cell)
        if len(used) < options.least_days:
            what = "accepted days of the same weekday" if options.same_weekday else "accepted days"
            reason = (
                f"its history has {len(used)} {what} before, and {options.least_days} are needed for a band{left_out}"
            )
            return Judged(key, "undecided", reason, value, None, None, today.low, today.high, rule.undecided)
        band = band_of([float(each.value or 0.0) for each in used], [each.stderr for each in used])
        deviation, degrees = band.prediction(today.stderr)
        half = options.width * band.deviation(today.stderr) + rule.margin.of(band.centre)
        bound = band.centre - sign * half
        verdict: Verdict = "pass" if sign * (value - bound) >= 0 else "fail"
        told = f"{_short(band.centre - half)} to {_short(band.centre + half)}"
        against = f"median {_short(band.centre)} of {_days(len(used))}, band {told}"
        where = "beyond its worse end" if verdict == "fail" else "not beyond its worse end"
        reason = f"{_short(value)} is {where}: the band of {_days(len(used))} before is {told}{left_out}"
        return Judged(
            key,
            verdict,
            reason,
            value,
            against,
            bound,
            today.low,
            today.high,
            rule.undecided,
            judged=value,
            expected=band.centre,
            deviation=deviation,
            degrees=degrees,
            sign=sign,
        )


def _by_bound(rule: Rule, cell: Cell, measured: Measured) -> Judged:
    sign = 1 if rule.kind == "min" else -1
    side = "above" if rule.kind == "min" else "below"
    verdict = _against_bound(measured, rule.bound, sign)
    bound = _short(rule.bound)
    told = {
        "pass": f"is not {'below' if sign > 0 else 'above'} {bound}",
        "fail": f"is {'below' if sign > 0 else 'above'} {bound}",
        "undecided": f"may be {side} {bound} or not: it is within the interval",
    }[verdict]
    return Judged(
        Key(rule.gate, rule.kind, cell),
        verdict,
        f"{_told(measured)} {told}{_alone(measured)}",
        measured.value,
        None,
        rule.bound,
        measured.low,
        measured.high,
        rule.undecided,
        judged=measured.value,
        deviation=measured.stderr,
        sign=sign,
    )


def _against_bound(measured: Measured, bound: float, sign: int) -> Verdict:
    """The verdict on an interval, or on a value without one; lower is worse where ``sign`` is 1."""
    value = float(measured.value or 0.0)
    low, high = (value, value) if not _has_interval(measured) else (float(measured.low or 0), float(measured.high or 0))
    worst, best = (low, high) if sign > 0 else (high, low)
    if sign * (worst - bound) >= 0:
        return "pass"
    return "fail" if sign * (best - bound) < 0 else "undecided"


def _has_interval(measured: Measured) -> bool:
    return all(end is not None and not math.isnan(end) for end in (measured.low, measured.high))


def _told(measured: Measured) -> str:
    if not _has_interval(measured):
        return _short(measured.value)
    return f"{_short(measured.value)} ({_short(measured.low)} to {_short(measured.high)})"


def _alone(measured: Measured) -> str:
    return "" if _has_interval(measured) else " (the value alone decides: it has no interval)"


def _short(number: float | None) -> str:
    return "none" if number is None else f"{number:.6g}"


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"


def _failed(rule: Rule, cell: Cell, reason: str, value: float | None = None) -> Judged:
    return Judged(Key(rule.gate, rule.kind, cell), "fail", reason, value, policy=rule.undecided)


def _named_slice(rule: Rule) -> tuple[str, str | None]:
    """The slice and its value as the gate names them."""
    if not rule.of_slices:
        return ALL, ALL
    return ",".join(column for column, _ in rule.of_slices), ",".join(value or "(null)" for _, value in rule.of_slices)


def _vanished(cell: Cell, facts: Facts, before: Facts | None) -> str:
    """What of ``cell`` is not there."""
    if cell.model not in facts.models:
        what = f"the model {cell.model}"
    elif cell.metric not in facts.metrics:
        what = f"the metric {cell.metric}"
    elif not any((other.slice, other.slice_value) == (cell.slice, cell.slice_value) for other in facts.measured):
        what = cell.shown_slice or "the whole day"
    else:
        what = "its row"
    had = (
        f", and the last accepted one, {before.name}, had it" if before is not None and cell in before.measured else ""
    )
    return f"{what} is not in the tables of {facts.name}{had}: what has vanished never passes"


def accepted(judged: Iterable[Judged], reasons: Mapping[Key, tuple[tuple[float | None, ...], str]]) -> list[Judged]:
    """``judged`` of which those that a person has accepted say why.

    Parameters
    ----------
    judged
        The verdicts.
    reasons
        Of each accepted verdict its numbers then, and the reason. It holds as long as the numbers do.

    Returns
    -------
    list of Judged
    """
    found = []
    for each in judged:
        numbers, reason = reasons.get(each.key, ((), None))
        holds = each.verdict != "pass" and reason is not None and _equal(numbers, each.numbers)
        found.append(replace(each, accepted=reason) if holds else each)
    return found


def _equal(left: Sequence[float | None], right: Sequence[float | None]) -> bool:
    return repr(tuple(left)) == repr(tuple(right))  # NaN equals itself


def exit_code(judged: Iterable[Judged]) -> int:
    """What the command ends with: a failure goes before what is undecided."""
    stopping = [each for each in judged if each.stops]
    if any(each.verdict == "fail" for each in stopping):
        return FAILED
    return UNDECIDED if stopping else 0


def gates_table(judged: Iterable[Judged], facts: Facts | None) -> pa.Table:
    """The table ``gates``: a row for each verdict."""
    rows = [
        {
            "gate": each.key.gate,
            "kind": each.key.kind,
            **each.key.cell._asdict(),
            "value": each.value,
            "against": each.against,
            "bound": each.bound,
            "ci_low": each.low,
            "ci_high": each.high,
            "verdict": each.verdict,
            "reason": each.reason,
            "accepted": each.accepted is not None,
            "accepted_reason": each.accepted,
            "spec_hash": None if facts is None else facts.spec_hash,
            "run_id": None if facts is None else facts.run_id,
        }
        for each in judged
    ]
    return pa.Table.from_pylist(rows, schema=GATES.schema)
