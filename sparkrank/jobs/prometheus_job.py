"""The numbers of a stored day or window as a file in the text format of Prometheus.

The textfile collector of the node exporter, or a push gateway, reads such a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import (
    SparkrankError,
    SpecError,
    StoreError,
    first_line,
    hint,
    require,
    shorten,
)
from sparkrank.gates.verdicts import WORST_FIRST, GateVerdict
from sparkrank.metrics.slices import ALL, shown_value, slice_name
from sparkrank.tables.stored.stored_results import run_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.jobs.target import Target

MOST_SERIES = 10_000
_VERDICTS = WORST_FIRST[::-1]  # the number of a verdict is its index
_LABELS = ("metric", "model", "slice", "slice_value")
_NUMBERS = {
    "value": ("sparkrank_metric", "The value of a metric; a value that is undefined has no series."),
    "ci_low": ("sparkrank_metric_ci_low", "The lower end of the interval of a metric."),
    "ci_high": ("sparkrank_metric_ci_high", "The upper end of the interval of a metric."),
}


class _Series(NamedTuple):
    name: str
    help: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True)
class PrometheusFile:
    """The file at ``path``: metrics over all rows and for ``slices``, verdicts, and rows and seconds of the run."""

    path: Path
    slices: tuple[str, ...] = ()

    def validate(self, spec: Spec) -> None:
        """Raise :class:`SpecError` if the file cannot be written, or if ``spec`` lacks one of the slices."""
        require("prometheus_client", "prometheus", "--prometheus")
        if not self.path.parent.is_dir() or self.path.is_dir():
            raise SpecError(f"--prometheus is {self._shown}: a file in a folder that exists is needed")
        known = [slice_name(columns) for columns in spec.plan().slices]
        for name in self.slices:
            if name not in known:
                near = hint(name, known, "there are", "the spec has none")
                raise SpecError(f'--slice names "{shorten(name)}", which is not a slice{near}')

    def write(self, target: Target, verdicts: Sequence[GateVerdict], spark: SparkSession | None = None) -> None:
        """Replace the file, in one step, with the numbers of a day or window and its verdicts.

        For a day that is not stored, the file contains only verdicts. Raise :class:`SparkrankError` for more than
        :data:`MOST_SERIES` series, and :class:`StoreError` if the file cannot be written.
        """
        from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

        series, stored = [*_of_gates(verdicts)], target.stored(spark)
        if stored is not None:
            run = run_row(target.folder, target.name, spark, target.column)
            series += [*_of_metrics(stored.metrics, self.slices), *_of_run(run)]
        if len(series) > MOST_SERIES:
            raise SparkrankError(
                f"{self._shown} is not written: {target.name} has {len(series):,} series, and at most "
                f"{MOST_SERIES:,} are allowed (name fewer slices)"
            )
        registry, gauges = CollectorRegistry(), {}
        for one in series:
            if one.name not in gauges:
                gauges[one.name] = Gauge(one.name, one.help, tuple(one.labels), registry=registry)
            gauge = gauges[one.name]
            (gauge.labels(**one.labels) if one.labels else gauge).set(one.value)
        try:
            write_to_textfile(str(self.path), registry)
        except OSError as error:
            raise StoreError(
                f"{self._shown} cannot be written for {target.name}: {shorten(first_line(error))}"
            ) from error

    @property
    def _shown(self) -> str:
        return shorten(str(self.path))


def _of_metrics(metrics: pa.Table, slices: Sequence[str]) -> Iterator[_Series]:
    metrics = metrics.select([*_LABELS, *_NUMBERS])
    named = pc.is_in(metrics["slice"].cast(pa.string()), pa.array([ALL, *slices]))
    for row in metrics.filter(named).to_pylist():
        labels = {name: str(row[name] or "") for name in _LABELS}
        labels["slice_value"] = shown_value(row["slice_value"], row["slice"])
        for column, (name, meaning) in _NUMBERS.items():
            if row[column] is not None and not math.isnan(row[column]):
                yield _Series(name, meaning, labels, row[column])


def _of_gates(verdicts: Sequence[GateVerdict]) -> Iterator[_Series]:
    """Yield the worst verdict of each gate. A verdict that a person has accepted counts as passed."""
    worst: dict[str, int] = {}
    for check in verdicts:
        number = 0 if check.accepted is not None else _VERDICTS.index(check.verdict)
        worst[check.key.gate] = max(number, worst.get(check.key.gate, 0))
    for gate, number in worst.items():
        yield _Series("sparkrank_gate", "0: passed or accepted, 1: undecided, 2: failed.", {"gate": gate}, number)


def _of_run(run: Mapping[str, Any]) -> Iterator[_Series]:
    yield _Series("sparkrank_rows", "Rows read.", {}, run["rows"])
    seconds = sum(json.loads(run["stages"]).values())
    yield _Series("sparkrank_day_seconds", "Seconds of all stages before the tables were written.", {}, seconds)
