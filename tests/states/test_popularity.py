"""The popularity of items: counted in a pass of its own, in any lane, and put into tiers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.checks import NO_LIMITS
from sparkrank.bucket.counted_items import popularity_states
from sparkrank.engines.request import Request
from sparkrank.inputs.roles import PastColumns, Roles
from sparkrank.metrics import plan_of
from sparkrank.run.popular_items import popularity_states_of
from sparkrank.sources.side_rows import SideRows
from sparkrank.states import Partials
from sparkrank.states.popularity import Popularity, TierMeasure, Tiers

# x was had twice by a and once by b, y by b, z by c and d; of the last two rows one has no item, and one no group.
HAD = pa.table({"key_0": ["a", "a", "b", "b", "c", "d", "d", None], "item": ["x", "x", "x", "y", "z", "z", None, "x"]})


def by_item(popularity: Popularity) -> dict[object, tuple[object, ...]]:
    values = (column.to_pylist() for column in popularity.columns().values())
    return dict(zip(popularity.items.to_pylist(), zip(*values, strict=True), strict=True))


def test_a_pair_counts_once_in_users_and_each_time_in_rows() -> None:
    partials = popularity_states(HAD)
    assert by_item(Popularity.of(partials.items, 4, Tiers())) == {
        "x": (2, 3, 1, "head"),
        "z": (2, 2, 2, "head"),  # 3/6 are before it
        "y": (1, 1, 3, "torso"),  # 5/6 are
    }
    assert list(partials.counts.values()) == [8, 2, 4]


def test_states_of_some_groups_merge_into_those_of_all() -> None:
    parts = [
        popularity_states(HAD.filter(pa.array([key in group for key in HAD["key_0"].to_pylist()])))
        for group in (["a", "c"], ["b", "d"])
    ]
    assert by_item(Popularity.of(Partials.merged(parts).items, 4, Tiers())) == by_item(
        Popularity.of(popularity_states(HAD).items, 4, Tiers())
    )


# Of 20 rows, 16 are of a: b, c stand behind 0.8 of them, d and e behind 0.9 and 0.95.
ROWS, USERS = np.array([16, 1, 1, 1, 1]), np.array([1, 1, 1, 1, 16])
OF_MEASURES: list[tuple[TierMeasure, list[str]]] = [
    ("rows", ["head", "torso", "torso", "torso", "tail"]),
    ("users", ["torso", "torso", "torso", "tail", "head"]),
    ("items", ["head", "head", "head", "head", "torso"]),
]


@pytest.mark.parametrize(("of", "tiers"), OF_MEASURES)
def test_tiers(of: TierMeasure, tiers: list[str]) -> None:
    assert Tiers(of).names(pa.array(list("abcde")), USERS, ROWS).to_pylist() == tiers
    assert Tiers(of).names(pa.array([], pa.string()), USERS[:0], ROWS[:0]).to_pylist() == []


@pytest.mark.parametrize("item", [pa.int32(), pa.string()])
def test_a_pass_over_files_counts_what_a_dict_does(tmp_path: Path, item: pa.DataType) -> None:
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 40, 500), pa.array(rng.integers(0, 20, 500)).cast(item)
    for part in range(3):
        pq.write_table(pa.table({"u": users, "i": items})[part * 200 : part * 200 + 200], tmp_path / f"{part}.parquet")
    lists = Roles.of("u", None, "s", "i")
    roles = Roles(lists.group, {}, lists.scores, lists.row_columns, past=PastColumns({"interactions": {}}).roles(lists))
    plan = plan_of(["new@1"], ["s"], ["u"], item="i")
    past = {"interactions": SideRows.of("interactions", str(tmp_path))}
    request = Request((SideRows.of("input", pa.table({"u": [1]})),), None, roles, plan, NO_LIMITS, buckets=3, past=past)
    had = list(zip(users.tolist(), items.to_pylist(), strict=True))
    expected = {
        key: (len({u for u, i in had if i == key}), sum(i == key for _, i in had)) for key in set(items.to_pylist())
    }
    found = by_item(Popularity.of(popularity_states_of(request, item).items, len(set(users.tolist())), Tiers()))
    assert {key: values[:2] for key, values in found.items()} == expected
