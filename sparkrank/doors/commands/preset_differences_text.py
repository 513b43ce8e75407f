"""Why two libraries have two numbers for the same rows, as plain text and as plain values for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import escaped, shortened
from sparkrank.text.explanation_text import MOST_LETTERS, number_text
from sparkrank.text.text import aligned

if TYPE_CHECKING:
    from sparkrank.jobs.preset_differences import MetricMoves, PresetDifferences


def differences_text(found: PresetDifferences) -> str:
    """For each metric and model: a line for each setting, alone, and for all together."""
    parts = [f"{found.day}: from {found.one} to {found.other}"]
    parts += [_metric_text(each, found) for each in found.metrics]
    return "\n\n".join([*parts, *(["\n".join(map(escaped, found.told))] if found.told else [])])


def _metric_text(moves: MetricMoves, found: PresetDifferences) -> str:
    head = f"{escaped(moves.asked)} of {shortened(moves.model, MOST_LETTERS)}"
    lines = [("setting", found.one, found.other, "value", "moved")]
    lines.append((f"as {found.one}", "", "", number_text(moves.value), ""))
    for each in moves.settings:
        value = "not computed" if each.told else number_text(each.value)
        lines.append((f"{each.setting} alone", each.one, each.other, value, _moved(each.value - moves.value)))
    if len(moves.settings) > 1:
        lines.append(("in combination", "", "", "", _moved(moves.combined)))
    lines.append((f"as {found.other}", "", "", number_text(moves.other_value), _moved(moves.moved)))
    told = [f"{each.setting}: {escaped(each.told)}" for each in moves.settings if each.told]
    text = aligned([tuple(shortened(cell, MOST_LETTERS) for cell in line) for line in lines])
    return "\n".join([head, *(["no setting differs"] if not moves.settings else []), text, *told])


def _moved(difference: float) -> str:
    if math.isnan(difference):
        return ""
    return "0" if difference == 0 else f"{difference:+.4f}" if abs(difference) >= 5e-5 else f"{difference:+.1e}"


def differences_document(found: PresetDifferences) -> dict[str, Any]:
    """All of it as plain values."""
    metrics = [
        {
            "metric": each.asked,
            "model": each.model,
            "from": {"definition": each.one, "value": each.value},
            "to": {"definition": each.other, "value": each.other_value},
            "moved": each.moved,
            "combined": each.combined,
            "settings": [
                {
                    "setting": setting.setting,
                    "from": setting.one,
                    "to": setting.other,
                    "value": setting.value,
                    "moved": setting.value - each.value,
                    "told": setting.told or None,
                }
                for setting in each.settings
            ],
        }
        for each in found.metrics
    ]
    return {"day": found.day, "from": found.one, "to": found.other, "metrics": metrics, "told": list(found.told)}
