"""The table ``positions``: the numbers of rows and of relevant rows at each position of the lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkrank.metrics import Plan
from sparkrank.metrics.position_sums import BEYOND, GROUPS, RELEVANT, ROWS, SCORES, WEIGHTS, quantities_of, sum_at
from sparkrank.metrics.subjects import subjects_of
from sparkrank.schemas.tables import POSITIONS
from sparkrank.states import Partials
from sparkrank.states.keys import Subject


def positions_table(partials: Partials, plan: Plan) -> pa.Table:
    """Return the table ``positions``, by model, slice value and position, up to ``plan.position_depth``."""
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
