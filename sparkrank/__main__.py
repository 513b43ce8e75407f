"""``python -m sparkrank`` is the command ``sparkrank``."""

from sparkrank.doors.cli import run

if __name__ == "__main__":
    run()
