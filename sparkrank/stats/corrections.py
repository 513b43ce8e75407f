"""Corrections for many comparisons, which adjust p-values for the whole family of tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sparkrank.base.errors import SpecError, did_you_mean, itemize, quote
from sparkrank.numeric.array_types import Floats

Correction: TypeAlias = Literal["holm", "benjamini-hochberg", "none"]


def adjusted(p: ArrayLike, method: str) -> Floats:
    """Return the p-values of a family of tests, adjusted for comparison with the level of the whole family.

    A comparison without a test has the p-value NaN or None. Its result is NaN, and n does not include it. ``holm``
    controls the probability of at least one false alarm, however the tests depend on each other: with the p-values in
    ascending order, the i-th of n is multiplied by n + 1 - i, and is raised to the previous result if it is lower.
    ``benjamini-hochberg`` controls the expected share of false alarms among all alarms, for independent or positively
    dependent tests: the i-th p-value is multiplied by n / i, and is lowered to the next result if it is higher.
    ``none`` leaves the p-values as they are. :class:`SpecError` is raised if ``method`` is unknown.

    Holm: Scandinavian Journal of Statistics 1979. Benjamini, Hochberg: Journal of the Royal Statistical Society B 1995.

    Examples
    --------
    Holm's results are 0.01 · 3, 0.03 · 2, and 0.04 · 1, which is raised to the previous result.

    >>> adjusted([0.04, 0.01, None, 0.03], "holm")
    array([0.06, 0.03,  nan, 0.06])

    Benjamini and Hochberg's are 0.01 · 3, then 0.03 · 3/2, which is lowered to the next result, and 0.04 · 3/3.

    >>> adjusted([0.04, 0.01, None, 0.03], "benjamini-hochberg")
    array([0.04, 0.03,  nan, 0.04])
    """
    if method not in METHODS:
        raise SpecError(f"correction is {quote(method)}{did_you_mean(method, METHODS)}: {itemize(METHODS)} are allowed")
    values = np.array(p, np.float64)
    tested = ~np.isnan(values)
    if tested.any():
        values[tested] = METHODS[method](values[tested])
    return values


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    values = np.empty_like(p)
    values[order] = np.minimum(raised, 1.0)
    return values


def _benjamini_hochberg(p: Floats) -> Floats:
    from scipy.stats import false_discovery_control

    values: Floats = false_discovery_control(p, method="bh")
    return values


METHODS: Mapping[str, Callable[[Floats], Floats]] = {
    "holm": _holm,
    "benjamini-hochberg": _benjamini_hochberg,
    "none": lambda p: p,
}
