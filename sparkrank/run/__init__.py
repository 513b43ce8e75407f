"""What a job does, as named and timed stages: a day evaluated, many days one after the other, days merged."""

from sparkrank.results.run_results import BackfilledDay, DayResult, WindowResult
from sparkrank.run.backfill import backfill
from sparkrank.run.evaluate_job import evaluate_day
from sparkrank.run.merge_job import merge_days

__all__ = ["BackfilledDay", "DayResult", "WindowResult", "backfill", "evaluate_day", "merge_days"]
