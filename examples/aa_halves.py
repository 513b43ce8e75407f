"""Compares halves of the users of one log, again and again: nothing differs between them but noise.

python examples/aa_halves.py

Each split halves the users by one bit of a hash of their key. About one comparison of twenty has a p below 0.05.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa

import sparkrank as sr

USERS, ROWS_OF_USER = 2_000, 10
SPLITS = 16


def log() -> pa.Table:
    """Ten scored items for each user, of which some are clicked."""
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(USERS), ROWS_OF_USER)
    taste = np.repeat(rng.normal(0, 1, USERS), ROWS_OF_USER)
    score = rng.normal(0, 1, len(user))
    click = rng.random(len(user)) < 1 / (1 + np.exp(2 - score - taste))
    return pa.table({"user": user, "score": score, "click": click.astype(np.int8)})


def p_values(rows: pa.Table, metric: str = "ndcg@5") -> list[float]:
    """The p of the difference between the two halves, for each split."""
    hashes = np.array([zlib.crc32(str(user).encode()) for user in rows["user"].to_pylist()])
    values = []
    for bit in range(SPLITS):
        half = (hashes >> bit) % 2 == 1
        one, other = (
            sr.evaluate(rows.filter(pa.array(chosen)), [metric], group="user", score="score", label="click")
            for chosen in (half, ~half)
        )
        values.append(sr.compare_runs(one, other, groups="all").table["p"][0].as_py())
    return values


if __name__ == "__main__":
    values = p_values(log())
    print(f"p below 0.05 in {sum(p < 0.05 for p in values)} of {len(values)} splits: {[round(p, 2) for p in values]}")
