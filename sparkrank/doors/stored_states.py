"""The states of a stored day or window for a comparison. The spec stored with them defines their meaning."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import InputError, MetricError, SparkrankError, itemize, shorten
from sparkrank.comparison.group_tables import day_at
from sparkrank.comparison.run_states import RunStates
from sparkrank.inputs.window import Window, spans
from sparkrank.metrics import Metric, find_preset
from sparkrank.sources.files import without_password
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.stored.stored_days import StoredDay, find_days
from sparkrank.tables.stored.stored_results import whole_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The sections of a stored spec that describe its states. Other sections do not matter and may be of another version.
_OF_ROWS = ("input", "truth", "catalog", "interactions", "exclude")
_SECTIONS = (*_OF_ROWS, "metrics", "slices", "definitions", "uncertainty", "output", "engine")
DOTS = ".."  # between the ends of a window


def stored_states(what: str, path: str, day: str | None, spark: SparkSession | None) -> RunStates | str:
    """Return the states of a day or window (``first..last``) of an output path, or the reason why there are none.

    ``what`` names the run in messages. Raise :class:`InputError` if a day of a window has no states, or if the spec of
    a run cannot be read.
    """
    window = None if day is None or DOTS not in day else Window.of(*day.split(DOTS, 1))
    if window is None:
        try:
            path, day = day_at(what, path, day)
        except SparkrankError:
            return f"{without_password(path)} is no day of an output, so that it has no states"
    days = (str(day),) if window is None else window.days
    place = without_password(f"{path.rstrip('/')}/states/{DAY}={day if window is None else window}")
    stored = find_days(path, days, spark)
    missing = sorted({*days} - {of_day.day for of_day in stored})
    if missing and window is not None:
        raise InputError(f"there are no states of {shorten(spans(missing))} under {without_password(path)}")
    return f"there are no states at {place}" if missing else _of_run(what, place, tuple(stored))


def _of_run(what: str, place: str, days: tuple[StoredDay, ...]) -> RunStates:
    """Return the states of ``days``, as the last day's spec defines them. Other days are checked when they are read."""
    from sparkrank.config import Spec  # slow to import

    run = whole_run(days[-1].files)
    try:
        document: dict[str, Any] = {name: value for name, value in json.loads(run["spec"]).items() if name in _SECTIONS}
        unknown = [text for text in document["metrics"] if not _is_registered(text)]
        known = [text for text in document["metrics"] if text not in unknown]
        spec = Spec.model_validate({**document, "metrics": known})
        plan = replace(spec.plan(), score_sums=False)  # comparisons read only the sums that metrics need
    except (ValueError, KeyError, TypeError, AttributeError, SparkrankError) as error:
        raise InputError(f"the spec of the run at {place} cannot be read: {shorten(error)}") from error
    notes = [f"{name} is a metric that nobody here has registered: it is not compared" for name in unknown]
    if not spec.output.blocks and plan.histogram_metrics:
        binned = [metric for metric, _ in plan.histogram_metrics]
        plan = replace(plan, metrics=tuple(metric for metric in plan.metrics if metric not in binned))
        notes.append(f"{place} has no score bins (output.blocks), from which {itemize(map(str, binned))} would be read")
    of_run = run["spec_hash"], run["run_id"], find_preset(spec.definitions.preset)
    return RunStates(what, place, plan, None, days, spec.source(), tuple(notes), *of_run)


def _is_registered(text: str) -> bool:
    """Whether the metric ``text`` is registered in this process. For a stored spec, plugins are not imported."""
    try:
        Metric.parse(text)
    except MetricError:
        return False
    return True
