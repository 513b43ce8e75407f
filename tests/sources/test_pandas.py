"""DataFrames of pandas: NaN is null in every role and container, counted and told, and names of columns are texts."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from tests.support.joined import counts_of
from tests.support.logged import warnings_about_input

NAN = float("nan")
ROLES = {"group": "u", "label": "y"}
KEYS = {"u": ["a", "a", "b"], "y": [0, 1, 1]}


# The score of the second row is NaN: of group a only the first row is retrieved, which is not relevant.
HELD: dict[str, tuple[str, dict[str, Any]]] = {
    "floats": ("s", {"s": [1.0, NAN, 2.0]}),
    "floats of 32 bits": ("s", {"s": np.array([1.0, NAN, 2.0], np.float32)}),
    "floats of 16 bits": ("s", {"s": np.array([1.0, NAN, 2.0], np.float16)}),
    "objects": ("s", {"s": pd.Series([1.0, NAN, 2.0], dtype=object)}),
    "decimals": ("s", {"s": [decimal.Decimal(1), decimal.Decimal("NaN"), decimal.Decimal(2)]}),
    "categories": ("s", {"s": pd.Categorical([1.0, NAN, 2.0])}),
    "dicts": ("m.p", {"m": [{"p": 1.0}, {"p": NAN}, {"p": 2.0}]}),
    "dicts beside texts": ("m.p", {"m": [{"p": 1.0, "t": "x"}, {"p": NAN, "t": NAN}, {"p": 2.0, "t": "x"}]}),
    "lists": ("m[0]", {"m": [[1.0], [NAN], [2.0]]}),
    "tuples": ("m[0]", {"m": [(1.0,), (NAN,), (2.0,)]}),
    "arrays of numpy": ("m[0]", {"m": [np.array([1.0]), np.array([NAN]), np.array([2.0])]}),
    "lists of dicts": ("m[0].p", {"m": [[{"p": 1.0}], [{"p": NAN}], [{"p": 2.0}]]}),
    "dicts of lists": ("m.p[0]", {"m": [{"p": [1.0]}, {"p": [NAN]}, {"p": [2.0]}]}),
}


def counted(evaluation: sr.Evaluation) -> dict[str, float]:
    return {check: count for check, count in counts_of(evaluation).items() if "NaN in pandas" in check}


INDEXED = [(held, levels) for held in ("floats", "objects", "categories") for levels in (["s"], ["u", "s"])]


@pytest.mark.parametrize(("held", "levels"), [*((held, []) for held in HELD), *INDEXED])
def test_a_nan_score_is_null_counted_and_told(held: str, levels: list[str], caplog: pytest.LogCaptureFixture) -> None:
    name, columns = HELD[held]
    frame = pd.DataFrame({**KEYS, **columns})
    frame = frame.set_index(levels) if levels else frame
    for role in ("score", "rank"):
        caplog.clear()
        evaluation = sr.evaluate(frame, ["rr"], **ROLES, **{role: name})
        assert evaluation["rr"] == (0 + 1) / 2
        assert counted(evaluation) == {checks.NAN_OF_PANDAS: 1, checks.NAN_LABELS: 0}
        told = f"In pandas NaN means null: 1 in the scores of {name}, taken as not retrieved"
        assert warnings_about_input(caplog) == [told]
        with pytest.raises(sr.InputError, match=r"is 33.3333% \(1\) of rows read, and limits allows 0"):
            sr.evaluate(frame, ["rr"], limits={checks.NAN_OF_PANDAS: 0.0}, **ROLES, **{role: name})


def test_a_nan_in_a_column_of_arrows_own_is_a_bad_row() -> None:
    """As in any table of Arrow."""
    scores = pd.Series(pa.array([1.0, NAN, 2.0]), dtype=pd.ArrowDtype(pa.float64()))
    with pytest.raises(sr.InputError, match=r"\(1 NaN score\)"):
        sr.evaluate(pd.DataFrame({**KEYS, "s": scores}), ["rr"], score="s", **ROLES)


def test_what_is_no_nan_is_not_counted(caplog: pytest.LogCaptureFixture) -> None:
    scores = (pd.Series([1.0, None, 2.0], dtype=object), [1, 3, 2], pd.array([1.0, None, 2.0], dtype="Float64"))
    for score in scores:
        found = sr.evaluate(pd.DataFrame({**KEYS, "s": score}), ["rr"], score="s", **ROLES)
        assert set(counted(found).values()) == {0}
    assert warnings_about_input(caplog) == []


@pytest.mark.parametrize("as_objects", [False, True])
def test_a_nan_of_any_other_role(as_objects: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A label is not judged, a reference rank is none; a key, an item or a weight is missing, which is a bad row."""
    frame = pd.DataFrame(
        {"u": [1.0, 1.0], "i": [1.0, 2.0], "s": [2.0, 1.0], "y": [NAN, 1.0], "r": [1.0, NAN], "w": [1.0, 1.0]}
    )
    frame = frame.astype(object) if as_objects else frame
    roles = {"group": "u", "item": "i", "score": "s", "label": "y", "reference_rank": "r", "weight": "w"}
    metrics = ["rr", "auc", "rbo(ref=reference_rank)"]
    found = sr.evaluate(frame, metrics, duplicates="first", **roles)
    assert counted(found) == {checks.NAN_OF_PANDAS: 0, checks.NAN_LABELS: 1, checks.NAN_REFERENCE_OF_PANDAS: 1}
    assert warnings_about_input(caplog)[:2] == [
        "In pandas NaN means null: 1 in the labels, taken as not judged",
        "In pandas NaN means null: 1 in the reference ranks, taken as none",
    ]
    assert found["rr"] == 1 / 2  # the row without a label stands first
    for column, check in (("u", checks.NULL_KEY), ("i", checks.NULL_ITEM), ("w", checks.BAD_WEIGHT)):
        spoilt = frame.assign(**{column: pd.Series([1.0, NAN], dtype=frame[column].dtype)})
        bad = sr.evaluate(spoilt, metrics, duplicates="first", max_bad_fraction=0.5, **roles)
        assert counts_of(bad)[check] == 1


def test_a_nan_label_of_a_truth(caplog: pytest.LogCaptureFixture) -> None:
    lists = pa.table({"u": [1, 1], "i": ["a", "b"], "s": [2.0, 1.0]})
    truth = pd.DataFrame({"u": [1, 1], "i": ["a", "b"], "y": [NAN, 1.0]})
    settings = {"group": "u", "item": "i", "score": "s", "truth": truth, "label": "y"}
    found = sr.evaluate(lists, ["rr"], **settings)
    assert (found["rr"], counted(found)) == (1 / 2, {checks.NAN_LABELS: 1})
    assert warnings_about_input(caplog) == ["In pandas NaN means null: 1 in the labels, taken as not judged"]
    with pytest.raises(sr.InputError, match="NaN in pandas, taken as not judged"):
        sr.evaluate(lists, ["rr"], limits={checks.NAN_LABELS: 0.1}, **settings)


def test_nan_in_arrays(caplog: pytest.LogCaptureFixture) -> None:
    rated = [{"item": 1, "rating": NAN}, {"item": 2, "rating": 0.5}]
    frame = pd.DataFrame({"u": [1], "rec": [rated], "true": [[1, 2]], "y": [[1.0, NAN]]})
    found = sr.evaluate(frame, ["rr"], group="u", items={"m": "rec"}, true_items="true", label="y")
    assert found["rr"] == 1 / 2  # what has no rating stands last, and 2 is not judged
    assert counted(found) == {checks.NAN_RATINGS: 1, checks.NAN_LABELS: 1}
    assert sorted(warnings_about_input(caplog)) == [
        "In pandas NaN means null: 1 in the labels, taken as not judged",
        "In pandas NaN means null: 1 in the ratings of m, taken as none: their items stand last",
    ]


def test_other_rows_count_no_nan_of_pandas() -> None:
    rows = pa.table({**KEYS, "s": [1.0, 2.0, 3.0]})
    assert counted(sr.evaluate(rows, ["rr"], score="s", **ROLES)) == {}
    with pytest.raises(sr.SpecError, match="which this run does not count"):
        sr.evaluate(rows, ["rr"], score="s", limits={checks.NAN_OF_PANDAS: 0}, **ROLES)


@pytest.mark.parametrize(
    ("columns", "remedy"),
    [([0, 1, 2], r"\(0, 1, 2\).*rows.columns = rows.columns.map\(str\)"), ([("x", "u"), ("x", "s"), ("x", "y")], "")],
)
def test_columns_whose_names_are_no_texts(columns: list, remedy: str) -> None:
    frame = pd.DataFrame([["a", 1.0, 1]])
    frame.columns = pd.MultiIndex.from_tuples(columns) if isinstance(columns[0], tuple) else columns
    remedy = remedy or r"\(\('x', 'u'\), .*rows.columns = rows.columns.map\(\"_\".join\)"
    with pytest.raises(sr.InputError, match=f'the group column "0" is not in the input {remedy}$'):
        sr.evaluate(frame, ["rr"], group="0", score="1", label="2")
    frame.columns = frame.columns.map("_".join if isinstance(columns[0], tuple) else str)
    u, s, y = frame.columns
    assert sr.evaluate(frame, ["rr"], group=u, score=s, label=y)["rr"] == 1.0
    frame.columns = [0, s, y]
    with pytest.raises(sr.SpecError, match=r"the group column is 0: a name, which is a text, is needed.*map"):
        sr.evaluate(frame, ["rr"], group=0, score=s, label=y)
