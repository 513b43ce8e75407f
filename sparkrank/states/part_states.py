"""The states by which a value gets an interval, and by which two models are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from sparkrank.numeric.array_types import Ints
from sparkrank.states.part_bins import PartHistograms
from sparkrank.states.part_sums import PARTS_OF_SLICE, PartSums, parts_of_slice

# With d the difference of a candidate and the baseline in a group where both are defined: how many groups there are,
# in how many it is above 0, 0, and below, in how many one of the two alone is defined, and the limbs of the sums of d
# and d squared.
PAIR_COUNTS = ("n_pairs", "n_above", "n_equal", "n_below", "n_unpaired")


@dataclass(frozen=True)
class PartStates:
    """The states of parts: sums of ``means``, ``sums`` over rows, ``histograms``; and of ``pairs`` of models.

    ``pairs`` have one part, all groups, and the candidate as their model.
    """

    means: PartSums = field(default_factory=PartSums)
    sums: PartSums = field(default_factory=PartSums)
    histograms: PartHistograms = field(default_factory=PartHistograms)
    pairs: PartSums = field(default_factory=PartSums)

    def halves(self) -> Iterator[PartStates]:
        """The same in two parts, for each of the 15 ways in which halves of sixteen parts are balanced.

        The ways are the columns of a Hadamard matrix: any two parts are together in as many of them as any other two.
        A group is in the same half on the whole day and in all slices: parts of the whole day go by fours.
        """
        slices = {*self.means.by_slice, *self.sums.by_slice, *(series.slice for series in self.histograms.by_series)}
        each = np.arange(PARTS_OF_SLICE)
        by_sixteen = self.in_parts({name: np.repeat(each, parts_of_slice(name) // PARTS_OF_SLICE) for name in slices})
        for way in range(1, PARTS_OF_SLICE):
            half = np.array([(part & way).bit_count() % 2 for part in range(PARTS_OF_SLICE)])
            yield by_sixteen.in_parts(dict.fromkeys(slices, half))

    def in_parts(self, part_of: Mapping[str, Ints]) -> PartStates:
        """The states of parts in fewer of them, without pairs: ``part_of`` has the new part of each, by slice."""
        means, sums = (each.in_parts(part_of) for each in (self.means, self.sums))
        return PartStates(means, sums, self.histograms.in_parts(part_of))

    def merge(self, others: Iterable[PartStates]) -> PartStates:
        """The states of all groups together."""
        every = [self, *others]
        return PartStates(
            self.means.merge(state.means for state in every[1:]),
            self.sums.merge(state.sums for state in every[1:]),
            self.histograms.merge(state.histograms for state in every[1:]),
            self.pairs.merge(state.pairs for state in every[1:]),
        )
