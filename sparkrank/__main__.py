"""``python -m sparkrank`` is the command ``sparkrank``."""

from sparkrank.cli import run

if __name__ == "__main__":
    run()
