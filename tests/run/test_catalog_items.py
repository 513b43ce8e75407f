"""A catalog: what is read of it and looked up, what is refused, and what it counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.config.loading import spec_of
from sparkrank.engines.request import CatalogRows
from sparkrank.metrics import Metric
from sparkrank.metrics.merged import Merged
from sparkrank.run import catalog_items
from sparkrank.states import Partials
from sparkrank.states.keys import Subject

LISTS = pa.table(
    {
        "user": ["a", "a", "a", "b", "b"],
        "item": ["x", "y", "z", "x", "q"],
        "score": [3.0, 2.0, 1.0, 2.0, 1.0],
        "label": [1, 0, 0, 0, 1],
    }
)
# Nobody is shown w, and q is not in the catalog.
ITEMS = pa.table({"id": ["w", "x", "y", "z"], "price": [8.0, 1.0, None, 4.0], "kind": ["new", "new", "old", None]})
ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
BESIDE = {**ROLES, "catalog_columns": {"item": "id"}}
PRICE = "shown(of=catalog.price)"


def test_values_of_items_are_read_as_if_the_rows_had_them() -> None:
    own = {"price": [1.0, None, 4.0, 1.0, None], "kind": ["new", "old", None, "new", None]}
    rows = LISTS
    for name, values in own.items():
        rows = rows.append_column(name, pa.array(values))
    metrics = ["shown(of={}price)@2", "shown(of={}kind,is=new)", "shown(of={}price,by=sum,discount=zipf)", "ndcg"]
    found = sr.evaluate(LISTS, [metric.format("catalog.") for metric in metrics], catalog=ITEMS, **BESIDE)
    expected = sr.evaluate(rows, [metric.format("") for metric in metrics], **ROLES)
    assert found.metrics["value"].to_pylist() == expected.metrics["value"].to_pylist()
    sliced = sr.evaluate(LISTS, ["p@1"], catalog=ITEMS, slices=["catalog.kind"], **BESIDE)
    assert (
        sliced.metrics["value"].to_pylist()
        == sr.evaluate(rows, ["p@1"], slices=["kind"], **ROLES).metrics["value"].to_pylist()
    )


def test_what_the_catalog_lacks_is_counted_and_may_be_limited() -> None:
    found = sr.evaluate(LISTS, [PRICE], catalog=ITEMS, **BESIDE)
    counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert counts["items that the catalog lacks"] == 1
    assert counts["items of the catalog"] == 4
    assert counts["rows with a score that have no catalog.price"] == 2
    with pytest.raises(sr.InputError, match="items that the catalog lacks"):
        sr.evaluate(LISTS, [PRICE], catalog=ITEMS, limits={"items that the catalog lacks": 0.1}, **BESIDE)


def test_the_catalogue_of_lists_is_the_catalog_and_what_it_lacks() -> None:
    """x, y, z and q are listed, w is not; in the first row stands x alone."""
    found = sr.evaluate(LISTS, ["coverage", "coverage@1", "gini@1"], catalog=ITEMS, slices=["user"], **BESIDE)
    values = {(row["slice_value"], row["metric"]): row["value"] for row in found.metrics.to_pylist()}
    assert values["all", "coverage"] == 4 / 5
    assert values["all", "coverage(ties=item)@1"] == 1 / 5
    assert values["all", "gini@1"] == (2 * 5 - 5 - 1) * 2 / (5 * 2)
    assert values["b", "coverage"] == 2 / 5


def test_days_with_catalogs_of_their_own_merge_to_all_items_of_both() -> None:
    more = pa.concat_tables([ITEMS, pa.table({"id": ["v"], "price": [1.0], "kind": ["new"]})])
    days = [sr.evaluate(LISTS, ["coverage"], catalog=items, **BESIDE).partials for items in (ITEMS, more)]
    row = Merged(Partials.merged(days)).row(Subject("score", "all", "all"), Metric.parse("coverage"))
    assert row.value == 4 / 6


def test_an_explanation_shows_the_values() -> None:
    explained = sr.explain(LISTS, PRICE, catalog=ITEMS, **{**BESIDE, "group": {"user": "a"}})
    (metric,) = explained
    assert metric.value == 5 / 2
    assert metric.tables[0].columns["value"] == (1.0, None, 4.0)


CASES = [
    (
        {"catalog": None, "catalog_columns": None},
        [PRICE],
        f"{PRICE} reads the column price of a catalog, but there is none",
    ),
    ({"catalog": None}, ["ndcg"], "catalog_columns is given, but catalog is not"),
    ({}, ["ndcg"], "there is a catalog, but no metric counts its items, and none names a column as catalog.price"),
    ({}, [PRICE, "ndcg(weight=catalog.price)"], "weight=catalog.price is a column of items, but a weight of"),
    (
        {"weight": "catalog.price"},
        [PRICE, "auc"],
        "weight is catalog.price, a column of items, but a weight of rows is needed, in a column of the lists: join it",
    ),
    ({}, ["coverage(items=9)"], "coverage(items=9) gives the number of items, but there is a catalog, which has them"),
    ({}, ["shown(of=catalog.prise)"], 'the value column "prise" is not in the catalog, did you mean "price"?'),
    (
        {"catalog_columns": {"group": "u"}},
        [PRICE],
        "catalog_columns is {'group': 'u'}: a mapping of item, since or both to columns",
    ),
    ({"catalog_columns": None}, [PRICE], 'the item column "item" is not in the catalog'),
]


@pytest.mark.parametrize(("given", "metrics", "sentence"), CASES)
def test_what_is_wrong_before_anything_is_read(given: dict[str, Any], metrics: list[str], sentence: str) -> None:
    with pytest.raises(sr.SpecError) as raised:
        sr.evaluate(LISTS, metrics, **{**BESIDE, "catalog": ITEMS, **given})
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        (pa.concat_tables([ITEMS, ITEMS[1:]]), 'catalog names 3 items twice, the first is "x"'),
        (ITEMS[:0], "the catalog has no rows"),
        (
            ITEMS.set_column(0, "id", pa.array([1, 2, 3, 4])),
            (
                'the item column is of type string in the lists and of type int64 in the catalog ("id"): '
                "one type is needed"
            ),
        ),
        (ITEMS.set_column(1, "price", ITEMS["kind"]), 'the value column "price" is of type string: a number is needed'),
    ],
)
def test_a_catalog_that_cannot_be_used(items: pa.Table, sentence: str) -> None:
    with pytest.raises(sr.InputError, match=f"^{re.escape(sentence)}$"):
        sr.evaluate(LISTS, [PRICE], catalog=items, **BESIDE)


def test_infinite_values_are_bad_rows_of_the_lists_that_show_them() -> None:
    items = ITEMS.set_column(1, "price", pa.array([1.0, float("inf"), 2.0, 3.0]))
    with pytest.raises(sr.InputError, match="2 value that is NaN, infinite or beyond 1e100"):
        sr.evaluate(LISTS, [PRICE], catalog=items, **BESIDE)


def test_a_catalog_too_large_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CatalogRows, "__init__", _small(CatalogRows.__init__))
    told = (
        r"^the catalog takes 70 bytes of items and the columns catalog\.price, but catalog\.most_bytes allows 10 bytes"
    )
    with pytest.raises(sr.InputError, match=told + ": put these columns into the rows$"):
        sr.evaluate(LISTS, [PRICE], catalog=ITEMS, **BESIDE)


def _small(init: Any, most: int = 10) -> Any:
    return lambda self, rows, item, most_bytes=most, **other: init(self, rows, item, most_bytes, **other)


def test_columns_that_nobody_names_are_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pq.write_table(ITEMS, tmp_path / "items.parquet")
    read: list[list[str]] = []
    monkeypatch.setattr(catalog_items, "_columns_of_items", _noted(catalog_items._columns_of_items, read))
    sr.evaluate(LISTS, [PRICE, f"{PRICE}@1"], catalog=tmp_path / "items.parquet", **BESIDE)
    assert read == [["item", "value_0"]]


def test_the_footers_tell_that_a_catalog_is_too_large_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Four items take 32 bytes without their texts and prices."""
    pq.write_table(ITEMS, tmp_path / "items.parquet")
    read: list[list[str]] = []
    monkeypatch.setattr(catalog_items, "_columns_of_items", _noted(catalog_items._columns_of_items, read))
    monkeypatch.setattr(CatalogRows, "__init__", _small(CatalogRows.__init__, 31))
    with pytest.raises(sr.InputError, match=r"^the catalog takes at least 32 bytes of items and the columns catalog"):
        sr.evaluate(LISTS, [PRICE], catalog=tmp_path / "items.parquet", **BESIDE)
    assert read == []
    monkeypatch.undo()
    monkeypatch.setattr(CatalogRows, "__init__", _small(CatalogRows.__init__, 32))
    with pytest.raises(sr.InputError, match=r"^the catalog takes 70 bytes"):
        sr.evaluate(LISTS, [PRICE], catalog=tmp_path / "items.parquet", **BESIDE)


def _noted(function: Any, read: list[list[str]]) -> Any:
    def noted(rows: pa.Table, names: list[str]) -> pa.Table:
        read.append(names)
        return function(rows, names)

    return noted


def test_a_spec_with_a_catalog() -> None:
    document = {
        "input": {"path": "/lists", "columns": {"group": "user", "item": "item", "score": "score"}},
        "catalog": {"path": "/items/{date}", "columns": {"item": "id"}, "most_bytes": "1GB"},
        "metrics": [PRICE],
        "output": {"path": "/out"},
    }
    spec, without = spec_of(document, "a spec"), {**document, "catalog": {"path": "/items/{date}"}}
    assert spec.catalog is not None
    assert spec.catalog.most_bytes == 10**9
    assert spec.hash() != spec_of(without, "a spec").hash()
    assert spec.hash() == spec_of({**document, "catalog": {**document["catalog"], "most_bytes": 5}}, "a spec").hash()
    assert "catalog item=id" in spec.source()
    with pytest.raises(sr.SpecError, match="a catalog is not the rows of a day"):
        spec_of({**document, "catalog": {"path": "/items", "expect": {"min_rows": 1}}}, "a spec")
    with pytest.raises(
        sr.SpecError, match=f"{re.escape(PRICE)} reads the column price of a catalog, but there is none"
    ):
        spec_of({**document, "catalog": None}, "a spec").plan()


@pytest.mark.parametrize("bad", [[1.0], [], [0.0, 0.0], [1.0, float("nan")], [1.0, None]])
def test_an_array_without_a_direction_is_a_bad_row_of_the_catalog(bad: list) -> None:
    """Of user a, x and z are at a right angle, and y is the bad row."""
    items = pa.table({"id": ["x", "y", "z", "w"], "of": pa.array([[1.0, 0.0], bad, [0.0, 1.0], [2.0, 3.0]])})
    metrics = ["ild(by=catalog.of,distance=cosine)"]
    found = sr.evaluate(LISTS, metrics, catalog=items, max_bad_fraction=0.2, **BESIDE)
    assert found.value(*metrics) == 1.0
    counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert counts[checks.BAD_VECTOR] == counts["rows rejected"] == 1
    with pytest.raises(
        sr.InputError, match=r"1 array of numbers that is empty, .* or of another length, or that has a"
    ):
        sr.evaluate(LISTS, metrics, catalog=items, **BESIDE)


def test_two_readings_of_a_column_are_one_check_of_quality() -> None:
    """The kind of z and of q is unknown, as a text and as a category."""
    metrics = ["shown(of=catalog.kind,is=new)", "ild(by=catalog.kind)"]
    found = sr.evaluate(LISTS, metrics, catalog=ITEMS, **BESIDE)
    check = checks.without_value("catalog.kind")
    assert [row["count"] for row in found.quality.to_pylist() if row["check"] == check] == [2]


def test_tables_of_items_that_no_list_has_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """Two warnings of two tables; one item of the lists is enough for none."""
    past = pa.table({"user": ["c"], "item": ["X"]})
    metrics = [PRICE, "shown(of=interactions.rows)"]
    sr.evaluate(LISTS, metrics, catalog=ITEMS.slice(0, 1), interactions=past, **BESIDE)
    said = [record.getMessage() for record in caplog.records if getattr(record, "code", "") == "items_of_no_list"]
    assert [text.split(":")[0] for text in said] == [
        f"No item of the lists is in the {table}" for table in ("catalog", "interactions")
    ]
    caplog.clear()
    past = pa.table({"user": ["c"], "item": ["x"]})
    found = sr.evaluate(LISTS, metrics, catalog=ITEMS, interactions=past, **BESIDE)
    assert "items_of_no_list" not in {getattr(record, "code", "") for record in caplog.records}
    counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert (counts["items that the interactions lack"], counts["items that the catalog lacks"]) == (3, 1)
