"""Sums by part without their zeros are what dense arrays of all parts, values and models would be."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkrank.numeric.array_types import Floats
from sparkrank.numeric.exact_sums import LIMBS, exact_sum
from sparkrank.schemas.tables import PAIR_NUMBERS, schema_of
from sparkrank.states.keys import Subject
from sparkrank.states.part_sums import PARTS_OF_SLICE, NonzeroSums, PartSums, SlicedSums

MODELS, NAMES, VALUES = ("a", "b"), ("ap", "rr"), ("at", "de", None)
COUNTS, SUMS = 5, 2  # of a pair of models: numbers of groups, then the limbs of two sums
COLUMNS = COUNTS + SUMS * LIMBS
# What was added up: by model, name, value and part, the numbers of each group.
Added = dict[tuple[str, str, "str | None", int], list[float]]
NUMBERS = st.floats(-1e6, 1e6).filter(lambda number: number == 0 or abs(number) > 1e-6)
CELLS = st.tuples(
    st.sampled_from(MODELS), st.sampled_from(NAMES), st.sampled_from(VALUES), st.integers(0, PARTS_OF_SLICE - 1)
)
ADDED = st.dictionaries(CELLS, st.lists(NUMBERS, min_size=1, max_size=3), max_size=12)


def dense(numbers: list[float]) -> Floats:
    """The columns of one name in one part: a count, no other counts, the sum and that of the halves."""
    found = np.zeros(COLUMNS)
    found[0] = len(numbers)
    found[COUNTS:] = np.concatenate([exact_sum(np.array(numbers)), exact_sum(np.array(numbers) / 2)])
    return found


def sums_of(added: Mapping[tuple[str, str, str | None, int], list[float]]) -> PartSums:
    """The state of one bucket, with the models, names and values that it has, the latter in an order of its own."""
    values = tuple(dict.fromkeys(value for _, _, value, _ in added))
    by_model = {}
    for model in dict.fromkeys(model for model, *_ in added):
        names = tuple(dict.fromkeys(name for of, name, *_ in added if of == model))
        array = np.zeros((len(values) * PARTS_OF_SLICE, len(names), COLUMNS))
        for (of, name, value, part), numbers in added.items():
            if of == model:
                array[values.index(value) * PARTS_OF_SLICE + part, names.index(name)] = dense(numbers)
        by_model[model] = NonzeroSums.of(names, PARTS_OF_SLICE, array)
    return PartSums({"country": SlicedSums(values, by_model)} if added else {})


def values_of(sums: PartSums) -> dict[tuple[str, str, str | None, int], tuple[float, float, float]]:
    """The count and the two sums of each part that has any."""
    found = {}
    for model, name, value in itertools.product(MODELS, NAMES, VALUES):
        numbers = sums.of(Subject(model, "country", value), name)
        if numbers is not None:
            assert numbers.shape == (PARTS_OF_SLICE, COLUMNS)
            for part in np.flatnonzero(numbers.any(axis=1)).tolist():
                first, second = map(math.fsum, numbers[part, COUNTS:].reshape(SUMS, LIMBS))
                found[model, name, value, part] = float(numbers[part, 0]), first, second
    return found


def together(buckets: list[Added]) -> Added:
    found: Added = {}
    for bucket in buckets:
        for key, numbers in bucket.items():
            found.setdefault(key, []).extend(numbers)
    return found


@given(st.lists(ADDED, min_size=1, max_size=4))
def test_merged_sums_are_those_of_all_groups(buckets: list[Added]) -> None:
    first, *others = map(sums_of, buckets)
    merged = first.merge(others)
    expected = {
        key: (len(numbers), math.fsum(numbers), math.fsum(number / 2 for number in numbers))
        for key, numbers in together(buckets).items()
    }
    assert values_of(merged) == expected


@given(st.lists(ADDED, min_size=2, max_size=4))
def test_no_order_of_buckets_shows(buckets: list[Added]) -> None:
    def bits(merged: PartSums) -> list[list[object]]:
        rows = merged.rows(schema_of(PAIR_NUMBERS)).to_pylist()
        return sorted(([repr(value) for value in row.values()] for row in rows), key=repr)

    states = [*map(sums_of, buckets)]
    expected = bits(states[0].merge(states[1:]))
    assert bits(states[-1].merge(states[-2::-1])) == expected
    assert bits(sums_of(together(buckets)).merge([])) == expected
    assert bits(states[0].merge([states[1].merge(states[2:])])) == expected


@given(ADDED)
def test_rows_and_bytes_are_the_sums_again(added: Added) -> None:
    sums = sums_of(added).merge([])
    numbers = schema_of(PAIR_NUMBERS)
    again = PartSums.of_rows(sums.rows(numbers), numbers.names)
    sent = pickle.loads(pickle.dumps(sums))  # noqa: S301 - by this test
    assert values_of(sums) == values_of(again) == values_of(sent)


def test_zeros_and_what_cancels_are_not_kept() -> None:
    """Three of 48 parts of values, and of 34 columns the count and the one limb of each sum that wholes have."""
    added: Added = {("a", "ap", value, 7): [1.0, 1.0] for value in VALUES} | {("a", "rr", "at", 7): [0.0]}
    (sums,) = sums_of(added).by_slice["country"].by_model.values()
    assert sums.numbers.shape == (4, 3)
    assert sums.cells.tolist() == [7, PARTS_OF_SLICE + 7, 2 * PARTS_OF_SLICE + 7]
    one, other = (sums_of({("a", "ap", "at", 1): [number]}) for number in (0.25, -0.25))
    (sums,) = one.merge([other]).by_slice["country"].by_model.values()
    assert (sums.numbers.tolist(), sums.used.tolist()) == ([[2.0]], [0])  # the count alone


def test_the_same_sum_has_one_form() -> None:
    """One is 2^18 units of 2^-18, or that and half a unit in the finer limb, less the same."""
    forms = []
    for finer in (0.0, 2.0**-18):
        array = np.zeros((1, 1, COLUMNS))
        array[0, 0, COUNTS + 2 : COUNTS + 4] = 1.0 - finer, finer
        forms.append(PartSums({"all": SlicedSums(("all",), {"a": NonzeroSums.of(["ap"], 1, array)})}).merge([]))
    one, other = (each.by_slice["all"].by_model["a"] for each in forms)
    assert one.used.tolist() == other.used.tolist() == [COUNTS + 2]
    assert one.numbers.tolist() == other.numbers.tolist() == [[1.0]]


def test_many_names_are_carried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    buckets: list[Added] = [{(model, name, "at", 3): [0.3, 1e5] for model in MODELS for name in NAMES}] * 5
    states = [*map(sums_of, buckets)]
    expected = values_of(states[0].merge(states[1:]))
    monkeypatch.setattr("sparkrank.states.part_sums.CARRIED_BYTES", 1)
    assert values_of(states[0].merge(states[1:])) == expected
    assert len(expected) == len(MODELS) * len(NAMES)


def test_nobody_has_what_is_not_there() -> None:
    sums = sums_of({("a", "ap", "at", 1): [0.5]})
    for subject, name in (
        (Subject("b", "country", "at"), "ap"),
        (Subject("a", "device", "at"), "ap"),
        (Subject("a", "country", "de"), "ap"),
        (Subject("a", "country", "at"), "rr"),
    ):
        assert sums.of(subject, name) is None
