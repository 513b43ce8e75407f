"""The jobs of a spec: evaluating, merging, judging, comparing, explaining and reporting days."""

from sparkrank.jobs.backfill import backfill
from sparkrank.jobs.evaluate_job import evaluate_day
from sparkrank.jobs.merge_job import merge_days
from sparkrank.results.run_results import BackfilledDay, DayResult, WindowResult

__all__ = ["BackfilledDay", "DayResult", "WindowResult", "backfill", "evaluate_day", "merge_days"]
