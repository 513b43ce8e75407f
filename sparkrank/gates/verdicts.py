"""Verdicts: what gates say of a day or window, and the table and the exit code that come of it."""

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

Verdict: TypeAlias = Literal["pass", "fail", "undecided"]
FAILED, UNDECIDED = 3, 5  # exit codes


class Key(NamedTuple):
    """Which verdict of a day or window it is."""

    gate: str
    kind: str
    cell: Cell


@dataclass(frozen=True)
class Judged:
    """A verdict: a row of the table ``gates``.

    ``expected`` is where ``judged`` (the value, or the difference) would be if nothing had changed, None where only
    other days can tell; ``deviation`` is the standard deviation of it then, with ``degrees`` of freedom. ``sign`` is 1
    where lower is worse, -1 where higher is. Where both are, ``other`` is the bound on the other side.

    ``p`` is that of the one-sided test whose hypothesis is that the truth is good enough, None where nothing was
    tested. ``p_adjusted`` is the same among all ``tests`` of its gate: at most ``alpha``, it is a failure. ``left_out``
    are the values of slices that the gate leaves out because they have too few groups. ``begins_anew``: a person has
    let the history of its cell begin anew with the day.
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
    other: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    alpha: float = 0.025
    tests: int = 1
    left_out: int = 0
    begins_anew: bool = False

    @property
    def stops(self) -> bool:
        """Whether somebody has to look at it before the day goes on."""
        is_bad = self.verdict == "fail" or (self.verdict == "undecided" and self.policy == "fail")
        return is_bad and self.accepted is None

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """What an acceptance holds for."""
        return self.value, self.low, self.high


def failed(rule: Rule, cell: Cell, reason: str, value: float | None = None) -> Judged:
    """The verdict on what is not there, or undefined."""
    return Judged(Key(rule.gate, rule.kind, cell), "fail", reason, value, policy=rule.undecided)


def shown_number(number: float | None) -> str:
    """A number as sentences of gates print it."""
    return "none" if number is None else f"{number:.6g}"


def corrected(judged: Sequence[Judged], correction: str) -> list[Judged]:
    """The verdicts of one gate of one night, where a failure stays one only if it is none by chance among all of them.

    Each was made alone. To pass needs no correction: all of them have to (Berger: Multiparameter hypothesis testing and
    acceptance sampling, Technometrics 1982).

    Parameters
    ----------
    judged
        The verdicts of all cells of the gate. Those without a ``p`` stay as they are and do not count.
    correction
        One of :data:`sparkrank.stats.corrections.METHODS`.

    Returns
    -------
    list of Judged
        In the same order, with ``p_adjusted``.

    Examples
    --------
    >>> cell = Cell("auc", "candidate")
    >>> alone = [Judged(Key("g", "min", cell), "fail", "it is below", p=p) for p in (0.005, 0.01, 0.02, 0.02)]
    >>> [each.verdict for each in corrected(alone, "holm")]  # 4 · 0.005, 3 · 0.01 ... against 0.025
    ['fail', 'undecided', 'undecided', 'undecided']
    """
    family = adjusted([math.nan if each.p is None else each.p for each in judged], correction).tolist()
    tests = sum(each.p is not None for each in judged)
    return [
        each if each.p is None else _corrected(replace(each, p_adjusted=p, tests=tests))
        for each, p in zip(judged, family, strict=True)
    ]


def _corrected(judged: Judged) -> Judged:
    if judged.verdict != "fail" or judged.tests == 1 or float(judged.p_adjusted or 0.0) <= judged.alpha:
        return judged
    p, own = (f"{number:.2g}" for number in (judged.p_adjusted, judged.p))
    among = f"alone it would fail, but among {judged.tests:,} checks chance does as much (p {own}, adjusted {p})"
    verdict: Verdict = (
        "pass" if judged.key.kind == "history" else "undecided"
    )  # where it usually is, as far as can be told
    return replace(judged, verdict=verdict, reason=f"{judged.reason}; {among}")


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
            "p": each.p,
            "p_adjusted": each.p_adjusted,
            "left_out": each.left_out,
            "verdict": each.verdict,
            "reason": each.reason,
            "accepted": each.accepted is not None,
            "accepted_reason": each.accepted,
            FROM_NOW_ON: each.begins_anew,
            "spec_hash": None if facts is None else facts.spec_hash,
            "run_id": None if facts is None else facts.run_id,
        }
        for each in judged
    ]
    return pa.Table.from_pylist(rows, schema=GATES.schema)
