"""How much of a long check a run does: some of it in `make test`, all of it in `make test-long`."""

from __future__ import annotations

import os

IS_LONG = os.environ.get("SPARKRANK_LONG_TESTS") == "1"
PART = 3  # `make test` does one of so many examples


# The spread of a share over a part of the trials is as many times that over all.
SPREAD = 1.0 if IS_LONG else PART**0.5


def examples(of_long: int) -> int:
    """The examples of a property test that draws ``of_long`` in a long run."""
    return of_long if IS_LONG else max(of_long // PART, min(of_long, 5))
