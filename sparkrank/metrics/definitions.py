"""The settings of a whole evaluation that change what its numbers mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from sparkrank.base.errors import SpecError, did_you_mean, listed, shortened
from sparkrank.metrics.presets import Preset
from sparkrank.ranking.ranking import Positions, Ties

Undefined: TypeAlias = Literal["skip", "zero", "one", "error"]
Unretrieved: TypeAlias = Literal["zero", "skip"]
Unjudged: TypeAlias = Literal["nonrelevant", "drop"]
Duplicates: TypeAlias = Literal["keep", "once", "first", "error"]
Population: TypeAlias = Literal["all", "truth", "lists", "both"]
ALLOWED: dict[str, tuple[str, ...]] = {
    "ties": get_args(Ties),
    "undefined": get_args(Undefined),
    "unretrieved": get_args(Unretrieved),
    "unjudged": get_args(Unjudged),
    "duplicates": get_args(Duplicates),
    "population": get_args(Population),
    "positions": get_args(Positions),
}
_ALWAYS_WRITTEN = ("ties", "undefined")


def _allowed(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        near = did_you_mean(value, allowed)
        raise SpecError(f'{name} is "{shortened(value)}"{near} (allowed: {listed(allowed)})')


@dataclass(frozen=True)
class Definitions:
    """Settings of a whole evaluation that change what its numbers mean; the tables name them.

    Parameters
    ----------
    ties : {"expected", "item", "worst", "best", "block"}
        The order of tied rows. ``expected``: the mean over all their orders. ``item``: by item, descending as text.
        ``worst``: relevant rows last. ``best``: relevant rows first. ``block``: all of them at once, as one step.
    undefined : {"skip", "zero", "one", "error"}
        A group where a metric is undefined. ``skip``: it is left out of the mean. ``zero``, ``one``: it counts 0 or 1.
        ``error``: it stops the evaluation, and so does an undefined metric of all rows. In the group table it is NaN
        in any case.
    unretrieved : {"zero", "skip"}
        A group without a list. ``zero``: it has the value of an empty list, 0 for most metrics. ``skip``: it is left
        out.
    unjudged : {"nonrelevant", "drop"}
        A list row without a label. ``nonrelevant``: it counts as not relevant. ``drop``: it is dropped before rows get
        their positions.
    duplicates : {"keep", "once", "first", "error"}
        An item that is in a list twice. ``keep``: it counts at each of its positions. ``once``: it counts at its best
        position, and its repeats stay in the list as misses. ``first``: it counts at its best position, its repeats
        leave the list, and later rows move up. ``error``: it stops the evaluation.
    population : {"all", "truth", "lists", "both"}
        The groups that are evaluated: all, those with truth, those with lists, or those with both.
    positions : {"dense", "given", "given_from_0"}
        The position of a row. ``dense``: its place in the list. ``given``: its rank, which counts from 1.
        ``given_from_0``: its rank, which counts from 0.

    Raises
    ------
    SpecError
        If a value is not one of these, or ``positions`` are given and ``ties`` would order rows.

    Examples
    --------
    >>> print(Definitions(ties="item", population="truth"))
    ties=item, undefined=skip, population=truth
    """

    ties: Ties = "expected"
    undefined: Undefined = "skip"
    unretrieved: Unretrieved = "zero"
    unjudged: Unjudged = "nonrelevant"
    duplicates: Duplicates = "keep"
    population: Population = "all"
    positions: Positions = "dense"

    @classmethod
    def of(cls, preset: Preset | None, given: Mapping[str, Any], *, joins: bool = False) -> Definitions:
        """The settings that are ``given``, for those that are not what ``preset`` sets, and else their defaults.

        ``joins``: lists are joined with a truth, which decides the default of ``duplicates``.
        """
        chosen = {name: value for name, value in given.items() if value is not None}
        return cls(**{"duplicates": default_duplicates(joins), **(preset.definitions if preset else {}), **chosen})

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            _allowed(name, getattr(self, name), allowed)
        if self.positions != "dense" and self.ties not in ("expected", "block"):
            raise SpecError(f"ties={self.ties} orders tied rows, but positions={self.positions} takes them as given")

    @property
    def counts_undefined_as(self) -> float | None:
        """What an undefined value counts as in its mean, or None where its group is left out."""
        return {"zero": 0.0, "one": 1.0}.get(self.undefined)

    @property
    def chooses_groups(self) -> bool:
        """Whether some group may be left out, whatever its metrics say."""
        return self.population != "all" or self.unretrieved != "zero"

    def __str__(self) -> str:
        return self.written()

    def written(self, *always: str) -> str:
        """Ties, the undefined and the settings named in ``always``, the others where they differ from their default."""
        values = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
        shown = {*_ALWAYS_WRITTEN, *always}
        return ", ".join(f"{name}={value}" for name, value, default in values if value != default or name in shown)


def default_duplicates(joins: bool) -> Duplicates:
    """What ``duplicates`` is where neither a person nor a preset says.

    R counts an item once where lists are joined with a truth, so a list must not be credited with it twice. In a log,
    rows are what was shown: each has a label of its own, and R counts them all.
    """
    return "once" if joins else "keep"


DEFAULTS = Definitions()
