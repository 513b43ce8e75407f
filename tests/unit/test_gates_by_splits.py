"""How often a gate fails in A/A splits: as halves of the groups that are evaluated apart, through the whole engine."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.linalg import hadamard

import sparkrank as sr
from sparkrank.gates.chance import records_of
from sparkrank.gates.facts import Facts, IntervalEstimate
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, Rule
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from tests.unit.commands import exit_code
from tests.unit.windows.week import DAYS, evaluate, spec_of, write_log

pytestmark = pytest.mark.same_without_loops

NIGHTS = DAYS[:3]
METRICS = ["ndcg@5", "auc(bits=6)", "logloss"]
BOTH = {"a": "one", "b": "two"}
HALVES = hadamard(16)[1:] > 0  # of the sixteen fours of parts, 15 times


def log(seed: int, users: int = 200, rows: int = 1500) -> pa.Table:
    """Rows of users, and two models that know as much of the clicks."""
    draw = np.random.default_rng(seed)
    user = draw.integers(0, users, rows)
    liking = draw.normal(size=users)[user] + draw.normal(size=rows)
    y = (draw.random(rows) < 1 / (1 + np.exp(1 - liking))).astype(np.int32)
    one, two = (1 / (1 + np.exp(1 - liking - draw.normal(size=rows))) for _ in BOTH)
    return pa.table({"user": user, "one": one, "two": two, "y": y, "country": np.array(["de", "fr"])[user % 2]})


@cache
def noise_of(seed: int) -> dict[tuple[str, str, str], np.ndarray]:
    """Half of what two halves of a night's groups differ by, each evaluated by itself: by metric, model and country."""
    rows = log(seed)
    four = parts_of(hash_keys([rows["user"].combine_chunks()])) // 4
    found: dict[tuple[str, str, str], list[float]] = {}
    for half in HALVES:
        sides = []
        for kept in (half[four], ~half[four]):
            of = rows.filter(pa.array(kept))
            table = sr.evaluate(of, METRICS, group="user", label="y", score=BOTH, slices=["country"]).table.to_pylist()
            sides.append({(row["metric"], row["model"], row["slice_value"]): row["value"] for row in table})
        for key, value in sides[0].items():
            found.setdefault(key, []).append((value - sides[1][key]) / 2)
    return {key: np.array(values) for key, values in found.items()}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nights."""
    folder = tmp_path_factory.mktemp("nights")
    for seed, day in enumerate(NIGHTS):
        write_log(folder, log(seed).to_pandas().assign(date=day), day)
        evaluate(conf(folder), day)
    return folder


def conf(folder: Path, **changes: Any) -> str:
    columns = {"group": "user", "label": "y", "score": BOTH}
    asked = {"metrics": METRICS, "slices": ["country"], "compare": {"baseline": "a"}, "input__columns": columns}
    asked["uncertainty"] = {"level": 0.5}  # narrow intervals: splits leave them often
    return spec_of(folder, **{**asked, **changes})


def table(folder: Path, name: str, day: str, **whose: str) -> dict[str, Any]:
    """The row of a table that is about these."""
    rows = pq.read_table(folder / f"tables/{name}/day={day}", partitioning=None).to_pylist()
    (row,) = [row for row in rows if all(row[key] == value for key, value in whose.items())]
    return row


def replayed(folder: Path, capsys: pytest.CaptureFixture[str], *words: str, **changes: Any) -> str:
    """What the replay says of A/A splits."""
    words = words or ("--splits",)
    capsys.readouterr()
    assert exit_code("gate", "--conf", conf(folder, **changes), "--replay", "3d", "--date", NIGHTS[-1], *words) == 0
    (line,) = capsys.readouterr().out.splitlines()[1:]
    return line.partition("; in A/A splits")[2]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("country", [None, "fr"])
def test_a_bound_fails_in_as_many_splits_as_halves_say(
    stored: Path, capsys: pytest.CaptureFixture[str], metric: str, country: str | None
) -> None:
    whose = {"model": "b", "metric": metric, "slice_value": country or "all"}
    rows = [table(stored, "metrics", day, **whose) for day in NIGHTS]
    usual = np.median([row["value"] for row in rows])
    bound = usual + (rows[0]["ci_high"] - rows[0]["value"]) * 1.1  # so that about every second split fails
    share = []
    for seed, row in enumerate(rows):
        noise = noise_of(seed)[metric, "b", country or "all"]
        distance = usual - bound + row["ci_high"] - row["value"]
        share.append(np.mean(distance + np.concatenate([noise, -noise]) < 0))
    assert 0 < sum(share) < 3
    gate = {"metric": metric, "model": "b", "min": float(bound), **({"slice": {"country": country}} if country else {})}
    assert replayed(stored, capsys, gates=[gate]) == f" {sum(share):.2f}"


def test_models_fail_against_the_baseline_in_as_many_splits_as_halves_say(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of logloss, where higher is worse: the lower end of the interval has to come above 0."""
    share = []
    for seed, day in enumerate(NIGHTS):
        row = table(stored, "comparisons", day, metric="logloss", slice="all")
        apart = noise_of(seed)["logloss", "b", "all"] - noise_of(seed)["logloss", "a", "all"]
        half = row["difference"] - row["ci_low"]
        share.append(np.mean(half - np.concatenate([apart, -apart]) < 0))
    assert 0 < sum(share) < 3
    gate = {"metric": "logloss", "not_worse_than": "baseline"}
    assert replayed(stored, capsys, gates=[gate]) == f" {sum(share):.2f}"


def test_nights_that_the_spec_cannot_read_are_left_out(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = [{"metric": "logloss", "min": -1}]
    assert replayed(stored, capsys, gates=gates) == " 0.00"
    assert replayed(stored, capsys, gates=gates, definitions={"undefined": "zero"}) == ""
    # what no gate is about need not be there
    assert replayed(stored, capsys, gates=gates, metrics=["logloss", "ap"], slices=[]) == " 0.00"
    by_pairs = [{"metric": "ndcg@5", "min": -1}]
    assert replayed(stored, capsys, gates=by_pairs, compare={"baseline": "b"}) == ""


def test_nothing_is_split_unless_it_is_asked_for(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = [{"metric": "logloss", "min": -1}]
    assert replayed(stored, capsys, "--set", "undecided=warn", gates=gates) == ""
    assert exit_code("gate", "--conf", conf(stored, gates=gates), "--date", NIGHTS[-1], "--splits") == 2
    assert "--splits is of a replay: give it with --replay, as --replay 90d --splits" in capsys.readouterr().err


def test_verdicts_on_the_same_rows_fail_together() -> None:
    """By hand: the noise 0.2 fails both, -0.2 none, so one of two halves; taken apart it would be 3 of 4."""
    judge = Judge(
        [Rule("g", metric="*", metrics=("auc", "ks"), models=("m",), model="m", kind="min", bound=0.5)],
        better={"auc": True, "ks": True},
    )
    cells = [Cell("auc", "m"), Cell("ks", "m")]
    judged = judge.verdicts(Facts("d", {cell: IntervalEstimate(0.5, 0.4, 0.6, 0.05, "") for cell in cells}), "d")
    (record,) = records_of([("d", judged)], {"d": {each.key: [-0.2] for each in judged}})
    assert (record.in_splits, record.split_nights) == (0.5, 1)
    (record,) = records_of([("d", judged)], {"d": {each.key: [0.05] for each in judged}})
    assert record.in_splits == 0.0  # the interval reaches further than the noise
    worse = [judged[0], replace(judged[1], sign=-1)]  # of which higher is worse: the one half fails it, the other not
    (record,) = records_of([("d", worse)], {"d": {each.key: [0.2] for each in worse}})
    assert record.in_splits == 1.0
    apart = {each.key: [0.2 if number else -0.2] for number, each in enumerate(judged)}
    (record,) = records_of([("d", judged)], {"d": apart})
    assert record.in_splits == 1.0


def test_a_history_has_no_halves(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of each night with two nights before it the chance is that of its width, 0.27 %."""
    gate = {"metric": "logloss", "model": "b", "not_worse_than": "history"}
    text = replayed(stored, capsys, gates=[gate], history={"days": 2, "least_days": 2})
    found = re.fullmatch(r" (\d\.\d\d)", text)
    assert found is not None
    assert float(found[1]) == pytest.approx(0.0027 * (len(NIGHTS) - 2), abs=0.005)
