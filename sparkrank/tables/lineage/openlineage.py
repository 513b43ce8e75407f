"""Events for OpenLineage, whose client is configured by the environment or by a file ``openlineage.yml``.

Facets (parts of an event) are sent as plain documents, so newer schemas of the client do not matter.
"""

from __future__ import annotations

import os
from typing import Any

TIMEOUT = 10.0  # seconds for one event


def job_namespace() -> str:
    """Return the namespace of jobs in the configuration of the client."""
    return os.environ.get("OPENLINEAGE_NAMESPACE") or "default"


def send(event: dict[str, Any]) -> None:
    """Send ``event``, and return after it has arrived."""
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
