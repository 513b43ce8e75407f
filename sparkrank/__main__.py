"""The entry point of ``python -m sparkrank``, which is the same as the command ``sparkrank``."""

from sparkrank.cli import run

if __name__ == "__main__":
    run()
