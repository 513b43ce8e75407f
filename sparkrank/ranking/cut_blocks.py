"""The tie blocks (rows with equal scores) that a cut-off divides.

Chance decides which of their rows are within the cut-off, and so how many rows with a value are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.numeric.segments import running_product, sum_by
from sparkrank.ranking.ranking import Ranking


@dataclass(frozen=True, eq=False)
class CutBlocks:
    """The tie blocks with some rows, but not all, within a cut-off. There is at most one such block per group.

    The arrays have one entry for each block: its index among all blocks of the ranking (``block``), its ``group``, and
    the numbers of all its rows (``size``), of those within the cut-off (``shown``), and of those with a value
    (``valued``).
    """

    block: Ints
    group: Codes
    size: Ints
    shown: Ints
    valued: Ints

    @classmethod
    def of(cls, ranking: Ranking, k: int | None, has_value: Flags) -> CutBlocks:
        """Return the blocks that ``k`` (None: no cut-off) divides. ``has_value`` flags the ranked rows with a value."""
        blocks = ranking.blocks
        shown = np.zeros(len(blocks.size), np.int64) if k is None else k - blocks.before
        cut = np.flatnonzero((shown > 0) & (shown < blocks.size))
        valued = blocks.sum(has_value[blocks.row]).astype(np.int64)
        return cls(cut, blocks.group[cut], blocks.size[cut], shown[cut], valued[cut])

    def of_some(self) -> CutBlocks:
        """Return the blocks in which some rows, but not all, have a value."""
        some = (self.valued > 0) & (self.valued < self.size)
        return CutBlocks(self.block[some], self.group[some], self.size[some], self.shown[some], self.valued[some])

    def draws(self) -> tuple[Ints, Ints, Floats]:
        """Return three arrays over pairs: a block, and a possible number of its valued rows within the cut-off.

        The arrays contain the index of the block in this object, the number, and its probability. The number has the
        hypergeometric distribution. Probabilities are products of ratios of neighbours, from the most likely number up
        and down, so that no product overflows.
        """
        low = np.maximum(0, self.shown - (self.size - self.valued))
        counts = np.minimum(self.shown, self.valued) - low + 1
        place = np.repeat(np.arange(len(low)), counts)
        number = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts - low, counts)
        mode = np.clip((self.shown + 1) * (self.valued + 1) // (self.size + 2), low, low + counts - 1)[place]
        shown, valued = (values[place].astype(np.float64) for values in (self.shown, self.valued))
        others = self.size[place] - valued - shown

        def to_previous(count: Ints) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):  # only at the ends, where no ratio is used
                quotient: Floats = (valued - count + 1) * (shown - count + 1) / (count * (others + count))
            return quotient

        weight = np.empty(len(place))
        up, down = np.flatnonzero(number >= mode), np.flatnonzero(number <= mode)[::-1]
        weight[up] = running_product(to_previous(number)[up], (number - mode + 1)[up])
        with np.errstate(divide="ignore"):
            weight[down] = running_product((1 / to_previous(number + 1))[down], (mode - number + 1)[down])
        return place, number, weight / sum_by(place, weight, len(low))[place]
