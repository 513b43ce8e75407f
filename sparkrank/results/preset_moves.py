"""Why two presets have two numbers for the same rows: the settings in which they differ, and what each moves."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SettingMoves:
    """One setting in which two presets differ, for one metric of one model.

    ``setting`` is of the evaluation, a parameter of the metric, or ``metric`` where the libraries mean two. ``one`` and
    ``other`` are what the presets say. ``value`` is that with it alone as the second has it, or NaN for a ``reason``.
    """

    setting: str
    one: str
    other: str
    value: float
    reason: str = ""


@dataclass(frozen=True)
class MetricMoves:
    """A metric of one model under two presets: the text that was ``asked`` for, and what they make of it.

    ``value`` and ``other_value`` are those under the first and the second, with all ``settings`` of it together.
    """

    asked: str
    model: str
    one: str
    other: str
    value: float
    other_value: float
    settings: tuple[SettingMoves, ...]

    @property
    def moved(self) -> float:
        """How far all settings together move the number."""
        return self.other_value - self.value

    @property
    def combined(self) -> float:
        """What all together do beyond what each does alone."""
        return self.moved - sum(
            setting.value - self.value for setting in self.settings if not math.isnan(setting.value)
        )


@dataclass(frozen=True)
class PresetDifferences:
    """The metrics of a day under the presets ``one`` and ``other``; ``notes`` say what no setting can say."""

    one: str
    other: str
    day: str
    metrics: tuple[MetricMoves, ...]
    notes: tuple[str, ...] = ()
    passes: int = 0
