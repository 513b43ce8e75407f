"""The states of a day that a merge needs, checked to be present and comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import StateError, itemize, shorten
from sparkrank.engines.spark.session_settings import without_session
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import Needed
from sparkrank.metrics.position_sums import OF_POSITIONS
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.numeric.array_types import Flags, Ints
from sparkrank.numeric.text_arrays import encoded_column
from sparkrank.states.forms import (
    BLOCKS_KIND,
    COUNT_FORM,
    PAIR_FORM,
    PART_MEAN_FORM,
    PART_SUM_FORM,
    PARTS_KIND,
    VERSION,
    WITHOUT_PARTS,
)
from sparkrank.tables.rows.states import SLICE_RULE, needed_states

OF_PARTS = (PART_MEAN_FORM.kind, PART_SUM_FORM.kind, PARTS_KIND)


@dataclass(frozen=True)
class DayCoverage:
    """The models and slices of a plan with states of a ``day``, and the numbers of evaluated rows and groups.

    ``session`` maps the names of the Spark settings with which the day's rows were read to their values.
    """

    day: str
    models: frozenset[str]
    slices: frozenset[str]
    rows: int
    groups: int
    session: Mapping[str, str] = field(default_factory=dict)


def required_states(states: pa.Table, day: str, plan: Plan, source: str) -> tuple[pa.Table, DayCoverage]:
    """Return the rows of a day's ``states`` that ``plan`` needs, with all counts of rows and groups.

    The :class:`DayCoverage` contains the models and slices with states.

    Raise :class:`StateError` if the version, source or definition of states differs, or if a metric has no states.
    """
    if plan.has_parts or plan.compare is not None or not _is_of(states, WITHOUT_PARTS):
        advice = " (or merge without intervals: uncertainty.off: true)" if _is_of(states, WITHOUT_PARTS) else ""
        _validate_same(states, day, "version", VERSION, "this sparkrank reads version", advice)
    _validate_same(states, day, "source", source, "the spec asks for")
    needs = list(needed_states(plan))
    needed = list({(need.kind, need.name): need for need in needs}.values())
    kinds, kind = _encoded(states["kind"])
    names, name = _encoded(states["name"])
    models, model = _encoded(states["model"])
    slices, slice_code = _encoded(states["slice"])
    numbers = np.full((len(kinds), len(names)), -1)
    for index, need in enumerate(needed):
        if need.kind in kinds and need.name in names:
            numbers[kinds.index(need.kind), names.index(need.name)] = index
    place = _places(models, plan.models)[model]
    slice_place = _places(slices, needed_slices(plan))[slice_code]
    number = numbers[kind, name]
    is_read = (number >= 0) & (place >= 0) & (slice_place >= 0)
    counted = np.array([text == COUNT_FORM.kind for text in kinds], np.bool_)[kind]
    there = [np.unique(of_states[~counted]) for of_states in (place, slice_place)]
    models_there, slices_there = (places[places >= 0] for places in there)
    slices_there = np.union1d(slices_there, [0])  # the whole day is always required
    if not len(models_there):
        raise StateError(
            f"{day} has none of the requested models ({itemize(plan.models)}): evaluate that day again, or leave it out"
        )
    seen = np.zeros((len(needed_slices(plan)), len(needed), len(plan.models)), np.bool_)
    seen[slice_place[is_read], number[is_read], place[is_read]] = True
    compared = [plan.model_compared_with.get(need.name) for need in needed]
    there_to_compare = {None, *(plan.models[index] for index in models_there)}
    # A comparison needs no states if its other model is missing.
    seen[:, [model not in there_to_compare for model in compared]] = True
    of_parts = np.array([need.kind in OF_PARTS for need in needed], np.bool_)
    for index, name_of_slice in enumerate(needed_slices(plan)):
        seen[index, of_parts] |= not plan.parted_slices(name_of_slice)
    seen[:, [need.optional for need in needed]] = True
    seen[:, ~_is_needed(needs, needed, plan)] = True
    if plan.compare is not None:
        pairs = np.array([need.kind == PAIR_FORM.kind for need in needed], np.bool_)
        baseline = plan.models.index(plan.compare.baseline)
        seen[:, pairs, baseline] = True
        seen[:, pairs] |= baseline not in models_there
    _validate_complete(day, plan, needed, seen, slices_there, models_there)
    own_states = states.filter(pa.array(is_read))
    for slice_ in plan.slices:
        _validate_slice_rule(own_states, day, slice_name(slice_), plan)
    _validate_definitions(states, day, needed, np.where(is_read, number, -1))
    of_all_models = np.array([text == "" for text in models], np.bool_)[model]
    counts = states.filter(pa.array(counted))
    covered = DayCoverage(
        day,
        frozenset(plan.models[index] for index in models_there),
        frozenset(needed_slices(plan)[index] for index in slices_there),
        _count(counts, checks.ROWS_EVALUATED),
        _count(counts, checks.GROUPS),
        without_session(pc.unique(states["source"])[0].as_py())[1],
    )
    return states.filter(pa.array(is_read | (counted & (of_all_models | (place >= 0))))), covered


def _is_needed(needs: Sequence[Needed], needed: Sequence[Needed], plan: Plan) -> Flags:
    """Return flags of shape (needed, models): whether some metric of the model needs the state.

    A pair of models has states for the metrics of both.
    """
    absent = {(model, str(metric)) for model, metric in plan.absent}
    places = {(need.kind, need.name): place for place, need in enumerate(needed)}
    flags = np.zeros((len(needed), len(plan.models)), np.bool_)
    for need in needs:
        beside = [plan.compare.baseline] if plan.compare is not None and need.kind == PAIR_FORM.kind else []
        has = [absent.isdisjoint((own, need.metric) for own in (model, *beside)) for model in plan.models]
        flags[places[need.kind, need.name]] |= np.array(has, np.bool_)
    return flags


def _is_of(states: pa.Table, version: int) -> bool:
    return bool(pc.unique(states["version"]).to_pylist() == [version])


def needed_slices(plan: Plan) -> list[str]:
    """Return the names of the slices whose states ``plan`` needs. The first is the whole day."""
    return [ALL, *map(slice_name, plan.slices)]


def _count(counts: pa.Table, check: str) -> int:
    return int(pc.sum(counts["count"].filter(pc.equal(counts["name"], check))).as_py() or 0)


def _places(texts: Sequence[str], known: Sequence[str]) -> Ints:
    """Return the index in ``known`` of each string in ``texts``, or -1 for a string that is not in ``known``."""
    return np.array([known.index(text) if text in known else -1 for text in texts], np.int64)


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """Return the distinct strings of a column, and for each row the index of its string among them."""
    encoded = encoded_column(column)
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def _validate_same(states: pa.Table, day: str, what: str, expected: int | str, reader: str, advice: str = "") -> None:
    for stored in pc.unique(states[what]).to_pylist():
        value = without_session(stored)[0] if what == "source" else stored
        if value != expected:
            raise StateError(
                f"the states of {day} are of {what} {shorten(value)}, and {reader} {shorten(expected)}: evaluate "
                f"that day again{advice}"
            )


def _validate_complete(day: str, plan: Plan, needed: Sequence[Needed], seen: Flags, slices: Ints, models: Ints) -> None:
    """Raise :class:`StateError` if a model or slice of the day lacks a state in ``needed``.

    ``seen`` says which states the day has, with the shape (slices, needed, models). ``slices`` and ``models`` are the
    indices of the slices and models that the day covers.
    """
    missing = np.argwhere(~seen[np.ix_(slices, np.arange(len(needed)), models)])
    if len(missing):
        place, first, model = missing[0]
        need, name = needed[first], needed_slices(plan)[slices[place]]
        also = " with output.blocks: true" if need.kind == BLOCKS_KIND else ""
        whose, left_out = f"{need.metric} for the model {plan.models[models[model]]}", f"{need.metric} out of metrics"
        left_out = (
            "output.positions out, or ask for as few as that day has" if need.metric == OF_POSITIONS else left_out
        )
        if name != ALL:
            whose, left_out = f"{whose} by {name}", f"{name} out of slices"
        raise StateError(
            f"{day} has no {need.kind} state of {whose}: evaluate that day again{also}, or leave {left_out}"
        )


def _validate_slice_rule(states: pa.Table, day: str, name: str, plan: Plan) -> None:
    """Raise :class:`StateError` if the values of a slice meant something else when the day was evaluated."""
    expected = plan.slice_rules.get(name, "")
    for definition in pc.unique(states["definition"].filter(pc.equal(states["slice"], name))).to_pylist():
        stored = definition.partition(SLICE_RULE)[2]
        if stored != expected:
            was, wanted = (rule or "the values of the column" for rule in (stored, expected))
            raise StateError(
                f"the slice {shorten(name)} of {day} is {shorten(was)}, and the spec asks for {shorten(wanted)}: "
                f"evaluate that day again, or leave {shorten(name)} out of slices"
            )


def _validate_definitions(states: pa.Table, day: str, needed: Sequence[Needed], number: Ints) -> None:
    definitions, code = _encoded(states["definition"])
    plain = [definition.partition(SLICE_RULE)[0] for definition in definitions]
    code = np.array([plain.index(definition) for definition in plain], np.int64)[code]
    expected = [plain.index(need.definition) if need.definition in plain else -1 for need in needed]
    other = np.flatnonzero((number >= 0) & (np.append(expected, -1)[number] != code))
    if len(other):
        need = needed[number[other[0]]]
        raise StateError(
            f'{shorten(need.metric)} of {day} was evaluated as "{shorten(plain[code[other[0]]])}", and the '
            f'spec asks for "{shorten(need.definition)}": evaluate that day again, or request what is stored'
        )
