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
RUN, GROUPS, LAST_TABLE = "{day}.*", "{day}.*/.groups.*/*", "{day}.*/runs/*"


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


def rerun(cluster: Cluster, output: Output, lane: str, days: Sequence[str]) -> None:
    """Evaluate all of ``days`` again, undisturbed: each is as if nothing had been broken, with no leftovers."""
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


def is_over(job: Job, output: Output, day: str, before: str | None) -> bool:
    return job.process.poll() is not None or output.shown(day) != before


@pytest.mark.parametrize("lane", LANES)
def test_what_spark_goes_on_without(cluster: Cluster, output: Output, tried: Tried, lane: str) -> None:
    """Each on a day of its own, one after the other in one session; a day that fails is left out and the next begun."""
    cases = [(fault, when) for fault in BROKEN for when in WHEN]
    days = list(DAYS[: len(cases)])
    output.make_old(days)
    left = list(zip(days, cases, strict=True))
    while left:
        with running(cluster, output, lane, "--from", left[0][0], "--to", days[-1], "--again") as job:
            while left:
                day, (fault, when) = left.pop(0)
                before = output.shown(day)
                seen = set(cluster.shuffle_files())

                def reached(
                    when: str = when, day: str = day, before: str | None = before, seen: set[Path] = seen
                ) -> bool:
                    if when == WHEN[0]:
                        return output.has(RUN.format(day=day), before) and any(
                            f not in seen for f in cluster.shuffle_files()
                        )
                    return output.has(GROUPS.format(day=day), before)

                with tried(fault) as found:
                    job.wait_until(reached, f"{when} of {day}")
                    BROKEN[fault](cluster)
                    wait_until(partial(is_over, job, output, day, before), f"the end of {day}")
                    found["is_new"] = output.is_new(day)
                    assert found["is_new"] == (output.shown(day) != before)
                if not found["is_new"]:
                    break
            code, told = job.ended()
            assert code == (0 if found["is_new"] else 1), told
    rerun(cluster, output, lane, days)


# --- The driver: its JVM, which is the process that a scheduler starts, and its Python -------------------------------

DRIVERS = [
    ("scan", "JVM", RUN),
    ("scan", "JVM", GROUPS),
    ("scan", "JVM", LAST_TABLE),
    ("scan", "Python", GROUPS),
    ("scan", "Python", LAST_TABLE),
    ("scan", "Python", "shown"),
    ("frame", "JVM", "shown"),
    ("frame", "Python", GROUPS),
]


def test_a_driver_that_is_killed(cluster: Cluster, output: Output, tried: Tried) -> None:
    days = list(DAYS[: len(DRIVERS)])
    output.make_old(days)
    for day, (lane, which, moment) in zip(days, DRIVERS, strict=True):
        before = output.shown(day)
        with tried(f"driver's {which} killed") as found, running(cluster, output, lane, "--date", day) as job:
            job.wait_until(
                lambda day=day, moment=moment, before=before: (
                    output.shown(day) != before if moment == "shown" else output.has(moment.format(day=day), before)
                ),
                moment,
            )
            python = job.python()
            assert kill(job.process.pid if which == "JVM" else python)
            code, told = job.ended()
            wait_until(lambda python=python: parent_of(python) is None, "the driver's Python has ended")
            found["is_new"] = output.is_new(day)
            assert found["is_new"] == (output.shown(day) != before)
            assert code != 0 or found["is_new"], told
            assert found["is_new"] or moment != "shown"
            # Nobody is there any more to tell the truth about a run that is killed after it has shown its day.
            assert moment in ("shown", LAST_TABLE) or (code != 0 and not found["is_new"]), told
    rerun(cluster, output, "scan", days)


# --- Disks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path, evaluated: Evaluated) -> Iterator[Disk]:
    (tmp_path / "disk").mkdir()
    with mounted_disk(tmp_path / "disk", OUTPUT_SIZE) as disk:
        disk.need()
        yield disk


def try_to_write(job: Job, output: Output, day: str, before: str | None) -> bool:
    """Whether the job showed the new day and said so; otherwise it failed in one sentence and left the old one."""
    code, told = job.ended()
    is_new = output.is_new(day)
    assert is_new == (output.shown(day) != before) == (code == 0), told
    if not is_new:
        assert told.splitlines()[-1].startswith("sparkrank: "), told
    return is_new


@pytest.mark.parametrize(
    ("lane", "moments"), [("scan", ("", RUN, GROUPS, LAST_TABLE)), ("frame", (GROUPS,))], ids=["scan", "frame"]
)
def test_the_disk_of_the_output_is_full(
    cluster: Cluster, evaluated: Evaluated, disk: Disk, tmp_path: Path, tried: Tried, lane: str, moments: Sequence[str]
) -> None:
    output = evaluated.output(tmp_path, disk.folder / "tables")
    days = list(DAYS[: len(moments)])
    output.make_old(days)
    for day, moment in zip(days, moments, strict=True):
        before = output.shown(day)
        with tried("disk of the output full") as found:
            if not moment:
                disk.fill()
            with running(cluster, output, lane, "--date", day) as job:
                job.wait_until(
                    lambda day=day, moment=moment, before=before: (
                        not moment or output.has(moment.format(day=day), before)
                    ),
                    moment,
                )
                disk.fill()
                found["is_new"] = try_to_write(job, output, day, before)
        disk.empty()
    rerun(cluster, output, lane, days)


@pytest.mark.parametrize("lane", LANES)
def test_the_disk_of_the_workers_is_full(
    cluster: Cluster, disks: Disk, output: Output, tried: Tried, lane: str
) -> None:
    disks.need()
    days = list(DAYS[:2])
    output.make_old(days)
    for day, when in zip(days, ("from the start", "rows are shuffled"), strict=True):
        before = output.shown(day)
        try:
            with tried("disk of the workers full") as found, running(cluster, output, lane, "--date", day) as job:
                if when == "from the start":
                    job.wait_until(cluster.executors, "executors run")
                else:
                    job.wait_until(lambda: any(cluster.shuffle_files()), when)
                disks.fill()
                found["is_new"] = try_to_write(job, output, day, before)
        finally:
            disks.empty()
    rerun(cluster, output, lane, days)


def test_a_read_only_output(cluster: Cluster, evaluated: Evaluated, disk: Disk, tmp_path: Path, tried: Tried) -> None:
    output = evaluated.output(tmp_path, disk.folder / "tables")
    days = list(DAYS[:1])
    output.make_old(days)
    before = output.shown(days[0])
    with tried("output read-only") as found:
        assert not run("mount", "-o", "remount,ro", str(disk.folder)).returncode
        with running(cluster, output, "scan", "--date", days[0]) as job:
            found["is_new"] = try_to_write(job, output, days[0], before)
        assert not found["is_new"]
        assert not run("mount", "-o", "remount,rw", str(disk.folder)).returncode
    rerun(cluster, output, "scan", days)


# --- Two at once -----------------------------------------------------------------------------------------------------


def test_two_runs_of_one_day_at_once(cluster: Cluster, output: Output, tried: Tried) -> None:
    day = DAYS[0]
    output.make_old([day])
    before = output.shown(day)
    with (
        tried("two runs of one day at once") as found,
        running(cluster, output, "scan", "--date", day, cores=1) as one,
        running(cluster, output, "frame", "--date", day, cores=1) as other,
    ):
        ends = [one.ended(), other.ended()]
        found["is_new"] = output.is_new(day)
        assert output.shown(day) != before
        assert 0 in [code for code, _ in ends], ends
        for code, told in ends:
            assert code == 0 or (code == 1 and f"another run is writing the day {day}" in told), told
    rerun(cluster, output, "scan", [day])


@pytest.mark.parametrize("moment", [RUN, GROUPS])
def test_a_run_beside_one_that_writes_the_day_is_refused(
    cluster: Cluster, output: Output, tried: Tried, moment: str
) -> None:
    day = DAYS[0]
    output.make_old([day])
    before = output.shown(day)
    with tried("a run beside one that writes") as found, running(cluster, output, "scan", "--date", day) as job:
        job.wait_until(lambda: output.has(moment.format(day=day), before), moment)
        command = [sys.executable, "-m", "sparkrank", "evaluate", "--conf", str(output.old_conf), "--date", day]
        beside = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        code, told = job.ended()
        assert code == 0, told
        # The one beside may have begun when the first had ended.
        assert beside.returncode in (0, 1), beside.stderr
        if beside.returncode == 1:
            assert f"another run is writing the day {day}" in beside.stderr
            assert output.is_new(day)
        found["is_new"] = output.is_new(day)
        assert output.shown(day) != before
    rerun(cluster, output, "scan", [day])
