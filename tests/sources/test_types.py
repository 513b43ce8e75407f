"""Tables in memory: the same values held in another way give the same bits."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr

ROLES = {"group": "user", "score": "score", "label": "label"}
METRICS = ["ndcg@3", "ap", "auc(exact)", "precision(threshold=0.3)"]
ROWS = pa.table(
    {
        "user": ["a", "a", "b", None, "b", "b"],
        "score": pa.array([0.5, 0.25, None, 0.75, 0.5, 0.125]),
        "label": pa.array([1, 0, 1, 1, None, 0]),
        "weight": pa.array([1.0, 2.0, 0.5, 1.0, 0.25, 1.0]),
    }
)
CODED = [pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.uint32(), pa.string_view(), ordered=True)]
TEXTS = [pa.large_string(), pa.string_view(), *CODED, pa.binary_view()]
SMALL_DECIMALS = [pa.decimal32(5, 3), pa.decimal64(9, 3)] if hasattr(pa, "decimal32") else []  # of pyarrow 19
NUMBERS = [pa.float16(), pa.decimal128(9, 3), *SMALL_DECIMALS, pa.dictionary(pa.int32(), pa.float64())]


def _held(rows: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    """``rows`` with the values of the column ``name`` in ``kind``."""
    column = rows[name].combine_chunks()
    if pa.types.is_dictionary(kind):
        coded = column.dictionary_encode()
        indices, values = coded.indices.cast(kind.index_type), coded.dictionary.cast(kind.value_type)
        held = pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)
    elif pa.types.is_decimal(kind):
        held = pa.array([None if value is None else Decimal(value) for value in column.to_pylist()], kind)
    else:
        held = column.cast(pa.binary()).cast(kind) if pa.types.is_binary_view(kind) else column.cast(kind)
    return rows.set_column(rows.column_names.index(name), name, held)


def _evaluated(rows: pa.Table, group: str = "user") -> tuple[list[dict], list[dict]]:
    settings = {"score": "score", "label": "label", "weight": "weight", "max_bad_fraction": 0.5, "buckets": 2}
    evaluation = sr.evaluate(rows, METRICS, group=group, **settings)
    groups = evaluation.groups.drop_columns([group]).sort_by([("ndcg@3", "ascending"), ("n_rows", "ascending")])
    metrics = evaluation.metrics.drop_columns(["spec_hash"])  # of the column that is named
    return _texts(metrics), _texts(groups)


def _texts(table: pa.Table) -> list[dict]:
    return [{name: repr(value) for name, value in row.items()} for row in table.to_pylist()]


def test_values_held_in_another_way() -> None:
    rows = ROWS.append_column("key", pa.array([1.0, 1.0, 2.5, None, 2.5, 2.5]))
    rows = rows.set_column(2, "label", rows["label"].cast(pa.float64()))
    forms = [("user", "user", kind) for kind in TEXTS] + [("key", "key", kind) for kind in NUMBERS]
    forms += [("user", name, kind) for name in ("score", "label", "weight") for kind in NUMBERS]
    plain = {group: _evaluated(rows, group) for group in ("user", "key")}
    wrong = [form for form in forms if _evaluated(_held(rows, *form[1:]), form[0]) != plain[form[0]]]
    assert wrong == []


def test_powers_of_grades_are_those_of_float64() -> None:
    """2^0.5 as a float of 32 bits is off by 2e-8, and 2^150 is none of them."""
    rows = pa.table({"user": ["a", "a"], "score": [2.0, 1.0], "label": [0.5, 150.0]})
    metrics = ["err(max_grade=1)", "err(max_grade=150)", "cg(gain=exp2)"]
    stops = (math.sqrt(2) - 1) / 2
    expected = [stops + (1 - stops) * (1 / 2) / 2, 1 / 2, math.sqrt(2) - 1 + 2.0**150 - 1]
    for kind in (pa.float64(), pa.float32(), pa.float16(), pa.decimal128(9, 3)):
        found = sr.evaluate(_held(rows, "label", kind), metrics, ties="worst", **ROLES)
        assert found.metrics["value"].to_pylist() == pytest.approx(expected, rel=1e-15), kind


def test_a_decimal_is_the_float_nearest_to_it() -> None:
    for kind in (pa.decimal128(38, 18), pa.decimal256(60, 18), *SMALL_DECIMALS):
        tenths = pa.array([Decimal(tenth) / 10 for tenth in range(1, 10)], kind)
        rows = pa.table({"user": [1] * 9, "score": tenths, "label": [0, 1] * 4 + [0]})
        scores = sr.evaluate(rows, ["auc(exact)"], **ROLES).blocks["score"].to_pylist()
        assert sorted(scores) == [tenth / 10 for tenth in range(1, 10)], kind


def test_a_polars_table_is_what_it_holds() -> None:
    """Its NaN are no nulls, as those of pandas are."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(ROWS)
    assert _evaluated(frame) == _evaluated(ROWS)
    assert _evaluated(frame.with_columns(pl.col("user").cast(pl.Categorical))) == _evaluated(ROWS)
    with pytest.raises(sr.InputError, match="6 NaN score"):
        _evaluated(frame.with_columns(score=math.nan, user=pl.lit("a")))


def test_a_column_in_which_nothing_stands_is_one_of_nulls(tmp_path: Path) -> None:
    """pandas makes one of Nones, and of it Arrow a column without a type; a Parquet file of it has one."""
    for name, typed in (("label", pa.int8()), ("score", pa.float64()), ("country", pa.string())):
        rows = ROWS if name in ROWS.column_names else ROWS.append_column(name, pa.nulls(len(ROWS)))
        rows = rows.set_column(rows.column_names.index(name), name, pa.nulls(len(rows)))
        pq.write_table(_held(rows, name, typed), path := str(tmp_path / f"{name}.parquet"))
        asked = {**ROLES, "slices": ["country"][: name == "country"], "max_bad_fraction": 0.2}
        found = [sr.evaluate(of, METRICS, **asked) for of in (rows, path)]
        assert repr(found[0].metrics.to_pylist()) == repr(found[1].metrics.to_pylist())


def test_what_is_no_table_is_refused() -> None:
    for rows, sentence in (
        (ROWS["user"], "the impressions are of type pyarrow.lib.ChunkedArray, of which Arrow makes no table ("),
        (ROWS.to_pandas()["user"], f"the impressions are of type {pd.Series.__module__}.Series"),
        (ROWS.to_pylist(), "the impressions are of type list: a DataFrame, a pyarrow Table or a path to Parquet is"),
    ):
        with pytest.raises(sr.SpecError) as raised:
            sr.evaluate(rows, METRICS, **ROLES)
        assert str(raised.value).startswith(sentence)


def test_a_file_that_only_spark_reads_is_told_with_what_to_do(tmp_path: Path) -> None:
    pq.write_table(_held(ROWS, "label", pa.uint8()), path := str(tmp_path / "log.parquet"))
    told = "label column label is of type uint8, which Spark and Arrow read differently: spark=session lets"
    with pytest.raises(sr.SpecError, match=told):
        _evaluated(path)
    assert _evaluated(pq.read_table(path)) == _evaluated(ROWS)


def test_a_pandas_column_that_arrow_cannot_hold_is_one_sentence() -> None:
    frame = ROWS.to_pandas()
    texts = "Conversion failed for column user with type object"
    for values, sentence in (([1, "a"] * 3, texts), ([2**70] * 6, "too large"), ([1j] * 6, "Unsupported numpy type")):
        with pytest.raises(sr.InputError, match=f"the input has a column that Arrow cannot hold: .*{sentence}"):
            _evaluated(frame.assign(user=values))
        assert _evaluated(frame.assign(other=values)) == _evaluated(frame)  # where it has no role, nobody asks


def test_a_name_that_stands_twice_is_refused() -> None:
    twice = ROWS.append_column("label", ROWS["label"])
    told = 'the label column "label" of the input is not the only one of that name'
    for rows in (twice, twice.rename_columns([*ROWS.column_names, "Label"])):
        with pytest.raises(sr.InputError, match=told):
            _evaluated(rows)


def test_the_least_relevant_label_is_a_float64() -> None:
    """A label of 0 is not relevant, however small ``rel`` is, and 0.7 stored as float32 is below 0.7."""
    labels = [np.float32(0.7).item(), 0.0]
    for kind in (pa.float32(), pa.float64()):
        rows = pa.table({"user": [1, 1], "score": [1.0, 2.0], "label": pa.array(labels, kind)})
        for rel, hits in (("1e-50", 1.0), ("0.5", 1.0), ("0.7", 0.0), ("1e300", 0.0)):
            metrics = [f"p(rel={rel})@1", f"hit(rel={rel})@2", f"group_auc(rel={rel})"]
            values = sr.evaluate(rows, metrics, undefined="zero", **ROLES).metrics["value"].to_pylist()
            assert values == [0.0, hits, 0.0], (kind, rel)
