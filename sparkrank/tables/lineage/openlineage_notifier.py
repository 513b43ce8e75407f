"""Events for OpenLineage, whose client has its own configuration: the environment, or a file ``openlineage.yml``."""

from __future__ import annotations

import importlib.util
import os
from typing import Any, ClassVar

from sparkrank.base.errors import SpecError
from sparkrank.tables.lineage.notifier import TIMEOUT, Notifier


class OpenLineageNotifier(Notifier):
    """OpenLineage, by its own client. Facets stay documents, so that newer schemas of the client do not matter."""

    word: ClassVar[str] = "openlineage"

    @property
    def namespace(self) -> str:
        return os.environ.get("OPENLINEAGE_NAMESPACE") or "default"

    def require_library(self) -> None:
        if importlib.util.find_spec("openlineage") is None:
            raise SpecError("notify: [openlineage] needs openlineage-python: pip install 'sparkrank[openlineage]'")

    def send(self, event: dict[str, Any]) -> None:
        from openlineage.client import OpenLineageClient
        from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

        client = OpenLineageClient()
        try:
            client.emit(
                RunEvent(
                    eventType=RunState(event["eventType"]),
                    eventTime=event["eventTime"],
                    producer=event["producer"],
                    run=Run(**event["run"]),
                    job=Job(**event["job"]),
                    inputs=[InputDataset(**each) for each in event["inputs"]],
                    outputs=[OutputDataset(**each) for each in event["outputs"]],
                )
            )
        finally:
            client.close(TIMEOUT)
