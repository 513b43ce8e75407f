"""The compiled loops, and the choice between them and numpy. They run without Python's lock and give the same bits.

They are built if a C++ compiler is present when sparkrank is installed. Otherwise ``COMPILED`` is false and numpy does
all the work. That is also so in a zip on Spark's path, from which Python cannot load machine code, and in an
environment with ``SPARKRANK_NATIVE=0``. ``spark.executorEnv.SPARKRANK_NATIVE`` sets that variable for Spark's workers.

Code that has both a compiled loop and a numpy body calls :func:`runs` to choose.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping

COMPILED = os.environ.get("SPARKRANK_NATIVE") != "0"
if COMPILED:
    try:
        from sparkrank.native import blocks, buckets, hits, keys, logs, matches, sums, texts, units
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
]


class _Choices(threading.local):
    """How often each body was chosen in this thread since the last call of :func:`counted`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()


_choices = _Choices()


def runs(loop: str, serves: bool = True) -> bool:
    """Whether to run the compiled ``loop`` instead of the numpy body: loops are built, and this one ``serves`` here.

    The choice is counted as ``<loop> compiled`` or ``<loop> numpy``.
    """
    compiled = COMPILED and serves
    _choices.counts[f"{loop} {'compiled' if compiled else 'numpy'}"] += 1
    return compiled


def counted() -> Mapping[str, int]:
    """How often each body was chosen in this thread since the last call. Resets the counts to 0."""
    counts, _choices.counts = _choices.counts, Counter()
    return counts
