"""``python -m sparkrank`` is the command ``sparkrank``."""

from sparkrank.cli import main

if __name__ == "__main__":
    main()
