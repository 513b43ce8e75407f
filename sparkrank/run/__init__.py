"""What a job does, as named and timed stages: a day evaluated, days merged."""

from sparkrank.run.evaluate_job import DayResult, evaluate_day
from sparkrank.run.merge_job import WindowResult, merge_days

__all__ = ["DayResult", "WindowResult", "evaluate_day", "merge_days"]
