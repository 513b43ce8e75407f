"""The table ``gains``: the share of positives among the rows with the highest scores, by twentieths of all rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.engines.result import PassResult
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.histogram.threshold_sweep import Extent, Sweep, positives_of_first
from sparkrank.metrics import Plan
from sparkrank.metrics.merged import steps_of
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import SUBJECT, TableSchema, columns
from sparkrank.states import ScoreSeries
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


def gains_table(solved: PassResult, plan: Plan) -> pa.Table:
    """Return twenty rows for each model, slice value and rule of bins with at least one scored row."""
    made = (
        _rows(subject, rule, bins_of_table(solved, ScoreSeries(*subject, rule)))
        for subject in subjects_of(solved.partials, plan)
        for rule in plan.gains_rules
    )
    return pa.concat_tables([GAINS.schema.empty_table(), *made])


def _rows(subject: Subject, rule: BinRule, histogram: ScoreHistogram) -> pa.Table:
    if histogram.is_empty:
        return GAINS.schema.empty_table()
    steps = steps_of(histogram)
    sweep = Sweep(steps, Extent.of(steps))
    rows = TOPS * (sweep.positives + sweep.negatives)
    score = histogram.score[::-1][np.searchsorted(sweep.tp + sweep.fp, rows)]
    capture, bound = np.full((2, len(TOPS)), np.nan)
    if sweep.positives:
        value, most, fewest = positives_of_first(sweep, rows)
        capture = np.minimum(value / sweep.positives, 1.0)  # rounded sums of weights may exceed the total
        bound = np.maximum(most - value, value - fewest) / sweep.positives
    texts = [pa.repeat(pa.scalar(text, pa.string()), len(TOPS)) for text in (*subject, str(rule))]
    numbers = (pa.array(number, from_pandas=True) for number in (TOPS, score, capture, capture / TOPS, bound))
    return pa.Table.from_arrays([*texts, *numbers], schema=GAINS.schema)
