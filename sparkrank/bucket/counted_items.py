"""States of counts for each item: the groups of a bucket that had the item, and the rows with the item.

The rows are interactions, or the relevant rows of a day, whose counts later days may read.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import ITEM, TIME, key_columns
from sparkrank.bucket.past import with_values
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.array_types import Codes
from sparkrank.ranking.judgments import is_relevant
from sparkrank.states import ItemCounts, Partials
from sparkrank.states.first_times import FirstTimes
from sparkrank.states.items import UNIT
from sparkrank.states.keys import SliceKey
from sparkrank.states.popularity import POPULARITY_COUNTS

KEY = SliceKey("", ALL, (ALL,), POPULARITY_COUNTS)  # of all models


def popularity_states(table: pa.Table) -> Partials:
    """Return the states of ``table``, the rows of interactions: the number of groups and of rows with each item.

    If the rows have times, the earliest time of each item is a state too.
    """
    read = [*key_columns(table), ITEM]
    rows = with_values(table.select([*read, *(name for name in (TIME,) if name in table.column_names)]), read)
    counts = Counter({(checks.PAST_ROWS[INTERACTIONS], ""): table.num_rows})
    counts[checks.PAST_WITHOUT_PAIR[INTERACTIONS], ""] = table.num_rows - rows.num_rows
    groups = groups_of([rows[name] for name in key_columns(rows)])
    counts[checks.PAST_GROUPS, ""] = groups.count
    first = FirstTimes.of(rows[ITEM], rows[TIME]) if TIME in rows.column_names else FirstTimes()
    return Partials(items=_counts(rows[ITEM], groups.codes), counts=dict(counts), first_times=first)


def relevant_items(rows: BucketRows, groups: Codes, plan: Plan) -> ItemCounts:
    """Return counts of the items of relevant rows, out of the rows of the truth or, without a truth, of all ``rows``.

    ``groups`` contains the group of each row. Rows count even if the definitions of ``plan`` leave them out.
    """
    had = is_relevant(rows.labels(), None)
    had = had & rows.truth if plan.joins else had
    if (named := rows.valid(ITEM)) is not None:
        had &= named
    return _counts(rows.table[ITEM].filter(pa.array(had)), groups[had])


def _counts(items: pa.ChunkedArray, groups: Codes) -> ItemCounts:
    codes, distinct = encode(items)
    is_first = np.zeros(len(codes), np.bool_)
    is_first[np.unique(paired(groups, codes), return_index=True)[1]] = True
    return ItemCounts.of(KEY, distinct, codes, np.full(len(codes), UNIT, np.int64), is_first)
