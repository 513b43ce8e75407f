"""States: partial results that merge.

Sums are exact, so merge order and data layout do not change results.
"""

from sparkrank.histogram.state import ScoreHistogram, ScoreSeries
from sparkrank.states.distributions import Distribution
from sparkrank.states.items import ItemCounts
from sparkrank.states.means import MeanStates
from sparkrank.states.partials import Partials
from sparkrank.states.row_sums import RowSums

__all__ = ["Distribution", "ItemCounts", "MeanStates", "Partials", "RowSums", "ScoreHistogram", "ScoreSeries"]
