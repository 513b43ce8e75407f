"""The band of a value's own history: where it has been on the days before, without the noise of the sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparkrank.gates.facts import Measured, Standard
from sparkrank.gates.kind import Kind, Night
from sparkrank.gates.rules import Cell, History, Rule
from sparkrank.gates.verdicts import Judged, Key, Verdict, shown_number

# The median absolute deviation of a normal distribution times this is its standard deviation.
MAD_SCALE = 1.4826
# The asymptotic efficiency of that for normal values: from n days it is known as well as a standard deviation from as
# many degrees of freedom as this times n - 1.
MAD_EFFICIENCY = 0.37


@dataclass(frozen=True)
class Band:
    """The median of the values of so many ``days``, and their standard deviation from day to day without that of the
    sample.
    """

    centre: float
    scatter: float
    days: int

    def deviation(self, stderr: float | None) -> float:
        """The standard deviation from the centre of a day whose value has the standard error ``stderr``."""
        return math.hypot(self.scatter, _number(stderr))

    def prediction(self, stderr: float | None) -> tuple[float, float]:
        """How far from the centre another day lies by chance, and how well that is known.

        Parameters
        ----------
        stderr
            The standard error of the day's value.

        Returns
        -------
        deviation, degrees : float
            The standard deviation from the centre, of which the median is an estimate itself, and its degrees of
            freedom (Welch and Satterthwaite): infinite where the sample explains all of it.
        """
        deviation = self.deviation(stderr)
        share = 0.0 if deviation == 0 else (self.scatter / deviation) ** 2
        degrees = math.inf if share == 0 else MAD_EFFICIENCY * (self.days - 1) / share**2
        return deviation * math.sqrt(1 + math.pi / (2 * self.days)), degrees


def band_of(values: Sequence[float], stderrs: Sequence[float | None]) -> Band:
    """The band of the values of days.

    The variance of the band is that of the values, by the median absolute deviation, less the mean of the squared
    standard errors: what is left is the change from day to day. It is 0 where the sample explains all of it.

    Parameters
    ----------
    values
        A value for each day, none of them NaN; at least one.
    stderrs
        The standard error of each; None or NaN where it has none, which takes nothing off.

    Returns
    -------
    Band

    Examples
    --------
    >>> band_of([1.0, 2.0, 3.0], [None, None, None])
    Band(centre=2.0, scatter=1.4826, days=3)
    """
    of_days = np.asarray(values, np.float64)
    centre = float(np.median(of_days))
    spread = MAD_SCALE * float(np.median(np.abs(of_days - centre)))
    noise = float(np.mean([_number(each) ** 2 for each in stderrs]))
    return Band(centre, math.sqrt(max(0.0, spread * spread - noise)), len(of_days))


def _number(stderr: float | None) -> float:
    return 0.0 if stderr is None or math.isnan(stderr) else stderr


class AsBefore(Kind):
    """Not outside of the band of its own history."""

    name: ClassVar[str] = "history"
    is_directed: ClassVar[bool] = True
    reads_history: ClassVar[bool] = True

    def judged(self, rule: Rule, cell: Cell, measured: Measured, night: Night) -> Judged:
        """Whether the value is beyond the band."""
        return history_judged(rule, cell, measured, night.standard, night.history, night.sign(cell))


def history_judged(
    rule: Rule, cell: Cell, measured: Measured, standard: Standard, options: History, sign: int
) -> Judged:
    """Whether the value is beyond the band of the accepted days before, on the side that is worse."""
    value = float(measured.value or 0.0)
    known = [each for facts in standard.days if (each := facts.measured.get(cell)) is not None]
    alike = [each for each in known if each.definition == measured.definition]
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
        reason = f"its history has {len(used)} {what} before, and {options.least_days} are needed for a band{left_out}"
        return Judged(key, "undecided", reason, value, None, None, measured.low, measured.high, rule.undecided)
    band = band_of([float(each.value or 0.0) for each in used], [each.stderr for each in used])
    deviation, degrees = band.prediction(measured.stderr)
    half = options.width * band.deviation(measured.stderr) + rule.margin.of(band.centre)
    bound = band.centre - sign * half
    verdict: Verdict = "pass" if sign * (value - bound) >= 0 else "fail"
    told = f"{shown_number(band.centre - half)} to {shown_number(band.centre + half)}"
    against = f"median {shown_number(band.centre)} of {_days(len(used))}, band {told}"
    where = "beyond its worse end" if verdict == "fail" else "not beyond its worse end"
    reason = f"{shown_number(value)} is {where}: the band of {_days(len(used))} before is {told}{left_out}"
    return Judged(
        key,
        verdict,
        reason,
        value,
        against,
        bound,
        measured.low,
        measured.high,
        rule.undecided,
        judged=value,
        expected=band.centre,
        deviation=deviation,
        degrees=degrees,
        sign=sign,
    )


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"
