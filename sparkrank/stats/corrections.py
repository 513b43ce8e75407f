"""Corrections of p-values for many comparisons."""

from __future__ import annotations

import numpy as np

from sparkrank.numeric.array_types import Floats


def adjusted(p: Floats, method: str) -> Floats:
    """The p-values (n) of one family, adjusted; NaN stay NaN and do not count."""
    found = np.full(len(p), np.nan)
    there = np.flatnonzero(~np.isnan(p))
    if not len(there):
        return found
    order = there[np.argsort(p[there], kind="stable")]
    ascending, n = p[order], len(order)
    if method == "none":
        found[there] = p[there]
    elif method == "holm":
        found[order] = np.minimum(np.maximum.accumulate(ascending * np.arange(n, 0, -1)), 1.0)
    else:
        scaled = ascending * n / np.arange(1, n + 1)
        found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found
