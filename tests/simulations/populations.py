"""Logs of users who differ: lognormal numbers of rows, and a liking that shows in clicks and in all scores.

Models ``a`` and ``b`` are equal, ``c`` is noisier, ``calibrated`` gives the probability of a click that a user's liking
and taste leave, and ``blind`` knows nothing. The number of rows says nothing about the liking.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MEDIAN_ROWS, SPREAD_OF_ROWS, MOST_ROWS = 8, 0.8, 400
SHARE_OF_LARGEST = 0.2
NOISE = {"a": 1.0, "b": 1.0, "c": 1.5}


@dataclass(frozen=True)
class Population:
    """Users who are drawn independently.

    ``clicks``: share of clicked rows. ``levels``: how many distinct scores a model gives; None for as many as rows.
    ``users_of_largest``: one user in so many has a fifth of all rows of these.
    """

    clicks: float = 0.15
    levels: int | None = None
    users_of_largest: int | None = None

    def log(
        self, draw: np.random.Generator, users: int, liking: NDArray[np.float64] | None = None, sessions: int = 1
    ) -> pa.Table:
        """The rows of ``users``, whose ``liking`` is drawn where it is not given; ``sessions`` of each on average."""
        each = np.ones(users, np.int64) if sessions == 1 else 1 + draw.poisson(sessions - 1, users)
        owner = np.repeat(np.arange(users), each)  # of each session
        rows = self._sizes(draw, len(owner))
        session = np.repeat(np.arange(len(owner)), rows)
        user = owner[session]
        like = (draw.normal(size=users) if liking is None else liking)[user]
        taste = draw.normal(size=len(user))
        chance = logistic(intercept(self.clicks) + like + taste)
        clicked = draw.random(len(user)) < chance
        columns = {
            name: self._rounded(
                logistic(intercept(self.clicks) + 0.7 * like + taste + draw.normal(0, noise, len(user)))
            )
            for name, noise in NOISE.items()
        }
        columns |= {"calibrated": chance, "blind": draw.random(len(user))}
        return pa.table({"user": user, "session": session, "y": clicked.astype(np.int32), **columns})

    def _sizes(self, draw: np.random.Generator, groups: int) -> NDArray[np.int64]:
        sizes = np.minimum(2 + draw.lognormal(np.log(MEDIAN_ROWS), SPREAD_OF_ROWS, groups).astype(np.int64), MOST_ROWS)
        for first in range(0, groups, self.users_of_largest or groups + 1):
            if self.users_of_largest is not None:
                others = sizes[first + 1 : first + self.users_of_largest].sum()
                sizes[first] = round(others * SHARE_OF_LARGEST / (1 - SHARE_OF_LARGEST))
        return sizes

    def _rounded(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.levels is None:
            return scores
        return (np.floor(scores * self.levels) + 0.5) / self.levels


def logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


@cache
def intercept(clicks: float) -> float:
    """Where the log odds of a click have their middle, so that ``clicks`` of all rows are clicked.

    Liking and taste have variance 1 each; the mean over both is by Gauss and Hermite's quadrature.
    """
    from scipy.optimize import brentq

    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    return float(brentq(lambda x: weights @ logistic(x + np.sqrt(2) * nodes) - clicks, -20, 20))
