"""Sends a table of items to the workers of a Spark session once: as a broadcast variable or, by Connect, as a file."""

from __future__ import annotations

import functools
import json
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.engines.spark.session_features import context_of_rdds
from sparkrank.states.item_table import ItemTable, ItemValues

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession

_ITEMS, _NAME, _TOTALS = "items", b"name", b"totals"


@dataclass(frozen=True, eq=False)
class BroadcastItems:
    """A table of items in a broadcast variable."""

    broadcast: Broadcast[ItemTable]

    @property
    def table(self) -> ItemTable:
        return self.broadcast.value


@dataclass(frozen=True, eq=False)
class FileItems:
    """A table of items in the file ``name`` of the session, which its workers map into memory. The driver holds it."""

    name: str
    held: ItemTable | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return FileItems, (self.name,)

    @property
    def table(self) -> ItemTable:
        return _table_in(self.name) if self.held is None else self.held


@functools.lru_cache(maxsize=2)
def _table_in(name: str) -> ItemTable:
    from pyspark import SparkFiles

    with pa.memory_map(SparkFiles.get(name)) as file:
        rows = pa.ipc.open_file(file).read_all().combine_chunks()
    columns = {column: rows[column].chunk(0) for column in rows.column_names}
    said = rows.schema.metadata
    return ItemTable(columns.pop(_ITEMS), columns, said[_NAME].decode(), json.loads(said[_TOTALS]))


def shared_items(spark: SparkSession, items: ItemTable) -> ItemValues:
    """Send ``items`` to the workers of ``spark``, and return the reference by which a plan names it."""
    context, _ = context_of_rdds(spark)
    if context is not None:
        return BroadcastItems(context.broadcast(items))
    name = f"sparkrank-items-{uuid.uuid4().hex}.arrow"
    rows = pa.table(
        {_ITEMS: items.items, **items.columns}, metadata={_NAME: items.name, _TOTALS: json.dumps(dict(items.totals))}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        with pa.ipc.new_file(path, rows.schema) as file:
            file.write_table(rows)
        spark.addArtifacts(str(path), file=True)
    return FileItems(name, items)
