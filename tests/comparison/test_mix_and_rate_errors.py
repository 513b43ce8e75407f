"""The intervals of a decomposition: as evaluations without each part have it, and in simulated days."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from tests.extent import SPREAD, examples
from tests.support.commands import exit_code
from tests.uncertainty.test_parts import days_of, jackknifed, log
from tests.windows.week import DAYS

METRICS = ["ndcg@5", "gauc", "logloss"]
ROLES: dict[str, Any] = {"group": "user", "label": "y", "score": "one", "slices": ["country"]}
ENDS = [f"{name}_{end}" for name in ("mix", "rate", "part") for end in ("low", "high")]


def sixteenth(rows: pa.Table) -> np.ndarray:
    return parts_of(hash_keys([rows["user"].combine_chunks()])) // 4


def test_they_are_what_evaluations_without_each_part_say() -> None:
    """Each half of an interval is t times the error of the jackknife, over 16 parts of both days together."""
    days = log(1), log(2, users=400, rows=2000)

    def split(without: int | None) -> dict[tuple[str, str], dict[str, float]]:
        kept = [rows if without is None else rows.filter(pa.array(sixteenth(rows) != without)) for rows in days]
        table = sr.decompose(*(sr.evaluate(rows, METRICS, **ROLES) for rows in kept), "country")
        return {(row["metric"], row["slice_value"]): row for row in table.to_pylist()}

    whole, without = split(None), {part: split(part) for part in range(16)}
    sizes = {
        part: sum(len(set(np.asarray(rows["user"])[sixteenth(rows) == part])) for rows in days) for part in range(16)
    }
    for key, row in whole.items():
        assert row["interval"] == "jackknife"
        for name in ("mix", "rate", "part"):
            expected = jackknifed(row[name], {part: without[part][key][name] for part in sizes}, sizes)
            assert (row[f"{name}_low"] + row[f"{name}_high"]) / 2 == pytest.approx(row[name], abs=1e-12)
            # quantiles of t of at most 15 degrees, and of more than 2
            assert 2.13 < (row[f"{name}_high"] - row[name]) / expected < 4.31, (key, name)


def test_of_tables_alone_there_is_none_and_without_parts_it_is_off() -> None:
    one, other = (sr.evaluate(log(seed), METRICS, **ROLES) for seed in (3, 4))
    off = sr.evaluate(log(4), METRICS, **ROLES, uncertainty={"slices": False})
    for sides, method in (((one.table, other.table), None), ((one, other.table), None), ((one, off), "off")):
        rows = sr.decompose(*sides, "country").to_pylist()
        assert {row["interval"] for row in rows} == {method}
        assert {row[end] for row in rows for end in ENDS} == {None}


def test_equal_days_and_values_on_one_side_have_no_interval_of_nothing() -> None:
    ev = sr.evaluate(log(5), METRICS, **ROLES)
    assert {row["interval"] for row in sr.decompose(ev, ev, "country").to_pylist()} == {"too few"}
    rows = log(6)
    other = rows.filter(pa.array(np.asarray(rows["country"]) != "de"))
    rows = sr.decompose(ev, sr.evaluate(other, METRICS, **ROLES), "country").to_pylist()
    left = [row for row in rows if row["presence"] == "left"]
    assert len(left) == len(METRICS)
    for row in left:
        assert (row["rate"], row["rate_low"]) == (0.0, None)
        assert row["mix_low"] < row["mix"] < row["mix_high"]


def test_the_command_reads_the_states_of_the_days(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    days_of(tmp_path, [log(7), log(8)], metrics=METRICS, slices=["country"], compare={"baseline": "a"})
    place = str(tmp_path / "tables")
    words = ("--left", place, "--right", place, "--left-date", DAYS[0], "--right-date", DAYS[1], "--model", "a")
    capsys.readouterr()
    assert exit_code("compare", *words, "--decompose", "country", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["decomposition"]
    expected = sr.decompose(*(sr.evaluate(log(seed), METRICS, **ROLES) for seed in (7, 8)), "country").to_pylist()
    for one, other in zip(rows, expected, strict=True):
        assert [one[end] for end in ENDS] == [other[end] for end in ENDS]
    assert exit_code("compare", *words, "--decompose", "country") == 0
    assert "±" in capsys.readouterr().out


@pytest.mark.slow
def test_they_hold_the_true_parts() -> None:
    """Of two days, 40 and 55 % of whose users are of a country in which the one item is clicked more often."""
    draw = np.random.default_rng(9)
    rates, shares = {"de": (0.3, 0.4), "fr": (0.6, 0.6)}, (0.4, 0.55)
    means = [share * rates["de"][day] + (1 - share) * rates["fr"][day] for day, share in enumerate(shares)]
    truth = {
        "mix": (shares[1] - shares[0]) * (sum(rates["de"]) / 2 - sum(means) / 2),
        "rate": sum(shares) / 2 * (rates["de"][1] - rates["de"][0]),
    }
    held: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(examples(180)):
        days = []
        for day, share in enumerate(shares):
            country = np.where(draw.random(400) < share, "de", "fr")
            p = np.where(country == "de", rates["de"][day], rates["fr"][day])
            rows = {"user": np.arange(400) + 400 * day, "country": country, "one": np.ones(400)}
            table = pa.table({**rows, "y": (draw.random(400) < p).astype(np.int32)})
            days.append(sr.evaluate(table, ["p@1"], **ROLES))
        row = sr.decompose(*days, "country").to_pylist()[0]
        for name, true in truth.items():
            held[name].append(row[f"{name}_low"] <= true <= row[f"{name}_high"])
    for name, is_held in held.items():
        assert np.mean(is_held) == pytest.approx(0.95, abs=0.025 * SPREAD), name
