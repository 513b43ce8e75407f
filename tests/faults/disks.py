"""Disks of their own for tests, which may be filled, or mounted so that nobody writes there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PIECE = 1 << 16  # bytes that are written at a time


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """A command of the system, which may fail."""
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@dataclass
class Disk:
    """``folder``, and whether it is a disk of its own; why it is not says ``refused``."""

    folder: Path
    refused: str = ""

    @property
    def filler(self) -> Path:
        return self.folder / "filler"

    def need(self) -> None:
        """Skip the test where nobody may mount a disk."""
        if self.refused:
            pytest.skip(f"a disk cannot be mounted here: {self.refused}")

    def fill(self) -> None:
        """Leave no room, not even for one byte."""
        with self.filler.open("ab", buffering=0) as filler:
            for size in (PIECE, 1):
                while True:
                    try:
                        filler.write(b"\0" * size)
                    except OSError:
                        break

    def empty(self) -> None:
        """Leave the room that there was before :meth:`fill`."""
        self.filler.unlink(missing_ok=True)


@contextmanager
def mounted_disk(folder: Path, size: int) -> Iterator[Disk]:
    """A disk of ``size`` bytes at ``folder``, or the mere folder where nobody may mount one."""
    done = run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)) if not os.geteuid() else None
    disk = Disk(folder, "only root may" if done is None else done.stderr.strip())
    try:
        yield disk
    finally:
        if not disk.refused:
            run("umount", "--lazy", str(folder))
