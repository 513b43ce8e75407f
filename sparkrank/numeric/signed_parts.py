"""Sums over parts (subsets of groups) with the signs of a Hadamard matrix.

Each row of signs divides the parts into halves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparkrank.numeric.array_types import Floats, Ints


def walsh_hadamard(parts: Floats) -> Floats:
    """Return the sums of ``parts`` (2^k, ...) with the signs of each row of Sylvester's Hadamard matrix.

    In row r, part j has the sign (-1)^(number of bits set in both r and j). The first row adds all parts; every other
    row subtracts one half of the parts from the other half.

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
    """Return the sums of two models for each row of signs, after an exchange of the parts with a negative sign.

    ``ours`` and ``theirs`` contain the amount of each part for the two models, and ``filled`` the indices of parts with
    groups. Without ``theirs``, the sums are over halves of one model's parts. The sums of the first model come first,
    then those of the second. The first row exchanges no parts.

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


def exchanges(filled: Ints, sides: Sequence[Floats]) -> Floats:
    """Return the :func:`mixtures` of two models, then the halves of each model alone.

    ``sides`` contains the amounts by part of each model. For a single model, the result has only halves.

    Examples
    --------
    >>> exchanges(np.array([0, 1]), [np.array([1.0, 2.0]), np.array([10.0, 20.0])]).reshape(3, 2, 2).tolist()
    [[[3.0, 21.0], [30.0, 12.0]], [[3.0, 1.0], [0.0, 2.0]], [[30.0, 10.0], [0.0, 20.0]]]
    """
    together = [mixtures(filled, *sides)] if len(sides) > 1 else []
    return np.concatenate([*together, *(mixtures(filled, side) for side in sides)])
