"""The cluster that is broken, what is evaluated on it, and the table of faults at the end of the run.

The job of the tests of signals, its log and its spec are those of the tests of the job.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pandas as pd
import pytest

from tests.faults.cluster import Cluster
from tests.faults.disks import Disk, mounted_disk
from tests.faults.evaluated import Evaluated
from tests.jobs.conftest import log, spec, submit

__all__ = ["log", "spec", "submit"]

FAULT = "fault"  # the property of a test that tells a fault and what became of the day
WENT_ON, FAILED, LOST = "the new day", "the old day", "lost"
Tried = Callable[[str], AbstractContextManager[dict[str, bool]]]


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Tried:
    """Counts a fault. Inside of the block ``outcome["is_new"]`` is set, and whatever fails there has lost the day."""

    @contextmanager
    def counted(fault: str) -> Iterator[dict[str, bool]]:
        outcome: dict[str, bool] = {}
        became = LOST
        try:
            yield outcome
            became = WENT_ON if outcome["is_new"] else FAILED
        except pytest.skip.Exception:
            became = ""
            raise
        finally:
            if became:
                request.node.user_properties.append((FAULT, (fault, became)))

    return counted


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows how often each fault was tried, and what became of the day."""
    reports = [report for several in terminalreporter.stats.values() for report in several]
    calls = (report for report in reports if getattr(report, "when", None) == "call")
    faults = [value for report in calls for name, value in report.user_properties if name == FAULT]
    if faults:
        tried = pd.DataFrame(faults, columns=["fault", "outcome"])
        tried["outcome"] = pd.Categorical(tried["outcome"], [WENT_ON, FAILED, LOST])
        counts = pd.crosstab(tried["fault"], tried["outcome"], margins=True, margins_name="tried", dropna=False)
        terminalreporter.section("faults")
        terminalreporter.write_line(counts.rename_axis(index=None, columns=None).to_string())


@pytest.fixture(scope="session")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    """Where workers write what they shuffle: a disk of its own that may be filled, where mounting is possible."""
    with mounted_disk(tmp_path_factory.mktemp("workers"), 256 << 20) as disk:
        yield disk


@pytest.fixture(scope="session")
def cluster(
    spark_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory, disks: Disk
) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), disks.folder, {**os.environ, **spark_environment})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    """An old and a new log, and what undisturbed runs make of them."""
    return Evaluated.made(tmp_path_factory.mktemp("evaluated"))
