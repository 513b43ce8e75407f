"""The classes :class:`Declaration`, for a metric with its documentation, and :class:`Metric`, for a requested metric.

A declaration is all knowledge about a metric as data; :class:`~sparkrank.metrics.merged.MetricKind` adds the
computation of values. The string of a requested metric identifies the metric, also in tables. Equal strings mean equal
metrics. :mod:`~sparkrank.metrics.grammar` defines the strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, SupportsIndex, TypeAlias, TypeVar, cast

from sparkrank.base.errors import (
    MOST_LISTED,
    MetricError,
    SparkrankError,
    did_you_mean,
    first_line,
    itemize,
    quote,
    shorten,
)
from sparkrank.metrics.aliases import cut_off, looked_up
from sparkrank.metrics.catalog import Catalog
from sparkrank.metrics.grammar import (
    MOST_LETTERS,
    OF_TREC_EVAL,
    ONE_METRIC,
    OVER_GROUPS,
    cutoff_of,
    settings_of,
    texts_of,
)
from sparkrank.metrics.labels import CHECKED_BY, Judging
from sparkrank.metrics.labels import PARAMETERS as OF_LABELS
from sparkrank.metrics.parameters import (
    ORDERS,
    TIES,
    WEIGHT,
    Choice,
    Column,
    ColumnChoice,
    Name,
    Parameter,
    Value,
    format_number,
)
from sparkrank.metrics.presets import Preset
from sparkrank.ranking.ranking import Ties
from sparkrank.ranking.value_columns import CATALOG as CATALOG_TABLE
from sparkrank.ranking.value_columns import POPULARITY, ValueColumn

LEAST_VALUE = 1e-5  # lower values count as this in a geometric mean, as in trec_eval

T = TypeVar("T")

# The kinds of metrics in a plan, each reduced in its own way: values of groups, differences of two labels,
# distributions of ranks, counts of items, attention to values, sums over rows, score bins.
PlanPart: TypeAlias = Literal["groups", "checked", "ranks", "items", "values", "rows", "bins"]
# The scale of an interval: "t" for Student's t of the value itself, cut at the ends of its range; "wilson" for Wilson's
# interval of proportions; "logit" for Student's t of the log odds; "log" for that of the logarithm, of geometric means;
# "none" if any interval would be misleading.
Scale: TypeAlias = Literal["t", "wilson", "logit", "log", "none"]


@dataclass(frozen=True)
class NeedsOrder:
    """The reason (``because``) why some metrics have no mean over the orders of tied rows.

    ``holds`` is true of these metrics. ``form`` describes them to users, and is empty if these are all metrics.

    Examples
    --------
    >>> from sparkrank.metrics import CATALOG
    >>> CATALOG["iprec11"].needs_order.because
    'a mean over orders of a maximum'
    """

    because: str
    form: str = ""
    holds: Callable[[Metric], bool] = lambda metric: True


@dataclass(frozen=True)
class Unbounded:
    """The metrics without a highest value: those for which ``holds`` is true. ``form`` describes them to users.

    If ``has_ideal`` is true of a metric, a value above the declaration's ``highest`` means that the list is better than
    its ideal list. If ``both_ways`` is true, these metrics have no lowest value either.

    Examples
    --------
    >>> from sparkrank.metrics import CATALOG, Metric
    >>> unbounded = CATALOG["ndcg"].unbounded
    >>> [unbounded.holds(Metric.parse(text)) for text in ("ndcg@10", "ndcg(ideal=k_relevant)@10")]
    [False, True]
    """

    form: str
    holds: Callable[[Metric], bool]
    has_ideal: Callable[[Metric], bool] = lambda metric: True
    both_ways: bool = False


@dataclass(frozen=True)
class Declaration:
    """The declaration of a metric: its name, documentation and parameters, and the range of its values.

    If ``cutoff`` is true, ``@k`` may follow the name. ``sparkrank metrics`` prints ``formula``, ``undefined`` and
    ``reference``. An alias that ends in ``@`` is valid only with a cut-off. At most one of the parameters named in
    ``exclusive`` may be given. Each of ``translations`` is (alias, parameter, function); the function converts another
    program's number under this alias into the number for sparkrank. ``at`` names the parameter that a number after
    ``@`` sets if this number is not a cut-off. ``higher_is_better`` is None if the best value lies between the lowest
    and the highest. ``check`` returns the reason why a metric is meaningless, or None. ``needs_order`` selects the
    metrics that ``ties=expected`` rules out. Values range from ``lowest`` to ``highest``, both included; an open end is
    infinite. The metrics that ``unbounded`` selects have no highest value. ``common`` contains the parameters of all
    declarations of the same class: they are documented once, and definitions omit their defaults. ``refused`` maps
    parameters of other declarations to the reason why this declaration lacks them. ``alike`` maps parameters for the
    weights of groups to those values with which all groups have the same weight. Each of ``others`` is (parameter,
    declaration): with this parameter, such as ``by`` or ``of=users``, the name means that other declaration. If that
    declaration is ``called`` as this one, its own name is only in the register: the strings of its metrics contain the
    name ``called``, and its first parameter, without a default, distinguishes the two. ``columns`` are the roles of the
    columns that the metric reads besides label and score (:data:`sparkrank.inputs.role_table.ROW_ROLES`), and
    ``reads_interactions`` is true if it needs flags of the rows of known pairs (group, item) of the interactions.
    ``interval`` is the scale of the metric's interval: ``t`` is cut at the ends of the range of values; ``wilson`` is
    for a share of counted rows or groups; ``logit`` is for a value between 0 and 1; with ``none``, any interval would
    be misleading, so that a gate uses the value alone.

    Examples
    --------
    >>> from sparkrank.metrics import CATALOG
    >>> declared = CATALOG["logloss"]
    >>> declared.undefined, declared.higher_is_better, declared.lowest, declared.highest
    ('no rows; a score outside [0, 1]', False, 0.0, inf)
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
    alike: tuple[tuple[str, ...], ...] = ((WEIGHT.name, "uniform"),)
    refused: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    called: str | None = None
    columns: tuple[str, ...] = ()
    reads_interactions: bool = False
    interval: Scale = "t"

    # For each class of metrics: the parts of a plan to which its metrics belong, the fields that they need for a value,
    # whether they are means of per-group values, whether they need groups, and heading and introduction in the docs.
    parts: ClassVar[tuple[PlanPart, ...]] = ()
    computed_by: ClassVar[tuple[str, ...]] = ()
    is_averaged: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = True
    heading: ClassVar[str] = ""
    about: ClassVar[str] = ""
    label_parameters: ClassVar[tuple[Parameter, ...]] = OF_LABELS

    @property
    def reads_labels(self) -> bool:
        return True

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Pickle a built-in declaration by name (which is fast), and any other by value, as processes may lack it."""
        return (built_in, (self.name,)) if CATALOG.is_built_in(self) else super().__reduce_ex__(protocol)

    @property
    def lacking(self) -> str | None:
        """The name of the first missing field of those needed for values; None if all are given."""
        return next((name for name in self.computed_by if getattr(self, name) is getattr(type(self), name)), None)

    def range_of(self, metric: Metric) -> tuple[float, float]:
        """Return the lowest and the highest possible value of ``metric``."""
        lowest = max(self.lowest, LEAST_VALUE) if metric.geometric else self.lowest
        if self.unbounded is None or not self.unbounded.holds(metric):
            return lowest, self.highest
        return -math.inf if self.unbounded.both_ways else lowest, math.inf

    def scale_of(self, metric: Metric) -> Scale:
        """Return the scale of the interval of ``metric``: ``t`` if the declared scale does not fit the range."""
        if metric.geometric and self.interval != "none":
            return "log"
        is_share = self.interval not in ("wilson", "logit") or self.range_of(metric) == (0.0, 1.0)
        return self.interval if is_share else "t"

    def values_of_groups(self, metric: Metric) -> Metric:
        """Return the metric with the per-group values whose mean is ``metric``, usually ``metric`` itself."""
        return metric

    def checked(self) -> Declaration:
        """Return the declaration of this metric with ``checked_by``, a more reliable label that corrects the mean.

        Only classes with that parameter implement this method.
        """
        raise NotImplementedError

    def unexpected(self, metric: Metric) -> str | None:
        """Return the reason why ``ties=expected`` rules out ``metric``, or None if ``metric`` is allowed."""
        needs = self.needs_order
        return needs.because if needs is not None and needs.holds(metric) else None

    def parameter(self, name: str, text: str) -> Parameter:
        """Return the parameter called ``name``, which may be an alias.

        Raise :class:`MetricError` if ``name`` is unknown; the message quotes ``text``, the string of the metric, and
        lists the nearest parameter and all allowed parameters.
        """
        for parameter in self.all_parameters:
            if name == parameter.name or name in parameter.aliases:
                return parameter
        if (reason := dict(self.refused).get(name)) is not None:
            raise MetricError(f'"{text}" gives {name}, but {self.name} takes none: {reason}')
        names = [parameter.name for parameter in self.all_parameters]
        problem = f'unknown parameter "{shorten(name)}" in "{text}"{did_you_mean(name, names)}'
        takes = f"{self.called or self.name} takes"
        raise MetricError(f"{problem} ({takes} {itemize(names) if names else 'no parameter'})")

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        return (*self.parameters, *self.common, *(self.label_parameters if self.reads_labels else ()))

    @property
    def written(self) -> str:
        """The name for users, such as ``ndcg``, or ``novelty(of=users|rows)`` for one of two called ``novelty``."""
        if self.called is None:
            return self.name
        first = self.parameters[0]
        words = first.allowed if isinstance(first, Choice) else ""  # a number is not written out
        return f"{self.called}({first.name}={words})"

    @property
    def defaults(self) -> dict[str, Value]:
        return {parameter.name: parameter.default for parameter in self.all_parameters}


CATALOG: Catalog[Declaration] = Catalog()


def built_in(name: str) -> Declaration:
    """Return the package's declaration called ``name`` (not an alias)."""
    return CATALOG.built_in(name)


@dataclass(frozen=True)
class Metric:
    """A declared metric with its parameters; its string identifies the metric, and is its name in the tables.

    Parameters
    ----------
    name : str
        The name of the declaration.
    settings : tuple of (str, value)
        The parameters that differ from their default, in the order of the declaration.
    k : int, optional
        The cut-off; None for the whole list.
    percentile : float, optional
        A number from 0 to 100. If given, the metric is this percentile of the per-group values instead of their mean.
        Each group counts once.
    geometric : bool
        Whether the metric is the geometric mean of the per-group values, exp(mean of log(max(value, 1e-5))).
    outside : Declaration, optional
        The declaration of a metric from outside the package (:func:`sparkrank.register`). The declaration is sent
        with the metric to processes that have not registered the metric. :meth:`parse` sets this field.

    Examples
    --------
    >>> metric = Metric.parse("NDCG(gain=exp2)@10")
    >>> str(metric), metric.k
    ('ndcg(gain=exp2)@10', 10)
    >>> str(Metric.parse("median(MRR)"))
    'median(rr)'
    """

    name: str
    settings: tuple[tuple[str, Value], ...] = ()
    k: int | None = None
    percentile: float | None = None
    geometric: bool = False
    outside: Declaration | None = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, preset: Preset | None = None) -> Metric:
        """Return the metric ``text``, in upper or lower case, with the name of a metric or an alias.

        Parameters
        ----------
        text : str
            ``name``, ``name@k`` or ``name(parameter=value)@k``, or a percentile or geometric mean of such a metric,
            ``p90(name)`` or ``gmean(name)``.
        preset : Preset, optional
            The library whose defaults apply to parameters missing in ``text``.

        Raises
        ------
        MetricError
            If ``text`` names no known metric, or contains parameters that the metric lacks. The message lists what is
            allowed.

        Examples
        --------
        >>> Metric.parse("MAP@5") == Metric.parse("ap@5")
        True
        >>> Metric.parse("ndcg@0")
        Traceback (most recent call last):
            ...
        sparkrank.base.errors.MetricError: the cut-off of "ndcg@0" is 0: a whole number from 1 to 2147483647 is allowed
        """
        quoted = shorten(text)
        if len(text) > MOST_LETTERS:
            raise MetricError(f'"{quoted}" has {len(text)} letters: a metric is written in {MOST_LETTERS} at most')
        text = OF_TREC_EVAL.sub(r"gmean(\g<of>)", text.strip())
        if wrapped := OVER_GROUPS.fullmatch(text):
            if OVER_GROUPS.fullmatch(wrapped["of"].strip()):
                raise MetricError(f'"{quoted}" is a summary of a summary: only values of groups can be summarised')
            group_metric = cls.parse(wrapped["of"], preset)
            percentile = None if wrapped["geometric"] else float(wrapped["percent"] or 50)
            return group_metric.as_geometric() if percentile is None else group_metric.at_percentile(percentile)
        if (match := ONE_METRIC.fullmatch(text)) is None:
            raise MetricError(f'"{quoted}" is not a metric: write name, name@k or name(parameter=value)@k')
        name, at = _name_and_cutoff(match["name"], match["k"])
        inside = match["parameters"] or ""
        name, own = (name, "") if preset is None else preset.meant(name, at is not None, inside)
        declaration, implied = CATALOG.meaning(name, at is not None, quoted)
        parts = settings_of(f"{own},{implied},{inside}")
        telling = {name for name, _ in parts} | {f"{name}={value}".lower() for name, value in parts}
        declaration = next((CATALOG[other] for own, other in declaration.others if own in telling), declaration)
        if declaration.at and at:
            k, parts = None, [*parts, (declaration.at, at)]
        else:
            k = cutoff_of(at, quoted)
        if k is not None and declaration.cutoff == "none":
            raise MetricError(f'{declaration.name} takes no cut-off, but "{quoted}" gives @{k}')
        given = dict(_settings(declaration, parts, quoted))
        for alias, parameter, translated in declaration.translations:
            if looked_up(name) == alias and parameter in given:
                given[parameter] = translated(float(str(given[parameter])))
        if len(together := [name for name in declaration.exclusive if name in given]) > 1:
            raise MetricError(f'"{quoted}" gives {" and ".join(together)}: only one of them is allowed')
        if preset is not None:
            given = {**_preset(preset, declaration, k is not None, given), **given}
        settings = tuple(
            (parameter.name, given[parameter.name])
            for parameter in declaration.all_parameters
            if parameter.name in given and given[parameter.name] != parameter.default
        )
        metric = cls(declaration.name, settings, k, outside=None if CATALOG.is_built_in(declaration) else declaration)
        if refused := metric.call("check", metric.declaration.check, metric):
            raise MetricError(f'"{quoted}" {refused}')
        return metric

    def call(self, what: str, function: Callable[..., T], *arguments: object) -> T:
        """Call ``function``, a field of the declaration, with ``arguments``; ``what`` is the name of the field.

        If a function from outside the package raises an exception, raise :class:`MetricError` instead. If this happens
        in a Spark task, :func:`sparkrank.engines.spark.failures.task_errors` recognises the message of the error.
        """
        if self.outside is None:
            return function(*arguments)
        try:
            return function(*arguments)
        except (SparkrankError, MemoryError):
            raise
        except Exception as error:
            parts = dict.fromkeys((type(error).__name__, first_line(error)))  # the line may be the name too
            reason = shorten(": ".join(parts), MOST_LISTED)
            raise MetricError(f"{what}, a function of the metric {self}, raised {reason}") from error

    @property
    def ties(self) -> Ties | None:
        """The rule for tied rows in the metric's string; None if the rule of the evaluation applies."""
        return cast("Ties | None", dict(self.settings).get(TIES.name))

    @property
    def orders(self) -> tuple[Ties, ...]:
        """The possible rules for tied rows without a rule by the user; empty if the metric allows ``ties=expected``."""
        group_metric = self.group_metric
        return ORDERS if self.ties is None and group_metric.declaration.unexpected(group_metric) else ()

    @property
    def weight_column(self) -> str | None:
        """The name of the column with the groups' weights in the mean, or None if the metric does not name a column."""
        if not self.declaration.is_averaged:
            return None
        word, parameter = self.word(WEIGHT.name), self.declaration.parameter(WEIGHT.name, self.name)
        return None if isinstance(parameter, Name) and word in parameter.choices else word

    @cached_property
    def judging(self) -> Judging:
        """The label to read, and the rows in which the metric reads it."""
        given = dict(self.settings) if self.declaration.reads_labels else {}
        label, among = (None if (name := given.get(own.name)) is None else str(name) for own in OF_LABELS)
        gain = str(given.get("gain"))
        return Judging(gain if gain.startswith("{") else label, among)

    @cached_property
    def checked_by(self) -> str | None:
        """The label that corrects the mean by :attr:`judging`, or None."""
        name = dict(self.settings).get(CHECKED_BY.name)
        return None if name is None else str(name)

    @cached_property
    def value_columns(self) -> tuple[ValueColumn, ...]:
        """The columns of values named by the metric's parameters, in the order of the declaration."""
        declared = self.declaration.all_parameters
        named = [column for own in declared for column in self._columns_of(own)]
        shares = ((self._share_of(own), column) for own in declared for column in self._columns_of(own))
        return (*named, *(column.as_share_of(table) for table, column in shares if table is not None))

    @cached_property
    def relevant_columns(self) -> tuple[ValueColumn, ...]:
        """The :attr:`value_columns` that are read for all relevant rows, in a list or not."""
        declared = (own for own in self.declaration.all_parameters if isinstance(own, Column) and own.of_relevant)
        return tuple(column for own in declared for column in self._columns_of(own))

    @cached_property
    def gain_columns(self) -> tuple[ValueColumn, ...]:
        """The numeric :attr:`relevant_columns`, which are gains."""
        return tuple(column for column in self.relevant_columns if column.kind == "number")

    def value_column(self, parameter: str) -> ValueColumn:
        """Return the column of values named by ``parameter``."""
        columns = self.columns_of(parameter)
        if len(columns) != 1:
            raise TypeError(f"{parameter} of {self} is not a column")
        return columns[0]

    def columns_of(self, parameter: str) -> tuple[ValueColumn, ...]:
        """Return the columns of values named by ``parameter``, perhaps an empty tuple."""
        return self._columns_of(self.declaration.parameter(parameter, self.name))

    def _share_of(self, parameter: Parameter) -> str | None:
        """Return the table by which the shares of the values of the column ``parameter`` are computed, or None."""
        if not isinstance(parameter, Column) or parameter.shares is None:
            return None
        table = self.word(parameter.shares)
        return table if table in (CATALOG_TABLE, POPULARITY) else None

    def _columns_of(self, parameter: Parameter) -> tuple[ValueColumn, ...]:
        given = self[parameter.name]
        if isinstance(parameter, ColumnChoice):
            return tuple(ValueColumn(column) for word, column in parameter.columns if word == given)
        if not isinstance(parameter, Column):
            return ()
        if not isinstance(given, str) or given in parameter.choices or given.startswith("{"):
            return ()
        equals = None if parameter.equals is None else self[parameter.equals]
        word = None if parameter.read_by is None else self.word(parameter.read_by)
        kind = dict(parameter.kinds).get(str(word), parameter.kind) if equals is None else "text"
        return tuple(
            ValueColumn(name, kind, None if equals is None else str(equals)) for name in parameter.names(given)
        )

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the columns that the metric reads besides label and score."""
        chosen = (own for own in self.declaration.all_parameters if isinstance(own, Choice))
        read = (role for own in chosen for word, role in own.roles if self[own.name] == word)
        return tuple(dict.fromkeys((*self.declaration.columns, *read)))

    def with_ties(self, ties: Ties | None) -> Metric:
        """Return the same metric with the rule ``ties`` for tied rows in its string (None: no rule)."""
        return self._with({TIES.name: ties})

    def with_label(self, label: str | None) -> Metric:
        """Return the same metric with another ``label`` in its string (None: without a label)."""
        return self._with({"label": label})

    def with_judging(self, judging: Judging) -> Metric:
        """Return the same metric with the label and the rows of ``judging``."""
        return self._with(judging._asdict())

    def without(self, parameter: str) -> Metric:
        """Return the same metric without ``parameter`` in its string."""
        return self._with({parameter: None})

    def _with(self, values: Mapping[str, Value]) -> Metric:
        given = {**dict(self.settings), **values}
        order = [parameter.name for parameter in self.declaration.all_parameters]
        kept = tuple((name, given[name]) for name in order if given.get(name) is not None)
        return replace(self, settings=kept)

    def at_percentile(self, percentile: float) -> Metric:
        """Return the metric for the given percentile (0 to 100) of the per-group values of this metric.

        Raise :class:`MetricError` if this metric has no percentiles.
        """
        if self.percentile is not None or not self.declaration.is_averaged:
            raise MetricError(f"{shorten(self)} has no percentiles: only the values of a metric of groups have any")
        for name, *uniform in self.declaration.alike:
            if (word := self.word(name)) in uniform:
                continue
            remedy = "group_auc" if self.name == "gauc" else f"{name}={uniform[0]}"
            raise MetricError(
                f"{self} has no percentiles: a percentile counts each group once, but {name}={word} does not: "
                f"write {remedy}"
            )
        if not 0 <= percentile <= 100:
            raise MetricError(f"{shorten(self)} has no p{format_number(percentile)}: p0 to p100 are allowed")
        return replace(self, percentile=percentile)

    def as_geometric(self) -> Metric:
        """Return the metric for the geometric mean of the per-group values of this metric.

        Raise :class:`MetricError` if this metric has no values of groups, or may have values below 0.
        """
        if self.percentile is not None or not self.declaration.is_averaged:
            raise MetricError(f"{shorten(self)} has no geometric mean: only the values of a metric of groups have one")
        if self.declaration.lowest < 0:
            raise MetricError(f"{shorten(self)} has no geometric mean: its values may be below 0")
        return replace(self, geometric=True)

    @property
    def is_of_means(self) -> bool:
        """Whether the value is a mean over groups, arithmetic or geometric."""
        return self.declaration.is_averaged and self.percentile is None

    @property
    def is_over_groups(self) -> bool:
        """Whether the value summarises values of groups, which may be undefined."""
        return self.group_metric.declaration.is_averaged

    @property
    def bare(self) -> Metric:
        """The same metric without ``percentile`` and ``geometric``."""
        is_bare = self.percentile is None and not self.geometric
        return self if is_bare else replace(self, percentile=None, geometric=False)

    @property
    def group_metric(self) -> Metric:
        """The metric whose per-group values this metric summarises."""
        return self.declaration.values_of_groups(self.bare)

    def _written(self, settings: Iterable[tuple[str, Value]], comma: str) -> str:
        """Return the string of the metric with these ``settings``, separated by ``comma``."""
        named = ((name, self.declaration.parameter(name, self.name), value) for name, value in settings)
        inside = comma.join(name if value is True else f"{name}={own.write(value)}" for name, own, value in named)
        name = self.declaration.called or self.name
        text = f"{name}({inside})" if inside else name
        text = text if self.k is None else f"{text}@{self.k}"
        if self.geometric:
            return f"gmean({text})"
        if self.percentile is None:
            return text
        name = "median" if self.percentile == 50 else f"p{format_number(self.percentile)}"
        return f"{name}({text})"

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return self._written(self.settings, ",")

    @property
    def declaration(self) -> Declaration:
        """The declaration of the metric. :class:`MetricError` is raised if the catalog has no metric of this name."""
        return self._declared if self.checked_by is None else self._checked

    @property
    def _declared(self) -> Declaration:
        return self.outside or CATALOG.get(self.name) or CATALOG.find(self.name, self.k is not None, self.name)

    @cached_property
    def _checked(self) -> Declaration:
        return self._declared.checked()

    def __getitem__(self, parameter: str) -> Value:
        """Return the value of ``parameter``, given or default, or None if a parameter that excludes it is given."""
        return self._values[parameter]

    @cached_property
    def _values(self) -> dict[str, Value]:
        given, exclusive = dict(self.settings), self.declaration.exclusive
        excluded = exclusive if any(name in given for name in exclusive) else ()
        return {**self.declaration.defaults, **dict.fromkeys(excluded), **given}

    def word(self, parameter: str) -> str:
        return str(self[parameter])

    def number(self, parameter: str) -> float:
        """Return the value of ``parameter``. Raise ``TypeError`` if this value is not a number."""
        value = self[parameter]
        if not isinstance(value, (int, float)):
            raise TypeError(f"{parameter} of {self} is not a number")
        return float(value)

    @cached_property
    def rel(self) -> float | None:
        """The lowest relevant label, or None if any label above 0 is relevant."""
        return None if self["rel"] is None else self.number("rel")

    @cached_property
    def definition(self) -> str:
        """The metric's string with default parameters included, such as ``ndcg(gain=linear, ideal=judged)@10``."""
        said = []
        for parameter in self.declaration.all_parameters:
            value = self[parameter.name]
            common = (*self.declaration.common, *self.declaration.label_parameters)
            unsaid = (parameter.later or parameter in common) and value == parameter.default
            if value is not None and value is not False and not unsaid:
                said.append((parameter.name, value))
        return self._written(said, ", ")


def _preset(preset: Preset, declaration: Declaration, has_cutoff: bool, given: Mapping[str, Value]) -> dict[str, Value]:
    excluded = any(name in given for name in declaration.exclusive)
    values: dict[str, Value] = {}
    for default in preset.defaults:
        holds = default.metric == declaration.name and default.cutoff in (None, has_cutoff)
        if holds and not (excluded and default.parameter in declaration.exclusive):
            parameter = declaration.parameter(default.parameter, preset.name)
            values[parameter.name] = True if parameter.is_flag else parameter.read(default.value)
    return values


def _name_and_cutoff(name: str, k: str | None) -> tuple[str, str | None]:
    """Return the metric's name and cut-off, including a cut-off at the end of another program's name (``P_10``)."""
    parts = cut_off(name) if k is None and not CATALOG.is_known(name) else None
    return parts if parts is not None and CATALOG.is_known(parts[0]) else (name, k)


def _settings(
    declaration: Declaration, parts: Iterable[tuple[str, str | None]], text: str
) -> Iterator[tuple[str, Value]]:
    seen: set[str] = set()
    for name, value in parts:
        parameter = declaration.parameter(name, text)
        if parameter.name in seen:
            raise MetricError(f'"{text}" gives {parameter.name} twice')
        seen.add(parameter.name)
        if value is None:
            if not parameter.is_flag:
                raise MetricError(f'{parameter.name} in "{text}" needs a value: {parameter.allowed}')
            yield parameter.name, True
            continue
        try:
            yield parameter.name, parameter.read(value)
        except ValueError:
            others = (other.partition("=") for other, _ in declaration.others)
            allowed = [parameter.allowed, *(word for own, _, word in others if word and own == parameter.name)]
            takes = "|".join(allowed)
            problem = f'{parameter.name}={shorten(value)} in "{text}" is not allowed'
            near = did_you_mean(value, takes.split("|")) if value else ""
            raise MetricError(f"{problem}{near} ({parameter.name} takes {takes})") from None


def distinct_metrics(metrics: Iterable[str | Metric], preset: Preset | None) -> tuple[Metric, ...]:
    """Return each of ``metrics`` once, in the given order, after parsing strings with the defaults of ``preset``.

    A string with a list of cut-offs, such as ``ndcg@{1,5,10}``, stands for several metrics.

    A :class:`Metric` is not affected by ``preset``. Raise :class:`MetricError` for an invalid metric, with its index.
    """
    given: object = metrics
    if isinstance(given, str) or not isinstance(given, Iterable):
        shown = f'"{shorten(given)}", one text' if isinstance(given, str) else quote(given)
        raise MetricError(f'metrics is {shown}: a list of texts is needed, for example ["ndcg@10"]')
    parsed = []
    for index, metric in enumerate(metrics):
        if not isinstance(metric, (str, Metric)):
            raise MetricError(f"metrics[{index}] is {quote(metric)}: a text is needed, for example ndcg@10")
        try:
            # a Metric is parsed again, because its fields may have values that a string cannot express
            if isinstance(metric, Metric):
                parsed.append(Metric.parse(str(metric)))
            else:
                parsed += [Metric.parse(text, preset) for text in texts_of(metric)]
        except MetricError as error:
            raise MetricError(f"metrics[{index}]: {error}") from None
    if not parsed:
        raise MetricError("metrics is empty: name at least one, for example ndcg@10")
    return tuple(dict.fromkeys(parsed))
