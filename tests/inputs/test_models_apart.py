"""Models whose rows are apart, as arguments and in a spec: what is refused, and what a sentence names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.config import Spec, load_spec
from sparkrank.run.day_request import places_of
from tests.support.joined import counts_of

ROWS = pa.table({"user": ["u", "u"], "item": ["x", "y"], "score": [2.0, 1.0], "click": [1, 0]})
LONG = ROWS.append_column("model", pa.array(["a", "b"]))
ASKED: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "click"}


@pytest.mark.parametrize(
    ("rows", "asked", "told"),
    [
        ({"a": ROWS}, {"item": None}, r"^rows of several models are joined by item, but no item column is named$"),
        ({"a": ROWS}, {"group": None}, r"^rows of several models are joined by group and item, but no group column is"),
        (
            {"a": ROWS},
            {"score": {"a": "score"}},
            r"^score is a mapping of models to columns, but the rows of models are",
        ),
        ({"a": ROWS}, {"items": "item", "true_items": "item"}, r'^items is "item", but the rows of models are apart: '),
        ({"a": ROWS}, {"model": "model"}, r"^model='model' names the models of a long table, but the input is one tab"),
        (dict.fromkeys(map(str, range(201)), ROWS), {}, r"^there are 201 models with rows of their own: up to 200 are"),
        ({"": ROWS}, {}, r"^models names a model '': a text that is not empty is needed$"),
        ({1: ROWS}, {}, r"^models names a model 1: a text is needed$"),
        ({}, {}, r"^the input is a mapping without a model: name at least one$"),
        ({"a": [1, 2]}, {}, r"^the rows of a are of type list: a DataFrame, a pyarrow Table or a path to Parquet is"),
        (
            LONG,
            {"model": "model", "score": {"a": "score"}},
            r"^score is a mapping of models to columns, but the rows of",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(rows: Any, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(sr.SpecError, match=told):
        sr.evaluate(rows, ["rr"], **{**ASKED, **asked})


@pytest.mark.parametrize(
    ("rows", "asked", "told"),
    [
        (
            {"a": ROWS, "b": ROWS.drop_columns(["score"])},
            {},
            r'^the b score column "score" is not in the input of b \(user, item, click\)$',
        ),
        (
            {"a": ROWS, "b": ROWS.set_column(0, "user", pa.array([1, 2]))},
            {},
            r'^the group column is of type string in the input of a \("user"\) and of type int64 in the input of b',
        ),
        (LONG, {"model": "modle"}, r'^the model column "modle" is not in the input, did you mean "model"\?'),
        (
            LONG,
            {"model": "score"},
            r'^the model column "score" is of type double: a text, whole number, boolean or date',
        ),
        (
            pa.table({**ROWS.to_pydict(), "m": pa.array([None, ""], pa.string())}),
            {"model": "m"},
            r'^the model column "m" is null or empty in 2 rows: each row needs the name of its model$',
        ),
        (
            pa.table({"user": ["u"] * 201, "item": range(201), "score": [1.0] * 201, "click": [1] * 201}),
            {"model": "item"},
            r'^the model column "item" has more than 200 names \(0, 1, 10 and others\): up to 200 models are',
        ),
        (LONG.slice(0, 0), {"model": "model"}, r"^the input has no rows$"),
    ],
)
def test_rows_that_cannot_be_joined_are_refused(rows: Any, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(sr.InputError, match=told):
        sr.evaluate(rows, ["rr"], **{**ASKED, **asked})


def test_a_column_of_models_is_read_as_names_in_alphabetical_order() -> None:
    numbers = ROWS.append_column("model", pa.array([10, 2]))
    found = sr.evaluate(numbers, ["rr"], model="model", uncertainty=False, **ASKED)
    assert found.table["model"].to_pylist() == ["10", "2"]
    assert [row["count"] for row in found.quality.to_pylist() if row["check"] == checks.MODEL_ROWS] == [1, 1]


def test_nan_of_pandas_is_counted_in_both_forms() -> None:
    frame = pd.DataFrame({"user": ["u", "u"], "item": ["x", "y"], "score": [1.0, float("nan")], "click": [1, 0]})
    for rows, asked in (({"a": frame}, {}), (frame.assign(model="a"), {"model": "model"})):
        found = sr.evaluate(rows, ["rr"], uncertainty=False, **ASKED, **asked)
        assert counts_of(found)[checks.NAN_OF_PANDAS] == 1


COLUMNS = {"group": "user", "item": "item", "score": "score", "label": "click"}
APART = {"a": {"path": "/rows/a/dt={date}"}, "b": {"table": "lists.b"}}


def spec(folder: Path, **given: Any) -> Spec:
    document = {"input": {"columns": COLUMNS, **given}, "metrics": ["rr"], "output": {"path": "/tables"}}
    (folder / "spec.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return load_spec(folder / "spec.yaml")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"models": {}}, "input has models without a model: name at least one"),
        ({"models": {"a": {}}}, "input.models.a names neither a path nor a table"),
        ({"models": {"a": {"pth": "/a"}}}, "input.models.a.pth"),
        ({"models": APART, "path": "/rows"}, "input has models and path: each model names its own"),
        (
            {"models": APART, "columns": {**COLUMNS, "model": "m"}},
            "input has models with rows of their own, and columns",
        ),
        ({"path": "/rows", "columns": {**COLUMNS, "model": "m"}}, "but models is no list of them"),
        ({"path": "/rows", "models": ["a"]}, "but columns.model names no column"),
        ({"models": {"a": {"path": "/tables/metrics"}}}, "/tables within input.models.a.path /tables/metrics"),
        ({"models": {"a": {"path": "s3://key:secret@bucket/a"}}}, "input.models.a has a path with a password"),
    ],
)
def test_places_of_models_that_make_no_sense_are_refused(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    with pytest.raises(sr.SpecError) as raised:
        spec(tmp_path, **given)
    assert told in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_spec_knows_the_place_of_each_model(tmp_path: Path) -> None:
    loaded = spec(tmp_path, models=APART)
    assert loaded.plan().models == ("a", "b")
    assert places_of(loaded, "2026-01-31") == [
        "input.models.a.path: /rows/a/dt=2026-01-31",
        "input.models.b.table: lists.b",
        "output.path: /tables",
    ]
    elsewhere = spec(tmp_path, models={**APART, "a": {"path": "/rows/a/dt={date}", "where": "score > 0"}})
    in_turn = spec(tmp_path, models=dict(reversed(APART.items())))
    assert len({one.hash() for one in (loaded, elsewhere, in_turn)}) == 3
    assert "input.models.a where score > 0" in elsewhere.source()


def test_a_spec_without_models_keeps_its_hash(tmp_path: Path) -> None:
    """A day of an earlier release is still known as the same question."""
    assert spec(tmp_path, path="/rows").hash() == "bd68a060bde1"
