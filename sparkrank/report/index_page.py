"""The index page: a list of stored days with their verdicts, and links from each report to its neighbours."""

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

TITLE_BYTES = 8192  # the first bytes of a report, which contain its title
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


@dataclass(frozen=True)
class IndexRow:
    """A line of the index: a day with its report's ``title``, a day without a report, or a gap of unevaluated days.

    For a gap, ``is_evaluated`` is false. The "previous" link of the day ``before`` and the "next" link of the day
    ``after`` lead to this line; both days may be None.
    """

    name: str
    title: str | None = None
    is_evaluated: bool = True
    before: str | None = None
    after: str | None = None

    @property
    def state(self) -> str:
        """The state of the verdict at the start of the title; ``none`` if the report has no verdict."""
        title = self.title or ""
        return next((state for state in HEADS if title.startswith(HEADS[state])), "none")

    @property
    def verdict(self) -> str:
        """The verdict at the start of the title, such as ``✕ Fail, and accepted``."""
        return "no verdict" if self.state == "none" else str(self.title).partition(" - ")[0]


def title_in(page: str) -> str | None:
    """Return the title of the report whose HTML begins with ``page``, or None if there is no title."""
    match = _TITLE.search(page)
    return None if match is None else html.unescape(match[1])


def index_page(subject: str | None, column: str, titles: Mapping[str, str | None]) -> str:
    """Return the HTML of the index page.

    ``titles`` maps each day or window to the title of its report, or to None without a report.
    """
    rows = list(_rows(titles))
    template = environment().get_template("index.jinja")
    return template.render(subject=subject, column=column, rows=rows, **assets("index.js"))


def _rows(titles: Mapping[str, str | None]) -> Iterator[IndexRow]:
    """Yield the rows of the index, latest first, with a row for each gap between days."""
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
    """Return the days strictly between ``first`` and ``last``. There are none between windows."""
    with suppress(ValueError):
        start, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
        return [str(start + dt.timedelta(days)) for days in range(1, (end - start).days)]
    return ()
