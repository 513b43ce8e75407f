"""The history band of a value: the range expected for a new value from the days before."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from sparkrank.gates.facts import IntervalEstimate, Standard
from sparkrank.gates.kind import Evidence, GateKind
from sparkrank.gates.rules import Cell, History, Margin, Rule
from sparkrank.gates.verdicts import GateVerdict, VerdictKey, shown_number
from sparkrank.stats.intervals import TOO_FEW

# A day is a stray (an outlier) if only one in a thousand normal histories has a day as far from the other days. Strays
# are left out; otherwise, a single outage would widen the band for weeks. At most a fifth of the days are strays.
STRAY = 0.001
MOST_STRAYS = 0.2
# From two weeks of history on, weekdays have their own means if an F test at this level says that the means differ.
RHYTHM = 0.05
TWO_WEEKS = 14
# The standard error of a day is unusually large if it exceeds this quantile of the standard errors in its history.
USUAL = 0.9
# A value describes other groups than before if the share of groups in which the value is defined is below the history
# band of that share, and also below this fraction of the usual share.
MUCH_SMALLER = 0.9
ROUNDING = 1e-12  # relative to a value: smaller differences do not count


@dataclass(frozen=True)
class Band:
    """The value expected from the days before: about ``centre``, with a standard deviation of ``scatter``.

    The centre is the mean of ``alike`` days. The scatter is computed from all ``days``, with ``degrees`` of freedom.
    ``strays`` is the number of outlying days, which are left out. ``usual`` is the standard error of a usual day (the
    :data:`USUAL` quantile), which the scatter already includes. If ``by_weekday`` is true, the centre is the mean of
    the days with the judged day's weekday.

    ``reach`` is a range that the band always contains, for histories with perhaps too little scatter; otherwise None.
    ``constant`` is None, or a value with its number of days, if most days (or all days of that weekday) have the same
    value. In this case, the scatter is uninformative.
    """

    centre: float
    scatter: float
    degrees: float
    alike: int
    days: int
    strays: int = 0
    usual: float = math.inf
    by_weekday: bool = False
    reach: tuple[float, float] | None = None
    constant: tuple[float, int] | None = None

    def prediction(self, stderr: float | None) -> tuple[float, float]:
        """Return the standard deviation of a new day's value, with this ``stderr``, from the centre, and its degrees.

        The degrees of freedom are by Welch and Satterthwaite; the part of ``stderr`` beyond the usual error counts as
        known. A deviation of 0 means that the history is uninformative. Hahn: Journal of the American Statistical
        Association 1970.

        Examples
        --------
        >>> band = Band(0.5, 0.03, 8.0, 9, 9, usual=0.01)
        >>> round(band.prediction(0.01)[0], 6)  # 0.03 * sqrt(1 + 1 / 9)
        0.031623
        >>> band.prediction(math.sqrt(0.001 + 0.0001))  # another 0.001 is as much again
        (0.044721359549995794, 32.0)
        """
        known, more = self.scatter**2 * (1 + 1 / self.alike), self._more(stderr)
        return math.sqrt(known + more), self.degrees * ((known + more) / known) ** 2 if known else math.inf

    def _more(self, stderr: float | None) -> float:
        return 0.0 if stderr is None else max(0.0, stderr**2 - self.usual**2)


def band_of(
    values: Sequence[float],
    stderrs: Sequence[float | None],
    weekdays: Sequence[int | None] = (),
    weekday: int | None = None,
) -> Band:
    """Return the band of a value, from the ``values`` of at least two earlier days (without NaN) and their ``stderrs``.

    ``weekday`` is the weekday of the judged day. The scatter is not corrected for sampling: it includes the sampling
    noise of a usual day, but excludes effects of daily users, which are the same on all days. If more than half of the
    days have the same value, the scatter is uninformative. The error of the judged day then counts in full, and the
    band contains the range of the days' values. The band also contains this range if the values have no standard error.
    """
    middle = statistics.median(values)
    numbers = [0.0 if abs(value - middle) <= ROUNDING * abs(middle) else value - middle for value in values]
    most = max(Counter(numbers).values())
    is_tied = 2 * most > len(numbers)
    one, by_weekday, strays = [0] * len(numbers), False, set[int]()
    may_have_rhythm = weekday is not None and None not in weekdays and not is_tied
    kinds = [day or 0 for day in weekdays] if may_have_rhythm else one
    if may_have_rhythm and len(numbers) >= TWO_WEEKS:
        strays = _strays(numbers, kinds)
        by_weekday = _have_rhythm(numbers, kinds, strays, weekday or 0)
    if not by_weekday:
        # in the first two weeks, a day that looks like an outlier may be the first weekend
        is_early = may_have_rhythm and len(numbers) < TWO_WEEKS
        kinds, strays = one, set() if is_tied or is_early else _strays(numbers, one)
    fit = _fit(numbers, kinds, strays)
    own = (weekday or 0) if by_weekday else 0
    kept = [number for day, number in enumerate(numbers) if day not in strays]
    errors = sorted(error for day, error in enumerate(stderrs) if error is not None and day not in strays)
    scatter, centre = math.sqrt(fit.squares / fit.degrees), middle + fit.means[own]
    scatter = 0.0 if scatter <= ROUNDING * abs(centre) else scatter
    usual = 0.0 if is_tied or scatter == 0 else errors[math.ceil(USUAL * len(errors)) - 1] if errors else math.inf
    needs_reach = is_tied or (not errors and not by_weekday)
    return Band(
        centre,
        scatter,
        fit.degrees,
        fit.counts[own],
        len(kept),
        len(strays),
        usual,
        by_weekday,
        (middle + min(kept), middle + max(kept)) if needs_reach else None,
        (middle, most) if is_tied else (centre, fit.counts[own]) if scatter == 0 else None,
    )


class _Fit(NamedTuple):
    """A fit of one mean per weekday, or of one mean for all days (under the key 0).

    ``counts`` contains the numbers of days. ``squares`` is the sum of squares about the means, with ``degrees`` of
    freedom.
    """

    means: Mapping[int, float]
    counts: Mapping[int, int]
    squares: float
    degrees: int


def _fit(values: Sequence[float], kinds: Sequence[int], without: Collection[int]) -> _Fit:
    days: dict[int, list[float]] = {}
    for day, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        if day not in without:
            days.setdefault(kind, []).append(value)
    means = {kind: sum(of_kind) / len(of_kind) for kind, of_kind in days.items()}
    squares = sum((value - means[kind]) ** 2 for kind, of_kind in days.items() for value in of_kind)
    counts = {kind: len(of_kind) for kind, of_kind in days.items()}
    return _Fit(means, counts, squares, sum(counts.values()) - len(counts))


def _have_rhythm(values: Sequence[float], weekdays: Sequence[int], without: Collection[int], today: int) -> bool:
    """Return whether the means of weekdays differ by an F test. At least two days must have the weekday ``today``."""
    apart, alike = _fit(values, weekdays, without), _fit(values, [0] * len(values), without)
    degrees = alike.degrees - apart.degrees
    if apart.counts.get(today, 0) < 2 or degrees < 1:
        return False
    between = (alike.squares - apart.squares) / degrees
    if apart.squares == 0:
        return between > 0
    from scipy import special

    return bool(special.fdtrc(degrees, apart.degrees, between * apart.degrees / apart.squares) < RHYTHM)


def _strays(values: Sequence[float], kinds: Sequence[int]) -> set[int]:
    """Return the indices of outlying days, by Rosner's generalized extreme studentized deviate test (1983).

    ``values`` must have a median of 0. Days within three times the median distance (two standard deviations) are never
    outliers. If a weekday has only two days, both are equally far from their mean; the day further from the median of
    all days is then the outlier.
    """
    fit = _fit(values, kinds, ())
    residuals = [abs(value - fit.means[kind]) for value, kind in zip(values, kinds, strict=True)]
    far = 3 * statistics.median(residuals)
    most = min(int(MOST_STRAYS * len(values)), sum(residual > far for residual in residuals))
    taken: list[int] = []
    strays = 0
    while len(taken) < most and fit.degrees > 1 and fit.squares > 0:
        deviation = math.sqrt(fit.squares / fit.degrees)
        scales = {kind: deviation * math.sqrt(1 - 1 / count) for kind, count in fit.counts.items() if count > 1}
        distance, _, day = max(
            (round(abs(value - fit.means[kind]) / scales[kind], 6), abs(value), day)
            for day, (value, kind) in enumerate(zip(values, kinds, strict=True))
            if kind in scales and day not in taken
        )
        taken.append(day)
        if distance > _furthest(fit.degrees, len(values) - len(taken) + 1):
            strays = len(taken)
        fit = _fit(values, kinds, taken)
    return set(taken[:strays])


@lru_cache(maxsize=1024)
def _furthest(degrees: int, days: int) -> float:
    """Return the distance from the mean, in standard deviations, that a day exceeds in 1 of 1,000 normal histories."""
    from scipy import special

    quantile = float(special.stdtrit(degrees - 1, 1 - STRAY / (2 * days)))
    return quantile * math.sqrt(degrees / (degrees - 1 + quantile**2))


def own_error(estimate: IntervalEstimate) -> float | None:
    """Return a value's standard error, or (for percentiles) a quarter of its interval's width; None if unknown."""
    stderr = estimate.stderr
    if stderr is None and estimate.low is not None and estimate.high is not None:
        stderr = (estimate.high - estimate.low) / 4
    return None if stderr is None or math.isnan(stderr) or stderr <= 0 else stderr


@dataclass(frozen=True)
class Past:
    """The earlier ``days`` for the comparison of a value, latest first, as pairs (name, value).

    ``left_out`` counts the other days by reason. ``anew`` is the day on which a new history begins, or None.
    """

    days: Sequence[tuple[str, IntervalEstimate]]
    left_out: Mapping[str, int]
    anew: str | None = None


def past_of(cell: Cell, definition: str | None, standard: Standard, most: int) -> Past:
    """Return at most ``most`` earlier days for the comparison of a value of ``cell`` with this ``definition``.

    A cell is a metric of a model for a slice value. A day on which the value failed is left out, unless a person has
    accepted the failure. The history begins with the last day marked as a new beginning. Two accepted failures in a row
    count as a new level, with which the history begins as well.
    """
    left_out = dict.fromkeys(("on which it failed", "of another definition", "without a value"), 0)
    days: list[tuple[str, IntervalEstimate]] = []
    anew, was_let_in = None, False
    for facts in standard.days:
        day, outcome = facts.measured.get(cell), facts.outcome
        is_let_in = cell in outcome.levels
        if len(days) == most or (anew is not None and not is_let_in):
            break
        if cell in outcome.failed:
            left_out["on which it failed"] += 1
        elif day is None or day.value is None or math.isnan(day.value):
            left_out["without a value"] += 1
        elif day.definition != definition:
            left_out["of another definition"] += 1
        else:
            days.append((facts.name, day))
        if outcome.begins_anew(cell):
            anew = facts.name
            break
        if is_let_in and was_let_in:
            anew = facts.name
        was_let_in = is_let_in
    return Past(days, {**left_out, "that cannot be read": len(standard.unread)}, anew)


class AsBefore(GateKind):
    """The condition that a value is inside its history band (the range expected from earlier days)."""

    name, value = "history", "history"
    word, phrase = "not_worse_than", "not worse than"
    compares, reads_history = True, True

    def verdict(self, rule: Rule, cell: Cell, estimate: IntervalEstimate, evidence: Evidence) -> GateVerdict:
        """Return the verdict on whether the value is inside its history band, at both ends or only at the worse end."""
        options = evidence.history
        past = past_of(cell, estimate.definition, evidence.standard, options.days)
        key, value, days = VerdictKey(rule.gate, rule.kind, cell), float(estimate.value or 0.0), _days(len(past.days))
        undecided = GateVerdict(
            key, "undecided", "", value, low=estimate.low, high=estimate.high, policy=rule.undecided
        )
        if len(past.days) < options.least_days:
            alike = " of the same weekday" if options.same_weekday else ""
            since = "before" if past.anew is None else f"since it began anew on {past.anew}"
            lack = f"its history has {days}{alike} {since}, and {options.least_days} are needed for a band"
            return replace(undecided, reason=f"{lack}{_left_out_text(past.left_out)}")
        stderrs = [own_error(day) for _, day in past.days]
        if estimate.interval == TOO_FEW.method and any(stderr is not None for stderr in stderrs):
            return replace(undecided, reason="it has too few groups to say how far they move it, unlike on days before")
        weekdays = [_weekday(name, options) for name in (evidence.facts.name, *(name for name, _ in past.days))]
        if (for_few := _defined_for_few(estimate, past, weekdays, undecided, options)) is not None:
            return replace(undecided, reason=f"{for_few}{_left_out_text(past.left_out)}")
        band = band_of([float(day.value or 0.0) for _, day in past.days], stderrs, weekdays[1:], weekdays[0])
        left_out = _left_out_text({**past.left_out, "far from the others": band.strays})
        if band.constant is not None and own_error(estimate) is None and not _has_been(value, band):
            constant, count = band.constant
            of_days = f"{_days(band.alike)} of its weekday" if band.by_weekday else days
            often = f"{'all' if count == band.alike else count} of the {of_days} before"
            known = f"it was {shown_number(constant)} on {often}, and has no error of its own"
            return replace(undecided, reason=f"{known}: nothing says how far it may move{left_out}")
        verdict = _against_band(undecided, band, own_error(estimate), rule.margin, options, evidence.sign(cell))
        return replace(verdict, reason=f"{verdict.reason}{left_out}")


def _defined_for_few(
    estimate: IntervalEstimate, past: Past, weekdays: Sequence[int | None], undecided: GateVerdict, options: History
) -> str | None:
    """Return a message if the value is defined in a much smaller share of groups than before; otherwise None."""
    today = estimate.defined
    if today is None or today[0] == 1.0:
        return None
    known = [(day.defined, weekday) for (_, day), weekday in zip(past.days, weekdays[1:], strict=True)]
    shares = [(*defined, weekday) for defined, weekday in known if defined is not None]
    if len(shares) < options.least_days:
        return None
    usual = statistics.median(share for share, _, _ in shares)
    if today[0] > MUCH_SMALLER * usual:
        return None
    values, errors, of_days = zip(*shares, strict=True)
    band, one_sided = band_of(values, errors, of_days, weekdays[0]), replace(options, sides="worse")
    if _against_band(replace(undecided, value=today[0]), band, today[1], Margin(), one_sided, 1).verdict == "pass":
        return None
    groups = estimate.n_groups or 0
    now = f"{groups - (estimate.n_undefined or 0):,} of {groups:,} groups ({today[0]:.1%})"
    return f"it is defined in {now}, where {usual:.1%} are usual: a value of so few is not compared with those before"


def _has_been(value: float, band: Band) -> bool:
    """Return whether ``value`` is within the range of earlier values; False if all of these are equal."""
    return band.reach is not None and band.reach[0] < band.reach[1] and band.reach[0] <= value <= band.reach[1]


def _against_band(
    verdict: GateVerdict, band: Band, stderr: float | None, margin: Margin, options: History, worse: int
) -> GateVerdict:
    """Judge a value with this ``stderr`` by ``band``. Lower is worse if ``worse`` is 1, and higher if it is -1."""
    from scipy import special  # loading it takes longer than everything else here

    def tail(distance: float) -> float:
        return float(special.ndtr(-distance) if math.isinf(degrees) else special.stdtr(degrees, -distance))

    value, centre, by = float(verdict.value or 0.0), band.centre, margin.of(band.centre)
    deviation, degrees = band.prediction(stderr)
    alpha = float(special.ndtr(-options.width))
    quantile = options.width if math.isinf(degrees) else -float(special.stdtrit(degrees, alpha))
    half = quantile * deviation + by
    low, high = centre - half, centre + half
    if band.reach is not None:
        low, high = min(low, band.reach[0] - by), max(high, band.reach[1] + by)
    sign = worse if options.sides == "worse" else 1 if value < centre else -1
    is_beyond = value < low if sign > 0 else value > high
    is_inside = band.reach is not None and band.reach[0] - by <= value <= band.reach[1] + by
    p = 1.0 if is_inside else tail((sign * (centre - value) - by) / deviation)
    where = "below" if value < low else "above" if value > high else "within"
    better = ", on its better side" if where != "within" and not is_beyond else ""
    days, ends = _days(band.days), " to ".join(shown_number(end, value) for end in (low, high))
    return replace(
        verdict,
        verdict="fail" if is_beyond else "pass",
        reason=f"{shown_number(value, low, high)} is {where} the band of the {days} before, {ends}{better}",
        against=f"mean {'of its weekday ' * band.by_weekday}{centre:.6g} of {days}, band {low:.6g} to {high:.6g}",
        bound=low if sign > 0 else high,
        number=value,
        expected=centre,
        deviation=deviation,
        degrees=degrees,
        sign=sign,
        other=None if options.sides == "worse" else high if sign > 0 else low,
        p=p,
        alpha=alpha,
    )


def _weekday(day: str, options: History) -> int | None:
    """Return the weekday of ``day`` (Monday is 0); None for a window, or if weekdays are not distinguished."""
    if options.rhythm == "none" or options.same_weekday:
        return None
    try:
        return dt.date.fromisoformat(day).weekday()
    except ValueError:
        return None


def _left_out_text(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{_days(count)} {why}" for why, count in left_out.items() if count)
    return f" (left out: {counts})" if counts else ""


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"
