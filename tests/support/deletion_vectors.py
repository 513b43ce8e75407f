"""Deletion vectors, as PROTOCOL.md of Delta and Iceberg's Puffin lay them out: both have the same bitmap."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path


def bitmap_of(rows: Sequence[int]) -> bytes:
    """The bitmap of some of the first 65,536 rows of a file: its mark, and a Roaring bitmap of 64 bits."""
    places = struct.pack(f"<{len(rows)}H", *rows)
    roaring = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16) + places  # one array container, at byte 16
    return struct.pack("<IQI", 1681511377, 1, 0) + roaring


def write_puffin(path: Path, deleted: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, int]]:
    """Write a Puffin file with the rows that are ``deleted`` of each data file; return the place of each blob in it."""
    content, blobs, places = b"PFA1", [], {}
    for file, rows in deleted.items():
        bitmap = bitmap_of(rows)
        blob = struct.pack(">I", len(bitmap)) + bitmap + struct.pack(">I", zlib.crc32(bitmap))
        places[file] = (len(content), len(blob))
        blobs.append(
            {
                "type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1,
                "offset": len(content), "length": len(blob),
                "properties": {"referenced-data-file": file, "cardinality": str(len(rows))},
            }
        )  # fmt: skip
        content += blob
    footer = json.dumps({"blobs": blobs, "properties": {}}).encode()
    path.write_bytes(content + b"PFA1" + footer + struct.pack("<II", len(footer), 0) + b"PFA1")
    return places
