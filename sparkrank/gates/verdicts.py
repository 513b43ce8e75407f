"""Verdicts of gates on a day or window, with their table and exit code."""

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
FAILED, UNDECIDED = 3, 5  # exit codes


class VerdictKey(NamedTuple):
    """The identity of a verdict within a day or window."""

    gate: str
    kind: str
    cell: Cell


@dataclass(frozen=True)
class Judged:
    """A verdict: a row of the table ``gates``.

    ``expected`` is where ``judged`` (the value, or the difference) would be if nothing had changed, or None if only
    other days show this; ``deviation`` is its standard deviation then, with ``degrees`` of freedom. ``sign`` is 1 if
    lower is worse, -1 if higher is. If both are worse, ``other`` is the bound on the other side.

    A ``p`` of None means that nothing was tested. ``p_adjusted`` is corrected for all ``tests`` of the gate, and at
    most ``alpha`` for a failure. ``left_out`` counts the slice values with too few groups.
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
    def stops(self) -> bool:
        is_bad = self.verdict == "fail" or (self.verdict == "undecided" and self.policy == "fail")
        return is_bad and self.accepted is None

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """The numbers for which an acceptance is valid."""
        return self.value, self.low, self.high


def failed(rule: Rule, cell: Cell, reason: str, value: float | None = None) -> Judged:
    """The failure of a cell that is missing or undefined."""
    return Judged(VerdictKey(rule.gate, rule.kind, cell), "fail", reason, value, policy=rule.undecided)


def shown_number(number: float | None) -> str:
    """A number for use in sentences of gates."""
    return "none" if number is None else f"{number:.6g}"


def corrected(judged: Sequence[Judged], correction: str, otherwise: VerdictWord = "undecided") -> list[Judged]:
    """The verdicts of one gate on one night, corrected for multiple tests: a failure must remain one among all of them.

    A failure that does not remain becomes ``otherwise``; verdicts without a ``p`` are kept and do not count. Passing
    needs no correction, since every test has to pass (Berger: Multiparameter hypothesis testing and acceptance
    sampling, Technometrics 1982).
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
    """The verdicts ``judged``, with the ``reasons`` of those that a person accepted while they had the same numbers."""
    verdicts = []
    for verdict in judged:
        numbers, reason = reasons.get(verdict.key, ((), None))
        is_same = repr(tuple(numbers)) == repr(verdict.numbers)  # NaN equals itself
        holds = verdict.verdict != "pass" and reason is not None and is_same
        verdicts.append(replace(verdict, accepted=reason) if holds else verdict)
    return verdicts


def exit_code(judged: Iterable[Judged]) -> int:
    """The exit code of the command. A failure takes precedence over an undecided verdict."""
    stopping = [verdict for verdict in judged if verdict.stops]
    if any(verdict.verdict == "fail" for verdict in stopping):
        return FAILED
    return UNDECIDED if stopping else 0


def gates_table(judged: Iterable[Judged], facts: Facts | None) -> pa.Table:
    """The table ``gates``: a row for each verdict."""
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
