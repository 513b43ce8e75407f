"""A real cluster on loopback: a standalone master and two workers, each a process of its own that may be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from tests.support.commands import PROJECT

PROC = Path("/proc")
SPARK_CLASS = Path(pyspark.__file__).parent / "bin/spark-class"
PERIOD = 0.001  # seconds between two looks: a bucket is solved in some ten milliseconds
PATIENCE = 90  # seconds that anything may take on a busy machine
_URL = re.compile(r"spark://127\.0\.0\.1:\d+")


def wait_until(reached: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Look until ``reached()`` is true, and fail where that takes longer than ``seconds``."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"waited {seconds} s, but not: {what}"
        time.sleep(PERIOD)


def kill(pid: int) -> bool:
    """End the process by a signal that it cannot see; whether there was one."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def parent_of(pid: int) -> int | None:
    """The process that started ``pid``; None where there is no ``pid``, or only what a process has left."""
    try:
        state, parent = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)


def command_of(pid: int) -> bytes:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def children_of(pid: int) -> list[int]:
    """The living processes that ``pid`` has started."""
    return [each for each in _pids() if parent_of(each) == pid]


def _pids() -> list[int]:
    return [int(each.name) for each in PROC.iterdir() if each.name.isdigit()]


def _folder_of(pid: int) -> Path | None:
    """The working folder of a process."""
    try:
        return (PROC / str(pid) / "cwd").readlink()
    except OSError:
        return None


@dataclass
class Cluster:
    """The processes of a cluster, whose files are below ``folder`` and whose workers have their disks below ``disks``.

    Processes of the cluster are told from all others by their working folder, and nothing else is ever killed.
    """

    folder: Path
    disks: Path
    environment: dict[str, str]
    url: str = ""
    _started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        """Start all, and wait until the workers are known to the master."""
        log = self._start("master", "org.apache.spark.deploy.master.Master")
        wait_until(lambda: _URL.search(log.read_text()) and "I have been elected" in log.read_text(), "the master runs")
        found = _URL.search(log.read_text())
        assert found is not None
        self.url = found[0]
        for name in ("worker-1", "worker-2"):
            self.start_worker(name)

    def start_worker(self, name: str) -> None:
        """Start a worker, whose one core has memory for one executor, and wait until the master knows it."""
        options = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name))
        log = self._start(name, "org.apache.spark.deploy.worker.Worker", *options, self.url)
        wait_until(lambda: "Successfully registered with master" in log.read_text(), f"{name} is registered")

    def kill_worker(self, name: str) -> None:
        self._started[name].kill()
        self._started.pop(name).wait(PATIENCE)

    def _start(self, name: str, main: str, *arguments: str) -> Path:
        (self.folder / name).mkdir(exist_ok=True)
        (self.disks / name).mkdir(exist_ok=True)
        log = self.folder / f"{name}.log"
        with log.open("wb") as into:
            self._started[name] = subprocess.Popen(
                [SPARK_CLASS, main, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments],
                cwd=self.folder / name,
                env={
                    **self.environment,
                    "SPARK_DAEMON_MEMORY": "128m",
                    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                    "SPARK_LOCAL_DIRS": str(self.disks / name),
                    "SPARK_NO_DAEMONIZE": "1",
                },
                stdout=into,
                stderr=subprocess.STDOUT,
            )
        return log

    def processes(self) -> list[int]:
        """Every process with a working folder of the cluster."""
        return [pid for pid in _pids() if (at := _folder_of(pid)) is not None and at.is_relative_to(self.folder)]

    def executors(self) -> list[int]:
        return [pid for pid in self.processes() if b"CoarseGrainedExecutorBackend" in command_of(pid)]

    def python_workers(self) -> list[int]:
        """The processes in which tasks run Python: the children of the daemon that they fork from."""
        daemons = [pid for pid in self.processes() if b"pyspark.daemon" in command_of(pid)]
        return [pid for pid in daemons if parent_of(pid) in daemons]

    def shuffle_files(self) -> Iterator[Path]:
        """What tasks have written for tasks of the next stage."""
        return self.disks.glob("*/spark-*/executor-*/blockmgr-*/*/shuffle_*")

    def stop(self) -> None:
        """End all processes, the workers before what they would start again."""
        for process in self._started.values():
            process.kill()
            process.wait(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                kill(pid)
            time.sleep(0.1)


@dataclass
class Job:
    """The nightly job of one day, as a scheduler starts it: by spark-submit, whose process is the driver's JVM."""

    process: subprocess.Popen[str]

    @classmethod
    def submitted(cls, cluster: Cluster, conf: Path, *arguments: str, cores: int = 2) -> Job:
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            # Each job has executors of its own, which live for some seconds, as its driver does.
            "spark.executor.extraJavaOptions": cluster.environment["SPARK_SUBMIT_OPTS"],
            "spark.cores.max": str(cores),
            "spark.sql.shuffle.partitions": "4",
            # An executor that is gone is not asked again for long: half a minute a fault otherwise.
            "spark.shuffle.io.maxRetries": "1",
            "spark.shuffle.io.retryWait": "200ms",
        }
        command = [str(Path(sys.executable).with_name("spark-submit")), "--master", cluster.url]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        return cls(
            subprocess.Popen(
                [*command, str(PROJECT / "jobs/evaluate.py"), "--conf", str(conf), *arguments],
                env=cluster.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )

    def wait_until(self, reached: Callable[[], object], what: str) -> None:
        """Look until ``reached()`` is true. Fails where the job ends before."""

        def is_so() -> bool:
            if reached():
                return True
            assert self.process.poll() is None, f"not seen: {what}, before the job ended: {self.ended()[1]}"
            return False

        wait_until(is_so, what)

    def python(self) -> int:
        """The driver's Python process."""
        (found,) = [pid for pid in children_of(self.process.pid) if b"evaluate.py" in command_of(pid)]
        return found

    def ended(self) -> tuple[int, str]:
        """The exit code and what was printed, once the JVM and its Python have ended."""
        try:
            told = self.process.communicate(timeout=2 * PATIENCE)[0]
        finally:
            self.stop()
        return self.process.returncode, told

    def stop(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            for pid in (*children_of(self.process.pid), self.process.pid):
                kill(pid)
            self.process.wait(PATIENCE)
