"""Estimates of the probability that a gate fails by chance, although nothing has changed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkrank.gates.register import KINDS
from sparkrank.gates.verdicts import GateVerdict, VerdictKey


def chance_of_failing(distance: float, stderr: float, degrees: float = math.inf) -> float:
    """Return the probability that noise of standard error ``stderr`` moves a value by at least ``distance``.

    ``distance`` is how far the gate's bound is from the expected value, negative if the gate fails even without noise.
    """
    if stderr == 0:
        return 0.0 if distance >= 0 else 1.0
    if math.isinf(degrees):
        return 0.5 * math.erfc(distance / (stderr * math.sqrt(2)))
    from scipy import stats  # loading it takes longer than everything else here

    return float(stats.t.sf(distance / stderr, degrees))


@dataclass(frozen=True)
class GateRecord:
    """The verdicts of one ``gate`` on ``nights`` stored days, judged again by ``sparkrank gate --replay``.

    ``stopped`` contains the days of failures, and ``undecided`` the other days with an undecided verdict. ``by_chance``
    is the expected number of failed days if nothing had changed. ``by_chance`` is None if no verdict allows an
    estimate. ``unknown`` counts the verdicts that allow none, because they lack a standard error or a history.
    """

    gate: str
    nights: int
    stopped: Sequence[str]
    undecided: Sequence[str]
    by_chance: float | None
    unknown: int


def records_of(nights: Iterable[tuple[str, Sequence[GateVerdict]]]) -> list[GateRecord]:
    """Return the record of each gate over the ``nights``, which are pairs of a day and its verdicts.

    The value expected without a change is 0 for a difference between models, the centre of the history for a value
    compared with its history, and otherwise the median over the nights.
    """
    nights = list(nights)
    values: dict[VerdictKey, list[float]] = {}
    for _, verdicts in nights:
        for verdict in verdicts:
            if verdict.number is not None:
                values.setdefault(verdict.key, []).append(verdict.number)
    usual = {key: statistics.median(series) for key, series in values.items()}
    records = []
    for gate in dict.fromkeys(verdict.key.gate for _, verdicts in nights for verdict in verdicts):
        of_gate = {day: [verdict for verdict in verdicts if verdict.key.gate == gate] for day, verdicts in nights}
        words = {day: {verdict.verdict for verdict in verdicts} for day, verdicts in of_gate.items()}
        chances = [[_chance(verdict, usual) for verdict in verdicts] for verdicts in of_gate.values()]
        known = [[chance for chance in night if chance is not None] for night in chances]
        records.append(
            GateRecord(
                gate,
                len(nights),
                [day for day, said in words.items() if "fail" in said],
                [day for day, said in words.items() if "fail" not in said and "undecided" in said],
                sum(map(_any_of, known)) if any(known) else None,
                sum(chance is None for night in chances for chance in night),
            )
        )
    return records


def _chance(verdict: GateVerdict, usual: Mapping[VerdictKey, float]) -> float | None:
    """Return the probability that noise alone makes the verdict a failure; None if the amount of noise is unknown."""
    deviation, distances = verdict.deviation, _distances(verdict, usual)
    if not distances or deviation is None or math.isnan(deviation):
        return None
    return sum(chance_of_failing(distance, deviation, verdict.degrees) for distance in distances)


def _distances(verdict: GateVerdict, usual: Mapping[VerdictKey, float]) -> list[float]:
    """Return how far noise must move the value for a failure, corrected for all tests: one distance per bad direction.

    The list is empty if the verdict has no value or no bound.
    """
    if verdict.number is None or verdict.bound is None:
        return []
    expected = usual[verdict.key] if verdict.expected is None else verdict.expected
    more = 0.0
    if not KINDS[verdict.key.kind].reads_history and verdict.low is not None and verdict.high is not None:
        more = verdict.high - verdict.number if verdict.sign > 0 else verdict.number - verdict.low
    if verdict.p is not None and verdict.tests > 1 and verdict.deviation is not None:
        alone, among = (_quantile(verdict.alpha / tests, verdict.degrees) for tests in (1, verdict.tests))
        more += (among - alone) * verdict.deviation
    ends = [verdict.sign * (expected - verdict.bound)]
    if verdict.other is not None:
        ends.append(verdict.sign * (verdict.other - expected))
    return [end + more for end in ends]


def _quantile(tail: float, degrees: float) -> float:
    """Return the number that a variable with Student's t distribution exceeds with the probability ``tail``."""
    from scipy import special

    return -float(special.ndtri(tail) if math.isinf(degrees) else special.stdtrit(degrees, tail))


def _any_of(chances: Iterable[float]) -> float:
    """Return the probability of at least one of several independent events. It is too high for correlated events."""
    return 1.0 - math.prod(1.0 - chance for chance in chances)
