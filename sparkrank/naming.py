"""Columns as a person names them: one or several, by model, of a truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkrank.errors import SpecError, did_you_mean, listed, shortened, shown


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
        if named is not None and not isinstance(named, Mapping):
            raise SpecError(f"truth_columns is {shown(named)}: a mapping of roles to columns of the truth is needed")
        given = {"label": label, **(named or {})}
        roles = ("group", "item", "label")
        for role in given:
            if role not in roles:
                told = f'truth_columns names "{shortened(role)}"{did_you_mean(role, roles)}'
                raise SpecError(f"{told} (allowed: {listed(roles)})")
        return cls(**given)


def columns_of_key(group: Any) -> tuple[str, ...]:
    """The columns of the group key; one that is no text is refused with the others, by its role."""
    return tuple(group) if isinstance(group, Iterable) and not isinstance(group, (str, bytes)) else (group,)


def by_model(role: str, named: Any) -> dict[str, str]:
    """The column of each model: one is named after its column. Raises :class:`SpecError` for anything else."""
    if isinstance(named, str):
        return {named: named}
    if not hasattr(named, "items"):
        raise SpecError(f"{role} is {shown(named)}: a column, or a mapping of names of models to columns, is needed")
    models = dict(named)
    for model in models:
        if not isinstance(model, str):
            raise SpecError(f"{role} names a model {shown(model)}: a text is needed")
        if not model:  # which stands for all models where rows are counted
            raise SpecError(f"{role} names a model '': a text that is not empty is needed")
    return models


def of_model(model: str, what: str, column: str) -> str:
    """The role of a model's ``column``: a model that is named after it needs no naming."""
    return what if model == column else f"{shortened(model)} {what}"
