"""How the metrics of a day differ from those of the day before."""

from __future__ import annotations

import math
from dataclasses import dataclass

BEYOND = 1.96  # standard errors of a difference of two days: less may be chance


@dataclass(frozen=True)
class Change:
    """A metric of a model on two days. ``noise`` is the standard error of the difference, None where there is none.

    The two days are taken for independent, which makes the noise too large where the same groups come on both.
    """

    metric: str
    model: str
    before: float
    value: float
    noise: float | None

    @property
    def difference(self) -> float:
        """The value less that of the day before."""
        return self.value - self.before

    @property
    def relative(self) -> float | None:
        """The difference as a share of the value before; None where that is 0."""
        return self.difference / abs(self.before) if self.before else None

    @property
    def is_beyond_noise(self) -> bool:
        """Whether it is more than chance explains; without a standard error, whether it is a change at all."""
        return abs(self.difference) > BEYOND * (self.noise or 0.0)

    @property
    def size(self) -> tuple[bool, float]:
        """How large it is, for the order: what is beyond its noise in standard errors first, then what has no noise."""
        if self.noise is None:
            return False, abs(self.difference)
        return True, abs(self.difference) / self.noise if self.noise else (math.inf if self.difference else 0.0)


@dataclass(frozen=True)
class Changes:
    """What changed since the day ``since``.

    ``changes`` are the metrics of models that both days have, defined alike, the largest change first. ``n_redefined``
    are defined otherwise; ``came`` and ``went`` are the models that one of the two days alone has.
    """

    since: str
    changes: tuple[Change, ...]
    n_redefined: int = 0
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()
