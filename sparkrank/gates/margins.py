"""Gates on the difference between two models on the same day: a model must be equivalent to another, or not worse."""

from __future__ import annotations

import math
from typing import ClassVar

from sparkrank.gates.bounds import BoundVerdict, alone_text, interval_text, reach_text, side_of, too_few_pairs
from sparkrank.gates.facts import IntervalEstimate
from sparkrank.gates.kind import Evidence, GateKind
from sparkrank.gates.rules import Cell, Rule
from sparkrank.gates.verdicts import GateVerdict, VerdictKey, failure, shown_number
from sparkrank.stats.intervals import TOO_FEW, t_quantile
from sparkrank.stats.ratios import StandardErrors, margin_stderr


class _Difference(GateKind):
    """The base class of gate kinds that limit the difference between two models in one or both directions."""

    compares: ClassVar[bool] = True
    good: ClassVar[str]
    bad: ClassVar[str]
    doubtful: ClassVar[str]

    def signs(self, cell: Cell, evidence: Evidence) -> tuple[int, ...]:
        """Return the directions that are bad: 1 if a lower difference is bad, -1 if a higher difference is bad."""
        raise NotImplementedError

    def verdict(self, rule: Rule, cell: Cell, estimate: IntervalEstimate, evidence: Evidence) -> GateVerdict:
        """Return a pass if the whole interval of the difference is within the margin in every bad direction."""
        facts, value, against = evidence.facts, estimate.value, str(rule.against)
        if facts.compared is None:
            return failure(rule, cell, f"{facts.name} has no table comparisons to judge it by", value)
        difference = facts.compared.get((cell, against))
        baseline = facts.measured.get(cell._replace(model=against), IntervalEstimate(None, None, None, None))
        if difference is None:
            return failure(rule, cell, f"{facts.name} has no comparison of it with {against}", value)
        if _is_undefined(difference):
            return failure(rule, cell, f"its difference to {against} is undefined on {facts.name}", value)
        if rule.margin.relative and _is_undefined(baseline):
            share = f"{against} has no value on {facts.name} of which to take the margin, {rule.margin}"
            return failure(rule, cell, share, value)
        why = _unpaired(cell, difference, estimate, baseline, rule, evidence.most_unpaired)
        if why is None and cell.metric not in evidence.without_interval:
            why = too_few_pairs(difference, evidence.level)
        margin = rule.margin.of(float(baseline.value or 0.0))
        tests = []
        for sign in self.signs(cell, evidence):
            tested, lack = _with_margin(difference, estimate, baseline, rule, sign, evidence.level)
            bound = 0.0 - sign * margin
            has_interval = cell.metric not in evidence.without_interval
            side = side_of(tested, bound, sign, evidence.level, has_interval=has_interval)
            if (lack := why or lack) is not None:
                side = BoundVerdict("undecided", why=lack)
            tests.append((side, bound, sign, tested))
        side, bound, sign, tested = min(tests, key=_decisive)
        words = {"pass": self.good, "fail": self.bad, "undecided": self.doubtful}[side.verdict]
        details = [side.why or ("" if side.verdict != "undecided" else reach_text(tested, sign, bound))]
        if side.why is None:
            share = f"{shown_number(margin)} ({rule.margin} of {shown_number(baseline.value)})"
            details.append(f"the margin is {share if rule.margin.relative else rule.margin}")
        shown = interval_text(tested, bound)
        reason = f"its difference to {against}, {shown}, {words}: {', '.join(filter(None, details))}"
        return GateVerdict(
            VerdictKey(rule.gate, rule.kind, cell),
            side.verdict,
            f"{reason}{alone_text(side, tested)}",
            value,
            against if _is_undefined(baseline) else f"{against} {baseline.value:.6g}",
            bound,
            tests[0][-1].low,
            tests[-1][-1].high,
            rule.undecided,
            number=difference.value,
            expected=0.0,
            deviation=tested.stderr,
            degrees=tested.degrees or math.inf,
            sign=sign,
            p=side.p,
            alpha=evidence.alpha,
        )


class NotWorse(_Difference):
    """The condition that a model is worse than another model by at most a margin."""

    name, phrase = "not_worse_than", "not worse than"
    is_directed = True
    good, bad, doubtful = "is no worse than allowed", "is worse than allowed", "could be worse than allowed"

    def signs(self, cell: Cell, evidence: Evidence) -> tuple[int, ...]:
        """Return :meth:`Evidence.sign`, as the only element."""
        return (evidence.sign(cell),)


class Equivalent(_Difference):
    """The condition that a model differs from another by at most a margin, judged by two one-sided tests.

    Schuirmann: Journal of Pharmacokinetics and Biopharmaceutics 1987.
    """

    name, phrase = "equivalent_to", "equivalent to"
    needs_margin = True
    good, bad, doubtful = "is no larger than allowed", "is larger than allowed", "could be larger than allowed"

    def signs(self, cell: Cell, evidence: Evidence) -> tuple[int, ...]:  # noqa: ARG002 - the same for each cell
        """Return both directions: a lower and a higher difference are bad."""
        return 1, -1


def _is_undefined(estimate: IntervalEstimate) -> bool:
    return estimate.value is None or math.isnan(estimate.value)


def _decisive(test: tuple[BoundVerdict, float, int, IntervalEstimate]) -> tuple[int, float]:
    """Return a sort key that puts first the test that decides: failures, then undecided tests, then the smallest p."""
    side = test[0]
    return ("fail", "undecided", "pass").index(side.verdict), 1.0 if side.p is None else side.p


def _unpaired(
    cell: Cell,
    difference: IntervalEstimate,
    candidate: IntervalEstimate,
    baseline: IntervalEstimate,
    rule: Rule,
    most: float,
) -> str | None:
    """Return a message if there are too many groups where only one of the two models has a value; otherwise None."""
    unpaired = difference.n_unpaired or 0
    models = (candidate, baseline)
    defined = [each.n_groups - (each.n_undefined or 0) for each in models if each.n_groups is not None]
    groups = (sum(defined) + unpaired) // 2 if len(defined) == 2 else (difference.n_groups or 0) + unpaired
    if unpaired <= most * groups:
        return None
    share = f"{unpaired:,} of {groups:,} groups ({100 * unpaired / groups:.2g}%)"
    return f"in {share} only one of {cell.model} and {rule.against} has a value (compare.most_unpaired is {most:g})"


def _with_margin(
    difference: IntervalEstimate,
    candidate: IntervalEstimate,
    baseline: IntervalEstimate,
    rule: Rule,
    sign: int,
    level: float,
) -> tuple[IntervalEstimate, str | None]:
    """Return the difference with the interval to compare with the margin, and the reason if there is no such interval.

    A margin that is a share of the baseline's value is itself uncertain. The difference and the margin are therefore
    tested together, as candidate - (1 - share) · baseline. The reason is None if there is an interval.
    """
    if not rule.margin.relative or difference.low is None or difference.high is None:
        return difference, None
    holds_0 = baseline.low is not None and baseline.high is not None and baseline.low < 0 < baseline.high
    if not baseline.value or holds_0:
        return difference, f"{rule.against}, {interval_text(baseline)}, could be 0, and a share of 0 is no margin"
    stderrs = [stderr for each in (difference, baseline, candidate) if (stderr := _stderr(each)) is not None]
    if len(stderrs) < 3:
        return difference, "a margin in % needs the standard errors of both models: give by as a number"
    errors = StandardErrors(*stderrs)
    stderr = margin_stderr(sign * rule.margin.amount, float(baseline.value or 0.0), errors)
    degrees = min((each.degrees for each in (difference, baseline) if each.degrees is not None), default=None)
    if degrees is not None:
        half = t_quantile(degrees, 0.5 + level / 2) * stderr
    else:  # a row of an older run: scale the half-width of the difference
        half = (difference.high - difference.low) / 2 * (stderr / errors.difference if errors.difference else 0.0)
    value = float(difference.value or 0.0)
    low, high = value - half, value + half
    if 0.0 in (difference.low, difference.high):  # too few groups for a difference, or a share, to exclude 0
        low, high = min(low, 0.0), max(high, 0.0)
    return difference._replace(low=low, high=high, stderr=stderr, degrees=degrees), None


def _stderr(estimate: IntervalEstimate) -> float | None:
    """Return the standard error, or 0 for a value without variation, whose difference from another may still vary."""
    return 0.0 if estimate.stderr is None and estimate.interval in ("wilson", TOO_FEW.method) else estimate.stderr
