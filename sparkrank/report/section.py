"""A section of a report: how it is made, how it is drawn, and what to ask for where the tables do not hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sparkrank.report.data import ReportData
from sparkrank.report.figures import Figure
from sparkrank.report.report_tables import ReportTables

# The section, empty or None where the tables do not hold it; and why, or what it lacks.
Made: TypeAlias = tuple[Any, str | None]


@dataclass(frozen=True)
class ReportSection:
    """A section by its ``name``, that of its field in :class:`ReportData` or of its key in :attr:`ReportData.more`.

    Parameters
    ----------
    title : str
        Its heading.
    make : callable
        Gives the section of the tables, and a sentence where it is empty or without some models, or None.
    advice, advice_in_memory, advice_for_window : str
        What to ask for where it is not there; the others where that is something else.
    part : tuple of str
        The part of the page that it stands in, by name and title; by default one of its own.
    figures : callable
        Gives its charts.
    template : str
        The Jinja2 template of the part; by default the file of the part's name in ``templates``.
    """

    name: str
    title: str
    make: Callable[[ReportTables], Made]
    advice: str
    advice_in_memory: str | None = None
    advice_for_window: str | None = None
    part: tuple[str, str] | None = None
    figures: Callable[[ReportData], Iterable[Figure]] | None = None
    template: str | None = None

    @property
    def part_name(self) -> str:
        """The part of the page that it stands in."""
        return self.name if self.part is None else self.part[0]

    @property
    def part_title(self) -> str:
        """The heading of that part."""
        return self.title if self.part is None else self.part[1]

    def why_missing(self, tables: ReportTables, reason: str | None) -> str:
        """Why it is not there, or what to ask for."""
        by_kind = {"evaluation": self.advice_in_memory, "window": self.advice_for_window}.get(tables.kind)
        return tables.missing.get(self.name) or reason or by_kind or self.advice
