"""Whether all contenders return the same values. Times of different values say nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pyarrow.dataset as ds

from benchmarks.contenders import Contender, Value
from benchmarks.generate import LogShape

TOLERANCE = 1e-6


class DisagreementError(Exception):
    """A contender whose values are not those of the others."""


class Check:
    """Holds the first value seen of each metric, and compares all later ones with it.

    On a log with tied scores, contenders that put tied rows in any order differ from the mean over all orders by
    chance: in the mean over the groups by at most 0.5 / sqrt(groups) standard deviations. Twice that is allowed, and
    nothing of it where tied rows stand ``by_item``.
    """

    def __init__(self, shape: LogShape, by_item: bool = False) -> None:
        self._tolerance = TOLERANCE if shape.ties == 0 or by_item else TOLERANCE + 1 / math.sqrt(shape.groups)
        self._first: dict[tuple[str, str], tuple[str, Value]] = {}
        self._rows: tuple[str, int] | None = None

    def compare(self, contender: Contender) -> None:
        """Raises :class:`DisagreementError` naming both contenders, the metric and the values."""
        for model, values in contender.values().items():
            for metric, value in values.items():
                self._compare_value(contender.name, (model, metric), value)
        if contender.table is not None:
            rows = ds.dataset(contender.table, format="parquet").count_rows()
            name, first_rows = self._rows = self._rows or (contender.name, rows)
            if rows != first_rows:
                raise DisagreementError(
                    f"the group table has {rows} rows by {contender.name} and {first_rows} by {name}"
                )

    def _compare_value(self, contender: str, place: tuple[str, str], value: Value) -> None:
        name, first = self._first.setdefault(place, (contender, value))
        allowed = self._tolerance + value.bound + first.bound
        if not abs(value.value - first.value) <= allowed:  # also where one is NaN
            model, metric = place
            raise DisagreementError(
                f"{metric} of {model} is {value.value!r} by {contender} and {first.value!r} by {name}: "
                f"more than {allowed:.1e} apart"
            )

    @property
    def values(self) -> Mapping[str, Mapping[str, float]]:
        """By model, each metric's value, of the contender that gave it first."""
        found: dict[str, dict[str, float]] = {}
        for (model, metric), (_, value) in self._first.items():
            found.setdefault(model, {})[metric] = value.value
        return found
