"""The two sides of a comparison, left (the baseline) and right: two runs, or two models or days of one spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from sparkrank.base.errors import SpecError, escape, itemize, shorten, validate_names
from sparkrank.cli.options import SET, all_of, day_option
from sparkrank.comparison.group_pairs import ModelGroups
from sparkrank.comparison.group_tables import GroupTable, chosen_models, metrics_at
from sparkrank.comparison.mix_and_rate import MetricRows
from sparkrank.comparison.run_states import RunStates
from sparkrank.config import load_spec
from sparkrank.doors.stored_states import DOTS, stored_states
from sparkrank.engines.spark.session_features import has_pyspark
from sparkrank.inputs.day_marks import day_of, on_day
from sparkrank.run.day_request import resolve_day
from sparkrank.run.session import command_session
from sparkrank.tables.commit.days import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

_SIDES = ("left", "right")
SIDE_OPTIONS = all_of(
    click.option("--model", "--right-model", "model", metavar="NAME", help="The compared model (right)."),
    click.option("--baseline", "--left-model", "baseline", metavar="NAME", help="The baseline model (left)."),
    day_option("--right-date", "right_date", "The day of the right side, or a window: DAY..DAY."),
    day_option("--left-date", "left_date", "The day of the left side, or a window: DAY..DAY."),
    day_option("--date", "day", "The day of both sides."),
    click.option("--right", metavar="DIR", help="The compared run, named as for --left."),
    click.option("--left", metavar="DIR", help="The baseline run: .../groups/day=2026-01-31, or an output path."),
    SET,
    click.option("--conf", metavar="FILE", help="The spec, to compare models or days of its tables."),
)


@dataclass(frozen=True)
class SideOptions:
    """The values of :data:`SIDE_OPTIONS`, the options for the two sides of a comparison."""

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
            lacking = " and ".join(name for name in runs if name not in given)
            raise click.UsageError(f"{lacking} {'is' if given else 'are'} missing: name two runs, or --conf")
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
                raise SpecError(f"{name} {shorten(value)} is not a day of the form YYYY-MM-DD")

    @cached_property
    def spec(self) -> Spec | None:
        """The loaded spec, or None if ``--conf`` was not given."""
        return None if self.conf is None else load_spec(self.conf, self.overrides)

    @cached_property
    def places(self) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
        """One pair for the left and one for the right side: the path, and the day or window (None if not given)."""
        left_day, right_day = self.left_date or self.day, self.right_date or self.day
        if self.spec is None:
            return (str(self.left), left_day), (str(self.right), right_day)
        path = self.spec.output.path
        left, right = (
            day if day is not None and DOTS in day else resolve_day(self.spec, day) for day in (left_day, right_day)
        )
        return (path, left), (path, right)

    @property
    def is_far(self) -> bool:
        """Whether the tables of the left or of the right side are on a remote file system."""
        days = [(path, None if day is None else day.split(DOTS)[0]) for path, day in self.places]
        return any(local_path(path if day is None else on_day(path, day)) is None for path, day in days)

    @property
    def model_options(self) -> tuple[str, str]:
        """The names of the options for the left and for the right model, for error messages."""
        return ("--left-model", "--right-model") if self.spec is None else ("--baseline", "--model")

    @cached_property
    def models(self) -> tuple[str | None, str | None]:
        """The baseline and the compared model. For two runs, a model is None without its option.

        With a spec, raise :class:`SpecError` if a model is unknown or ambiguous, or if both are one model on one day.
        """
        if self.spec is None:
            return self.baseline, self.model
        known = self.spec.plan().models
        validate_model(known, "--model", self.model)
        validate_model(known, "--baseline", self.baseline)
        (_, left_day), (_, right_day) = self.places
        if left_day != right_day:
            one = self.model or self.baseline or (known[0] if len(known) == 1 else None)
            baseline, model = self.baseline or one, self.model or one
        else:
            compare = self.spec.compare
            baseline = self.baseline or (None if compare is None else compare.baseline)
            others = [name for name in known if name != baseline]
            model = self.model or (others[0] if baseline is not None and len(others) == 1 else None)
        if baseline is None or model is None:
            lacking = "--baseline" if baseline is None and left_day == right_day else "--model"
            raise SpecError(f"the spec has the models {itemize(known)}: name one with {lacking}")
        if baseline == model and left_day == right_day:
            raise SpecError(f"--model and --baseline are both {shorten(model)}: two models of a day are compared")
        return baseline, model


def sides_text(right: str, right_place: str, left: str, left_place: str) -> str:
    """Return the two lines above a comparison: the names of the right and the left model, with their places."""
    return f"{escape(right)} ({escape(right_place)})\nagainst {escape(left)} ({escape(left_place)})"


def validate_model(known: Sequence[str], option: str, name: str | None) -> None:
    """Raise :class:`SpecError` if ``name`` is neither None nor one of the ``known`` models."""
    validate_names(f"{option}: the spec has no model", [] if name is None else [name], known, "there are")


def session_for_far(*, is_far: bool) -> AbstractContextManager[SparkSession | None]:
    """Yield the Spark session for remote tables, or None if no session is needed or available."""
    return command_session("compare", is_needed=is_far and has_pyspark())


def metrics_of(sides: SideOptions) -> tuple[MetricRows, MetricRows]:
    """Return the rows of the left and of the right model in the table ``metrics`` of their runs."""
    baseline, model = sides.models
    # a side whose model is not named takes the model of the other side
    models = (baseline or model, model or baseline)
    with session_for_far(is_far=sides.is_far) as spark:
        tables = [metrics_at(what, *place, spark) for what, place in zip(_SIDES, sides.places, strict=True)]
    left, right = (
        MetricRows.of(what, table, name, option, place)
        for what, (table, place), name, option in zip(_SIDES, tables, models, sides.model_options, strict=True)
    )
    return left, right


def states_of(sides: SideOptions) -> tuple[RunStates | str, RunStates | str, tuple[str | None, str | None]]:
    """Return the states of each side (or the reason why it has no states), and the requested models."""
    left, right = sides.places
    with session_for_far(is_far=sides.is_far) as spark:
        return stored_states("left", *left, spark), stored_states("right", *right, spark), sides.models


@contextmanager
def sides_of(sides: SideOptions) -> Iterator[tuple[ModelGroups, ModelGroups]]:
    """Yield the groups of the left model and the groups of the right model inside a ``with`` block."""
    (left, right), (baseline, model), options = sides.places, sides.models, sides.model_options
    with session_for_far(is_far=sides.is_far) as spark:
        before, after = GroupTable.of("left", *left, spark), GroupTable.of("right", *right, spark)
        if sides.spec is None:
            baseline, model = chosen_models(before, after, baseline, model, options)
        left_model, right_model = before.model(baseline, options[0]), after.model(model, options[1])
        yield ModelGroups(before, left_model), ModelGroups(after, right_model)
