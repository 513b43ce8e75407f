"""The settings of a whole evaluation that change the meaning of its metric values, such as the order of tied rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, TypedDict, get_args, get_type_hints

from sparkrank.base.errors import SpecError, validate_names
from sparkrank.metrics.presets import Preset, PresetName
from sparkrank.ranking.ranking import Positions, Ties

Undefined: TypeAlias = Literal["skip", "zero", "one", "error"]
Unretrieved: TypeAlias = Literal["zero", "skip"]
Unjudged: TypeAlias = Literal["nonrelevant", "drop"]
Duplicates: TypeAlias = Literal["keep", "once", "first", "error"]
Population: TypeAlias = Literal["all", "truth", "lists", "both"]
_ALWAYS_WRITTEN = ("ties", "undefined")


class SettingOptions(TypedDict, total=False):
    """The keyword arguments for the definitions. ``preset`` names a library for those that are missing or None."""

    preset: PresetName | None
    ties: Ties | None
    undefined: Undefined | None
    unretrieved: Unretrieved | None
    unjudged: Unjudged | None
    duplicates: Duplicates | None
    population: Population | None
    positions: Positions | None


@dataclass(frozen=True)
class Definitions:
    """The settings of a whole evaluation that change the meaning of its metric values. Tables contain these settings.

    Parameters
    ----------
    ties : {"expected", "item", "worst", "best", "block"}
        The order of tied rows. With ``expected``, a value is the mean over all orders of the tied rows. ``item`` sorts
        tied rows by item, as strings in descending order. ``worst`` puts relevant rows last, and ``best`` puts them
        first. ``block`` treats all tied rows as one step.
    undefined : {"skip", "zero", "one", "error"}
        The treatment of a group for which a metric is undefined. ``skip`` leaves the group out of the mean. ``zero``
        and ``one`` count the value as 0 or 1 in the mean. ``error`` stops the evaluation, even for an undefined pooled
        metric. In the group table, the value is always NaN.
    unretrieved : {"zero", "skip"}
        The treatment of a group without a list. With ``zero``, the group has the value of an empty list: 0 for most
        metrics. ``skip`` leaves the group out.
    unjudged : {"nonrelevant", "drop"}
        The treatment of a list row without a label. ``nonrelevant`` counts the row as not relevant. ``drop`` removes
        the row before positions are assigned.
    duplicates : {"keep", "once", "first", "error"}
        The treatment of an item that is in a list more than once. ``keep`` counts the item at each of its positions.
        ``once`` counts the item at its best position, and keeps the repeats in the list as misses. ``first`` counts the
        item at its best position and removes the repeats, so that later rows move up. ``error`` stops the evaluation.
    population : {"all", "truth", "lists", "both"}
        The groups that are evaluated: all groups, groups with truth, groups with a list, or groups with both.
    positions : {"dense", "given", "given_from_0"}
        The position of a row. ``dense`` is the position in the list after sorting by score. ``given`` is the rank in
        the input, if ranks count from 1. ``given_from_0`` is the rank in the input, if ranks count from 0.

    Raises
    ------
    SpecError
        If a value is not allowed, or if ``positions`` are ranks of the input and ``ties`` would order tied rows.

    Examples
    --------
    >>> print(Definitions(ties="item", population="truth"))
    ties=item, undefined=skip, population=truth
    """

    ties: Ties = field(default="expected", metadata={"about": "the order of tied rows"})
    undefined: Undefined = field(
        default="skip", metadata={"about": "what a group counts where the metric is undefined"}
    )
    unretrieved: Unretrieved = field(default="zero", metadata={"about": "what a group without a list counts"})
    unjudged: Unjudged = field(default="nonrelevant", metadata={"about": "what a row without a label is"})
    duplicates: Duplicates = field(
        default="keep", metadata={"about": "how often an item counts that is in a list twice"}
    )
    population: Population = field(default="all", metadata={"about": "the groups that are evaluated"})
    positions: Positions = field(default="dense", metadata={"about": "the position of a row"})

    @classmethod
    def of(cls, preset: Preset | None, given: Mapping[str, Any], *, joins: bool = False) -> Definitions:
        """Return the definitions with the settings in ``given``, completed from ``preset`` and then from defaults.

        A setting that is None in ``given`` counts as not given. ``joins`` is true if lists are joined with the truth,
        on which the default of ``duplicates`` depends.

        Examples
        --------
        >>> from sparkrank.metrics import Definitions, find_preset
        >>> Definitions.of(find_preset("replay"), {"undefined": "skip"}).undefined
        'skip'
        """
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(**{"duplicates": default_duplicates(joins), **(preset.definitions if preset else {}), **chosen})

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            validate_names(f"{name} is", [getattr(self, name)], allowed)
        if self.positions != "dense" and self.ties not in ("expected", "block"):
            raise SpecError(f"ties={self.ties} orders tied rows, but positions={self.positions} takes them as given")

    @property
    def counts_undefined_as(self) -> float | None:
        """The value that counts in the mean for a group with an undefined value, or None if the group is left out."""
        return {"zero": 0.0, "one": 1.0}.get(self.undefined)

    @property
    def chooses_groups(self) -> bool:
        return self.population != "all" or self.unretrieved != "zero"

    def __str__(self) -> str:
        return self.written()

    def written(self, *always: str) -> str:
        """Return a string of ``ties``, ``undefined``, the settings named in ``always``, and all other non-defaults."""
        values = [(setting.name, getattr(self, setting.name), setting.default) for setting in fields(self)]
        shown = {*_ALWAYS_WRITTEN, *always}
        return ", ".join(f"{name}={value}" for name, value, default in values if value != default or name in shown)


ALLOWED: dict[str, tuple[str, ...]] = {
    name: get_args(words) for name, words in get_type_hints(Definitions).items() if name in Definitions.__annotations__
}
ABOUT = {setting.name: str(setting.metadata["about"]) for setting in fields(Definitions)}


def default_duplicates(joins: bool) -> Duplicates:
    """Return the default of ``duplicates``: ``once`` for a join, where R counts an item once; ``keep`` otherwise."""
    return "once" if joins else "keep"


DEFAULTS = Definitions()
