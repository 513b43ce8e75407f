"""The merge law, for every state: any split, in any order, with empty parts, in memory or through tables on disk, gives
the bits of the whole."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import StateError
from sparkrank.histogram.bins import BinRule
from sparkrank.numeric.exact_sums import LIMBS
from sparkrank.states import Partials, ScoreHistogram
from sparkrank.states import distributions as values
from sparkrank.states import partials as partials_of_buckets
from sparkrank.states.forms import DISTRIBUTION_FORM, SMALL_FORMS, blocks_form
from sparkrank.states.keys import rows_by_key
from sparkrank.states.means import MEAN_SUMS, MeanStates
from tests.extent import examples
from tests.support.buckets import bits_of_partials, evaluate
from tests.support.states import (
    KEY,
    LOGITS,
    METRICS,
    SERIES,
    STATES,
    State,
    blocks_of,
    distribution_of,
    means_of,
    through_tables,
    weighted_blocks_of,
)
from tests.support.strategies import PATIENT


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
@settings(PATIENT, max_examples=examples(15))
@given(data=st.data())
def test_merge_law(state: State, data: st.DataObject) -> None:
    check_merge_law(state, data)
    if state.field == "distributions":
        with mock.patch.object(values, "MAX_EXACT_VALUES", 4):  # the others fall into blocks
            check_merge_law(state, data)


def check_merge_law(state: State, data: st.DataObject) -> None:
    elements = data.draw(state.elements)
    count = data.draw(st.integers(1, 5))
    places = data.draw(st.lists(st.integers(0, count - 1), min_size=len(elements), max_size=len(elements)))
    split = [[each for each, place in zip(elements, places, strict=True) if place == part] for part in range(count)]
    parts = [state.of(part) for part in split] + [state.empty()]
    whole = state.bits(state.merge([state.of(elements)]))
    assert state.bits(state.merge(parts)) == whole
    shuffled = data.draw(st.permutations(parts))
    assert state.bits(state.merge(shuffled)) == whole
    at = data.draw(st.integers(1, len(parts) - 1))  # and merged in two steps
    halves = [state.merge(shuffled[:at]), state.merge(shuffled[at:])]
    assert state.bits(state.merge(halves)) == whole
    assert state.bits(state.merge(halves[::-1])) == whole
    stored = [state.partials(part) for part in shuffled]
    assert state.bits(state.state(through_tables(stored))) == whole
    assert state.bits(state.state(through_tables([through_tables(stored[:at]), *stored[at:]]))) == whole


def test_a_distribution_of_parts_by_both_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """One day in blocks and one in values, and rows that shrink to the blocks that they share."""
    monkeypatch.setattr(values, "MAX_EXACT_VALUES", 12)
    many, few = 0.5 + np.arange(20) * 1e-9, np.array([0.5, 0.75])
    stored = [Partials(distributions={KEY: distribution_of(each)}) for each in (many, few)]
    (merged,) = through_tables(stored).distributions.values()
    assert (merged.histogram.score.tolist(), merged.histogram.neg.tolist()) == ([0.5, 0.75], [21, 1])
    parts = [Partials(distributions={KEY: distribution_of(part)}) for part in (many[:10], many[10:])]
    halves = [DISTRIBUTION_FORM.to_table(part) for part in parts]
    assert [half.num_rows for half in halves] == [10, 10]
    assert DISTRIBUTION_FORM.merged(halves)["groups"].to_pylist() == [20]


def test_blocks_read_back_from_rows_in_any_order() -> None:
    table = blocks_form(weighted=False).to_table(
        Partials(blocks={SERIES: blocks_of([(3.0, True), (-1.0, False), (0.5, True)])})
    )
    (found,) = blocks_form(weighted=False).from_table(table.take([2, 0, 1])).blocks.values()
    assert found.score.tolist() == [-1.0, 0.5, 3.0]
    assert found.pos.tolist() == [0, 1, 1]


def test_the_law_covers_every_state() -> None:
    # what a person is shown of a day stands in no table (the laws are in test_unmatched.py, test_distinct_items.py,
    # test_largest_groups.py and test_repeated_keys.py), nor what ran,
    # nor what is counted before a day (test_first_times.py)
    of_a_day = {"unmatched", "item_hashes", "loops", "largest", "heaviest", "largest_weights", "failure", "repeated"}
    of_a_day |= {"first_times"}
    assert {state.field for state in STATES} - {None} == {field.name for field in fields(Partials)} - of_a_day


def test_number_columns_are_unique() -> None:
    """Rows of all small states share one table."""
    names = [name for form in SMALL_FORMS for name in form.numbers.names]
    assert len(set(names)) == len(names)


def test_tables_of_states_hold_every_float() -> None:
    """The whole sums, not only what they are rounded to, and limbs that have their stored form as they are."""
    means = means_of([(1 / 3, 2.0**40), (0.1, 1e-9)])
    stored = through_tables([Partials(means=means)]).means.table
    assert through_tables([Partials(means=MeanStates(stored))]).means.table.equals(stored)

    def sums(table: pa.Table) -> list[Fraction]:
        limbs = ([table[f"{name}_{limb}"][0].as_py() for limb in range(LIMBS)] for name in MEAN_SUMS)
        return [sum(map(Fraction, each), Fraction()) for each in limbs]

    assert sums(stored) == sums(means.table)


def test_a_rule_reads_back_from_its_text() -> None:
    more = (BinRule("exact"), BinRule("digits", 5, 2.0), BinRule("exact", 0, 0.1 + 0.2), BinRule("bits", 1, -1))
    for rule in (LOGITS, *more):
        assert BinRule.parse(str(rule)) == rule


def test_blocks_of_different_rules_are_refused() -> None:
    for other in (BinRule("bits", 5), BinRule("digits", 4), BinRule("bits", 4, rel=2.0)):
        with pytest.raises(StateError) as refused:
            blocks_of([(1.0, True)]).merge(ScoreHistogram.empty(other))
        assert str(LOGITS) in str(refused.value)
        assert str(other) in str(refused.value)


def test_blocks_with_weights_and_without_are_refused() -> None:
    with pytest.raises(StateError, match="with weights do not merge with bins without"):
        blocks_of([(1.0, True)]).merge(weighted_blocks_of([(1.0, True, 2.0)]))


@pytest.mark.parametrize("limit", [1, 1 << 40], ids=["two at once", "eight at once"])
def test_few_of_many_states_are_in_memory_while_they_merge(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """On their way between workers, merged a few at a time, they have the bits that they have all at once."""
    draw = np.random.default_rng(1)
    rows = [("a", "1", 2.0, 1.0), ("a", "2", 1.0, 0.0), ("b", "1", None, 3.0), ("b", "2", 0.5, None)]
    groups = [[(f"u{user}", str(item), draw.random(), float(item == 2)) for item in range(5)] for user in range(19)]
    parts = [evaluate(group, METRICS).partials for group in (rows, *groups)]
    whole, sizes, merge = Partials.merged(parts), [], Partials.merged

    def seen(some: list[Partials]) -> Partials:
        sizes.append(len(some))
        return merge(some)

    monkeypatch.setattr(partials_of_buckets, "MERGED_BYTES", limit)
    monkeypatch.setattr(Partials, "merged", seen)
    assert bits_of_partials(Partials.unpack(part.pack() for part in parts)) == bits_of_partials(whole)
    assert bits_of_partials(Partials.unpack([parts[0].pack()])) == bits_of_partials(parts[0])
    assert max(sizes) == (2 if limit == 1 else partials_of_buckets.MERGED_AT_ONCE)


@pytest.mark.parametrize("keys", [1, 9, 70_000])
def test_rows_by_key_are_all_rows_of_each_key(keys: int) -> None:
    """In chunks, with dictionaries or without; 70,000 are more than 16 bits number."""
    rng = np.random.default_rng(keys)
    numbers = np.concatenate([rng.permutation(keys), rng.integers(0, keys, 50)])
    texts = pa.chunked_array([[f"{number // 300}" for number in part] for part in (numbers[:3], numbers[3:])])
    coded = pa.array([f"{number % 300}" for number in numbers]).dictionary_encode()
    expected: dict[tuple[str, ...], list[int]] = {}
    for place, number in enumerate(numbers):
        expected.setdefault((f"{number // 300}", f"{number % 300}"), []).append(place)
    rows = pa.table({"of": texts, "name": coded, "n": numbers})
    assert {key: places.tolist() for key, places in rows_by_key(rows, ("of", "name"))} == expected
    assert not list(rows_by_key(rows.slice(0, 0), ("of", "name")))
