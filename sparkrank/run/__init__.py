"""What a job does, as named and timed stages: a day evaluated, days merged."""

from sparkrank.run.evaluate import DayResult, evaluate_day
from sparkrank.run.merge import WindowResult, merge_days

__all__ = ["DayResult", "WindowResult", "evaluate_day", "merge_days"]
