"""How often a gate fails although nothing has changed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkrank.gates.register import KINDS
from sparkrank.gates.verdicts import Judged, VerdictKey


def chance_of_failing(distance: float, stderr: float, degrees: float = math.inf) -> float:
    """The probability that noise alone moves a value to where its gate fails.

    Parameters
    ----------
    distance
        How far what is judged would have to move to the bad side for the gate to fail, from where it is when nothing
        has changed; negative where it fails there already.
    stderr
        The standard error of what is judged. Whatever estimates it may give it: the table's interval, or the
        differences between halves of the parts.
    degrees
        The degrees of freedom of the standard error.

    Returns
    -------
    float
        The tail of Student's t, or of a normal distribution; 0 or 1 where there is no noise.

    Examples
    --------
    >>> round(chance_of_failing(1.96 * 0.01, 0.01), 4)
    0.025
    >>> chance_of_failing(0.1, 0.0)
    0.0
    """
    if stderr == 0:
        return 0.0 if distance >= 0 else 1.0
    if math.isinf(degrees):
        return 0.5 * math.erfc(distance / (stderr * math.sqrt(2)))
    from scipy import stats  # loading it takes longer than all else here

    return float(stats.t.sf(distance / stderr, degrees))


@dataclass(frozen=True)
class GateRecord:
    """What a gate did on the nights of a replay.

    ``stopped`` are the nights on which one of its verdicts failed, ``undecided`` those on which none failed and one was
    undecided. ``by_chance`` is how many would have been stopped on average if nothing had changed on any of them, None
    where no verdict says so, and ``unknown`` the number of verdicts that do not, because what is judged has no standard
    error, or no history.
    ``in_splits`` is the same as ``by_chance``, from halves of the groups against each other, on the ``split_nights``
    that have states.
    """

    gate: str
    nights: int
    stopped: Sequence[str]
    undecided: Sequence[str]
    by_chance: float | None
    unknown: int
    in_splits: float = 0.0
    split_nights: int = 0


def records_of(
    nights: Iterable[tuple[str, Sequence[Judged]]],
    splits: Mapping[str, Mapping[VerdictKey, Sequence[float]]] | None = None,
) -> list[GateRecord]:
    """What each gate did on ``nights``: the days and their verdicts.

    When nothing changes, a value stays at its median over the nights, a difference between models is 0, and a value
    that is held against its history is where that was.

    Parameters
    ----------
    nights
        Each day with its verdicts, in order.
    splits
        Of days, the noise of verdicts in each A/A split: half of the difference between two halves of the groups. All
        verdicts of a day are split alike, so that those on the same rows fail together.

    Returns
    -------
    list of GateRecord
        In the order of the gates.
    """
    nights = list(nights)
    values: dict[VerdictKey, list[float]] = {}
    for _, judged in nights:
        for each in judged:
            if each.judged is not None:
                values.setdefault(each.key, []).append(each.judged)
    usual = {key: statistics.median(found) for key, found in values.items()}
    records = []
    for gate in dict.fromkeys(each.key.gate for _, judged in nights for each in judged):
        of_gate = {day: [each for each in judged if each.key.gate == gate] for day, judged in nights}
        verdicts = {day: {each.verdict for each in judged} for day, judged in of_gate.items()}
        chances = {day: [_chance(each, usual) for each in judged] for day, judged in of_gate.items()}
        split = [_in_splits(of_gate[day], usual, noise) for day, noise in (splits or {}).items()]
        records.append(
            GateRecord(
                gate,
                len(nights),
                [day for day, found in verdicts.items() if "fail" in found],
                [day for day, found in verdicts.items() if "fail" not in found and "undecided" in found],
                _expected(chances.values()),
                sum(chance is None for of_night in chances.values() for chance in of_night),
                sum(split),
                len(split),
            )
        )
    return records


def _expected(nights: Iterable[Sequence[float | None]]) -> float | None:
    """The expected number of nights with a failure, of the chances of their verdicts; None where none is known."""
    known = [[chance for chance in night if chance is not None] for night in nights]
    return sum(map(_any_of, known)) if any(known) else None


def _chance(judged: Judged, usual: Mapping[VerdictKey, float]) -> float | None:
    """The probability that noise alone makes the verdict a failure; None where nobody knows how much noise there is."""
    deviation, distances = judged.deviation, _distances(judged, usual)
    if not distances or deviation is None or math.isnan(deviation):
        return None
    return sum(chance_of_failing(distance, deviation, judged.degrees) for distance in distances)


def _distances(judged: Judged, usual: Mapping[VerdictKey, float]) -> list[float]:
    """How far noise would have to move what is judged for the verdict to be a failure: to each side that is bad.

    Empty where there is no value. Among many tests of a gate a single failure is one that stands out of all of them.
    """
    if judged.judged is None or judged.bound is None:
        return []
    expected = usual[judged.key] if judged.expected is None else judged.expected
    more = 0.0
    if not KINDS[judged.key.kind].reads_history and judged.low is not None and judged.high is not None:
        more = judged.high - judged.judged if judged.sign > 0 else judged.judged - judged.low
    if judged.p is not None and judged.tests > 1 and judged.deviation is not None:
        alone, among = (_quantile(judged.alpha / tests, judged.degrees) for tests in (1, judged.tests))
        more += (among - alone) * judged.deviation
    ends = [judged.sign * (expected - judged.bound)]
    if judged.other is not None:
        ends.append(judged.sign * (judged.other - expected))
    return [end + more for end in ends]


def _quantile(tail: float, degrees: float) -> float:
    """What Student's t is above with the probability ``tail``."""
    from scipy import special

    return -float(special.ndtri(tail) if math.isinf(degrees) else special.stdtrit(degrees, tail))


def _in_splits(
    judged: Iterable[Judged], usual: Mapping[VerdictKey, float], splits: Mapping[VerdictKey, Sequence[float]]
) -> float:
    """The share of a night's A/A splits in which at least one of its verdicts is a failure; each half is both in turn.

    The scatter of a history is no difference between halves: it has their noise in it, and it is a distribution.
    """
    passing: list[float] = []
    for each in judged:
        distances, noise = _distances(each, usual), splits.get(each.key)
        if not distances or noise is None:
            continue
        is_history = KINDS[each.key.kind].reads_history
        moved = [0.0 if is_history else each.sign * turn * half for turn in (1, -1) for half in noise]
        scatter = each.deviation if is_history and each.deviation is not None else 0.0
        alone = [1.0 - sum(chance_of_failing(end + by, scatter, each.degrees) for end in distances) for by in moved]
        passing = [one * other for one, other in zip(passing or [1.0] * len(alone), alone, strict=True)]
    return 1.0 - statistics.fmean(passing) if passing else 0.0


def _any_of(chances: Iterable[float]) -> float:
    """The probability of at least one, as if each came by itself: of verdicts on the same rows it is at most this."""
    return 1.0 - math.prod(1.0 - chance for chance in chances)
