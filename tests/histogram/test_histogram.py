"""Score blocks: which scores share one, the order of blocks, and what binning may cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import StateError
from sparkrank.histogram.bins import BinRule
from sparkrank.metrics import Metric
from sparkrank.numeric.ordered_integers import Range, bin_numbers, bin_scores
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from sparkrank.states.forms import blocks_form
from tests.extent import examples
from tests.oracles import pair_count_auc
from tests.support.buckets import day, evaluate
from tests.support.states import histogram_of
from tests.support.strategies import PATIENT

Scored = list[tuple[float, bool]]

ANY = st.floats(allow_nan=False)  # infinities, subnormals and -0.0 among them
PROBABILITY = st.floats(0, 1)
LOGIT = st.floats(-20, 20)
NEAR = st.integers(-40, 40).map(lambda step: 0.5 + step * 1e-5)  # many in one block, many on an edge
SCORES = ANY | PROBABILITY | LOGIT | NEAR

COARSE = [BinRule("bits", size) for size in (1, 4, 12, 52)] + [BinRule("digits", size) for size in (0, 3, 5, 15)]
RULES = [*COARSE, BinRule("exact")]


def both_classes(scores: st.SearchStrategy[float] = SCORES, most: int = 12) -> st.SearchStrategy[Scored]:
    rows = st.lists(st.tuples(scores, st.booleans()), min_size=2, max_size=most)
    return rows.filter(lambda rows: len({relevant for _, relevant in rows}) == 2)


def blocks_of(rows: Scored, rule: BinRule, sums: bool = True) -> ScoreHistogram:
    scores, flags = zip(*rows, strict=True)
    return histogram_of(rule, np.array(scores), np.array(flags), sums)


def values(rows: Scored, metrics: Sequence[str]) -> list[tuple[float, float]]:
    partials = evaluate([("u", "i", score, float(relevant)) for score, relevant in rows], metrics).partials
    return [day(partials, Metric.parse(metric)) for metric in metrics]


@given(st.lists(ANY, max_size=20))
def test_numbers_order_as_scores_and_lead_back(scores: list[float]) -> None:
    found = np.array(scores) + 0.0  # what a rule snaps to is never -0.0
    numbers = bin_numbers(found)
    assert bin_scores(numbers).tolist() == found.tolist()
    for score, number in zip(scores, numbers, strict=True):
        for other, other_number in zip(scores, numbers, strict=True):
            assert (score < other) == (number < other_number)


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(PATIENT, max_examples=examples(50))
@given(scores=st.lists(SCORES, min_size=2, max_size=20))
def test_a_lower_score_never_falls_into_a_higher_block(rule: BinRule, scores: list[float]) -> None:
    snapped = rule.snapped(np.array(sorted(scores)))
    assert (np.diff(bin_numbers(snapped).astype(object)) >= 0).all()
    assert rule.snapped(snapped).tolist() == snapped.tolist()  # a block's score lies in the block


@pytest.mark.parametrize(
    ("rule", "together", "apart"),
    [
        (BinRule("exact"), [0.0, -0.0], [5e-324]),
        (BinRule("bits", 1), [1.0, 1.25, math.nextafter(1.5, 0)], [1.5, 0.75, -1.0]),
        (BinRule("bits", 1), [-1.0, -1.25, math.nextafter(-1.5, 0)], [-1.5, -0.75]),
        (BinRule("bits", 2), [1024.0, 1279.0], [1280.0, 1023.0]),  # a quarter of 1024 wide
        (BinRule("bits", 12), [-0.0, 0.0], [1e-300, -1e-300]),
        (BinRule("bits", 12), [math.inf], [1.7e308, -math.inf]),
        (BinRule("bits", 52), [0.1], [math.nextafter(0.1, 1)]),
        (BinRule("digits", 2), [0.127, 0.13, 0.134], [0.126 - 0.002, 0.136]),
        (BinRule("digits", 0), [-0.4, -0.0, 0.0, 0.4], [0.6, -0.6]),
        (BinRule("digits", 3), [math.inf], [1e308, -math.inf]),
        (BinRule("digits", 15), [1e300], [math.nextafter(1e300, 0)]),  # no decimals left to round
    ],
    ids=str,
)
def test_which_scores_share_a_block(rule: BinRule, together: list[float], apart: list[float]) -> None:
    first, *others = rule.snapped(np.array(together)).tolist()
    assert all(other == first for other in others)
    assert first not in rule.snapped(np.array(apart)).tolist()


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(PATIENT, max_examples=examples(40))
@given(rows=both_classes())
def test_every_row_is_in_one_block_by_its_class(rule: BinRule, rows: Scored) -> None:
    counted: dict[float, list[int]] = {}
    for (_, relevant), block in zip(rows, rule.snapped(np.array([score for score, _ in rows])).tolist(), strict=True):
        counted.setdefault(block, [0, 0])[not relevant] += 1
    for sums in (True, False):
        found = blocks_of(rows, rule, sums)
        rows_of_bins = zip(found.pos.tolist(), found.neg.tolist(), strict=True)
        assert dict(zip(found.score.tolist(), map(list, rows_of_bins), strict=True)) == counted
        assert found.score.tolist() == sorted(counted)


SUMMABLE = st.floats(-1e6, 1e6) | PROBABILITY | NEAR | st.sampled_from([0.0, -0.0, 1e-300, 5e-324, 1e300])


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(PATIENT, max_examples=examples(40))
@given(rows=both_classes(SUMMABLE, 20))
def test_the_sum_of_a_block_is_that_of_its_scores(rule: BinRule, rows: Scored) -> None:
    """Each row's place in its block is kept to half of 2^-32 of the block's width; 1e-307 stands for denormals."""
    scores = np.array([score for score, _ in rows])
    snapped = rule.snapped(scores)
    found = blocks_of(rows, rule)
    for block, got in zip(found.score, found.score_sum, strict=True):
        inside = scores[snapped == block]
        size = float(np.abs(inside).sum())
        widths = {"exact": 0.0, "digits": len(inside) * 10.0**-rule.size, "bits": size * 2.0**-rule.size}[rule.kind]
        slack = widths * 2**-33 + size * 2**-50 + 1e-307
        assert got == pytest.approx(math.fsum(inside), rel=0, abs=slack)


@settings(PATIENT, max_examples=examples(200))
@given(both_classes(), st.sampled_from(["auc", "auc(bits=1)", "auc(bits=4)", "auc(digits=0)", "auc(digits=4)"]))
@example([(0.86, True), (0.73, False), (0.66, True), (0.26, False)], "auc(digits=1)")  # the bound is reached
def test_the_exact_auc_lies_within_the_error_bound(rows: Scored, metric: str) -> None:
    (binned, bound), (exact, nothing) = values(rows, [metric, "auc(exact)"])
    assert nothing == 0
    assert exact == pytest.approx(pair_count_auc(rows), abs=1e-13)
    assert abs(binned - exact) <= bound + 1e-13


@pytest.mark.parametrize("rule", [*RULES, BinRule("bins", 15)], ids=str)
def test_the_block_of_a_score_is_the_same_whatever_the_others(rule: BinRule) -> None:
    """Also about 2^52 / 10^digits, from where on a float64 has no decimals left: blocks of all buckets must meet."""
    edge = 2.0**52 / 10.0 ** (rule.size if rule.kind == "digits" else 0)
    near = edge * np.array([0.3, 0.49, 0.51, 0.9, 0.99, 1.01, 1.3, 1.9, 2.1, 3.7])
    scores = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf), [0.3, 1e-300]])
    scores = np.concatenate([scores, -scores])
    alone = [rule.numbers(scores[place : place + 1])[0] for place in range(len(scores))]
    assert alone == rule.numbers(scores).tolist()
    assert alone == rule.numbers(np.append(scores, [math.inf, -math.inf, 0.0]))[:-3].tolist()


def test_more_steps_than_float64_adds_exactly() -> None:
    """Steps of near 2^32 each, of 2.3 million rows of one block, add up to more than 2^53."""
    rule, rows = BinRule("bins", 100), 2_300_000
    scores = np.concatenate([0.2499 + np.random.default_rng(0).random(rows) * 9e-5, np.arange(30, 100) / 100])
    coding = rule.coding(Range.of(scores))
    steps = coding.steps(scores, coding.codes(scores)).astype(np.int64)[:rows]
    expected = int(steps.sum())  # whole numbers add up exactly
    assert expected > 2**53
    assert histogram_of(rule, scores, scores < 0, sums=True).offset.tolist() == [expected, *[0] * 70]


RULE = BinRule("digits", 2)
BILLION = 2**30


@pytest.mark.parametrize(
    ("offsets", "together"),
    [
        ([2**62, 2**62], None),  # 2^63, one more than 64 bits hold
        ([-(2**62)] * 3, None),
        ([2**62, 2**62 - 2**50], 2**63 - 2**50),
        ([-(2**62), -(2**62)], -(2**63)),
        ([2**62, 2**62, -(2**62)], 2**62),
    ],
)
def test_sums_of_scores_beyond_64_bits_are_refused(offsets: list[int], together: int | None) -> None:
    """2^30 rows at the very end of their block come to 2^62 units of 2^-32 of its width. Another block is apart."""
    bins, rows, none = bin_numbers(np.array([0.5, 0.51])), np.array([BILLION, BILLION]), np.array([0, 0])
    parts = [ScoreHistogram(RULE, bins, rows, none, np.array([offset, 0])) for offset in offsets]
    form = blocks_form(weighted=False)
    tables = [form.to_table(Partials(blocks={ScoreSeries("m", "all", "all", RULE): part})) for part in parts]
    if together is None:
        with pytest.raises(StateError, match=r"the scores of one bin of digits=2 do not add up in 64 bits"):
            parts[0].merge(*parts[1:])
        with pytest.raises(StateError, match=r"offset in the table blocks do not add up in 64 bits.*merge fewer days"):
            form.merged(tables)
        return
    merged = parts[0].merge(*parts[1:])
    assert merged.offset.tolist() == [together, 0]
    assert merged.pos.tolist() == [len(parts) * BILLION] * 2
    assert form.merged(tables)["offset"].to_pylist() == [together, 0]
