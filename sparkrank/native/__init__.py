"""Loops compiled to machine code, which run without Python's lock: the same bits as numpy's kernels give, sooner.

They are built where sparkrank is installed with a C++ compiler at hand. Elsewhere, and from a zip on Spark's path, of
which Python loads no machine code, ``COMPILED`` is false and numpy does everything. So it does where the environment
says ``SPARKRANK_NATIVE=0``, which ``spark.executorEnv.SPARKRANK_NATIVE`` says to Spark's workers.
"""

import os

COMPILED = os.environ.get("SPARKRANK_NATIVE") != "0"
if COMPILED:
    try:
        from sparkrank.native import blocks, buckets, hits, keys, sums, texts
    except ImportError:
        COMPILED = False

__all__ = ["COMPILED", "blocks", "buckets", "hits", "keys", "sums", "texts"]
