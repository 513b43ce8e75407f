"""The file of ``--prometheus`` is what the parser of Prometheus's own client reads, whole or not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from sparkrank.jobs import prometheus_job
from tests.support.commands import exit_code

DAY = "2026-11-18"
# Of user a the click stands second, of user b first; nothing of c is clicked, so rr is undefined there.
ROWS = pa.table(
    {
        "user": ["a", "a", "b", "c"],
        "country": ['d"e\\', 'd"e\\', None, '"(null)"'],
        "s": [0.9, 0.8, 0.7, 0.6],
        "y": [0, 1, 1, 0],
    }
)


def conf_of(folder: Path, **more: Any) -> str:
    pq.write_table(ROWS, folder / "log.parquet")
    columns = {"group": "user", "label": "y", "score": {"new": "s"}}
    spec = {"input": {"path": str(folder / "log.parquet"), "columns": columns}, "metrics": ["rr", "p@2"]}
    spec |= {"output": {"path": str(folder / "tables")}, "engine": {"lane": "local"}, "slices": ["country"], **more}
    (conf := folder / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    return str(conf)


def series(file: Path) -> dict[str, dict[tuple[str, ...], float]]:
    """The values of each family by their labels."""
    families = list(text_string_to_metric_families(file.read_text("utf-8")))
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples} for family in families
    }


def labelled(file: Path) -> dict[tuple[str, ...], float]:
    """The values of ``sparkrank_metric`` by metric, model, slice and value of the slice."""
    (family,) = (
        one for one in text_string_to_metric_families(file.read_text("utf-8")) if one.name == "sparkrank_metric"
    )
    names = ("metric", "model", "slice", "slice_value")
    return {tuple(sample.labels[name] for name in names): sample.value for sample in family.samples}


def test_a_day_a_window_and_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = [{"metric": "rr", "min": 2, "name": "high"}, {"metric": "p@2", "min": 0, "name": "low"}]
    conf, file = conf_of(tmp_path, gates=gates), tmp_path / "eval.prom"
    asked = ("--conf", conf, "--prometheus", str(file), "--quiet")
    assert exit_code("evaluate", *asked, "--date", DAY, "--slice", "country") == 3
    found = labelled(file)
    assert found["rr", "new", "all", "all"] == (1 / 2 + 1) / 2
    assert found["p@2", "new", "all", "all"] == (1 / 2 + 1 / 2 + 0) / 3
    by_country = {key[3]: value for key, value in found.items() if key[0] == "p@2" and key[2] == "country"}
    assert by_country == {'d"e\\': 1 / 2, "(null)": 1 / 2, r'"\"(null)\""': 0}
    assert ("rr", "new", "country", r'"\"(null)\""') not in found  # undefined
    others = series(file)
    assert others["sparkrank_gate"] == {("high",): 2, ("low",): 0}
    assert others["sparkrank_rows"] == {(): 4}
    assert others["sparkrank_day_seconds"][()] > 0
    assert not [place for place in tmp_path.iterdir() if ".prom." in place.name]
    assert exit_code("merge", *asked, "--from", DAY, "--to", DAY) == 3
    assert {key[2] for key in labelled(file)} == {"all"}  # slices are named each time
    file.unlink()
    assert exit_code("accept", "--conf", conf, "--date", DAY, "--reason", "seen", "--gate", "high", "--quiet") == 0
    assert exit_code("gate", *asked, "--date", DAY) == 0
    assert series(file)["sparkrank_gate"] == {("high",): 0, ("low",): 0}
    assert exit_code("gate", *asked, "--date", "2026-11-17") == 3  # not stored: that fails
    assert series(file) == {"sparkrank_gate": {("high",): 2, ("low",): 2}}
    assert capsys.readouterr().out == ""


def test_what_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf, file = conf_of(tmp_path), tmp_path / "eval.prom"
    for words, sentence in (
        (("--prometheus", f"{tmp_path}/none/eval.prom"), "a file in a folder that exists is needed"),
        (("--prometheus", str(tmp_path)), "a file in a folder that exists is needed"),
        (("--prometheus", str(file), "--slice", "contry"), '"contry", which is not a slice, did you mean "country"?'),
        (("--slice", "country"), "--slice names slices for --prometheus, which is not given"),
    ):
        assert exit_code("evaluate", "--conf", conf, "--date", DAY, *words) == 2
        assert sentence in capsys.readouterr().err
    assert exit_code("evaluate", "--conf", conf, "--from", DAY, "--to", DAY, "--prometheus", str(file)) == 2
    assert "use merge for a window" in capsys.readouterr().err
    assert not (tmp_path / "tables").exists()
    file.write_text("before", encoding="utf-8")
    monkeypatch.setattr(prometheus_job, "MOST_SERIES", 3)
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--prometheus", str(file)) == 1
    assert re.search(rf"{DAY} has \d+ series, and at most 3 are allowed \(name fewer slices\)", capsys.readouterr().err)
    assert file.read_text("utf-8") == "before"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert exit_code("evaluate", "--conf", conf, "--date", DAY, "--prometheus", str(file)) == 2
    assert "pip install 'sparkrank[prometheus]'" in capsys.readouterr().err
