"""Whatever of a cluster ends, vanishes or is full: a day is the old one or the new one, whole, and a rerun is the same.

Everything is real: a master, two workers and their executors, the driver and Python processes, disks. What is broken is
broken when something is seen, as the first file of a shuffle, so that it is always the same step that is hit.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.faults.cluster import Cluster, Job, kill, parent_of, wait_until
from tests.faults.conftest import Tried
from tests.faults.disks import Disk, mounted_disk, run
from tests.faults.evaluated import DAYS, Evaluated, Output

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
LANES = ("scan", "frame")
OUTPUT_SIZE = 64 << 20  # bytes; the day takes about five

# What is there, below the folder of runs or of a worker's disk, from a moment on.
RUN, GROUPS, LAST_TABLE, SHOWN = "{day}.*", "{day}.*/.groups.*/*", "{day}.*/runs/*", "shown"


@pytest.fixture
def output(tmp_path: Path, evaluated: Evaluated) -> Output:
    return evaluated.output(tmp_path, tmp_path / "tables")


@contextmanager
def running(cluster: Cluster, output: Output, lane: str, *arguments: str, cores: int = 2) -> Iterator[Job]:
    job = Job.submitted(cluster, output.conf, *arguments, "--set", f"engine.lane={lane}", cores=cores)
    try:
        yield job
    finally:
        job.stop()


class Broken:
    """A day of ``output`` that is evaluated while something breaks, and the run that it shows until then."""

    def __init__(self, output: Output, day: str) -> None:
        self.output, self.day, self.before = output, day, output.shown(day)

    def has(self, moment: str) -> bool:
        return self.is_replaced if moment == SHOWN else self.output.has(moment.format(day=self.day), self.before)

    @property
    def is_replaced(self) -> bool:
        return self.output.shown(self.day) != self.before

    def is_new(self) -> bool:
        """Whether it is the new day. Fails where it is neither that nor the old one, whole."""
        is_new = self.output.is_new(self.day)
        assert is_new == self.is_replaced
        return is_new

    def is_written(self, job: Job) -> bool:
        """Whether the job showed the new day and said so; otherwise it failed in one sentence and left the old one."""
        code, told = job.ended()
        is_new = self.is_new()
        assert is_new == (code == 0), told
        assert is_new or told.splitlines()[-1].startswith("sparkrank: "), told
        return is_new


def old_days(output: Output, count: int) -> list[Broken]:
    output.make_old(DAYS[:count])
    return [Broken(output, day) for day in DAYS[:count]]


def rerun(cluster: Cluster, output: Output, lane: str, count: int) -> None:
    """Evaluate the days again, undisturbed: each is as if nothing had been broken, with no leftovers."""
    days = DAYS[:count]
    with running(cluster, output, lane, "--from", days[0], "--to", days[-1], "--again") as job:
        code, told = job.ended()
    assert code == 0, told
    assert [output.is_new(day) for day in days] == [True] * len(days)
    output.clean(days)


# --- What Spark can go on without: the executors, their Python, a worker, files -------------------------------------


def kill_one(pids: Callable[[], list[int]]) -> None:
    wait_until(lambda: any(kill(pid) for pid in pids()[:1]), "one process is killed")


def restart_worker(cluster: Cluster) -> None:
    cluster.kill_worker("worker-1")
    cluster.start_worker("worker-1")


def delete_shuffle_files(cluster: Cluster) -> None:
    for file in list(cluster.shuffle_files()):
        file.unlink(missing_ok=True)


BROKEN: dict[str, Callable[[Cluster], None]] = {
    "executor killed": lambda cluster: kill_one(cluster.executors),
    "Python worker killed": lambda cluster: kill_one(cluster.python_workers),
    "worker killed and started again": restart_worker,
    "shuffle files deleted": delete_shuffle_files,
}
WHEN = ("rows are shuffled", "buckets are solved")


@pytest.mark.parametrize("lane", LANES)
def test_what_spark_goes_on_without(cluster: Cluster, output: Output, tried: Tried, lane: str) -> None:
    """Each on a day of its own, one after the other in one session; a day that fails is left out and the next begun."""
    cases = [(fault, when) for fault in BROKEN for when in WHEN]
    left = list(zip(old_days(output, len(cases)), cases, strict=True))
    while left:
        with running(cluster, output, lane, "--from", left[0][0].day, "--to", left[-1][0].day, "--again") as job:
            while left:
                broken, (fault, when) = left.pop(0)
                seen = set(cluster.shuffle_files())

                def reached(broken: Broken = broken, when: str = when, seen: set[Path] = seen) -> bool:
                    if when == WHEN[0]:
                        return broken.has(RUN) and any(file not in seen for file in cluster.shuffle_files())
                    return broken.has(GROUPS)

                with tried(fault) as outcome:
                    job.wait_until(reached, f"{when} of {broken.day}")
                    BROKEN[fault](cluster)
                    wait_until(
                        lambda job=job, broken=broken: job.process.poll() is not None or broken.is_replaced,
                        f"the end of {broken.day}",
                    )
                    outcome["is_new"] = broken.is_new()
                if not outcome["is_new"]:
                    break
            code, told = job.ended()
            assert code == (0 if outcome["is_new"] else 1), told
    rerun(cluster, output, lane, len(cases))


# --- The driver: its JVM, which is the process that a scheduler starts, and its Python -------------------------------

DRIVERS = [
    ("scan", "JVM", RUN),
    ("scan", "JVM", GROUPS),
    ("scan", "JVM", LAST_TABLE),
    ("scan", "Python", GROUPS),
    ("scan", "Python", LAST_TABLE),
    ("scan", "Python", SHOWN),
    ("frame", "JVM", SHOWN),
    ("frame", "Python", GROUPS),
]


def test_a_driver_that_is_killed(cluster: Cluster, output: Output, tried: Tried) -> None:
    for broken, (lane, which, moment) in zip(old_days(output, len(DRIVERS)), DRIVERS, strict=True):
        with tried(f"driver's {which} killed") as outcome, running(cluster, output, lane, "--date", broken.day) as job:
            job.wait_until(partial(broken.has, moment), moment)
            python = job.python()
            assert kill(job.process.pid if which == "JVM" else python)
            code, told = job.ended()
            wait_until(lambda python=python: parent_of(python) is None, "the driver's Python has ended")
            outcome["is_new"] = is_new = broken.is_new()
            assert code != 0 or is_new, told
            assert is_new or moment != SHOWN
            # Nobody is there any more to tell the truth about a run that is killed after it has shown its day.
            assert moment in (SHOWN, LAST_TABLE) or (code != 0 and not is_new), told
    rerun(cluster, output, "scan", len(DRIVERS))


# --- Disks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path, evaluated: Evaluated) -> Iterator[Disk]:
    (tmp_path / "disk").mkdir()
    with mounted_disk(tmp_path / "disk", OUTPUT_SIZE) as disk:
        disk.need()
        yield disk


@pytest.mark.parametrize(
    ("lane", "moments"), [("scan", ("", RUN, GROUPS, LAST_TABLE)), ("frame", (GROUPS,))], ids=["scan", "frame"]
)
def test_the_disk_of_the_output_is_full(
    cluster: Cluster, evaluated: Evaluated, disk: Disk, tmp_path: Path, tried: Tried, lane: str, moments: Sequence[str]
) -> None:
    output = evaluated.output(tmp_path, disk.folder / "tables")
    for broken, moment in zip(old_days(output, len(moments)), moments, strict=True):
        with tried("disk of the output full") as outcome:
            if not moment:
                disk.fill()
            with running(cluster, output, lane, "--date", broken.day) as job:
                if moment:
                    job.wait_until(partial(broken.has, moment), moment)
                    disk.fill()
                outcome["is_new"] = broken.is_written(job)
        disk.empty()
    rerun(cluster, output, lane, len(moments))


@pytest.mark.parametrize("lane", LANES)
def test_the_disk_of_the_workers_is_full(
    cluster: Cluster, disks: Disk, output: Output, tried: Tried, lane: str
) -> None:
    disks.need()
    moments = {"executors run": cluster.executors, "rows are shuffled": lambda: any(cluster.shuffle_files())}
    for broken, (what, reached) in zip(old_days(output, 2), moments.items(), strict=True):
        try:
            with (
                tried("disk of the workers full") as outcome,
                running(cluster, output, lane, "--date", broken.day) as job,
            ):
                job.wait_until(reached, what)
                disks.fill()
                outcome["is_new"] = broken.is_written(job)
        finally:
            disks.empty()
    rerun(cluster, output, lane, 2)


def test_a_read_only_output(cluster: Cluster, evaluated: Evaluated, disk: Disk, tmp_path: Path, tried: Tried) -> None:
    output = evaluated.output(tmp_path, disk.folder / "tables")
    (broken,) = old_days(output, 1)
    with tried("output read-only") as outcome:
        assert not run("mount", "-o", "remount,ro", str(disk.folder)).returncode
        with running(cluster, output, "scan", "--date", broken.day) as job:
            outcome["is_new"] = broken.is_written(job)
        assert not outcome["is_new"]
        assert not run("mount", "-o", "remount,rw", str(disk.folder)).returncode
    rerun(cluster, output, "scan", 1)


# --- Two at once -----------------------------------------------------------------------------------------------------


def test_two_runs_of_one_day_at_once(cluster: Cluster, output: Output, tried: Tried) -> None:
    (broken,) = old_days(output, 1)
    with (
        tried("two runs of one day at once") as outcome,
        running(cluster, output, "scan", "--date", broken.day, cores=1) as one,
        running(cluster, output, "frame", "--date", broken.day, cores=1) as other,
    ):
        ends = [one.ended(), other.ended()]
        outcome["is_new"] = output.is_new(broken.day)
        assert broken.is_replaced
        assert 0 in [code for code, _ in ends], ends
        for code, told in ends:
            assert code == 0 or (code == 1 and f"another run is writing the day {broken.day}" in told), told
    rerun(cluster, output, "scan", 1)


@pytest.mark.parametrize("moment", [RUN, GROUPS])
def test_a_run_beside_one_that_writes_the_day_is_refused(
    cluster: Cluster, output: Output, tried: Tried, moment: str
) -> None:
    (broken,) = old_days(output, 1)
    day = broken.day
    with tried("a run beside one that writes") as outcome, running(cluster, output, "scan", "--date", day) as job:
        job.wait_until(partial(broken.has, moment), moment)
        command = [sys.executable, "-m", "sparkrank", "evaluate", "--conf", str(output.old_conf), "--date", day]
        beside = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        code, told = job.ended()
        assert code == 0, told
        # The one beside may have begun when the first had ended.
        assert beside.returncode in (0, 1), beside.stderr
        outcome["is_new"] = output.is_new(day)
        if beside.returncode == 1:
            assert f"another run is writing the day {day}" in beside.stderr
            assert outcome["is_new"]
        assert broken.is_replaced
    rerun(cluster, output, "scan", 1)
