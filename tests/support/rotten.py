"""Parquet files of which one bit is flipped after they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

USERS, ROWS = 40, 25


def log(seed: int = 3) -> pa.Table:
    """A log whose every bit of scores, labels and keys counts."""
    random, count = np.random.default_rng(seed), USERS * ROWS
    columns = {"user": np.repeat([f"user {each}" for each in range(USERS)], ROWS)}
    columns |= {"item": random.permutation(count) % 100, "score": random.random(count)}
    return pa.table({**columns, "label": (random.random(count) < 0.3).astype(np.int32)})


def pages_of(file: Path) -> dict[str, tuple[int, int]]:
    """Where the bytes of each column begin and end: its pages, dictionaries included."""
    metadata, found = pq.read_metadata(file), {}
    for group in range(metadata.num_row_groups):
        for column in map(metadata.row_group(group).column, range(metadata.num_columns)):
            places = [column.data_page_offset] + [column.dictionary_page_offset] * column.has_dictionary_page
            first = min(places)
            found[f"{column.path_in_schema} {group}"] = (first, first + column.total_compressed_size)
    return found


def flip(file: Path, place: int, bit: int = 0) -> None:
    """Flip a bit of the byte at ``place``; the time of the last change stays, as where a disk rots."""
    written = bytearray(file.read_bytes())
    written[place] ^= 1 << bit
    file.write_bytes(bytes(written))
