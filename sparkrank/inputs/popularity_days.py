"""Stored days from which the popularity of items is read, in place of a table of interactions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkrank.base.errors import SpecError, quote, shorten, validate_names
from sparkrank.inputs.day_marks import day_of
from sparkrank.inputs.window import Window
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.ranking.value_columns import GROUP_ITEMS, USERS

KEYS = ("states", "days", "optional")
_WINDOW = "first..last"


@dataclass(frozen=True)
class PopularityDays:
    """The ``days`` under the output ``path`` with the popularity of items.

    If ``optional`` is true, some or all of the days may lack these counts, as in the first weeks.
    """

    path: str
    days: tuple[str, ...]
    optional: bool = False

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> PopularityDays:
        """Return the days in the argument ``interactions`` (``given``). Raise :class:`SpecError` if it is invalid."""
        validate_names("interactions has the key", given, KEYS)
        states, days, optional = given.get("states"), given.get("days"), given.get("optional", False)
        if not isinstance(states, str) or not states:
            raise SpecError(f"interactions.states is {quote(states)}: the folder of the tables of days is needed")
        if not isinstance(days, str):
            raise SpecError(f"interactions.days is {quote(days)}: a call does not name a day, so {_WINDOW} is needed")
        if not isinstance(optional, bool):
            raise SpecError(f"interactions.optional is {quote(optional)}: true or false is needed")
        return cls(states, window_of(days).days, optional)


def window_of(text: str) -> Window:
    """Return the window ``first..last``. Raise :class:`SpecError` if ``text`` is not a window."""
    first, dots, last = text.partition("..")
    if not dots or day_of(first) is None or day_of(last) is None:
        raise SpecError(f"interactions.days is {quote(text)}: days from the first to the last, {_WINDOW}, are needed")
    return Window.of(first, last)


def window_before(day: str, count: int) -> Window:
    end = dt.date.fromisoformat(day)
    return Window(end - dt.timedelta(days=count), end - dt.timedelta(days=1))


def validate_popularity(plan: Plan) -> None:
    """Raise :class:`SpecError` if stored days cannot contain the popularity that ``plan`` reads or stores."""
    if plan.stores_popularity and not plan.keys:
        raise SpecError("popularity counts the items that groups had, but no group column is named")
    if not plan.popularity_days:
        return
    table = f"name the rows of the {INTERACTIONS} themselves"
    pairs = f"the pairs of group and item, but stored days have counts of items alone: {table}"
    for metric in plan.metrics:
        if metric.declaration.reads_interactions:
            raise SpecError(f"{shorten(metric)} reads {pairs}")
    if plan.items_had:
        raise SpecError(f"a slice by {GROUP_ITEMS} reads {pairs}")
    of_users = plan.item_columns.get(USERS)
    if plan.reads_tiers and plan.tiers.of == "users":
        of_users = "tiers.of"
    if of_users is not None:
        raise SpecError(
            f"{shorten(of_users)} counts the groups that had an item, but stored days count a group of two days "
            f"twice: count rows, or {table}"
        )
    if not plan.reads_popularity:
        raise SpecError(f"{INTERACTIONS} are given, but no metric and no slice reads the popularity of items")
