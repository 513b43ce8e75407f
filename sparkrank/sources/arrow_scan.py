"""Scans of files with Arrow for the rows where a condition is true, in tables of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.sources.conditions import Condition
from sparkrank.sources.sizes import MOST_BYTES

T = TypeVar("T")
_HOLDS = ""  # a name that no column has


def filtered(
    scan: Callable[..., Iterator[pa.RecordBatch]], columns: Sequence[str], where: Condition | None
) -> Iterator[pa.RecordBatch]:
    """Yield ``columns`` for the rows that meet ``where``. ``scan`` is called with ``columns`` and a ``filter``."""
    row_group_filter, row_filter = (None, None) if where is None else (where.row_group_filter, where.row_filter)
    if row_filter is None:
        yield from scan(columns=list(columns), filter=row_group_filter)
        return
    for batch in scan(
        columns={name: pc.field(name) for name in columns} | {_HOLDS: row_filter}, filter=row_group_filter
    ):
        yield batch.filter(batch[_HOLDS]).select(list(columns))


def in_splits(items: Iterable[tuple[T, int]], split_rows: int, most: int | None = None) -> list[list[T]]:
    """Group ``items``, pairs (item, number of its rows), into splits of about ``split_rows`` rows, largest first.

    A split has at most ``most`` items.
    """
    splits: list[list[T]] = []
    sizes: list[int] = []
    for item, rows in items:
        if not splits or sizes[-1] + rows > split_rows or len(splits[-1]) == most:
            splits.append([])
            sizes.append(0)
        splits[-1].append(item)
        sizes[-1] += rows
    return [splits[index] for index in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)]


def gathered(batches: Iterable[pa.RecordBatch], batch_rows: int) -> Iterator[pa.Table]:
    """Join ``batches`` into tables. Each table ends when it reaches ``batch_rows`` rows or :data:`MOST_BYTES` bytes."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= batch_rows or size >= MOST_BYTES:
            yield _table(held)
            rows = size = 0
    if held:
        yield _table(held)


def _table(batches: list[pa.RecordBatch]) -> pa.Table:
    """Return ``batches`` as one table, and empty the list, so that only the table keeps the rows in memory."""
    table = pa.Table.from_batches(batches)
    batches.clear()
    return table
