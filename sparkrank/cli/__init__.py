"""The command ``sparkrank``, and what ``jobs/`` call: days are evaluated, merged, compared, judged and accepted."""

from sparkrank.cli.command_line import main, run

__all__ = ["main", "run"]
