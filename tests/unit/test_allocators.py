"""Memory that is free goes back to the operating system when it is told to."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

# 80 MB in blocks too small for glibc to map each by itself, of which one in the middle of every MB stays in use: so the
# heap cannot shrink from its end.
SCRIPT = """
import numpy as np
from sparkrank.engine.allocators import give_back_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

before = resident()
blocks = [np.ones(80_000, np.uint8) for _ in range(1000)]
kept = blocks[5::13]
blocks.clear()
freed = resident()
give_back_freed_memory()
print(before, freed, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_free_memory_between_blocks_in_use_is_given_back() -> None:
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", SCRIPT], cwd=root, check=True, capture_output=True, text=True)
    before, freed, after = map(int, found.stdout.split())
    assert freed - before > 60e6
    assert after - before < 20e6
