"""Slices by relevant rows: whole lists in which only the relevant rows of one slice value count as relevant.

The groups of a value are those with a relevant row of the value that is not excluded. A group with relevant rows of
several values is evaluated once for each, from a copy of its rows. Copies in memory have at most as many rows as the
bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.grouping import Groups
from sparkrank.bucket.impressions import LABEL
from sparkrank.bucket.past import excluded_rows
from sparkrank.bucket.slicing import GroupSlice, SlicedRows
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import Segments, count_by
from sparkrank.ranking.judgments import is_relevant


class GroupCopies:
    """Copies of groups, one for each slice value of the relevant rows of a group.

    ``rows`` are the rows of the copies, ``groups`` their groups, and ``whole`` the index of each copy's original group.
    """

    def __init__(self, rows: BucketRows, groups: Groups, whole: Ints, values: GroupSlice) -> None:
        self.rows, self.groups, self.whole, self.values = rows, groups, whole, values

    def parts(self, part: Codes) -> Codes:
        return part[self.whole]

    def weights(self, of_groups: Mapping[str, Floats]) -> dict[str, Floats]:
        return {column: values[self.whole] for column, values in of_groups.items()}


def copies_by_relevance(sliced: SlicedRows, rows: BucketRows, groups: Groups, plan: Plan) -> Iterator[GroupCopies]:
    """Yield the copies of ``groups`` by the values of their relevant rows. A label above 0 is relevant."""
    relevant = is_relevant(rows.labels(), None) & ~excluded_rows(rows, plan)
    pairs = np.unique(sliced.code[relevant].astype(np.int64) * groups.count + groups.codes[relevant])
    value, group = np.divmod(pairs, max(groups.count, 1))
    sizes, order = count_by(groups.codes, groups.count), np.argsort(groups.codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    # each batch begins where the rows before it fill another bucket
    before = np.cumsum(sizes[group]) - sizes[group]
    batches = np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(before // max(len(rows), 1))) + 1)
    for batch in batches if len(pairs) else ():
        own, length = group[batch], sizes[group[batch]]
        copy = np.repeat(np.arange(len(batch), dtype=np.int32), length)
        inside = np.arange(len(copy)) - np.repeat(np.cumsum(length) - length, length)
        places = order[np.repeat(starts[own], length) + inside]
        values, code = np.unique(value[batch], return_inverse=True)
        is_other = relevant[places] & (sliced.code[places] != value[batch][copy])
        named = GroupSlice(
            sliced.name, tuple(sliced.values[own] for own in values), Segments(len(values), code.astype(np.int32))
        )
        yield GroupCopies(_irrelevant(rows.take(places), is_other), Groups(copy, len(batch)), own, named)


def _irrelevant(rows: BucketRows, flags: Flags) -> BucketRows:
    """Return ``rows`` with the label 0 where ``flags`` are set."""
    table = rows.table
    labels = table[LABEL]
    masked = pc.if_else(pa.array(flags), pa.scalar(0, labels.type), labels.combine_chunks())
    return BucketRows(table.set_column(table.column_names.index(LABEL), LABEL, masked))
