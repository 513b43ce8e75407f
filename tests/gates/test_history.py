"""The band of a history, and the days that are in it: by hand, by scipy, and by what a person has said of them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sparkrank.gates.facts import DayOutcome, Facts, IntervalEstimate, Standard
from sparkrank.gates.history import band_of, own_error, past_of
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, History, Margin, Rule
from sparkrank.gates.verdicts import GateVerdict

CELL = Cell("auc", "candidate")
NO_MARGIN = Margin()
TODAY = dt.date(2026, 11, 19)  # a Thursday
WEEK = [0.40, 0.42, 0.38, 0.41, 0.39, 0.40, 0.40]  # mean 0.40, squares 0, 4, 4, 1, 1, 0, 0 of 1e-4: variance 1e-3 / 6
HALF = stats.t.isf(stats.norm.sf(3), 6) * math.sqrt(1e-3 / 6 * (1 + 1 / 7))


def measured(value: float | None, stderr: float | None = None, **other: object) -> IntervalEstimate:
    return IntervalEstimate(value, None, None, stderr, "as it is", **other)  # type: ignore[arg-type]


def days_before(values: Sequence[IntervalEstimate | float | None]) -> list[Facts]:
    """Days before :data:`TODAY` with these values, of which the latest is given last, the latest first."""
    cells = [each if each is None or isinstance(each, IntervalEstimate) else measured(each) for each in values]
    days = enumerate(reversed(cells), 1)
    return [Facts(str(TODAY - dt.timedelta(back)), {CELL: cell} if cell else {}) for back, cell in days]


def judged(
    value: IntervalEstimate | float,
    before: Sequence[IntervalEstimate | float | None] | Sequence[Facts],
    better: bool | None = True,
    margin: Margin = NO_MARGIN,
    **options: object,
) -> GateVerdict:
    days = [each for each in before if isinstance(each, Facts)] or days_before(before)  # type: ignore[arg-type]
    rule = Rule("g", "history", "auc", ("auc",), ("candidate",), "candidate", margin=margin)
    judge = Judge([rule], History(**options), {"auc": better})  # type: ignore[arg-type]
    today = Facts(str(TODAY), {CELL: value if isinstance(value, IntervalEstimate) else measured(value)})
    (verdict,) = judge.verdicts(today, today.name, Standard(days))
    return verdict


@pytest.mark.parametrize("days", [7, 14, 28])
@pytest.mark.parametrize("width", [2.0, 3.0])
def test_the_band_is_the_prediction_interval_of_a_normal_sample(days: int, width: float) -> None:
    """Students t, whatever the number of days, at the tail of a normal distribution beyond the width."""
    values = np.random.default_rng(days).normal(0.5, 0.01, days).tolist()
    verdict = judged(0.5, [measured(value, 0.01) for value in values], rhythm="none", width=width)
    half = stats.t.isf(stats.norm.sf(width), days - 1) * np.std(values, ddof=1) * math.sqrt(1 + 1 / days)
    ends = sorted([verdict.bound or 0, verdict.other or 0])
    assert ends == pytest.approx([np.mean(values) - half, np.mean(values) + half], rel=1e-9)
    assert verdict.alpha == pytest.approx(stats.norm.sf(width), rel=1e-9)
    assert verdict.degrees == days - 1
    t = abs(0.5 - np.mean(values)) / (np.std(values, ddof=1) * math.sqrt(1 + 1 / days))
    assert verdict.p == pytest.approx(stats.t.sf(t, days - 1), rel=1e-9)


@pytest.mark.parametrize("better", [True, False, None])
def test_both_sides_are_bad_or_the_worse_one(better: bool | None) -> None:
    for sides, low, high in (("both", "fail", "fail"), ("worse", *(("fail", "pass") if better else ("pass", "fail")))):
        if better is None and sides == "worse":
            continue  # such a metric has no worse side
        for value, verdict in ((0.4 - HALF * 1.001, low), (0.4 + HALF * 1.001, high)):
            beyond = judged(value, WEEK, better, sides=sides, rhythm="none")
            assert (beyond.verdict, beyond.reason.endswith(", on its better side")) == (verdict, verdict == "pass")
        for value in (0.4 - HALF * 0.999, 0.4 + HALF * 0.999):
            assert judged(value, WEEK, better, sides=sides, rhythm="none").verdict == "pass"


def test_a_margin_widens_the_band_and_its_test() -> None:
    half = HALF + 0.1 * 0.4
    assert judged(0.4 - half * 0.999, WEEK, margin=Margin(0.1, relative=True)).verdict == "pass"
    verdict = judged(0.4 - half * 1.001, WEEK, margin=Margin(0.1, relative=True))
    assert verdict.verdict == "fail"
    assert verdict.p is not None
    assert verdict.p < verdict.alpha


def test_only_an_error_that_is_more_than_usual_widens_the_band() -> None:
    """The scatter has the noise of usual days in it; with 7 days the usual is the largest of them."""
    usual = [measured(value, 0.02) for value in WEEK]
    for stderr in (None, 0.001, 0.02):
        verdict = judged(measured(0.4, stderr), usual)
        assert verdict.bound == pytest.approx(0.4 - HALF, rel=1e-9) or verdict.other == pytest.approx(0.4 - HALF)
    known, more = 1e-3 / 6 * (1 + 1 / 7), 0.03**2 - 0.02**2
    degrees = 6 * ((known + more) / known) ** 2  # Welch and Satterthwaite, where the second is known
    half = stats.t.isf(stats.norm.sf(3), degrees) * math.sqrt(known + more)
    verdict = judged(measured(0.4 - 1e-9, 0.03), usual)
    assert verdict.bound == pytest.approx(0.4 - half, rel=1e-6)
    assert verdict.degrees == pytest.approx(degrees, rel=1e-9)
    assert judged(measured(0.4 - HALF * 1.01, 0.03), WEEK).verdict == "fail"  # nothing says what is usual


def test_users_who_return_do_not_hide_a_change() -> None:
    """Their sample is the same every day: of its error of 5 scatters nothing is in the values."""
    draw = np.random.default_rng(4)
    found = [
        judged(measured(values[-1] - 6, 5.0), [measured(value, 5.0) for value in values[:-1]]).verdict == "fail"
        for values in draw.normal(0, 1, (100, 29)).tolist()
    ]
    assert np.mean(found) > 0.9


class TestNoWidth:
    def test_one_value_alone_decides_nothing(self) -> None:
        verdict = judged(0.1, [0.4] * 28)
        assert (verdict.verdict, verdict.deviation) == ("undecided", None)
        assert "it was 0.4 on all of the 28 days before" in verdict.reason

    def test_where_most_days_have_one_value_the_days_own_error_counts_as_a_whole(self) -> None:
        alike = [measured(0.4, 0.01)] * 28
        for value, verdict in ((0.4 - 0.0299, "pass"), (0.4 - 0.0301, "fail")):
            assert judged(measured(value, 0.01), alike).verdict == verdict
        # 20 of 28 days at 0.4, 8 at 0.5: the mean is 3/70 above 0.4 - 1/70, the variance 20·8/28/27·0.01
        mixed = [measured(0.4, 0.01)] * 20 + [measured(0.5, 0.01)] * 8
        scatter = 20 * 8 / 28 / 27 * 0.01
        deviation = math.sqrt(scatter * (1 + 1 / 28) + 0.01**2)
        assert judged(measured(0.45, 0.01), mixed).deviation == pytest.approx(deviation, rel=1e-9)

    def test_of_an_interval_alone_a_quarter_is_the_error(self) -> None:
        assert own_error(IntervalEstimate(0.5, 0.4, 0.6, None)) == pytest.approx(0.05)
        assert own_error(IntervalEstimate(0.5, 0.5, 0.5, None)) is None
        assert own_error(IntervalEstimate(0.5, None, None, 0.0)) is None
        alike = [IntervalEstimate(3.0, 2.0, 4.0, None, "as it is")] * 10
        for value, verdict in ((3.0 - 1.49, "pass"), (3.0 - 1.51, "fail")):  # 3 deviations of 2 / 4
            assert judged(IntervalEstimate(value, value - 1, value + 1, None, "as it is"), alike).verdict == verdict

    @pytest.mark.parametrize("value", [1.0, 0.0])
    def test_where_it_has_no_error_of_its_own_what_has_been_is_within_the_band(self, value: float) -> None:
        """1 of 28 days was another: by its scatter alone, 3.36 · 0.189, it would be beyond the band."""
        days = [1.0 - value] * 27 + [value]
        assert judged(value, days).verdict == "pass"
        beyond = judged(value + (value - 0.5) * 0.1, days)
        alone = f"it was {1 - value:g} on 27 of the 28 days before, and has no error of its own"
        assert (beyond.verdict, beyond.reason) == ("undecided", f"{alone}: nothing says how far it may move")
        assert judged(measured(value + (value - 0.5) * 0.1, 0.001), days).verdict == "fail"  # its error says how far

    @pytest.mark.parametrize("noise", [0.0, 1e-16])
    def test_weekdays_that_have_one_value_each_decide_nothing(self, noise: float) -> None:
        """As coverage may; sums of equal numbers are rounded, and that is no scatter."""
        days = [0.1 * (number % 7 + 1) + noise * (number // 7) for number in range(28)]
        verdict = judged(0.11, days)
        assert (verdict.verdict, verdict.deviation) == ("undecided", None)
        assert "it was 0.1 on all of the 4 days of its weekday before" in verdict.reason

    def test_percentiles_whose_intervals_have_no_width_are_undecided_too(self) -> None:
        one, half = (IntervalEstimate(value, value, value, None, "as it is") for value in (1.0, 0.5))
        for value, verdict in ((1.0, "pass"), (0.5, "pass"), (1 / 3, "undecided")):
            today = IntervalEstimate(value, value, value, None, "as it is")
            assert judged(today, [one] * 20 + [half] * 2).verdict == verdict

    def test_a_value_of_too_few_groups_is_undecided_where_others_have_an_error(self) -> None:
        few = measured(0.1, interval="too few")
        assert judged(few, [measured(value, 0.01) for value in WEEK]).verdict == "undecided"
        assert judged(few, WEEK).verdict == "fail"  # scatter says enough


class TestDefinedForFew:
    """A value of 0.4 on every day; of 200 groups it is defined in about so many."""

    USUAL = (198, 200, 199, 200, 197, 200, 200)
    CASES = (
        (USUAL, 194, "pass"),
        (USUAL, 150, "undecided"),
        (USUAL, 6, "undecided"),
        ((40, 44, 36, 42, 38, 41, 39), 30, "pass"),  # chance does as much to a fifth of the groups
        ((40, 44, 36, 42, 38, 41, 39), 6, "undecided"),
        ((200,) * 7, 190, "pass"),  # beyond its band, but not much less
        ((200,) * 7, 170, "undecided"),
    )

    @pytest.mark.parametrize(("before", "today", "verdict"), CASES)
    def test_the_share_of_defined_groups_has_a_history(self, before: Sequence[int], today: int, verdict: str) -> None:
        days, now = (
            [
                measured(0.4 + 0.01 * (day % 3), 0.01, n_groups=200, n_undefined=200 - count)
                for day, count in enumerate(counts)
            ]
            for counts in (before, (today,))
        )
        found = judged(now[0], days)
        assert found.verdict == verdict
        share = (
            f"it is defined in {today} of 200 groups ({today / 200:.1%}), where {np.median(before) / 200:.1%} are usual"
        )
        assert found.reason.startswith(share) == (verdict == "undecided")


class TestStrays:
    def test_a_day_far_from_the_others_does_not_widen_the_band(self) -> None:
        """A single value at a distance d of n others stands out by Grubbs' test, whatever d is."""
        values = [*np.random.default_rng(2).normal(0.5, 0.01, 26), 0.1, 0.1]
        band = band_of(values, [None] * 28)
        assert (band.strays, band.days) == (2, 26)
        assert band.scatter == pytest.approx(np.std(values[:26], ddof=1), rel=1e-9)
        assert "(left out: 2 days far from the others)" in judged(0.5, values).reason

    def test_it_is_grubbs_test(self) -> None:
        """Six values and one at a distance: the test of one value of 7 at 0.001, by the textbook."""
        n, tail = 7, 0.001 / (2 * 7)
        t2 = stats.t.isf(tail, n - 2) ** 2
        critical = (n - 1) / math.sqrt(n) * math.sqrt(t2 / (n - 2 + t2))
        for at in np.linspace(1, 30, 60):
            values = [0.0, 0.1, -0.1, 0.2, -0.2, 0.05, float(at)]
            stands_out = (at - np.mean(values)) / np.std(values, ddof=1) > critical
            assert band_of(values, [None] * n).strays == int(stands_out)

    def test_one_in_a_thousand_normal_histories_has_any(self) -> None:
        draw = np.random.default_rng(3).normal(0, 1, (2_000, 14))
        assert sum(band_of(values, [None] * 14).strays > 0 for values in draw.tolist()) <= 10


class TestRhythm:
    WEEKDAYS = tuple(number % 7 for number in range(28))

    def values(self, seed: int = 1, lower: float = 4.0) -> list[float]:
        """Four weeks from a Monday, in which weekends are lower."""
        draw = np.random.default_rng(seed)
        return [float(draw.normal() - lower * (weekday > 4)) for weekday in self.WEEKDAYS]

    def test_weekdays_have_means_of_their_own_and_one_scatter(self) -> None:
        values = np.array(self.values())
        band = band_of(values.tolist(), [None] * 28, self.WEEKDAYS, 6)
        of_days = [values[np.equal(self.WEEKDAYS, day)] for day in range(7)]
        pooled = sum((len(each) - 1) * np.var(each, ddof=1) for each in of_days) / 21
        assert (band.by_weekday, band.degrees, band.alike, band.reach) == (True, 21, 4, None)
        assert band.centre == pytest.approx(of_days[6].mean(), rel=1e-9)
        assert band.prediction(None)[0] == pytest.approx(math.sqrt(pooled * 1.25), rel=1e-9)

    @pytest.mark.parametrize("seed", range(12))
    def test_they_are_told_apart_where_an_f_test_does(self, seed: int) -> None:
        values = np.array(self.values(seed, lower=seed / 6))
        groups = [values[np.equal(self.WEEKDAYS, day)] for day in range(7)]
        band = band_of(values.tolist(), [None] * 28, self.WEEKDAYS, 2)
        assert band.strays == 0
        assert band.by_weekday == (stats.f_oneway(*groups).pvalue < 0.05)

    def test_it_takes_two_weeks_and_two_days_of_the_weekday(self) -> None:
        values, weekdays = self.values(), self.WEEKDAYS
        assert band_of(values[:14], [None] * 14, weekdays[:14], 5).by_weekday
        assert not band_of(values[:13], [None] * 13, weekdays[:13], 5).by_weekday
        without = [number for number in range(28) if weekdays[number] != 5 or number == 5]
        kept = [values[number] for number in without], [weekdays[number] for number in without]
        assert not band_of(kept[0], [None] * len(without), kept[1], 5).by_weekday
        assert band_of(kept[0], [None] * len(without), kept[1], 6).by_weekday

    def test_a_first_weekend_is_no_stray(self) -> None:
        values, weekdays = self.values(lower=30)[:13], self.WEEKDAYS[:13]
        assert band_of(values, [None] * 13, weekdays, 6).strays == 0

    def test_of_a_day_by_its_name_and_of_a_window_never(self) -> None:
        """Today is a Thursday; 28 days before it a Thursday, too."""
        lower = [value - 30 * (number % 7 == 0) for number, value in enumerate(self.values(lower=0))]
        assert judged(-30.0, lower).verdict == "pass"
        assert judged(0.0, lower).verdict == "fail"
        assert judged(0.0, lower, rhythm="none").verdict == "pass"
        assert judged(0.0, lower, same_weekday=True).verdict == "pass"  # days of one weekday, whoever chose them
        rule = Rule("g", "history", "auc", ("auc",), ("candidate",), "candidate")
        windows = [replace(each, name=f"{each.name}..{each.name}") for each in days_before(lower)]
        today = Facts("2026-11-19..2026-11-19", {CELL: measured(0.0)})
        (verdict,) = Judge([rule], better={"auc": True}).verdicts(today, today.name, Standard(windows))
        assert verdict.verdict == "pass"


class TestDays:
    def marked(self, **outcomes: DayOutcome) -> list[Facts]:
        """Ten days before today, ``d1`` the latest, with these outcomes."""
        return [
            replace(facts, outcome=outcomes.get(f"d{back}", DayOutcome()))
            for back, facts in enumerate(days_before([float(number) for number in range(10)]), 1)
        ]

    def past(self, **outcomes: DayOutcome) -> list[float | None]:
        """The values that count, the latest first."""
        past = past_of(CELL, "as it is", Standard(self.marked(**outcomes)), 28)
        return [each.value for _, each in past.days]

    def test_a_cell_that_failed_is_left_out_of_its_own_history_alone(self) -> None:
        other = DayOutcome(failed=frozenset([Cell("ndcg", "candidate")]))
        assert self.past(d2=DayOutcome(failed=frozenset([CELL])), d4=other) == [9, 7, 6, 5, 4, 3, 2, 1, 0]

    def test_an_accepted_day_counts(self) -> None:
        assert self.past(d2=DayOutcome(let_in=frozenset([CELL]), levels=frozenset([CELL]))) == list(range(9, -1, -1))

    def test_a_history_begins_anew_of_a_cell_or_of_all(self) -> None:
        assert self.past(d3=DayOutcome(anew=frozenset([CELL]))) == [9, 8, 7]
        assert self.past(d3=DayOutcome(is_new=True), d6=DayOutcome(is_new=True)) == [9, 8, 7]
        assert len(self.past(d3=DayOutcome(anew=frozenset([Cell("ndcg", "candidate")])))) == 10

    def test_twice_in_a_row_is_a_new_level(self) -> None:
        level = DayOutcome(let_in=frozenset([CELL]), levels=frozenset([CELL]))
        bound = DayOutcome(let_in=frozenset([CELL]))  # accepted of another gate
        assert self.past(d3=level, d4=level) == [9, 8, 7, 6]
        assert self.past(d3=level, d4=level, d5=level) == [9, 8, 7, 6, 5]
        assert len(self.past(d3=level, d5=level)) == 10
        assert len(self.past(d3=bound, d4=bound)) == 10

    def test_what_a_person_let_go_on_a_day_that_fails_is_no_longer_missed(self) -> None:
        other = Cell("ndcg", "candidate")
        earlier = Facts("earlier", {CELL: measured(0.1), other: measured(0.2)})
        failed = DayOutcome(failed=frozenset([other]), let_in=frozenset([CELL]))
        before = Standard([Facts("later", {}, outcome=failed), earlier]).before
        assert before is not None
        assert list(before.measured) == [other]
        assert Standard([Facts("later", {}, outcome=replace(failed, let_in=frozenset())), earlier]).before == earlier

    def test_what_is_left_out_is_told(self) -> None:
        before = self.marked(d1=DayOutcome(failed=frozenset([CELL])), d7=DayOutcome(anew=frozenset([CELL])))
        other = replace(before[1], measured={CELL: measured(0.1)._replace(definition="another")})
        before[1:4] = [other, replace(before[2], measured={}), replace(before[3], measured={CELL: measured(math.nan)})]
        verdict = judged(0.5, before)
        assert verdict.reason == (
            "its history has 3 days since it began anew on 2026-11-12, and 7 are needed for a band (left out: "
            "1 day on which it failed, 1 day of another definition, 2 days without a value)"
        )

    def test_so_many_days_and_no_more(self) -> None:
        assert judged(0.5, [*WEEK[:5], 0.43, 0.37] * 5, days=9, rhythm="none").degrees == 8


def test_many_cells_are_one_family_and_one_that_stands_out_fails() -> None:
    """Alone each of 200 would fail beyond its band; among 200 only what one in 200 · 741 nights would."""
    cells = [CELL._replace(slice="c", slice_value=str(number)) for number in range(200)]
    rule = Rule("g", "history", "auc", ("auc",), ("candidate",), "candidate", (("c", "*"),), (("c",),))
    days = [Facts(facts.name, dict.fromkeys(cells, facts.measured[CELL])) for facts in days_before([*WEEK, *WEEK])]
    known = math.sqrt(2e-3 / 13 * (1 + 1 / 14))
    alone, among = (stats.t.isf(stats.norm.sf(3) / tests, 13) * known for tests in (1, 200))
    for distance, failures in ((alone * 1.01, 0), (among * 0.99, 0), (among * 1.01, 1)):
        values = {cell: measured(0.4) for cell in cells} | {cells[7]: measured(0.4 - distance)}
        judge = Judge([rule], History(rhythm="none"), {"auc": True})
        found = judge.verdicts(Facts(str(TODAY), values), "today", Standard(days))
        assert [each.verdict for each in found if each.verdict != "pass"] == ["fail"] * failures
