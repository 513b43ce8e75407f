"""Tables of items, sent to the workers of a Spark session as a broadcast variable or a file.

Sessions without a context, such as those of Spark Connect, get the file.
"""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.engines.spark.session_features import context_of_rdds
from sparkrank.states.item_table import ItemTable, ItemValues

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession

    from sparkrank.engines.result import PassResult
    from sparkrank.metrics import Plan

_ITEMS, _NAME, _TOTALS = "items", b"name", b"totals"


@dataclass(frozen=True, eq=False)
class BroadcastItems:
    """A table of items in a broadcast variable. ``held`` is the table itself, in the driver only."""

    broadcast: Broadcast[ItemTable]
    held: ItemTable | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return BroadcastItems, (self.broadcast,)

    @property
    def table(self) -> ItemTable:
        return self.broadcast.value if self.held is None else self.held


@dataclass(frozen=True, eq=False)
class FileItems:
    """A table of items in the file ``name`` of the session, which workers map into memory.

    ``held`` is the table itself, in the driver only.
    """

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
    """Send ``items`` to the workers of ``spark``, and return a reference to them for the plan."""
    context, _ = context_of_rdds(spark)
    if context is not None:
        return BroadcastItems(context.broadcast(items), items)
    said = {_NAME: items.name, _TOTALS: json.dumps(dict(items.totals))}
    rows = pa.table({_ITEMS: items.items, **items.columns}, metadata=said)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, _ITEMS)
        with pa.ipc.new_file(written, rows.schema) as file:
            file.write_table(rows)
        with pa.memory_map(str(written)) as mapped:
            digest = hashlib.sha256(mapped.read_buffer()).hexdigest()
        name = f"sparkrank-items-{digest}.arrow"  # a session keeps its files: days with the same items share one
        path = written.rename(Path(folder, name))
        spark.addArtifacts(str(path), file=True)
    return FileItems(name, items)


def without_items(solved: PassResult, plan: Plan) -> PassResult:
    """Return ``solved``, and free the broadcast tables of items in ``plan``.

    They are freed at once, or, if Spark keeps rows for ``solved``, when ``solved`` is released. If its group table is a
    DataFrame, they are kept as long as the session.
    """
    # Spark keeps the file of a broadcast variable until the variable is destroyed. A group table that is a DataFrame
    # may be computed anew at any time.
    if solved.groups is not None and not isinstance(solved.groups, pa.Table):
        return solved
    for items in plan.items:
        if isinstance(items, BroadcastItems):
            if solved.holds_rows:
                solved = solved.releasing(items.broadcast.destroy)
            else:
                items.broadcast.destroy()
    return solved
