"""What the comparison of two runs found, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

Groups: TypeAlias = Literal["all", "common"]


@dataclass(frozen=True, repr=False)
class ComparedRuns:
    """Two runs and their table ``comparisons``. :class:`sparkrank.RunComparison` documents the fields."""

    table: pa.Table
    left: str
    right: str
    groups: Groups
    n_left: int
    n_right: int
    n_common: int | None
    n_left_only: int | None
    n_right_only: int | None
    told: tuple[str, ...]
