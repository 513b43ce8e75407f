"""Texts of any length: values by hand, and never more bytes at once than a bound, however the texts are held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base import temporary_files
from sparkrank.engines.shuffle import spill
from sparkrank.engines.shuffle.texts import few_coded
from sparkrank.inputs.roles import Roles
from sparkrank.sources import arrow_scan, sizes
from sparkrank.sources.parquet import ParquetInput, read_split
from sparkrank.sources.selection import Selection
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.text_files import TextInput
from tests.support.joined import values_of
from tests.support.parquet_files import at

LONG = 140_000
# Of group "a" the second row is relevant, of "b" the first: rr is (1/2 + 1) / 2.
SCORES = {"s": [3.0, 2, 1, 1, 2, 3], "y": [0, 1, 0, 0, 0, 1]}


def _long(texts: str, size: int = LONG) -> pa.Array:
    return pa.array(["x" * size + each for each in texts])


def _form(texts: pa.Array, form: str) -> pa.Array:
    if form == "dictionary":
        return texts.dictionary_encode()
    return texts.cast({"string": pa.string(), "large": pa.large_string(), "view": pa.string_view()}[form])


@pytest.mark.parametrize("form", ["string", "large", "view", "dictionary"])
@pytest.mark.parametrize(("row_memory", "group_table"), [(None, True), (0, True), (0, False)])
def test_long_texts_play_every_role(form: str, row_memory: int | None, group_table: bool) -> None:
    texts = {"u": "aaabbb", "i": "pqrpqr", "c": "mmmnnn"}
    rows = pa.table({**{name: _form(_long(ends), form) for name, ends in texts.items()}, **SCORES})
    roles = {"group": ["u"], "item": "i", "score": "s", "label": "y", "slices": ["c"], "ties": "item"}
    found = sr.evaluate(rows, ["rr", "novelty@1"], group_table=group_table, row_memory=row_memory, **roles)
    of_rr = [row for row in found.table.to_pylist() if row["metric"] == "rr"]
    assert [row["value"] for row in of_rr if row["slice"] == "all"] == [0.75]
    assert {row["slice_value"][-1]: row["value"] for row in of_rr if row["slice"] == "c"} == {"m": 0.5, "n": 1.0}
    if group_table:
        groups = found.groups.sort_by("u")
        assert [key[-1] for key in groups["u"].to_pylist()] == ["a", "b"]
        assert {len(key) for key in groups["u"].to_pylist()} == {LONG + 1}


def test_long_texts_join_lists_and_truth_and_stand_in_arrays(tmp_path: Path) -> None:
    lists = pa.table({"u": _long("aabb"), "i": _long("pqpq"), "s": [2.0, 1, 2, 1]})
    truth = pa.table({"u": _long("ab"), "i": _long("qp")})
    arrays = pa.table({"u": _long("ab"), "items": [["p" * LONG, "q"]] * 2, "true": [["q"], ["p" * LONG]]})
    pq.write_table(arrays, tmp_path / "arrays.parquet")
    of_arrays = {"items": "items", "true_items": "true"}
    for rows, roles in (
        (lists, {"item": "i", "score": "s", "truth": truth}),
        (arrays, of_arrays),
        (str(tmp_path / "arrays.parquet"), of_arrays),
    ):
        assert sr.evaluate(rows, ["rr"], group="u", lane="local", **roles).table["value"].to_pylist() == [0.75]


def test_few_rows_are_not_sampled_more_than_once() -> None:
    rows = pa.table({"u": _long("abcdef", 1_000_000)})
    before = pa.total_allocated_bytes()
    peak = pa.default_memory_pool().max_memory()
    few_coded(rows)
    assert pa.default_memory_pool().max_memory() - max(peak, before) < 30_000_000  # 6 MB of texts, sampled and compared


@pytest.mark.parametrize("form", ["string", "large", "view", "dictionary"])
def test_tables_in_memory_are_cut_by_bytes(form: str) -> None:
    texts = pa.array(["x" * (1 + 97 * n % 1_000) for n in range(500)])
    column = pa.chunked_array([_form(texts[:200], form), _form(texts[200:], form)])
    rows = pa.table({"u": column, "n": range(500)})
    parts = list(sizes.in_parts(rows, most=10_000))
    assert pa.concat_tables(parts)["n"].to_pylist() == list(range(500))
    assert all(sum(map(len, part["u"].to_pylist())) <= 10_000 or part.num_rows == 1 for part in parts)
    assert 25 <= len(parts) <= 100  # 250 KB
    one_text = pa.table({"u": pa.array(["x" * 1_000] * 500).dictionary_encode()})
    assert sizes.plain_bytes(one_text) == 500_000
    assert len(list(sizes.in_parts(one_text, most=10_000))) == 50
    numbers = pa.table({"n": range(500)})
    assert list(sizes.in_parts(numbers, most=1)) == [numbers]  # nobody looks at rows of numbers


def test_arrays_are_cut_by_what_their_elements_become() -> None:
    rows = pa.table({"u": _long("abcd", 1_000), "items": [list(range(100))] * 4, "true": [[1, 2]] * 4})
    size = sizes.bytes_of_elements(["items", "true"], ["u"])
    assert size(rows) - sizes.plain_bytes(rows) == 4 * (1_001 * 100 + 1_001 * 2)
    assert [part.num_rows for part in sizes.in_parts(rows, size, 220_000)] == [2, 2]


def rows_at_once(source: ParquetInput, column: str) -> int:
    """The rows of a batch of one column."""
    return sizes.batch_rows(source.fragments[0], sizes.leaves_of(source.fragments[0], [column]))


def rr_by_letter(rows: pa.Table | str, group: str, **settings: Any) -> dict[str, float]:
    """The value of each group by the first letter of its key."""
    asked = {"group": group, "score": "s", "label": "y", "lane": "local", **settings}
    return {key[0]: value for key, value in values_of(sr.evaluate(rows, ["rr"], **asked), "rr", group).items()}


@pytest.mark.parametrize("dictionary", [True, False])
def test_files_are_read_by_bytes(tmp_path: Path, dictionary: bool) -> None:
    texts, rows = [f"{n:02}" + "x" * 65_000 for n in range(50)], 12_000
    which = np.arange(rows) % 50
    column = pa.DictionaryArray.from_arrays(pa.array(which, pa.int32()), pa.array(texts))
    schema = pa.schema({"u": pa.string(), "n": pa.int64()})
    with pq.ParquetWriter(tmp_path / "rows.parquet", schema, compression="zstd", use_dictionary=dictionary) as writer:
        for start in range(0, rows, 1_000):
            part = column[start : start + 1_000].cast(pa.string())
            writer.write_table(pa.table({"u": part, "n": range(start, start + 1_000)}), row_group_size=rows)
    source = ParquetInput.at(str(tmp_path / "rows.parquet"))
    assert rows_at_once(source, "u") == pytest.approx(sizes.MOST_BYTES / 65_006, rel=0.01)
    assert rows_at_once(source, "n") == sizes.BATCH_ROWS
    (split,) = source.file_splits()
    seen, before = 0, pa.total_allocated_bytes()
    for table in read_split(split, source.schema, at("u", "n"), None):
        assert table["n"].to_pylist() == list(range(seen, seen + table.num_rows))
        assert table.nbytes < 2.1 * sizes.MOST_BYTES  # up to the bound, and one batch of as much
        assert pa.total_allocated_bytes() - before < 5 * sizes.MOST_BYTES
        assert table["u"][0].as_py() == texts[seen % 50]
        seen += table.num_rows
    assert seen == rows


def test_fields_of_structs_are_read_by_bytes(tmp_path: Path) -> None:
    users = pa.array([{"name": f"{n % 2}" + "x" * 100_000, "age": n} for n in range(400)])
    rows = pa.table({"user": users, "s": range(400), "y": [n == 398 for n in range(400)]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    assert rows_at_once(ParquetInput.at(str(tmp_path)), "user") == pytest.approx(sizes.MOST_BYTES / 100_000, rel=0.01)
    for given in (str(tmp_path / "rows.parquet"), rows):
        # of group 0 the relevant row is the first, and group 1 has none
        assert rr_by_letter(given, group="user.name")["0"] == 1.0


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_of_text_are_read_by_bytes(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_scan, "MOST_BYTES", 2_000_000)
    rows = [{"u": f"{n % 2}" + "x" * 100_000, "s": n, "y": int(n == 198)} for n in range(200)]
    lines = [json.dumps(row) for row in rows] if kind == "json" else [",".join(map(str, row.values())) for row in rows]
    (tmp_path / "rows").write_text("\n".join(["u,s,y", *lines] if kind == "csv" else lines))
    options = {"header": "true"} if kind == "csv" else {}
    side = SideRows("input", path=str(tmp_path / "rows"), format=kind, options=options)
    (split,) = Selection(TextInput.open(side, Roles.of("u", "y", "s"))).splits(["u", "s", "y"], 1_000_000)
    tables = list(split.read())
    assert [s for table in tables for s in table["s"].to_pylist()] == list(range(200))
    assert all(table.nbytes < 6_000_000 for table in tables)  # of 20 MB, in blocks of 2 as they are read


def test_a_row_of_long_texts_counts_as_several_where_buckets_are_counted(tmp_path: Path) -> None:
    rows = pa.table({"u": [f"{n}" + "x" * 10_000 for n in range(1_000)], "s": range(1_000)})
    assert sizes.as_rows(1_000, sizes.plain_bytes(rows)) == pytest.approx(1_000 * 10_000 / 1_024, rel=0.02)
    pq.write_table(rows, tmp_path / "rows.parquet", use_dictionary=False)
    source = ParquetInput.at(str(tmp_path / "rows.parquet"))
    assert sizes.stored_bytes(source.fragments, ["u"]) == pytest.approx(1_000 * 10_000, rel=0.02)
    assert sizes.stored_bytes(source.fragments, ["s"]) == 0
    assert sizes.as_rows(1_000, 16_000) == 1_000  # ids


def test_pieces_go_to_disk_in_runs_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MAX_PIECE_BYTES", 100_000)
    monkeypatch.setattr(temporary_files, "MOST_READ", 100_000)
    numbers = range(700)
    rows = pa.table({"u": [f"{n % 7}" + "x" * 3_000 for n in numbers], "s": numbers, "y": [n == 695 for n in numbers]})
    rr = rr_by_letter(pa.concat_tables([rows.slice(n, 70) for n in range(0, 700, 70)]), group="u", row_memory=0)
    # group 2 has the scores 695, 688 ...: its relevant row is the first, and the other groups have none
    assert rr.pop("2") == 1.0
    assert len(rr) == 6


def test_what_cannot_be_held_is_an_input_error() -> None:
    for told in ("offset overflow while concatenating arrays", "Take operation overflowed binary array capacity"):
        with pytest.raises(sr.InputError, match="more than 2 GiB of texts"), sizes.long_text_errors():
            raise pa.ArrowInvalid(told)
    with pytest.raises(pa.ArrowInvalid), sizes.long_text_errors():
        raise pa.ArrowInvalid("something else")
