"""The settings by which two libraries give different numbers for the same rows, as text and as values for JSON."""

from __future__ import annotations

import math
from typing import Any

from sparkrank.base.errors import escape, shorten
from sparkrank.results.preset_moves import MetricMoves, PresetDifferences
from sparkrank.text.explanation_text import MOST_LETTERS, number_text
from sparkrank.text.text import aligned


def differences_text(differences: PresetDifferences) -> str:
    """Return a table for each metric and model: a line for each setting alone, and one for all settings together."""
    parts = [f"{differences.day}: from {differences.one} to {differences.other}"]
    parts += [_metric_text(moves, differences) for moves in differences.metrics]
    return "\n\n".join([*parts, *(["\n".join(map(escape, differences.notes))] if differences.notes else [])])


def _metric_text(moves: MetricMoves, differences: PresetDifferences) -> str:
    head = f"{escape(moves.text)} of {shorten(moves.model, MOST_LETTERS)}"
    lines = [("setting", differences.one, differences.other, "value", "moved")]
    lines.append((f"as {differences.one}", "", "", number_text(moves.value), ""))
    for setting in moves.settings:
        value = "not computed" if setting.reason else number_text(setting.value)
        moved = _moved(setting.value - moves.value)
        lines.append((f"{setting.setting} alone", setting.one, setting.other, value, moved))
    if len(moves.settings) > 1:
        lines.append(("in combination", "", "", "", _moved(moves.combined)))
    lines.append((f"as {differences.other}", "", "", number_text(moves.other_value), _moved(moves.moved)))
    reasons = [f"{setting.setting}: {escape(setting.reason)}" for setting in moves.settings if setting.reason]
    text = aligned([tuple(shorten(cell, MOST_LETTERS) for cell in line) for line in lines])
    return "\n".join([head, *(["no setting differs"] if not moves.settings else []), text, *reasons])


def _moved(difference: float) -> str:
    if math.isnan(difference):
        return ""
    return "0" if difference == 0 else f"{difference:+.4f}" if abs(difference) >= 5e-5 else f"{difference:+.1e}"


def differences_document(differences: PresetDifferences) -> dict[str, Any]:
    """Return the differences as a dictionary that can be written as JSON."""
    ends = {"day": differences.day, "from": differences.one, "to": differences.other}
    return {**ends, "metrics": list(map(_metric_document, differences.metrics)), "notes": differences.notes}


def _metric_document(moves: MetricMoves) -> dict[str, Any]:
    settings = [
        {"setting": setting.setting, "from": setting.one, "to": setting.other, "value": setting.value,
         "moved": setting.value - moves.value, "reason": setting.reason or None}
        for setting in moves.settings
    ]  # fmt: skip
    ends = {"from": {"definition": moves.one, "value": moves.value}}
    ends["to"] = {"definition": moves.other, "value": moves.other_value}
    own = {"metric": moves.text, "model": moves.model, **ends, "moved": moves.moved, "combined": moves.combined}
    return {**own, "settings": settings}
