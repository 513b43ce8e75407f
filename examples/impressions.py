"""Write a small impression log to try things on: two models, 200 users a day, a folder a day.

    python examples/impressions.py log 2026-11-19 2026-11-20

Columns: user_id, item_id, country, production and candidate (scores), clicked. A candidate sees a little more of what
a user likes than production does. The same days have the same rows on every machine.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

USERS, ROWS = 200, 12


def impressions(day: dt.date) -> pa.Table:
    """The impressions of ``day``."""
    draw = np.random.default_rng(day.toordinal())
    rows = USERS * ROWS
    user = np.repeat(np.arange(USERS), ROWS)
    taste = draw.normal(size=rows)
    return pa.table(
        {
            "user_id": user,
            "item_id": np.tile(np.arange(ROWS), USERS),
            "country": np.array(["de", "fr", "us"])[user % 3],
            "production": (taste + draw.normal(size=rows)).round(4),
            "candidate": (taste + 0.7 * draw.normal(size=rows)).round(4),
            "clicked": (taste + draw.normal(size=rows) > 1.5).astype(np.int8),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a small impression log.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("days", nargs="+", type=dt.date.fromisoformat, metavar="YYYY-MM-DD")
    asked = parser.parse_args()
    for day in asked.days:
        folder = asked.folder / f"dt={day}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(impressions(day), folder / "part-0.parquet")
        print(f"Written: {folder}")


if __name__ == "__main__":
    main()
