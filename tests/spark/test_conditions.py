"""Conditions and days as the frame lane takes them: what is no SQL, what fails on a value, and ranges of days."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec
from sparkrank.jobs import DayResult, evaluate_day
from sparkrank.run.stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTS = pa.table({"u": ["a", "a"], "i": ["x", "y"], "s": [2.0, 1.0], "n": ["1", "one"], "zero": [1, 0]})
TRUTH = pa.table({"u": ["a"], "i": ["y"], "n": ["one"], "zero": [0]})
DAY = "2026-02-27"
TAKEN = {DAY: "z", "2026-02-28": "q", "2026-03-01": "y"}


def _evaluated(spark: SparkSession | None, tmp_path: Path, lane: str, **changes: Any) -> DayResult:
    document: dict[str, Any] = {
        "input": {"path": f"{tmp_path}/in", "columns": {"group": "u", "item": "i", "score": "s"}},
        "truth": {"path": f"{tmp_path}/truth/dt={{date}}"},
        "metrics": ["rr"],
        "output": {"path": f"{tmp_path}/out"},
        "engine": {"lane": lane},
    }
    spec = Spec.model_validate(document)
    for key, value in changes.items():  # as they are: the spec would refuse some before Spark's parser has seen them
        part, _, name = key.partition("__")
        spec = spec.model_copy(update={part: getattr(spec, part).model_copy(update={name: value})})
    return evaluate_day(spec, DAY, spark, Stages())


NO_SQL = [
    "u = = 'a'",
    "u in (",
    "nothing_of_the_kind(u) = 'a'",
    "u = date 'x'",
    "zero >= 0 and",  # for Spark's parser a name of what stands before it
    "zero >= 0 anything",
    "zero >= 0 as named",
    "zero >= 0 -- nothing but a comment\n or",
    "zero > 0) or (u = 'a'",
    "zero >= 0 /* no end",
    "(" * 3_000 + "zero >= 0" + ")" * 3_000,
]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    days = {f"truth/dt={day}": TRUTH.set_column(1, "i", [[item]]) for day, item in TAKEN.items()}
    for folder, rows in {"in": LISTS, **days}.items():
        (tmp_path / folder).mkdir(parents=True)
        pq.write_table(rows, tmp_path / folder / "p.parquet")
    return tmp_path


def test_a_condition_that_is_no_sql_is_wrong_in_the_spec(spark: SparkSession, tables: Path) -> None:
    """On the input and on the truth in turns, and the first in every lane."""
    for place, condition in enumerate(NO_SQL):
        side = ("input", "truth")[place % 2]
        for lane in ("frame",) if place else ("auto", "scan", "local", "frame"):
            with pytest.raises(SpecError, match=rf"{side}\.where") as refused:
                _evaluated(None if lane == "local" else spark, tables, lane, **{f"{side}__where": condition})
            assert str(refused.value).count("(((((((((") <= 45  # nine letters each: 200 letters, twice


def test_a_comment_may_end_a_condition(spark: SparkSession, tables: Path) -> None:
    comment = "zero >= 0 -- all of them"
    assert _evaluated(spark, tables, "frame", input__where=comment, truth__where=comment).metrics.num_rows == 1


def test_what_spark_says_repeats_no_long_text(spark: SparkSession, tables: Path) -> None:
    for side, condition in (
        ("input", f"missing = '{'z' * 100_000}'"),
        ("truth", f"raise_error(repeat('z', 100000)) is null and zero < {'9' * 10}"),
        ("truth", "cast(repeat('z ', 50000) as int) = zero"),
    ):
        with pytest.raises(InputError) as refused:
            _evaluated(spark, tables, "frame", **{f"{side}__where": condition})
        assert str(refused.value).count("z") <= 210
        assert "\n" not in str(refused.value)


FAILING = [
    ("cast(n as int) >= 0", "[CAST_INVALID_INPUT] The value 'one' of the type"),
    ("10 / zero > 0", "[DIVIDE_BY_ZERO] Division by zero"),
    ("element_at(array(1), cast(zero + 2 as int)) = 1", "[INVALID_ARRAY_INDEX_IN_ELEMENT_AT]"),
    ("assert_true(zero > 7) is null", "[USER_RAISED_EXCEPTION]"),
    ("missing = 1", "cannot be read"),
    ("u", "cannot be read"),
]


def test_a_condition_that_fails_on_a_value_is_unusable_input(spark: SparkSession, tables: Path) -> None:
    """On both sides in turns."""
    for place, (condition, sentence) in enumerate(FAILING):
        side = ("input", "truth")[place % 2]
        with pytest.raises(InputError) as failed:
            _evaluated(spark, tables, "frame", **{f"{side}__where": condition})
        assert sentence in str(failed.value)
        assert "\n" not in str(failed.value)


@pytest.mark.parametrize("lane", ["frame", "scan", "local"])
def test_a_range_of_days_is_read_by_every_lane(spark: SparkSession, tables: Path, lane: str) -> None:
    """Of the list x, y the user took y two days later: 1/2. A condition holds for all days of the range."""
    session = None if lane == "local" else spark
    path = f"{tables}/truth/dt={{date}}..{{date+2}}"
    found = _evaluated(session, tables, lane, truth__path=path, truth__where="i <> 'q'")
    assert (found.lane, found.metrics["value"].to_pylist()) == (lane, [1 / 2])
    rows = dict(zip(found.quality["check"].to_pylist(), found.quality["count"].to_pylist(), strict=True))
    assert rows["rows of truth"] == 2
    (tables / "truth/dt=2026-03-02").mkdir()
    places = rf"{tables}/truth/dt=2026-03-02, {tables}/truth/dt=2026-03-03"
    with pytest.raises(InputError, match=f"there is no parquet truth at {places}"):
        _evaluated(session, tables, lane, truth__path=f"{tables}/truth/dt={{date-0}}..{{date+4}}")
