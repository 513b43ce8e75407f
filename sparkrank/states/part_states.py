"""The states by which a value gets an interval, and by which two models are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sparkrank.states.part_bins import PartHistograms
from sparkrank.states.part_sums import PartSums

# With d the difference of a candidate and the baseline in a group where both are defined: how many groups there are,
# in how many it is above 0, 0, and below, in how many one of the two alone is defined, and the limbs of the sums of d
# and d squared.
PAIR_COUNTS = ("n_pairs", "n_above", "n_equal", "n_below", "n_unpaired")


@dataclass(frozen=True)
class PartStates:
    """The states of parts, and of ``pairs`` of models, which have one part, and the candidate as their model."""

    means: PartSums = field(default_factory=PartSums)
    sums: PartSums = field(default_factory=PartSums)
    histograms: PartHistograms = field(default_factory=PartHistograms)
    pairs: PartSums = field(default_factory=PartSums)

    def merge(self, others: Iterable[PartStates]) -> PartStates:
        every = [self, *others]
        return PartStates(
            self.means.merge(state.means for state in every[1:]),
            self.sums.merge(state.sums for state in every[1:]),
            self.histograms.merge(state.histograms for state in every[1:]),
            self.pairs.merge(state.pairs for state in every[1:]),
        )
