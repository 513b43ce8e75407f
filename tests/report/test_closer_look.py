"""Look closer: which groups are named, with what command, and what is hidden; worked by hand on six groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.report.data import CloserLook, GateRow
from sparkrank.report.report_tables import ReportTables
from sparkrank.report.sections.closer_look import CLOSER_LOOK
from tests.support.commands import exit_code
from tests.support.reports import DAYS, conf_of, rows_of, stored, write_log

# the place of the one click among three rows, by user, of both models; rr is its inverse
PLACES = {"it's": (1, 3), "b": (1, 2), "c": (2, 1), "d": (3, 3), "e": (2, 2), "f": (1, 1)}


def tables(**changes: Any) -> ReportTables:
    rows: dict[str, list[Any]] = {"user": [], "click": [], "old": [], "new": []}
    for user, places in PLACES.items():
        for row in range(3):
            rows["user"].append(user)
            rows["click"].append(int(row == 0))
            for model, place in zip(("old", "new"), places, strict=True):
                rows[model].append(-place if row == 0 else -(row + 0.5) if row < place else -(row + 1.5))
    names = {name: name for name in ("old", "new")}
    columns = {"group": "user", "label": "click", "score": names}
    ev = sr.evaluate(pa.table(rows), ["rr", "p@1"], **columns, compare="old", group_table=True)
    table = GroupTable.of_evaluation("report", ev.groups, ev.plan)
    made = ReportTables("day", "2026-01-31", ev.metrics, ev.compare("old"), groups=table, conf="my spec.yaml")
    return replace(made, **changes)


def look(**changes: Any) -> CloserLook:
    made: CloserLook = CLOSER_LOOK.make(tables(**changes))[0]
    return made


def test_the_worst_come_first_and_the_moved_by_size() -> None:
    """Of new: 1/3 of two users, then 1/2; the moves are -2/3, -1/2 and 1/2, ties by the key."""
    made = look()
    assert (made.metric, made.model, made.baseline) == ("rr", "new", "old")
    assert [group.key["user"] for group in made.worst] == ["d", "it's", "b", "e", "c", "f"]
    assert [(group.key["user"], group.difference) for group in made.moved] == [
        ("it's", pytest.approx(1 / 3 - 1)),
        ("b", 1 / 2 - 1),
        ("c", 1 - 1 / 2),
    ]
    first = made.moved[0]
    assert (first.baseline_value, first.value, first.n_rows, first.n_relevant) == (1.0, pytest.approx(1 / 3), 3, 1)
    assert first.command == (
        "sparkrank explain --conf 'my spec.yaml' --date 2026-01-31 --metric rr --group 'user=it'\"'\"'s'"
    )


def test_a_gate_that_stops_says_which_metric_and_model() -> None:
    values = {"gate": "g", "metric": "p@1", "model": "old", "slice": "all", "verdict": "fail"}
    gates = pa.table({name: [value] for name, value in values.items()})
    assert {*values} <= {*GateRow.__dataclass_fields__}  # type: ignore[attr-defined]
    made = look(gates=gates)
    assert (made.metric, made.model, made.baseline, made.moved) == ("p@1", "old", None, ())


@pytest.mark.parametrize("also", [[], ["rr(label=pay)"]])
def test_a_model_with_a_label_of_its_own_is_looked_at_by_it(also: list[str]) -> None:
    """The click of u is first, and the payment second; of v it is the other way round. Both models rank alike."""
    log = {"user": list("uuvv"), "score": [2.0, 1.0] * 2, "click": [1, 0, 0, 1], "pay": [0, 1, 1, 0]}
    score = {"ctr": "score", "cvr": {"column": "score", "label": "pay"}}
    label = {"click": "click", "pay": "pay"}
    ev = sr.evaluate(pa.table(log), ["rr", *also], group="user", score=score, label=label, group_table=True)
    table = GroupTable.of_evaluation("report", ev.groups, ev.plan)
    made = CLOSER_LOOK.make(ReportTables("day", "2026-01-31", ev.metrics, baseline="ctr", groups=table))[0]
    assert (made.metric, made.model) == ("rr(label=pay)", "cvr")
    assert [(group.key["user"], group.value) for group in made.worst] == [("u", 1 / 2), ("v", 1)]


def test_hidden_keys_are_nowhere() -> None:
    made = look(shows_keys=False)
    assert "it's" not in repr(made)
    assert {group.command.partition("--metric rr ")[2] for group in made.worst} == {"--worst 10 --model new"}
    assert {group.command.partition("--metric rr ")[2] for group in made.moved} == {"--moved 10 --models old new"}


def test_explanations_stand_once_and_a_reason_where_there_are_none() -> None:
    def explain(columns: Sequence[str], keys: Sequence[Any], metric: str, models: Sequence[str]) -> dict[Any, str]:
        assert (columns, metric, models) == (["user"], "rr", ["old", "new"])
        return {key: f"about {key[0]}" for key in keys[:2]}

    made = look(explain=explain)
    assert [group.explanation for group in made.worst[:3]] == ["about d", "about it's", None]
    assert {group.explanation for group in made.moved} == {None}  # it's is explained above

    def gone(*_: Any) -> dict[Any, str]:
        raise InputError("the input is gone")

    assert CLOSER_LOOK.make(tables(explain=gone))[1] == "Groups are not explained: the input is gone."


def test_a_run_explains_as_many_as_the_spec_says(tmp_path: Path) -> None:
    write_log(tmp_path, DAYS[0], rows_of(0, 300))
    output = {"path": f"{tmp_path}/out", "explain": 3}
    conf = conf_of(tmp_path, output=output, metrics=["rr"], gates=[], history={})
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", DAYS[0]) == 0
    made = stored(conf, DAYS[0]).closer
    texts = [group.explanation for group in (*made.worst, *made.moved) if group.explanation is not None]
    assert len(texts) == 3
    assert all("rr = contributions" in text or "step" in text for text in texts)
    hidden = conf_of(tmp_path, output=output, metrics=["rr"], gates=[], history={}, report={"keys": False})
    assert "user=" not in repr(stored(hidden, DAYS[0]).closer)


def test_a_day_without_clicks_has_no_group_to_look_at() -> None:
    rows = pa.table({"user": ["a", "a", "b"], "old": [2.0, 1.0, 1.0], "click": [0, 0, 0]})
    ev = sr.evaluate(rows, ["rr"], group="user", score="old", label="click", group_table=True)
    table = GroupTable.of_evaluation("report", ev.groups, ev.plan)
    made = CLOSER_LOOK.make(ReportTables("day", "2026-01-31", ev.metrics, None, groups=table, conf="spec.yaml"))
    assert made == (None, "No group has a value of rr.")
