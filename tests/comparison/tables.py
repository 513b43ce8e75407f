"""Group tables of made-up values, and what pandas and scipy find in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

METRICS = ("ndcg@5", "rr", "kendall_distance", "gauc")


def groups(seed: int, users: Sequence[object], models: Sequence[str] = ("m",), **more: object) -> pa.Table:
    """A group table with some values undefined and some equal; ``more`` are columns in place of its own."""
    draw = np.random.default_rng(seed)
    n = len(users) * len(models)
    rows = draw.integers(1, 9, n)
    table = {
        "model": np.repeat(list(models), len(users)),
        "user": list(users) * len(models),
        "n_rows": rows + 1,
        "n_retrieved": rows,
        "n_relevant": draw.integers(0, 3, n),
    }
    for name in METRICS:
        values = draw.choice([0.0, 0.25, 1 / 3, 0.5, 0.8, 1.0], n)
        table[name] = np.where(draw.random(n) < 0.15, np.nan, values)
    return pa.table({**table, **more})


def joined(left: pa.Table, right: pa.Table, models: tuple[str, str] = ("m", "m")) -> pd.DataFrame:
    """The groups of both, with the suffixes _x and _y, by pandas."""
    sides = (
        table.to_pandas()[lambda rows, name=name: rows["model"] == name]
        for table, name in zip((left, right), models, strict=True)
    )
    one, other = sides
    return one.merge(other, on="user")


def write_run(
    output: Path, day: str, rows: pa.Table, definitions: Mapping[str, str] | None = None, files: int = 1
) -> Path:
    """The tables groups and metrics of a day that nobody evaluated; the folder of its group table."""
    folder = output / f"groups/day={day}"
    folder.mkdir(parents=True)
    for index in range(files):
        part = rows[index * rows.num_rows // files : (index + 1) * rows.num_rows // files]
        pq.write_table(part, folder / f"part-{index:05d}.parquet")
    if definitions is not None:
        write_metrics(
            output, day, [{"model": "m", "metric": name, "definition": text} for name, text in definitions.items()]
        )
    return folder


def write_metrics(output: Path, day: str, rows: Sequence[Mapping[str, object]]) -> None:
    """A table metrics of these rows, whose other columns are null."""
    from sparkrank.schemas.tables import METRICS as TABLE

    folder = output / f"metrics/day={day}"
    folder.mkdir(parents=True)
    whole = [{"spec_hash": "0" * 12, "run_id": f"{day}-{'0' * 12}", **row} for row in rows]
    pq.write_table(pa.Table.from_pylist(whole, schema=TABLE.schema), folder / "part-0.parquet")
