"""The past of a bucket: the (group, item) pairs that its groups had before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.encoding import encode, paired
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.impressions import ITEM, key_columns
from sparkrank.bucket.matching import has_match
from sparkrank.metrics import Plan
from sparkrank.numeric.array_types import Codes, Flags, Ints


@dataclass(frozen=True)
class ListedPairs:
    """The (group, item) ``pairs`` of the past whose group has a row in ``rows``.

    ``group`` contains the index of each row's group, ``own`` the index of each pair's group, and ``groups`` is the
    number of groups.
    """

    rows: BucketRows
    group: Codes
    own: Codes
    groups: int
    pairs: pa.Table
    plan: Plan

    @classmethod
    def of(cls, rows: BucketRows, pairs: pa.Table, plan: Plan) -> ListedPairs:
        count = len(rows)
        group = groups_of(_columns((rows.table, pairs), key_columns(rows.table))).codes
        is_listed = np.zeros(int(group.max(initial=-1)) + 1, np.bool_)
        is_listed[group[:count]] = True
        kept = is_listed[of_pairs := group[count:]]  # most pairs may be of groups without a list
        if not kept.all():
            of_pairs, pairs = of_pairs[kept], pairs.filter(pa.array(kept))
        return cls(rows, group[:count], of_pairs, len(is_listed), pairs, plan)

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Return the counts for checks of the pairs: an empty mapping, because these pairs have no times."""
        return {}

    def flags(self) -> Flags:
        """Return flags of the rows whose group and item are one of the pairs."""
        return has_match(self.group, self.rows.table[ITEM], self.own, self.pairs[ITEM], self.groups)

    def items_had(self) -> Ints:
        """Return, for each row, the number of distinct items in the pairs of its group."""
        first = np.unique(paired(self.own, encode(self.pairs[ITEM])[0]), return_index=True)[1]
        return np.bincount(self.own[first], minlength=self.groups)[self.group]

    @property
    def items(self) -> pa.ChunkedArray:
        """The items of the rows, followed by those of the pairs."""
        return _columns((self.rows.table, self.pairs), [ITEM])[0]


def _columns(tables: Sequence[pa.Table], names: Sequence[str]) -> list[pa.ChunkedArray]:
    return list(pa.concat_tables([table.select(names) for table in tables]).columns)
