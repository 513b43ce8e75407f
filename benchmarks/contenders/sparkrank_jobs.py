"""sparkrank as a job: from a spec to every table of a day, of many days, or of a window that is merged."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.contenders.contender import Contender, Value, Values, Work, subject
from benchmarks.contenders.sparkrank_lanes import Lane, values_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

DAY = "2026-01-01"  # of a log that is one day


class Job:
    """What the jobs share. Every run has its own folder of tables, so that none finds or removes those of another."""

    table = None

    def __init__(self, name: str, work: Work, spark: SparkSession | None) -> None:
        self.name = name
        self._work, self._spark = work, spark
        self._folders = (work.output / name / f"run-{run}" for run in itertools.count())

    def prepare(self) -> None: ...

    def run(self) -> None:
        raise NotImplementedError

    def values(self) -> Values:
        return self._values

    def _spec(self) -> Spec:
        from sparkrank.config import Spec

        return Spec.model_validate(document_of(self._work, self.name.rpartition("-")[2], str(next(self._folders))))


class DayJob(Job):
    """A day, with every table that is written of it."""

    def run(self) -> None:
        from sparkrank.jobs import evaluate_day
        from sparkrank.run.stages import Stages

        found = evaluate_day(self._spec(), DAY, self._spark, Stages())
        self._values = values_of(found.metrics.to_pandas(), self._work)


class BackfillJob(Job):
    """Each of the days, one after the other in one process."""

    def run(self) -> None:
        from sparkrank.inputs.window import Window
        from sparkrank.jobs.backfill import backfill

        days = self._work.days
        self._values: dict[str, dict[str, Value]] = {}
        for each in backfill(self._spec(), Window.of(days[0], days[-1]), self._spark):
            if each.result is not None:
                for model, values in values_of(each.result.metrics.to_pandas(), self._work).items():
                    self._values[subject(model, ("day",), (each.day,))] = values


class MergeJob(Job):
    """A window from what was stored of its days, which are evaluated before anything is timed."""

    def prepare(self) -> None:
        from sparkrank.inputs.window import Window
        from sparkrank.jobs.backfill import backfill

        days = self._work.days
        self._stored, self._window = self._spec(), Window.of(days[0], days[-1])
        for _ in backfill(self._stored, self._window, self._spark):
            pass

    def run(self) -> None:
        from sparkrank.jobs import merge_days
        from sparkrank.run.stages import Stages

        found = merge_days(self._stored, self._window, self._spark, Stages())
        self._values = values_of(found.metrics.to_pandas(), self._work)


JOBS: dict[str, type[Job]] = {"day": DayJob, "backfill": BackfillJob, "week": MergeJob}


def document_of(work: Work, lane: str, output: str) -> dict[str, Any]:
    """The spec of the ``work``, as its file would say it."""
    days = "/day={date}" if work.days else ""
    keys = [key for key in work.keys if key != "day"]  # that of the folders is what a job evaluates
    columns = {"group": keys, "label": work.label, "score": {score: score for score in work.scores}}
    read: dict[str, Any] = {"path": f"{work.log}{days}", "columns": columns}
    if work.format == "csv":
        kinds = [*(f"{key} BIGINT" for key in keys), *(f"{score} DOUBLE" for score in work.scores), f"{work.label} INT"]
        read |= {"format": "csv", "schema": ", ".join(kinds), "options": {"header": True}}
    return {
        "input": read,
        "metrics": list(work.metrics),
        "output": {"path": output, "groups": work.group_table},
        "engine": {"lane": lane},
        **work.asked,
    }


def of_work(lane: type[Lane]) -> Callable[..., Contender]:
    """A ``lane`` for the work that it is given: as a call of :func:`sparkrank.evaluate`, or as a job."""

    def made(work: Work, spark: SparkSession | None = None) -> Contender:
        return lane(work, spark) if work.job is None else JOBS[work.job](lane.name, work, spark)

    return made


def without(lane: type[Lane]) -> Callable[..., Contender]:
    """The same work without what its shape is about, by ``lane``."""

    def made(work: Work, spark: SparkSession | None = None) -> Contender:
        own = {"name": plain(lane.name), **({"values": lambda _: {}} if work.excludes else {})}
        return of_work(type(lane.__name__, (lane,), own))(work.without(), spark)

    return made


def plain(name: str) -> str:
    """The name of the contender that does without what the shape is about, beside the contender ``name``."""
    return name.replace("sparkrank", "plain")
