"""The table ``positions``: the rows at each position of the lists, and how many of them are relevant."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.metrics import Plan
from sparkrank.metrics.needs import GROUPS
from sparkrank.metrics.position_sums import BEYOND, RELEVANT, ROWS, SCORES, WEIGHTS, quantities_of, sum_at
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import SUBJECT, TableSchema, columns
from sparkrank.states import Partials
from sparkrank.states.keys import Subject

POSITIONS = TableSchema(
    "positions",
    """\
A row per model, slice value and position that some row has, from 1 to `output.positions`, where the spec asks for them.
`relevant / rows` is the rate by position. With both added up to position k, `relevant / (k * n_groups)` is the mean of
`p(over=k)@k`, `relevant / rows` is P@k of all lists together, in which a list counts by its rows, and
`relevant / n_relevant` is R@k of all relevant rows together, in which a group counts by its relevant rows. A row is
relevant as in `n_relevant` of the table `groups`.""",
    (
        *SUBJECT,
        *columns("""\
position whole: from 1
rows whole: rows that stand there; under `ties=block` tied rows stand at the last of their positions
relevant float: relevant rows there; under `ties=expected` each of n tied rows, r of which are relevant, counts r / n
score_sum float: the sum of their scores; null where rows have ranks, or where a list of the model has a score beyond
    4.3e9 (2^32)
weight float: the sum of the weights of the rows (their number without `columns.weight`); tied rows share theirs evenly
n_groups whole: groups evaluated, with or without a row there
n_relevant whole: relevant rows of these groups, at any position or in no list"""),
    ),
)


def positions_table(partials: Partials, plan: Plan) -> pa.Table:
    """Return a row for each model, slice value and position up to ``plan.position_depth`` that has a row."""
    tables = [_rows(partials, subject, plan) for subject in subjects_of(partials, plan)]
    return pa.concat_tables([POSITIONS.schema.empty_table(), *tables])


def _rows(partials: Partials, subject: Subject, plan: Plan) -> pa.Table:
    sums, depth = partials.sums.results(), plan.position_depth
    of_subject = {name: sums.get(subject.state(name), 0.0) for name in (GROUPS, RELEVANT, BEYOND)}
    by_position = {
        quantity: np.array([sums.get(subject.state(sum_at(quantity, place)), 0.0) for place in range(1, depth + 1)])
        for quantity in quantities_of(plan)
    }
    there = np.flatnonzero(by_position[ROWS])
    own = {quantity: values[there] for quantity, values in by_position.items()}
    count = len(there)
    summed = SCORES in own and not of_subject[BEYOND]
    arrays = [
        *(pa.repeat(pa.scalar(text, pa.string()), count) for text in subject),
        pa.array(there + 1),
        pa.array(own[ROWS].astype(np.int64)),
        pa.array(own[RELEVANT]),
        pa.array(own[SCORES]) if summed else pa.nulls(count, pa.float64()),
        pa.array(own.get(WEIGHTS, own[ROWS])),
        *(pa.repeat(pa.scalar(int(of_subject[name])), count) for name in (GROUPS, RELEVANT)),
    ]
    return pa.Table.from_arrays(arrays, schema=POSITIONS.schema)
