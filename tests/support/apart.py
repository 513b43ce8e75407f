"""Lists of three models of different users and items, in tables of their own, in a long one, and joined by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

KEYS = ["user", "shop", "item"]


def lists_of_models(item: pa.DataType) -> dict[str, pa.Table]:
    """The best has no list for every fifth user, the worst for every third, and each lists items of its own."""
    return {
        "best": _lists(item, 1, lambda user: user % 5 != 0),
        "other": _lists(item, 2, lambda user: user > 0),
        "worst": _lists(item, 3, lambda user: user % 3 != 0),
    }


def _lists(item: pa.DataType, seed: int, has_list: object) -> pa.Table:
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(40), 10)
    chosen = np.concatenate([random.permutation(25)[:10] for _ in range(40)]) + 3 * seed
    rows = pa.table(
        {
            "user": user,
            "shop": pa.array(user // 20).cast(pa.string()),
            "item": pa.array(chosen).cast(item),
            "score": np.round(random.random(len(user)), 1 if seed == 1 else 3),
            "country": pa.array(np.array(["de", "fr", "it"])[user % 3]),
        }
    )
    return rows.filter(pa.array(has_list(user))).take(random.permutation(int(has_list(user).sum())))  # type: ignore[operator]


def truth_of(models: Mapping[str, pa.Table]) -> pa.Table:
    """Every seventh item of a list, and an item that is in none, for users of whom one has no list at all."""
    some = pa.concat_tables([rows.drop_columns(["score"]).slice(0, 60) for rows in models.values()])
    unlisted = pa.table({"user": np.arange(42), "shop": pa.array(np.arange(42) // 20).cast(pa.string())})
    unlisted = unlisted.append_column("item", pa.array(np.full(42, 99)).cast(some["item"].type))
    return pa.concat_tables([some, unlisted.append_column("country", pa.array(["de"] * 42))])


def long(models: Mapping[str, pa.Table]) -> pa.Table:
    return pa.concat_tables(
        [rows.append_column("model", pa.array([name] * len(rows))) for name, rows in models.items()]
    )


def joined(models: Mapping[str, pa.Table]) -> pa.Table:
    """The outer join, as somebody without a mapping of models makes it."""
    wide: pa.Table | None = None
    for name, rows in models.items():
        own = rows.rename_columns({"score": name, "country": f"{name}_country"})
        wide = own if wide is None else wide.join(own, KEYS, join_type="full outer")
    assert wide is not None
    countries = pc.coalesce(*(wide[f"{name}_country"] for name in models))
    return wide.select([*KEYS, *models]).append_column("country", countries)
