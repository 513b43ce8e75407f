"""The index of reports: the stored days with their verdicts, from which a report's links lead to its neighbours."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sparkrank.gates.day_verdict import HEADS
from sparkrank.inputs.window import spans
from sparkrank.report.page import assets, environment

TITLE_BYTES = 8192  # at the start of a report, that contain its title
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


@dataclass(frozen=True)
class IndexRow:
    """A day with the ``title`` of its report, or without a report, or several days that were not evaluated.

    ``before`` and ``after`` are the days whose links to the previous and next report lead here.
    """

    name: str
    title: str | None = None
    is_evaluated: bool = True
    before: str | None = None
    after: str | None = None

    @property
    def state(self) -> str:
        """The state that the title begins with; ``none`` if the report has no verdict."""
        title = self.title or ""
        return next((state for state in HEADS if title.startswith(HEADS[state])), "none")

    @property
    def verdict(self) -> str:
        """The beginning of the title, such as ``✕ Fail, and accepted``."""
        return "no verdict" if self.state == "none" else str(self.title).partition(" - ")[0]


def title_in(page: str) -> str | None:
    """The title of the report whose text begins with ``page``; None if it has none."""
    match = _TITLE.search(page)
    return None if match is None else html.unescape(match[1])


def index_page(subject: str | None, column: str, titles: Mapping[str, str | None]) -> str:
    """The page of the days, or windows, in ``titles``; a title is None where the day has no report."""
    rows = list(_rows(titles))
    template = environment().get_template("index.jinja")
    return template.render(subject=subject, column=column, rows=rows, **assets("index.js"))


def _rows(titles: Mapping[str, str | None]) -> Iterator[IndexRow]:
    """The rows, the latest first, with the gaps between days."""
    names = sorted(titles, reverse=True)
    with_page = [name for name in names if titles[name] is not None]
    for place, name in enumerate(names):
        title, at = titles[name], with_page.index(name) if name in with_page else -1
        later = with_page[at - 1] if at > 0 else None
        earlier = with_page[at + 1] if 0 <= at < len(with_page) - 1 else None
        yield IndexRow(name, title, before=later, after=earlier)
        if place + 1 < len(names) and (gap := _days_between(names[place + 1], name)):
            yield IndexRow(spans(gap), is_evaluated=False)


def _days_between(first: str, last: str) -> Sequence[str]:
    """The days after ``first`` and before ``last``; none for windows."""
    with suppress(ValueError):
        start, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
        return [str(start + dt.timedelta(days)) for days in range(1, (end - start).days)]
    return ()
