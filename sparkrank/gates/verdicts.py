"""Gate verdicts on a day or window, with the ``gates`` table and the exit code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import pyarrow as pa

from sparkrank.gates.facts import Facts
from sparkrank.gates.rules import Cell, Policy, Rule
from sparkrank.schemas.tables import FROM_NOW_ON, GATES
from sparkrank.stats.corrections import adjusted

VerdictWord: TypeAlias = Literal["pass", "fail", "undecided"]
WORST_FIRST: tuple[VerdictWord, ...] = ("fail", "undecided", "pass")
FAILED, UNDECIDED = 3, 5  # exit codes
LEAST_DIGITS = 3  # the fewest significant digits of numbers in messages


class VerdictKey(NamedTuple):
    """What identifies a verdict within a day or window."""

    gate: str
    kind: str
    cell: Cell


class CheckVerdict(NamedTuple):
    """One gate's verdict on one cell, either just reached or read from the ``gates`` table."""

    gate: str
    verdict: VerdictWord
    policy: Policy
    is_accepted: bool

    @property
    def stops(self) -> bool:
        """Whether this verdict keeps the day from passing."""
        return not self.is_accepted and (self.verdict == "fail" or (self.verdict, self.policy) == ("undecided", "fail"))


@dataclass(frozen=True)
class Judged:
    """A verdict: a row of the ``gates`` table.

    ``judged`` is the number under test: the value or the difference. If nothing had changed, ``judged`` would be near
    ``expected`` (None if only other days can tell), with standard deviation ``deviation`` and ``degrees`` of freedom.
    ``sign`` is 1 if lower is worse, and -1 if higher is worse. If both are worse, ``other`` is the second bound.

    A ``p`` of None means that nothing was tested. ``p_adjusted`` is corrected for all ``tests`` of the gate, and for a
    failure it is at most ``alpha``. ``left_out`` counts the slice values with too few groups.
    """

    key: VerdictKey
    verdict: VerdictWord
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
    other: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    alpha: float = 0.025
    tests: int = 1
    left_out: int = 0
    begins_anew: bool = False

    @property
    def check(self) -> CheckVerdict:
        """This verdict without the numbers."""
        return CheckVerdict(self.key.gate, self.verdict, self.policy, self.accepted is not None)

    @property
    def stops(self) -> bool:
        return self.check.stops

    @property
    def distance(self) -> float:
        """How far the estimate is beyond the bound, in standard errors; infinite if there is no estimate or bound."""
        if self.judged is None or self.bound is None:
            return math.inf
        beyond = self.sign * (self.bound - self.judged)
        return beyond / self.deviation if self.deviation else math.copysign(math.inf, beyond) if beyond else 0.0

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """The numbers that must stay the same for an acceptance to remain valid."""
        return self.value, self.low, self.high


def worst_first(judged: Judged) -> tuple[int, float]:
    """The sort key for a gate's checks: failures, undecided, passes; the furthest beyond the bound come first."""
    return WORST_FIRST.index(judged.verdict), 0.0 if judged.verdict == "pass" else -judged.distance


def failed(rule: Rule, cell: Cell, reason: str, value: float | None = None) -> Judged:
    """The failing verdict on a cell that is missing or undefined."""
    return Judged(VerdictKey(rule.gate, rule.kind, cell), "fail", reason, value, policy=rule.undecided)


def shown_number(number: float | None, *beside: float | None) -> str:
    """A number for gate messages: three digits, or as many as are needed to tell it from the numbers ``beside`` it.

    Examples
    --------
    >>> shown_number(0.34567), shown_number(0.34567, 0.3456)
    ('0.346', '0.3457')
    """
    if number is None:
        return "none"
    others = [other for other in beside if other is not None and other != number]
    digits = next((d for d in range(LEAST_DIGITS, 17) if all(f"{number:.{d}g}" != f"{o:.{d}g}" for o in others)), 17)
    return f"{number:.{digits}g}"


def corrected(judged: Sequence[Judged], correction: str, otherwise: VerdictWord = "undecided") -> list[Judged]:
    """The verdicts of one gate on one night, corrected for multiple tests.

    A failure that is not significant after the correction becomes ``otherwise``. Verdicts without a ``p`` are kept and
    do not count as tests. Passing needs no correction, since every test has to pass (Berger: Multiparameter hypothesis
    testing and acceptance sampling, Technometrics 1982).
    """
    family = adjusted([math.nan if verdict.p is None else verdict.p for verdict in judged], correction).tolist()
    tests = sum(verdict.p is not None for verdict in judged)
    return [
        verdict if verdict.p is None else _corrected(replace(verdict, p_adjusted=p, tests=tests), otherwise)
        for verdict, p in zip(judged, family, strict=True)
    ]


def _corrected(judged: Judged, otherwise: VerdictWord) -> Judged:
    if judged.verdict != "fail" or judged.tests == 1 or float(judged.p_adjusted or 0.0) <= judged.alpha:
        return judged
    p, own = (f"{number:.2g}" for number in (judged.p_adjusted, judged.p))
    among = f"alone it would fail, but among {judged.tests:,} checks chance does as much (p {own}, adjusted {p})"
    return replace(judged, verdict=otherwise, reason=f"{judged.reason}; {among}")


def accepted(
    judged: Iterable[Judged], reasons: Mapping[VerdictKey, tuple[tuple[float | None, ...], str]]
) -> list[Judged]:
    """The verdicts ``judged``, marked as accepted where a person accepted the same verdict with the same numbers.

    ``reasons`` maps the key of each accepted verdict to the numbers and the reason of the acceptance.
    """
    verdicts = []
    for verdict in judged:
        numbers, reason = reasons.get(verdict.key, ((), None))
        is_same = repr(tuple(numbers)) == repr(verdict.numbers)  # NaN equals itself
        holds = verdict.verdict != "pass" and reason is not None and is_same
        verdicts.append(replace(verdict, accepted=reason) if holds else verdict)
    return verdicts


def exit_code(checks: Iterable[CheckVerdict]) -> int:
    """The exit code of the command; a failure takes precedence over an undecided verdict."""
    stopping = [check for check in checks if check.stops]
    if any(check.verdict == "fail" for check in stopping):
        return FAILED
    return UNDECIDED if stopping else 0


def gates_table(judged: Iterable[Judged], facts: Facts | None) -> pa.Table:
    """The ``gates`` table, with one row per verdict."""
    rows = [
        {
            **vars(verdict),  # the schema selects the columns
            "gate": verdict.key.gate,
            "kind": verdict.key.kind,
            **verdict.key.cell._asdict(),
            "ci_low": verdict.low,
            "ci_high": verdict.high,
            "accepted": verdict.accepted is not None,
            "accepted_reason": verdict.accepted,
            FROM_NOW_ON: verdict.begins_anew,
            "spec_hash": None if facts is None else facts.spec_hash,
            "run_id": None if facts is None else facts.run_id,
        }
        for verdict in judged
    ]
    return pa.Table.from_pylist(rows, schema=GATES.schema)
