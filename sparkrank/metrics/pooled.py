"""From the states of a day to the metrics of the whole day. Pure numpy and pyarrow.

A metric of score blocks is measured in two steps: the terms of its blocks, which may be taken from ranges of scores of
the day apart (:mod:`sparkrank.histogram.threshold_sweep`), and its value from their totals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.histogram.threshold_sweep import Extent, Rates, Steps, Sweep, Terms, joined, value_of
from sparkrank.metrics.declaration import CatalogueMetric, HistogramMetric, PooledMetric, PooledTotals, PooledValue
from sparkrank.metrics.exposure import rows_shown
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.plan import GROUPS, ROWS_AND_WEIGHT, Exposure, Plan
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.states import Partials, ScoreHistogram, Series
from sparkrank.states.keys import Subject


@dataclass(frozen=True)
class Measured:
    """The ``terms`` of one metric over all blocks of a day of ``extent``."""

    terms: Terms
    extent: Extent


@dataclass(frozen=True)
class PooledRow:
    """A metric of the whole day with the rows it is over, their weight, and the blocks (0 where it reads none)."""

    value: PooledValue
    rows: int
    weight: float
    blocks: int = 0


def steps_of(blocks: ScoreHistogram, score_sums: bool = False) -> Steps:
    """``blocks`` from the highest score down."""
    sums = blocks.score_sum[::-1] if score_sums else None
    return Steps(blocks.pos[::-1], blocks.neg[::-1], blocks.rows[::-1], sums)


def measure(blocks: ScoreHistogram, metric: Metric, declaration: HistogramMetric) -> Measured:
    """The terms of all ``blocks`` of a day."""
    steps = steps_of(blocks, declaration.score_sums)
    if declaration.by_rate:
        steps = joined(steps, int(metric.number("min_rows")))
        return measure_rates(Rates.of(steps), declaration, len(steps.rows))
    extent = Extent.of(steps)
    return Measured(declaration.terms(Sweep(steps, extent)), extent)


def measure_rates(rates: Rates, declaration: HistogramMetric, blocks: int) -> Measured:
    """The terms of ``blocks`` blocks in the order of their ``rates``."""
    all_ = Extent.of(rates.steps)
    extent = Extent(all_.pos, all_.neg, all_.rows, blocks)
    return Measured(declaration.terms(Sweep(rates.steps, extent)), extent)


def pooled_row(partials: Partials, subject: Subject, metric: Metric, measured: Measured | None = None) -> PooledRow:
    """``metric`` of one (model, slice, slice value); ``measured`` where its blocks are not among the ``partials``."""
    declaration = metric.declaration
    assert isinstance(declaration, PooledMetric)  # noqa: S101 - the plan sorts metrics by their declaration
    limbs, none = partials.sums.limbs(), np.zeros(LIMBS)
    sums = {each: limbs.get(subject.state(each), none) for each in (*ROWS_AND_WEIGHT, *declaration.sums(metric))}
    if not isinstance(declaration, HistogramMetric):
        of_rows = PooledTotals(sums)
        rows, weight = map(of_rows.sum, ROWS_AND_WEIGHT)
        return PooledRow(declaration.value(of_rows, metric), int(rows), weight)
    if measured is None:
        rule = declaration.rule(metric)
        measured = measure(partials.blocks.get(Series(*subject, rule), ScoreHistogram.empty(rule)), metric, declaration)
    extent = measured.extent
    pos, neg = value_of(extent.pos), value_of(extent.neg)
    terms = measured.terms
    totals = PooledTotals(sums, terms.sums, terms.highest.tolist(), pos * extent.scale, neg * extent.scale)
    weight = value_of(np.asarray(extent.pos + extent.neg))
    return PooledRow(declaration.value(totals, metric), extent.rows, weight, extent.blocks)


def slices_of(partials: Partials, plan: Plan) -> list[tuple[str, str | None]]:
    """Every (slice, value) of the day, the whole day first, values in the order of their texts, None last."""
    names = map(slice_name, plan.slices)
    return [(ALL, ALL), *((name, value) for name in names for value in partials.slice_values(name))]


def subjects_of(partials: Partials, plan: Plan) -> list[Subject]:
    """Every (model, slice, value) that has states: of a window, a model may lack the values of days before its own."""
    there = {key.subject for found in (partials.means.results(), partials.sums.limbs()) for key in found}
    every = (Subject(model, *value) for model in plan.models for value in slices_of(partials, plan))
    return [subject for subject in every if subject in there]


def groups_evaluated(partials: Partials, subject: Subject) -> int:
    """The groups in which one (model, slice, slice value) is evaluated, where a property of lists asks for them."""
    return int(partials.sums.results().get(subject.state(GROUPS), 0))


def catalogue_row(partials: Partials, subject: Subject, metric: Metric) -> PooledRow:
    """A property of all lists of one (model, slice, slice value); its weight is the number of rows that are shown."""
    declaration = metric.declaration
    assert isinstance(declaration, CatalogueMetric)  # noqa: S101 - the plan sorts metrics by their declaration
    shown, relevant = partials.items.amounts(subject.state(Exposure.of(metric)))
    rows = int(partials.sums.results().get(subject.state(ROWS_AND_WEIGHT[0]), 0))
    value = declaration.value(shown, relevant, groups_evaluated(partials, subject), metric)
    return PooledRow(PooledValue(value), rows, rows_shown(shown))
