"""The register of file formats that are read without Spark. Its keys are the values of ``format`` in a spec."""

from __future__ import annotations

from sparkrank.sources.delta import open_delta
from sparkrank.sources.iceberg import open_iceberg
from sparkrank.sources.lakes import DELTA, ICEBERG
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.protocol import Opener
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.stream_file import StreamFile
from sparkrank.sources.stream_input import StreamInput
from sparkrank.sources.table_input import TableInput
from sparkrank.sources.text_files import TextInput

SOURCES: dict[str, Opener] = {
    "parquet": ParquetInput.open,
    "csv": TextInput.open,
    "json": TextInput.open,
    DELTA: open_delta,
    ICEBERG: open_iceberg,
}


def opener_of(side: SideRows) -> Opener | None:
    """Return the function that opens an input (``side``).

    Return None for DataFrames, tables of Spark's catalog, Parquet with options, and formats of Spark alone.
    """
    if side.given is not None:
        if side.is_frame:
            return None
        return StreamInput.open if isinstance(side.given, StreamFile) else TableInput.open
    if (side.path is None and side.format != ICEBERG) or (side.format == "parquet" and side.options):
        return None
    return SOURCES.get(side.format)
