"""Explain why two libraries give different numbers for the same rows, by the settings that differ in their presets.

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
class _Asked:
    """A metric, and the definitions under which it is evaluated. The rule for ties is a parameter of the metric."""

    definitions: Definitions
    metric: Metric


@dataclass
class _Passes:
    """Evaluates metrics under different definitions, in one pass for each set of definitions, and keeps the values."""

    request: Request
    roles: Roles
    bad: float
    stages: Stages
    values: dict[_Asked, dict[str, float]] = field(default_factory=dict)
    reasons: dict[_Asked, str] = field(default_factory=dict)
    buckets: int | None = None
    count: int = 0

    def run(self, requests: Sequence[_Asked]) -> None:
        """Evaluate all ``requests`` in one pass for each set of definitions. Keep their values or failure reasons."""
        by_definitions: dict[Definitions, list[_Asked]] = {}
        for asked in dict.fromkeys(requests):
            try:
                self.plan([asked.metric], asked.definitions)
            except SpecError as error:
                self.reasons[asked] = str(error)
            else:
                by_definitions.setdefault(asked.definitions, []).append(asked)
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
            roles = replace(roles, of_rows={key: name for key, name in roles.of_rows.items() if key != "weight"})
        if not any(metric.declaration.reads_interactions for metric in metrics):
            roles = replace(roles, past={name: own for name, own in roles.past.items() if name == roles.exclude})
        if INTERACTIONS not in roles.past:  # without interactions, times decide nothing
            roles = replace(roles, of_rows={key: name for key, name in roles.of_rows.items() if key != "time"})
        return plan_request(roles, metrics, definitions, group_table=False, uncertainty=Uncertainty(off=True))

    def _pass(self, definitions: Definitions, together: Sequence[_Asked]) -> None:
        roles, plan = self.plan([asked.metric for asked in together], definitions)
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
            for asked in together:
                self.values[asked] = values[str(plan.resolved(asked.metric))]
        finally:
            outcome.solved.release()

    def value(self, asked: _Asked, model: str) -> float:
        """Return the value of the metric for ``model``, or NaN if it was not computed."""
        return self.values.get(asked, {}).get(model, math.nan)


def explain_presets(
    spec: Spec, day: str, one: str, other: str, texts: Sequence[str], spark: SparkSession | None, stages: Stages
) -> PresetDifferences:
    """Explain how the metrics ``texts`` of one day differ between the presets ``one`` and ``other``.

    Either may be :data:`DEFAULT`. Definitions come from the presets, not from ``spec``. Raise :class:`SpecError` if a
    preset or metric is unknown.
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
        passes.run([asked for pair in pairs for asked in (*pair.ends, *pair.alone.values())])
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
    """Replace ``duplicates=error``, which refuses repeated items, with the rule of ``beside`` or with ``keep``."""
    if side.duplicates != "error":
        return side
    return replace(side, duplicates="keep" if beside.duplicates == "error" else beside.duplicates)


@dataclass(frozen=True)
class _Pair:
    """The requests for a metric: under both presets, and under the first with each single setting of the second."""

    text: str
    ends: tuple[_Asked, _Asked]
    alone: Mapping[tuple[str, str, str], _Asked]

    @classmethod
    def of(cls, text: str, presets: Sequence[Preset | None], sides: Sequence[Definitions], plan: Plan) -> _Pair:
        one, other = (
            _Asked(replace(side, ties="expected"), _resolved(text, preset, side, plan))
            for preset, side in zip(presets, sides, strict=True)
        )
        alone: dict[tuple[str, str, str], _Asked] = {}
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


def _changed(asked: _Asked, name: str, value: Any) -> _Asked:
    """Return ``asked`` with the definition ``name`` set to ``value``. Positions remove the rule for ties."""
    metric = asked.metric.with_ties(None) if name == "positions" and value != "dense" else asked.metric
    return _Asked(replace(asked.definitions, **{name: value}), metric)


def _of_metric(one: Metric, other: Metric) -> list[tuple[str, str, str, Metric]]:
    """Return, for each parameter that differs, its name, both values, and ``one`` with the value from ``other``."""
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
        SettingMoves(name, ours, theirs, passes.value(asked, model), passes.reasons.get(asked, ""))
        for (name, ours, theirs), asked in pair.alone.items()
    ]
    for end in pair.ends:
        if end in passes.reasons:
            raise InputError(f"{pair.text}: {passes.reasons[end]}")
    one, other = (end.metric.definition for end in pair.ends)
    value, other_value = (passes.value(end, model) for end in pair.ends)
    return MetricMoves(pair.text, model, one, other, value, other_value, tuple(settings))
