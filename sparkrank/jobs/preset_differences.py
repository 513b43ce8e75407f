"""Why two libraries have two numbers for the same rows: the settings in which their presets differ, and what each does.

Parameters of metrics, and the ties of a metric, are texts of one pass. A setting of the whole evaluation takes a pass
of its own, in which all metrics are evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import InputError, SpecError
from sparkrank.engines.spark.session_settings import time_zone
from sparkrank.inputs.roles import Roles, planned
from sparkrank.jobs.evaluate_job import request_of
from sparkrank.metrics import Definitions, Metric, Plan
from sparkrank.metrics.parameters import TIES
from sparkrank.metrics.presets import Preset, find_preset
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.run.execute import open_request
from sparkrank.tables.rows.limits import limits_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.engines.request import Request
    from sparkrank.run.stages import Stages

REFUSES = "error"  # the word of duplicates by which a repeated item stops an evaluation
_DROPPED = Uncertainty(off=True)


@dataclass(frozen=True)
class SettingMoves:
    """One setting in which two presets differ, for one metric of one model.

    Parameters
    ----------
    setting : str
        Its name: of the evaluation, of a parameter of the metric, or ``metric`` where the two libraries mean two.
    one, other : str
        What the first and the second preset say.
    value : float
        The value if it alone is as the second has it; NaN where that is not computed.
    told : str
        Why it is not computed.
    """

    setting: str
    one: str
    other: str
    value: float
    told: str = ""


@dataclass(frozen=True)
class MetricMoves:
    """A metric of one model under two presets.

    Parameters
    ----------
    asked, model : str
        The text that was asked for, and the model.
    one, other : str
        What the two presets make of the text, every parameter written out.
    value, other_value : float
        The value under the first and under the second: with all settings of it together.
    settings : tuple of SettingMoves
        The settings in which they differ, each alone.
    """

    asked: str
    model: str
    one: str
    other: str
    value: float
    other_value: float
    settings: tuple[SettingMoves, ...]

    @property
    def moved(self) -> float:
        """How far all settings together move the number."""
        return self.other_value - self.value

    @property
    def combined(self) -> float:
        """What all together do beyond what each does alone."""
        return self.moved - sum(each.value - self.value for each in self.settings if not math.isnan(each.value))


@dataclass(frozen=True)
class PresetDifferences:
    """What :func:`explain_presets` finds: ``one`` and ``other`` are the presets, ``told`` what no setting can say."""

    one: str
    other: str
    day: str
    metrics: tuple[MetricMoves, ...]
    told: tuple[str, ...] = ()
    passes: int = 0


@dataclass(frozen=True)
class _Asked:
    """A metric under the settings of an evaluation, of which the ties are those of the metric."""

    definitions: Definitions
    metric: Metric


@dataclass
class _Passes:
    """The values of metrics under settings, from as few passes as there are settings of the evaluation."""

    request: Request
    roles: Roles
    bad: float
    stages: Stages
    values: dict[_Asked, dict[str, float]] = field(default_factory=dict)
    told: dict[_Asked, str] = field(default_factory=dict)
    buckets: int | None = None
    count: int = 0

    def validate(self, text: str, end: _Asked) -> None:
        """Raise :class:`SpecError` where ``text`` cannot be what one of the presets makes of it, before any pass."""
        try:
            self._plan([end.metric], end.definitions)
        except SpecError as error:
            raise SpecError(f"{text}: {error}") from None

    def run(self, asked: Sequence[_Asked]) -> None:
        """Evaluate all that is ``asked``, one pass for each set of definitions."""
        by_definitions: dict[Definitions, list[_Asked]] = {}
        for each in dict.fromkeys(asked):
            try:
                self._plan([each.metric], each.definitions)
            except SpecError as error:
                self.told[each] = str(error)
            else:
                by_definitions.setdefault(each.definitions, []).append(each)
        for definitions, together in by_definitions.items():
            try:
                self._pass(definitions, together)
            except InputError as error:
                if not self.values:  # the rows cannot be evaluated at all
                    raise
                self.told.update(dict.fromkeys(together, str(error)))

    def _plan(self, metrics: Sequence[Metric], definitions: Definitions) -> tuple[Roles, Plan]:
        reads_weight = any("rows" in each.declaration.parts for each in metrics)
        roles = self.roles
        if not reads_weight:
            roles = replace(roles, of_rows={key: name for key, name in roles.of_rows.items() if key != "weight"})
        return planned(roles, metrics, definitions, group_table=False, uncertainty=_DROPPED)

    def _pass(self, definitions: Definitions, together: Sequence[_Asked]) -> None:
        roles, plan = self._plan([each.metric for each in together], definitions)
        limits = limits_of(plan, self.bad, None)
        request = replace(self.request, roles=roles, plan=plan, limits=limits, buckets=self.buckets)
        opened = open_request(request, self.stages)
        self.buckets = opened.buckets if plan.keys else None
        self.count += 1
        outcome = opened.evaluate(self.stages)
        try:
            found: dict[str, dict[str, float]] = {}
            for row in outcome.metrics.to_pylist():
                value = row["value"]
                found.setdefault(row["metric"], {})[row["model"]] = math.nan if value is None else value
            for each in together:
                self.values[each] = found[str(plan.resolved(each.metric))]
        finally:
            outcome.solved.release()

    def value(self, asked: _Asked, model: str) -> float:
        """The value of ``model``; NaN where it was not computed."""
        return self.values.get(asked, {}).get(model, math.nan)


def explain_presets(
    spec: Spec, day: str, one: str, other: str, texts: Sequence[str], spark: SparkSession | None, stages: Stages
) -> PresetDifferences:
    """What the metrics ``texts`` of a ``day`` of ``spec`` are under the presets ``one`` and ``other``, and why.

    The definitions of the spec are set aside: both sides are as the presets say. Raises :class:`SpecError` for a preset
    or a metric that there is not, and :class:`InputError` where the rows cannot be evaluated.
    """
    presets = [_preset(name, option) for name, option in ((one, "--from"), (other, "--to"))]
    roles = _without_slices(spec.roles)
    sides = [Definitions.of(preset, {}, joins=roles.joins) for preset in presets]
    with time_zone(spark, spec.input.time_zone):
        request = request_of(spec, day, spark)
        plan = request.plan
        passes = _Passes(request, roles, spec.quality.max_bad_fraction, stages, buckets=request.buckets)
        plain = [_not_refusing(side, sides[1 - place]) for place, side in enumerate(sides)]
        pairs = [_Pair.of(text, presets, plain, plan) for text in texts]
        for pair in pairs:
            for end in (pair.one, pair.other):
                passes.validate(pair.text, end)
        passes.run([each for pair in pairs for each in (pair.one, pair.other, *pair.alone.values())])
        told = list(_refused(presets, sides, plain, pairs, passes))
    metrics = [_moves(pair, model, passes) for pair in pairs for model in plan.models]
    return PresetDifferences(one, other, day, tuple(metrics), tuple(told), passes.count)


def _preset(name: str, option: str) -> Preset:
    try:
        found = find_preset(name)
    except SpecError as error:
        raise SpecError(f"{option}: {error}") from None
    assert found is not None  # noqa: S101 - a name is given
    return found


def _without_slices(roles: Roles) -> Roles:
    truth = None if roles.truth is None else replace(roles.truth, slices=())
    return replace(roles, slices=(), truth=truth)


def _not_refusing(side: Definitions, beside: Definitions) -> Definitions:
    """``side`` without a word that stops an evaluation: whether it would is found apart."""
    if side.duplicates != REFUSES:
        return side
    return replace(side, duplicates="keep" if beside.duplicates == REFUSES else beside.duplicates)


def _refused(
    presets: Sequence[Preset],
    sides: Sequence[Definitions],
    plain: Sequence[Definitions],
    pairs: Sequence[_Pair],
    passes: _Passes,
) -> list[str]:
    """A sentence for each preset that refuses the rows."""
    told = []
    for preset, side, own, place in zip(presets, sides, plain, (0, 1), strict=True):
        if side == own:
            continue
        first = next(
            (each for each in ((pair.one, pair.other)[place] for pair in pairs) if each in passes.values), None
        )
        if first is None:
            continue
        asked = replace(first, definitions=replace(first.definitions, duplicates="error"))
        passes.run([asked])
        if asked in passes.told:
            told.append(
                f"{preset.name} refuses these rows, and its numbers here are without that: {passes.told[asked]}"
            )
    return told


@dataclass(frozen=True)
class _Pair:
    """One text under both presets, and with each setting of the first replaced by that of the second, alone."""

    text: str
    one: _Asked
    other: _Asked
    alone: Mapping[tuple[str, str, str], _Asked]

    @classmethod
    def of(cls, text: str, presets: Sequence[Preset], sides: Sequence[Definitions], plan: Plan) -> _Pair:
        metrics = [_resolved(text, preset, side, plan) for preset, side in zip(presets, sides, strict=True)]
        one, other = (_asked(side, metric) for side, metric in zip(sides, metrics, strict=True))
        alone: dict[tuple[str, str, str], _Asked] = {}
        for setting in fields(Definitions):
            name = setting.name
            ours, theirs = (getattr(side, name) for side in sides)
            if name != TIES.name and ours != theirs:
                alone[name, ours, theirs] = _changed(one, name, theirs)
        for name, ours, theirs, changed in _of_metric(one.metric, other.metric):
            alone[name, ours, theirs] = replace(one, metric=changed)
        return cls(text, one, other, alone)


def _resolved(text: str, preset: Preset, side: Definitions, plan: Plan) -> Metric:
    """The metric that ``text`` means under ``preset``, with the ties that hold for it as its own."""
    metric = Metric.parse(text, preset)
    takes_ties = any(each.name == TIES.name for each in metric.declaration.all_parameters)
    if side.positions != "dense" or not takes_ties:
        return metric.with_ties(None) if takes_ties else metric
    named = replace(plan, definitions=side).resolved(metric, preset)
    return named.with_ties(named.ties or side.ties)


def _asked(side: Definitions, metric: Metric) -> _Asked:
    """``metric`` under the settings of ``side``, whose ties are those of the metric in any case."""
    return _Asked(replace(side, ties="expected"), metric)


def _changed(asked: _Asked, name: str, value: Any) -> _Asked:
    """``asked`` with one setting of the evaluation changed; given positions leave no order to tied rows."""
    metric = asked.metric.with_ties(None) if name == "positions" and value != "dense" else asked.metric
    return _Asked(replace(asked.definitions, **{name: value}), metric)


def _of_metric(one: Metric, other: Metric) -> list[tuple[str, str, str, Metric]]:
    """Each parameter in which two metrics of a text differ: its name, both values, and the first with the second's."""
    if one.name != other.name:
        return [("metric", one.definition, other.definition, other)]
    found = []
    for parameter in one.declaration.all_parameters:
        ours, theirs = dict(one.settings).get(parameter.name), dict(other.settings).get(parameter.name)
        if ours == theirs:
            continue
        settings = {**dict(one.settings), parameter.name: theirs}
        order = [each.name for each in one.declaration.all_parameters]
        kept = tuple((name, settings[name]) for name in order if settings.get(name) is not None)
        texts = [_written(parameter, value) for value in (ours, theirs)]
        found.append((parameter.name, texts[0], texts[1], replace(one, settings=kept)))
    return found


def _written(parameter: Any, value: Any) -> str:
    value = parameter.default if value is None else value
    if parameter.is_flag:
        return "yes" if value else "no"
    return "none" if value is None else str(parameter.write(value))


def _moves(pair: _Pair, model: str, passes: _Passes) -> MetricMoves:
    settings = [
        SettingMoves(name, ours, theirs, passes.value(asked, model), passes.told.get(asked, ""))
        for (name, ours, theirs), asked in pair.alone.items()
    ]
    ends = [passes.value(asked, model) for asked in (pair.one, pair.other)]
    for asked in (pair.one, pair.other):
        if asked in passes.told:
            raise InputError(f"{pair.text}: {passes.told[asked]}")
    one, other = pair.one.metric.definition, pair.other.metric.definition
    return MetricMoves(pair.text, model, one, other, ends[0], ends[1], tuple(settings))
