"""Memory that is free stays where workers ask for it, and goes back to the operating system when it is told to."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
ROOT = Path(__file__).parents[2]


def printed(script: str, delay: str | None, **more: str) -> list[str]:
    """The words that ``script`` prints, where Arrow's allocator is told to purge after this ``delay``."""
    environment = {name: value for name, value in os.environ.items() if name != "MIMALLOC_PURGE_DELAY"} | more
    environment |= {} if delay is None else {"MIMALLOC_PURGE_DELAY": delay}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout.split()


# 80 MB in blocks too small for glibc to map each by itself, of which one in the middle of every MB stays in use: so the
# heap cannot shrink from its end.
SCRIPT = """
import numpy as np
from sparkrank.numeric.memory import give_back_freed_memory

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


def test_free_memory_between_blocks_in_use_is_given_back() -> None:
    before, freed, after = map(int, printed(SCRIPT, None))
    assert freed - before > 60e6
    assert after - before < 20e6


POOL = """
import pyarrow as pa
from sparkrank.numeric.memory import keep_freed_memory

before = pa.default_memory_pool().backend_name
keep_freed_memory()
print(before, pa.default_memory_pool().backend_name)
"""


@pytest.mark.parametrize(("delay", "allocator"), [(None, "system"), ("-1", "mimalloc"), ("ten minutes", "system")])
def test_arrow_keeps_an_allocator_that_was_told_to_keep_memory(delay: str | None, allocator: str) -> None:
    if "mimalloc" not in pa.supported_memory_backends():
        pytest.skip("this pyarrow has no mimalloc")
    assert printed(POOL, delay, ARROW_DEFAULT_MEMORY_POOL="mimalloc") == ["mimalloc", allocator]


LARGE = """
import pyarrow as pa
from sparkrank.numeric.memory import KEPT_BYTES, give_back_if_large, keep_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

keep_freed_memory()
told = []
for size in (KEPT_BYTES // 4, KEPT_BYTES):
    arrays = [pa.array(range(1000)).take(pa.array([7] * 250_000)) for _ in range(size // 2_000_000)]
    arrays.clear()
    freed = resident()
    give_back_if_large()
    told += [freed, resident()]
print(*told)
"""


@pytest.mark.parametrize("delay", [None, pytest.param("600000", marks=pytest.mark.long)])
def test_a_worker_keeps_what_is_usual_and_gives_back_what_is_more(delay: str | None) -> None:
    freed, kept, freed_of_large, left = map(int, printed(LARGE, delay))
    assert freed > 128e6
    assert kept > 0.9 * freed
    assert freed_of_large > 512e6
    assert left < 300e6
