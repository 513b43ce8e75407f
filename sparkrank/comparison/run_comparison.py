"""The comparison of two runs, as users hold it."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrank.comparison.compared_runs import ComparedRuns


@dataclass(frozen=True, repr=False)
class RunComparison(ComparedRuns):
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
    """

    def __repr__(self) -> str:
        from sparkrank.text.comparison_text import comparison_repr

        return comparison_repr(self)

    def _repr_html_(self) -> str:
        from sparkrank.text.comparison_text import comparison_html

        return comparison_html(self)
