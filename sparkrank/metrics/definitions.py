"""The settings of a whole evaluation that change what its numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, TypedDict, get_args, get_type_hints

from sparkrank.base.errors import SpecError, did_you_mean, itemize, shorten
from sparkrank.metrics.presets import Preset, PresetName
from sparkrank.ranking.ranking import Positions, Ties

Undefined: TypeAlias = Literal["skip", "zero", "one", "error"]
Unretrieved: TypeAlias = Literal["zero", "skip"]
Unjudged: TypeAlias = Literal["nonrelevant", "drop"]
Duplicates: TypeAlias = Literal["keep", "once", "first", "error"]
Population: TypeAlias = Literal["all", "truth", "lists", "both"]
_ALWAYS_WRITTEN = ("ties", "undefined")


class SettingOptions(TypedDict, total=False):
    """The definitions as keyword arguments, and the preset that supplies those not given."""

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
    """Settings of a whole evaluation that change what its numbers mean; the tables name them.

    Parameters
    ----------
    ties : {"expected", "item", "worst", "best", "block"}
        The order of tied rows. ``expected``: the mean over all their orders. ``item``: by item, descending as text.
        ``worst``: relevant rows last. ``best``: relevant rows first. ``block``: all of them at once, as one step.
    undefined : {"skip", "zero", "one", "error"}
        The treatment of a group for which a metric is undefined. ``skip``: it is left out of the mean. ``zero``,
        ``one``: it counts as 0 or 1. ``error``: it stops the evaluation, as does an undefined metric of all rows. In
        the group table the value is NaN in any case.
    unretrieved : {"zero", "skip"}
        The treatment of a group without a list. ``zero``: it has the value of an empty list, 0 for most metrics.
        ``skip``: it is left out.
    unjudged : {"nonrelevant", "drop"}
        The treatment of a list row without a label. ``nonrelevant``: it counts as not relevant. ``drop``: it is
        dropped before rows get their positions.
    duplicates : {"keep", "once", "first", "error"}
        The treatment of an item that is in a list more than once. ``keep``: it counts at each of its positions.
        ``once``: it counts at its best position, and its repeats stay in the list as misses. ``first``: it counts at
        its best position, its repeats are removed, and later rows move up. ``error``: it stops the evaluation.
    population : {"all", "truth", "lists", "both"}
        The groups that are evaluated: all, those with truth, those with lists, or those with both.
    positions : {"dense", "given", "given_from_0"}
        The position of a row. ``dense``: its place in the list. ``given``: its rank, which counts from 1.
        ``given_from_0``: its rank, which counts from 0.

    Raises
    ------
    SpecError
        If a value is not one of these, or if ``positions`` are given and ``ties`` would order rows.

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
        """The settings that are ``given``; the others are taken from ``preset``, or else have their defaults.

        ``joins``: lists are joined with a truth, which decides the default of ``duplicates``.
        """
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(**{"duplicates": default_duplicates(joins), **(preset.definitions if preset else {}), **chosen})

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            if (word := getattr(self, name)) not in allowed:
                near = did_you_mean(word, allowed)
                raise SpecError(f'{name} is "{shorten(word)}"{near} (allowed: {itemize(allowed)})')
        if self.positions != "dense" and self.ties not in ("expected", "block"):
            raise SpecError(f"ties={self.ties} orders tied rows, but positions={self.positions} takes them as given")

    @property
    def counts_undefined_as(self) -> float | None:
        """The value that an undefined one counts as in the mean, or None if its group is left out."""
        return {"zero": 0.0, "one": 1.0}.get(self.undefined)

    @property
    def chooses_groups(self) -> bool:
        return self.population != "all" or self.unretrieved != "zero"

    def __str__(self) -> str:
        return self.written()

    def written(self, *always: str) -> str:
        """The settings that differ from their default, ``ties``, ``undefined`` and those named in ``always``."""
        values = [(setting.name, getattr(self, setting.name), setting.default) for setting in fields(self)]
        shown = {*_ALWAYS_WRITTEN, *always}
        return ", ".join(f"{name}={value}" for name, value, default in values if value != default or name in shown)


ALLOWED: dict[str, tuple[str, ...]] = {
    name: get_args(words) for name, words in get_type_hints(Definitions).items() if name in Definitions.__annotations__
}
ABOUT = {setting.name: str(setting.metadata["about"]) for setting in fields(Definitions)}


def default_duplicates(joins: bool) -> Duplicates:
    """With a truth an item counts once, as in R; in a log, each row was shown and has a label of its own."""
    return "once" if joins else "keep"


DEFAULTS = Definitions()
