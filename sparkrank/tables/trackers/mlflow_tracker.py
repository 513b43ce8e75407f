"""Runs in MLflow, whose client is configured by variables such as ``MLFLOW_TRACKING_URI``."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sparkrank.base.errors import require, shorten
from sparkrank.tables.trackers.tracked_run import TrackedRun

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_DEFAULT = "Default"  # the experiment that every MLflow has
_RUN_ID, _SERIES, _DIGEST = "sparkrank.run_id", "sparkrank.series", "sparkrank.digest"
_MOST_METRICS, _MOST_TAGS = 1000, 100  # the most of one request
_MOST_TEXT = 5000  # characters of a tag or parameter


@dataclass(frozen=True)
class MlflowTracker:
    """Runs in an ``experiment`` of MLflow. A missing experiment is created.

    If ``series`` is set, all days of a spec are steps of one run; otherwise each day has a run of its own. A complete
    run is marked by the tag :data:`_DIGEST`, which is set last. Numbers of a run cannot be withdrawn, so a new result
    of the same spec and day becomes a new run, and the earlier run is deleted (MLflow can restore it).
    """

    word: ClassVar[str] = "mlflow"  # the value of ``to`` in a spec

    experiment: str | None = None
    series: bool = False

    def require_library(self) -> None:
        """Raise :class:`SpecError` if MLflow is not installed."""
        require("mlflow", "mlflow", "the tracker mlflow")

    def has(self, run: TrackedRun) -> bool:
        """Return whether the tracker contains a complete run with the ID and the digest of ``run``."""
        client = _client()
        experiment = client.get_experiment_by_name(self._experiment)
        if experiment is None:
            return False
        there = self._runs(client, experiment.experiment_id, run)
        return any(one.data.tags.get(self._digest_tag(run)) == run.digest for one in there)

    def log(self, run: TrackedRun, folder: Path) -> None:
        """Log ``run`` with all files of ``folder``, and delete earlier runs with the same ID."""
        client = _client()
        experiment = client.get_experiment_by_name(self._experiment)
        place = client.create_experiment(self._experiment) if experiment is None else experiment.experiment_id
        before = self._runs(client, place, run)
        is_new = not (self.series and before)
        name = run.name if self.series else f"{run.name} {run.day}"
        own = client.create_run(place, run_name=name, tags=dict([self._identity(run)])) if is_new else before[0]
        try:
            _log_all(client, own.info.run_id, run, folder, artifacts=run.day if self.series else None)
            client.set_tag(own.info.run_id, self._digest_tag(run), run.digest)
        except Exception:
            if is_new:
                with suppress(Exception):  # the first error is more informative
                    client.set_terminated(own.info.run_id, "FAILED")
            raise
        client.set_terminated(own.info.run_id)
        for old in before if is_new else ():
            client.delete_run(old.info.run_id)

    @property
    def _experiment(self) -> str:
        return self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or _DEFAULT

    def _identity(self, run: TrackedRun) -> tuple[str, str]:
        """Return the tag that identifies a run. A series has one tag for all days of a spec and a name."""
        if not self.series:
            return _RUN_ID, run.run_id
        question = json.dumps([run.name, dict(run.parameters)], sort_keys=True)  # parameters of a run cannot change
        return _SERIES, hashlib.sha256(question.encode()).hexdigest()[:12]

    def _digest_tag(self, run: TrackedRun) -> str:
        return f"{_DIGEST}.{run.day}" if self.series else _DIGEST

    def _runs(self, client: MlflowClient, experiment: str, run: TrackedRun) -> list[Run]:
        key, value = self._identity(run)
        return list(client.search_runs([experiment], f"tags.`{key}` = '{value}'"))


# By the values of ``to`` under ``track`` in a spec.
TRACKERS: dict[str, type[MlflowTracker]] = {MlflowTracker.word: MlflowTracker}


def _client() -> MlflowClient:
    from mlflow.tracking import MlflowClient

    return MlflowClient()


def _log_all(client: MlflowClient, to: str, run: TrackedRun, folder: Path, artifacts: str | None) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = int(time.time() * 1000)
    client.log_batch(to, params=[Param(name, shorten(text, _MOST_TEXT)) for name, text in run.parameters.items()])
    for values in _parts(run.values, _MOST_METRICS):
        client.log_batch(to, metrics=[Metric(name, value, now, run.step) for name, value in values.items()])
    for tags in _parts(run.tags, _MOST_TAGS):
        client.log_batch(to, tags=[RunTag(name, shorten(text, _MOST_TEXT)) for name, text in tags.items()])
    client.log_inputs(to, datasets=[_dataset(run)])
    for file in sorted(folder.iterdir()):  # log_artifacts has threads, for which Python waits when it ends
        client.log_artifact(to, str(file), artifacts)


def _dataset(run: TrackedRun) -> Any:
    """Return the input as a dataset. MLflow identifies it by its name and a digest, here that of ``run.source``."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    digest = hashlib.sha256(run.source.encode()).hexdigest()[:12]
    source = json.dumps({"input": shorten(run.source, _MOST_TEXT)})
    return DatasetInput(Dataset(run.name, digest, "sparkrank", source), [InputTag("mlflow.data.context", "evaluation")])


def _parts(values: Mapping[str, Any], most: int) -> Iterator[dict[str, Any]]:
    items = iter(values.items())
    while part := dict(islice(items, most)):
        yield part
