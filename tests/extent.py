"""How much of a long check a run does: some of it in `make test`, all of it in `make test-long`."""

from __future__ import annotations

import os

IS_LONG = os.environ.get("SPARKRANK_LONG_TESTS") == "1"
PART = 3  # `make test` does one of so many examples


# A share over a part of the trials spreads by sqrt(3) times that over all, and the largest of several a little more.
SPREAD = 1.0 if IS_LONG else 2.5


def examples(of_long: int) -> int:
    """The examples of a property test that draws ``of_long`` in a long run."""
    return of_long if IS_LONG else max(of_long // PART, min(of_long, 5))
