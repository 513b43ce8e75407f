"""What a merge asks of the states of a day: the rows that its plan needs, or why the day cannot give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import StateError, listed, shortened
from sparkrank.engines.spark.session_settings import without_session
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import Needed
from sparkrank.metrics.slices import ALL, slice_name
from sparkrank.numeric.array_types import Flags, Ints
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
from sparkrank.tables.rows.states import needed_states

OF_PARTS = (PART_MEAN_FORM.kind, PART_SUM_FORM.kind, PARTS_KIND)


@dataclass(frozen=True)
class DayCoverage:
    """Which of the models and slices asked for a ``day`` has, with its rows and groups evaluated.

    ``session`` is what reading its rows depended on in a Spark session.
    """

    day: str
    models: frozenset[str]
    slices: frozenset[str]
    rows: int
    groups: int
    session: Mapping[str, str] = field(default_factory=dict)


def required_states(states: pa.Table, day: str, plan: Plan, source: str) -> tuple[pa.Table, DayCoverage]:
    """The rows of a day's ``states`` that ``plan`` asks for, and the counts; and what of it the day has.

    Raises :class:`StateError`, naming the day, where states are of another version, source or definition, or where a
    metric has none for some model and slice that the day has.
    """
    if plan.has_parts or plan.compare is not None or not _is_of(states, WITHOUT_PARTS):
        advice = " (or merge without intervals: uncertainty.off: true)" if _is_of(states, WITHOUT_PARTS) else ""
        _validate_same(states, day, "version", VERSION, "this sparkrank reads version", advice)
    _validate_same(states, day, "source", source, "the spec asks for")
    needed = list({(need.kind, need.name): need for need in needed_states(plan)}.values())
    kinds, kind = _encoded(states["kind"])
    names, name = _encoded(states["name"])
    models, model = _encoded(states["model"])
    slices, of = _encoded(states["slice"])
    numbers = np.full((len(kinds), len(names)), -1)
    for index, need in enumerate(needed):
        if need.kind in kinds and need.name in names:
            numbers[kinds.index(need.kind), names.index(need.name)] = index
    place = _places(models, plan.models)[model]
    slice_place = _places(slices, asked_slices(plan))[of]
    number = numbers[kind, name]
    asked = (number >= 0) & (place >= 0) & (slice_place >= 0)
    counted = np.array([each == COUNT_FORM.kind for each in kinds], np.bool_)[kind]
    there = [np.unique(of_states[~counted]) for of_states in (place, slice_place)]
    models_there, slices_there = (found[found >= 0] for found in there)
    slices_there = np.union1d(slices_there, [0])  # the whole day must be there
    if not len(models_there):
        raise StateError(
            f"{day} has none of the models asked for ({listed(plan.models)}): evaluate that day again, or leave it out"
        )
    seen = np.zeros((len(asked_slices(plan)), len(needed), len(plan.models)), np.bool_)
    seen[slice_place[asked], number[asked], place[asked]] = True
    compared = [plan.model_compared_with.get(need.name) for need in needed]
    there_to_compare = {None, *(plan.models[index] for index in models_there)}
    seen[:, [each not in there_to_compare for each in compared]] = True  # no day has states of what it cannot compare
    seen[:, [need.optional for need in needed]] = True
    of_parts = np.array([need.kind in OF_PARTS for need in needed], np.bool_)
    for place_of_slice, each in enumerate(asked_slices(plan)):
        seen[place_of_slice, of_parts] |= not plan.parted_slices(each)
    seen[:, [need.optional for need in needed]] = True
    if plan.compare is not None:
        pairs = np.array([need.kind == PAIR_FORM.kind for need in needed], np.bool_)
        baseline = plan.models.index(plan.compare.baseline)
        seen[:, pairs, baseline] = True
        seen[:, pairs] |= baseline not in models_there
    _validate_complete(day, plan, needed, seen, slices_there, models_there)
    _validate_definitions(states, day, needed, np.where(asked, number, -1))
    of_all_models = np.array([each == "" for each in models], np.bool_)[model]
    covered = DayCoverage(
        day,
        frozenset(plan.models[index] for index in models_there),
        frozenset(asked_slices(plan)[index] for index in slices_there),
        _count(states, counted, names, name, checks.ROWS_EVALUATED),
        _count(states, counted, names, name, checks.GROUPS),
        without_session(pc.unique(states["source"])[0].as_py())[1],
    )
    return states.filter(pa.array(asked | (counted & (of_all_models | (place >= 0))))), covered


def _is_of(states: pa.Table, version: int) -> bool:
    """Whether all ``states`` are of the ``version``."""
    return bool(pc.unique(states["version"]).to_pylist() == [version])


def asked_slices(plan: Plan) -> list[str]:
    """The slices whose states ``plan`` asks for, the whole day first."""
    return [ALL, *map(slice_name, plan.slices)]


def _count(states: pa.Table, counted: Flags, names: Sequence[str], name: Ints, check: str) -> int:
    """What a day counts as ``check``, of all models together."""
    of_check = counted & np.array([each == check for each in names], np.bool_)[name]
    return int(pc.sum(states["count"].filter(pa.array(of_check))).as_py() or 0)


def _places(found: Sequence[str], asked: Sequence[str]) -> Ints:
    """The place among those ``asked`` of each text that was ``found``, -1 where it is none of them."""
    return np.array([asked.index(each) if each in asked else -1 for each in found], np.int64)


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct texts of a column, and the place of each row's text among them."""
    found = column.combine_chunks()
    encoded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def _validate_same(states: pa.Table, day: str, what: str, expected: int | str, reader: str, advice: str = "") -> None:
    for stored in pc.unique(states[what]).to_pylist():
        found = without_session(stored)[0] if what == "source" else stored
        if found != expected:
            raise StateError(
                f"the states of {day} are of {what} {shortened(found)}, and {reader} {shortened(expected)}: evaluate "
                f"that day again{advice}"
            )


def _validate_complete(day: str, plan: Plan, needed: Sequence[Needed], seen: Flags, slices: Ints, models: Ints) -> None:
    """Every metric must have states for every one of the ``models`` and ``slices`` that the day has.

    One value of a slice is enough; a value that it has on other days only is no gap. ``seen`` (slices, needed, models)
    says which states there are.
    """
    missing = np.argwhere(~seen[np.ix_(slices, np.arange(len(needed)), models)])
    if len(missing):
        of, first, model = missing[0]
        need, name = needed[first], asked_slices(plan)[slices[of]]
        also = " with output.blocks: true" if need.kind == BLOCKS_KIND else ""
        whose, left_out = f"{need.metric} for the model {plan.models[models[model]]}", f"{need.metric} out of metrics"
        if name != ALL:
            whose, left_out = f"{whose} by {name}", f"{name} out of slices"
        raise StateError(
            f"{day} has no {need.kind} state of {whose}: evaluate that day again{also}, or leave {left_out}"
        )


def _validate_definitions(states: pa.Table, day: str, needed: Sequence[Needed], number: Ints) -> None:
    definitions, found = _encoded(states["definition"])
    expected = [definitions.index(need.definition) if need.definition in definitions else -1 for need in needed]
    other = np.flatnonzero((number >= 0) & (np.append(expected, -1)[number] != found))
    if len(other):
        need = needed[number[other[0]]]
        raise StateError(
            f'{shortened(need.metric)} of {day} was evaluated as "{shortened(definitions[found[other[0]]])}", and the '
            f'spec asks for "{shortened(need.definition)}": evaluate that day again, or ask for what it holds'
        )
