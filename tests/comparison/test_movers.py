"""The groups that moved most: those that sorting all of them finds, whatever the order, the cut and the ties."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.comparison import group_pairs
from tests.comparison.tables import METRICS, groups, joined, write_run
from tests.support.commands import exit_code, local_conf

USERS = [f"user {number:03d}" for number in range(80)]
BOTH = groups(5, USERS, ("old", "new"))
LEFT, RIGHT = groups(6, USERS), groups(7, USERS[20:])
DAY = "2026-01-01"


def sorted_out(left: pa.Table, right: pa.Table, metric: str, top: int, models: tuple[str, str]) -> list[tuple]:
    """All pairs in memory, sorted by pandas: gains first, then losses."""
    pairs = joined(left, right, models)
    sign = -1 if metric == "kendall_distance" else 1
    pairs["gain"] = sign * (pairs[f"{metric}_y"] - pairs[f"{metric}_x"])
    moved = []
    for change, by in (("gain", -pairs["gain"]), ("loss", pairs["gain"])):
        rows = pairs.assign(by=by)[lambda rows: rows["by"] < 0].sort_values(["by", "user"]).head(top)
        columns = ["user", f"{metric}_x", f"{metric}_y"]
        columns += [f"{name}_{side}" for side in "yx" for name in ("n_rows", "n_retrieved", "n_relevant")]
        moved += [(change, *row) for row in rows[columns].itertuples(index=False, name=None)]
    return moved


def rows(table: pa.Table) -> list[tuple]:
    values = table.to_pylist()
    assert all(row.pop("difference") == row["value"] - row["baseline_value"] for row in values)
    return [tuple(row.values()) for row in values]


def test_they_are_those_that_sorting_finds() -> None:
    """Values are of six numbers, so that most differences are tied, and the key decides."""
    for metric, top in itertools.product(("ndcg@5", "kendall_distance", "gauc"), (1, 2, 7, 1000)):
        assert rows(sr.movers(LEFT, RIGHT, metric, top=top)) == sorted_out(LEFT, RIGHT, metric, top, ("m", "m"))
        assert sr.movers(LEFT, LEFT, metric, top=top).num_rows == 0
        of_models = sr.movers(BOTH, BOTH, metric, left_model="old", right_model="new", top=top)
        assert rows(of_models) == sorted_out(BOTH, BOTH, metric, top, ("old", "new"))


def test_any_order_and_cut_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sr.movers(LEFT, RIGHT, "rr", top=5)
    monkeypatch.setattr(group_pairs, "KEYS_AT_ONCE", 9)
    monkeypatch.setattr(group_pairs, "PAIRS_AT_ONCE", 4)
    draw = np.random.default_rng(3)
    sides = [table.take(draw.permutation(table.num_rows)) for table in (LEFT, RIGHT)]
    folders = [write_run(tmp_path / str(place), DAY, side, files=5) for place, side in enumerate(sides)]
    assert sr.movers(*folders, "rr", top=5).equals(expected)


def test_an_undefined_value_that_counts_as_0_moves(tmp_path: Path) -> None:
    folders, definition = [], {"rr": "rr; ties=expected, undefined=zero"}
    for place, rr in enumerate(([1.0, float("nan")], [float("nan"), 0.25])):
        table = groups(0, ["a", "b"]).drop_columns(list(METRICS)).append_column("rr", pa.array(rr))
        folders.append(write_run(tmp_path / str(place), DAY, table, definition))
    movers = sr.movers(*folders, "rr").select(["change", "user", "baseline_value", "value"]).to_pylist()
    assert [tuple(row.values()) for row in movers] == [("gain", "b", 0.0, 0.25), ("loss", "a", 1.0, 0.0)]


PRESETS = {
    "ndcg@2": ({"preset": "mllib"}, "ndcg(gain=binary)@2"),
    "map@2": ({"preset": "torchmetrics"}, "ap(over=hits,ties=worst)@2"),
    "err": ({}, "err(ties=item)"),
}


@pytest.mark.parametrize("metric", PRESETS)
def test_a_metric_is_read_as_the_run_read_it(metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In results and in stored days alike, in every command that takes ``--metric``; by its column, too."""
    definitions, column = PRESETS[metric]
    log = pa.table({"u": [*"aabb"], "i": [*"xyxy"], "old": [2.0, 1.0] * 2, "new": [1.0, 2.0] * 2, "y": [0, 1, 1, 0]})
    scores = {"old": "old", "new": "new"}
    ev = sr.evaluate(log, [metric], group="u", item="i", score=scores, label="y", **definitions)
    for text in (metric, column):
        of_models = {"left_model": "old", "right_model": "new"}
        assert sr.movers(ev, ev, text, **of_models).num_rows == 2
        assert sr.compare_runs(ev, ev, metrics=[text], **of_models).table["metric"].to_pylist() == [column]
        assert sr.compare_runs(ev, ev, metrics=[text], groups="common", **of_models).table.num_rows == 1
    rows = {"group": "u", "item": "i", "label": "y", "score": scores}
    pq.write_table(log.append_column("c", pa.array([*"ddff"])), tmp_path / "rows.parquet")
    spec = local_conf(tmp_path, f"{tmp_path}/rows.parquet", rows, [metric], definitions=definitions, slices=["c"])
    assert exit_code("evaluate", "--conf", spec, "--date", DAY) == 0
    for words in (
        ("compare", "--baseline", "old"),
        ("compare", "--baseline", "old", "--model", "new", "--decompose", "c"),
        ("movers", "--baseline", "old", "--model", "new"),
        ("explain", "--worst", "1", "--model", "old"),
        ("explain", "--moved", "1", "--models", "old", "new"),
    ):
        for text in (metric, column):
            assert exit_code(*words, "--conf", spec, "--date", DAY, "--metric", text) == 0, (words, capsys.readouterr())


def test_what_is_refused() -> None:
    for given, sentence in (
        ({"top": 0}, "top is 0: a whole number from 1 to 10000"),
        ({"metric": "ndcg@4"}, 'did you mean "ndcg@5"?'),
        ({"left_model": "x"}, 'left_model: the left rows has no model "x"'),
    ):
        with pytest.raises(sr.SpecError) as raised:
            sr.movers(LEFT, RIGHT, **{"metric": "rr", **given})
        assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("gmean(rr)", "gmean(rr) is one number of all groups: name rr, which each group has"),
        ("median(ndcg@3)", "median(ndcg@3) is one number of all groups: name ndcg@3, which each group has"),
        ("auc", "auc is a metric of all rows together, without values of groups (compare compares it)"),
    ],
)
def test_a_number_of_all_groups_moves_in_no_group(metric: str, sentence: str, tmp_path: Path) -> None:
    write_run(tmp_path, DAY, LEFT, {metric: metric})
    with pytest.raises(sr.SpecError, match=f"^{re.escape(sentence)}$"):
        sr.movers(tmp_path, tmp_path, metric, left_day=DAY, right_day=DAY)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write_run(tmp_path, DAY, BOTH))
    words = ["movers", "--left", folder, "--right", folder, "--left-model", "old", "--right-model", "new"]
    assert exit_code(*words, "--metric", "MRR", "--top", "2", "--json") == 0
    movers = json.loads(capsys.readouterr().out)
    expected = sorted_out(BOTH, BOTH, "rr", 2, ("old", "new"))
    assert [(row["change"], row["user"], row["n_rows"]) for row in movers] == [(r[0], r[1], r[4]) for r in expected]
    assert exit_code(*words, "--metric", "rr", "--top", "2") == 0
    out = capsys.readouterr().out
    assert [line[:8] for line in out.splitlines() if line.startswith("user 0")] == [row[1] for row in expected]
    assert out.index("Gains") < out.index("Losses")
    assert exit_code(*words[:-2], "--right-model", "neww", "--metric", "rr") == 2
    assert 'did you mean "new"?' in capsys.readouterr().err
    assert exit_code(*words) == 2
    assert "--metric" in capsys.readouterr().err
