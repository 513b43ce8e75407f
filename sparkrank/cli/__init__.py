"""The command ``sparkrank``, which the scripts in ``jobs/`` call too."""

from sparkrank.cli.command_line import main, run

__all__ = ["main", "run"]
