"""The verdicts of gates on a day or window, and the table ``gates`` and the exit code that follow from them."""

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
    """The key of a verdict within a day or window: the gate, the kind, and the cell (metric, model, slice value)."""

    gate: str
    kind: str
    cell: Cell


class CheckVerdict(NamedTuple):
    """The verdict of one gate on one cell (metric, model, slice value), computed or read from the ``gates`` table."""

    gate: str
    verdict: VerdictWord
    policy: Policy
    is_accepted: bool

    @property
    def stops(self) -> bool:
        """Whether this verdict keeps the day from passing.

        Unaccepted failures do, and so do unaccepted undecided verdicts with the policy ``fail``.
        """
        return not self.is_accepted and (self.verdict == "fail" or (self.verdict, self.policy) == ("undecided", "fail"))


@dataclass(frozen=True)
class GateVerdict:
    """A verdict of a gate: a row of the table ``gates``.

    The interval of ``value`` is from ``low`` to ``high``. ``against`` is the other model, and ``accepted`` a person's
    reason for accepting the verdict. ``number`` is the number under test: the value or the difference. If nothing had
    changed, ``number`` would be near ``expected``, with standard deviation ``deviation`` and ``degrees`` of freedom.
    ``expected`` is None if the expected value can only be estimated from other days. ``sign`` is 1 if lower is worse,
    and -1 if higher is worse. If both directions are worse, ``other`` is the second bound.

    A ``p`` of None means that there was no test. ``p_adjusted`` is corrected for all ``tests`` of the gate; if the
    verdict is a failure, it is at most ``alpha``. ``left_out`` counts the slice values with too few groups.
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
    number: float | None = None
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
        """The gate, the verdict, the policy, and whether the verdict is accepted, without any numbers."""
        return CheckVerdict(self.key.gate, self.verdict, self.policy, self.accepted is not None)

    @property
    def stops(self) -> bool:
        return self.check.stops

    @property
    def distance(self) -> float:
        """The distance of the number under test beyond the bound, in standard errors.

        The distance is negative on the good side, and infinite without a number or a bound.
        """
        if self.number is None or self.bound is None:
            return math.inf
        beyond = self.sign * (self.bound - self.number)
        return beyond / self.deviation if self.deviation else math.copysign(math.inf, beyond) if beyond else 0.0

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """The value and the ends of its interval. An acceptance remains valid only while these numbers are the same."""
        return self.value, self.low, self.high


def worst_first(verdict: GateVerdict) -> tuple[int, float]:
    """Return a sort key: failures, then undecided verdicts, then passes. Larger distances come first within each."""
    return WORST_FIRST.index(verdict.verdict), 0.0 if verdict.verdict == "pass" else -verdict.distance


def failure(rule: Rule, cell: Cell, reason: str, value: float | None = None) -> GateVerdict:
    """Return a failing verdict on ``cell`` (metric, model, slice value), for example because its value is missing."""
    return GateVerdict(VerdictKey(rule.gate, rule.kind, cell), "fail", reason, value, policy=rule.undecided)


def shown_number(number: float | None, *beside: float | None) -> str:
    """Format ``number`` for gate messages with three digits, or more if it would look equal to a number in ``beside``.

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


def correct(
    verdicts: Sequence[GateVerdict], correction: str, otherwise: VerdictWord = "undecided"
) -> list[GateVerdict]:
    """Return the verdicts of one gate on one day or window, corrected for multiple tests.

    A failure that is not significant after the correction becomes ``otherwise``. Verdicts without a ``p`` are unchanged
    and do not count as tests. A pass needs no correction, since the gate passes only if all of its tests pass (Berger:
    Multiparameter hypothesis testing and acceptance sampling, Technometrics 1982).
    """
    family = adjusted([math.nan if verdict.p is None else verdict.p for verdict in verdicts], correction).tolist()
    tests = sum(verdict.p is not None for verdict in verdicts)
    return [
        verdict if verdict.p is None else _corrected(replace(verdict, p_adjusted=p, tests=tests), otherwise)
        for verdict, p in zip(verdicts, family, strict=True)
    ]


def _corrected(verdict: GateVerdict, otherwise: VerdictWord) -> GateVerdict:
    if verdict.verdict != "fail" or verdict.tests == 1 or float(verdict.p_adjusted or 0.0) <= verdict.alpha:
        return verdict
    p, own = (f"{number:.2g}" for number in (verdict.p_adjusted, verdict.p))
    among = f"alone it would fail, but among {verdict.tests:,} checks chance does as much (p {own}, adjusted {p})"
    return replace(verdict, verdict=otherwise, reason=f"{verdict.reason}; {among}")


def with_acceptances(
    verdicts: Iterable[GateVerdict], reasons: Mapping[VerdictKey, tuple[tuple[float | None, ...], str]]
) -> list[GateVerdict]:
    """Return ``verdicts``, marked as accepted if a person has accepted the same verdict with the same numbers.

    ``reasons`` maps the key of each accepted verdict to its numbers at that time and to the person's reason.
    """
    marked = []
    for verdict in verdicts:
        numbers, reason = reasons.get(verdict.key, ((), None))
        is_same = repr(tuple(numbers)) == repr(verdict.numbers)  # as texts, NaN equals NaN
        holds = verdict.verdict != "pass" and reason is not None and is_same
        marked.append(replace(verdict, accepted=reason) if holds else verdict)
    return marked


def exit_code(checks: Iterable[CheckVerdict]) -> int:
    """Return the exit code: 3 for an unaccepted failure, 5 for any other verdict that stops the day, otherwise 0."""
    stopping = [check for check in checks if check.stops]
    if any(check.verdict == "fail" for check in stopping):
        return FAILED
    return UNDECIDED if stopping else 0


def gates_table(verdicts: Iterable[GateVerdict], facts: Facts | None) -> pa.Table:
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
        for verdict in verdicts
    ]
    return pa.Table.from_pylist(rows, schema=GATES.schema)
