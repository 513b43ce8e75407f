"""Rounds of random cases. Each has its own seed, and a case that differs is made as small as it can be."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from tests.soak.cases import Case, cases
from tests.soak.compared import Compared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = 40  # of a round in this process
SPARK_CASES = 8  # of a round by Spark, which takes about as long


@dataclass
class Soak:
    """Rounds in ``folder``, every second one by Spark too where there is a session; ``failing`` gets what differs."""

    folder: Path
    spark: SparkSession | None
    failing: Path
    compared: Compared = field(default_factory=Compared)
    rounds_done: int = 0
    last_failing: Case | None = None

    def rounds(self, seed: int, seconds: float) -> bool:
        """Whether nothing differs in as many rounds as begin within ``seconds``; the first one that differs ends it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            number = seed + self.rounds_done
            try:
                # A seed means the same cases whatever was asked for, so that it alone says what differed.
                self._round(number, self.spark if number % 2 else None)
            except Exception:  # noqa: BLE001 - whatever it is, it is a finding
                told = f"SEED={number} gives a difference; the smallest case:\n{self.last_failing}\n\n"
                self.failing.write_text(told + traceback.format_exc(), encoding="utf-8")
                self.compared.counts["differences"] += 1
                return False
            self.rounds_done += 1
        return True

    def _round(self, seed: int, spark: SparkSession | None) -> None:
        @hypothesis.seed(seed)
        @settings(
            max_examples=SPARK_CASES if spark is not None else CASES,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(cases())
        def one_round(case: Case) -> None:
            try:
                self.compared.case(case, self.folder, spark)
            except Exception:
                self.last_failing = case
                raise

        one_round()

    def told(self) -> str:
        names = ("cases", "refused", "values of oracles", "values between lanes", "differences")
        return f"rounds: {self.rounds_done}, " + ", ".join(f"{name}: {self.compared.counts[name]:,}" for name in names)


@contextmanager
def started(lanes: str, folder: Path) -> Iterator[SparkSession | None]:
    """A session on two cores where all lanes are asked for."""
    if lanes == "local":
        yield None
        return
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("sparkrank-soak")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.memory": "1g",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
