"""Signs of parts by the rows of a Hadamard matrix: halves of the groups that are balanced, and what halves tell."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.stats.paired import Difference, t_test

SWAPPED = "swapped parts"


def walsh_hadamard(parts: Floats) -> Floats:
    """The sums of ``parts`` with the signs of each row of Sylvester's Hadamard matrix.

    Row r has the sign (-1)^(number of bits that r and j share) at part j: the first row adds all parts up, and any
    other takes one half from the other.

    Parameters
    ----------
    parts : ndarray of float, (order, ...)
        An order that is a power of two.

    Returns
    -------
    ndarray of float, (order, ...)
        Always added in the same order.

    Examples
    --------
    >>> walsh_hadamard(np.array([1.0, 2.0, 4.0, 8.0]))
    array([15., -5., -9.,  3.])
    """
    sums, step = parts, 1
    while step < len(parts):
        pairs = sums.reshape(-1, 2, step, *parts.shape[1:])
        both = (pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1])
        sums = np.stack(both, axis=1).reshape(parts.shape)
        step *= 2
    return sums


def mixtures(filled: Ints, ours: Floats, theirs: Floats | None = None) -> Floats:
    """What two models add up to where they have exchanged the parts with a negative sign, by each row of signs.

    Without ``theirs`` they are the halves of the parts of one model.

    Parameters
    ----------
    filled : ndarray of int, (g,)
        The parts that hold a group. The order of the matrix is the least power of two that is not below their number.
    ours, theirs : ndarray of float, (parts, ...)
        What each part adds to sums of one model, and of the other.

    Returns
    -------
    ndarray of float, (2 · order, ...)
        Of both mixtures, one after the other; the first row of each has the models themselves.

    Examples
    --------
    >>> mixtures(np.array([0, 2]), np.array([1.0, 0.0, 2.0]), np.array([10.0, 0.0, 20.0])).tolist()
    [3.0, 21.0, 30.0, 12.0]
    """
    sides = np.zeros((2, 1 << (len(filled) - 1).bit_length(), *ours.shape[1:]))
    sides[0, : len(filled)] = ours[filled]
    if theirs is not None:
        sides[1, : len(filled)] = theirs[filled]
    together, swapped = walsh_hadamard(sides[0] + sides[1])[0], walsh_hadamard(sides[0] - sides[1])
    return np.concatenate([together + swapped, together - swapped]) / 2


def swap_test(
    difference: float, swapped: Floats, parts: int, level: float = 0.95, effective: float = math.inf
) -> Difference:
    """Student's t test of a difference of two models by what it is where they exchange halves of their parts.

    Where the models do not differ, an exchange changes nothing but chance, however crooked the metric is: the variance
    is the mean square of the differences of mixtures. For a metric that is linear in the parts that is the variance of
    the paired test. The degrees of freedom are those of Johnson and Rust, from what each part contributes.

    Parameters
    ----------
    difference : float
        Candidate - baseline.
    swapped : ndarray of float, (order,)
        The same of the two :func:`mixtures` by each row of signs; the first is that of the models themselves.
    parts : int
        How many of the parts hold a group: the others are 0.
    level : float, default 0.95
        Level of the interval.
    effective : float, optional
        How many equal groups carry as much.

    Returns
    -------
    Difference
        ``too few`` where one of the mixtures is undefined, and where an exchange changes nothing.

    References
    ----------
    Hoeffding: The large-sample power of tests based on permutations of observations, Annals of Mathematical Statistics
    1952. McCarthy: Pseudo-replication: half samples, Review of the International Statistical Institute 1969. Johnson,
    Rust: Population variances and their degrees of freedom in NAEP, ASA 1992.

    Examples
    --------
    Parts that differ by 1, 2, 3 and 6: their sum 12 has the variance 4/3 · (4 + 1 + 0 + 9).

    >>> test = swap_test(12.0, walsh_hadamard(np.array([1.0, 2.0, 3.0, 6.0])), 4)
    >>> round(test.stderr**2, 6), test.method
    (18.666667, 'swapped parts')
    """
    order = len(swapped)
    contributions = walsh_hadamard(swapped) / order
    squares = (contributions - swapped[0] / order) ** 2
    total = float(np.cumsum(squares)[-1])
    if not total > 0 or parts < 2:
        return t_test(difference, math.nan, 0, level)
    fourth = float(np.cumsum(squares**2)[-1])
    degrees = min((3.16 - 2.77 / math.sqrt(order)) * total**2 / fourth, parts - 1, effective - 1)
    return t_test(difference, math.sqrt(total * order / (order - 1)), degrees, level, SWAPPED, parts)


def error_of_halves(values: Floats) -> float:
    """The standard error of a value from its ``values`` (2, order) on halves of the parts; the first are of no half."""
    squares = ((values[0, 1:] - values[1, 1:]) / 2) ** 2
    return math.sqrt(float(np.cumsum(squares)[-1]) / len(squares)) if len(squares) else math.nan
