"""The popularity of items: for each item, the number of groups that had it, and the number of rows with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import SpecError, hint, itemize, quote, validate_names
from sparkrank.numeric.array_types import Ints
from sparkrank.ranking.value_columns import ITEM_RANK, POPULARITY_COLUMNS, ROWS, TIER, USERS
from sparkrank.states.items import UNIT, ItemCounts

TierMeasure: TypeAlias = Literal["rows", "users", "items"]
MEASURES: tuple[TierMeasure, ...] = get_args(TierMeasure)
POPULARITY_COUNTS = "popularity"  # the name of the state in which a stored day counts items
_TIERS_OF_HAD = ("head", "torso", "tail")
TIERS = (*_TIERS_OF_HAD, str(POPULARITY_COLUMNS[TIER]))  # the last is of items that no group had


@dataclass(frozen=True)
class Tiers:
    """The rule that puts items into tiers (head, torso and tail), from the most popular item down.

    Items are ordered by ``interactions.rows`` (or by users, if ``of="users"``), and equal ones by text. An item is in
    the head if the items before it have a share below ``head``, and in the tail if they have a share of at least
    ``tail``. ``of`` is the measure of the shares; with ``of="items"``, all items count equally.
    """

    of: TierMeasure = "rows"
    head: float = 0.8
    tail: float = 0.95

    def __str__(self) -> str:
        return f"tiers of {self.of}, head {self.head!r}, tail {self.tail!r}"

    @classmethod
    def parse(cls, settings: Any) -> Tiers:
        """Return the rule in a user's mapping ``settings``. Raise :class:`SpecError` if the rule is invalid."""
        known = [field.name for field in fields(cls)]
        if not isinstance(settings, Mapping):
            raise SpecError(f"tiers is {quote(settings)}: a mapping of {itemize(known)} is needed")
        validate_names("tiers has the key", settings, known)
        of = settings.get("of", cls.of)
        if of not in MEASURES:
            raise SpecError(f"tiers.of is {quote(of)}{hint(of, MEASURES)}")
        shares = [settings.get(name, getattr(cls, name)) for name in ("head", "tail")]
        for name, share in zip(("head", "tail"), shares, strict=True):
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
                raise SpecError(f"tiers.{name} is {quote(share)}: a share above 0 and up to 1 is needed")
        head, tail = map(float, shares)
        if head > tail:
            raise SpecError(
                f"tiers.head is {head!r}, above tiers.tail, which is {tail!r}: the head ends where the torso begins"
            )
        return cls(of, head, tail)

    def names(self, items: pa.Array, users: Ints, rows: Ints) -> pa.Array:
        """Return the tier of each item. All ``items`` are distinct, and none is null."""
        amounts = users if self.of == "users" else rows
        ranked = pa.table({"text": items.cast(pa.large_string()), "amount": amounts})
        order = pc.sort_indices(ranked, [("amount", "descending"), ("text", "ascending")]).to_numpy()
        counted = np.ones(len(order), np.int64) if self.of == "items" else amounts[order]
        through = np.cumsum(counted)
        before = (through - counted) / max(int(counted.sum()), 1)  # sums of whole numbers, so in any order
        tier = np.empty(len(order), np.int8)
        tier[order] = (before >= self.head).astype(np.int8) + (before >= self.tail)
        return pa.DictionaryArray.from_arrays(tier, list(_TIERS_OF_HAD)).cast(pa.string())


@dataclass(frozen=True, eq=False)
class Popularity:
    """The popularity of ``items``: numbers of ``users`` (groups that had the item) and of ``rows``, and the ``tier``.

    ``groups`` is the number of all groups that had an item.
    """

    items: pa.Array
    users: pa.Array
    rows: pa.Array
    tier: pa.Array
    groups: int

    @classmethod
    def of(cls, counts: ItemCounts, groups: int, tiers: Tiers) -> Popularity:
        """Return the popularity of the items in ``counts``, the counts of the interactions of ``groups`` groups.

        ``counts`` contains the rows of an item as ``shown`` (in :data:`UNIT`), and its groups (users) as ``relevant``.
        """
        counted = counts.coded
        rows = counted.shown // UNIT
        tier = tiers.names(counted.item, counted.relevant, rows)
        return cls(counted.item, pa.array(counted.relevant), pa.array(rows), tier, groups)

    @property
    def rank(self) -> pa.Array:
        """The rank of each item by rows: 1 for the most rows. Items with equally many rows share a rank."""
        rows = self.rows.to_numpy()
        distinct, place = np.unique(rows, return_inverse=True)
        return pa.array(len(distinct) - place)

    def columns(self) -> dict[str, pa.Array]:
        """Return the columns of the table of items, by their names in metrics and slices."""
        return {USERS: self.users, ROWS: self.rows, ITEM_RANK: self.rank, TIER: self.tier}

    def totals(self, catalog: int) -> dict[str, int]:
        """Return the total for each column of shares or ranks. ``catalog`` is the number of catalog items (0: none)."""
        return {USERS: self.groups, ROWS: int(self.rows.to_numpy().sum()), ITEM_RANK: catalog or len(self.items)}
