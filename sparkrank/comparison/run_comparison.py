"""What the comparison of two runs is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

Groups: TypeAlias = Literal["all", "common"]


@dataclass(frozen=True, repr=False)
class RunComparison:
    """What the comparison of two runs found.

    Parameters
    ----------
    table : pyarrow.Table
        A row per metric, in the order of the right side: the columns of ``comparisons``.
    left, right : str
        Where the two runs are.
    groups : str
        What is compared: ``all`` groups of each side, or those that are ``common`` to both.
    n_left, n_right : int
        Groups on each side.
    n_common, n_left_only, n_right_only : int or None
        Groups on both sides, and on one alone; None where all groups of each side are compared, which nobody pairs.
    told : tuple of str
        Sentences about what did not match, and what was therefore left out.
    lane : str
        ``local``, or ``frame`` where Spark made the pairs.
    """

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
    lane: str

    def __repr__(self) -> str:
        from sparkrank.text.comparison_text import comparison_repr

        return comparison_repr(self)

    def _repr_html_(self) -> str:
        from sparkrank.text.comparison_text import comparison_html

        return comparison_html(self)
