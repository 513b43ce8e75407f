"""Which column of the input plays which role. The one owner of the user's column names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkrank.errors import SpecError, listed

# Columns that the tables have of their own, beside those of the group key.
RESERVED = ("day", "model", "n_rows", "n_retrieved", "n_relevant")


@dataclass(frozen=True)
class Roles:
    """The columns of an impression log.

    ``group`` are the columns of the group key, ``scores`` maps each model's name to its score column, ``item`` may
    be absent where nothing asks for it, and so may ``reference_rank``, the ranks of an order to compare with. Without
    ``weight`` every row weighs 1.
    """

    group: tuple[str, ...]
    label: str
    scores: Mapping[str, str]
    item: str | None = None
    reference_rank: str | None = None
    weight: str | None = None

    @classmethod
    def of(
        cls,
        group: str | Sequence[str],
        label: str,
        score: str | Mapping[str, str],
        item: str | None = None,
        reference_rank: str | None = None,
        weight: str | None = None,
    ) -> Roles:
        """Roles as a person writes them: one column or several; one score, named after its column, or a mapping.

        Raises :class:`SpecError` when a column has two roles, or the group key none or a reserved name.
        """
        keys = (group,) if isinstance(group, str) else tuple(group)
        scores = {score: score} if isinstance(score, str) else dict(score)
        roles = cls(keys, label, scores, item, reference_rank, weight)
        roles._refuse_nonsense()
        return roles

    def _refuse_nonsense(self) -> None:
        if not self.group or not self.scores:
            raise SpecError(f"{'group' if not self.group else 'score'} names no column: name at least one")
        role_of: dict[str, str] = {}
        for role, column in self.columns():
            if column in role_of:
                raise SpecError(f'column "{column}" is both {role_of[column]} and {role}: a column has one role')
            role_of[column] = role
        for column in self.group:
            if column in RESERVED:
                raise SpecError(
                    f'the group column "{column}" has the name of a column of the tables: rename it (reserved: '
                    f"{listed(RESERVED)})"
                )

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every (role, column)."""
        yield from (("group", column) for column in self.group)
        yield "label", self.label
        yield from ((f"score of {model}", column) for model, column in self.scores.items())
        if self.item is not None:
            yield "item", self.item
        if self.reference_rank is not None:
            yield "reference rank", self.reference_rank
        if self.weight is not None:
            yield "weight", self.weight
