"""Temporary files without a name, for rows that do not fit in memory."""

from __future__ import annotations

import os
import tempfile
from typing import BinaryIO

from sparkrank.base.errors import SparkrankError, first_line

MOST_READ = 1 << 30  # one system call reads at most 2 GiB


def unnamed_file() -> BinaryIO:
    """Open a temporary file without a name, so that nothing is left on disk, however the process ends."""
    try:
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        raise SparkrankError(f"no temporary file can be made ({first_line(error)}): name a folder in TMPDIR") from error


def read_at(file: int, size: int, place: int) -> bytes:
    """Read ``size`` bytes of the file with the descriptor ``file`` from offset ``place``."""
    parts = []
    while size > 0:
        parts.append(os.pread(file, min(size, MOST_READ), place))
        size, place = size - len(parts[-1]), place + len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)
