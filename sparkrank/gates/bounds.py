"""Gates with a bound: a value is at least, or at most, a number."""

from __future__ import annotations

import math
from typing import ClassVar

from sparkrank.gates.facts import Measured
from sparkrank.gates.kind import Kind, Night
from sparkrank.gates.rules import Cell, Rule
from sparkrank.gates.verdicts import Judged, Key, Verdict, shown_number


class Bound(Kind):
    """A bound on a value, whatever is better: ``min`` or ``max``."""

    is_directed: ClassVar[bool] = False

    def judged(self, rule: Rule, cell: Cell, measured: Measured, night: Night) -> Judged:  # noqa: ARG002
        """Whether the whole interval is on the good side of the bound."""
        sign = 1 if rule.kind == "min" else -1
        side = "above" if rule.kind == "min" else "below"
        verdict = against_bound(measured, rule.bound, sign)
        bound = shown_number(rule.bound)
        told = {
            "pass": f"is not {'below' if sign > 0 else 'above'} {bound}",
            "fail": f"is {'below' if sign > 0 else 'above'} {bound}",
            "undecided": f"may be {side} {bound} or not: it is within the interval",
        }[verdict]
        return Judged(
            Key(rule.gate, rule.kind, cell),
            verdict,
            f"{interval_text(measured)} {told}{alone_text(measured)}",
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


class Min(Bound):
    """At least a number."""

    name: ClassVar[str] = "min"


class Max(Bound):
    """At most a number."""

    name: ClassVar[str] = "max"


def against_bound(measured: Measured, bound: float, sign: int) -> Verdict:
    """The verdict on an interval, or on a value without one; lower is worse where ``sign`` is 1."""
    value = float(measured.value or 0.0)
    low, high = (value, value) if not _has_interval(measured) else (float(measured.low or 0), float(measured.high or 0))
    worst, best = (low, high) if sign > 0 else (high, low)
    if sign * (worst - bound) >= 0:
        return "pass"
    return "fail" if sign * (best - bound) < 0 else "undecided"


def _has_interval(measured: Measured) -> bool:
    return all(end is not None and not math.isnan(end) for end in (measured.low, measured.high))


def interval_text(measured: Measured) -> str:
    if not _has_interval(measured):
        return shown_number(measured.value)
    return f"{shown_number(measured.value)} ({shown_number(measured.low)} to {shown_number(measured.high)})"


def alone_text(measured: Measured) -> str:
    return "" if _has_interval(measured) else " (the value alone decides: it has no interval)"
