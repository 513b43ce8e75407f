"""Mergeable partial results. Their sums are exact, so that results do not depend on merge order or data layout."""

from sparkrank.histogram.state import ScoreHistogram, ScoreSeries
from sparkrank.states.distributions import Distribution
from sparkrank.states.items import ItemCounts
from sparkrank.states.means import MeanStates
from sparkrank.states.partials import Partials
from sparkrank.states.row_sums import RowSums

__all__ = ["Distribution", "ItemCounts", "MeanStates", "Partials", "RowSums", "ScoreHistogram", "ScoreSeries"]
