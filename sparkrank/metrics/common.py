"""Parameters of every metric of groups, or of lists, beside those of its own declaration."""

from __future__ import annotations

from typing import get_args

from sparkrank.kernels.ranking import Ties
from sparkrank.metrics.parameters import Choice

TIES = Choice(
    "ties",
    None,
    "where tied rows stand, for this metric alone; without it, where the setting of the evaluation puts them",
    choices=get_args(Ties),
)
NEED_AN_ORDER = "item, worst, best or block"  # the values of ties under which rows stand in an order
