"""The table of what values get and are due: by hand, with an interval that holds the truth, and with many values."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.metrics.merged import Merged, SubjectStates, kind_of
from sparkrank.metrics.subjects import subjects_of
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from sparkrank.stats.intervals import jackknife
from sparkrank.tables.rows import exposures

ROLES = {"group": "user", "score": "score", "label": "label"}


def test_by_hand() -> None:
    """a stands first in both lists, b below it in one, c in no list; z has no value."""
    rows = pa.table(
        {
            "user": ["u", "u", "u", "v", "v"],
            "score": [3.0, 2.0, 1.0, 1.0, None],
            "label": [1, 0, 1, 1, 1],
            "kind": ["a", None, "b", "a", "c"],
        }
    )
    table = sr.evaluate(rows, ["exposure_gap(by=kind)"], **ROLES).exposures
    assert table.select(["value", "exposure", "due", "ratio"]).to_pylist() == [
        {"value": "a", "exposure": 2 / 2.5, "due": 2 / 4, "ratio": (2 / 2.5) / (2 / 4)},
        {"value": "b", "exposure": 0.5 / 2.5, "due": 1 / 4, "ratio": (0.5 / 2.5) / (1 / 4)},
        {"value": "c", "exposure": 0.0, "due": 1 / 4, "ratio": 0.0},
    ]
    assert sr.evaluate(rows, ["ndcg"], **ROLES).exposures.num_rows == 0


def lists(groups: int, values: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "user": np.repeat(np.arange(groups), 5),
            "score": draw.random(groups * 5),
            "label": draw.integers(0, 2, groups * 5),
            "kind": [f"kind {number}" for number in draw.integers(0, values, groups * 5)],
        }
    )


def test_the_interval_of_a_quotient_is_that_of_leaving_out_groups() -> None:
    """Each part is left out by an evaluation of the others."""
    rows = lists(300, 3, 1)
    whole = sr.evaluate(rows, ["exposure_gap(by=kind)@2"], **ROLES)
    part = parts_of(hash_keys([rows["user"].combine_chunks()]))
    left = [sr.evaluate(rows.filter(pa.array(part != own)), ["exposure_gap(by=kind)@2"], **ROLES) for own in range(64)]
    sizes = np.bincount(part, minlength=64) / 5
    for row in whole.exposures.to_pylist():
        without = [each.exposures.to_pylist() for each in left]
        ratios = [next(own["ratio"] for own in table if own["value"] == row["value"]) for table in without]
        (stderr,) = jackknife([row["ratio"]], [ratios], sizes)[0]
        assert row["stderr"] == pytest.approx(stderr, rel=1e-9)
        assert row["ci_low"] < row["ratio"] < row["ci_high"]


@pytest.mark.parametrize("against", ["relevant", "catalog"])
def test_values_on_halves_are_those_of_evaluations_of_their_groups(against: str) -> None:
    rows, metric = lists(300, 3, 4), f"exposure_gap(by=catalog.kind,against={against})@2"
    rows = rows.append_column("item", pa.array(np.arange(len(rows))))
    catalog = {"catalog": rows.select(["item", "kind"])}
    whole = sr.evaluate(rows, [metric], item="item", **catalog, **ROLES)
    (own,), merged = whole.plan.metrics, Merged(whole.partials)
    mixed = kind_of(own).mixed_values(own, SubjectStates(merged, subjects_of(whole.partials, whole.plan)[0]))
    assert mixed is not None
    values, parts = mixed
    filled, place = np.unique(parts_of(hash_keys([rows["user"].combine_chunks()])), return_inverse=True)
    assert (values.shape, parts) == ((1, 2, 64), len(filled))
    assert values[0, 0, 0] == pytest.approx(whole.metrics["value"][0].as_py())
    for way in (1, 6):  # the sign of a part is that of the bits that its number shares with the way
        is_second = np.array([(way & number).bit_count() % 2 == 1 for number in range(64)])[place]
        for half, kept in enumerate((~is_second, is_second)):
            alone = sr.evaluate(rows.filter(pa.array(kept)), [metric], item="item", **catalog, **ROLES)
            assert values[0, half, way] == pytest.approx(alone.metrics["value"][0].as_py(), rel=1e-12)


@pytest.mark.parametrize(
    ("distance", "floor"),
    # shares of 3/4 and 1/4 of 4 relevant rows; js: Σ (1 - T) / (8·4·ln 2)
    [("tv", 2 * math.sqrt(3 / 16 / 4 / (2 * math.pi))), ("js", (1 / 4 + 3 / 4) / (32 * math.log(2)))],
)
def test_the_noise_floor_by_hand(distance: str, floor: float) -> None:
    columns = {"user": [*"uuuv"], "score": [4.0, 3.0, 2.0, 1.0], "label": [1, 1, 1, 1], "kind": [*"aaba"]}
    found = sr.evaluate(pa.table(columns), [f"exposure_gap(by=kind,distance={distance})"], **ROLES)
    assert found.metrics["noise_floor"].to_pylist() == pytest.approx([floor])


def test_values_of_little_attention_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = lists(200, 12, 2)
    whole = sr.evaluate(rows, ["exposure_gap(by=kind)@2"], **ROLES)
    every = whole.exposures.to_pylist()
    monkeypatch.setattr(exposures, "MOST_VALUES", 4)
    pooled = whole.exposures.to_pylist()
    assert pooled[:3] == every[:3]
    assert [row["value"] for row in pooled[3:]] == ["(other)"]
    for name in ("exposure", "due"):
        assert pooled[3][name] == pytest.approx(math.fsum(row[name] for row in every[3:]))
    attention = [row["exposure"] for row in every]
    assert attention == sorted(attention, reverse=True)
    assert pooled[3]["ci_low"] < pooled[3]["ratio"] < pooled[3]["ci_high"]


def test_more_than_a_thousand_values_are_told(caplog: pytest.LogCaptureFixture) -> None:
    rows = lists(400, 1_300, 3)
    values = len(set(rows["kind"].to_pylist()))
    assert values > 1_000
    found = sr.evaluate(rows, ["exposure_gap(by=kind)@2"], **ROLES)
    said = f"Of the {values:,} values of exposure_gap(by=kind)@2 the table exposures has the 999 of most attention"
    assert said in caplog.text
    assert found.exposures["value"].to_pylist()[999:] == ["(other)"]
    caplog.clear()
    sr.evaluate(rows.filter(pa.array(np.array(rows["kind"]) < "kind 5")), ["exposure_gap(by=kind)@2"], **ROLES)
    assert "of most attention" not in caplog.text
