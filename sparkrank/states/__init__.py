"""Mergeable partial results: merging is associative and commutative, and an empty state is its identity.

States store sums that add up exactly (see :mod:`sparkrank.numeric.exact_sums`). The order of merging, and with it the
layout of the data, therefore cannot show in a result.
"""

from sparkrank.histogram.state import ScoreHistogram, ScoreSeries
from sparkrank.states.distributions import Distribution
from sparkrank.states.items import ItemCounts
from sparkrank.states.means import MeanStates
from sparkrank.states.partials import Partials
from sparkrank.states.row_sums import RowSums

__all__ = ["Distribution", "ItemCounts", "MeanStates", "Partials", "RowSums", "ScoreHistogram", "ScoreSeries"]
