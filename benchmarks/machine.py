"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import sparkrank

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEASURED = ("--", ":/sparkrank", ":/benchmarks", ":(top,exclude)benchmarks/results")  # what a figure depends on
PACKAGES = ("pyspark", "numpy", "pandas", "pyarrow", "duckdb", "polars", "ranx", "numba")


def command(module: str, arguments: Sequence[str]) -> str:
    """How a module of the benchmark was started, without where its output went."""
    kept = list(arguments)
    if "--output" in kept:
        place = kept.index("--output")
        del kept[place : place + 2]
    return shlex.join(("python", "-m", f"benchmarks.{module}", *kept))


def describe() -> dict[str, str]:
    """The processor, memory, system and versions of everything that takes part."""
    found = {
        "processor": _processor(),
        "cores": str(usable_cores()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load before": f"{os.getloadavg()[0]:.1f}",  # processes that wanted a core in the last minute
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sparkrank": sparkrank.__version__,
        "commit": commit(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit() -> str:
    """What of the code was measured, with a + where files differ from the commit; unknown outside of a repository."""
    told = []
    for asked in (("rev-parse", "--short=10", "HEAD"), ("status", "--porcelain", *MEASURED)):
        try:
            found = subprocess.run(
                ["git", *asked],  # noqa: S607 - whatever git is on the path
                cwd=Path(__file__).parent,
                capture_output=True,
                text=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        told.append(found.stdout.strip())
    head, changed = told
    return f"{head}+" if changed else head


def usable_cores() -> int:
    """The cores that this process may use, which a container may have fewer of than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def java(spark: SparkSession) -> Mapping[str, str]:
    """The Java that the session runs on."""
    version = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')").first()
    return {"java": str(version[0])} if version else {}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
