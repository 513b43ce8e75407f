"""Counts of how many groups of a bucket had each item, and in how many rows. They are states, as those of lists are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import ITEM, TIME, key_columns
from sparkrank.bucket.past import with_values
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.slices import ALL
from sparkrank.states import ItemCounts, Partials
from sparkrank.states.first_times import FirstTimes
from sparkrank.states.items import UNIT
from sparkrank.states.keys import SliceKey

KEY = SliceKey(INTERACTIONS, ALL, (ALL,), INTERACTIONS)


def popularity_states(table: pa.Table) -> Partials:
    """Count the items of ``table``, the rows of interactions. A pair counts once among users, and each time in rows.

    If the rows have a time, the first one of each item is a state too.
    """
    read = [*key_columns(table), ITEM]
    rows = with_values(table.select([*read, *(name for name in (TIME,) if name in table.column_names)]), read)
    counts = Counter({(checks.PAST_ROWS[INTERACTIONS], ""): table.num_rows})
    counts[checks.PAST_WITHOUT_PAIR[INTERACTIONS], ""] = table.num_rows - rows.num_rows
    groups = groups_of([rows[name] for name in key_columns(rows)])
    counts[checks.PAST_GROUPS, ""] = groups.count
    codes, items = encode(rows[ITEM])
    is_first = np.zeros(rows.num_rows, np.bool_)
    is_first[np.unique(paired(groups.codes, codes), return_index=True)[1]] = True
    shown = np.full(rows.num_rows, UNIT, np.int64)
    first = FirstTimes.of(rows[ITEM], rows[TIME]) if TIME in rows.column_names else FirstTimes()
    return Partials(items=ItemCounts.of(KEY, items, codes, shown, is_first), counts=dict(counts), first_times=first)
