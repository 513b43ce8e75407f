"""What a day counts as the popularity of items, against counts by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.states.items import UNIT, items_table
from tests.extent import examples
from tests.support.joined import COLUMNS, lists_table, truth_table
from tests.support.strategies import PATIENT

GROUP, ITEM = st.sampled_from("uvw"), st.sampled_from("abcd")
LABEL = st.sampled_from([None, 0.0, 0.5, 2.0])
LEFT_OUT = {("u", "a"), ("v", "b")}
# What changes the lists, and may not change what groups had.
WORDS: list[dict[str, Any]] = [
    {"unjudged": "drop"},
    {"duplicates": "first"},
    {"population": "truth"},
    {"exclude": lists_table([(*pair, 1.0) for pair in LEFT_OUT]).select(["user", "item"])},
]


def by_item(evaluation: sr.Evaluation) -> dict[str, tuple[float, int]]:
    rows = items_table(evaluation.solved.stored.partials.items).to_pylist()
    return {row["item"]: (row["shown"] / UNIT, row["relevant"]) for row in rows if row["exposure"] == "popularity"}


def by_hand(rows: list[tuple[str, str, float | None]]) -> dict[str, tuple[float, int]]:
    had = [(group, item) for group, item, label in rows if label]
    of_rows, of_groups = Counter(item for _, item in had), Counter(item for _, item in set(had))
    return {item: (float(count), of_groups[item]) for item, count in of_rows.items()}


@settings(PATIENT, max_examples=examples(120))
@given(
    st.lists(st.tuples(GROUP, ITEM, st.just(1.0)), min_size=1, max_size=8),
    st.lists(st.tuples(GROUP, ITEM, LABEL), min_size=1, max_size=10),
    st.sampled_from([{}, *WORDS]),
    st.integers(1, 3),
)
def test_a_day_counts_the_relevant_rows_of_its_truth_or_of_its_log(
    lists: list, labels: list, words: dict[str, Any], buckets: int
) -> None:
    assume(any(row[:2] in {own[:2] for own in labels if own[2] is not None} - LEFT_OUT for row in lists))
    asked: dict[str, Any] = {"popularity": True, "buckets": buckets, "uncertainty": False, **COLUMNS, **words}
    joined = sr.evaluate(lists_table(lists), ["p@2", "gini@1"], truth=truth_table(labels), **asked)
    assert by_item(joined) == by_hand(labels)
    log = truth_table(labels).append_column("score", truth_table(labels)["label"].fill_null(1.0))
    assert by_item(sr.evaluate(log, ["p@2"], **asked)) == by_hand(labels)
