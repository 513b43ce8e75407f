"""Every contender on Spark gives the values of all others, and the floor moves what the scan lane moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks import run
from benchmarks.check import Check
from benchmarks.contenders import ON_SPARK, PLAIN_ON_SPARK, Work
from benchmarks.contenders.floor import count_bytes
from benchmarks.generate import LogShape, write
from benchmarks.process import EVERY
from benchmarks.sets import SETS
from benchmarks.shapes import SHAPES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.tools

ROWS = 4_000
# Each metric of the nightly set at one cut-off: MLlib starts some jobs for each.
METRICS = tuple(metric for metric in SETS["nightly"] if not metric.endswith(("@10", "@20")) or metric.startswith("ap"))


@pytest.mark.parametrize(("keys", "models", "labels"), [("int", 1, "click"), ("string", 2, "graded")])
def test_contenders_on_spark_agree(keys: str, models: int, labels: str, spark: SparkSession, tmp_path: Path) -> None:
    shape = LogShape(rows=ROWS, groups=200, keys=keys, models=models, labels=labels, files=2)
    log = write(shape, tmp_path / "log")
    work = Work(log, METRICS, shape.label, shape.graded, shape.scores, 1, tmp_path)
    check = Check(shape)
    for make in ON_SPARK.values():
        contender = make(work, spark)
        contender.prepare()
        contender.run()
        check.compare(contender)
    assert [set(values) for values in check.values.values()] == [set(METRICS)] * models


# One of each kind: arguments of a call, sections of a spec, jobs, and what the lanes do without.
@pytest.mark.parametrize("name", ["arrays", "ties", "exact-weights", "comparisons", "csv"])
def test_lanes_on_spark_agree_on_shapes(name: str, spark: SparkSession, tmp_path: Path) -> None:
    shape = SHAPES[name]
    log = LogShape(**{"rows": ROWS, "groups": 200, "files": 2, **shape.log})
    work = run.work_of(log, write(log, tmp_path / "log"), shape.metrics, 1, tmp_path)
    work, on_spark = replace(work, **shape.asked), {**ON_SPARK, **PLAIN_ON_SPARK}
    check, reference = Check(log, work.by_item), "duckdb" if "duckdb" in shape.contenders else "sparkrank-local"
    assert EVERY[reference].installed
    contenders = [EVERY[reference].make(work)]
    contenders += [on_spark[each](work, spark) for each in shape.contenders if each in on_spark]
    assert len(contenders) == (5 if work.plain else 3)
    for contender in contenders:
        contender.prepare()
        contender.run()
        check.compare(contender)
        assert contender.values()
    assert all(set(values) >= set(shape.metrics) for values in check.values.values())


def test_the_floor_moves_every_row(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrank.engines.shuffle.packing import join_pieces, unpack_piece
    from sparkrank.engines.spark import scan
    from sparkrank.engines.spark.shuffle import shuffled_pairs
    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import plan_of
    from sparkrank.sources.parquet import ParquetInput
    from sparkrank.sources.selection import Selection, Sides

    source = ParquetInput.at(str(write(LogShape(rows=ROWS, groups=200, files=2), tmp_path)))
    roles = Roles.of("user_id", "clicked", "score")
    plan = plan_of(["ap"], ["score"], roles.group)
    sides = Sides([(Selection(source), roles)], roles)
    monkeypatch.setattr(scan, "SPLIT_ROWS", 1000)
    tasks = shuffled_pairs(scan.pairs_of(spark.sparkContext, sides, plan, 3), 3).glom().collect()
    assert [{bucket for bucket, _ in pairs} for pairs in tasks] == [{0}, {1}, {2}]  # dealt in turn
    pairs = [pair for of_task in tasks for pair in of_task]
    assert join_pieces([unpack_piece(piece) for _, piece in pairs], sides.schema(plan)).num_rows == ROWS
    assert list(count_bytes(pairs)) == [sum(len(piece.to_pybytes()) for _, piece in pairs)]
