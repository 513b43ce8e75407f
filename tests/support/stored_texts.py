"""What readers of a folder find in its files."""

from __future__ import annotations

import pyarrow.parquet as pq
from pyarrow import fs


def texts_below(folder: str, store: fs.FileSystem | None = None) -> list[str]:
    """The text of each file: of Parquet the values, of others the bytes."""
    store = store or fs.LocalFileSystem()
    files = [info for info in store.get_file_info(fs.FileSelector(folder, recursive=True)) if info.is_file]
    return [_text_of(store, info) for info in files]


def _text_of(store: fs.FileSystem, info: fs.FileInfo) -> str:
    if info.extension == "parquet":
        return repr(pq.read_table(info.path, filesystem=store, partitioning=None).to_pylist())
    with store.open_input_stream(info.path) as file:
        return str(file.read().decode("latin-1"))
