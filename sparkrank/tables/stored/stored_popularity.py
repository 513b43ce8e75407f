"""The popularity of items, from the counts of stored days instead of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from sparkrank.base.errors import InputError, StateError, shorten
from sparkrank.inputs.popularity_days import PopularityDays
from sparkrank.inputs.window import spans
from sparkrank.sources.files import without_password
from sparkrank.states import ItemCounts
from sparkrank.states.forms import ITEM_FORM, VERSION
from sparkrank.states.popularity import POPULARITY_COUNTS
from sparkrank.tables.stored.stored_days import DAYS_AT_ONCE, READING_THREADS, StoredDay, find_days

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEANING = ("version", "definition", "source")  # the columns of the table ``states`` that define the counts


class DayPopularity(NamedTuple):
    """The counts of the items of one day, with the version, definition and source that define the counts."""

    day: str
    meaning: tuple[str, ...]
    counts: ItemCounts


def stored_popularity(requested: PopularityDays, spark: SparkSession | None) -> tuple[ItemCounts, tuple[str, ...]]:
    """Return the merged counts of items of the ``requested`` days, and the days without counts.

    Raise :class:`InputError` for days without counts that are not optional and for damaged files, and
    :class:`StateError` if two days count in different ways.
    """
    found: list[str] = []
    first: DayPopularity | None = None
    merged = ItemCounts.empty()
    stored = find_days(requested.path, requested.days, spark)
    with ThreadPoolExecutor(READING_THREADS) as pool:
        for start in range(0, len(stored), DAYS_AT_ONCE):
            days = [day for day in pool.map(_of_day, stored[start : start + DAYS_AT_ONCE]) if day is not None]
            for day in days:
                first = first or day
                _validate_same(first, day)
                found.append(day.day)
            merged = merged.merge(*(day.counts for day in days))
    missing = tuple(day for day in requested.days if day not in found)
    if missing and not requested.optional:
        raise _missing(missing, requested)
    return merged, missing


def _of_day(day: StoredDay) -> DayPopularity | None:
    states = day.states()
    own = states.filter(pc.and_(pc.equal(states["kind"], ITEM_FORM.kind), pc.equal(states["name"], POPULARITY_COUNTS)))
    if not own.num_rows:
        return None
    meaning = tuple(str(own[name][0].as_py()) for name in _MEANING)
    if meaning[0] != str(VERSION):
        raise StateError(
            f"the states of {day.day} are of version {meaning[0]}, and this sparkrank reads version {VERSION}: "
            f"evaluate that day again"
        )
    rows = day.rows(ITEM_FORM, {"model": [""], "exposure": [POPULARITY_COUNTS]}, pc.sum(own["n_blocks"]).as_py())
    return DayPopularity(day.day, meaning, ITEM_FORM.from_table(rows).items)


def _validate_same(first: DayPopularity, day: DayPopularity) -> None:
    for what, one, other in zip(_MEANING, first.meaning, day.meaning, strict=True):
        if one != other:
            raise StateError(
                f"the popularity of items of {first.day} is of {what} {shorten(one)}, and that of {day.day} of {what} "
                f"{shorten(other)}: evaluate one of them again, or name days that agree"
            )


def _missing(missing: Sequence[str], requested: PopularityDays) -> InputError:
    days = "that day" if len(missing) == 1 else "those days"
    place = without_password(requested.path)
    return InputError(
        f"{shorten(spans(missing))} under {place} has no popularity of items: evaluate {days} with "
        f"output.popularity: true (optional: true takes the days that have it)"
    )
