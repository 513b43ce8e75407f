"""Why two presets give different numbers for the same rows: the settings that differ, and the effect of each."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SettingMoves:
    """One setting in which two presets differ, for one metric of one model.

    ``setting`` is a setting of the evaluation, a parameter of the metric, or ``metric`` if the libraries mean two
    different metrics. ``one`` and ``other`` are its values in the presets. ``value`` is the metric's value under the
    first preset with only this setting taken from the second. It is NaN if there is a ``reason``.
    """

    setting: str
    one: str
    other: str
    value: float
    reason: str = ""


@dataclass(frozen=True)
class MetricMoves:
    """A metric of one model under two presets: the text that was ``asked`` for, and what each preset makes of it.

    ``value`` and ``other_value`` are its values under the first and the second preset. The second has all ``settings``
    changed together.
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
        """The change of the value if all settings change together."""
        return self.other_value - self.value

    @property
    def combined(self) -> float:
        """The change due to all settings together, minus the changes due to each alone."""
        return self.moved - sum(
            setting.value - self.value for setting in self.settings if not math.isnan(setting.value)
        )


@dataclass(frozen=True)
class PresetDifferences:
    """The metrics of a day under the presets ``one`` and ``other``; ``notes`` are about differences beyond settings."""

    one: str
    other: str
    day: str
    metrics: tuple[MetricMoves, ...]
    notes: tuple[str, ...] = ()
    passes: int = 0
