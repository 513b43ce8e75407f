"""The result of a comparison of two runs, with forms for terminals and notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from sparkrank.base.errors import escape
from sparkrank.base.redaction import redact
from sparkrank.text.comparison_text import by_size, comparison_lines, comparisons_text
from sparkrank.text.notebook import MOST_METRICS, rows_html

GroupChoice: TypeAlias = Literal["all", "common"]


@dataclass(frozen=True, repr=False)
class RunComparison:
    """The result of a comparison of two runs.

    Parameters
    ----------
    table : pyarrow.Table
        The columns of the ``comparisons`` table, with one row per metric, in the order of the right run.
    left, right : str
        The names of the two runs in messages, for example their paths.
    groups : str
        The groups that are compared: ``all`` groups of each run, or only the groups that are ``common`` to both runs.
    n_left, n_right : int
        The number of groups in each run.
    n_common, n_left_only, n_right_only : int or None
        The number of groups in both runs, in the left run only and in the right run only. None if all groups are
        compared, because the groups are not paired then.
    notes : tuple of str
        Messages about omitted metrics and groups, and about missing intervals.

    Examples
    --------
    The click of user a is second by the old scores and first by the new ones; that of user b is first by both:

    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b"], "old": [2, 1, 1], "new": [1, 2, 1], "click": [0, 1, 1]})
    >>> ev = sr.evaluate(log, ["rr"], group="user", score={"old": "old", "new": "new"}, label="click")
    >>> compared = sr.compare_runs(ev, ev, left_model="old", right_model="new")
    >>> compared.n_left, compared.n_right, compared.table["difference"].to_pylist()
    (2, 2, [0.25])
    """

    table: pa.Table
    left: str
    right: str
    groups: GroupChoice
    n_left: int
    n_right: int
    n_common: int | None = None
    n_left_only: int | None = None
    n_right_only: int | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = comparisons_text(self._first_rows())
        return "\n".join([*self._heads(), "", lines, *(redact(escape(line)) for line in self._notes())])

    def _repr_html_(self) -> str:
        rows = sorted(self._first_rows(), key=by_size)
        titles, *lines = comparison_lines("metric", [(row["metric"], row) for row in rows])
        return rows_html(self._heads(), titles, lines, self._notes())

    def groups_text(self) -> str:
        """Return a phrase with the compared groups, and with whether they are paired."""
        if self.n_common is None and not (self.n_left or self.n_right):
            return "all rows of each, without groups"
        if self.n_common is None:
            return f"all groups of each, {self.n_right:,} against {self.n_left:,}, by parts of them"
        alone = f"{self.n_left_only:,} of left alone, {self.n_right_only:,} of right"
        return f"over the {self.n_common:,} groups of both, in pairs ({alone})"

    def _heads(self) -> list[str]:
        return [redact(escape(f"right {self.right} against left {self.left}")), self.groups_text()]

    def _first_rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.slice(0, MOST_METRICS).to_pylist()
        return rows

    def _notes(self) -> list[str]:
        more = self.table.num_rows - MOST_METRICS
        return [*([f"and {more:,} more metrics: see .table"] if more > 0 else []), *self.notes]
