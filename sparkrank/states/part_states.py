"""The states from which confidence intervals and comparisons of two models are computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sparkrank.states.part_bins import PartHistograms
from sparkrank.states.part_sums import PartSums

# Let d be the difference of a candidate and the baseline in a group for which both are defined. The counts are the
# number of such groups, the numbers with d above, equal to and below 0, and the number of groups for which only one of
# the two values is defined. The limbs are those of the sums of d and d squared.
PAIR_COUNTS = ("n_pairs", "n_above", "n_equal", "n_below", "n_unpaired")


@dataclass(frozen=True)
class PartStates:
    """Sums and histograms for each part (one of 64 fixed sets) of the groups.

    ``pairs`` contains the sums that compare each candidate with the baseline, by its name. All groups are one part.
    """

    means: PartSums = field(default_factory=PartSums)
    sums: PartSums = field(default_factory=PartSums)
    histograms: PartHistograms = field(default_factory=PartHistograms)
    pairs: PartSums = field(default_factory=PartSums)

    def merge(self, others: Iterable[PartStates]) -> PartStates:
        others = list(others)
        fields = ("means", "sums", "histograms", "pairs")
        return PartStates(*(getattr(self, name).merge(getattr(other, name) for other in others) for name in fields))
