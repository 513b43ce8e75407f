"""The params of a Spark ML evaluator and its evaluation, as a mixin for any base class."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasWeightCol
from pyspark.sql import SparkSession

from sparkrank.base.checks import NAN_SCORE
from sparkrank.base.errors import InputError, MetricError, RejectedRowsError, SpecError, hint, quote
from sparkrank.doors.api import evaluate
from sparkrank.doors.keywords import with_options
from sparkrank.engines.spark.worker_python import validate_session
from sparkrank.inputs.buckets import MOST_BUCKETS
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.roles import COLUMN_ROLES, Roles, columns_of_key
from sparkrank.metrics import PRESETS, Definitions, Metric, find_preset, plan_of
from sparkrank.metrics.definitions import ABOUT, ALLOWED, SettingOptions
from sparkrank.metrics.role_reasons import label_reason
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.run.arguments import validate_number
from sparkrank.sources.in_memory import is_frame

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from sparkrank.metrics.presets import Preset

P = TypeVar("P", bound=Params)
# A placeholder parent of params, until Spark copies the params of a class to an instance.
_NOBODY = Params._dummy()  # noqa: SLF001 - every param of Spark ML is declared with it
_NOT_IN_GROUPS = {"duplicates": "keep", "population": "all", "unretrieved": "zero", "positions": "dense"}


def _read(text: str, preset: Preset | None) -> Metric:
    """Return the metric that ``text`` names. Raise :class:`MetricError` if it cannot be used to choose a model."""
    try:
        metric = Metric.parse(text, preset)
    except MetricError as error:
        raise MetricError(f"metricName: {error}") from None
    if metric.declaration.higher_is_better is None:
        raise MetricError(
            f"metricName is {quote(text)}, whose best value is neither the highest nor the lowest: it cannot choose a "
            f"model, but sr.evaluate returns its value"
        )
    return metric


def _metric_name(value: Any) -> str:
    """Check that ``value`` names a metric under at least one preset (it may be set later), and return its text."""
    if not isinstance(value, (str, Metric)):
        raise MetricError(f"metricName is {quote(value)}: the text of one metric is needed, for example ndcg@10")
    text = str(value)
    for preset in PRESETS.values():
        with suppress(MetricError):
            _read(text, preset)
            return text
    _read(text, None)
    return text


def _column(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} is {quote(value)}: the name of a column, a text, is needed")
    return value


def _group_columns(value: Any) -> str | list[str]:
    if isinstance(value, str):
        return value
    columns = list(columns_of_key(value))
    if not columns or not all(isinstance(column, str) for column in columns):
        raise SpecError(f"groupCol is {quote(value)}: the name of a column, or a list of names, is needed")
    return columns


def _word(name: str, allowed: tuple[str, ...], value: Any) -> str:
    if value not in allowed:
        raise SpecError(f"{name} is {quote(value)}{hint(value, allowed)}")
    return str(value)


def _fraction(value: Any) -> float:
    validate_number("maxBadFraction", value, Real, 0, 1, "a number from 0 to 1")
    return float(value)


def _buckets(value: Any) -> int:
    validate_number("buckets", value, int, 1, MOST_BUCKETS, f"an int from 1 to {MOST_BUCKETS}")
    return int(value)


class EvaluatorColumns(TypedDict, total=False):
    """The params (parameters of Spark ML) for the metric and for the columns of an evaluator, as keyword arguments."""

    metricName: str | Metric | None
    groupCol: str | list[str] | None
    predictionCol: str | None
    labelCol: str | None
    itemCol: str | None
    weightCol: str | None
    referenceRankCol: str | None


class EvaluatorLimits(TypedDict, total=False):
    """The params (parameters of Spark ML) for rejected rows and the number of buckets, as keyword arguments."""

    maxBadFraction: float | None
    buckets: int | None


class EvaluatorOptions(EvaluatorColumns, SettingOptions, EvaluatorLimits, total=False):
    """All params of an evaluator as keyword arguments."""


DEFAULTS = {"metricName": "ndcg@10", "predictionCol": "prediction", "labelCol": "label", "maxBadFraction": 0.0}
# The params of an evaluator: a description of each, and the function that checks a value.
PARAMS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "metricName": ("the text of the metric, for example ndcg@10 or auc", _metric_name),
    "groupCol": ("the column of the groups, or a list of columns: a user, a query", _group_columns),
    **{
        name: (about, partial(_column, name))
        for name, about in {
            "predictionCol": "the column of the scores, higher is better; a vector of two, as probability, stands for "
            "its second element",
            "labelCol": "the column of the labels, above 0 is relevant",
            "itemCol": "the column of the items, for metrics and definitions that need it",
            "weightCol": "the column of weights: how much a row counts in a metric of all rows together",
            "referenceRankCol": "the order that some metrics compare with, the lowest first",
        }.items()
    },
    "preset": (
        f"the library whose definitions hold where no other is given ({', '.join(PRESETS)})",
        partial(_word, "preset", tuple(PRESETS)),
    ),
    **{
        name: (f"{ABOUT[name]} ({', '.join(allowed)})", partial(_word, name, allowed))
        for name, allowed in ALLOWED.items()
    },
    "maxBadFraction": ("the largest share of rows that may be rejected, as those with a NaN prediction", _fraction),
    "buckets": ("the number of buckets that groups are divided into; without it the rows are counted first", _buckets),
}


def _with_params(kind: type[P]) -> type[P]:
    """Add each param in :data:`PARAMS` to the class ``kind``, with a setter and a getter, and return the class."""
    for name, (about, converter) in PARAMS.items():
        title = f"{name[0].upper()}{name[1:]}"
        setattr(kind, name, Param(_NOBODY, name, about, typeConverter=converter))
        for method, function in ((f"set{title}", _setter(name)), (f"get{title}", _getter(name))):
            function.__name__, function.__qualname__ = method, f"{kind.__qualname__}.{method}"
            setattr(kind, method, function)
    return kind


def _setter(name: str) -> Callable[..., Any]:
    def setter(self: RankingMetricParams, value: Any) -> RankingMetricParams:
        return self._set_one(name, value)

    setter.__doc__ = f"Set :attr:`{name}`; None takes it back."
    return setter


def _getter(name: str) -> Callable[..., Any]:
    def getter(self: RankingMetricParams) -> Any:
        return self._given(name)

    getter.__doc__ = f"The value of :attr:`{name}` or its default; None where it has neither."
    return getter


@_with_params
class RankingMetricParams(HasLabelCol, HasPredictionCol, HasWeightCol):
    """A mixin for an ``Evaluator``: the params, their setters and getters, and the evaluation of a dataset."""

    if TYPE_CHECKING:  # params, setters and getters: see PARAMS

        def __getattr__(self, name: str) -> Any: ...

    @with_options(EvaluatorOptions, DEFAULTS)
    def __init__(self, **options: Unpack[EvaluatorOptions]) -> None:
        """Set the given params. Other params have their defaults, or are not set if they have no default."""
        super().__init__()
        if (spark := SparkSession.getActiveSession()) is not None:
            validate_session(spark)  # before a CrossValidator fits its first model
        self._setDefault(**DEFAULTS)
        self._set_all(options)

    @with_options(EvaluatorOptions, DEFAULTS)
    def setParams(self, **options: Unpack[EvaluatorOptions]) -> Self:
        """Set the given params, and leave other params as they are. After an error, all params are as before."""
        return self._set_all(options)

    def _set_all(self, options: Mapping[str, Any]) -> Self:
        """Set ``options``. If any is not allowed, or two contradict each other, restore all and raise the error."""
        before = dict(self._paramMap)
        try:
            for name, value in options.items():
                self._set_one(name, value)
            if self._is_complete():
                self._arguments()
        except SpecError:
            self._paramMap = before
            raise
        return self

    def _set_one(self, name: str, value: Any) -> Self:
        """Set the param ``name``, or clear it if ``value`` is None."""
        param = self.getParam(name)
        if value is None:
            self.clear(param)
            return self
        return self._set(**{name: value})

    def _given(self, name: str) -> Any:
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def isLargerBetter(self) -> bool:
        """Return whether a higher value of the metric is better, by the metric's declaration."""
        return self._metric().declaration.higher_is_better is True

    def _metric(self) -> Metric:
        return _read(self.getMetricName(), find_preset(self.getPreset()))

    def _reads_groups(self, definitions: Definitions) -> bool:
        """Whether the metric or a definition needs groups. If so, rows have to be shuffled."""
        of_groups = any(getattr(definitions, name) != word for name, word in _NOT_IN_GROUPS.items())
        return of_groups or self._metric().declaration.needs_groups

    def _definitions(self) -> tuple[Definitions, dict[str, Any]]:
        given = {name: self._given(name) for name in ALLOWED}
        return Definitions.of(find_preset(self.getPreset()), given), given

    def _is_complete(self) -> bool:
        """Whether ``groupCol`` is set or not needed, so that the params can be checked together."""
        return self.getGroupCol() is not None or not self._reads_groups(self._definitions()[0])

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments for :func:`sparkrank.evaluate`. Raise :class:`SpecError` for params that contradict."""
        preset, metric, text = find_preset(self.getPreset()), self._metric(), self.getMetricName()
        definitions, given = self._definitions()
        by_groups = self._reads_groups(definitions)
        group = self.getGroupCol() if by_groups else None
        if by_groups and group is None:
            raise SpecError(f"{metric} is a metric of groups: groupCol must name the column of the groups")
        own = {"score": "prediction", "item": "item", "reference_rank": "referenceRank", "weight": "weight"}
        columns = {role: self._given(f"{param}Col") for role, param in own.items()}
        keys = () if group is None else columns_of_key(group)
        reads = label_reason(plan_of([text], (columns["score"],), keys, definitions, preset=preset, order="item"))
        label = None if reads is None else self._given("labelCol")
        buckets = None if group is None else self.getBuckets()
        none = dict.fromkeys(COLUMN_ROLES)
        plan_request(
            Roles.named({**none, **columns}, group, label, None, "membership"),
            [text],
            definitions,
            preset,
            group_table=False,
            buckets=buckets,
            uncertainty=Uncertainty(off=True),
            has_ties=given["ties"] is not None,
        )
        names = {"preset": self.getPreset(), "max_bad_fraction": self.getMaxBadFraction(), "buckets": buckets}
        return {"metrics": [text], "group": group, "label": label, **columns, **given, **names}

    def _evaluate(self, dataset: Any) -> float:
        """Return the value of the metric for ``dataset``. Spark's ``evaluate`` applies overriding params beforehand."""
        arguments = self._arguments()
        if is_frame(dataset):
            validate_session(dataset.sparkSession)
            if arguments["score"] == "prediction" and "probability" in dataset.columns:
                logging.getLogger(__name__).warning(
                    'predictionCol is "prediction", which is the class that a classifier chooses, so most rows tie: '
                    'predictionCol="probability" evaluates its scores'
                )
        try:
            with evaluate(dataset, **arguments, group_table=False, uncertainty=False) as evaluation:
                value = evaluation[self.getMetricName()]
        except RejectedRowsError as error:
            if NAN_SCORE not in error.checks:
                raise
            raise InputError(
                f"{error}; ALS predicts NaN for a user or an item that is not in its training data: "
                f'coldStartStrategy="drop" of ALS leaves these rows out, and maxBadFraction of the evaluator allows a '
                f"share of them"
            ) from None
        if math.isnan(value):
            metric, where, remedy = self._metric(), "for these rows", ""
            if metric.declaration.is_averaged:
                where, remedy = "in every group", ": undefined=zero counts such groups as 0"
            reason = metric.declaration.undefined
            raise InputError(f"{metric} is undefined {where} ({reason}), so it cannot choose a model{remedy}")
        return value
