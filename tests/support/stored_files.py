"""The files of stored tables, whose names end in the attempt that wrote them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.schemas.tables import RUNS
from sparkrank.tables.commit.links import checksum


def one_file(folder: Path) -> Path:
    (file,) = folder.glob("*.parquet")
    return file


def list_again(tables: Path, day: str, table: str) -> None:
    """Let ``runs`` say of a table of ``day`` what is in its file now, as if its run had written it so."""
    runs, file = one_file(tables / f"runs/day={day}"), one_file(tables / f"{table}/day={day}")
    (run,) = pq.read_table(runs, partitioning=None).to_pylist()
    described = {"name": file.name, "rows": pq.read_metadata(file).num_rows, "bytes": file.stat().st_size}
    others = [each for each in run["files"] if each["table"] != table]
    run["files"] = [*others, {"table": table, **described, "checksum": checksum(file)}]
    pq.write_table(pa.Table.from_pylist([run], schema=RUNS.schema), runs)


def without_checksums(tables: Path, day: str) -> None:
    """Let the run of ``day`` list its files as releases did that knew neither their bytes nor their checksums."""
    runs = one_file(tables / f"runs/day={day}")
    table = pq.read_table(runs, partitioning=None)
    (listed,) = table["files"].to_pylist()
    old = pa.list_(pa.struct([("table", pa.string()), ("name", pa.string()), ("rows", pa.int64())]))
    files = [{name: each[name] for name in ("table", "name", "rows")} for each in listed]
    place = table.schema.get_field_index("files")
    pq.write_table(table.set_column(place, "files", pa.array([files], old)), runs)
