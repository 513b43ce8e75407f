"""The params of an evaluator of Spark ML, and the evaluation that they ask for: the same whatever its base class is."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

from pyspark import keyword_only
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasWeightCol

from sparkrank.base.checks import NAN_SCORE
from sparkrank.base.errors import InputError, MetricError, RejectedRowsError, SpecError, did_you_mean, listed, shown
from sparkrank.doors.api import evaluate
from sparkrank.engines.spark.worker_python import validate_session
from sparkrank.inputs.buckets import MOST_BUCKETS
from sparkrank.inputs.roles import Roles, columns_of_key, planned
from sparkrank.metrics import PRESETS, Definitions, Metric, Plan, find_preset
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.sources.in_memory import is_frame

if TYPE_CHECKING:
    from typing_extensions import Self

    from sparkrank.metrics.definitions import Duplicates, Population, Undefined, Unjudged, Unretrieved
    from sparkrank.metrics.presets import Preset, PresetName
    from sparkrank.ranking.ranking import Positions, Ties

# Spark gives the params of a class to an instance of it: until then they have this parent.
_NOBODY = Params._dummy()  # noqa: SLF001 - every param of Spark ML is declared with it
_NOT_IN_GROUPS = {"duplicates": "keep", "population": "all", "unretrieved": "zero", "positions": "dense"}


def _read(text: str, preset: Preset | None) -> Metric:
    """The metric that ``text`` names. Raises :class:`MetricError` for one by which no model can be chosen."""
    try:
        metric = Metric.parse(text, preset)
    except MetricError as error:
        raise MetricError(f"metricName: {error}") from None
    if metric.declaration.higher_is_better is None:
        raise MetricError(
            f"metricName is {shown(text)}, whose best value lies in the middle: no model is chosen by it, but "
            f"sr.evaluate gives its value"
        )
    return metric


def _metric_name(value: Any) -> str:
    """A text that names a metric, under some preset at least: which one may be set later."""
    if not isinstance(value, (str, Metric)):
        raise MetricError(f"metricName is {shown(value)}: the text of one metric is needed, for example ndcg@10")
    text = str(value)
    try:
        _read(text, None)
    except MetricError:
        if not any(_is_read_by(preset, text) for preset in PRESETS.values()):
            raise
    return text


def _is_read_by(preset: Preset, text: str) -> bool:
    try:
        _read(text, preset)
    except MetricError:
        return False
    return True


def _column(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} is {shown(value)}: the name of a column, a text, is needed")
    return value


def _group_columns(value: Any) -> str | list[str]:
    """One column or a list of several, as JSON has them."""
    if isinstance(value, str):
        return value
    columns = list(columns_of_key(value))
    if not columns or not all(isinstance(column, str) for column in columns):
        raise SpecError(f"groupCol is {shown(value)}: the name of a column, or a list of names, is needed")
    return columns


def _word(name: str, allowed: tuple[str, ...], value: Any) -> str:
    if value not in allowed:
        raise SpecError(f"{name} is {shown(value)}{did_you_mean(value, allowed)} (allowed: {listed(allowed)})")
    return str(value)


def _fraction(value: Any) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= 1):
        raise SpecError(f"maxBadFraction is {shown(value)}: a number from 0 to 1 is allowed")
    return float(value)


def _buckets(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_BUCKETS:
        raise SpecError(f"buckets is {shown(value)}: an int from 1 to {MOST_BUCKETS} is allowed")
    return value


def _definition(name: str, doc: str) -> Param[str]:
    allowed = ALLOWED[name]
    return Param(_NOBODY, name, f"{doc} ({', '.join(allowed)})", typeConverter=partial(_word, name, allowed))


class RankingMetricParams(HasLabelCol, HasPredictionCol, HasWeightCol):
    """The params with their setters and getters, and the evaluation of a dataset.

    A class with an ``Evaluator`` of Spark as its second base is one. :class:`sparkrank.ml.RankingMetricEvaluator` says
    what the params mean.
    """

    metricName: Param[str] = Param(
        _NOBODY, "metricName", "the text of the metric, for example ndcg@10 or auc", typeConverter=_metric_name
    )
    groupCol: Param[Any] = Param(
        _NOBODY,
        "groupCol",
        "the column of the groups, or a list of columns: a user, a query",
        typeConverter=_group_columns,
    )
    predictionCol: Param[str] = Param(
        _NOBODY,
        "predictionCol",
        "the column of the scores, higher is better; a vector of two, as probability, stands for its second element",
        typeConverter=partial(_column, "predictionCol"),
    )
    labelCol: Param[str] = Param(
        _NOBODY, "labelCol", "the column of the labels, above 0 is relevant", typeConverter=partial(_column, "labelCol")
    )
    itemCol: Param[str] = Param(
        _NOBODY,
        "itemCol",
        "the column of the items, for metrics and definitions that need it",
        typeConverter=partial(_column, "itemCol"),
    )
    weightCol: Param[str] = Param(
        _NOBODY,
        "weightCol",
        "the column of weights: how much a row counts in a metric of all rows together",
        typeConverter=partial(_column, "weightCol"),
    )
    referenceRankCol: Param[str] = Param(
        _NOBODY,
        "referenceRankCol",
        "the order that some metrics compare with, the lowest first",
        typeConverter=partial(_column, "referenceRankCol"),
    )
    preset: Param[str] = Param(
        _NOBODY,
        "preset",
        f"the library whose definitions hold where no other is given ({', '.join(PRESETS)})",
        typeConverter=partial(_word, "preset", tuple(PRESETS)),
    )
    ties: Param[str] = _definition("ties", "the order of tied rows")
    undefined: Param[str] = _definition("undefined", "what a group counts where the metric is undefined")
    unretrieved: Param[str] = _definition("unretrieved", "what a group without a list counts")
    unjudged: Param[str] = _definition("unjudged", "what a row without a label is")
    duplicates: Param[str] = _definition("duplicates", "how often an item counts that is in a list twice")
    population: Param[str] = _definition("population", "the groups that are evaluated")
    positions: Param[str] = _definition("positions", "the position of a row; only dense goes without ranks")
    maxBadFraction: Param[float] = Param(
        _NOBODY,
        "maxBadFraction",
        "the largest share of rows that may be rejected, as those with a NaN prediction",
        typeConverter=_fraction,
    )
    buckets: Param[int] = Param(
        _NOBODY,
        "buckets",
        "the number of buckets that groups are divided into; without it the rows are counted first",
        typeConverter=_buckets,
    )

    _input_kwargs: Mapping[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        metricName: str | Metric = "ndcg@10",
        groupCol: str | list[str] | None = None,
        predictionCol: str = "prediction",
        labelCol: str = "label",
        itemCol: str | None = None,
        weightCol: str | None = None,
        referenceRankCol: str | None = None,
        preset: PresetName | None = None,
        ties: Ties | None = None,
        undefined: Undefined | None = None,
        unretrieved: Unretrieved | None = None,
        unjudged: Unjudged | None = None,
        duplicates: Duplicates | None = None,
        population: Population | None = None,
        positions: Positions | None = None,
        maxBadFraction: float = 0.0,
        buckets: int | None = None,
    ) -> None:
        """Set the params that are given; the others have their defaults, or none."""
        super().__init__()
        self._setDefault(metricName="ndcg@10", predictionCol="prediction", labelCol="label", maxBadFraction=0.0)
        self._set_all(self._input_kwargs)

    @keyword_only
    def setParams(
        self,
        *,
        metricName: str | Metric = "ndcg@10",
        groupCol: str | list[str] | None = None,
        predictionCol: str = "prediction",
        labelCol: str = "label",
        itemCol: str | None = None,
        weightCol: str | None = None,
        referenceRankCol: str | None = None,
        preset: PresetName | None = None,
        ties: Ties | None = None,
        undefined: Undefined | None = None,
        unretrieved: Unretrieved | None = None,
        unjudged: Unjudged | None = None,
        duplicates: Duplicates | None = None,
        population: Population | None = None,
        positions: Positions | None = None,
        maxBadFraction: float = 0.0,
        buckets: int | None = None,
    ) -> Self:
        """Set the params that are given, all or none of them; the others stay as they are."""
        return self._set_all(self._input_kwargs)

    def _set_all(self, given: Mapping[str, Any]) -> Self:
        """Set ``given``, or nothing where one of them is not allowed or they do not go together."""
        before = dict(self._paramMap)
        try:
            for name, value in given.items():
                self._set_one(name, value)
            if self._is_complete():
                self._asked()
        except SpecError:
            self._paramMap = before
            raise
        return self

    def _set_one(self, name: str, value: Any) -> Self:
        """Set one param; None is no value of any, and clears it."""
        param = self.getParam(name)
        if value is None:
            self.clear(param)
            return self
        return self._set(**{name: value})

    def _given(self, name: str) -> Any:
        """The value of a param, its default, or None where it has neither."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    # Setters and getters, as every param of Spark ML has them. None takes a param back.

    def setMetricName(self, value: str | Metric | None) -> Self:
        """Set :attr:`metricName`."""
        return self._set_one("metricName", value)

    def getMetricName(self) -> str:
        """The value of :attr:`metricName` or its default."""
        return str(self._given("metricName"))

    def setGroupCol(self, value: str | list[str] | None) -> Self:
        """Set :attr:`groupCol`."""
        return self._set_one("groupCol", value)

    def getGroupCol(self) -> str | list[str] | None:
        """The value of :attr:`groupCol`, or None."""
        columns: str | list[str] | None = self._given("groupCol")
        return columns

    def setPredictionCol(self, value: str | None) -> Self:
        """Set :attr:`predictionCol`."""
        return self._set_one("predictionCol", value)

    def setLabelCol(self, value: str | None) -> Self:
        """Set :attr:`labelCol`."""
        return self._set_one("labelCol", value)

    def setItemCol(self, value: str | None) -> Self:
        """Set :attr:`itemCol`."""
        return self._set_one("itemCol", value)

    def getItemCol(self) -> str | None:
        """The value of :attr:`itemCol`, or None."""
        return self._text("itemCol")

    def setWeightCol(self, value: str | None) -> Self:
        """Set :attr:`weightCol`."""
        return self._set_one("weightCol", value)

    def getWeightCol(self) -> str | None:  # type: ignore[override] # Spark's raises where none is set
        """The value of :attr:`weightCol`, or None."""
        return self._text("weightCol")

    def setReferenceRankCol(self, value: str | None) -> Self:
        """Set :attr:`referenceRankCol`."""
        return self._set_one("referenceRankCol", value)

    def getReferenceRankCol(self) -> str | None:
        """The value of :attr:`referenceRankCol`, or None."""
        return self._text("referenceRankCol")

    def setPreset(self, value: PresetName | None) -> Self:
        """Set :attr:`preset`."""
        return self._set_one("preset", value)

    def getPreset(self) -> str | None:
        """The value of :attr:`preset`, or None."""
        return self._text("preset")

    def setTies(self, value: Ties | None) -> Self:
        """Set :attr:`ties`."""
        return self._set_one("ties", value)

    def getTies(self) -> str | None:
        """The value of :attr:`ties`, or None."""
        return self._text("ties")

    def setUndefined(self, value: Undefined | None) -> Self:
        """Set :attr:`undefined`."""
        return self._set_one("undefined", value)

    def getUndefined(self) -> str | None:
        """The value of :attr:`undefined`, or None."""
        return self._text("undefined")

    def setUnretrieved(self, value: Unretrieved | None) -> Self:
        """Set :attr:`unretrieved`."""
        return self._set_one("unretrieved", value)

    def getUnretrieved(self) -> str | None:
        """The value of :attr:`unretrieved`, or None."""
        return self._text("unretrieved")

    def setUnjudged(self, value: Unjudged | None) -> Self:
        """Set :attr:`unjudged`."""
        return self._set_one("unjudged", value)

    def getUnjudged(self) -> str | None:
        """The value of :attr:`unjudged`, or None."""
        return self._text("unjudged")

    def setDuplicates(self, value: Duplicates | None) -> Self:
        """Set :attr:`duplicates`."""
        return self._set_one("duplicates", value)

    def getDuplicates(self) -> str | None:
        """The value of :attr:`duplicates`, or None."""
        return self._text("duplicates")

    def setPopulation(self, value: Population | None) -> Self:
        """Set :attr:`population`."""
        return self._set_one("population", value)

    def getPopulation(self) -> str | None:
        """The value of :attr:`population`, or None."""
        return self._text("population")

    def setPositions(self, value: Positions | None) -> Self:
        """Set :attr:`positions`."""
        return self._set_one("positions", value)

    def getPositions(self) -> str | None:
        """The value of :attr:`positions`, or None."""
        return self._text("positions")

    def setMaxBadFraction(self, value: float | None) -> Self:
        """Set :attr:`maxBadFraction`."""
        return self._set_one("maxBadFraction", value)

    def getMaxBadFraction(self) -> float:
        """The value of :attr:`maxBadFraction` or its default."""
        return float(self._given("maxBadFraction"))

    def setBuckets(self, value: int | None) -> Self:
        """Set :attr:`buckets`."""
        return self._set_one("buckets", value)

    def getBuckets(self) -> int | None:
        """The value of :attr:`buckets`, or None."""
        buckets: int | None = self._given("buckets")
        return buckets

    def _text(self, name: str) -> str | None:
        value = self._given(name)
        return None if value is None else str(value)

    # What they ask for.

    def isLargerBetter(self) -> bool:
        """Whether a higher value of the metric is better, as its declaration says."""
        return self._metric().declaration.higher_is_better is True

    def _metric(self) -> Metric:
        return _read(self.getMetricName(), find_preset(self.getPreset()))

    def _reads_groups(self, definitions: Definitions) -> bool:
        """Whether the metric or a definition is about groups: rows of other metrics need no shuffle."""
        of_groups = any(getattr(definitions, name) != word for name, word in _NOT_IN_GROUPS.items())
        return of_groups or self._metric().declaration.needs_groups

    def _definitions(self) -> tuple[Definitions, dict[str, Any]]:
        """The definitions, and those of them that are given."""
        given = {name: self._text(name) for name in ALLOWED}
        return Definitions.of(find_preset(self.getPreset()), given), given

    def _is_complete(self) -> bool:
        """Whether nothing that must be set is still to come from a setter."""
        return self.getGroupCol() is not None or not self._reads_groups(self._definitions()[0])

    def _asked(self) -> dict[str, Any]:
        """The arguments of :func:`sparkrank.evaluate`.

        Raises :class:`SpecError` where the params do not go together.
        """
        preset, metric, text = find_preset(self.getPreset()), self._metric(), self.getMetricName()
        definitions, given = self._definitions()
        by_groups = self._reads_groups(definitions)
        group = self.getGroupCol() if by_groups else None
        if by_groups and group is None:
            raise SpecError(f"{metric} is a metric of groups: groupCol must name the column of the groups")
        score = str(self._given("predictionCol"))
        columns = {
            "score": score,
            "item": self.getItemCol(),
            "reference_rank": self.getReferenceRankCol(),
            "weight": self.getWeightCol(),
        }
        keys = () if group is None else columns_of_key(group)
        reads = Plan.of([text], (score,), keys, definitions, preset=preset).label_is_for
        label = None if reads is None else str(self._given("labelCol"))
        buckets = None if group is None else self.getBuckets()
        none = dict.fromkeys(("rank", "items", "true_items"))
        planned(
            Roles.named({**none, **columns}, group, label, None, "membership"),
            [text],
            definitions,
            preset,
            group_table=False,
            buckets=buckets,
            uncertainty=Uncertainty(off=True),
        )
        names = {"preset": self.getPreset(), "max_bad_fraction": self.getMaxBadFraction(), "buckets": buckets}
        return {"metrics": [text], "group": group, "label": label, **columns, **given, **names}

    def _evaluate(self, dataset: Any) -> float:
        """The value of the metric for ``dataset``: what ``evaluate`` gives once overriding params are in place."""
        asked = self._asked()
        if is_frame(dataset):
            validate_session(dataset.sparkSession)
            if asked["score"] == "prediction" and "probability" in dataset.columns:
                logging.getLogger(__name__).warning(
                    'predictionCol is "prediction", which is the class that a classifier chooses, so most rows tie: '
                    'predictionCol="probability" evaluates its scores'
                )
        try:
            with evaluate(dataset, **asked, group_table=False, uncertainty=False) as evaluation:
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
            raise InputError(self._undefined())
        return value

    def _undefined(self) -> str:
        metric = self._metric()
        declaration = metric.declaration
        where = "in every group" if declaration.is_averaged else "for these rows"
        remedy = ": undefined=zero counts such groups as 0" if declaration.is_averaged else ""
        return (
            f"{metric} is undefined {where} ({declaration.undefined}), and of models without a value none is the "
            f"best{remedy}"
        )
