"""The merge law, for every state: any split, in any order, with empty parts, in memory or through tables on disk, gives
the bits of the whole."""

from __future__ import annotations

import io
import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.errors import StateError
from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.exact import exact_sum
from sparkrank.kernels.exposure import UNIT
from sparkrank.kernels.limbs import LIMBS, total
from sparkrank.kernels.rowsums import RowSum, ScoredRows
from sparkrank.metrics import Metric
from sparkrank.states import Distribution, ItemCounts, MeanStates, Partials, RowSums, ScoreBlocks, Series
from sparkrank.states import distributions as values
from sparkrank.states.items import items_table
from sparkrank.states.keys import SliceKey, rows_by_key
from sparkrank.states.means import Mean, MeanRows, weighted_sums
from sparkrank.states.stored import DISTRIBUTIONS, SMALL, blocks_form, large_forms
from tests.unit.buckets import bits_of_partials, day, evaluate
from tests.unit.strategies import PATIENT, impressions

METRICS = ["ndcg@3", "ap", "rr", "p@2", "gauc", "group_auc(weight=pairs)", "auc", "auc(exact)", "auc_up(digits=1)"]
METRICS += ["logloss", "f1", "precision(threshold=1.5)", "ece"]
LOGITS = BlockRule("bits", 4)
KEY = ("model", "all", "all", "ap")
SLICE_KEY = SliceKey(KEY[0], KEY[1], [KEY[2]], KEY[3])
SERIES = Series("model", "all", "all", LOGITS)


@dataclass(frozen=True)
class State:
    """A state as the law sees it: what it is made of, how it is made, merged and read.

    ``partials`` puts it where tables take it from, and ``state`` takes it out again. ``field`` is its place there.
    """

    name: str
    elements: st.SearchStrategy[list[Any]]
    of: Callable[[Sequence[Any]], Any]
    empty: Callable[[], Any]
    merge: Callable[[Sequence[Any]], Any]
    bits: Callable[[Any], object]
    partials: Callable[[Any], Partials]
    state: Callable[[Partials], Any]
    field: str | None = None


def means_of(groups: Sequence[tuple[float, float]]) -> MeanStates:
    values, weights = (np.array(column, dtype=float) for column in (zip(*groups, strict=True) if groups else ((), ())))
    counts = np.array([[len(groups), 0, len(groups), 3 * len(groups)]])
    return MeanStates.of([MeanRows(SLICE_KEY, counts, weighted_sums(values, weights))])


def blocks_of(rows: Sequence[tuple[float, bool]]) -> ScoreBlocks:
    scores, flags = zip(*rows, strict=True) if rows else ((), ())
    return ScoreBlocks.of(LOGITS, np.array(scores, dtype=float), np.array(flags, dtype=bool), sums=True)


def weighted_blocks_of(rows: Sequence[tuple[float, bool, float]]) -> ScoreBlocks:
    scores, flags, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return ScoreBlocks.of(
        LOGITS, np.array(scores, dtype=float), np.array(flags, dtype=bool), True, np.array(weights, dtype=float)
    )


QUANTITIES = [
    RowSum("rows"),
    RowSum("weight"),
    RowSum("positives", rel=2.0),
    RowSum("predicted", threshold=0.5),
    RowSum("true_positives", threshold=0.5),
    RowSum("scores"),
    RowSum("squared_error"),
    RowSum("log_loss"),
    RowSum("outside"),
]


def row_sums_of(rows: Sequence[tuple[float, float, float]]) -> RowSums:
    columns = np.array(rows, dtype=float).reshape(len(rows), 3).T
    scored = ScoredRows(columns[0], columns[1], columns[2])
    return RowSums.of([(SLICE_KEY._replace(name=str(each)), scored.sums(each)) for each in QUANTITIES])


def bits_of_row_sums(sums: RowSums) -> list[object]:
    nothing = [(SLICE_KEY._replace(name=str(each)), np.zeros((1, LIMBS))) for each in QUANTITIES]
    found = sums.results() or RowSums.of(nothing).results()
    return sorted((key, repr(value)) for key, value in found.items())


def bits_of_blocks(blocks: ScoreBlocks) -> list[list[int]]:
    return [getattr(blocks, name).tolist() for name in ("block", "pos", "neg", "offset", "rows")]


def items_of(rows: Sequence[tuple[str, int, bool]]) -> ItemCounts:
    items, shown, relevant = zip(*rows, strict=True) if rows else ((), (), ())
    texts = pa.chunked_array([pa.array(items, pa.string())])
    return ItemCounts.of(SLICE_KEY, texts, np.array(shown, np.int64), np.array(relevant, bool))


def bits_of_means(means: MeanStates) -> str:
    return repr(sorted(means.results().items()))


def bits_of_filled_partials(partials: Partials) -> dict[str, object]:
    """Without series that have no block: a table has no row for them."""
    filled = {series: blocks for series, blocks in partials.blocks.items() if len(blocks.block)}
    return bits_of_partials(replace(partials, blocks=filled))


def of_groups(groups: Sequence[list[Any]]) -> Partials:
    return evaluate([row for group in groups for row in group], METRICS).partials


WHOLE_GROUPS = impressions(most_rows=4, groups=[f"g{number}" for number in range(8)]).map(
    lambda rows: [[row for row in rows if row[0] == group] for group in sorted({row[0] for row in rows})]
)
WEIGHTS = st.floats(0, 1000) | st.sampled_from([0.0, 1.0, 1 / 3, 1e-9, 2.0**-70])
STATES = [
    State(
        "MeanStates",
        st.lists(st.tuples(st.floats(-8, 1000), st.floats(0, 10000)), max_size=30),
        means_of,
        MeanStates.empty,
        lambda parts: parts[0].merge(*parts[1:]),
        bits_of_means,
        lambda means: Partials(means=means),
        lambda partials: partials.means,
        "means",
    ),
    State(
        "ScoreBlocks",
        st.lists(st.tuples(st.floats(-20, 20) | st.just(math.inf), st.booleans()), max_size=30),
        blocks_of,
        lambda: ScoreBlocks.empty(LOGITS),
        lambda parts: parts[0].merge(*parts[1:]),
        bits_of_blocks,
        lambda blocks: Partials(blocks={SERIES: blocks}),
        lambda partials: partials.blocks.get(SERIES, ScoreBlocks.empty(LOGITS)),
        "blocks",
    ),
    State(
        "ItemCounts",
        st.lists(st.tuples(st.sampled_from(["x", "y", "é", ""]), st.integers(0, UNIT), st.booleans()), max_size=30),
        items_of,
        ItemCounts.empty,
        lambda parts: parts[0].merge(*parts[1:]),
        lambda items: items_table(items).to_pylist(),
        lambda items: Partials(items=items),
        lambda partials: partials.items,
        "items",
    ),
    State(
        "counts",
        st.lists(st.tuples(st.sampled_from(["groups", "rows read"]), st.sampled_from(["", "model"])), max_size=30),
        lambda found: Partials(counts=Counter(found)),
        Partials,
        Partials.merged,
        lambda partials: sorted(partials.counts.items()),
        lambda partials: partials,
        lambda partials: partials,
        "counts",
    ),
    State(
        "Partials",
        WHOLE_GROUPS,
        of_groups,
        Partials,
        Partials.merged,
        bits_of_filled_partials,
        lambda partials: partials,
        lambda partials: partials,
    ),
    State(
        "ScoreBlocks with weights",
        st.lists(st.tuples(st.floats(-20, 20) | st.just(math.inf), st.booleans(), WEIGHTS), max_size=30),
        weighted_blocks_of,
        lambda: ScoreBlocks.empty(LOGITS),
        lambda parts: parts[0].merge(*parts[1:]),
        bits_of_blocks,
        lambda blocks: Partials(blocks={SERIES: blocks}),
        lambda partials: partials.blocks.get(SERIES, ScoreBlocks.empty(LOGITS)),
        "blocks",
    ),
    State(
        "RowSums",
        st.lists(st.tuples(st.floats(-0.1, 1), st.sampled_from([0.0, 1.0, 2.0]), WEIGHTS), max_size=30),
        row_sums_of,
        RowSums.empty,
        lambda parts: parts[0].merge(*parts[1:]),
        bits_of_row_sums,
        lambda sums: Partials(sums=sums),
        lambda partials: partials.sums,
        "sums",
    ),
    State(
        "Distribution",
        st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]) | st.floats(0, 1), max_size=30),
        lambda found: Distribution.of(np.array(found, dtype=float)),
        lambda: Distribution.of(np.empty(0)),
        lambda parts: parts[0].merge(*parts[1:]),
        lambda found: (str(found.blocks.rule), *bits_of_blocks(found.blocks)) if len(found.blocks.block) else None,
        lambda found: Partials(distributions={KEY: found}),
        lambda partials: partials.distributions.get(KEY, Distribution.of(np.empty(0))),
        "distributions",
    ),
]


def through_tables(parts: Sequence[Partials]) -> Partials:
    """Each part written as its tables, the files read and merged as those of days are."""
    found = []
    weighted = any(blocks.count is not None for part in parts for blocks in part.blocks.values())
    for form in (*SMALL, *large_forms(weighted=weighted)):
        tables = []
        for part in parts:
            file = io.BytesIO()
            pq.write_table(form.to_table(part), file)
            texts = [name for name in form.key if name != "block"]
            tables.append(pq.ParquetFile(file, read_dictionary=texts).read(form.columns))
        found.append(form.from_table(form.merged(tables)))
    return Partials.merged(found)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
@settings(PATIENT, max_examples=60)
@given(data=st.data())
def test_merge_law(state: State, data: st.DataObject) -> None:
    check_merge_law(state, data)


@settings(PATIENT, max_examples=60)
@given(data=st.data())
def test_merge_law_where_values_fall_into_blocks(data: st.DataObject) -> None:
    state = next(state for state in STATES if state.field == "distributions")
    with mock.patch.object(values, "MOST_VALUES", 4):
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
    monkeypatch.setattr(values, "MOST_VALUES", 12)
    many, few = 0.5 + np.arange(20) * 1e-9, np.array([0.5, 0.75])
    stored = [Partials(distributions={KEY: Distribution.of(each)}) for each in (many, few)]
    (merged,) = through_tables(stored).distributions.values()
    assert (merged.blocks.score.tolist(), merged.blocks.neg.tolist()) == ([0.5, 0.75], [21, 1])
    parts = [Partials(distributions={KEY: Distribution.of(part)}) for part in (many[:10], many[10:])]
    halves = [DISTRIBUTIONS.to_table(part) for part in parts]
    assert [half.num_rows for half in halves] == [10, 10]
    assert DISTRIBUTIONS.merged(halves)["groups"].to_pylist() == [20]


def test_blocks_read_back_from_rows_in_any_order() -> None:
    table = blocks_form(weighted=False).to_table(
        Partials(blocks={SERIES: blocks_of([(3.0, True), (-1.0, False), (0.5, True)])})
    )
    (found,) = blocks_form(weighted=False).from_table(table.take([2, 0, 1])).blocks.values()
    assert found.score.tolist() == [-1.0, 0.5, 3.0]
    assert found.pos.tolist() == [0, 1, 1]


def test_the_law_covers_every_state() -> None:
    assert {state.field for state in STATES} - {None} == {field.name for field in fields(Partials)}


def test_number_columns_are_unique() -> None:
    """Rows of all small states share one table."""
    names = [name for form in SMALL for name in form.numbers.names]
    assert len(set(names)) == len(names)


def test_tables_of_states_hold_every_float() -> None:
    """The limbs themselves, not only what they sum up to."""
    means = means_of([(1 / 3, 2.0**40), (0.1, 1e-9)])
    assert through_tables([Partials(means=means)]).means.table.equals(means.table)


@pytest.mark.parametrize(
    "rule",
    [
        BlockRule("exact"),
        LOGITS,
        BlockRule("digits", 5, 2.0),
        BlockRule("exact", 0, 0.1 + 0.2),
        BlockRule("bits", 1, -1),
    ],
    ids=str,
)
def test_a_rule_reads_back_from_its_text(rule: BlockRule) -> None:
    assert BlockRule.parse(str(rule)) == rule


@pytest.mark.parametrize(
    "other", [BlockRule("bits", 5), BlockRule("digits", 4), BlockRule("bits", 4, rel=2.0)], ids=str
)
def test_blocks_of_different_rules_are_refused(other: BlockRule) -> None:
    with pytest.raises(StateError) as refused:
        blocks_of([(1.0, True)]).merge(ScoreBlocks.empty(other))
    assert str(LOGITS) in str(refused.value)
    assert str(other) in str(refused.value)


def test_blocks_with_weights_and_without_are_refused() -> None:
    with pytest.raises(StateError, match="with weights do not merge with blocks without"):
        blocks_of([(1.0, True)]).merge(weighted_blocks_of([(1.0, True, 2.0)]))


@pytest.mark.parametrize("rows", [[], [(1.0, True, 0.1), (1.0, False, 3.0), (2.0, True, 1e9)]], ids=["none", "some"])
def test_weighted_blocks_survive_the_way_between_workers(rows: list[tuple[float, bool, float]]) -> None:
    blocks = weighted_blocks_of(rows)
    again = Partials.unpack(Partials(blocks={SERIES: blocks}).pack()).blocks[SERIES]
    assert bits_of_blocks(again) == bits_of_blocks(blocks)


def test_partials_survive_the_way_between_workers() -> None:
    rows = [("a", "1", 2.0, 1.0), ("a", "2", 1.0, 0.0), ("b", "1", None, 3.0), ("b", "2", 0.5, None)]
    partials = evaluate(rows, METRICS).partials
    assert bits_of_partials(Partials.unpack(partials.pack())) == bits_of_partials(partials)


def test_a_mean_and_its_standard_error() -> None:
    """Without weights, that of a textbook; with weights, sqrt(sum w²(v - mean)² · n/(n-1)) / sum w."""
    values = [0.5, 0.25, 1.0, 0.0, 0.75]
    (plain,) = means_of([(value, 1.0) for value in values]).results().values()
    assert (plain.value, plain.weight, plain.n_groups, plain.n_rows) == (2.5 / 5, 5, 5, 15)
    assert plain.stderr == pytest.approx(statistics.stdev(values) / math.sqrt(5), rel=1e-12)
    weights = [1.0, 2.0, 3.0, 4.0, 0.0]
    (weighted,) = means_of(list(zip(values, weights, strict=True))).results().values()
    mean = (1 * 0.5 + 2 * 0.25 + 3 * 1.0 + 4 * 0.0 + 0 * 0.75) / (1 + 2 + 3 + 4 + 0)
    squares = sum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True))
    assert weighted.value == pytest.approx(mean, rel=1e-15)
    assert weighted.stderr == pytest.approx(math.sqrt(squares * 5 / 4) / 10, rel=1e-12)


@pytest.mark.parametrize(("groups", "value"), [([], math.nan), ([(0.5, 1.0)], 0.5), ([(0.5, 0.0)], math.nan)])
def test_too_few_groups_for_a_standard_error(groups: list[tuple[float, float]], value: float) -> None:
    (found,) = means_of(groups).results().values()
    assert isinstance(found, Mean)
    assert [found.value, found.stderr] == pytest.approx([value, math.nan], nan_ok=True)


@settings(PATIENT, max_examples=200)
@given(
    st.lists(
        st.floats(-8, 8) | st.floats(-1e6, 1e6) | st.sampled_from([8.0, -8.0, 1 / 3, 1e-18, 2.0**50]), max_size=40
    ),
    st.randoms(),
)
def test_exact_sums_do_not_know_the_order(values: list[float], shuffle) -> None:
    whole = exact_sum(np.array(values, dtype=float))
    shuffle.shuffle(values)
    at = len(values) // 2
    halves = exact_sum(np.array(values[at:], dtype=float)) + exact_sum(np.array(values[:at], dtype=float))
    assert halves.tolist() == whole.tolist()
    assert total(whole) == pytest.approx(math.fsum(values), rel=2**-52, abs=2**-62 * max(len(values), 1))


def test_large_weights_leave_no_trace_of_the_layout() -> None:
    """2,000 groups of 14,000 rows each, weighted by pairs: R·N reaches 5e7 and its square 2.5e15."""
    draw = np.random.default_rng(0)
    groups = list(
        zip(draw.random(2000).tolist(), draw.integers(0, 5 * 10**7, 2000).astype(float).tolist(), strict=True)
    )
    whole = bits_of_means(means_of(groups))
    for parts in (2, 7, 40):
        split = [means_of(groups[part::parts]) for part in range(parts)]
        assert bits_of_means(split[0].merge(*split[1:])) == whole


def test_a_million_thirds() -> None:
    """Where adding one after the other is off by 1e-5."""
    assert total(exact_sum(np.full(10**6, 1 / 3))) == pytest.approx(10**6 * (1 / 3), rel=2**-53)


def test_day_metrics_survive_the_merge() -> None:
    """A sanity check from the outside: the merged blocks give the AUC that the pairs give."""
    left = evaluate([("a", "1", 0.9, 1.0), ("a", "2", 0.4, 0.0)], ["auc(exact)"]).partials
    right = evaluate([("b", "1", 0.5, 0.0), ("b", "2", 0.45, 1.0)], ["auc(exact)"]).partials
    found = day(Partials.merged([left, right]), Metric.parse("auc(exact)"))
    assert found == ((2 + 1) / (2 * 2), 0)


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
