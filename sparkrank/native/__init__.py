"""Loops compiled to machine code, which run without Python's lock: the same bits as numpy gives, sooner.

They are built where sparkrank is installed with a C++ compiler at hand. Elsewhere, and from a zip on Spark's path, of
which Python loads no machine code, ``COMPILED`` is false and numpy does everything. So it does where the environment
says ``SPARKRANK_NATIVE=0``, which ``spark.executorEnv.SPARKRANK_NATIVE`` says to Spark's workers.

Who has a loop and a body in numpy for one thing, side by side, asks :func:`runs` which of them it is to be.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping

COMPILED = os.environ.get("SPARKRANK_NATIVE") != "0"
if COMPILED:
    try:
        from sparkrank.native import blocks, buckets, hits, keys, sums, texts
    except ImportError:
        COMPILED = False

__all__ = ["COMPILED", "blocks", "buckets", "counted", "hits", "keys", "runs", "sums", "texts"]


class _Counts(threading.local):
    """How often each body ran in this thread since somebody asked."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()


_counts = _Counts()


def runs(loop: str, serves: bool = True) -> bool:
    """Whether ``loop`` is to run, and not numpy's body beside it: where there are loops, and this one ``serves``.

    What was chosen is counted, as ``loop compiled`` or ``loop numpy``.
    """
    compiled = COMPILED and serves
    _counts.of[f"{loop} {'compiled' if compiled else 'numpy'}"] += 1
    return compiled


def counted() -> Mapping[str, int]:
    """How often each body ran in this thread since the last call."""
    found, _counts.of = _counts.of, Counter()
    return found
