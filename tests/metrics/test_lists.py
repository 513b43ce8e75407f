"""Properties of all lists together, as coverage and Gini's coefficient: by loops, by law, and what they ask for."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import SpecError, StateError
from sparkrank.metrics import Metric, plan_of
from sparkrank.metrics.exposure import personalization
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.role_reasons import item_reason
from sparkrank.metrics.slices import ALL
from sparkrank.states import Partials
from sparkrank.states.forms import ITEM_FORM
from sparkrank.states.items import UNIT
from sparkrank.states.keys import Subject
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ALL_LISTS, Label
from tests.oracles.catalogues import Shown
from tests.support.buckets import MODEL, bucket, day, evaluate, or_nan
from tests.support.logged import warnings_about_input
from tests.support.strategies import PATIENT

ROLES = {"group": "key_0", "score": "score_0", "label": "label"}
some_rows = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from("vwxyz"),
        st.sampled_from([None, 0.0, 1.0, 2.0]),
        st.sampled_from([None, -1.0, 0.0, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=10,
    unique_by=lambda row: row[:2],
)


def shown_of(lists: dict[str, list[str]], rows: list[Row]) -> Shown:
    """What the strict ``lists`` of some of the groups show, and the items of all rows."""
    known = sorted({str(item) for _, item, *_ in rows})
    groups = {group for group, *_ in rows}
    judged = [(str(item), label) for _, item, _, label in rows]
    return Shown({group: lists.get(group, []) for group in groups}, known, judged)


def lists_of(rows: list[Row]) -> dict[str, list[str]]:
    """The lists, tied rows by item descending."""
    lists: dict[str, list[str]] = defaultdict(list)
    for group, item, _, _ in sorted(
        (row for row in rows if row[2] is not None), key=lambda r: (r[2], r[1]), reverse=True
    ):
        lists[group].append(item)
    return lists


@settings(PATIENT, max_examples=examples(150))
@given(some_rows, st.none() | st.integers(1, 4), st.integers(1, 12))
def test_by_loops(rows: list[Row], k: int | None, items: int) -> None:
    cut = "" if k is None else f"@{k}"
    shown, asked = shown_of(lists_of(rows), rows), {}
    for name in ("coverage", "gini", "novelty", "entropy", "personalization"):
        asked |= {f"{name}{cut}": ALL_LISTS[name](shown, k)}
    for name, own in (("coverage", {}), ("gini", {}), ("gini", {"discount": "log2"}), ("entropy", {"scale": "unit"})):
        inside = ",".join(f"{parameter}={value}" for parameter, value in {"items": items, **own}.items())
        asked |= {f"{name}({inside}){cut}": ALL_LISTS[name](shown, k, items=items, **own)}
    partials = evaluate(rows, list(asked), ties="item").partials
    for text, expected in asked.items():
        found, _ = day(partials, Metric.parse(text))
        rounding = 1e-9 if "discount" in text else 1e-12  # a discount is kept to 2^-33
        assert found == pytest.approx(or_nan(expected), abs=rounding, nan_ok=True), text


@settings(PATIENT, max_examples=examples(60))
@given(some_rows.filter(lambda rows: any(row[2] is not None for row in rows)), st.integers(1, 3))
def test_expected_novelty_is_the_mean_over_orders(rows: list[Row], k: int) -> None:
    """Exposures add up, so their means do; novelty is linear in them, and so is how often each item is shown."""
    by_group: dict[str, list[tuple[str, float, Label]]] = defaultdict(list)
    for group, item, score, label in rows:
        if score is not None:
            by_group[group].append((item, score, label))
    values = []
    for orders in itertools.product(*(itertools.permutations(listed) for listed in by_group.values())):
        if len(values) > 2000:
            return
        if all([row[1] for row in order] == sorted((row[1] for row in order), reverse=True) for order in orders):
            lists = {group: [row[0] for row in order] for group, order in zip(by_group, orders, strict=True)}
            values.append(ALL_LISTS["novelty"](shown_of(lists, rows), k))
    found, _ = day(evaluate(rows, [f"novelty@{k}"]).partials, Metric.parse(f"novelty@{k}"))
    assert found == pytest.approx(np.mean(values), abs=1e-9)  # an exposure is kept to 2^-33


def test_the_metrics_table() -> None:
    table = bucket([("u", "x", 1.0, 1.0), ("u", "y", None, 0.0), ("v", "x", 1.0, 0.0), ("v", "z", 0.5, None)])
    (row,) = sr.evaluate(table, ["gini@1"], **ROLES, item="item").metrics.to_pylist()
    assert row["value"] == pytest.approx((2 * 2) / (3 * 2))  # exposures 0, 0, 2
    assert (row["n_groups"], row["n_undefined"], row["n_rows"], row["weight"]) == (2, 0, 3, 2)
    assert row["definition"] == "gini@1; ties=expected, undefined=skip"


def test_more_rows_may_be_shown_than_units_fit_64_bits() -> None:
    """Five rows of two lists, counted 2^29 times: 2^31 rows are more units of 2^-32 than 64 bits hold."""
    rows = [("u", "x", 3.0, 1.0), ("u", "y", 2.0, 0.0), ("u", "z", 1.0, 0.0), ("u", "w", 1.0, 0.0)]
    partials = evaluate([*rows, ("v", "z", 1.0, 0.0), ("v", "w", 1.0, 0.0)], ["gini@3"]).partials
    for _ in range(29):
        partials = Partials.merged([partials, partials])
    found = Merged(partials).row(Subject(MODEL, ALL, ALL), Metric.parse("gini@3"))
    assert found.weight == 5 * 2**29  # x, y, one of z and w, and for v both
    # each of z and w is shown 3/2 times where x and y are shown once: of 1, 1, 3/2, 3/2 the differences are 1/2
    assert found.value == pytest.approx(8 * (1 / 2) / (2 * 4 * 5), rel=1e-15)


def test_an_item_shown_beyond_64_bits_is_refused() -> None:
    """Rows that show it have 32 bits, as its share of a row has: so 2^31 are too many, be others shown as often."""
    x, y = (evaluate([("u", item, 1.0, 1.0)], ["gini@1"]).partials.items for item in "xy")
    for _ in range(30):
        x, y = x.merge(x), y.merge(y)
    assert x.merge(y, y.empty()).table["shown"].to_pylist() == [2**62, 2**62]
    for merged in (x.merge, lambda *others: ITEM_FORM.merged([part.table for part in (x, *others)])):
        with pytest.raises(StateError, match="do not add up in 64 bits"):
            merged(y, x)


def test_what_they_need() -> None:
    with pytest.raises(SpecError, match="novelty@2 counts items, but no item column is named"):
        sr.evaluate(bucket([("u", "x", 1.0, 1.0)]), ["ap", "novelty@2"], **ROLES)
    assert item_reason(plan_of(["coverage"], ["m"], ["u"]))
    assert not item_reason(plan_of(["ap"], ["m"], ["u"]))


def test_exposures_are_stored_in_units_of_two_to_the_minus_32() -> None:
    """A unit is part of the tables: days of other versions merge by it. Items may be numbers."""
    log = {"user": list("uuvv"), "item": [7, 8, 7, 8], "score": [0.5, 0.5, 0.75, 0.25], "label": [0] * 4}
    ev = sr.evaluate(pa.table(log), ["gini@1"], group="user", item="item", score="score", label="label")
    assert ev.partials.items.table["shown"].to_pylist() == [2**31 + 2**32, 2**31]  # 7 or 8 is first for u, 7 is for v
    assert ev["gini@1"] == pytest.approx((-1 * 1 / 2 + 1 * 3 / 2) / (2 * 2))


def test_counts_of_lists_whose_products_exceed_64_bits_are_exact() -> None:
    """Nothing is personal where all lists have the same two items; one list with another makes it 1 / groups."""
    g = 2**30
    assert personalization(np.array([g * UNIT, g * UNIT]), g, 2) == 0
    expected = 1 - Fraction(g * (g - 1) + (g - 1) * (g - 2), 2 * g * (g - 1))
    assert personalization(np.array([g * UNIT, (g - 1) * UNIT]), g, 2) == float(expected) == 1 / g


def test_short_lists_are_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of three lists one has two rows, one has one and one has none."""
    rows = bucket([("u", "x", 2.0, 1.0), ("u", "y", 1.0, 0.0), ("v", "x", 1.0, 0.0), ("w", "x", None, 1.0)])
    ev = sr.evaluate(rows, ["personalization@2", "personalization"], **ROLES, item="item")
    counts = {row["check"]: (row["count"], row["fraction"]) for row in ev.quality.to_pylist()}
    assert counts["lists of fewer than 2 rows"] == (2, pytest.approx(2 / 3))
    assert ev["personalization@2"] == 1 - 2 * 1 / (2 * 3 * 2)
    (told,) = warnings_about_input(caplog)
    assert told.startswith("2 of 3 lists have fewer than 2 rows: personalization(ties=item)@2 takes the rows")
