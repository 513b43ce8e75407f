"""Mergeable partial results: merging is associative and commutative, and an empty state changes nothing.

Sums are held so that they add up exactly (see :mod:`sparkrank.numeric.exact_sums`), so the order of merging, and with
it the layout of the data, cannot show in a result.
"""

from sparkrank.histogram.state import ScoreHistogram, Series
from sparkrank.states.distributions import Distribution
from sparkrank.states.items import ItemCounts
from sparkrank.states.means import MeanStates
from sparkrank.states.partials import Partials
from sparkrank.states.row_sums import RowSums

__all__ = ["Distribution", "ItemCounts", "MeanStates", "Partials", "RowSums", "ScoreHistogram", "Series"]
