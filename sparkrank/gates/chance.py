"""How often a gate fails although nothing has changed."""

from __future__ import annotations

import math


def chance_of_failing(distance: float, stderr: float) -> float:
    """The probability that noise alone moves a value to where its gate fails.

    Parameters
    ----------
    distance
        How far what is judged would have to move to the bad side for the gate to fail, from where it is when nothing
        has changed; negative where it fails there already.
    stderr
        The standard error of what is judged. Whatever estimates it may give it: the table's interval, or the
        differences between halves of the parts.

    Returns
    -------
    float
        The tail of a normal distribution; 0 or 1 where there is no noise.

    Examples
    --------
    >>> round(chance_of_failing(1.96 * 0.01, 0.01), 4)
    0.025
    >>> chance_of_failing(0.1, 0.0)
    0.0
    """
    if stderr == 0:
        return 0.0 if distance >= 0 else 1.0
    return 0.5 * math.erfc(distance / (stderr * math.sqrt(2)))
