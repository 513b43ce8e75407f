"""What each job does with a spec: days evaluated, merged, judged, compared, explained and reported."""

from sparkrank.jobs.backfill import BackfilledDay, backfill
from sparkrank.jobs.evaluate_job import DayResult, evaluate_day
from sparkrank.jobs.merge_job import WindowResult, merge_days

__all__ = ["BackfilledDay", "DayResult", "WindowResult", "backfill", "evaluate_day", "merge_days"]
