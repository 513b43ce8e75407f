"""A day that is not all there ends with exit code 4 and a sentence, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec, load_spec
from sparkrank.jobs import DayResult, evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources import parquet
from tests.support.commands import exit_code, write_spec
from tests.support.logged import OF_SMALL_LOGS

FIRST, SECOND = "2026-01-30", "2026-01-31"


def write(folder: Path, what: str, day: str, rows: int, name: str = "a.parquet") -> None:
    place = folder / what / f"dt={day}"
    place.mkdir(parents=True, exist_ok=True)
    items = pa.array(range(rows))
    pq.write_table(pa.table({"u": [1] * rows, "i": items, "s": items.cast("double"), "y": [1] * rows}), place / name)


def document(folder: Path, expect: Any, side: str = "input", path: str = "dt={date}") -> dict[str, Any]:
    columns = {"group": "u", "item": "i", "score": "s"}
    sides: dict[str, Any] = {
        "input": {"path": f"{folder}/input/dt={{date}}", "columns": columns},
        "truth": {"path": f"{folder}/truth/dt={{date}}", "columns": {"label": "y"}},
    }
    sides[side] |= {"expect": expect, "path": f"{folder}/{side}/{path}"}
    rest = {"metrics": ["r@5"], "output": {"path": f"{folder}/out"}, "engine": {"lane": "local"}}
    return {**sides, **rest, "definitions": {"duplicates": "once"}}


def run(folder: Path, expect: Any, day: str = SECOND, **of: Any) -> DayResult:
    return evaluate_day(Spec.model_validate(document(folder, expect, **of)), day, None, Stages())


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Two days: 10 and 4 rows of lists, 6 and 2 rows of truth."""
    for day, lists, truth in ((FIRST, 10, 6), (SECOND, 4, 2)):
        write(tmp_path, "input", day, lists)
        write(tmp_path, "truth", day, truth)
    return tmp_path


@pytest.mark.parametrize(("side", "rows", "before"), [("input", 4, 10), ("truth", 2, 6)])
def test_the_least_rows_and_a_share_of_yesterday(days: Path, side: str, rows: int, before: int) -> None:
    """Of the same side, whatever the other has; the day that stood there before stays."""
    sentence = f"{side}.expect.min_fraction_of_yesterday is not checked: 2026-01-29 has no tables"
    enough = {"min_rows": rows, "min_fraction_of_yesterday": rows / before - 0.0001}
    for day, expect, warned in ((FIRST, {"min_fraction_of_yesterday": 1}, [True]), (SECOND, enough, [])):
        warnings = run(days, expect, day, side=side).warnings
        about_input = [warning for warning in warnings if getattr(warning, "code", None) not in OF_SMALL_LOGS]
        assert [sentence in warning for warning in about_input] == warned
    stored = {file: file.read_bytes() for file in (days / "out").rglob("*.parquet")}
    for expect, refused in (
        ({"min_rows": rows + 1}, rf"{rows} rows .*min_rows is {rows + 1} "),
        ({"min_fraction_of_yesterday": 0.5}, rf".*_yesterday is 0.5 of the {before} rows of {FIRST} "),
    ):
        with pytest.raises(sr.InputError, match=rf"^the {side} is incomplete: {refused}"):
            run(days, expect, side=side)
    assert {file: file.read_bytes() for file in (days / "out").rglob("*.parquet")} == stored


@pytest.mark.parametrize("side", ["input", "truth"])
def test_a_marker_in_the_folder(days: Path, side: str) -> None:
    paths = ["dt={date}", "dt={date}/", "dt={date}/*.parquet", "dt={date}/a.parquet"]
    several = [] if side == "truth" else ["dt={date-1}..{date}"]
    (days / side / f"dt={FIRST}/_SUCCESS").touch()
    for path in paths + several:
        with pytest.raises(sr.InputError, match=rf"^the {side} is incomplete: .*/{side}/dt={SECOND} has no file _SUCC"):
            run(days, {"marker": "_SUCCESS"}, side=side, path=path)
    assert not (days / "out").exists()
    (days / side / f"dt={SECOND}/_SUCCESS").touch()
    for path in paths:
        run(days, {"marker": "_SUCCESS"}, side=side, path=path)


def test_a_file_that_is_being_copied_is_named(days: Path) -> None:
    for names in (["a.parquet", "b.parquet._COPYING_"], ["b.parquet._COPYING_"]):
        for file in (days / f"input/dt={SECOND}").iterdir():
            file.unlink()
        for name in names:
            write(days, "input", SECOND, 3, name)
        with pytest.raises(sr.InputError, match=r"b\.parquet\._COPYING_ is still being copied"):
            run(days, None)


def test_rows_that_are_not_those_of_the_footer(days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a reader that stops early; none does that we know of."""
    batches = parquet.leaf_batches
    monkeypatch.setattr(parquet, "leaf_batches", lambda *given: (batch.slice(1) for batch in batches(*given)))
    with pytest.raises(sr.InputError, match=r"a\.parquet cannot be read: \d rows came of the \d of its footer"):
        run(days, None)


def test_what_is_no_expectation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "expects nothing: name marker, newer_than, min_rows, min_fraction_of_yesterday"),
        ({"min_row": 1}, 'did you mean "min_rows"'),
        ({"min_rows": 0}, "input.expect.min_rows"),
        ({"min_rows": "many"}, "input.expect.min_rows"),
        ({"min_fraction_of_yesterday": 1.5}, "input.expect.min_fraction_of_yesterday"),
        ({"marker": "a/b"}, "without folders"),
        ({"marker": " "}, "input.expect.marker"),
    ]
    for expect, sentence in cases:
        assert exit_code("validate", "--conf", write_spec(tmp_path, document(tmp_path, expect))) == 2
        assert sentence in capsys.readouterr().err, expect
    of_table = document(tmp_path, {"marker": "_SUCCESS"})
    of_table["input"] |= {"table": "a.b", "path": None}
    with pytest.raises(ValueError, match=r"has expect\.marker, but table a\.b"):
        Spec.model_validate(of_table)


def test_a_number_as_yaml_reads_it_and_the_same_hash(tmp_path: Path) -> None:
    """YAML takes 1e6 for a text. What is expected changes no number."""
    conf = write_spec(tmp_path, document(tmp_path, None))
    plain, expecting = load_spec(conf), load_spec(conf, ["input.expect.min_rows=1e6"])
    assert expecting.input.expect is not None
    assert expecting.input.expect.min_rows == 1_000_000
    assert expecting.hash() == plain.hash()
