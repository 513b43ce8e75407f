"""The jackknife over parts of users estimates what Obuchowski's variance of a clustered AUC estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sparkrank.stats.intervals import jackknife
from tests.oracles.clustered_auc import Row, clustered_auc, clustered_difference

USERS = 96


def rows_of_users(
    rng: np.random.Generator, users: int = USERS, rows: int = 3, spread: float = 1.0
) -> tuple[list[Row], list[Row]]:
    """The same rows as two models score them. Users have an effect on labels and scores, and some scores tie."""
    user = np.repeat(np.arange(users), 1 + rng.poisson(rows - 1, users))
    effect, x = rng.normal(0, spread, users)[user], rng.normal(size=len(user))
    label = rng.random(len(user)) < 1 / (1 + np.exp(-(effect + x)))
    scores = (np.round(x + 0.7 * effect + noise * rng.normal(size=len(user)), 1) for noise in (0.7, 1.2))
    one, other = (list(map(Row, user.tolist(), score.tolist(), label.tolist())) for score in scores)
    return one, other


def deviations(rows: list[Row], part: np.ndarray) -> tuple[float, np.ndarray]:
    """The AUC, and that without each part, by how often positives of a part stand above negatives of another."""
    positive = np.array([row.is_positive for row in rows])
    score, owner = np.array([row.score for row in rows]), part[[row.cluster for row in rows]]
    gaps = score[positive][:, None] - score[~positive]
    above = (gaps > 0) + 0.5 * (gaps == 0)
    of_positive, of_negative = (np.eye(part.max() + 1)[owner[kind]] for kind in (positive, ~positive))
    wins = of_positive.T @ above @ of_negative
    m, n = of_positive.sum(axis=0), of_negative.sum(axis=0)
    left = wins.sum() - wins.sum(axis=0) - wins.sum(axis=1) + np.diag(wins)
    return wins.sum() / (m.sum() * n.sum()), left / ((m.sum() - m) * (n.sum() - n))


def by_parts(one: list[Row], other: list[Row], part: np.ndarray) -> tuple[float, float]:
    """The standard errors of the AUC and of the difference."""
    (auc, without), (auc_other, without_other) = deviations(one, part), deviations(other, part)
    values, all_without = [auc, auc - auc_other], [without, without - without_other]
    stderr, _ = jackknife(values, all_without, np.bincount(part, minlength=part.max() + 1))
    return stderr[0], stderr[1]


def test_the_oracle_by_hand() -> None:
    """Users A (+3, -1), B (+2, -4), C (-2): negatives 1, 4, 2 and positives 3, 2.

    Positive 3 is above 1 and 2: 2/3. Positive 2 is above 1 and ties with 2: 1/2. The AUC is 7/12. Negative 1 has both
    above: 1; 4 none: 0; 2 one and a tie: 3/4. Positives less 7/12: A 1/12, B -1/12; negatives: A 5/12, B -7/12, C 2/12.
    S10 = 2/(1·2)·(1 + 1)/144 = 2/144; S01 = 3/(2·3)·(25 + 49 + 4)/144 = 39/144; S11 = 3/2·(5 + 7)/144 = 18/144.
    The variance is (2/2 + 39/3 + 2·18/6)/144 = 20/144.
    """
    rows = [Row(0, 3, True), Row(0, 1, False), Row(1, 2, True), Row(1, 4, False), Row(2, 2, False)]
    auc, variance = clustered_auc(rows)
    assert auc == pytest.approx(7 / 12)
    assert variance == pytest.approx(20 / 144)


def test_with_parts_of_several_users_the_two_agree_within_the_error_of_sampling() -> None:
    """A variance of g parts has a relative standard error of √(2/(g-1)), so its root has half of that."""
    parts, draws = 32, 60
    found, expected = [], []
    for seed in range(draws):
        rng = np.random.default_rng(100 + seed)
        one, other = rows_of_users(rng)
        found.append([stderr**2 for stderr in by_parts(one, other, np.arange(USERS) * parts // USERS)])
        expected.append([clustered_auc(one)[1], clustered_difference(one, other)[1]])
    ratios = np.array(found) / np.array(expected)
    assert ratios.mean(axis=0) == pytest.approx([1, 1], abs=3 * math.sqrt(2 / (parts - 1) / draws))
    assert np.sqrt(ratios) == pytest.approx(np.ones_like(ratios), abs=3.5 * math.sqrt(1 / (2 * (parts - 1))))
