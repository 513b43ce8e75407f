"""Gates with a bound: tests of whether the true value is on the good or on the bad side of the bound."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import ClassVar, NamedTuple

from sparkrank.gates.facts import IntervalEstimate
from sparkrank.gates.kind import Evidence, GateKind
from sparkrank.gates.rules import Cell, Rule
from sparkrank.gates.verdicts import GateVerdict, VerdictKey, VerdictWord, shown_number
from sparkrank.stats.intervals import OFF, TOO_FEW, tail
from sparkrank.stats.sequential import METHOD as SEQUENCE

FEW = 30  # from this many groups on, the message blames too little variation instead of too few groups
_SHARES = ("wilson", "logit")  # methods for shares from 0 to 1
_TAILS = ("t", "paired t", "jackknife", "log", *_SHARES)  # methods of intervals with a known tail probability


class BoundVerdict(NamedTuple):
    """The verdict of a test against a bound, its p-value ``p`` (None without a test), and ``why`` it is undecided."""

    verdict: VerdictWord
    p: float | None = None
    why: str | None = None


def side_of(
    estimate: IntervalEstimate, bound: float, sign: int, level: float = 0.95, *, has_interval: bool = True
) -> BoundVerdict:
    """Return the side of ``bound`` on which the estimated value is. Lower is worse if ``sign`` is 1, higher if -1.

    The verdict is a pass if the whole interval (of the confidence ``level``) is on the good side or at the bound, and a
    failure if the whole interval is beyond the bound. If the metric never has an interval (``has_interval`` is False),
    the number alone decides. Otherwise, a number without an interval is undecided.

    Examples
    --------
    >>> side_of(IntervalEstimate(0.35, 0.31, 0.39, 0.02), 0.3, 1).verdict
    'pass'
    >>> side_of(IntervalEstimate(0.35, 0.31, 0.39, 0.02), 0.36, 1).verdict
    'undecided'
    >>> side_of(IntervalEstimate(1.0, None, None, None, interval="too few", n_groups=2), 0.3, 1)
    BoundVerdict(verdict='undecided', p=None, why='2 groups are too few to say')
    """
    value = float(estimate.value or 0.0)
    low, high = (_known(end) for end in (estimate.low, estimate.high))
    if low is None and high is None and estimate.interval is None and not has_interval:
        return BoundVerdict("pass" if sign * (value - bound) >= 0 else "fail")
    if (why := _lack(estimate, low, high)) is not None:
        return BoundVerdict("undecided", why=why)
    worst, best = (low, high) if sign > 0 else (high, low)
    p = _p(estimate, bound, sign, level, low, high)
    if worst is not None and sign * (worst - bound) >= 0:
        return BoundVerdict("pass", p)
    return BoundVerdict("fail" if best is not None and sign * (best - bound) < 0 else "undecided", p)


def _lack(estimate: IntervalEstimate, low: float | None, high: float | None) -> str | None:
    """Return the reason why the interval of ``estimate`` cannot decide, or None if the interval can decide."""
    if estimate.interval == OFF.method:
        return "uncertainty.off has turned its interval off"
    if estimate.interval == TOO_FEW.method:
        return _too_few(estimate)
    if low is None and high is None:
        return "it has no interval"
    if low is not None and high is not None and not low < high:
        return f"its interval has no width, and {_too_few(estimate)}"
    return None


def too_few_pairs(difference: IntervalEstimate, level: float) -> str | None:
    """Return a message if all n groups differ in one direction by chance with p = 2^-n > (1 - level) / 2.

    Under the null hypothesis, both directions have the same probability. Return None with enough groups.
    """
    groups = _groups(difference)
    return _too_few(difference) if groups is not None and 2.0**-groups > (1 - level) / 2 else None


def _groups(estimate: IntervalEstimate) -> float | None:
    """Return the number of groups from which a value was computed, or None if the groups were not counted."""
    if estimate.n_groups is None:
        return estimate.n_effective
    effective = math.inf if estimate.n_effective is None else estimate.n_effective
    return min(estimate.n_groups - (estimate.n_undefined or 0), effective)


def _too_few(estimate: IntervalEstimate) -> str:
    """Return a message about too few groups. Even many groups can be too few if hardly any of their values differ."""
    known = _groups(estimate)
    if known is None:
        return "its groups are too few to say"
    groups = f"{known:,.0f} group" if round(known) == 1 else f"{known:,.0f} groups"
    if known >= FEW:
        return f"{groups} show too little variation to say"
    return f"{groups} {'is' if round(known) == 1 else 'are'} too few to say"


def _p(
    estimate: IntervalEstimate, bound: float, sign: int, level: float, low: float | None, high: float | None
) -> float | None:
    """Return the p-value of the hypothesis that the true value is at ``bound`` or on the good side of ``bound``.

    The method of the interval determines the test. For a method without a test, the p-value is computed from the ends
    of the interval, as for a normal distribution. The result is None if there is no test.
    """
    p = _p_of_method(estimate, bound, sign)
    best = high if sign > 0 else low
    if p is not None or best is None:
        return p
    half = (high - low) / 2 if low is not None and high is not None else abs(best - float(estimate.value or 0.0))
    if estimate.interval == SEQUENCE or half == 0:  # a sequence is valid for all looks together, so no look has a p
        return None
    quantile = NormalDist().inv_cdf(0.5 + level / 2)
    return 0.5 * math.erfc(quantile * (1 + sign * (bound - best) / half) / math.sqrt(2))


def _p_of_method(estimate: IntervalEstimate, bound: float, sign: int) -> float | None:
    method, value = estimate.interval or "t", float(estimate.value or 0.0)
    if method not in _TAILS:
        return None
    if sign < 0:  # test the other tail, without the rounding error of 1 - p
        value, bound = (1 - value, 1 - bound) if method in _SHARES else (-value, -bound)
    p = tail(value, bound, estimate.stderr, estimate.degrees, method, estimate.n_effective)
    return None if math.isnan(p) else p


class _Bound(GateKind):
    """The base class of gate kinds that limit a value from below or from above."""

    sign: ClassVar[int]
    beyond: ClassVar[str]

    def verdict(self, rule: Rule, cell: Cell, estimate: IntervalEstimate, evidence: Evidence) -> GateVerdict:
        """Return the verdict of :func:`side_of` on the value and the bound."""
        has_interval = cell.metric not in evidence.without_interval
        side = side_of(estimate, rule.bound, self.sign, evidence.level, has_interval=has_interval)
        bound = f"{rule.bound:.6g}"
        sentence = {
            "pass": f"is not {self.beyond} {bound}",
            "fail": f"is {self.beyond} {bound} by {shown_number(abs(float(estimate.value or 0.0) - rule.bound))}",
            "undecided": f"could be {self.beyond} {bound}: {side.why or reach_text(estimate, self.sign, rule.bound)}",
        }[side.verdict]
        return GateVerdict(
            VerdictKey(rule.gate, rule.kind, cell),
            side.verdict,
            f"{interval_text(estimate, rule.bound)} {sentence}{alone_text(side, estimate)}",
            estimate.value,
            None,
            rule.bound,
            estimate.low,
            estimate.high,
            rule.undecided,
            number=estimate.value,
            deviation=estimate.stderr,
            degrees=estimate.degrees or math.inf,
            sign=self.sign,
            p=side.p,
            alpha=evidence.alpha,
        )


class Min(_Bound):
    """The condition that a value is at least the bound."""

    name, sign, beyond = "min", 1, "below"


class Max(_Bound):
    """The condition that a value is at most the bound."""

    name, sign, beyond = "max", -1, "above"


def interval_text(estimate: IntervalEstimate, line: float | None = None) -> str:
    """Format a value with its interval for gate messages, with enough digits to differ from the bound ``line``."""
    value, low, high = (shown_number(number, line) for number in estimate[:3])
    return value if _known(estimate.low) is None or _known(estimate.high) is None else f"{value} ({low} to {high})"


def reach_text(estimate: IntervalEstimate, sign: int, line: float) -> str:
    """Return a clause with the end of the interval on the bad side: the low end if ``sign`` is 1, else the high end.

    The end has enough digits to differ from the bound ``line``.
    """
    worst = _known(estimate.low if sign > 0 else estimate.high)
    return "its interval has no end there" if worst is None else f"the interval reaches {shown_number(worst, line)}"


def alone_text(side: BoundVerdict, estimate: IntervalEstimate) -> str:
    """Return a remark if the value alone, without an interval, decided the verdict; otherwise an empty string."""
    alone = side.verdict != "undecided" and _known(estimate.low) is None and _known(estimate.high) is None
    return " (the value alone decides: it has no interval by nature)" if alone else ""


def _known(end: float | None) -> float | None:
    return None if end is None or math.isnan(end) else end
