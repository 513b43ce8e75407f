"""The groups of rows as numbers from 0, in an order in which those that are alike stand together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparkrank import loops
from sparkrank.kernels.order import Codes, Flags, Ints, count_by

BITS_IN_ORDER = 8  # of the number of rows, and of relevant ones: numpy sorts 16 bits by counting
MOST_IN_ORDER = (1 << BITS_IN_ORDER) - 1


@dataclass(frozen=True)
class Numbering:
    """The groups of n rows, as ``found`` (n) numbers them, and the ``order`` (groups) of these numbers in which they
    stand; absent, they stand as they were found.
    """

    found: Codes
    order: Ints | None = None

    @cached_property
    def codes(self) -> Codes:
        """The place of each row's group in the order (n). Who goes by ``found`` and ``order`` spares a walk."""
        if self.order is None:
            return self.found
        number = np.empty(len(self.order), np.int32)
        number[self.order] = np.arange(len(self.order), dtype=np.int32)
        if not (loops.COMPILED and self.found.dtype == np.int32):
            return number[self.found]
        codes = np.empty_like(self.found)
        loops.keys.renumber(self.found, number, codes)
        return codes


class Alike(NamedTuple):
    """Groups in the ``order`` (groups) of their relevant rows and of all their rows, and the ``rows`` (groups) and the
    ``relevant`` ones (groups) of each, in that order.
    """

    order: Ints
    rows: Ints
    relevant: Ints


def alike_together(found: Codes, count: int, relevant: Flags) -> Alike:
    """The ``count`` groups that ``found`` (n) numbers by how many of their rows are ``relevant`` (n), and then by how
    many they have: up to :data:`MOST_IN_ORDER` of either. Others stand as they were found.
    """
    if loops.COMPILED and found.dtype == np.int32:
        counted = np.zeros(count, np.int64)
        loops.keys.tally_both(found, relevant.view(np.uint8), counted)
        alike = Alike(*(np.empty(count, np.int64) for _ in Alike._fields))
        loops.keys.alike_together(counted, MOST_IN_ORDER, *alike)
        return alike
    rows, hits = count_by(found, count), count_by(found, count, relevant)
    few_rows, few_hits = (np.minimum(each, MOST_IN_ORDER).astype(np.uint16) for each in (rows, hits))
    order = np.argsort(few_hits << BITS_IN_ORDER | few_rows, kind="stable")
    return Alike(order, rows[order], hits[order])
