"""Write the plan of a day as text for a terminal."""

from __future__ import annotations

from sparkrank.base.errors import escape, itemize
from sparkrank.results.run_results import DayPlan, StoredRun


def plan_text(plan: DayPlan) -> str:
    """Return the counts of ``plan``, and below them how long stored days took, as lines of text."""
    cut = f"{plan.buckets:,} buckets, {plan.tasks:,} tasks, {plan.pieces:,} pieces"
    where_read = "evaluated by the tasks that read them: no rows are shuffled"
    lines = [
        f"Plan of {plan.day}: {plan.rows:,} rows, {plan.rows_from}",
        f"  {plan.splits:,} splits, {cut if plan.pieces else where_read}",
    ]
    if plan.tables != ("lists",):
        sent = "; the catalog is not among these rows: it is sent to every worker" if "catalog" in plan.tables else ""
        lines.append(f"  reads {itemize(plan.tables)}{sent}")
    stored = [_stored_text(run) for run in plan.stored] or ["  no stored day of the same spec"]
    return "\n".join([*lines, "", "What days took", *stored])


def _stored_text(run: StoredRun) -> str:
    stages = ", ".join(f"{escape(name)} {seconds:,.1f} s" for name, seconds in run.seconds.items())
    return (
        f"  {run.day}  {run.rows:,} rows, {run.groups:,} groups, {run.buckets:,} buckets, lane {escape(run.lane)}: "
        f"{sum(run.seconds.values()):,.1f} s ({stages})"
    )
