"""A case evaluated in lanes, and compared with the slow oracles and from lane to lane."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkrank as sr
from sparkrank.metrics import Metric
from sparkrank.tables.rows.states import states_table
from tests.oracles import PAIRED
from tests.soak.cases import Case
from tests.soak.expected import groups_of, mean_of, value_of, weighted_auc
from tests.support.strategies import text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLOSE = 1e-11  # of means over all orders, of which oracles add up thousands
SIDES = ("rows", "truth")
Found = list[Any]


class DifferenceError(AssertionError):
    """Two ways to the same number, and two numbers."""


@dataclass
class Compared:
    """What was compared so far: cases, those of them that were refused, and values by what they were compared with."""

    counts: Counter[str] = field(default_factory=Counter)

    def case(self, case: Case, folder: Path, spark: SparkSession | None = None) -> None:
        """Evaluate ``case`` in all lanes: those of Spark where there is a session. Raises where two numbers differ."""
        self.counts["cases"] += 1
        ways = ways_of(case, folder, spark)
        found = {name: outcome(way) for name, way in ways.items()}
        first, *others = found
        for other in others:
            _same(first, found[first], other, found[other])
            self.counts["values between lanes"] += sum(len(row) for table in found[other][0] for row in table)
        if found[first][1] is None:
            self.counts["refused"] += 1
            return
        self.counts["values of oracles"] += _against_oracles(case, found[first][1])


def ways_of(case: Case, folder: Path, spark: SparkSession | None) -> dict[str, Callable[[], sr.Evaluation]]:
    """How the case is evaluated: in memory, from files in another order, bit by bit, and by Spark."""
    order = np.random.default_rng(case.order)
    paths: dict[str, Any] = {}
    for side, table in zip(SIDES, (case.rows, case.truth), strict=True):
        if table is not None:
            paths[side] = folder / f"{side}.parquet"
            shuffled = table.take(order.permutation(table.num_rows))
            pq.write_table(shuffled, paths[side], row_group_size=max(1, table.num_rows // 3))

    def evaluated(rows: Any, truth: Any, **how: Any) -> sr.Evaluation:
        asked = {**case.arguments, "score_sums": True, "curve_points": 10, **how}
        return sr.evaluate(rows, case.metrics, **asked, **({} if truth is None else {"truth": truth}))

    def of_files(read: Callable[[str], Any] = str, **how: Any) -> Callable[[], sr.Evaluation]:
        return lambda: evaluated(*(read(str(paths[side])) if side in paths else None for side in SIDES), **how)

    ways = {
        "local, in memory": lambda: evaluated(case.rows, case.truth),
        "local, from files": of_files(lane="local", buckets=case.buckets, row_memory=0),
    }
    if spark is not None:
        ways["scan"] = of_files(lane="scan", spark=spark)
        ways["frame"] = of_files(spark.read.parquet, buckets=case.buckets, lane="frame")
    return ways


def outcome(way: Callable[[], sr.Evaluation]) -> tuple[Found, sr.Evaluation | None]:
    """Every table of an evaluation as its exact text, or the sentence by which it was refused."""
    try:
        evaluation = way()
    except sr.SparkrankError as refused:
        return [[{"kind": type(refused).__name__, "sentence": str(refused)}]], None
    with evaluation:
        plan, exact, partials = evaluation.plan, evaluation.solved.exact, evaluation.partials
        tables = [evaluation.metrics, evaluation.groups, evaluation.blocks, evaluation.quality, evaluation.curves]
        tables.append(states_table(partials, plan, "", blocks=True, exact=exact))
        if plan.has_parts and plan.part_bins:
            tables.append(partials.parts.histograms.rows(weighted=plan.weighted))
        return [[] if table is None else texts(table) for table in tables], evaluation


def texts(table: Any) -> list[dict[str, str]]:
    rows = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return sorted(({name: repr(value) for name, value in row.items()} for row in rows), key=str)


def _same(first: str, found: Any, other: str, of_other: Any) -> None:
    for one, two in zip(found[0], of_other[0], strict=False):
        if one != two:
            rows = [(row, beside) for row, beside in zip(one, two, strict=False) if row != beside][:3]
            raise DifferenceError(f"{first} and {other} differ: {len(one)} and {len(two)} rows; {rows}")
    if len(found[0]) != len(of_other[0]):
        raise DifferenceError(f"{first} and {other} differ: {found[0][:1]} and {of_other[0][:1]}")


def _against_oracles(case: Case, found: sr.Evaluation) -> int:
    """The number of values that oracles confirm."""
    compared = 0
    rows = case.rows.to_pylist()
    groups = [] if found.groups is None else found.groups.to_pylist()
    values = {(row["model"], tuple(row[name] for name in case.keys)): row for row in groups}
    of_day = (row for row in found.metrics.to_pylist() if row["slice"] == "all")
    means = {(row["model"], row["metric"]): row["value"] for row in of_day}
    for model in case.columns:
        for parts in case.listed:
            name = str(Metric.parse(text(parts)))
            of_groups = {
                key: value_of(case, parts, group)
                for key, group in groups_of(case, model, rows, _ties(case, parts)).items()
            }
            for key, value in of_groups.items():
                if value is not None:
                    _close(values[model, key][name], value, f"{name} of {model}, {key}")
                    compared += 1
            there = {key for of_model, key in values if of_model == model}
            if there != set(of_groups):
                raise DifferenceError(f"groups of {model}: {there ^ set(of_groups)} are on one side alone")
            if None not in of_groups.values() and "weight" not in parts[1] and parts[0] != "gauc" and of_groups:
                _close(means[model, name], mean_of(case, of_groups.values()), f"mean of {name} of {model}")
                compared += 1
        auc = weighted_auc(case, model) if "auc(exact)" in case.others else None
        if auc is not None and case.settings["unretrieved"] == "zero":
            _close(means[model, "auc(exact)"], auc, f"auc(exact) of {model}")
            compared += 1
    return compared


def _ties(case: Case, parts: Any) -> str:
    """The order in which an oracle takes tied rows: some metrics take them as tied in any case."""
    return "" if parts[0] in PAIRED else case.settings["ties"]


def _close(found: float, expected: float, what: str) -> None:
    both = math.isnan(found) and math.isnan(expected)
    if not both and not math.isclose(found, expected, rel_tol=CLOSE, abs_tol=CLOSE):
        raise DifferenceError(f"{what}: {found!r}, but the oracle says {expected!r}")
