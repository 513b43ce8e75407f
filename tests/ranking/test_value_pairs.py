"""Diversity of arrays against all pairs and all orders of tied rows, formed one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.ranking import value_pairs

GENRES = ("jazz", "blues", "rock", "folk")
Distance = Callable[[list, list], float]


def jaccard(one: list[str], other: list[str]) -> float:
    return 1 - len({*one} & {*other}) / len({*one} | {*other})


def cosine(one: list[float], other: list[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(one, other, strict=True))
    return 1 - dot / math.hypot(*one) / math.hypot(*other)


def rows(seed: int, distance: str) -> pa.Table:
    """Groups of up to six rows with few scores; every fifth row has no array, and some arrays repeat a text."""
    draw = np.random.default_rng(seed)
    size = 60
    arrays: list[list | None] = [
        [*map(str, draw.choice(GENRES, draw.integers(1, 4)))]
        if distance == "jaccard"
        else [float(x) for x in draw.integers(-3, 4, 3) * 2.0 ** draw.integers(-3, 3)]
        for _ in range(size)
    ]
    for place, array in enumerate(arrays):
        if draw.random() < 0.2:
            arrays[place] = None
        elif distance == "cosine" and not any(array):
            arrays[place] = [0.0, 0.5, 0.0]
    user = np.arange(size) // 6
    item = draw.permutation(size)
    return pa.table({"user": user, "item": item, "score": draw.integers(0, 3, size).astype(float), "of": arrays})


def mean_over_orders(scores: list[float], arrays: list, k: int, distance: Distance) -> float:
    """The mean over the orders of tied rows in which two arrays are within k."""
    values = []
    for order in itertools.permutations(range(len(scores))):
        if [scores[place] for place in order] == sorted(scores, reverse=True):
            shown = [arrays[place] for place in order[:k] if arrays[place] is not None]
            pairs = [distance(one, other) for one, other in itertools.combinations(shown, 2)]
            values += [math.fsum(pairs) / len(pairs)] if pairs else []
    return math.fsum(values) / len(values) if values else math.nan


@pytest.mark.parametrize(("name", "distance"), [("jaccard", jaccard), ("cosine", cosine)])
@pytest.mark.parametrize("seed", range(2))
def test_arrays_against_all_pairs(name: str, distance: Distance, seed: int) -> None:
    table = rows(seed, name)
    metrics = {k: f"ild(by=of,distance={name})@{k}" for k in (2, 3, 9)}
    mixed = table.take(pa.array(np.random.default_rng(9).permutation(len(table))))
    found = [
        sr.evaluate(given, [*metrics.values()], group="user", item="item", score="score") for given in (table, mixed)
    ]
    first, second = ({row["user"]: row for row in one.groups.to_pylist()} for one in found)
    assert repr(dict(sorted(first.items()))) == repr(dict(sorted(second.items())))  # the order of rows leaves no trace
    for user in range(10):
        own = table.filter(pa.array(table["user"].to_numpy() == user)).to_pydict()
        for k, metric in metrics.items():
            expected = mean_over_orders(own["score"], own["of"], k, distance)
            assert first[user][metric] == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), (user, metric)


def test_arrays_of_a_catalog_are_those_of_the_rows() -> None:
    table = rows(5, "cosine")
    texts = pa.array([["jazz"], ["rock", "jazz"], None] * 20)
    table = table.append_column("genres", texts)
    metrics = ["ild(by=of,distance=cosine)@3", "ild(by=genres,distance=jaccard)@3", "distinct(by=item)@2"]
    columns = {"group": "user", "item": "item", "score": "score"}
    here = sr.evaluate(table, metrics, **columns)
    asked = [metric.replace("by=", "by=catalog.") for metric in metrics[:2]]
    there = sr.evaluate(
        table.select(["user", "item", "score"]), asked, **columns, catalog=table.select(["item", "of", "genres"])
    )
    values = [[repr(row["value"]) for row in ev.metrics.to_pylist()] for ev in (here, there)]
    assert values[0][:2] == values[1]


@pytest.mark.parametrize("bad", [[0.0, 0.0, 0.0], [1.0, math.nan, 0.0], [], [1.0, None, 0.0], [1.0, math.inf, 0.0]])
def test_an_array_without_a_direction_is_a_bad_row(bad: list) -> None:
    table = rows(6, "cosine")
    arrays = [bad, *table["of"].to_pylist()[1:]]
    given = table.set_column(3, "of", pa.array(arrays, pa.list_(pa.float64())))
    columns = {"group": "user", "item": "item", "score": "score", "max_bad_fraction": 0.5}
    found = sr.evaluate(given, ["ild(by=of,distance=cosine)"], **columns)
    without = sr.evaluate(table.slice(1), ["ild(by=of,distance=cosine)"], **columns)
    assert repr(found["ild(by=of,distance=cosine)"]) == repr(without["ild(by=of,distance=cosine)"])
    (count,) = (row["count"] for row in found.quality.to_pylist() if row["check"] == checks.BAD_VECTOR)
    assert count == 1


@pytest.mark.parametrize("buckets", [1, 16])
def test_arrays_of_a_group_have_one_length(buckets: int) -> None:
    """Those of user 1 are at a right angle, those of user 2 are the same: the mean is 1/2, whoever shares a bucket."""
    arrays = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]
    table = pa.table({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "score": [2.0, 1.0, 2.0, 1.0], "of": arrays})
    columns = {"group": "user", "item": "item", "score": "score", "buckets": buckets}
    found = sr.evaluate(table, ["ild(by=of,distance=cosine)"], **columns)
    assert found.value("ild(by=of,distance=cosine)") == pytest.approx(1 / 2, abs=1e-12)
    mixed = table.set_column(0, "user", pa.array([1, 2, 1, 2]))
    with pytest.raises(sr.InputError, match='"of" has arrays of 2 and of 3 numbers in one group: one length is needed'):
        sr.evaluate(mixed, ["ild(by=of,distance=cosine)"], **columns)


@pytest.mark.parametrize("limit", [5, 1000])
def test_values_are_counted_alike_by_sorting_and_by_counters(limit: int) -> None:
    """The limit decides, as counters of many absent values cost more than to sort a few that are there."""
    values, times = value_pairs._distinct(np.array([4, 0, 4, 2, 4]), limit)
    assert (values.tolist(), times.tolist()) == ([0, 2, 4], [1, 1, 3])


def test_an_array_without_a_text_is_a_null_and_counted() -> None:
    """Of a, nothing, b and nothing but a null there is one pair, which has no common text."""
    tags = pa.array([["a"], [], ["b"], [None]], pa.list_(pa.string()))
    rows = pa.table({"user": [1] * 4, "score": [4.0, 3.0, 2.0, 1.0], "label": [1, 0, 0, 0], "tags": tags})
    metric = "ild(by=tags,distance=jaccard)"
    found = sr.evaluate(rows, [metric], group="user", score="score", label="label")
    assert found[metric] == 1.0
    (count,) = (row["count"] for row in found.quality.to_pylist() if row["check"] == checks.without_value("tags"))
    assert count == 2
