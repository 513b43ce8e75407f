"""The register of notifiers. Its keys are the values under ``notify`` in a spec."""

from __future__ import annotations

from sparkrank.tables.lineage.notifier import Notifier
from sparkrank.tables.lineage.openlineage_notifier import OpenLineageNotifier

NOTIFIERS: dict[str, type[Notifier]] = {kind.word: kind for kind in (OpenLineageNotifier,)}
