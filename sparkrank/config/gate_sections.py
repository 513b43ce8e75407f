"""The sections of the spec for gates and their history, and the conversion of gates to rules."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, create_model, model_validator

from sparkrank.base.errors import SpecError, did_you_mean, hint, itemize, shorten
from sparkrank.config.sections import Section
from sparkrank.config.validators import as_number, as_whole, value_of
from sparkrank.gates.kind import GateKind
from sparkrank.gates.register import KINDS, kind_in_spec, words
from sparkrank.gates.rules import GAP, OF_DISPARITY, History, Margin, Rule, columns_match, is_pattern, matches
from sparkrank.metrics import Plan
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.slices import names_of
from sparkrank.stats.corrections import Correction
from sparkrank.tables.rows.lookup import found_metric

BASELINE = "baseline"
_BOTH_SIDES = History()
_SHARE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%", re.ASCII)
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Policy = Literal["fail", "warn", "pass"]


def as_margin(value: object) -> object:
    """Return ``value`` as a number that is at least 0.

    A share with a percent sign, such as ``0.5%``, stays unchanged.
    """
    if value is None:
        return value
    if isinstance(value, str) and _SHARE.fullmatch(value.strip()):
        return value.strip()
    value = value_of(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and 0 <= float(value) < math.inf:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise ValueError("a number from 0, or a share such as 0.5%, is needed")


def _as_values(value: object) -> object:
    """Return slice values as the strings in the tables.

    Booleans are refused, since YAML reads the country ``no`` as false.
    """
    if not isinstance(value, dict):
        return value
    texts: dict[object, object] = {}
    for column, cell in value.items():
        if isinstance(cell, bool):
            raise ValueError(f'has {column} {str(cell).lower()}: put it in quotes, as in the tables ("true")')
        plain = cell.isoformat() if isinstance(cell, dt.date) else cell
        texts[column] = str(plain) if isinstance(plain, (int, float)) else plain
    return texts


class _GateSubject(Section):
    metric: str
    name: str | None = None
    model: str | None = None
    cells: Annotated[dict[str, str | None] | None, BeforeValidator(_as_values)] = Field(default=None, alias="slice")
    disparity: str | None = None


if TYPE_CHECKING:
    _GateConditions: TypeAlias = _GateSubject
else:  # with a key for each kind of gate
    _NUMBER = Annotated[_Finite | None, BeforeValidator(as_number)]
    _CONDITIONS = {word: (str | None if kind.compares else _NUMBER, None) for word, kind in words().items()}
    _GateConditions = create_model("_GateConditions", __base__=_GateSubject, **_CONDITIONS)


class Gate(_GateConditions):
    """A condition that a day must meet. ``metric``, ``model`` and ``slice`` may contain wildcards.

    ``name`` is the gate's name in tables and reports. Without ``model``, the gate applies to every model. Without
    ``slice``, the gate applies only to the whole day. ``disparity`` names a slice; ``min`` or ``max`` then judges its
    highest value minus its lowest. ``not_worse_than`` is a model, ``baseline`` or ``history``, and ``by`` is the
    largest accepted decline: a number, or a share of the value compared with (``0.5%``). ``equivalent_to`` is a model
    or ``baseline``, and ``by`` is the largest difference that counts as equal. ``correction`` is the correction for the
    number of values that the gate checks. ``undecided`` is the policy for the day if the gate cannot decide.
    """

    by: Annotated[float | str | None, BeforeValidator(as_margin)] = None
    correction: Correction = "holm"
    undecided: _Policy | None = None

    @model_validator(mode="after")
    def _some_condition(self) -> Gate:
        conditions = self.conditions
        with_margin = [word for word in conditions if words()[word].compares]
        if not conditions:
            *others, last = words()
            raise ValueError(f"has no condition: {', '.join(others)} or {last} is needed")
        if self.by is not None and not with_margin:
            names = " and ".join(word for word, kind in words().items() if kind.compares)
            raise ValueError(f"has by, which is the margin of {names}, but has none of them")
        if len(with_margin) > 1:
            raise ValueError(f"has {' and '.join(with_margin)}, but by is the margin of one: write two gates")
        if with_margin and words()[with_margin[0]].needs_margin and not self.margin.amount > 0:
            raise ValueError(
                f"has {with_margin[0]} without a margin: give by, the largest difference that counts as equal, as 1%"
            )
        if {"min", "max"} <= conditions.keys() and conditions["min"] > conditions["max"]:
            raise ValueError(
                f"has min {conditions['min']:g} above max {conditions['max']:g}: no value lies between them"
            )
        if self.cells is not None and not self.cells:
            raise ValueError("has an empty slice: name a column with a value, or leave slice out for the whole day")
        if self.disparity is not None and (self.cells is not None or not {"min", "max"} >= conditions.keys()):
            other = (
                "slice" if self.cells is not None else next(word for word in conditions if word not in ("min", "max"))
            )
            raise ValueError(f"has disparity and {other}: a disparity is judged as a whole, by min or max")
        if self.name is not None and not self.name.strip():
            raise ValueError("has an empty name")
        return self

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions of the gate, such as ``min``, with their values."""
        values = {word: getattr(self, word, None) for word in words()}
        return {word: value for word, value in values.items() if value is not None}

    @property
    def margin(self) -> Margin:
        """The margin in ``by``; 0 without ``by``."""
        if isinstance(self.by, str):
            return Margin(float(self.by.rstrip("% ")) / 100, relative=True)
        return Margin(self.by or 0.0)

    @property
    def subject(self) -> str:
        """The metric, model and slice as a text for people, such as ``ndcg of a where country=de``."""
        model = "" if self.model is None else f" of {self.model}"
        cells = (f"{column}={'(null)' if value is None else value}" for column, value in (self.cells or {}).items())
        if self.disparity is not None:
            return f"{self.metric}{model} {OF_DISPARITY}{self.disparity}"
        return f"{self.metric}{model}{' where ' if self.cells else ''}{', '.join(cells)}"


def as_least_groups(value: object) -> object:
    """Return a mapping unchanged. A single number becomes that number for both ``gates`` and ``tables``."""
    return value if isinstance(value, Mapping) or value is None else {"gates": value, "tables": value}


class LeastGroups(Section):
    """The least number of groups of a slice value, for ``gates`` to decide on it and for ``tables`` to list it."""

    gates: Annotated[int, BeforeValidator(as_whole)] = Field(default=30, ge=1)
    tables: Annotated[int, BeforeValidator(as_whole)] = Field(default=1, ge=1)


class HistorySettings(Section):
    """The settings for gates with ``not_worse_than: history`` (:class:`sparkrank.gates.rules.History`).

    A gate compares a day with the last ``days`` days, of its weekday if ``same_weekday`` is true. These days determine
    a band, the expected range. By ``sides``, a value fails beyond either end or only beyond the worse end. The band is
    as strict as ± ``width`` standard deviations of a normal distribution. If ``rhythm`` is ``weekly`` and the weekdays
    differ, each weekday has its own mean. A band needs at least ``least_days`` days.
    """

    days: Annotated[int, BeforeValidator(as_whole)] = Field(default=28, ge=2, le=366)
    same_weekday: bool = False
    sides: Literal["both", "worse"] = "both"
    rhythm: Literal["none", "weekly"] = "weekly"
    width: Annotated[_Finite, BeforeValidator(as_number)] = Field(default=3.0, gt=0.0)
    least_days: Annotated[int, BeforeValidator(as_whole)] = Field(default=7, ge=2, le=366)

    @model_validator(mode="after")
    def _reachable(self) -> HistorySettings:
        if self.least_days > self.days:
            raise ValueError(f"has least_days {self.least_days}, but days {self.days}: least_days can be at most days")
        return self

    @property
    def history(self) -> History:
        """These settings as the :class:`~sparkrank.gates.rules.History` for the judge of gates."""
        return History(**self.model_dump())


def rules_of(
    gates: Sequence[Gate],
    plan: Plan,
    preset: Preset | None,
    policy: _Policy | None,
    baseline: str | None,
    *,
    history: History = _BOTH_SIDES,
) -> tuple[Rule, ...]:
    """Return the rules of ``gates`` for the metrics, models and slices of ``plan``.

    ``policy`` applies to undecided gates without ``undecided``. Raise :class:`SpecError` for a gate on a metric, model
    or slice that the spec does not evaluate.
    """
    rules: list[Rule] = []
    for index, gate in enumerate(gates):
        where = f"gates[{index}]"
        own = list(_rules_of(gate, where, plan, preset, policy or "warn", baseline, history))
        if baseline is None and (against := [rule.against for rule in own if rule.against is not None]):
            word = next(KINDS[rule.kind].word for rule in own if rule.against is not None)
            compare = f"give compare: {{baseline: {against[0]}}}"
            raise SpecError(f"{where}.{word} is {against[0]}, but the spec compares no models: {compare}")
        names = {rule.gate for rule in rules}
        for rule in own:
            if rule.gate in names:
                raise SpecError(f'{where} is "{shorten(rule.gate)}" again: gates have names of their own')
        rules += own
    return tuple(rules)


def _rules_of(
    gate: Gate, where: str, plan: Plan, preset: Preset | None, policy: _Policy, baseline: str | None, history: History
) -> Iterator[Rule]:
    slices, models = _slices(gate, where, plan), _matches(where, "model", gate.model, plan.models)
    by_model = (found_metric(plan, preset, gate.metric, model) for model in models)
    metrics = tuple(dict.fromkeys(text for text in by_model if text is not None))
    given: dict[str, Any] = {
        "metric": metrics[0] if metrics else gate.metric,
        "model": gate.model,
        "slice_patterns": tuple((gate.cells or {}).items()) or tuple((name, GAP) for (name,) in slices),
        "slices": slices,
        "undecided": gate.undecided or policy,
        "correction": gate.correction,
    }
    of_models = [own for own in plan.metrics if any((model, own) not in plan.absent for model in models)]
    metrics = metrics or _matches(where, "metric", gate.metric, [*map(str, of_models)])
    for word, value in gate.conditions.items():
        kind, against = kind_in_spec(word, value, plan.models), None
        if kind.compares and kind.value is None:
            against = _against(value, f"{where}.{word}", plan, baseline)
        limit = f"{value:.6g}" if not kind.compares else f"{value} by {gate.margin}" if gate.by is not None else value
        own = _directed(kind, metrics, gate, where, plan) if kind.needs_direction(history) else metrics
        beside = tuple(model for model in models if model != against)
        if not beside:
            raise SpecError(f"{where} compares {against} with itself: name another model, or none for all others")
        absent = _absent(plan, against)
        if all(pair in absent for pair in itertools.product(own, beside)):
            raise SpecError(
                f"{where} compares {itemize(beside)} with {against}, and there {shorten(gate.metric)} reads "
                "another label: name the label in the metric"
            )
        yield Rule(
            gate.name or f"{gate.subject} {kind.phrase} {limit}",
            kind.name,
            metrics=own,
            models=beside,
            bound=0.0 if kind.compares else value,
            against=against,
            margin=gate.margin if kind.compares else Margin(),
            absent=absent,
            **given,
        )


def _absent(plan: Plan, against: str | None) -> frozenset[tuple[str, str]]:
    """Return the pairs (metric, model) without a value, or without a value of the model ``against`` to compare with."""
    lacking = {metric for model, metric in plan.absent if model == against}
    pairs = {*plan.absent, *itertools.product(plan.models, lacking)}
    return frozenset((str(metric), model) for model, metric in pairs)


def _directed(kind: GateKind, metrics: tuple[str, ...], gate: Gate, where: str, plan: Plan) -> tuple[str, ...]:
    """Return those ``metrics`` for which higher or lower is better. Raise :class:`SpecError` if no metric is left."""
    better = directions_of(plan)
    directed = tuple(metric for metric in metrics if better[metric] is not None)
    if not directed:
        instead = "history: {sides: both}" if kind.reads_history else "min and max"
        raise SpecError(
            f"{where}.{kind.word} does not apply to {shorten(gate.metric)}, because neither higher nor lower values "
            f"are better: give {instead}"
        )
    return directed


def directions_of(plan: Plan) -> dict[str, bool | None]:
    """Return a mapping from each metric of ``plan`` to whether higher is better (None: neither direction is)."""
    return {str(metric): metric.declaration.higher_is_better for metric in plan.metrics}


def metrics_without_interval(plan: Plan) -> frozenset[str]:
    """Return the metrics of ``plan`` that never have an interval. Gates judge them by their values alone."""
    return frozenset(str(metric) for metric in plan.metrics if metric.declaration.interval == "none")


def _matches(where: str, what: str, pattern: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the ``known`` names that match ``pattern`` (None: all). Raise :class:`SpecError` if none does."""
    names = tuple(name for name in known if pattern is None or matches(name, pattern))
    if not names:
        verb = "matches" if is_pattern(str(pattern)) else "is"
        raise SpecError(f'{where}.{what} "{shorten(pattern)}" {verb} no {what} of this spec{hint(pattern, known, "")}')
    return names


def _slices(gate: Gate, where: str, plan: Plan) -> tuple[tuple[str, ...], ...]:
    if gate.disparity is not None:
        if gate.disparity not in (known := plan.disparities):
            near = hint(gate.disparity, known, "", "it has none")
            raise SpecError(f'{where}.disparity "{shorten(gate.disparity)}" is not in disparities of this spec{near}')
        return ((f"{OF_DISPARITY}{gate.disparity}",),)
    if gate.cells is None:
        return ()
    every = tuple(map(names_of, plan.slices))
    slices = tuple(columns for columns in every if columns_match(gate.cells, columns))
    if not slices:
        names, name = list(map(",".join, every)), ",".join(gate.cells)
        near = hint(name, names, "", "it has none")
        raise SpecError(f'{where}.slice "{shorten(name)}" is not a slice of this spec{near}')
    return slices


def _against(word: str, where: str, plan: Plan, baseline: str | None) -> str:
    against = baseline if word == BASELINE and word not in plan.models else word
    if against is None:
        raise SpecError(f"{where} is {BASELINE}, but the spec has no compare.baseline: add it, or name a model")
    if word not in plan.models and word != BASELINE:
        own = where.rpartition(".")[2]
        special = [kind.value for kind in KINDS.values() if kind.word == own and kind.value is not None]
        known = (BASELINE, *special, *plan.models)
        needed = f"a model, {BASELINE} or {special[0]}" if special else f"a model or {BASELINE}"
        near = did_you_mean(word, known)
        raise SpecError(f'{where} is "{shorten(word)}"{near}: {needed} is needed ({itemize(known)})')
    if baseline is not None and against != baseline:
        raise SpecError(f"{where} is {against}, but models are compared only with compare.baseline, {baseline}")
    return against
