"""What the client of OpenLineage does as far as notifiers call it: it keeps the events, or fails."""

from __future__ import annotations

import enum
from types import ModuleType, SimpleNamespace
from typing import Any


class RunState(enum.Enum):
    START, COMPLETE, FAIL, ABORT = "START", "COMPLETE", "FAIL", "ABORT"


class Part(SimpleNamespace):
    """Any part of an event, by the names of its fields."""


def as_document(value: Any) -> Any:
    if isinstance(value, Part):
        return {name: as_document(own) for name, own in vars(value).items()}
    if isinstance(value, list):
        return [as_document(own) for own in value]
    return value.value if isinstance(value, RunState) else value


def stub_modules(events: list[dict[str, Any]]) -> dict[str, ModuleType]:
    """The modules that notifiers import. An event arrives when the client is closed, as those of threads do."""

    class OpenLineageClient:
        def __init__(self) -> None:
            self.waiting: list[dict[str, Any]] = []

        def emit(self, event: Part) -> None:
            self.waiting.append(as_document(event))

        def close(self, timeout: float) -> None:
            assert timeout > 0
            events.extend(self.waiting)

    package, client, parts = (ModuleType(f"openlineage{name}") for name in ("", ".client", ".client.event_v2"))
    client.OpenLineageClient = OpenLineageClient
    parts.RunState = RunState
    for name in ("InputDataset", "Job", "OutputDataset", "Run", "RunEvent"):
        setattr(parts, name, Part)
    return {module.__name__: module for module in (package, client, parts)}
