"""The two sides that a command compares: two runs, or two models or days of what a spec writes."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from sparkrank.base.errors import SpecError, did_you_mean, listed, shortened
from sparkrank.comparison.group_pairs import Side
from sparkrank.comparison.group_tables import GroupTable, chosen_models, metrics_at
from sparkrank.comparison.mix_and_rate import MetricRows
from sparkrank.comparison.run_states import DOTS, RunStates
from sparkrank.config import load_spec
from sparkrank.doors.commands.options import SET, all_of
from sparkrank.inputs.day_marks import day_of, on_day
from sparkrank.jobs.evaluate_job import resolve_day
from sparkrank.run.session import spark_session
from sparkrank.tables.commit.days import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

SIDE_OPTIONS = all_of(
    click.option("--model", "--right-model", "model", metavar="NAME", help="The model that is compared (right)."),
    click.option(
        "--baseline", "--left-model", "baseline", metavar="NAME", help="The model it is compared with (left)."
    ),
    click.option("--right-date", metavar="YYYY-MM-DD", help="The day of the right side, or its window: DAY..DAY."),
    click.option("--left-date", metavar="YYYY-MM-DD", help="The day of the left side, or its window: DAY..DAY."),
    click.option("--date", "day", metavar="YYYY-MM-DD", help="The day of both sides."),
    click.option("--right", metavar="DIR", help="The run that is compared: as --left."),
    click.option(
        "--left", metavar="DIR", help="The run it is compared with: .../groups/day=2026-01-31, or an output path."
    ),
    SET,
    click.option("--conf", metavar="FILE", help="The spec, for two models or days of its own tables."),
)


@dataclass(frozen=True)
class SidesAsked:
    """What the options of :data:`SIDE_OPTIONS` say."""

    conf: str | None
    overrides: tuple[str, ...]
    left: str | None
    right: str | None
    day: str | None
    left_date: str | None
    right_date: str | None
    baseline: str | None
    model: str | None

    def __post_init__(self) -> None:
        runs = {"--left": self.left, "--right": self.right}
        given = [name for name, value in runs.items() if value is not None]
        if self.conf is not None and given:
            raise click.UsageError(f"--conf and {given[0]} do not go together")
        if self.conf is None and len(given) < 2:
            lacking = [name for name, value in runs.items() if value is None]
            raise click.UsageError(
                f"{' and '.join(lacking)} {'is' if given else 'are'} missing: name two runs, or --conf"
            )
        if self.conf is None and self.overrides:
            raise click.UsageError("--set and --left do not go together: it changes a spec")
        days = {"--left-date": self.left_date, "--right-date": self.right_date}
        for name, value in days.items():
            if value is not None and self.day is not None:
                raise click.UsageError(f"--date and {name} do not go together")
            if self.conf is not None and value is None and any(days.values()):
                raise click.UsageError(f"{name} is missing: two days of one output are --left-date and --right-date")
        for name, value in {**days, "--date": self.day}.items():
            window = name in days and value is not None and DOTS in value
            if value is not None and not window and day_of(value) is None:
                raise SpecError(f"{name} {shortened(value)} is not a day of the form YYYY-MM-DD")

    @cached_property
    def spec(self) -> Spec | None:
        """The spec, where one is named."""
        return None if self.conf is None else load_spec(self.conf, self.overrides)

    @cached_property
    def places(self) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
        """The path and the day of the left and of the right side."""
        left_day, right_day = self.left_date or self.day, self.right_date or self.day
        if self.spec is None:
            return (str(self.left), left_day), (str(self.right), right_day)
        path = self.spec.output.path
        days = (
            each if each is not None and DOTS in each else resolve_day(self.spec, each)
            for each in (left_day, right_day)
        )
        return (path, next(days)), (path, next(days))

    @property
    def is_far(self) -> bool:
        """Whether a side is on another file system than this machine's."""
        days = [(path, None if day is None else day.split(DOTS)[0]) for path, day in self.places]
        return any(local_path(path if day is None else on_day(path, day)) is None for path, day in days)

    @property
    def model_options(self) -> tuple[str, str]:
        """What the options are called that name the models."""
        return ("--left-model", "--right-model") if self.spec is None else ("--baseline", "--model")

    def models_of(self, spec: Spec) -> tuple[str, str]:
        """The baseline and the model of one output: two models of one day, or one of two days.

        Raises :class:`SpecError` where they are left open, are not in the spec, or are the same of one day.
        """
        there = spec.plan().models
        for option, name in (("--model", self.model), ("--baseline", self.baseline)):
            if name is not None and name not in there:
                near = did_you_mean(name, there)
                raise SpecError(
                    f'{option}: the spec has no model "{shortened(name)}"{near} (there are: {listed(there)})'
                )
        (_, left_day), (_, right_day) = self.places
        if left_day != right_day:
            one = self.model or self.baseline or (there[0] if len(there) == 1 else None)
            if one is None:
                raise SpecError(f"the spec has the models {listed(there)}: name one with --model")
            return self.baseline or one, self.model or one
        baseline = self.baseline or getattr(getattr(spec, "compare", None), "baseline", None)
        others = [name for name in there if name != baseline]
        model = self.model or (others[0] if baseline is not None and len(others) == 1 else None)
        if baseline is None or model is None:
            lacking = "--baseline" if baseline is None else "--model"
            raise SpecError(f"the spec has the models {listed(there)}: name one with {lacking}")
        if baseline == model:
            raise SpecError(f"--model and --baseline are both {shortened(model)}: two models of a day are compared")
        return baseline, model


@contextmanager
def session_for(lane: str) -> Iterator[Callable[[], SparkSession] | None]:
    """What gives the Spark session when one is needed, which is stopped at the end; None where there is none."""
    started: list[SparkSession] = []

    def session() -> SparkSession:
        if not started:
            started.append(spark_session("sparkrank compare"))
        return started[0]

    try:
        yield None if lane == "local" or importlib.util.find_spec("pyspark") is None else session
    finally:
        for spark in started:
            spark.stop()


@contextmanager
def metrics_of(asked: SidesAsked) -> Iterator[tuple[MetricRows, MetricRows]]:
    """The rows of both models in the tables ``metrics``."""
    models = (asked.baseline, asked.model) if asked.spec is None else asked.models_of(asked.spec)
    if asked.spec is None:  # the model of one side is that of the other where nobody says
        models = (models[0] or models[1], models[1] or models[0])
    with session_for("auto") as session:
        spark = session() if asked.is_far and session is not None else None
        sides = []
        every = zip(("left", "right"), asked.places, models, asked.model_options, strict=True)
        for what, (path, day), model, option in every:
            table, place = metrics_at(what, path, day, spark)
            sides.append(MetricRows.of(what, table, model, option, place))
        yield sides[0], sides[1]


def states_of(asked: SidesAsked) -> tuple[RunStates | str, RunStates | str, tuple[str | None, str | None]]:
    """The states of both sides, or why there are none, and the models that are asked for."""
    models = (asked.baseline, asked.model) if asked.spec is None else asked.models_of(asked.spec)
    with session_for("auto") as session:
        spark = session() if asked.is_far and session is not None else None
        left, right = (
            RunStates.stored(what, path, day, spark)
            for what, (path, day) in zip(("left", "right"), asked.places, strict=True)
        )
    return left, right, models


@contextmanager
def sides_of(asked: SidesAsked, lane: str) -> Iterator[tuple[Side, Side, Callable[[], SparkSession] | None]]:
    """The group tables of both sides, and what gives the Spark session."""
    models = None if asked.spec is None else asked.models_of(asked.spec)
    with session_for(lane) as session:
        spark = session() if asked.is_far and session is not None else None
        left, right = (
            GroupTable.of(what, path, day, spark)
            for what, (path, day) in zip(("left", "right"), asked.places, strict=True)
        )
        options = asked.model_options
        baseline, model = models or chosen_models(left, right, asked.baseline, asked.model, options)
        sides = Side(left, left.model(baseline, options[0])), Side(right, right.model(model, options[1]))
        yield *sides, session
