"""The columns of lists and truth: types that meet, values that are none, and what makes no sense."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from tests.support.joined import COLUMNS, LISTS, TRUTH, counts_of, lists_table, truth_table, values_of

KINDS = [(pa.int32(), pa.int64()), (pa.int64(), pa.int8()), (pa.float32(), pa.float64())]
KINDS += [(pa.string(), pa.large_string()), (pa.date32(), pa.date32())]


@pytest.mark.parametrize(("lists", "truth"), KINDS, ids=str)
def test_items_of_one_kind_meet_whatever_their_width(lists: pa.DataType, truth: pa.DataType) -> None:
    items = (pa.array(given, pa.int32()) for given in ([7, 8, 9], [9, 5]))
    listed, true = (side.cast(kind) for side, kind in zip(items, (lists, truth), strict=True))
    rows = {"user": ["u"] * 3, "item": listed, "score": pa.array([3.0, 2.0, 1.0], pa.float32())}
    beside = pa.table({"user": ["u"] * 2, "item": true})
    found = sr.evaluate(pa.table(rows), ["rr", "r"], truth=beside, group="user", item="item", score="score")
    assert values_of(found, "rr") == {"u": 1 / 3}
    assert values_of(found, "r") == {"u": 1 / 2}


def test_items_are_bytes_that_need_not_be_text() -> None:
    lists = lists_table([("u", b"\xff", 2.0), ("u", b"\xfe", 1.0)], pa.binary())
    found = sr.evaluate(lists, ["rr"], truth=truth_table([("u", b"\xfe", 1.0)], pa.binary()), **COLUMNS)
    assert values_of(found, "rr") == {"u": 1 / 2}


def test_a_row_without_an_item_that_says_something_is_rejected() -> None:
    lists = lists_table([*LISTS, ("u", None, 9.0), ("named", None, None)])
    truth = truth_table([*TRUTH, ("u", None, 1.0)])
    with pytest.raises(sr.InputError, match=r"\(2 null item\)"):
        sr.evaluate(lists, ["ap"], truth=truth, **COLUMNS)
    found = sr.evaluate(lists, ["ap", "p@1"], truth=truth, max_bad_fraction=0.2, **COLUMNS)
    assert values_of(found, "p@1") == {"u": 1.0, "named": 0.0}
    assert counts_of(found)[checks.NULL_ITEM] == 2


def test_nan_is_no_item() -> None:
    """Neither that of another row of the list, nor that of the truth."""
    lists = pa.table({"user": ["u"] * 3, "item": [float("nan"), float("nan"), 7.0], "score": [3.0, 2.0, 1.0]})
    truth = pa.table({"user": ["u"] * 2, "item": [float("nan"), 7.0], "label": [1, 1]})
    with pytest.raises(sr.InputError, match=r"\(3 null item\)"):
        sr.evaluate(lists, ["rr"], truth=truth, **COLUMNS)
    found = sr.evaluate(lists, ["rr", "r"], truth=truth, max_bad_fraction=0.6, **COLUMNS)
    assert values_of(found, "rr") == {"u": 1.0}  # what is left of the list is the third row
    assert values_of(found, "r") == {"u": 1.0}
    with pytest.raises(sr.InputError, match=r"\(2 null item\)"):
        sr.evaluate(lists.append_column("label", [[0, 1, 0]]), ["rr"], duplicates="first", **COLUMNS)


SLICED = (("a", "a"), (1, "1"), (True, "true"), (None, None))  # values and their texts


def test_sides_are_sliced_by_whole_numbers_or_by_texts() -> None:
    for (of_lists, list_text), (of_truth, truth_text) in itertools.product(SLICED, repeat=2):
        lists = lists_table([("u", "a", 1.0)]).append_column("kind", pa.array([of_lists]))
        asked = {"truth": truth_table([("u", "a", 1.0)]).append_column("kind", pa.array([of_truth])), **COLUMNS}
        if (list_text == "1") != (truth_text == "1"):
            with pytest.raises(sr.InputError, match=r'the slice column is of type .* \("kind"\): one type is needed'):
                sr.evaluate(lists, ["r"], slices=["kind"], **asked)
        else:
            values = sr.evaluate(lists, ["r"], slices=["kind"], **asked).metrics["slice_value"].to_pylist()
            assert set(values) == {"all", list_text, truth_text}


def test_a_whole_number_that_the_type_of_both_sides_does_not_hold_is_refused() -> None:
    lists, truth = lists_table([("u", 2**64 - 1, 1.0)], pa.uint64()), truth_table([("u", 1, 1.0)], pa.int8())
    sentence = "a value of the lists cannot be evaluated: Integer value 18446744073709551615"
    with pytest.raises(sr.InputError, match=sentence):
        sr.evaluate(lists, ["rr"], truth=truth, **COLUMNS)


WHOLE = truth_table([("u", 3, 1.0)], pa.int64())


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"item": None}, sr.SpecError, "lists and truth are joined by item, but no item column is named"),
        ({"truth": None, "truth_columns": {}}, sr.SpecError, "truth_columns is given, but truth is not"),
        ({"truth_columns": "sku"}, sr.SpecError, "truth_columns is 'sku': a mapping of roles to columns of the truth"),
        ({"truth_columns": {"itm": "x"}}, sr.SpecError, 'truth_columns names "itm", did you mean "item"'),
        ({"truth_columns": {"group": ["a", "b"]}}, sr.SpecError, "1 columns in the lists and 2 in the truth"),
        (
            {"group": ["user", "shop"], "truth_columns": {"group": "user"}},
            sr.SpecError,
            "2 columns in the lists and 1 in the truth",
        ),
        ({"score": None}, sr.SpecError, "neither score nor rank names a column"),
        ({"rank": "score"}, sr.SpecError, "both score and rank name a column"),
        ({"truth": 3}, sr.SpecError, "the truth is of type int"),
        ({"label": "lable"}, sr.InputError, 'the label column "lable" is not in the truth, did you mean "label"'),
        ({"truth": WHOLE}, sr.InputError, r'is of type string in the lists \("item"\) and of type int64 in the truth'),
        ({"unretrieved": "skp"}, sr.SpecError, 'unretrieved is "skp", did you mean "skip"'),
        ({"population": "everyone"}, sr.SpecError, r"allowed: all, truth, lists, both"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict, error: type[Exception], sentence: str) -> None:
    asked = {"truth": truth_table(TRUTH), **COLUMNS, **changes}
    with pytest.raises(error, match=sentence):
        sr.evaluate(lists_table(LISTS), ["ap"], **asked)


def test_duplicates_need_an_item() -> None:
    log = pa.table({"user": ["u"], "score": [1.0], "label": [1]})
    for duplicates in ("once", "first", "error"):
        with pytest.raises(sr.SpecError, match="duplicates are found by item, but no item column is named"):
            sr.evaluate(log, ["ap"], group="user", score="score", label="label", duplicates=duplicates)
