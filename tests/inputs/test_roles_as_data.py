"""A role that is a row of the table of roles, and named by the metric that needs it, needs nothing else to be read."""

from __future__ import annotations

import dataclasses
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.checks import NO_LIMITS, Limits
from sparkrank.bucket import bucket_columns
from sparkrank.config import sections
from sparkrank.engines.request import Request
from sparkrank.inputs import role_table as columns
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.roles import Roles, TruthColumns
from sparkrank.metrics import Definitions, Metric
from sparkrank.metrics.metric import CATALOG
from sparkrank.run.execute import EvaluationOutcome, open_request
from sparkrank.run.stages import Stages
from sparkrank.sources.columns import bucket_rows, needed_columns
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.text_schema import number_kinds
from sparkrank.tables.rows.limits import limits_of
from tests.support.fake_roles import LOG, NAMED, NAN_EXPOSURE, add_fake_roles, asked
from tests.support.joined import counts_of


@pytest.fixture
def fake_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    add_fake_roles(monkeypatch)


def evaluated(rows: pa.Table, limits: Limits = NO_LIMITS, **named: str) -> EvaluationOutcome:
    roles, plan = asked(**named)
    stages = Stages()
    return open_request(Request((SideRows.of("input", rows),), None, roles, plan, limits), stages).evaluate(stages)


@pytest.mark.usefixtures("fake_roles")
def test_it_is_read_where_a_metric_needs_it() -> None:
    roles, plan = asked(**NAMED)
    assert needed_columns(roles, plan) == ["user", "label", "score", "topic", "chance"]
    assert {"subtopic", "exposure"} <= set(bucket_columns(plan, 1))
    rows = bucket_rows(LOG, roles, plan)
    assert rows["subtopic"].to_pylist() == [7, None, 8, 9]
    assert rows["exposure"].to_pylist()[:2] == [0.5, 0.25]
    roles, plan = asked("ap", **NAMED)
    assert needed_columns(roles, plan) == ["user", "label", "score"]
    assert not {"subtopic", "exposure"} & set(bucket_columns(plan, 1))


@pytest.mark.usefixtures("fake_roles")
def test_it_must_be_named_and_be_there() -> None:
    with pytest.raises(sr.SpecError, match=r"^rr reads the sub topic, but no subtopic column is named$"):
        asked(exposure="chance")
    with pytest.raises(sr.InputError, match=r'^the sub topic column "topc" is not in the input, did you'):
        evaluated(LOG, **{**NAMED, "subtopic": "topc"})
    with pytest.raises(sr.InputError, match=r'^the exposure column "item" is of type string: a number is needed$'):
        evaluated(LOG, **{**NAMED, "exposure": "item"})
    lists = LOG.append_column("nested", pa.array([[1]] * 4))
    with pytest.raises(sr.InputError, match=r'^the sub topic column "nested" is of type list.*: a plain value is'):
        evaluated(lists, **{**NAMED, "subtopic": "nested"})


@pytest.mark.usefixtures("fake_roles")
def test_its_bad_rows_are_rejected_and_counted() -> None:
    outcome = evaluated(LOG, Limits(0.25), **NAMED)
    counts = counts_of(outcome)
    assert (counts[NAN_EXPOSURE], counts["rows rejected"], counts["rows evaluated"]) == (1, 1, 3)
    # of a the relevant row stands second; that of b was the bad one, so that rr of b is undefined, and skipped
    assert outcome.metrics["value"].to_pylist() == [1 / 2]
    with pytest.raises(sr.InputError, match=r"25.0000% of the rows cannot be evaluated \(1 NaN exposure\)"):
        evaluated(LOG, **NAMED)
    _, plan = asked(**NAMED)
    assert limits_of(plan, 0.0, {NAN_EXPOSURE: 0.1}).by_check == {NAN_EXPOSURE: 0.1}


def with_rr(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Change the declaration of rr."""
    monkeypatch.setitem(CATALOG, "rr", dataclasses.replace(CATALOG["rr"], **changes))


def test_the_metric_reads_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of the chances of each group's rows, and of each the number of its topic, -1 for none."""
    add_fake_roles(monkeypatch)
    read: list[tuple[list[int], list[float]]] = []

    def values(ranking: Any, _: Metric) -> Any:
        topics, chances = ranking.columns["subtopic"], ranking.columns["exposure"]
        read.append((topics.tolist(), chances.tolist()))
        return np.bincount(ranking.judgments.codes, chances, ranking.groups)

    with_rr(monkeypatch, values=values, sums=None, highest=math.inf)
    assert evaluated(LOG.slice(0, 2), **NAMED).metrics["value"].to_pylist() == [0.5 + 0.25]
    topics, chances = read[0]
    assert (topics[0] >= 0, topics[1], chances) == (True, -1, [0.5, 0.25])


def test_a_metric_may_read_a_role_that_is_there_already_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    for role, column in (("weight", "chance"), ("reference_rank", "score"), ("item", "item")):
        read: list[list[float]] = []

        def values(ranking: Any, _: Metric, role: str = role, read: list = read) -> Any:
            read.append(ranking.columns[role].tolist())
            return np.ones(ranking.groups)

        with_rr(monkeypatch, values=values, sums=None, columns=(role,))
        evaluated(LOG.slice(0, 2), **{role: column})
        x, y = read[0]
        assert (x != y) if role == "item" else (x, y) == (0.5, 0.25)
        with pytest.raises(sr.SpecError, match=rf"^rr reads the .*, but no {role} column is named$"):
            asked()
    with_rr(monkeypatch, columns=("wieght",))
    with pytest.raises(sr.SpecError, match=r'^rr reads the role "wieght", did you mean "weight"'):
        asked()


@pytest.mark.usefixtures("fake_roles")
def test_files_have_it_too(tmp_path: Path) -> None:
    """A file that lacks it is refused by its name; in texts a name stays one, and a number becomes one."""
    pq.write_table(LOG, tmp_path / "0.parquet")
    pq.write_table(LOG.drop_columns(["topic"]), tmp_path / "1.parquet")
    with pytest.raises(sr.InputError, match='lacks the sub topic column "topic", which other files have'):
        evaluated(str(tmp_path), **NAMED)
    assert number_kinds(asked(**NAMED)[0], None) == {"label": "double", "score": "double", "chance": "double"}


@pytest.mark.usefixtures("fake_roles")
def test_a_truth_has_what_is_of_both_sides() -> None:
    truth = TruthColumns.of(None, {"subtopic": "aspect"})
    roles, plan = plan_request(Roles.of("user", None, "score", "item", truth=truth, **NAMED), ["rr"], Definitions())
    assert roles.truth is not None
    assert needed_columns(roles.truth, plan) == ["user", "item", "aspect"]
    given = pa.table({"user": ["a"], "item": ["x"], "aspect": [7]})
    rows = bucket_rows(given, roles.truth, plan)
    assert rows["subtopic"].to_pylist() == [7]
    assert rows["exposure"].to_pylist() == [None]  # of the lists alone
    allowed = r"\(allowed: group, item, propensity, cluster, title, time, subtopic, label\)"
    with pytest.raises(sr.SpecError, match=rf'truth_columns names "exposure" {allowed}'):
        TruthColumns.of(None, {"exposure": "chance"})


@pytest.mark.usefixtures("fake_roles")
def test_a_spec_has_it() -> None:
    made = sections.with_row_roles("Fake", sections.Section, columns.row_roles())
    assert made.model_validate(NAMED).model_dump(exclude_none=True) == NAMED
    of_both = sections.with_row_roles("Fake", sections.Section, columns.truth_roles())
    assert set(of_both.model_fields) == {"item", "propensity", "cluster", "title", "time", "subtopic"}


def test_both_doors_name_every_role_of_a_row() -> None:
    keys = {role.key for role in columns.row_roles()}
    assert keys <= set(sections.Columns.model_fields)
    assert keys - {"title"} <= set(inspect.signature(sr.evaluate).parameters)  # only explanations show titles
    assert keys - {"cluster"} <= set(inspect.signature(sr.explain).parameters)
    assert {role.key for role in columns.truth_roles()} | {"group", "label"} == set(sections.TruthNames.model_fields)
