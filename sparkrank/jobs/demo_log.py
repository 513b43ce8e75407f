"""The log of ``sparkrank demo``: made-up impressions, scored by two models, the same every time.

Users click by a hidden taste. The scores of both models are the taste plus noise. The candidate has less noise, except
for new users. So the candidate is better overall, but not for new users.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.base.errors import shorten, writing_errors

FILE_ROWS = 1_000_000  # also the most rows in memory at a time
LEAST_ROWS, MOST_ROWS = 1_000, 1_000_000_000
ROWS_PER_USER, ITEMS = 20, 10_000
_NEW, _PHONE = 0.06, 0.5  # shares of users
_CLICK_LOGIT = -2.0
_NOISE = {"production": 1.5, "candidate": 1.0}
_ODD = 0x1E3779B97F4A7C15  # consecutive multiples of it, modulo the number of items, rarely repeat an item


def write_log(folder: Path, rows: int) -> None:
    """Write ``rows`` impressions to Parquet files of at most :data:`FILE_ROWS` rows in the new folder ``folder``."""
    with writing_errors(f"the log {shorten(str(folder))}"):
        folder.mkdir(parents=True)
        for file, first in enumerate(range(0, rows, FILE_ROWS)):
            table = _impressions(first, min(FILE_ROWS, rows - first), max(rows // ROWS_PER_USER, 1))
            pq.write_table(table, folder / f"part-{file:05d}.parquet")


def _impressions(first: int, rows: int, users: int) -> pa.Table:
    """Return ``rows`` impressions from number ``first`` on. A user's rows are all over the log, as in a log by time."""
    random = np.random.default_rng([0, first])
    user = (random.random(rows) ** 1.5 * users).astype(np.int64)  # some users are far more active than others
    taste = _CLICK_LOGIT + random.standard_normal(rows)
    is_new = _share(user, 1) < _NEW
    noise: Mapping[str, Any] = _NOISE | {"candidate": np.where(is_new, _NOISE["production"], _NOISE["candidate"])}
    scores = {name: 1 / (1 + np.exp(-taste - spread * random.standard_normal(rows))) for name, spread in noise.items()}
    return pa.table(
        {
            "user_id": user,
            "item_id": (np.arange(first, first + rows, dtype=np.int64) * _ODD) % ITEMS,
            "user": pa.array(["returning", "new"]).take(pa.array(is_new.astype(np.int8))),
            "device": pa.array(["desktop", "phone"]).take(pa.array((_share(user, 2) < _PHONE).astype(np.int8))),
            **scores,
            "clicked": (taste + random.logistic(size=rows) > 0).astype(np.int32),
        }
    )


def _share(user: Any, which: int) -> Any:
    """Return a number from 0 to 1 for each ``user``, always the same.

    Each ``which`` gives other, independent numbers.
    """
    return ((user * _ODD) >> (20 + 10 * which)) % 1024 / 1024
