"""The register of trackers. Its keys are the values of ``to`` under ``track`` in a spec."""

from __future__ import annotations

from sparkrank.tables.trackers.mlflow_tracker import MlflowTracker
from sparkrank.tables.trackers.tracker import Tracker

TRACKERS: dict[str, type[Tracker]] = {kind.word: kind for kind in (MlflowTracker,)}
