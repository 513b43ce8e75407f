"""Gates at the end of a run, of a day and of a window, and what they leave in the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from sparkrank.base.errors import SpecError
from sparkrank.config import load_spec
from sparkrank.config.gate_sections import Gate, rules_of
from sparkrank.gates.rules import Cell, Rule, covers_slice
from sparkrank.metrics import plan_of
from sparkrank.schemas.tables import GATES
from tests.support.commands import exit_code
from tests.support.nights import conf_of, table_of
from tests.support.stored_files import one_file
from tests.windows.week import DAYS, WINDOW, impressions_of, spec_of, window_table, write_log, write_logs

METRICS = ["ndcg@5", "auc"]
BEYOND: dict[str, Any] = {"metric": "ndcg@5", "model": "production", "min": 2}  # no day reaches it
REACHED: dict[str, Any] = {"metric": "ndcg@5", "min": 0}


def spec(folder: Path, *gates: dict[str, Any], **changes: Any) -> str:
    return spec_of(folder, metrics=METRICS, gates=list(gates), **changes)


AS_BEFORE = {**REACHED, "not_worse_than": "history"}
ENDS: dict[str, tuple[list[dict[str, Any]], int, str]] = {
    "pass": ([REACHED], 0, "pass: ndcg@5 min 0: the gate passes, in 2 of 2 checks"),
    "fail": ([REACHED, BEYOND], 3, "fail: ndcg@5 of production min 2: ndcg@5, production: "),
    "warn": ([AS_BEFORE], 0, "undecided: ndcg@5 not worse than history: "),
    "undecided": ([{**AS_BEFORE, "undecided": "fail"}], 5, "undecided, which stops the day: "),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_run_ends_as_its_gates(tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str) -> None:
    """Its tables are written all the same."""
    gates, code, told = ENDS[end]
    write_logs(tmp_path, DAYS[0])
    assert exit_code("evaluate", "--conf", spec(tmp_path, *gates), "--date", DAYS[0]) == code
    assert told in capsys.readouterr().out
    gates_table = pq.read_table(one_file(tmp_path / f"tables/gates/day={DAYS[0]}"), partitioning=None)
    assert gates_table.schema.equals(GATES.schema)
    runs, metrics = table_of(tmp_path, "runs", DAYS[0]), table_of(tmp_path, "metrics", DAYS[0])
    assert set(gates_table["run_id"].to_pylist()) == set(runs["run_id"]) == set(metrics["run_id"])
    assert {"gates", "metrics", "states"} <= {each["table"] for each in runs["files"][0]}
    values = metrics.set_index(["metric", "model", "slice"])["value"]
    for row in gates_table.to_pylist():
        assert row["value"] == values[row["metric"], row["model"], row["slice"]]
        assert not row["accepted"]
    # asking again says the same
    assert exit_code("gate", "--conf", spec(tmp_path, *gates), "--date", DAYS[0]) == code
    assert told in capsys.readouterr().out


def test_the_document_of_a_gate_has_the_warnings_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, DAYS[0])
    conf = spec(tmp_path, REACHED)
    documents = []
    for command in ("evaluate", "gate"):
        assert exit_code(command, "--conf", conf, "--date", DAYS[0], "--json") == 0
        documents.append(json.loads(capsys.readouterr().out))
    of_run, of_gate = ([warning["sentence"] for warning in document["warnings"]] for document in documents)
    assert of_run
    assert of_gate[: len(of_run)] == of_run


def test_a_run_without_gates_has_no_such_table_and_the_same_numbers(tmp_path: Path) -> None:
    write_logs(tmp_path, DAYS[0])
    assert exit_code("evaluate", "--conf", spec(tmp_path, BEYOND), "--date", DAYS[0]) == 3
    gated = table_of(tmp_path, "metrics", DAYS[0])
    assert exit_code("evaluate", "--conf", spec_of(tmp_path, metrics=METRICS), "--date", DAYS[0]) == 0
    assert not (tmp_path / f"tables/gates/day={DAYS[0]}").exists()
    pd.testing.assert_frame_equal(table_of(tmp_path, "metrics", DAYS[0]), gated)  # spec_hash and run_id too


def test_an_acceptance_survives_a_run_with_its_result_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, DAYS[0])
    conf = spec(tmp_path, BEYOND)
    words = ("evaluate", "--conf", conf, "--date", DAYS[0])
    assert exit_code(*words) == 3
    before = {path.name: pq.read_table(path / f"day={DAYS[0]}", partitioning=None) for path in tables_in(tmp_path)}
    accept = ("accept", "--conf", conf, "--date", DAYS[0], "--reason", "known", "--from-now-on")
    assert exit_code(*accept) == 0
    for name, table in before.items():
        same = pq.read_table(tmp_path / f"tables/{name}/day={DAYS[0]}", partitioning=None)
        assert same.num_rows == table.num_rows
        assert name in ("gates", "runs") or same.to_pandas().equals(table.to_pandas())
    at = table_of(tmp_path, "runs", DAYS[0])["accepted_at"][0]

    assert exit_code(*words) == 0
    run = table_of(tmp_path, "runs", DAYS[0]).iloc[0]
    assert (run["accepted_at"], run["accepted_reason"], run["from_now_on"]) == (at, "known", True)
    gates = table_of(tmp_path, "gates", DAYS[0])
    assert (gates["accepted"].tolist(), gates["from_now_on"].tolist()) == ([True], [True])
    assert exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[0]) == 3  # a window is accepted by itself

    write_log(tmp_path, impressions_of(DAYS[1], 200), DAYS[0])
    capsys.readouterr()
    assert exit_code(*words) == 3
    assert f'{DAYS[0]} was accepted ("known") with another result: that no longer holds' in capsys.readouterr().out
    run = table_of(tmp_path, "runs", DAYS[0]).iloc[0]
    assert (run["accepted_reason"], run["from_now_on"]) == (None, None)
    gates = table_of(tmp_path, "gates", DAYS[0])
    assert (gates["accepted"].tolist(), gates["from_now_on"].tolist()) == ([False], [False])


def tables_in(folder: Path) -> list[Path]:
    return [path for path in (folder / "tables").iterdir() if not path.name.startswith("_")]


def test_a_window_has_gates_and_acceptances_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path, *DAYS)
    plain = spec_of(tmp_path, "free", metrics=METRICS)
    for day in DAYS:
        assert exit_code("evaluate", "--conf", plain, "--date", day) == 0
    ends = ("--from", DAYS[0], "--to", DAYS[-1])
    conf = spec(tmp_path, BEYOND)
    assert [exit_code(word, "--conf", conf, *ends) for word in ("gate", "merge", "gate")] == [3, 3, 3]
    assert window_table(tmp_path, "gates")["verdict"].tolist() == ["fail"]
    assert exit_code("accept", "--conf", conf, *ends, "--reason", "a fair") == 0
    assert [exit_code(word, "--conf", conf, *ends) for word in ("gate", "merge")] == [0, 0]
    for table in ("gates", "runs"):
        assert window_table(tmp_path, table)["accepted_reason"].tolist() == ["a fair"]
    capsys.readouterr()

    # windows are compared with those of as many days that share none with them
    history = spec(tmp_path, {**BEYOND, "min": 0, "not_worse_than": "history"}, history={"least_days": 2, "days": 2})
    for first, last in ((0, 1), (1, 2), (2, 3), (4, 5)):
        words = ("--conf", history, "--from", DAYS[first], "--to", DAYS[last])
        assert exit_code("merge", *words) == 0
    printed = capsys.readouterr().out
    counts = [line.partition("its history has ")[2][:1] for line in printed.splitlines() if "its history has" in line]
    assert counts == ["0", "0", "1"]
    assert "the band of the 2 days before" in printed
    assert WINDOW.startswith(DAYS[0])


def test_a_day_of_failed_gates_is_no_standard_and_an_accepted_one_is(tmp_path: Path) -> None:
    write_logs(tmp_path, *DAYS[:4])
    gates = ({**BEYOND, "name": "beyond"}, {**REACHED, "model": "production", "not_worse_than": "history", "name": "h"})
    conf = spec(tmp_path, *gates)
    for day in DAYS[:3]:
        assert exit_code("evaluate", "--conf", conf, "--date", day) == 3
    for accepted, told in ((DAYS[1], "has 0 days"), (DAYS[0], "has 1 day "), (None, "has 2 days")):
        assert exit_code("evaluate", "--conf", conf, "--date", DAYS[3]) == 3
        rows = table_of(tmp_path, "gates", DAYS[3])
        assert told in rows[rows["kind"] == "history"]["reason"].iloc[0]
        if accepted:
            assert exit_code("accept", "--conf", conf, "--date", accepted, "--reason", "known") == 0


NEEDED = "a number from 0, or a share such as 0.5%, is needed"


REFUSED_GATES: list[tuple[dict[str, Any], str]] = [
    ({"metric": "ndgc@10"}, 'gates[0].metric "ndgc@10" is no metric of this spec, did you mean "ndcg@10"?'),
    ({"metric": "ap*"}, 'gates[0].metric "ap*" matches no metric of this spec'),
    ({"model": "candidat"}, 'gates[0].model "candidat" is no model of this spec, did you mean "candidate"?'),
    ({"model": "x*"}, 'gates[0].model "x*" matches no model of this spec (production, candidate)'),
    (
        {"slice": {"contry": "*"}},
        'gates[0].slice "contry" is not a slice of this spec, did you mean "country"? (country)',
    ),
    ({"slice": {"country": "*", "device": "*"}}, 'gates[0].slice "country,device" is not a slice of this spec'),
    ({"slice": {"country": False}}, "gates.0.slice has country false: put it in quotes, as in the tables"),
    ({"slice": {}}, "gates.0 has an empty slice"),
    ({"minn": 1}, 'unknown key "gates.0.minn", did you mean "min"? (known here: metric, name, model, slice, '),
    ({"min": None}, "gates.0 has no condition: min, max, not_worse_than or equivalent_to is needed"),
    ({"min": True}, "gates.0.min is True: a number is needed"),
    ({"min": float("nan")}, "gates.0.min is nan: a finite number is needed"),
    ({"min": 2, "max": 1}, "gates.0 has min 2 above max 1: no value lies between them"),
    ({"by": 0.1}, "gates.0 has by, which is the margin of not_worse_than and equivalent_to, but has none"),
    ({"not_worse_than": "baseline", "equivalent_to": "baseline", "by": 1}, "but by is the margin of one: write two"),
    ({"equivalent_to": "production"}, "gates.0 has equivalent_to without a margin: give by"),
    ({"equivalent_to": "production", "by": 0}, "gates.0 has equivalent_to without a margin: give by"),
    ({"equivalent_to": "history", "by": "1%"}, 'gates[0].equivalent_to is "history": a model or baseline is needed ('),
    ({"equivalent_to": "production", "by": "1%", "model": "production"}, "compares production with itself"),
    ({"correction": "bonferroni"}, "gates.0.correction is 'bonferroni' (allowed: holm, benjamini-hochberg, none)"),
    ({"not_worse_than": "production", "by": "five"}, f"gates.0.by is 'five': {NEEDED}"),
    ({"not_worse_than": "production", "by": -1}, f"gates.0.by is -1: {NEEDED}"),
    ({"not_worse_than": "productoin"}, 'gates[0].not_worse_than is "productoin", did you mean "production"?: a model'),
    ({"not_worse_than": "production", "model": "production"}, "gates[0] compares production with itself"),
    ({"metric": "copc", "not_worse_than": "production"}, "gates[0].not_worse_than does not apply to copc, because"),
    ({"undecided": "stop"}, "gates.0.undecided is 'stop' (allowed: fail, warn, pass)"),
    ({"name": " "}, "gates.0 has an empty name"),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"gates": [], "undecided": "fail"}, "undecided is fail, but the spec has no gates"),
    ({"history": {"days": 9}}, "history is given, but no gate compares with it"),
    ({"history": {"least_days": 29}}, "history has least_days 29, but days 28"),
    ({"history": {"dyas": 29}}, 'unknown key "history.dyas", did you mean "days"?'),
    ({"history": {"days": 1}}, "history.days is 1: a number of at least 2 is needed"),
    (
        {"gates": [{"metric": "copc", "not_worse_than": "history"}], "history": {"sides": "worse"}},
        "because neither higher nor lower values are better: give history: {sides: both}",
    ),
    ({"gates": [{"metric": "copc", "min": 0}] * 2}, 'gates[1] is "copc min 0" again: gates have names of their own'),
]


def test_what_is_wrong_with_a_gate_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = []
    of_gate = [({"gates": [{"metric": "ndcg@10", "min": 0, **gate}]}, sentence) for gate, sentence in REFUSED_GATES]
    for changes, sentence in [*of_gate, *REFUSED]:
        conf = conf_of(tmp_path, **{"gates": [{"metric": "copc", "min": 0}], **changes})
        code = exit_code("validate", "--conf", conf, "--set", "day=2026-11-19")
        if code != 2 or sentence not in capsys.readouterr().err:
            failed.append((changes, code))
    assert failed == []
    for command in ("evaluate", "gate"):  # as validate does
        assert exit_code(command, "--conf", conf, "--set", "day=2026-11-19") == 2
        assert sentence in capsys.readouterr().err


def test_what_validate_prints_is_a_spec_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = [
        {"metric": "NDCG@10", "slice": {"country": 7}, "min": 0, "max": 1, "undecided": "pass"},
        {"metric": "log*", "not_worse_than": "history", "by": "0.5 %"},
    ]
    conf = conf_of(tmp_path, gates, history={"days": 9, "same_weekday": True})
    assert exit_code("validate", "--conf", conf) == 0
    printed = capsys.readouterr().out
    Path(conf).write_text(printed, encoding="utf-8")
    assert exit_code("validate", "--conf", conf) == 0
    assert capsys.readouterr().out == printed
    assert yaml.safe_load(printed)["gates"][0]["slice"] == {"country": "7"}
    judge = load_spec(conf).judge(load_spec(conf).plan())
    names = ["NDCG@10 where country=7 min 0", "NDCG@10 where country=7 max 1", "log* not worse than history by 0.5%"]
    assert [rule.gate for rule in judge.rules] == names


def test_a_gate_compares_with_what_the_spec_compares_with() -> None:
    plan, own = plan_of(["ndcg@10"], ["production", "candidate"], ["user"]), "gates[0].not_worse_than is"
    for word, baseline, sentence in (
        ("baseline", None, f"{own} baseline, but the spec has no compare.baseline: add it"),
        ("candidate", "production", f"{own} candidate, but models are compared only with"),
        ("production", None, "the spec compares no models: give compare: {baseline: production}"),
    ):
        with pytest.raises(SpecError, match=re.escape(sentence)):
            rules_of([Gate(metric="ndcg@10", not_worse_than=word)], plan, None, None, baseline)
    for word in ("baseline", "production"):
        (rule,) = rules_of([Gate(metric="ndcg@10", not_worse_than=word)], plan, None, None, "production")
        assert (rule.kind, rule.against, rule.models) == ("not_worse_than", "production", ("candidate",))


def test_slices_of_several_columns_match_column_by_column_or_as_a_whole() -> None:
    of = covers_slice
    assert of((("country", "de"), ("device", "*")), "device,country", "web,de")
    assert not of((("country", "de"), ("device", "*")), "device,country", "web,fr")
    assert not of((("country", "de"),), "device,country", "web,de")
    assert not of((("country", "de"),), "device", "de")
    assert of((("device,country", "web,*"),), "device,country", "web,de")
    assert of((("*", "*"),), "device,country", None)
    assert not of((("*", "*"),), "all", "all")
    assert of((("country", None), ("device", "w*")), "device,country", "web,\\N")
    assert of((("country", "a,b"), ("device", "w?b")), "device,country", "web,a\\,b")
    assert of((("country", "a*b"), ("device", "*")), "device,country", "\\N,a*b")  # what is the pattern itself matches
    two = Rule("g", "min", "m", ("m",), ("x",), None, (("country", "a,b"), ("device", None)), (("device", "country"),))
    assert two.cells([]) == [Cell("m", "x", "device,country", "\\N,a\\,b")]


def test_models_of_a_run_are_compared_with_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What differs alike in every group, as a copy or a reverse of a perfect model, says nothing of other groups."""
    rows = impressions_of(DAYS[0], 600).dropna(subset=["other"])
    rows["score"] = rows["clicked"] + rows["score"] / 2  # a good model
    rows["copy"], rows["reverse"] = rows["score"], -rows["score"]
    write_log(tmp_path, rows, DAYS[0])
    for model, by, code, told in (
        ("copy", 0, 0, "could be worse than allowed: "),
        ("reverse", 0, 0, "could be worse than allowed: "),
        ("other", 0, 3, "is worse than allowed: the margin is 0"),
        ("other", 2, 0, "is no worse than allowed: the margin is 2"),
    ):
        gate = {"metric": "*", "model": model, "not_worse_than": "baseline", "by": by}
        scores = {"production": "score", model: model}
        conf = spec(tmp_path, gate, compare={"baseline": "production"}, input__columns__score=scores)
        assert exit_code("evaluate", "--verbose", "--conf", conf, "--date", DAYS[0]) == code
        assert told in capsys.readouterr().out
        gates = table_of(tmp_path, "gates", DAYS[0])
        assert sorted(gates["metric"]) == sorted(METRICS)
        assert exit_code("gate", "--conf", conf, "--date", DAYS[0]) == code
        verdicts, _, _ = capsys.readouterr().out.partition("\nWarnings\n")
        asked = [line for line in verdicts.splitlines() if line.startswith("  ")]
        assert len(asked) == (1 if "no worse" in told else 1 + len(METRICS))
        assert model != "copy" or not gates[["ci_low", "ci_high"]].abs().max().max() > 0
