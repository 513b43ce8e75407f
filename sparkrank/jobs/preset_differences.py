"""The settings of two presets that make two libraries give different numbers for the same rows.

Metrics that differ only in parameters share a pass. Each changed setting of the whole evaluation needs another pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import InputError, SpecError, validate_names
from sparkrank.engines.spark.session_settings import time_zone
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Definitions, Metric, Plan
from sparkrank.metrics.needs import INTERACTIONS
from sparkrank.metrics.parameters import TIES
from sparkrank.metrics.presets import PRESETS, Preset
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.results.preset_moves import MetricMoves, PresetDifferences, SettingMoves
from sparkrank.run.day_request import request_of
from sparkrank.run.execute import open_request
from sparkrank.tables.rows.limits import limits_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.engines.request import Request
    from sparkrank.run.stages import Stages

DEFAULT = "default"  # in place of a preset: the definitions of sparkrank itself


@dataclass(frozen=True)
class _MetricSetting:
    """A metric, and the definitions under which it is evaluated. The rule for ties is a parameter of the metric."""

    definitions: Definitions
    metric: Metric


@dataclass
class _Passes:
    """Evaluations of metrics, in one pass over the rows for each set of definitions.

    ``values`` contains the value by model of each metric, or ``reasons`` why it could not be computed. ``count`` is the
    number of passes so far, and ``bad`` the highest allowed share of rejected rows.
    """

    request: Request
    roles: Roles
    bad: float
    stages: Stages
    values: dict[_MetricSetting, dict[str, float]] = field(default_factory=dict)
    reasons: dict[_MetricSetting, str] = field(default_factory=dict)
    buckets: int | None = None
    count: int = 0

    def run(self, requests: Sequence[_MetricSetting]) -> None:
        """Evaluate all ``requests`` in one pass for each set of definitions. Keep their values or failure reasons."""
        by_definitions: dict[Definitions, list[_MetricSetting]] = {}
        for setting in dict.fromkeys(requests):
            try:
                self.plan([setting.metric], setting.definitions)
            except SpecError as error:
                self.reasons[setting] = str(error)
            else:
                by_definitions.setdefault(setting.definitions, []).append(setting)
        for definitions, together in by_definitions.items():
            try:
                self._pass(definitions, together)
            except InputError as error:
                if not self.values:  # the rows cannot be evaluated at all
                    raise
                self.reasons.update(dict.fromkeys(together, str(error)))

    def plan(self, metrics: Sequence[Metric], definitions: Definitions) -> tuple[Roles, Plan]:
        """Return the roles and the plan of one pass. Raise :class:`SpecError` if the pass is not possible."""
        roles = self.roles
        if not any("rows" in metric.declaration.parts for metric in metrics):  # no metric reads a weight
            roles = replace(
                roles, row_columns={key: name for key, name in roles.row_columns.items() if key != "weight"}
            )
        if not any(metric.declaration.reads_interactions for metric in metrics):
            roles = replace(roles, past={name: own for name, own in roles.past.items() if name == roles.exclude})
        if INTERACTIONS not in roles.past:  # without interactions, times decide nothing
            roles = replace(roles, row_columns={key: name for key, name in roles.row_columns.items() if key != "time"})
        return plan_request(roles, metrics, definitions, group_table=False, uncertainty=Uncertainty(off=True))

    def _pass(self, definitions: Definitions, together: Sequence[_MetricSetting]) -> None:
        roles, plan = self.plan([setting.metric for setting in together], definitions)
        limits = limits_of(plan, self.bad, None)
        request = replace(self.request, roles=roles, plan=plan, limits=limits, buckets=self.buckets)
        opened = open_request(request, self.stages)
        self.buckets = opened.buckets if plan.keys else None
        self.count += 1
        outcome = opened.evaluate(self.stages)
        try:
            values: dict[str, dict[str, float]] = {}
            for row in outcome.metrics.to_pylist():
                value = row["value"]
                values.setdefault(row["metric"], {})[row["model"]] = math.nan if value is None else value
            for setting in together:
                self.values[setting] = values[str(plan.resolved(setting.metric))]
        finally:
            outcome.solved.release()

    def value(self, setting: _MetricSetting, model: str) -> float:
        """Return the value of the metric for ``model``, or NaN if it was not computed."""
        return self.values.get(setting, {}).get(model, math.nan)


def explain_presets(
    spec: Spec, day: str, one: str, other: str, texts: Sequence[str], spark: SparkSession | None, stages: Stages
) -> PresetDifferences:
    """Return the differences of the metrics ``texts`` of one day between the presets ``one`` and ``other``.

    Either preset may be :data:`DEFAULT`. Definitions come from the presets, not from ``spec``. Raise :class:`SpecError`
    if a preset or metric is unknown.
    """
    presets = [_preset(name, option) for name, option in ((one, "--from"), (other, "--to"))]
    truth = None if spec.roles.truth is None else replace(spec.roles.truth, slices=())
    roles = replace(spec.roles, slices=(), truth=truth)
    sides = [Definitions.of(preset, {}, joins=roles.joins) for preset in presets]
    with time_zone(spark, spec.input.time_zone):
        request = request_of(spec, day, spark)
        plan = request.plan
        passes = _Passes(request, roles, spec.quality.max_bad_fraction, stages, buckets=request.buckets)
        plain = [_not_refusing(side, sides[1 - place]) for place, side in enumerate(sides)]
        pairs = [_Pair.of(text, presets, plain, plan) for text in texts]
        for pair in pairs:
            for end in pair.ends:
                try:
                    passes.plan([end.metric], end.definitions)
                except SpecError as error:  # before any pass
                    raise SpecError(f"{pair.text}: {error}") from None
        passes.run([setting for pair in pairs for setting in (*pair.ends, *pair.alone.values())])
        notes = []
        for place, name in enumerate((one, other)):
            ends = [pair.ends[place] for pair in pairs if pair.ends[place] in passes.values]
            if sides[place] != plain[place] and ends:
                refused = replace(ends[0], definitions=replace(ends[0].definitions, duplicates="error"))
                passes.run([refused])
                if (reason := passes.reasons.get(refused)) is not None:
                    notes.append(f"{name} refuses these rows, and its numbers here are without that: {reason}")
    metrics = [_moves(pair, model, passes) for pair in pairs for model in plan.models]
    return PresetDifferences(one, other, day, tuple(metrics), tuple(notes), passes.count)


def _preset(name: str, option: str) -> Preset | None:
    known = (DEFAULT, *PRESETS)
    validate_names(f"{option} is", [name], known)
    return PRESETS.get(name)


def _not_refusing(side: Definitions, beside: Definitions) -> Definitions:
    """Return ``side`` without ``duplicates=error``, which refuses repeated items.

    The rule becomes that of ``beside``, or ``keep`` if that refuses them too.
    """
    if side.duplicates != "error":
        return side
    return replace(side, duplicates="keep" if beside.duplicates == "error" else beside.duplicates)


@dataclass(frozen=True)
class _Pair:
    """The evaluations needed for a metric: under both presets, and under the first with one setting of the second.

    ``ends`` contains the two under the presets, and ``alone`` the others by the setting's name and both values.
    """

    text: str
    ends: tuple[_MetricSetting, _MetricSetting]
    alone: Mapping[tuple[str, str, str], _MetricSetting]

    @classmethod
    def of(cls, text: str, presets: Sequence[Preset | None], sides: Sequence[Definitions], plan: Plan) -> _Pair:
        one, other = (
            _MetricSetting(replace(side, ties="expected"), _resolved(text, preset, side, plan))
            for preset, side in zip(presets, sides, strict=True)
        )
        alone: dict[tuple[str, str, str], _MetricSetting] = {}
        for setting in fields(Definitions):
            name = setting.name
            ours, theirs = (getattr(side, name) for side in sides)
            if name != TIES.name and ours != theirs:
                alone[name, ours, theirs] = _changed(one, name, theirs)
        for name, ours, theirs, changed in _of_metric(one.metric, other.metric):
            alone[name, ours, theirs] = replace(one, metric=changed)
        return cls(text, (one, other), alone)


def _resolved(text: str, preset: Preset | None, side: Definitions, plan: Plan) -> Metric:
    """Return the metric that ``text`` means under ``preset``, with the preset's rule for ties, if any."""
    metric = Metric.parse(text, preset)
    takes_ties = any(parameter.name == TIES.name for parameter in metric.declaration.all_parameters)
    if side.positions != "dense" or not takes_ties:
        return metric.with_ties(None) if takes_ties else metric
    named = replace(plan, definitions=side, order=(preset and preset.order) or plan.order).resolved(metric)
    return named.with_ties(named.ties or side.ties)


def _changed(setting: _MetricSetting, name: str, value: Any) -> _MetricSetting:
    """Return ``setting`` with the definition ``name`` set to ``value``.

    If positions are given by the input, the metric has no rule for ties any more.
    """
    metric = setting.metric.with_ties(None) if name == "positions" and value != "dense" else setting.metric
    return _MetricSetting(replace(setting.definitions, **{name: value}), metric)


def _of_metric(one: Metric, other: Metric) -> list[tuple[str, str, str, Metric]]:
    """Return, for each parameter that differs, its name, both values, and ``one`` with the value from ``other``.

    Two metrics of different names differ as a whole, under the name ``metric``.
    """
    if one.name != other.name:
        return [("metric", one.definition, other.definition, other)]
    differences, order = [], [declared.name for declared in one.declaration.all_parameters]
    for parameter in one.declaration.all_parameters:
        name = parameter.name
        ours, theirs = dict(one.settings).get(name), dict(other.settings).get(name)
        if ours != theirs:
            settings = {**dict(one.settings), name: theirs}
            kept = tuple((key, settings[key]) for key in order if settings.get(key) is not None)
            texts = _written(parameter, ours), _written(parameter, theirs)
            differences.append((name, *texts, replace(one, settings=kept)))
    return differences


def _written(parameter: Any, value: Any) -> str:
    value = parameter.default if value is None else value
    if parameter.is_flag:
        return "yes" if value else "no"
    return "none" if value is None else str(parameter.write(value))


def _moves(pair: _Pair, model: str, passes: _Passes) -> MetricMoves:
    settings = [
        SettingMoves(name, ours, theirs, passes.value(setting, model), passes.reasons.get(setting, ""))
        for (name, ours, theirs), setting in pair.alone.items()
    ]
    for end in pair.ends:
        if end in passes.reasons:
            raise InputError(f"{pair.text}: {passes.reasons[end]}")
    one, other = (end.metric.definition for end in pair.ends)
    value, other_value = (passes.value(end, model) for end in pair.ends)
    return MetricMoves(pair.text, model, one, other, value, other_value, tuple(settings))
