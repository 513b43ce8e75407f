"""The settings of a whole evaluation that change the meaning of its numbers."""

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
    """The definitions as keyword arguments, and the preset that supplies any that are not given."""

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
    """The settings of a whole evaluation that change the meaning of its numbers. Tables state these settings.

    Parameters
    ----------
    ties : {"expected", "item", "worst", "best", "block"}
        The order of tied rows. ``expected``: the mean over all their orders. ``item``: by item, in descending order of
        strings. ``worst``: relevant rows last. ``best``: relevant rows first. ``block``: all tied rows as one step.
    undefined : {"skip", "zero", "one", "error"}
        The treatment of a group for which a metric is undefined. ``skip``: the group is left out of the mean. ``zero``,
        ``one``: the value counts as 0 or 1. ``error``: the evaluation stops, also if a metric of all rows is undefined.
        In the group table the value is always NaN.
    unretrieved : {"zero", "skip"}
        The treatment of a group without a list. ``zero``: the group has the value of an empty list, which is 0 for most
        metrics. ``skip``: the group is left out.
    unjudged : {"nonrelevant", "drop"}
        The treatment of a list row without a label. ``nonrelevant``: the row counts as not relevant. ``drop``: the row
        is dropped before positions are assigned.
    duplicates : {"keep", "once", "first", "error"}
        The treatment of an item that is in a list more than once. ``keep``: the item counts at each of its positions.
        ``once``: the item counts at its best position, and repeats stay in the list as misses. ``first``: the item
        counts at its best position, repeats are removed, and later rows move up. ``error``: the evaluation stops.
    population : {"all", "truth", "lists", "both"}
        The groups that are evaluated: all, those with truth, those with lists, or those with both.
    positions : {"dense", "given", "given_from_0"}
        The position of a row. ``dense``: the position in the list as ordered here. ``given``: the rank in the input,
        which counts from 1. ``given_from_0``: the rank in the input, which counts from 0.

    Raises
    ------
    SpecError
        If a value is not allowed, or if ``positions`` takes ranks from the input while ``ties`` would order tied rows.

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
        """The definitions with the settings in ``given``; other settings come from ``preset``, or have their defaults.

        ``joins`` says whether lists are joined with the truth, which decides the default of ``duplicates``.
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
        """The value that counts in the mean where a metric is undefined, or None if the group is left out."""
        return {"zero": 0.0, "one": 1.0}.get(self.undefined)

    @property
    def chooses_groups(self) -> bool:
        return self.population != "all" or self.unretrieved != "zero"

    def __str__(self) -> str:
        return self.written()

    def written(self, *always: str) -> str:
        """The settings as a string: ``ties``, ``undefined``, those named in ``always``, and any not at default."""
        values = [(setting.name, getattr(self, setting.name), setting.default) for setting in fields(self)]
        shown = {*_ALWAYS_WRITTEN, *always}
        return ", ".join(f"{name}={value}" for name, value, default in values if value != default or name in shown)


ALLOWED: dict[str, tuple[str, ...]] = {
    name: get_args(words) for name, words in get_type_hints(Definitions).items() if name in Definitions.__annotations__
}
ABOUT = {setting.name: str(setting.metadata["about"]) for setting in fields(Definitions)}


def default_duplicates(joins: bool) -> Duplicates:
    """With the truth, an item counts once, as in R (the relevant items); in a log, each row has its own label."""
    return "once" if joins else "keep"


DEFAULTS = Definitions()
