"""Impressions of users for simulations, summed by part of the users: what states hold, in plain numpy.

A user has an effect on clicks and on scores, so rows of one user are alike, on one day and over days. Two models score
the same rows. Every function of sums takes any leading axes: trials, parts left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BINS = 64  # of scores, of equal width


class Setting(NamedTuple):
    users: int
    days: int = 1
    rows: float = 6.0  # of a user on a day
    effect: float = 1.0  # the standard deviation of users' effects
    comes: float = 1.0  # the probability that a user comes on a day


class Summed(NamedTuple):
    """Of trials (t) and parts (g), the models first where there are two.

    A group is a user on a day, and its value the share of its rows that are on the right side of one half: ``groups``
    (t, g), ``value`` (2, t, g), with weights ``weight`` (t, g) and ``weighted`` (2, t, g). Of rows: ``rows`` (t, g),
    ``loss`` (2, t, g), ``hist`` (2, t, g, bins, 2) by score and label.
    """

    groups: Array
    hist: Array
    loss: Array
    rows: Array
    weighted: Array
    weight: Array
    value: Array


def summed(rng: np.random.Generator, setting: Setting, trials: int, parts: int, stays: bool = True) -> Summed:
    """``trials`` draws. Where a user ``stays``, it is in the same part every day; else each day of it stands alone."""
    users = trials * setting.users
    effect = rng.normal(0, setting.effect, users)
    there = np.flatnonzero(rng.random(users * setting.days) < setting.comes)  # user on a day
    user = there // setting.days
    part = rng.integers(0, parts, users)[user] if stays else rng.integers(0, parts, len(there))
    cell = user // setting.users * parts + part  # of a trial and a part
    sizes = 1 + rng.poisson(setting.rows - 1, len(there))
    of_row, cell_of_row = np.repeat(np.arange(len(there)), sizes), np.repeat(cell, sizes)
    u, x = effect[user][of_row], rng.standard_normal(len(of_row))
    label = (rng.random(len(of_row)) < sigmoid(u + x - 1)).astype(np.int64)
    weight = np.exp(0.2 * effect[user] + 0.3 * rng.standard_normal(len(there)))
    shape, cells = (trials, parts), trials * parts

    def by_part(of_groups: Array) -> Array:
        return np.bincount(cell, of_groups, cells).reshape(shape)

    hists, losses, values = [], [], []
    for noise in (0.7, 1.2):
        score = sigmoid(x + 0.7 * u + noise * rng.standard_normal(len(of_row)) - 1)
        bins = ((score * BINS).astype(np.int64) + BINS * cell_of_row) * 2 + label
        hists.append(np.bincount(bins, minlength=cells * BINS * 2).reshape(*shape, BINS, 2).astype(float))
        loss = -np.log(np.where(label == 1, score, 1 - score))
        losses.append(np.bincount(cell_of_row, loss, cells).reshape(shape))
        values.append(np.bincount(of_row, (score > 0.5) == label, len(there)) / sizes)
    value = np.array(values)
    return Summed(
        groups=by_part(np.ones(len(there))),
        hist=np.array(hists),
        loss=np.array(losses),
        rows=by_part(sizes.astype(float)),
        weighted=np.array([by_part(weight * each) for each in value]),
        weight=by_part(weight),
        value=np.array([by_part(each) for each in value]),
    )


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def auc(hist: Array) -> Array:
    """By the pairs of each bin, ties a half. ``hist`` (..., bins, 2): negatives, positives; low scores first."""
    neg, pos = hist[..., 0], hist[..., 1]
    below = np.cumsum(neg, axis=-1) - neg / 2
    return (pos * below).sum(axis=-1) / (pos.sum(axis=-1) * neg.sum(axis=-1))


def pr_auc(hist: Array) -> Array:
    """Average precision over the thresholds between bins."""
    tops = np.cumsum(hist[..., ::-1, :], axis=-2)
    precision = tops[..., 1] / np.maximum(tops.sum(axis=-1), 1)
    return (hist[..., ::-1, 1] * precision).sum(axis=-1) / tops[..., -1, 1]


def metrics(sums: Summed) -> dict[str, tuple[Array, Array]]:
    """By name: the values (t) of all parts, and (t, g) without each; of the first model and the difference of both."""
    found = {}
    for name, function, parts in (
        ("auc", auc, (sums.hist,)),
        ("pr_auc", pr_auc, (sums.hist,)),
        ("logloss", np.divide, (sums.loss, sums.rows)),
        ("weighted mean", np.divide, (sums.weighted, sums.weight)),
        ("mean", np.divide, (sums.value, sums.groups)),
    ):
        totals = [each.sum(axis=-3 if name.endswith("auc") else -1) for each in parts]
        left = [
            np.expand_dims(total, -3 if name.endswith("auc") else -1) - each
            for total, each in zip(totals, parts, strict=True)
        ]
        whole, without = function(*totals), function(*left)
        found[name] = whole[0], without[0]
        found[f"difference of {name}"] = whole[0] - whole[1], without[0] - without[1]
    return found
