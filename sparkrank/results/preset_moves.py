"""The settings by which two presets give different values for the same rows, and the effect of each setting."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SettingMoves:
    """One setting in which two presets differ, for one metric of one model.

    ``setting`` is a setting of the evaluation, a parameter of the metric, or ``metric`` if the presets mean two
    different metrics. ``one`` and ``other`` are the setting's values in the two presets. ``value`` is the metric's
    value under the first preset with only this setting taken from the second preset. If ``reason`` is set, this value
    could not be computed and is NaN.
    """

    setting: str
    one: str
    other: str
    value: float
    reason: str = ""


@dataclass(frozen=True)
class MetricMoves:
    """A metric of one model under two presets.

    The requested ``text`` means the metric ``one`` under the first preset and ``other`` under the second.
    The metric's value is ``value`` under the first preset, and ``other_value`` if all ``settings`` are changed together
    to those of the second preset.
    """

    text: str
    model: str
    one: str
    other: str
    value: float
    other_value: float
    settings: tuple[SettingMoves, ...]

    @property
    def moved(self) -> float:
        """The change in the metric's value when all settings change together."""
        return self.other_value - self.value

    @property
    def combined(self) -> float:
        """The change due to all settings together, minus the sum of the changes (if known) due to each alone."""
        return self.moved - sum(
            setting.value - self.value for setting in self.settings if not math.isnan(setting.value)
        )


@dataclass(frozen=True)
class PresetDifferences:
    """A day's metrics under the presets ``one`` and ``other``. ``notes`` describes differences other than settings."""

    one: str
    other: str
    day: str
    metrics: tuple[MetricMoves, ...]
    notes: tuple[str, ...] = ()
    passes: int = 0
