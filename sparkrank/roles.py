"""Which column of the input plays which role. The one owner of the user's column names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkrank.errors import SpecError, did_you_mean, listed

# Columns that the tables have of their own, beside those of the group key.
RESERVED = ("day", "model", "n_rows", "n_retrieved", "n_relevant")


@dataclass(frozen=True)
class TruthColumns:
    """The columns of a truth as a person names them: those left out have the names that the lists give them."""

    group: str | Sequence[str] | None = None
    item: str | None = None
    label: str | None = None

    @classmethod
    def of(cls, label: str | None, named: Mapping[str, Any] | None) -> TruthColumns:
        """The columns that ``named`` maps roles to; ``label`` where it names none for the label.

        Raises :class:`SpecError` for a role that a truth has not.
        """
        given = {"label": label, **(named or {})}
        roles = ("group", "item", "label")
        for role in given:
            if role not in roles:
                raise SpecError(f'truth_columns names "{role}"{did_you_mean(role, roles)} (allowed: {listed(roles)})')
        return cls(**given)


def _keys(group: str | Sequence[str]) -> tuple[str, ...]:
    return (group,) if isinstance(group, str) else tuple(group)


def _truth_roles(truth: TruthColumns, group: tuple[str, ...], item: str | None) -> Roles:
    if item is None:
        raise SpecError("lists and truth are joined by item, but no item column is named")
    keys = group if truth.group is None else _keys(truth.group)
    if len(keys) != len(group):
        raise SpecError(f"the group key has {len(group)} columns in the lists and {len(keys)} in the truth")
    return Roles(keys, truth.label, {}, truth.item or item)


@dataclass(frozen=True)
class Roles:
    """The columns of an impression log, or of lists that stand beside a ``truth`` with columns of its own.

    ``group`` are the columns of the group key, ``scores`` maps each model's name to its score column, which holds
    ranks where ``by_rank``. ``item`` may be absent where nothing asks for it. ``label`` is absent where the labels are
    those of the truth; the roles of a truth have no scores, and where they have no label, each row's is 1.
    """

    group: tuple[str, ...]
    label: str | None
    scores: Mapping[str, str]
    item: str | None = None
    by_rank: bool = False
    truth: Roles | None = None

    @classmethod
    def of(
        cls,
        group: str | Sequence[str],
        label: str | None,
        score: str | Mapping[str, str] | None,
        item: str | None = None,
        *,
        rank: str | Mapping[str, str] | None = None,
        truth: TruthColumns | None = None,
    ) -> Roles:
        """Roles as a person writes them: one column or several; one score, named after its column, or a mapping.

        ``rank`` stands in place of ``score``, and ``truth`` in place of ``label``. Raises :class:`SpecError` when a
        role is missing, a column has two, or the group key has a reserved name.
        """
        ordered = rank if score is None else score
        if ordered is None or (score is not None and rank is not None):
            given = "neither score nor rank names" if ordered is None else "both score and rank name"
            raise SpecError(f"{given} a column: one of the two orders a list")
        keys = _keys(group)
        scores = {ordered: ordered} if isinstance(ordered, str) else dict(ordered)
        joined = None if truth is None else _truth_roles(truth, keys, item)
        roles = cls(keys, label, scores, item, score is None, joined)
        if not scores:
            raise SpecError("score names no column: name at least one")
        if (label is None) == (truth is None):
            told = "label names no column, and there is no truth" if label is None else f'label="{label}" and a truth'
            raise SpecError(f"{told}: labels come from a column of the input or from the truth")
        roles.refuse_nonsense()
        if joined is not None:
            joined.refuse_nonsense()
        return roles

    def refuse_nonsense(self) -> None:
        """Raise :class:`SpecError` where the group key is missing or reserved, or a column has two roles."""
        if not self.group:
            raise SpecError("group names no column: name at least one")
        role_of: dict[str, str] = {}
        for role, column in self.columns():
            if column in role_of:
                of = "" if self.scores else " of the truth"
                raise SpecError(f'column "{column}"{of} is both {role_of[column]} and {role}: a column has one role')
            role_of[column] = role
        for column in self.group:
            if column in RESERVED:
                raise SpecError(
                    f'the group column "{column}" has the name of a column of the tables: rename it (reserved: '
                    f"{listed(RESERVED)})"
                )

    def refuse_positions(self, positions: str) -> None:
        """Raise :class:`SpecError` where positions are to be given and no column gives ranks."""
        if positions != "dense" and not self.by_rank:
            raise SpecError(f"positions={positions} takes ranks as positions, but no rank column is named")

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every (role, column)."""
        yield from (("group", column) for column in self.group)
        if self.label is not None:
            yield "label", self.label
        what = "rank" if self.by_rank else "score"
        yield from ((f"{what} of {model}", column) for model, column in self.scores.items())
        if self.item is not None:
            yield "item", self.item
