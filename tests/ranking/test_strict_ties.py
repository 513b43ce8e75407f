"""ties=item, worst, best and block: tied rows in one named order, or as one step."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparkrank.metrics import CATALOG, Metric
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ORACLES, PAIRED, settled_for
from tests.support.buckets import bucket, evaluate, group_values, or_nan
from tests.support.strategies import PATIENT, Asked, arguments, group_metrics, impressions, text

MODES = ("item", "worst", "best", "block")


def by_definition(rows: list[Row], group: str, parts: Asked, ties: str) -> float:
    name, given_, _ = parts
    judged = [label for owner, _, _, label in rows if owner == group]
    listed = [(item, score, label) for owner, item, score, label in rows if owner == group and score is not None]
    if name in PAIRED:
        value = PAIRED[name]([(score, label) for owner, _, score, label in rows if owner == group], **given_)
    else:
        value = ORACLES[name](settled_for(name, listed, ties), judged, **arguments(parts))
    return or_nan(value)


@pytest.mark.parametrize("ties", MODES)
@settings(PATIENT, max_examples=examples(100))
@given(
    impressions(most_rows=8), st.lists(group_metrics(tied=False, values=True), min_size=1, max_size=6, unique_by=text)
)
def test_the_order_that_is_named(ties: str, rows: list[Row], metrics: list[Asked]) -> None:
    found = evaluate(rows, [text(parts) for parts in metrics], ties)
    for parts in metrics:
        expected = {group: by_definition(rows, group, parts, ties) for group in {row[0] for row in rows}}
        canonical = str(Metric.parse(text(parts)))
        assert group_values(found, canonical) == pytest.approx(expected, rel=0, abs=1e-13, nan_ok=True), canonical


@settings(PATIENT, max_examples=examples(50))
@given(impressions(most_rows=8, scores=(None, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)), group_metrics(tied=True))
def test_worst_and_best_enclose_the_others(rows: list[Row], parts: Asked) -> None:
    """More relevant rows further up is never worse, for any of these metrics but one that asks for other positions."""
    assume(parts[0] != "fitness")
    metric = str(Metric.parse(text(parts)))
    of = {ties: group_values(evaluate(rows, [metric], ties), metric) for ties in ("worst", "best", "item", "expected")}
    if CATALOG[parts[0]].higher_is_better is False:
        of["worst"], of["best"] = of["best"], of["worst"]
    for group in {row[0] for row in rows}:
        if of["worst"][group] == of["worst"][group]:
            for ties in ("item", "expected"):
                assert of["worst"][group] - 1e-13 <= of[ties][group] <= of["best"][group] + 1e-13, ties


# The order of the text's UTF-8 bytes, from the last: not that of numbers, of lower case, or of UTF-16.
TEXT_DESCENDING = ["\U0001f600", "\ufb01", "é", "z", "a", "_", "Z", "B10", "B1", "9", "10", "1", "-1", ""]


@pytest.mark.parametrize("place", range(len(TEXT_DESCENDING)))
def test_item_is_the_text_descending(place: int) -> None:
    rows = [("u", item, 0.0, float(item == TEXT_DESCENDING[place])) for item in sorted(TEXT_DESCENDING)]
    assert group_values(evaluate(rows, ["rr"], "item"), "rr") == {"u": 1 / (place + 1)}


def test_items_that_are_numbers_are_compared_as_text() -> None:
    """9, 2, 10, 1, -5: where numbers would stand 10, 9, 2, 1, -5."""
    table = bucket([("u", None, 0.0, label) for label in (0.0, 1.0, 0.0, 0.0, 0.0)])
    numbers = table.set_column(3, "item", pa.array([1, 10, 2, -5, 9], pa.int64()))
    assert group_values(evaluate(numbers, ["rr"], "item"), "rr") == {"u": 1 / 3}


def test_a_row_without_an_item_stands_last_among_its_ties() -> None:
    rows = [("u", None, 1.0, 1.0), ("u", "", 1.0, 0.0), ("u", "a", 1.0, 0.0), ("u", "b", 0.0, 0.0)]
    assert group_values(evaluate(rows, ["rr"], "item"), "rr") == {"u": 1 / 3}


def test_an_item_twice_in_a_tie_block_leaves_the_order_of_the_rows_no_trace() -> None:
    rows = [("u", "a", 0.5, 1.0), ("u", "a", 0.5, 0.0), ("u", "b", 0.5, 0.0)]
    for order in itertools.permutations(rows):
        assert group_values(evaluate(order, ["rr"], "item"), "rr") == {"u": 1 / 3}  # b, then a with its lower label
