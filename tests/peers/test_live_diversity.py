"""Diversity of lists against scipy's distances and entropy, and the examples of RecTools and RePlay."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from tests.peers.rankings import EXACT

ITEMS, USERS, K = 40, 25, 6


@pytest.mark.peer
@pytest.mark.parametrize("seed", range(5))
def test_scipy(scipy_spatial_distance: ModuleType, scipy_stats: ModuleType, seed: int) -> None:
    draw = np.random.default_rng(seed)
    genre, year, vector = draw.integers(0, 4, ITEMS), draw.integers(0, 3, ITEMS), draw.normal(size=(ITEMS, 8))
    has_tag = draw.random((ITEMS, 5)) < 0.4
    has_tag[:, 0] |= ~has_tag.any(axis=1)
    tags = [[f"tag {tag}" for tag in np.flatnonzero(flags)] for flags in has_tag]
    catalog = pa.table({"item": range(ITEMS), "genre": genre, "year": year, "vector": [*vector], "tags": tags})
    shown = np.stack([draw.permutation(ITEMS)[:K] for _ in range(USERS)])
    rows = pa.table(
        {"user": np.repeat(range(USERS), K), "item": shown.ravel(), "score": np.tile(np.arange(K, 0.0, -1), USERS)}
    )
    metrics = ["ild(by=[catalog.genre,catalog.year])@5", "ild(by=catalog.tags,distance=jaccard)@5"]
    metrics += ["ild(by=catalog.vector,distance=cosine)@5", "category_entropy(by=catalog.genre)@5"]
    ev = sr.evaluate(rows, metrics, group="user", item="item", score="score", catalog=catalog)
    values = [row["value"] for row in ev.metrics.to_pylist()]
    first = shown[:, :5]
    both = np.column_stack([genre, year])
    distances = [(2.0, "hamming", both), (1.0, "jaccard", has_tag), (1.0, "cosine", vector)]
    expected = [
        np.mean([scale * scipy_spatial_distance.pdist(of[items], name).mean() for items in first])
        for scale, name, of in distances
    ]
    expected.append(np.mean([scipy_stats.entropy(np.bincount(genre[items]), base=2) for items in first]))
    assert values == pytest.approx(expected, rel=EXACT)


def test_the_numbers_of_rectools() -> None:
    """The example in the page of IntraListDiversity, with Hamming distances of two features."""
    rows = pa.table({"user": [1, 1, 1, 2, 2], "item": [1, 2, 3, 1, 4], "rank": [1, 2, 3, 1, 2]})
    features = pa.table({"item": [1, 2, 3, 4], "one": [0, 0, 1, 0], "two": [0, 1, 1, 0]})
    metrics = [f"ild(by=[catalog.one,catalog.two],single=zero)@{k}" for k in (1, 2, 3)]
    ev = sr.evaluate(rows, metrics, group="user", item="item", rank="rank", catalog=features)
    values = {row["user"]: [row[metric] for metric in metrics] for row in ev.groups.to_pylist()}
    assert values == {1: [0.0, 1.0, pytest.approx(1.33333333)], 2: [0.0, 0.0, 0.0]}


def test_the_numbers_of_replay() -> None:
    """The example in the page of CategoricalDiversity."""
    rows = pa.table(
        {
            "query": [1] * 5 + [2] * 5 + [3] * 3,
            "item": range(13),
            "category": [3, 7, 10, 11, 2, 5, 8, 11, 1, 3, 4, 9, 2],
            "rating": [0.6, 0.5, 0.4, 0.3, 0.2, 0.6, 0.5, 0.4, 0.3, 0.2, 1.0, 0.5, 0.1],
        }
    )
    metrics = ["distinct(by=category)@3", "distinct(by=category)@5"]
    ev = sr.evaluate(rows, metrics, group="query", item="item", score="rating", preset="replay", population="all")
    assert [row["value"] for row in ev.metrics.to_pylist()] == [1.0, pytest.approx(0.8666666666666667)]
