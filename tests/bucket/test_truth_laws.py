"""Lists and truth against a join beforehand, a slow join, and themselves in other orders."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.metrics.definitions import ALLOWED
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ORACLES, PAIRED, Given, Listed, expected_over_orders, lists_and_truth, settled_for
from tests.support.buckets import bits_of_groups, or_nan
from tests.support.joined import COLUMNS, lists_table, truth_table, values_of
from tests.support.strategies import (
    OF_ALL_ROWS,
    PATIENT,
    Asked,
    arguments,
    group_metrics,
    has_unjudged,
    impressions,
    text,
)


def log_table(rows: Sequence[tuple]) -> pa.Table:
    label = pa.array([row[3] for row in rows], pa.float64())
    return lists_table([row[:3] for row in rows]).append_column("label", label)


@settings(PATIENT, max_examples=examples(60))
@given(impressions(most_rows=6), st.lists(group_metrics(tied=True), min_size=1, max_size=4, unique_by=text))
def test_joining_inside_is_evaluating_the_joined_table(rows: list[Row], metrics: list[Asked]) -> None:
    """The law of the full outer join: the two tables that a log falls into give its bits again."""
    assume(rows)
    log, names = log_table(rows), [text(parts) for parts in metrics]
    inside = sr.evaluate(log.drop_columns(["label"]), names, truth=log.drop_columns(["score"]), **COLUMNS)
    before = sr.evaluate(log, names, **COLUMNS)
    assert bits_of_groups(inside.groups) == bits_of_groups(before.groups)
    one, other = (ev.metrics.drop_columns(["definition", "spec_hash"]).to_pylist() for ev in (inside, before))
    assert repr(one) == repr(other)


WORDS = ("duplicates", "unjudged", "population", "unretrieved")
DEFINITIONS = st.fixed_dictionaries(
    {name: st.sampled_from([word for word in ALLOWED[name] if word != "error"]) for name in WORDS}
)
GROUP, ITEM = st.sampled_from("uvw"), st.sampled_from("abcd")
SCORE = st.none() | st.integers(0, 3).map(float)
LABEL = st.sampled_from([None, -1.0, 0.0, 1.0, 2.0])


def meet(lists: Iterable[tuple], truth: Iterable[tuple], definitions: Mapping[str, str]) -> bool:
    """Whether some group has rows of both, and some row is left; else there is nothing to evaluate."""
    judged_at_all = definitions["unjudged"] != "drop" or any(label is not None for *_, label in truth)
    return bool({group for group, *_ in lists} & {group for group, *_ in truth}) and judged_at_all


@settings(PATIENT, max_examples=examples(200))
@given(
    st.lists(st.tuples(GROUP, ITEM, SCORE), max_size=12),
    st.lists(st.tuples(GROUP, ITEM, LABEL), max_size=8),
    DEFINITIONS,
    group_metrics(tied=False),
    st.sampled_from(["item", "worst", "best", "block"]),
)
def test_every_definition_against_a_slow_join(
    lists: list[Listed], truth: list[Given], definitions: dict[str, str], parts: Asked, ties: str
) -> None:
    as_tied = "" if parts[0] in PAIRED else ties  # which take tied scores as tied whatever the setting
    groups = lists_and_truth(lists, truth, **definitions, ties=as_tied)
    # An overlap of lists that repeat an item has no definition.
    repeats = any(len({item for item, *_ in listed}) < len(listed) for listed, _ in groups.values())
    assume(parts[0] != "rbo" or not repeats)
    assume(parts[0] not in OF_ALL_ROWS)
    assume(has_unjudged(parts, definitions))
    asked = {"truth": truth_table(truth), "ties": ties, **COLUMNS, **definitions}
    if not (groups and meet(lists, truth, definitions)):
        with pytest.raises(sr.InputError, match=r"^the (input|lists|truth)|^lists and truth|^no (row|group) "):
            sr.evaluate(lists_table(lists), [text(parts)], **asked)
        return
    found = sr.evaluate(lists_table(lists), [text(parts)], **asked)
    expected = {}
    for group, (listed, judged) in groups.items():
        if parts[0] in PAIRED:
            absent = [(None, label) for item, label in judged.items() if item not in {row[0] for row in listed}]
            value = PAIRED[parts[0]]([(score, label) for _, score, label in listed] + absent, **parts[1])
        else:
            value = ORACLES[parts[0]](settled_for(parts[0], listed, ties), list(judged.values()), **arguments(parts))
        expected[group] = or_nan(value)
    canonical = found.groups.column_names[-1]
    assert values_of(found, canonical) == pytest.approx(expected, rel=0, abs=1e-13, nan_ok=True)
    counts = {name: found.partials.counts.get((name, ""), 0) for name in (*checks.REJECTIONS, *checks.GONE)}
    evaluated = found.partials.counts[checks.ROWS_EVALUATED, ""]
    assert sum(counts.values()) + evaluated == len(lists) + len(truth)  # nothing dropped uncounted


@settings(PATIENT, max_examples=examples(100))
@given(
    st.lists(st.tuples(GROUP, ITEM, SCORE), max_size=10),
    st.lists(st.tuples(GROUP, ITEM, LABEL), max_size=8),
    DEFINITIONS,
    group_metrics(tied=True),
)
def test_an_item_that_counts_once_has_the_mean_over_the_orders_of_distinct_items(
    lists: list[Listed], truth: list[Given], definitions: dict[str, str], parts: Asked
) -> None:
    definitions = {**definitions, "duplicates": "once"}
    assume(parts[0] not in ("pair_auc", "kendall_distance", *OF_ALL_ROWS) and meet(lists, truth, definitions))
    assume(has_unjudged(parts, definitions))
    assume(groups := lists_and_truth(lists, truth, **definitions))
    found = sr.evaluate(lists_table(lists), [text(parts)], truth=truth_table(truth), **COLUMNS, **definitions)
    expected = {}
    for group, (listed, judged) in groups.items():
        oracle = functools.partial(ORACLES[parts[0]], judged=list(judged.values()), **arguments(parts))
        (value,) = expected_over_orders([(score, label) for _, score, label in listed], [oracle])
        expected[group] = or_nan(value)
    assert values_of(found, found.groups.column_names[-1]) == pytest.approx(expected, rel=0, abs=1e-13, nan_ok=True)


@settings(PATIENT, max_examples=examples(100))
@given(
    st.lists(st.tuples(GROUP, ITEM, SCORE, LABEL), min_size=1, max_size=12),
    DEFINITIONS,
    st.lists(group_metrics(tied=True), min_size=1, max_size=3, unique_by=text),
    st.sampled_from(ALLOWED["ties"]),
)
def test_a_log_of_which_an_item_counts_once_is_its_lists_and_its_truth(
    rows: list[tuple], definitions: dict[str, str], metrics: list[Asked], ties: str
) -> None:
    lists, truth = [row[:3] for row in rows], [(*row[:2], row[3]) for row in rows if row[3] is not None]
    definitions = {**definitions, "duplicates": "once"}
    assume(meet(lists, truth, definitions) and lists_and_truth(lists, truth, **definitions))
    assume(all(has_unjudged(parts, definitions) for parts in metrics))
    log = log_table(rows)
    asked = {**definitions, "metrics": [*map(text, metrics), "auc(exact)", "logloss"], "ties": ties, **COLUMNS}
    beside = log.drop_columns(["score"]).filter(log["label"].is_valid())
    both = sr.evaluate(log, **asked), sr.evaluate(log.drop_columns(["label"]), truth=beside, **asked)
    values = [repr(ev.metrics.select(["metric", "value", "n_groups"]).to_pylist()) for ev in both]
    assert values[0] == values[1]
