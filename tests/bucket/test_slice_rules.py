"""Slices by a rule: by the intervals between edges."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import load_spec
from tests.support.commands import exit_code
from tests.windows.week import DAYS, spec_of

COLUMNS = {"group": "user", "score": "score", "label": "label"}
AGE = {"column": "age", "edges": [18, 25]}


def values_of(evaluation: sr.Evaluation, slice_: str, metric: str = "rr") -> dict[str | None, tuple[float, int]]:
    """The value and the number of groups of each value of a slice."""
    rows = [row for row in evaluation.table.to_pylist() if (row["slice"], row["metric"]) == (slice_, metric)]
    return {row["slice_value"]: (row["value"], row["n_groups"]) for row in rows}


def users() -> pa.Table:
    """Five users with lists of two rows: first or second row relevant, by turns; one has no age."""
    ages = [17.5, 18.0, 24.9, 25.0, float("nan")]
    return pa.table(
        {
            "user": [user for user in range(5) for _ in range(2)],
            "age": [age for age in ages for _ in range(2)],
            "country": ["de", "de"] * 3 + ["fr", "fr"] * 2,
            "score": [2.0, 1.0] * 5,
            "label": [1, 0, 0, 1] * 2 + [1, 0],
        }
    )


def test_an_interval_has_its_lower_edge_and_lacks_its_upper_one() -> None:
    """Users 1 and 2 are in [18, 25): their relevant rows are second and first, so rr is (1/2 + 1)/2."""
    evaluation = sr.evaluate(users(), ["rr"], **COLUMNS, slices=[AGE, ["country", AGE]], buckets=2)
    assert values_of(evaluation, "age") == {
        "(-inf, 18)": (1.0, 1),
        "[18, 25)": (0.75, 2),
        "[25, inf)": (0.5, 1),
        None: (1.0, 1),
    }
    assert values_of(evaluation, "country,age") == {
        "de,(-inf\\, 18)": (1.0, 1),
        "de,[18\\, 25)": (0.75, 2),
        "fr,[25\\, inf)": (0.5, 1),
        "fr,\\N": (1.0, 1),
    }
    assert evaluation.value("mrr", slice={"country": "de", "age": "[18, 25)"}) == 0.75


def test_a_rule_that_makes_no_sense_is_refused() -> None:
    for slice_, sentence in (
        ({**AGE, "edges": [25, 18]}, "slices[0].edges is [25, 18]: different numbers in ascending order are needed"),
        ({**AGE, "edges": [18, 18]}, "slices[0].edges is [18, 18]: different numbers"),
        ({**AGE, "edges": []}, "slices[0].edges is []: different numbers"),
        ({**AGE, "edges": [float("nan")]}, "slices[0].edges is [nan]: different numbers"),
        ({**AGE, "edges": "18"}, "slices[0].edges is '18': different numbers"),
        ({"column": "age", "egdes": [18]}, 'slices[0] has the key "egdes", did you mean "edges"?'),
        ({"edges": [18]}, "slices[0].column is None: the name of a column is needed"),
        ({"column": "country", "edges": [18]}, 'the slice column "country" is of type string: a number is needed'),
        ([AGE, "age"], "slices[0] is [{'column': 'age', 'edges': [18, 25]}, 'age']: a column or several different"),
    ):
        with pytest.raises(sr.SparkrankError, match=f"^{re.escape(sentence)}"):
            sr.evaluate(users(), ["rr"], **COLUMNS, slices=[slice_])


def conf_of(folder: Path, *slices: Any, **changes: Any) -> str:
    """The path of a spec of :func:`users`, of whom two days have a log."""
    for day in DAYS[:2]:
        (folder / f"log/dt={day}").mkdir(parents=True, exist_ok=True)
        pq.write_table(users(), folder / f"log/dt={day}/0.parquet")
    columns = {"path": f"{folder}/log/dt={{date}}", "columns": COLUMNS}
    return spec_of(folder, input=columns, metrics=["rr", "auc"], slices=[*slices], **changes)


def evaluate(conf: str, *days: str) -> None:
    for day in days:
        assert exit_code("evaluate", "--conf", conf, "--date", day) == 0


def merge(conf: str) -> int:
    return exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1])


def merged(folder: Path, slice_: str, metric: str = "rr") -> dict[str | None, tuple[float, int]]:
    rows = pq.read_table(folder / "tables/windows/metrics").to_pylist()
    rows = [row for row in rows if (row["slice"], row["metric"]) == (slice_, metric)]
    return {row["slice_value"]: (row["value"], row["n_groups"]) for row in rows}


def test_edges_are_part_of_what_a_stored_state_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Days of one set of edges merge; a day of other edges, or of the column itself, is refused by name."""
    evaluate(conf_of(tmp_path, AGE), *DAYS[:2])
    assert merge(conf_of(tmp_path, AGE)) == 0
    assert merged(tmp_path, "age")["[18, 25)"] == (0.75, 4)
    evaluate(conf_of(tmp_path, {**AGE, "edges": [18, 30]}), DAYS[1])
    assert merge(conf_of(tmp_path, AGE)) != 0
    assert (
        f"the slice age of {DAYS[1]} is age by edges 18, 30, and the spec asks for age by edges 18, 25: evaluate that "
        f"day again, or leave age out of slices"
    ) in capsys.readouterr().err


def test_a_gate_takes_an_interval_as_a_value_and_not_as_a_pattern(tmp_path: Path) -> None:
    gates = [{"metric": "rr", "slice": {"age": "[18, 25)"}, "min": 0.7}]
    spec = load_spec(conf_of(tmp_path, AGE, gates=gates))
    judge = spec.judge(spec.plan())
    assert judge is not None
    assert [cell.slice_value for cell in judge.rules[0].cells([])] == ["[18, 25)"]  # so it fails if it vanishes


def test_what_a_spec_says_wrongly_is_refused_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for slice_, sentence in (
        ({"column": "age", "egdes": [18]}, 'unknown key "slices.0.0.egdes", did you mean "edges"?'),
        ({"column": "age", "edges": [True]}, "slices.0.0.edges.0"),
        (7, "slices.0 is 7: a text or a list of texts is needed"),
    ):
        assert exit_code("validate", "--conf", conf_of(tmp_path, slice_)) == 2
        assert sentence in capsys.readouterr().err
