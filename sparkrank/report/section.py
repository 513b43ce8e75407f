"""The class of report sections: how a section is made and drawn.

A section also contains advice on what to request if the tables lack its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sparkrank.report.data import ReportData
from sparkrank.report.figures import Figure
from sparkrank.report.report_tables import ReportTables

# The section (None or empty if the tables lack its data), and the reason why it is empty or incomplete.
Made: TypeAlias = tuple[Any, str | None]
Maker: TypeAlias = Callable[[ReportTables], Made]
Drawer: TypeAlias = Callable[[ReportData], Iterable[Figure]]


@dataclass(frozen=True)
class ReportSection:
    """A section of the report. Its ``name`` is a field of :class:`ReportData` or a key of :attr:`ReportData.more`.

    ``make`` makes the section, and also returns a sentence with the reason if the section is empty or lacks some
    models. ``figures`` draws its charts, or is None. ``advice`` is a sentence on what to request if the section is
    missing. For evaluations, ``advice_in_memory`` replaces it, and for windows ``advice_for_window``. ``part`` is the
    name and title of the page part of the section; by default, the section has a part of its own. ``template`` is the
    Jinja2 template of the part; by default, it is the file in ``templates`` with the part's name.
    """

    name: str
    title: str
    make: Maker
    advice: str
    advice_in_memory: str | None = None
    advice_for_window: str | None = None
    part: tuple[str, str] | None = None
    figures: Drawer | None = None
    template: str | None = None

    @property
    def part_name(self) -> str:
        """The name of the part of the page that contains the section."""
        return self.name if self.part is None else self.part[0]

    @property
    def part_title(self) -> str:
        """The heading of the part of the page that contains the section."""
        return self.title if self.part is None else self.part[1]

    def why_missing(self, tables: ReportTables, reason: str | None) -> str:
        """Return the reason why the section is missing, or advice on what to request."""
        by_kind = {"evaluation": self.advice_in_memory, "window": self.advice_for_window}.get(tables.kind)
        return tables.missing.get(self.name) or reason or by_kind or self.advice
