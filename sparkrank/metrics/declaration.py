"""The shape of a declaration: everything sparkrank knows of a metric, its documentation included, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, SupportsIndex

import numpy as np

from sparkrank.errors import MetricError, did_you_mean, listed, shortened, shown
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.histogram.threshold_sweep import Sweep, Terms
from sparkrank.metrics.parameters import TIES, WEIGHT, Parameter, Value
from sparkrank.numeric.exact_sums import total
from sparkrank.numeric.types import Floats, Ints
from sparkrank.ranking.distinct_lists import DistinctLists, GroupValues
from sparkrank.ranking.ranking import Ranking

if TYPE_CHECKING:
    from sparkrank.metrics.metric import Metric


class ListSums(Protocol):
    """Sums over the lists of a ranking, one for each of the ``distinct`` of its groups, or per group without kinds."""

    @property
    def distinct(self) -> DistinctLists | None: ...


@dataclass(frozen=True)
class NeedsOrder:
    """That ties in expectation are not computed, because of what; of those metrics of a declaration that ``holds`` is
    true of, which ``form`` writes: of all where it is empty.
    """

    because: str
    form: str = ""
    holds: Callable[[Metric], bool] = lambda metric: True


@dataclass(frozen=True)
class Unbounded:
    """Those metrics of a declaration, which ``form`` writes and ``holds`` is true of, that have no highest value."""

    form: str
    holds: Callable[[Metric], bool]


@dataclass(frozen=True)
class Declaration:
    """A metric as the catalog knows it.

    ``cutoff`` says whether ``@k`` may stand behind the name. ``formula``, ``undefined`` and ``reference`` are printed
    by ``sparkrank metrics`` as they stand here. An alias that ends in ``@`` holds only with a cut-off. Of the
    parameters named in ``exclusive`` one at most may be given. ``translations`` turn the number that another program
    means by (alias, parameter) into ours. ``at`` is the parameter that a number after ``@`` gives, where it is no
    cut-off. ``higher_is_better`` is absent where the best value lies in the middle. ``check`` refuses what means
    nothing, by its reason. ``needs_order`` says which of its metrics ``ties=expected`` rules out, if any. A value lies
    from ``lowest`` to ``highest``, both included and infinite where there is no end, but for those ``unbounded``.
    ``common`` are parameters that it shares with all others of its kind: they stand in a text where they are given,
    and are documented once. ``refused`` are names of parameters that others have, with the reason why it has none.
    """

    name: str
    title: str
    formula: str
    undefined: str
    reference: str
    parameters: tuple[Parameter, ...] = ()
    cutoff: Literal["optional", "none"] = "optional"
    aliases: tuple[str, ...] = ()
    higher_is_better: bool | None = True
    exclusive: tuple[str, ...] = ()
    translations: tuple[tuple[str, str, Callable[[float], float]], ...] = ()
    at: str | None = None
    check: Callable[[Metric], str | None] = lambda metric: None
    needs_order: NeedsOrder | None = None
    lowest: float = 0.0
    highest: float = 1.0
    unbounded: Unbounded | None = None
    common: tuple[Parameter, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()

    computed_by: ClassVar[tuple[str, ...]] = ()  # the fields without which a kind has no value

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Pickled by name: a plan of sixteen metrics goes to tasks in an eighth of the time that it took by value.

        One from outside the package goes by value, for nobody else may know it.
        """
        from sparkrank.metrics.catalog import declared, is_built_in  # which knows the modules that declare

        return (declared, (self.name,)) if is_built_in(self) else super().__reduce_ex__(protocol)

    @property
    def lacking(self) -> str | None:
        """The field without which no value of it can be computed, if that was left out."""
        return next((name for name in self.computed_by if getattr(self, name) is getattr(type(self), name)), None)

    def range_of(self, metric: Metric) -> tuple[float, float]:
        """The lowest and the highest value that ``metric`` can have."""
        is_unbounded = self.unbounded is not None and self.unbounded.holds(metric)
        return self.lowest, math.inf if is_unbounded else self.highest

    def unexpected(self, metric: Metric) -> str | None:
        """Why ``ties=expected`` rules out ``metric``, if it does."""
        needs = self.needs_order
        return needs.because if needs is not None and needs.holds(metric) else None

    def parameter(self, name: str, of: str) -> Parameter:
        """The parameter called ``name``; ``of`` is the metric's text for the error.

        Raises :class:`MetricError` naming the nearest and all allowed parameters.
        """
        for parameter in self.all_parameters:
            if name == parameter.name or name in parameter.aliases:
                return parameter
        if (reason := dict(self.refused).get(name)) is not None:
            raise MetricError(f'"{of}" gives {name}, but {self.name} takes none: {reason}')
        names = [parameter.name for parameter in self.all_parameters]
        allowed = f"{self.name} takes {listed(names)}" if names else f"{self.name} takes no parameter"
        told = f'unknown parameter "{shortened(name)}" in "{of}"{did_you_mean(name, names)}'
        raise MetricError(f"{told} ({allowed})")

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """Its own, and those that it shares."""
        return (*self.parameters, *self.common)

    @property
    def defaults(self) -> dict[str, Value]:
        return {parameter.name: parameter.default for parameter in self.all_parameters}


@dataclass(frozen=True)
class GroupMetric(Declaration):
    """A metric of one group, averaged over groups.

    ``values`` gives one float64 per group of the bucket, NaN where the metric is undefined, and ``weights`` the weight
    of each group in the mean; absent or nothing, all weigh the same. Both are made of the ranking, or of the ``sums``
    over its lists where these are named: per kind of groups then, where the sums have kinds.
    """

    computed_by: ClassVar[tuple[str, ...]] = ("values",)
    common: tuple[Parameter, ...] = (TIES, WEIGHT)
    values: Callable[[Any, Metric], Floats] = lambda ranking, metric: np.empty(0)
    weights: Callable[[Any, Metric], Floats | None] | None = None
    sums: Callable[[Ranking, Metric], ListSums] | None = None

    def values_of(self, ranking: Ranking, metric: Metric) -> GroupValues:
        """The value of each group."""
        sums = None if self.sums is None else self.sums(ranking, metric)
        distinct = None if sums is None else sums.distinct
        values = self.values(ranking if sums is None else sums, metric)
        if metric.outside is not None:
            _refuse_other_than(ranking.groups if distinct is None else len(distinct.rows), values, metric)
        return GroupValues(values, distinct)

    def weights_of(self, ranking: Ranking, metric: Metric, of_columns: Mapping[str, Floats]) -> GroupValues | None:
        """The weight of each group; nothing where all weigh the same. ``of_columns`` (groups) are those of columns."""
        if metric.weight_column is not None:
            return GroupValues(of_columns[metric.weight_column])
        if self.weights is not None:
            sums = None if self.sums is None else self.sums(ranking, metric)
            weights = self.weights(ranking if sums is None else sums, metric)
            if weights is not None:
                return GroupValues(weights, None if sums is None else sums.distinct)
        match metric.word("weight"):
            case "rows":
                return GroupValues(ranking.length.astype(np.float64))
            case "relevant":
                rel = metric.rel if "rel" in self.defaults else None
                return GroupValues(ranking.judgments.relevant(rel).astype(np.float64))
        return None


def _refuse_other_than(count: int, values: object, metric: Metric) -> None:
    """Raise :class:`MetricError` where the values of a metric from outside are no float64 for each of the groups."""
    if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (count,)):
        found = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else shown(values)
        raise MetricError(
            f"the values of {metric} are {found}: an array of {count} float64 is needed, one for each group"
        )


@dataclass(frozen=True)
class CatalogueMetric(Declaration):
    """A property of all lists together, from how often each item is shown in the first k.

    ``value`` takes of every item its exposure (in the units of :mod:`sparkrank.metrics.exposure`) and the number of
    groups in which it is relevant, the number of groups, and the metric.
    """

    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    common: tuple[Parameter, ...] = (TIES,)
    refused: tuple[tuple[str, str], ...] = (("weight", "in what all lists show no group has a weight of its own"),)
    value: Callable[[Ints, Ints, int, Metric], float] = lambda exposure, relevant, groups, metric: float("nan")


@dataclass(frozen=True)
class PooledValue:
    """A metric of the whole day: its value, NaN where it is undefined, and for binned scores how far the exact value
    may be from it.
    """

    value: float
    error_bound: float = 0.0


@dataclass(frozen=True)
class PooledTotals:
    """What the rows of a day add up to, as a metric of the whole day reads it.

    ``limbs`` (6) are of the row sums that the metric names. The others are of its blocks: the exact sums of its terms,
    the highest of them, and the amounts of positives and negatives, all on one scale.
    """

    limbs: Mapping[RowSum, Floats]
    terms: Sequence[float] = ()
    highest: Sequence[float] = ()
    positives: float = 0.0
    negatives: float = 0.0

    def sum(self, *added: RowSum, without: Sequence[RowSum] = ()) -> float:
        """The float64 nearest to the sums ``added`` less those ``without``, which lie among them.

        Sums that are rounded first would leave of two that are close a wrong difference, or one below 0.
        """
        return total(np.concatenate([*(self.limbs[each] for each in added), *(-self.limbs[each] for each in without)]))


@dataclass(frozen=True)
class PooledMetric(Declaration):
    """A metric of the whole day: ``value`` of exact ``sums`` over its rows with a score."""

    computed_by: ClassVar[tuple[str, ...]] = ("value",)
    cutoff: Literal["optional", "none"] = "none"
    refused: tuple[tuple[str, str], ...] = (
        ("ties", "of all rows together equal scores share a block"),
        ("weight", "its rows are weighted by the column that the input names as weight"),
    )
    sums: Callable[[Metric], tuple[RowSum, ...]] = lambda metric: ()
    value: Callable[[PooledTotals, Metric], PooledValue] = lambda totals, metric: PooledValue(float("nan"))


@dataclass(frozen=True)
class HistogramMetric(PooledMetric):
    """A metric of the whole day from its score blocks.

    ``rule`` says which scores share a block. ``terms`` are what each block adds in a sweep from the highest score down,
    or, ``by_rate``, from the highest empirical rate. ``score_sums``: it reads the sums of scores. ``curve``: the one
    that it is the area under.
    """

    computed_by: ClassVar[tuple[str, ...]] = ("value", "terms")
    rule: Callable[[Metric], BinRule] = lambda metric: BinRule("exact")
    terms: Callable[[Sweep], Terms] = lambda sweep: Terms.of()
    by_rate: bool = False
    score_sums: bool = False
    curve: Literal["roc", "pr"] | None = None
