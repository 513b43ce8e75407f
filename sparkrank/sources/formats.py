"""The registry of file formats that are read without Spark. Its keys are the values of ``format`` in a spec."""

from __future__ import annotations

from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.protocol import Source
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.table_input import TableInput
from sparkrank.sources.text_files import TextInput

SOURCES: dict[str, type[Source]] = {"parquet": ParquetInput, "csv": TextInput, "json": TextInput}


def source_kind(side: SideRows) -> type[Source] | None:
    """Return the class that reads ``side``, or None for DataFrames, tables, Parquet with options, and other formats."""
    if side.given is not None:
        return None if side.is_frame else TableInput
    if side.path is None or (side.format == "parquet" and side.options):
        return None
    return SOURCES.get(side.format)
