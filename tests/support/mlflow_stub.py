"""What the client of MLflow does as far as trackers call it, in memory and without MLflow."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


class StubClient:
    """All clients of one test share the runs, as those of one server do. A parameter that is there cannot change."""

    folder: Path
    names: list[str]
    runs: list[Any]

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=name) if name in self.names else None

    def create_experiment(self, name: str) -> str:
        self.names.append(name)
        return name

    def create_run(self, experiment_id: str, run_name: str, tags: dict[str, str]) -> Any:
        info = SimpleNamespace(
            run_id=str(len(self.runs)), run_name=run_name, status="RUNNING", experiment_id=experiment_id, is_there=True
        )
        data = SimpleNamespace(tags=dict(tags), params={}, metrics={}, history=[])
        self.runs.append(SimpleNamespace(info=info, data=data, inputs=SimpleNamespace(dataset_inputs=[])))
        return self.runs[-1]

    def search_runs(self, experiment_ids: list[str], filter_string: str = "") -> list[Any]:
        key, value = re.fullmatch(r"tags\.`(.+)` = '(.+)'", filter_string).groups() if filter_string else ("", None)
        there = [run for run in self.runs if run.info.is_there and run.info.experiment_id in experiment_ids]
        return [run for run in there[::-1] if run.data.tags.get(key) == value]

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None:
        assert len(metrics) <= 1000
        assert len(tags) <= 100
        data = self._data(run_id)
        for param in params:
            assert data.params.setdefault(param.key, param.value) == param.value
        data.tags.update((tag.key, tag.value) for tag in tags)
        for one in metrics:
            data.metrics[one.key] = one.value
            data.history.append(one)

    def log_inputs(self, run_id: str, datasets: Any) -> None:
        self.runs[int(run_id)].inputs.dataset_inputs += datasets

    def log_artifact(self, run_id: str, path: str, within: str | None = None) -> None:
        (folder := self.folder / run_id / (within or "")).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder)

    def list_artifacts(self, run_id: str, path: str | None = None) -> list[Any]:
        return [
            SimpleNamespace(path=str(file.relative_to(self.folder / run_id)))
            for file in sorted((self.folder / run_id / (path or "")).iterdir())
        ]

    def download_artifacts(self, run_id: str, path: str) -> str:
        return str(self.folder / run_id / path)

    def get_metric_history(self, run_id: str, key: str) -> list[Any]:
        return [one for one in self._data(run_id).history if one.key == key]

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self._data(run_id).tags[key] = value

    def set_terminated(self, run_id: str, status: str = "FINISHED") -> None:
        self.runs[int(run_id)].info.status = status

    def delete_run(self, run_id: str) -> None:
        self.runs[int(run_id)].info.is_there = False

    def _data(self, run_id: str) -> Any:
        return self.runs[int(run_id)].data


def stub_modules(folder: Path) -> dict[str, ModuleType]:
    """The modules of MLflow that the tracker imports, by name, for a server without runs."""
    client = type("MlflowClient", (StubClient,), {"folder": folder, "names": ["Default"], "runs": []})
    tracking, entities = ModuleType("mlflow.tracking"), ModuleType("mlflow.entities")
    tracking.MlflowClient = client  # type: ignore[attr-defined]
    fields = {
        "Metric": ("key", "value", "timestamp", "step"),
        "Dataset": ("name", "digest", "source_type", "source"),
        "DatasetInput": ("dataset", "tags"),
    }
    for name in ("Metric", "Param", "RunTag", "InputTag", "Dataset", "DatasetInput"):
        names = fields.get(name, ("key", "value"))
        setattr(entities, name, lambda *values, names=names: SimpleNamespace(**dict(zip(names, values, strict=True))))
    return {"mlflow": ModuleType("mlflow"), "mlflow.tracking": tracking, "mlflow.entities": entities}
