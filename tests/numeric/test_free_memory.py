"""What a process may still take is asked before the order of a large group is made, not found by being killed."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank import native
from sparkrank.base.errors import OutOfMemoryError
from sparkrank.engines.local import fitting_row_memory
from sparkrank.numeric import free_memory as memory
from sparkrank.numeric.memory import prepare_for_limit
from sparkrank.run.stages import Stages

MIB = 1 << 20


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 900 MiB available, no limit of the process, and containers as a test writes them."""
    (tmp_path / "meminfo").write_text(f"MemTotal: {2 << 20} kB\nMemAvailable:     {900 << 10} kB\n")
    (tmp_path / "statm").write_text("1000 200 30 4 0 50 0\n")
    (tmp_path / "cgroup").write_text("0::/pod/box\n")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "PROCESS", tmp_path)
    monkeypatch.setattr(memory, "MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return tmp_path


def container(folder: Path, limit: str, used: int, files: int, old: bool = False) -> None:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if old else ("memory.max", "memory.current")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    of_files = f"inactive_file {9 if old else files}\ntotal_inactive_file {files}\n"
    (folder / "memory.stat").write_text(f"anon 5\nworkinginactive_file 7\n{of_files}")


def test_the_machine_alone(system: Path) -> None:
    assert memory.free_memory() == 900 * MIB


def test_a_limit_of_addresses(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (500 * MIB, 500 * MIB))
    assert memory.free_memory() == 500 * MIB - 1000 * resource.getpagesize()


@pytest.mark.parametrize(("outer", "expected"), [("max", 512 - 400 + 100), (str(300 * MIB), 300 - 250 + 10)])
def test_the_tightest_of_nested_containers(system: Path, outer: str, expected: int) -> None:
    container(system / "groups/pod/box", str(512 * MIB), 400 * MIB, 100 * MIB)
    container(system / "groups/pod", outer, 250 * MIB, 10 * MIB)
    assert memory.free_memory() == expected * MIB


def test_a_container_of_the_first_version(system: Path) -> None:
    (system / "cgroup").write_text("12:cpu,cpuacct:/else\n7:memory:/box\n0::/\n")
    container(system / "groups/memory/box", str(512 * MIB), 400 * MIB, 100 * MIB, old=True)
    assert memory.free_memory() == 212 * MIB


def test_nothing_that_tells(system: Path) -> None:
    for file in ("meminfo", "statm", "cgroup"):
        (system / file).unlink()
    assert memory.free_memory() is None
    memory.ensure_free(1 << 60, "it")


def test_more_than_all_is_not_less_than_nothing(system: Path) -> None:
    container(system / "groups/pod/box", str(100 * MIB), 101 * MIB, 0)
    assert memory.free_memory() == 0
    with pytest.raises(memory.NotEnoughMemoryError, match="it alone takes 1,024 MiB and 0 MiB are free"):
        memory.ensure_free(1 << 30, "it")
    memory.ensure_free(memory.LARGE_BYTES - 1, "it")  # which nobody asks for


LIMITED = """
import resource
from sparkrank.numeric.free_memory import addresses_left, free_memory

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
left = addresses_left()
block = bytearray(1 << 30)
print(left - addresses_left(), free_memory() <= addresses_left() < 8 << 30)
"""


def test_a_block_lowers_what_is_left() -> None:
    found = subprocess.run([sys.executable, "-c", LIMITED], check=True, capture_output=True, text=True).stdout.split()
    assert abs(int(found[0]) - (1 << 30)) < 1 << 20
    assert found[1] == "True"


REFERENCE = {"reference_rank": "other"}
USER: dict[str, Any] = {"group": "user", "score": "score", "label": "clicked", "lane": "local"}


@pytest.fixture
def small_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of 64 KiB are asked for, and a process may begin however little is free."""
    monkeypatch.setattr(memory, "LARGE_BYTES", 1 << 16)
    monkeypatch.setattr("sparkrank.engines.local.prepare_for_limit", lambda: None)


def told_with(free: int, log: pa.Table, metrics: list[str], monkeypatch: pytest.MonkeyPatch, **more: Any) -> str:
    """The sentence that refuses ``log`` where ``free`` bytes are free; empty if it is evaluated."""
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    try:
        sr.evaluate(log, metrics, **{**USER, **more})
    except OutOfMemoryError as error:
        return str(error)
    return ""


@pytest.mark.usefixtures("small_asked")
@pytest.mark.parametrize(
    ("metric", "more"), [("kendall_tau", REFERENCE), ("spearman", REFERENCE), ("ndcg@5", {"ties": "worst"})]
)
def test_an_order_without_room_is_not_begun(metric: str, more: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(70_000)
    log = pa.table({"user": 0 * rows, "score": rows % 1000 / 1000, "clicked": rows % 2, "other": rows + 1})
    told = told_with(70_000 * 24 - 1, log, [metric], monkeypatch, **more)
    assert told.startswith('the group user "0" ')
    assert "has 70,000 rows" in told
    assert "the order of all rows alone takes 1 MiB and 1 MiB are free, which metrics of hits need not" in told
    assert told_with(70_000 * 24, log, [metric], monkeypatch, **more) == ""


@pytest.mark.usefixtures("small_asked")
def test_what_is_beside_the_rows_and_exact_bins_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """70,000 rows have 10 bytes each beside them and three times the texts of their keys, and 9 each in sorted rows."""
    rows = np.arange(70_000)
    log = pa.table({"user": 0 * rows, "score": rows / 7, "clicked": rows % 2})
    long = log.set_column(0, "user", pa.array([f"{row // 2:0100}" for row in rows]))
    beside = "what an evaluation has beside its rows alone takes"
    assert f"{beside} 0 MiB and 0 MiB are free" in told_with(70_000 * 10 - 1, log, ["p@2"], monkeypatch)
    assert "take this group out" in told_with(70_000 * 10 - 1, log, ["p@2"], monkeypatch)
    assert told_with(70_000 * 10, log, ["p@2"], monkeypatch) == ""
    assert "a bucket has 70,000 rows, which take more memory" in told_with(8 * MIB, long, ["p@2"], monkeypatch)
    assert f"{beside} 21 MiB and 8 MiB are free" in told_with(8 * MIB, long, ["p@2"], monkeypatch)
    bins = told_with(70_000 * 9 - 1, log, ["auc(exact)"], monkeypatch, group=None)
    assert "sorting rows by exact bins alone takes 0 MiB" in bins


@pytest.mark.usefixtures("small_asked")
@pytest.mark.skipif(not native.COMPILED, reason="numpy sums hits up from the order")
def test_metrics_of_hits_need_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 200_000
    log = pa.table({"user": np.zeros(rows, np.int64), "score": np.arange(rows) % 999, "clicked": np.arange(rows) % 2})
    assert told_with(rows * 24 - 1, log, ["p@2"], monkeypatch) == ""


def test_a_stage_without_memory_is_one_sentence() -> None:
    for error, why in (
        (MemoryError(), ""),
        (memory.NotEnoughMemoryError("the table takes 9"), r" \(the table takes 9\)"),
    ):
        told = f"^write needs more memory than this process may use{why}: allow more memory"
        with pytest.raises(OutOfMemoryError, match=told), Stages().stage("write"):
            raise error


def test_a_container_too_small_to_begin_is_refused(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    container(system / "groups/pod/box", str(300 * MIB), 100 * MIB, 0)
    with pytest.raises(OutOfMemoryError, match="leave the process 200 MiB, but it needs 256 MiB at least"):
        prepare_for_limit()
    assert fitting_row_memory() == 50 * MIB
