"""A plan: what a day of a spec will take, by the laws and a probe of its own metrics, beside what days have taken."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import FrameLaneNeededError, SparkrankError, SpecError
from sparkrank.engines.reading import arrow_sides
from sparkrank.engines.score_ranges import exact_metrics
from sparkrank.inputs.buckets import fan_in
from sparkrank.inputs.day_marks import day_of, on_day
from sparkrank.jobs.capacity import Costs, Estimate, Setting, Workload, estimate, recommended
from sparkrank.jobs.evaluate_job import request_of
from sparkrank.jobs.probe import PROBED_ROWS, Asked, probe
from sparkrank.metrics import Plan
from sparkrank.metrics.slices import ALL
from sparkrank.schemas.tables import METRICS, QUALITY, RUNS
from sparkrank.tables.commit.days import stored_names
from sparkrank.tables.stored.day_files import day_files
from sparkrank.tables.stored.required_states import asked_slices

if TYPE_CHECKING:
    from sparkrank.config import Spec
    from sparkrank.sources.sources import Sides

CORES = 64
STORED_RUNS = 3  # the last days that the plan tells of
GROUP_ROWS = 20  # of a group on average, where no day says
ASSUMED_VALUES = 100  # of a slice, where no day says
# A probe beyond these would take minutes and gigabytes itself: it has fewer values, or fewer rows.
MOST_PROBED_STATES = 50_000
MOST_PROBED_CELLS = 8_000_000
MOST_GROUP_ROWS = 20_000


@dataclass(frozen=True)
class StoredRun:
    """What a stored day has taken: ``seconds`` by stage, and ``slice_values`` of each of its slices."""

    day: str
    lane: str
    rows: int
    groups: int
    buckets: int
    seconds: Mapping[str, float]
    slice_values: Mapping[str, int]


@dataclass(frozen=True)
class DayPlan:
    """What a day will take. ``notes`` say what the figures rest on, and what they leave out."""

    day: str
    workload: Workload
    costs: Costs
    estimate: Estimate
    settings: tuple[Setting, ...]
    stored: tuple[StoredRun, ...]
    notes: tuple[str, ...]


def plan_day(spec: Spec, day: str, rows: int | None, slice_values: int | None, cores: int = CORES) -> DayPlan:
    """Plan the evaluation of a day, without Spark.

    Parameters
    ----------
    spec : Spec
    day : str
    rows : int, optional
        The rows of all sides; without them they are counted, in the footers of Parquet.
    slice_values : int, optional
        The values of all slices together; without them those of the last stored day.
    cores : int
        The cores of the executors.

    Returns
    -------
    DayPlan

    Raises
    ------
    SpecError
        Where the rows can be counted by Spark alone and are not given, or slice values of a spec without slices are.
    InputError
        Where there is no input, or it cannot be used.
    SparkrankError
        Where the probe fails.
    """
    plan, roles = spec.plan(), spec.roles
    if slice_values is not None and not plan.slices:
        raise SpecError(f"--slice-values is {slice_values}, but the spec has no slices")
    notes: list[str] = []
    sides = _opened(spec, day, notes, is_counted=rows is None)
    if rows is None:
        assert sides is not None  # noqa: S101 - see _opened
        rows = sides.rows
        notes.append(_counted(spec))
    else:
        notes.append("rows are those of --rows")
    stored = stored_runs(spec, day)
    values = _slice_values(plan, slice_values, stored, notes)
    group_rows = _group_rows(plan, stored, notes, is_list=roles.true_items is not None)
    load = Workload(
        rows=rows,
        groups=max(1, rows // group_rows) if plan.keys else 0,
        models=len(plan.models),
        slice_values=values,
        metrics=len(plan.metrics),
        cores=cores,
        fan_in=fan_in(plan),
        bucket_rows=spec.engine.bucket_rows,
        buckets=spec.engine.buckets,
    )
    if exact_metrics(plan):
        notes.append("bins of exact metrics, one for each distinct score, are not in the figures: docs/performance.md")
    costs = probe(_asked(spec, plan, sides, values, group_rows))
    found = estimate(load, costs)
    reads_view = any(side is not None and side.table is not None for side in (spec.input, spec.truth))
    settings = tuple(recommended(load, costs, found, reads_view=reads_view))
    return DayPlan(day, load, costs, found, settings, tuple(stored), tuple(notes))


def _opened(spec: Spec, day: str, notes: list[str], *, is_counted: bool) -> Sides | None:
    """The rows of ``day`` as Arrow sees them; None where it cannot, and nobody needs to count them."""
    try:
        sides = arrow_sides(request_of(spec, day, None), {})
        sides.check(spec.plan())
        return sides
    except FrameLaneNeededError as error:
        if is_counted:
            raise SpecError(f"the rows are counted by Spark alone ({error}): give their number by --rows") from None
    except SparkrankError:
        if is_counted:
            raise
    notes.append("the input was not looked at: the probe has whole numbers for keys, and floats for scores")
    return None


def _counted(spec: Spec) -> str:
    sides = [side for side in (spec.input, spec.truth) if side is not None]
    where = ", before any where" if any(side.where is not None for side in sides) else ""
    is_parquet = all(side.format == "parquet" for side in sides)
    return f"rows were counted in {'the footers' if is_parquet else 'the files'}{where}"


def _slice_values(plan: Plan, given: int | None, stored: Sequence[StoredRun], notes: list[str]) -> int:
    """The values of all slices together."""
    if not plan.slices:
        return 0
    if given is not None:
        notes.append("slice values are those of --slice-values")
        return given
    asked = asked_slices(plan)[1:]
    for run in reversed(stored):
        if all(name in run.slice_values for name in asked):
            notes.append(f"slice values are those of {run.day}")
            return sum(run.slice_values[name] for name in asked)
    notes.append(f"no stored day has the slices: {ASSUMED_VALUES} values each are assumed (--slice-values)")
    return ASSUMED_VALUES * len(asked)


def _group_rows(plan: Plan, stored: Sequence[StoredRun], notes: list[str], *, is_list: bool) -> int:
    """The rows of a group on average."""
    if not plan.keys or is_list:
        return 1 if is_list else GROUP_ROWS
    for run in reversed(stored):
        if run.groups and run.rows:
            notes.append(f"rows of a group are those of {run.day}")
            return min(MOST_GROUP_ROWS, max(1, round(run.rows / run.groups)))
    notes.append(f"no stored day says how large groups are: {GROUP_ROWS} rows each are assumed")
    return GROUP_ROWS


def _asked(spec: Spec, plan: Plan, sides: Sides | None, values: int, group_rows: int) -> Asked:
    per_value = len(plan.models) * len(plan.metrics) * max(1, len(plan.slices))
    of_slice = math.ceil(values / max(1, len(plan.slices)))
    columns = len(plan.models) + len(plan.keys) + len(plan.slice_columns) + (plan.cluster is not None) + 2
    rows = max(2_000, min(PROBED_ROWS, MOST_PROBED_CELLS // columns))
    is_list = spec.roles.true_items is not None
    return Asked(
        spec.roles,
        plan,
        spec.limits(plan),
        _types(spec, sides),
        max(1, min(of_slice, MOST_PROBED_STATES // per_value)),
        GROUP_ROWS if is_list else group_rows,
        rows // 10 if is_list else rows,
        spec.source(),
        spec.output.blocks,
    )


def _types(spec: Spec, sides: Sides | None) -> tuple[Mapping[str, pa.DataType], Mapping[str, pa.DataType]]:
    """The types of the columns with a role, of both sides."""
    if sides is None:
        return {}, {}
    found: list[dict[str, pa.DataType]] = [{}, {}]
    for place, (source, roles) in enumerate(((sides.impressions, spec.roles), (sides.truth, spec.roles.truth))):
        if source is not None and roles is not None:
            schema = source.schema
            found[place] = {name: schema.field(name).type for _, name in roles.columns() if name in schema.names}
    return found[0], found[1]


def stored_runs(spec: Spec, day: str) -> list[StoredRun]:
    """The last stored days up to ``day``, or where there are none before it the last of all, in order.

    A day whose tables cannot be read is passed over: a plan can do without.
    """
    output = on_day(spec.output.path, day)
    names = sorted(name for name in stored_names(output) or () if day_of(name) is not None)
    before = [name for name in names if name <= day] or names
    found = (_stored_run(output, name) for name in before[-STORED_RUNS:])
    return [run for run in found if run is not None]


def _stored_run(output: str, day: str) -> StoredRun | None:
    columns = {
        "runs": [RUNS.schema.field(name) for name in ("lane", "rows", "buckets", "stages")],
        "quality": [QUALITY.schema.field(name) for name in ("check", "model", "count")],
        "metrics": [METRICS.schema.field(name) for name in ("slice", "slice_value")],
    }
    try:
        files = day_files(output, day, tuple(columns), None)
        tables = {name: files.read(name, pa.schema(fields)) for name, fields in columns.items()}
        run: dict[str, Any] = tables["runs"].to_pylist()[0]
        seconds = {str(stage): float(each) for stage, each in json.loads(run["stages"] or "{}").items()}
        groups = pc.equal(pc.cast(tables["quality"]["check"], pa.string()), checks.GROUPS)
        counts = tables["quality"].filter(groups)["count"].to_pylist()
        pairs = tables["metrics"].group_by(["slice", "slice_value"], use_threads=False).aggregate([])
        values = {name: count for name, count in _counts(pairs["slice"].to_pylist()).items() if name != ALL}
        return StoredRun(
            day,
            str(run["lane"]),
            int(run["rows"] or 0),
            int(max(counts, default=0) or 0),
            int(run["buckets"] or 1),
            seconds,
            values,
        )
    except (SparkrankError, KeyError, IndexError, TypeError, ValueError, pa.ArrowException, OSError):
        return None


def _counts(names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found
