"""A plan as a person reads it, and as a program does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from sparkrank.base.errors import escaped

if TYPE_CHECKING:
    from sparkrank.jobs.plan_job import DayPlan, StoredRun

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def plan_document(plan: DayPlan) -> dict[str, object]:
    """The plan with its figures as they are: seconds and bytes."""
    found = plan.estimate
    return {
        "day": plan.day,
        "workload": {**asdict(plan.workload), "states": plan.workload.states},
        "probe": asdict(plan.costs),
        "estimate": {**asdict(found), "total_core_seconds": found.total_core_seconds},
        "settings": [asdict(each) for each in plan.settings],
        "stored": [{**asdict(each), "estimated_core_seconds": _expected(plan, each)} for each in plan.stored],
        "notes": list(plan.notes),
    }


def plan_text(plan: DayPlan) -> str:
    """The plan in lines."""
    load, found = plan.workload, plan.estimate
    head = (
        f"Plan of {plan.day}: {load.rows:,} rows, {load.groups:,} groups, {load.models:,} models, {load.metrics:,} "
        f"metrics, {load.slice_values:,} slice values ({load.states:,} states)"
    )
    parts = ", ".join(f"{part} {seconds:,.1f}" for part, seconds in found.core_seconds.items())
    total = found.total_core_seconds
    figures = [
        ("buckets", f"{found.buckets:,}, of {load.rows // max(1, found.buckets):,} rows"),
        ("splits, tasks, pieces", f"{found.splits:,}, {found.tasks:,}, {found.pieces:,}"),
        ("core-seconds", f"{total:,.1f} ({parts}), {total / 3600:,.2f} core-hours"),
        ("minutes", f"{found.seconds / 60:,.1f} on {load.cores:,} cores, from the start to the tables"),
        ("memory of a worker", _bytes(found.worker_bytes)),
        ("memory of the driver", f"{_bytes(found.driver_heap_bytes)} of heap, {_bytes(found.driver_bytes)} of Python"),
        ("shuffled", _bytes(found.shuffle_bytes)),
        ("group table", _bytes(found.group_table_bytes)),
        ("other tables", _bytes(found.table_bytes)),
    ]
    settings = _columns([(each.name, each.value, each.reason) for each in plan.settings])
    stored = list(_stored(plan))
    notes = [f"- {escaped(each)}" for each in plan.notes]
    notes.append("- waiting for a store and for the network is in no figure")
    blocks = [[head], _columns(figures), ["Settings", *settings], ["What days took", *stored] if stored else []]
    return "\n\n".join("\n".join(block) for block in [*blocks, ["What this rests on", *notes]] if block)


def _stored(plan: DayPlan) -> Iterator[str]:
    for run in plan.stored:
        stages = ", ".join(f"{escaped(name)} {seconds:,.1f} s" for name, seconds in run.seconds.items())
        yield (
            f"  {run.day}  {run.rows:,} rows, lane {escaped(run.lane)}: {sum(run.seconds.values()):,.1f} s ({stages}), "
            f"where the laws have {_expected(plan, run):,.1f} core-seconds"
        )


def _expected(plan: DayPlan, run: StoredRun) -> float:
    """The core-seconds of as many rows as a stored day has, by the costs of today's probe."""
    from dataclasses import replace

    from sparkrank.jobs.capacity import estimate

    load = replace(plan.workload, rows=run.rows, groups=run.groups, buckets=run.buckets)
    return estimate(load, plan.costs).total_core_seconds


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _bytes(count: float) -> str:
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            break
        count /= 1024
    return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
