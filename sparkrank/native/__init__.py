"""The compiled loops, and the choice between a compiled loop and numpy code. Both give results with the same bits.

The loops run without Python's global lock. They are built if a C++ compiler is present when sparkrank is installed.
Otherwise ``COMPILED`` is false and numpy does all the work. ``COMPILED`` is also false if sparkrank is in a zip on
Spark's path, from which Python cannot load machine code, or if the environment sets ``SPARKRANK_NATIVE=0``. The Spark
setting ``spark.executorEnv.SPARKRANK_NATIVE`` sets this variable for workers.

Code with both a compiled loop and a numpy version calls :func:`runs` to choose.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping

COMPILED = os.environ.get("SPARKRANK_NATIVE") != "0"
if COMPILED:
    try:
        from sparkrank.native import blocks, buckets, hits, keys, logs, matches, sums, texts, units, wide
    except ImportError:
        COMPILED = False

__all__ = [
    "COMPILED",
    "blocks",
    "buckets",
    "counted",
    "hits",
    "keys",
    "logs",
    "matches",
    "runs",
    "sums",
    "texts",
    "units",
    "wide",
]


class _Choices(threading.local):
    """The counts of compiled and numpy versions chosen in this thread since the last call of :func:`counted`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()


_choices = _Choices()


def runs(loop: str, serves: bool = True) -> bool:
    """Return whether to run the compiled ``loop`` instead of numpy: if loops are built and ``serves`` (it applies).

    The choice is counted as ``<loop> compiled`` or ``<loop> numpy``.
    """
    compiled = COMPILED and serves
    _choices.counts[f"{loop} {'compiled' if compiled else 'numpy'}"] += 1
    return compiled


def counted() -> Mapping[str, int]:
    """Return the number of choices of each version in this thread since the last call, and reset the counts to 0."""
    counts, _choices.counts = _choices.counts, Counter()
    return counts
