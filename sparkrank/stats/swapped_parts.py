"""A test of the difference between two values that chance can only increase.

The two sides exchange half of the parts (fixed subsets of the groups). :mod:`sparkrank.numeric.signed_parts` divides
the parts into halves.
"""

from __future__ import annotations

import math

import numpy as np

from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.signed_parts import walsh_hadamard
from sparkrank.stats.noise_floor import FALL, bias_of_halves
from sparkrank.stats.paired import Difference, t_test

SWAPPED = "swapped parts"


def swap_test(
    difference: float,
    swapped: Floats,
    ours: Floats,
    theirs: Floats,
    parts: int,
    level: float = 0.95,
    effective: float = math.inf,
) -> Difference:
    """Test a difference between two sides by Student's t, with a variance from exchanges of parts between the sides.

    The sides are the two models, or the two days, that are compared. A split divides the parts into two halves, and
    after an exchange of one half, each side becomes a mixture of both. ``swapped`` contains the values of the two
    mixtures for each split; in the first column, no part is exchanged. ``ours`` and ``theirs`` contain the values of
    each side on both halves. The shape of all three is (2, order). ``parts`` is the number of parts with groups, and
    ``effective`` is the number of equal groups with as much information.

    If the sides do not differ, an exchange changes the values only by chance, whatever the form of the metric. The
    variance is then the mean square of the differences between the mixtures; for a metric that is linear in the parts,
    it equals the paired test's variance. The degrees of freedom follow Johnson and Rust, from each part's contribution.

    If the sides do differ, that variance may be too small, and chance may increase one value more than the other. So
    the interval uses the larger of this variance and the variance by halves, and is extended by the possible excess
    of one side's bias over the other's. The interval may contain 0 even if p is small, because p assumes that there is
    no difference at all. The method is ``too few`` if a mixture is undefined, or if exchanges leave the values equal.

    Hoeffding: The large-sample power of tests based on permutations of observations, Annals of Mathematical Statistics
    1952. McCarthy: Pseudo-replication: half samples, Review of the International Statistical Institute 1969. Johnson,
    Rust: Population variances and their degrees of freedom in NAEP, ASA 1992.

    Examples
    --------
    The values are sums over four parts, in which the sides differ by 1, 2, 3 and 6. The difference of 12 has the
    variance 4/3 · (4 + 1 + 0 + 9):

    >>> from sparkrank.numeric.signed_parts import mixtures
    >>> parts, ours, theirs = np.arange(4), np.array([2.0, 4.0, 6.0, 9.0]), np.array([1.0, 2.0, 3.0, 3.0])
    >>> sides = [mixtures(parts, *side).reshape(2, 4) for side in ((ours, theirs), (ours,), (theirs,))]
    >>> test = swap_test(12.0, *sides, 4)
    >>> round(test.stderr**2, 6), test.method
    (18.666667, 'swapped parts')
    """
    order = swapped.shape[1]
    contributions = walsh_hadamard(swapped[0] - swapped[1]) / order
    squares = (contributions - float(swapped[0, 0] - swapped[1, 0]) / order) ** 2
    total, fourth = (float(np.cumsum(terms)[-1]) for terms in (squares, squares**2))
    if not total > 0 or parts < 2:
        return t_test(difference, math.nan, 0, level)
    degrees = min((3.16 - 2.77 / math.sqrt(order)) * total**2 / fourth, parts - 1, effective - 1)
    stderr = math.sqrt(total * order / (order - 1))
    test = t_test(difference, stderr, degrees, level, SWAPPED, parts)
    by_halves = error_of_halves(ours - theirs)
    interval = t_test(difference, max(stderr, by_halves), degrees, level, SWAPPED)
    if test.p is None or interval.low is None or interval.high is None:
        return test
    up, down = bias_of_halves(ours), bias_of_halves(theirs)
    low, high = interval.low - max(up - down / FALL, 0.0), interval.high + max(down - up / FALL, 0.0)
    low, high = test.holding_0(low, high, level)
    return interval._replace(p=test.p, low=low, high=high, least_p=test.least_p)


def error_of_halves(values: Floats) -> float:
    """Return a value's standard error from its values on halves of the groups; NaN without such values.

    Shape of ``values``: (2, order). Each column after the first contains the two halves of one split.
    """
    squares = ((values[0, 1:] - values[1, 1:]) / 2) ** 2
    defined = squares[np.isfinite(squares)]
    return math.sqrt(float(np.cumsum(defined)[-1]) / len(defined)) if len(defined) else math.nan
