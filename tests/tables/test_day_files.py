"""Which files are a table of a day, and what opens them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import InputError
from sparkrank.tables.stored import day_files
from sparkrank.tables.stored.day_files import SparkFolders

DAY = "2026-11-19"
SPARK = cast("Any", object())


def test_hidden_files_are_no_part_of_a_table(tmp_path: Path) -> None:
    """As Spark leaves them: checksums beside its files, and a marker of what was committed."""
    folder = tmp_path / f"states/day={DAY}"
    folder.mkdir(parents=True)
    for part, names in enumerate((["ap", "rr"], ["rr"])):
        pq.write_table(pa.table({"name": names, "value": [float(part)] * len(names)}), folder / f"{part}.parquet")
        (folder / f".{part}.parquet.crc").write_bytes(b"crc")
    (folder / "_committed_1").write_text("all")
    (tmp_path / "blocks" / f"day={DAY}").mkdir(parents=True)
    (tmp_path / "blocks" / f"day={DAY}" / "_committed_1").write_text("all")
    found = day_files.day_files(str(tmp_path), DAY, ["states", "blocks", "items"], None)
    assert [found.has(name) for name in ("states", "blocks", "items")] == [True, False, False]
    read = found.read("states", pa.schema([("name", pa.string()), ("value", pa.float64())]))
    assert read.to_pylist() == [
        {"name": "ap", "value": 0.0},
        {"name": "rr", "value": 0.0},
        {"name": "rr", "value": 1.0},
    ]
    assert read["name"].chunk(0).dictionary.equals(read["name"].chunk(1).dictionary)
    assert pa.types.is_dictionary(read["name"].type)


def test_what_arrow_cannot_open_is_left_to_spark_but_for_local_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_opened(path: str) -> None:
        raise OSError("no such library\nand more")

    monkeypatch.setattr(day_files, "file_system", not_opened)
    for output, spark in (("/tables", None), ("/tables", SPARK), ("hdfs://host/tables", None)):
        with pytest.raises(InputError) as told:
            day_files.day_files(output, DAY, ["states"], spark)
        assert str(told.value) == f"the tables under {output} cannot be opened: no such library"
    found = day_files.day_files("hdfs://host/tables", DAY, ["states"], SPARK)
    assert found == SparkFolders(
        DAY, SPARK, {name: f"hdfs://host/tables/{name}/day={DAY}" for name in ("runs", "states")}
    )
