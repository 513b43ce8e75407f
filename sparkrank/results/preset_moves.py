"""Why two presets have two numbers for the same rows: the settings in which they differ, and what each moves."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SettingMoves:
    """One setting in which two presets differ, for one metric of one model.

    Parameters
    ----------
    setting : str
        Its name: of the evaluation, of a parameter of the metric, or ``metric`` where the two libraries mean two.
    one, other : str
        What the first and the second preset say.
    value : float
        The value if it alone is as the second has it; NaN where that is not computed.
    reason : str
        Why it is not computed.
    """

    setting: str
    one: str
    other: str
    value: float
    reason: str = ""


@dataclass(frozen=True)
class MetricMoves:
    """A metric of one model under two presets.

    Parameters
    ----------
    asked, model : str
        The text that was asked for, and the model.
    one, other : str
        What the two presets make of the text, every parameter written out.
    value, other_value : float
        The value under the first and under the second: with all settings of it together.
    settings : tuple of SettingMoves
        The settings in which they differ, each alone.
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
