"""What a job does, as named and timed stages: a day evaluated, many days one after the other, days merged."""

from sparkrank.run.backfill import BackfilledDay, backfill
from sparkrank.run.evaluate_job import DayResult, evaluate_day
from sparkrank.run.merge_job import WindowResult, merge_days

__all__ = ["BackfilledDay", "DayResult", "WindowResult", "backfill", "evaluate_day", "merge_days"]
