"""Why two libraries have two numbers for the same rows, as plain text and as plain values for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import escaped, shortened
from sparkrank.text.explanation_text import MOST_LETTERS, number_text
from sparkrank.text.text import aligned

if TYPE_CHECKING:
    from sparkrank.jobs.preset_differences import MetricMoves, PresetDifferences


def differences_text(differences: PresetDifferences) -> str:
    """For each metric and model: a line for each setting, alone, and for all together."""
    parts = [f"{differences.day}: from {differences.one} to {differences.other}"]
    parts += [_metric_text(moves, differences) for moves in differences.metrics]
    parts += ["\n".join(map(escaped, differences.told))] if differences.told else []
    return "\n\n".join(parts)


def _metric_text(moves: MetricMoves, presets: PresetDifferences) -> str:
    head = f"{escaped(moves.asked)} of {shortened(moves.model, MOST_LETTERS)}"
    lines = [("setting", presets.one, presets.other, "value", "moved")]
    lines.append((f"as {presets.one}", "", "", number_text(moves.value), ""))
    for move in moves.settings:
        value = "not computed" if move.told else number_text(move.value)
        lines.append((f"{move.setting} alone", move.one, move.other, value, _moved(move.value - moves.value)))
    if len(moves.settings) > 1:
        lines.append(("in combination", "", "", "", _moved(moves.combined)))
    lines.append((f"as {presets.other}", "", "", number_text(moves.other_value), _moved(moves.moved)))
    notes = [f"{move.setting}: {escaped(move.told)}" for move in moves.settings if move.told]
    text = aligned([tuple(shortened(cell, MOST_LETTERS) for cell in line) for line in lines])
    return "\n".join([head, *(["no setting differs"] if not moves.settings else []), text, *notes])


def _moved(difference: float) -> str:
    if math.isnan(difference):
        return ""
    return "0" if difference == 0 else f"{difference:+.4f}" if abs(difference) >= 5e-5 else f"{difference:+.1e}"


def differences_document(differences: PresetDifferences) -> dict[str, Any]:
    """All of it as plain values."""
    metrics = [
        {
            "metric": moves.asked,
            "model": moves.model,
            "from": {"definition": moves.one, "value": moves.value},
            "to": {"definition": moves.other, "value": moves.other_value},
            "moved": moves.moved,
            "combined": moves.combined,
            "settings": [
                {
                    "setting": setting.setting,
                    "from": setting.one,
                    "to": setting.other,
                    "value": setting.value,
                    "moved": setting.value - moves.value,
                    "told": setting.told or None,
                }
                for setting in moves.settings
            ],
        }
        for moves in differences.metrics
    ]
    return {
        "day": differences.day,
        "from": differences.one,
        "to": differences.other,
        "metrics": metrics,
        "told": list(differences.told),
    }
