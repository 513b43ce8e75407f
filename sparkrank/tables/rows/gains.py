"""The table ``gains``: what the rows with the highest scores capture, by twentieths of all rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sparkrank.engines.result import Solved
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.histogram.threshold_sweep import Extent, Sweep
from sparkrank.metrics import HistogramMetric, Metric, Plan
from sparkrank.metrics.merged import Merged, steps_of
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import SUBJECT, TableSchema, columns
from sparkrank.states import Partials, ScoreSeries
from sparkrank.states.keys import Subject
from sparkrank.tables.rows.curves import bins_of_table

TOPS = np.arange(1, 21) / 20
GAINS = TableSchema(
    "gains",
    """\
A row per model, slice value, bin rule and twentieth of the rows, the highest scores first, where the spec has
`output.gains`: of the score bins of `auc`, `capture` and `lift`. The numbers are those of the metrics `capture(top=)`
and `lift(top=)`. Where no row has a score there is no row.""",
    (
        *SUBJECT,
        *columns("""\
rule text: the bins, as in `blocks`. Those of `exact` may be too many to be kept, and are taken by `bits=14`
top float: the share of all rows, by weight, that has the highest scores: 0.05, 0.1, ..., 1
score float: the score of the bin in which these rows end, as in `blocks`; the bin may have rows beyond them
capture float: the share of all relevant rows that they have; null where no row is relevant
lift float: `capture / top`
error_bound float: how far `capture` may be from that of the scores themselves, because the rows of a bin have no
    order; that of `lift` is this over `top`"""),
    ),
)


def gains_table(solved: Solved, plan: Plan) -> pa.Table:
    """Return twenty rows for each model, slice value and rule of bins that has a row with a score."""
    return pa.concat_tables([GAINS.schema.empty_table(), *_gains(solved, plan)])


def _gains(solved: Solved, plan: Plan) -> Iterator[pa.Table]:
    asked: dict[BinRule, list[tuple[Metric, HistogramMetric]]] = {}
    for subject in subjects_of(solved.partials, plan):
        for rule in plan.gains_rules:
            histogram = bins_of_table(solved, ScoreSeries(*subject, rule))
            own = asked.setdefault(histogram.rule, _captures(histogram.rule))
            if not histogram.is_empty:
                yield _rows(subject, rule, histogram, own)


def _captures(rule: BinRule) -> list[tuple[Metric, HistogramMetric]]:
    """Return the metric ``capture`` at each twentieth, of bins of ``rule``, whose text has the metric's parameters."""
    metrics = [Metric.parse(f"capture(top={top:g},{rule})") for top in TOPS]
    return [(metric, own) for metric in metrics if isinstance(own := metric.declaration, HistogramMetric)]


def _rows(
    subject: Subject, rule: BinRule, histogram: ScoreHistogram, captures: list[tuple[Metric, HistogramMetric]]
) -> pa.Table:
    steps = steps_of(histogram)
    sweep = Sweep(steps, Extent.of(steps))
    ends = np.searchsorted(sweep.tp + sweep.fp, TOPS * (sweep.positives + sweep.negatives))
    merged = Merged(Partials(blocks={ScoreSeries(*subject, histogram.rule): histogram}))
    merged.measure_bins(subject, captures)  # all of them in one sweep
    made = [declared.row(merged, subject, metric) for metric, declared in captures]
    capture, bound = (np.array([getattr(row, name) for row in made]) for name in ("value", "error_bound"))
    texts = [pa.repeat(pa.scalar(text, pa.string()), len(TOPS)) for text in (*subject, str(rule))]
    numbers = (TOPS, histogram.score[::-1][ends], capture, capture / TOPS, bound)
    return pa.Table.from_arrays(
        [*texts, *(pa.array(number, from_pandas=True) for number in numbers)], schema=GAINS.schema
    )
