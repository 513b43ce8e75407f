"""The settings of intervals, and of comparisons with a baseline model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from sparkrank.base.errors import SpecError, hint, itemize, quote, shorten, validate_names
from sparkrank.stats.corrections import METHODS, Correction

Family: TypeAlias = Literal["slice_column", "candidate", "metric", "slice"]
FAMILIES: tuple[str, ...] = get_args(Family)
LEAST_LEVEL, MOST_LEVEL = 0.5, 0.9999
MOST_NIGHTS = 10_000


@dataclass(frozen=True)
class Uncertainty:
    """The settings of intervals: the ``level`` of an interval, and the choice of values with intervals.

    ``off`` disables parts (fixed subsets of groups, :mod:`sparkrank.states.part_sums`) and all intervals that need
    parts. ``slices`` is true if values of slices have parts too. With ``sequential``, for a window that grows from a
    first day, intervals are valid at all looks together. ``nights`` is the number of tables, each with different days,
    that share the probability of an error.
    """

    level: float = 0.95
    off: bool = False
    slices: bool = True
    sequential: bool = False
    nights: int = 1

    @classmethod
    def of(cls, given: Mapping[str, Any] | bool) -> Uncertainty:
        """Return the settings for ``given``: True for the defaults, False for no parts, or a mapping of the fields.

        Raise :class:`SpecError` for anything else, for an unknown key, and for a value that is not allowed.
        """
        if isinstance(given, bool):
            return cls(off=not given)
        if not isinstance(given, Mapping):
            raise SpecError(f"uncertainty is {quote(given)}: true, false, or a mapping is needed")
        known = [setting.name for setting in fields(cls)]
        known.remove("nights")  # a key of ``sequential``
        validate_names("uncertainty names", given, known)
        for key, value in given.items():
            if key == "sequential" and isinstance(value, Mapping):
                continue
            if key != "level" and not isinstance(value, bool):
                also = ", or the number of nights, as {nights: 365}," if key == "sequential" else ""
                raise SpecError(f"uncertainty.{key} is {quote(value)}: true or false{also} is needed")
        looks = given.get("sequential")
        if not isinstance(looks, Mapping):
            return cls(**given)
        if [*looks] != ["nights"]:
            raise SpecError(f"uncertainty.sequential has the keys {itemize(map(str, looks))}: only nights is allowed")
        return cls(**{**given, "sequential": False, "nights": looks["nights"]})

    def __post_init__(self) -> None:
        for key, value, kinds, least, most, what in (
            ("level", self.level, (int, float), LEAST_LEVEL, MOST_LEVEL, "a share"),
            ("sequential.nights", self.nights, int, 1, MOST_NIGHTS, "a whole number"),
        ):
            if not isinstance(value, kinds) or isinstance(value, bool) or not least <= value <= most:
                raise SpecError(f"uncertainty.{key} is {quote(value)}: {what} from {least} to {most} is needed")

    @property
    def look_level(self) -> float:
        """The level of a single interval, if all nights share the probability of an error equally (Bonferroni).

        Examples
        --------
        >>> round(Uncertainty(nights=365).look_level, 6)
        0.999863
        """
        return 1 - (1 - self.level) / self.nights

    def validate_single_look(self) -> None:
        """Raise :class:`SpecError` if ``sequential`` is set in an evaluation of rows. Only a merged window grows."""
        if self.sequential:
            raise SpecError(
                "uncertainty.sequential is true, but tables of single days do not grow: spend the level over "
                "their number, as sequential: {nights: 365}, or merge a window that grows from a first day"
            )


DEFAULT = Uncertainty()


@dataclass(frozen=True)
class Comparison:
    """The ``baseline`` with which all other models are compared, and the correction of p-values for many comparisons.

    P-values are corrected within a ``family`` of comparisons. The family ``slice_column`` is the whole day, or one
    slice with all its values; ``candidate`` is all slices and metrics of one candidate; ``metric`` is one metric in all
    slices and candidates; ``slice`` is all metrics of one slice value. ``most_unpaired`` limits the share of groups
    with a defined value of only one of two models. Gates leave comparisons above this limit undecided.
    """

    baseline: str
    correction: Correction = "holm"
    family: Family = "slice_column"
    most_unpaired: float = 0.01

    def validate_models(self, models: tuple[str, ...]) -> None:
        """Raise :class:`SpecError` if ``baseline`` is not one of several ``models``, or if another field is invalid."""
        if self.baseline not in models:
            raise SpecError(f'compare.baseline is "{shorten(self.baseline)}"{hint(self.baseline, models, "models")}')
        if len(models) == 1:
            raise SpecError(f'compare.baseline is "{shorten(self.baseline)}", the only model: name another to compare')
        for name, known in (("correction", tuple(METHODS)), ("family", FAMILIES)):
            if (word := getattr(self, name)) not in known:
                raise SpecError(f"compare.{name} is {quote(word)}{hint(str(word), known)}")
        if not 0 <= self.most_unpaired <= 1:
            raise SpecError(f"compare.most_unpaired is {quote(self.most_unpaired)}: a share from 0 to 1 is needed")
