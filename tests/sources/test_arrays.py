"""A row per group with arrays of predicted and of true items."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.bucket.impressions import LIST
from sparkrank.engines.spark.batch_converter import BatchConverter
from sparkrank.inputs.field_paths import Place
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import plan_of
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.protocol import Split
from sparkrank.sources.selection import Selection, Sides
from sparkrank.sources.table_input import TableInput
from tests.support.joined import counts_of, values_of

ARRAYS = {"group": "user", "items": "predicted", "true_items": "actual"}


def table(*rows: tuple) -> pa.Table:
    """Rows of (user, predicted, actual), and of labels where a row has them."""
    texts = pa.list_(pa.string())
    kinds = {"user": pa.string(), "predicted": texts, "actual": texts, "labels": pa.list_(pa.float64())}
    columns = zip(kinds.items(), zip(*rows, strict=True), strict=False)
    return pa.table({name: pa.array(values, kind) for (name, kind), values in columns})


def test_the_order_of_the_array_is_the_order_of_the_list() -> None:
    rows = table(("u", ["a", "c", "b"], ["b", "a", "x"]), ("v", ["q"], ["q"]), ("w", [], ["q"]), ("x", ["q"], None))
    found = sr.evaluate(rows, ["ap", "rr", "r", "p@2", "cg"], **ARRAYS)
    assert values_of(found, "ap") == pytest.approx(
        {"u": (1 / 1 + 2 / 3) / 3, "v": 1.0, "w": 0.0, "x": float("nan")}, rel=1e-15, nan_ok=True
    )
    assert values_of(found, "p@2") == {"u": 1 / 2, "v": 1 / 2, "w": 0.0, "x": 0.0}
    assert values_of(found, "cg") == {"u": 2.0, "v": 1.0, "w": 0.0, "x": 0.0}  # a true item counts 1


NAN = float("nan")
REPEATED = table(("u", ["a", "a", "b"], ["b"]))
THREE = table(("t", ["z"], ["y"]), ("u", ["a", "c", "b"], ["b", "a", "x"]), ("v", ["q", "r"], ["r"]))
TWO_MODELS = pa.table({"user": ["u"], "predicted": [["a", "b"]], "other": [["b", "x"]], "actual": [["b", "x"]]})
# Rows, a metric, what is asked beside, and the value of each user or, where there are several, of each model.
SMALL: dict[str, tuple[pa.Table, str, dict[str, Any], dict[str, float]]] = {
    "offsets that do not start at 0, and more than one chunk": (
        pa.concat_tables([THREE.slice(1, 1), THREE.slice(2, 1)]), "ap", {}, {"u": (1 / 1 + 2 / 3) / 3, "v": 1 / 2}
    ),
    "relevance by the place in the true array": (
        table(("u", ["c", "a"], ["a", "b", "c"])), "dcg", {"relevance": "reciprocal_rank"},
        {"u": (1 / 3) / log2(2) + (1 / 1) / log2(3)},
    ),
    # without the second a, b is at position 2, or at 3 as it stands
    "dense positions": (REPEATED, "rr", {"duplicates": "first", "positions": "dense"}, {"u": 1 / 2}),
    "given positions": (REPEATED, "rr", {"duplicates": "first", "positions": "given"}, {"u": 1 / 3}),
    "NaN among the true items is nothing, as null is": (
        pa.table({"user": ["u"], "predicted": [[2.0, 1.0]], "actual": [[NAN, 1.0]]}), "r", {}, {"u": 1.0}
    ),
    "two models": (
        TWO_MODELS, "ap", {"items": {"one": "predicted", "two": "other"}}, {"one": (1 / 2) / 2, "two": 1.0}
    ),
}  # fmt: skip


def test_small_arrays() -> None:
    for name, (rows, metric, asked, values) in SMALL.items():
        groups = sr.evaluate(rows, [metric], **{**ARRAYS, **asked}).groups.to_pylist()
        key = "model" if "items" in asked else "user"
        assert {row[key]: row[metric] for row in groups} == pytest.approx(values, rel=1e-15), name
    with pytest.raises(sr.InputError, match=r"\(1 null item\)"):  # in a list NaN is an item that is missing
        sr.evaluate(pa.table({"user": ["u"], "predicted": [[NAN, 1.0]], "actual": [[1.0]]}), ["rr"], **ARRAYS)


def test_arrays_that_are_all_empty_fit_any_items() -> None:
    """Their items have no type; one of two models may put nothing first for anybody."""
    nothing = pa.array([[], []], pa.list_(pa.null()))
    rows = pa.table({"user": ["u", "v"], "none": nothing, "some": [["a"], ["c"]], "actual": [["a"], ["b"]]})
    asked = {**ARRAYS, "items": {"none": "none", "some": "some"}}
    found = {row["model"]: row["value"] for row in sr.evaluate(rows, ["r"], **asked).table.to_pylist()}
    assert found == {"none": 0.0, "some": 1 / 2}


@pytest.mark.parametrize("empty", [[], None], ids=["empty", "null"])
def test_a_group_of_empty_arrays_is_a_group(empty: list | None) -> None:
    """As in Spark, where it counts 0."""
    found = sr.evaluate(table(("u", ["a"], ["a"]), ("v", empty, empty)), ["ap"], undefined="zero", **ARRAYS)
    assert found.to_pandas().loc[0, "value"] == 1 / 2
    counts = counts_of(found)
    assert (counts[checks.GROUPS], counts[checks.GROUP_ONLY], counts[checks.ROWS_READ]) == (2, 1, 3)


def test_labels_stand_beside_the_true_items() -> None:
    rows = table(
        ("u", ["a", "b"], ["b", "x"], [3.0, 2.0]), ("v", ["a"], ["x", "a"], [1.0]), ("w", ["a"], ["a"], [1, None])
    )
    found = sr.evaluate(rows, ["cg", "ndcg", "r"], label="labels", **ARRAYS)
    # the label of v's a is missing, and w's null fills up
    assert values_of(found, "cg") == {"u": 3.0, "v": 0.0, "w": 1.0}
    assert values_of(found, "ndcg")["u"] == pytest.approx((3 / log2(3)) / (3 + 2 / log2(3)), rel=1e-15)
    assert values_of(found, "r")["v"] == 0.0
    assert found.partials.counts[checks.TRUTH_UNLABELLED, ""] == 1


@pytest.mark.parametrize(("actual", "kind"), [(["a"], pa.float64()), ([], pa.int8()), (None, pa.bool_())], ids=str)
def test_labels_beyond_the_last_true_item_are_refused(actual: list | None, kind: pa.DataType) -> None:
    rows = table(("u", ["b"], ["b"], [1]), ("v", ["a"], actual, [1, 1, None, 0]))
    rows = rows.set_column(3, "labels", rows["labels"].cast(pa.list_(kind)))
    beyond = 2 + (not actual)  # of [1, 1, null, 0] beside one item, or beside none; null says nothing
    with pytest.raises(sr.InputError, match=rf"\({beyond} label beyond the last true item\): max_bad_fraction"):
        sr.evaluate(rows, ["cg"], label="labels", **ARRAYS)
    found = sr.evaluate(rows, ["cg"], label="labels", max_bad_fraction=0.5, **ARRAYS)
    assert values_of(found, "cg") == {"u": 1.0, "v": 1.0 if actual else 0.0}
    names = (checks.BEYOND_TRUE_ITEMS, checks.ROWS_REJECTED, checks.NULL_ITEM)
    assert [counts_of(found)[name] for name in names] == [beyond, beyond, 0]


# Spark's RankingEvaluator takes a row for a query, whoever asked it. Lists [1, 2] against {2} and [3] against {1, 3}.
TWO_LISTS = {"predicted": [[1, 2], [3]], "actual": [[2], [1, 3]]}
APS = [1 / 2, (1 / 1) / 2]


@pytest.mark.parametrize("users", [["a", "a"], [1, 1], ["a", "b"]], ids=str)
def test_each_row_is_a_list_of_its_own(users: list) -> None:
    found = sr.evaluate(pa.table({"user": users, **TWO_LISTS}), ["ap", "r@1", "coverage", "median(ap)"], **ARRAYS)
    assert found.table["value"].to_pylist() == [sum(APS) / 2, (0 + 1 / 2) / 2, 1.0, 1 / 2]
    assert found.table["n_groups"].to_pylist()[:2] == [2, 2]
    rows = found.groups.sort_by("r@1").select(["user", "n_rows", "ap", "r@1"]).to_pylist()
    assert [[*row.values()] for row in rows] == [[users[0], 2, APS[0], 0.0], [users[1], 2, APS[1], 1 / 2]]
    counts = counts_of(found)
    assert (counts[checks.GROUPS], counts[checks.SEVERAL_LISTS]) == (2, len(users) - len(set(users)))


@pytest.mark.parametrize(
    ("keys", "stored", "split_rows"), [("user", True, 1), ("user hour", False, 7), ("user", False, 99)]
)
def test_rows_of_one_key_are_as_rows_of_keys_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, stored: bool, split_rows: int
) -> None:
    """However the rows are split: but for the key nothing tells that two users are one."""
    rng = np.random.default_rng(5)
    columns = {"user": rng.choice(["u", "v", "w"], 40), "hour": rng.integers(0, 2, 40)}
    columns["place"] = rng.choice(["home", "away"], 40)
    for name, most in (("predicted", 7), ("actual", 4)):
        lists = [rng.integers(0, 9, rng.integers(0, most)).tolist() for _ in range(40)]
        columns[name] = pa.array(lists, pa.list_(pa.int64()))
    rows = pa.table(columns)
    apart = rows.set_column(0, "user", pa.array([f"{n}" for n in range(40)]))
    monkeypatch.setattr("sparkrank.engines.local.LOCAL_SPLIT_ROWS", split_rows)
    settings = {**ARRAYS, "group": keys.split(), "slices": ["place"], "duplicates": "first", "uncertainty": False}
    metrics = ["ndcg@3", "ap", "r", "gauc", "auc(exact)", "gini@2", "median(ap)"]
    if stored:
        pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=3)
    given = tmp_path / "rows.parquet" if stored else rows
    alike, expected = (
        sr.evaluate(each, metrics, buckets=buckets, **settings) for each, buckets in ((given, 3), (apart, 2))
    )
    assert repr(alike.table.to_pylist()) == repr(expected.table.to_pylist())
    assert alike.blocks.to_pylist() == expected.blocks.to_pylist()
    one, other = (sorted(map(repr, of.groups.drop_columns(keys.split()).to_pylist())) for of in (alike, expected))
    assert one == other
    counts = alike.groups.group_by(keys.split()).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert (sum(counts), counts_of(alike)[checks.SEVERAL_LISTS]) == (40, sum(count > 1 for count in counts))


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"true_items": None}, sr.SpecError, "true_items is missing: a table of arrays has items and true_items"),
        ({"items": None}, sr.SpecError, "items is missing: a table of arrays has items and true_items"),
        ({"score": "s"}, sr.SpecError, 'score is "s": a table of arrays has items and true_items, and no columns'),
        ({"truth": pa.table({"user": ["u"]})}, sr.SpecError, "true_items and a truth are given"),
        ({"positions": "given_from_0"}, sr.SpecError, "takes ranks from 0, but places in arrays of items count from 1"),
        ({"relevance": "grade"}, sr.SpecError, "allowed: membership, reciprocal_rank"),
        ({"relevance": "reciprocal_rank", "label": "labels"}, sr.SpecError, "labels come from one of the two"),
        ({"items": "user"}, sr.SpecError, 'column "user" is both group and items'),
        ({"items": "predict"}, sr.InputError, 'is not in the input, did you mean "predicted"'),
        ({"true_items": "whole"}, sr.InputError, "is of type int64: an array of plain values is needed"),
        ({"true_items": "numbers"}, sr.InputError, "in the lists .* and of type list<.*int64> in the truth"),
        ({"label": "actual"}, sr.SpecError, 'column "actual" is both true items and labels'),
        ({"label": "texts"}, sr.InputError, "an array of numbers is needed"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict, error: type[Exception], sentence: str) -> None:
    rows = pa.table({**table(("u", ["a"], ["a"])).to_pydict(), "whole": [1], "numbers": [[1]], "texts": [["a"]]})
    with pytest.raises(error, match=sentence):
        sr.evaluate(rows, ["ap"], **{**ARRAYS, **changes})
    with pytest.raises(sr.SpecError, match="relevance=reciprocal_rank describes true_items"):
        sr.evaluate(rows, ["ap"], group="user", score="s", label="l", relevance="reciprocal_rank")


OF_ARRAYS = Roles.of_arrays("user", "predicted", "actual")
PLAN = plan_of(["ap"], ["predicted"], ["user"], joins=True, arrays=True)


def test_splits_and_buckets_are_as_many_as_elements_want(tmp_path: Path) -> None:
    rows = pa.table({"user": ["u"] * 40, "predicted": [list(range(50))] * 40, "actual": [[7]] * 39 + [None]})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=10)
    stored = ParquetInput.at(str(tmp_path))
    for source, true in ((TableInput(rows), 39), (stored, 40)):  # a footer has one element for no array
        sides = Sides([(Selection.of(source, OF_ARRAYS, "input"), OF_ARRAYS)], OF_ARRAYS)
        assert sides.rows == 40 * 50 + true
        assert [len(sides.splits(PLAN, split_rows)) for split_rows in (600, 10_000)] == [4, 1]
    assert [split.rows for split in stored.file_splits(1_100, arrays=["predicted"])] == [20, 20]


def test_no_table_has_more_elements_than_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for a list that alone has more. In Spark's batches too, whose rows hold any number of elements."""
    monkeypatch.setattr("sparkrank.sources.arrays.BUCKET_ROWS", 100)
    lengths = [20] * 30 + [500] + [20] * 9
    rows = pa.table({"user": [0] * 40, "predicted": [list(range(each)) for each in lengths], "actual": [[7, 8]] * 40})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=15)
    tables = []
    for source in (TableInput(rows), ParquetInput.at(str(tmp_path))):
        sides = Sides([(Selection.of(source, OF_ARRAYS, "input"), OF_ARRAYS)], OF_ARRAYS)
        read = sides.reader(PLAN)
        tables.append([table for split in sides.splits(PLAN, 1_000_000) for table in read(split)])
    sent = rows.append_column(LIST, pa.array(range(40)))
    at = {name: Place(name, ()) for name in rows.column_names}
    batches = BatchConverter(sent.schema, at, OF_ARRAYS, PLAN, sides.schema(PLAN))
    tables.append(list(batches.tables(sent.to_batches(max_chunksize=10))))
    for of_source in tables:
        assert sum(table.num_rows for table in of_source) == sum(lengths) + 2 * 40
        assert max(table.num_rows for table in of_source if len(table[LIST].unique()) > 1) <= 100


def test_rows_are_numbered_through_the_tables_of_a_split() -> None:
    """A split is read in several tables where it is large: their rows are other lists all the same."""
    rows = table(("u", ["a", "b"], ["b"]), ("u", ["c"], ["d"]))
    sides = Sides([(Selection.of(TableInput(rows), OF_ARRAYS, "input"), OF_ARRAYS)], OF_ARRAYS)
    numbers = [part[LIST].to_pylist() for part in sides.reader(PLAN)((0, Split(5, lambda: iter([rows, rows]))))]
    assert [sorted(set(each)) for each in numbers] == [[5, 6], [7, 8]]
