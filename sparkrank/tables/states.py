"""The states of a day as tables: what merging needs, so that no impression is read again.

Beside its numbers every row of ``states`` names what they mean: the ``version`` of the stored numbers, the
``definition`` of the metric and of the evaluation, and the ``source`` (which columns make a group and a label, under
which condition). Where one of them is not what a merge asks for, the day is refused with both named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.engine.result import ExactBlocks
from sparkrank.errors import StateError
from sparkrank.kernels.order import Ints
from sparkrank.metrics import Plan
from sparkrank.metrics.declaration import BlockMetric, DayMetric, GroupMetric, ListMetric
from sparkrank.metrics.plan import ROWS_AND_WEIGHT, Exposure
from sparkrank.ranked import ALL
from sparkrank.states import Partials
from sparkrank.states.stored import BLOCKS, COUNTS, DISTRIBUTIONS, ITEMS, KEY, MEANS, SMALL, SUMS, VERSION

# A row for every series of score blocks, and for every distribution, says how many rows it has in its own table: none
# is not the same as not written.
N_BLOCKS = pa.schema([("n_blocks", pa.int64())])
STATES = pa.schema(
    [
        ("kind", pa.string()),
        ("version", pa.int64()),
        ("definition", pa.string()),
        ("source", pa.string()),
        *((name, pa.string()) for name in KEY),
        *(field for numbers in (*(form.numbers for form in SMALL), N_BLOCKS) for field in numbers),
    ]
)


@dataclass(frozen=True)
class Needed:
    """A state that a metric of the plan is computed from: rows of ``kind`` and ``name`` with this ``definition``."""

    kind: str
    name: str
    metric: str
    definition: str


def needed_states(plan: Plan) -> Iterator[Needed]:
    """The states that the metrics of ``plan`` are computed from."""
    for metric in plan.metrics:
        of_groups = metric.of_groups
        declaration = metric.declaration
        if isinstance(declaration, GroupMetric):
            yield Needed(MEANS.kind, str(of_groups), str(metric), plan.definition(of_groups))
        if metric.percentile is not None:
            yield Needed(DISTRIBUTIONS.kind, str(of_groups), str(metric), plan.definition(of_groups))
        if isinstance(declaration, ListMetric):
            exposure = str(Exposure.of(metric))
            yield Needed(ITEMS.kind, exposure, str(metric), f"{exposure}; {plan.definitions}")
        if isinstance(declaration, BlockMetric):
            rule = str(declaration.rule(metric))
            yield Needed(BLOCKS, rule, str(metric), f"{rule}; {plan.definitions}")
        read = declaration.sums(metric) if isinstance(declaration, DayMetric) else ()
        for quantity in (*read, *ROWS_AND_WEIGHT) if read else ():
            yield Needed(SUMS.kind, str(quantity), str(metric), f"{quantity}; {plan.definitions}")


def states_table(
    partials: Partials, plan: Plan, source: str, *, blocks: bool, exact: ExactBlocks | None = None
) -> pa.Table:
    """The rows of ``states`` by kind and key; ``blocks`` says whether the table ``blocks`` is written beside it."""
    definitions = {(need.kind, need.name): need.definition for need in needed_states(plan)}
    parts = [(form.kind, form.to_table(partials)) for form in SMALL]
    large: dict[str, Iterable[tuple[tuple[str, str, str, str], int]]] = {
        DISTRIBUTIONS.kind: ((key, len(each.blocks.block)) for key, each in partials.distributions.items()),
        ITEMS.kind: partials.items.sizes(),
    }
    if blocks:
        sizes = {series: len(each.block) for series, each in partials.blocks.items()}
        sizes |= {} if exact is None else exact.sizes
        large[BLOCKS] = (((*series[:3], str(series.rule)), size) for series, size in sizes.items())
    parts += [(kind, _sizes(sizes)) for kind, sizes in large.items()]
    tables = []
    for kind, unordered in parts:
        rows = unordered.sort_by([(column, "ascending") for column in KEY])
        names = rows["name"].combine_chunks().dictionary_encode()
        meant = [definitions.get((kind, name), str(plan.definitions)) for name in names.dictionary.to_pylist()]
        columns = {
            "kind": pa.repeat(pa.scalar(kind), rows.num_rows),
            "version": pa.repeat(pa.scalar(VERSION), rows.num_rows),
            "definition": pa.array(meant, pa.string()).take(names.indices),
            "source": pa.repeat(pa.scalar(source), rows.num_rows),
        }
        tables.append(pa.table({**columns, **dict(zip(rows.column_names, rows.columns, strict=True))}))
    return pa.concat_tables([STATES.empty_table(), *tables], promote_options="default")


def _sizes(sizes: Iterable[tuple[tuple[str, str, str, str], int]]) -> pa.Table:
    """How many rows each state has in its own table."""
    rows = [(*key, size) for key, size in sizes]
    columns = list(zip(*rows, strict=True)) or [()] * (len(KEY) + 1)
    types = [pa.string()] * len(KEY) + [pa.int64()]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, types, strict=True)], [*KEY, "n_blocks"])


def asked_of(states: pa.Table, day: str, plan: Plan, source: str) -> pa.Table:
    """The rows of a day's ``states`` that ``plan`` asks for, and the counts.

    Raises :class:`StateError`, naming the day, where states are of another version, source or definition, or where a
    metric has none for some model.
    """
    _refuse_other(states, day, "version", VERSION, "this sparkrank reads version")
    _refuse_other(states, day, "source", source, "the spec asks for")
    needed = list({(need.kind, need.name): need for need in needed_states(plan)}.values())
    kinds, kind = _encoded(states["kind"])
    names, name = _encoded(states["name"])
    models, model = _encoded(states["model"])
    numbers = np.full((len(kinds), len(names)), -1)
    for index, need in enumerate(needed):
        if need.kind in kinds and need.name in names:
            numbers[kinds.index(need.kind), names.index(need.name)] = index
    places = np.array([plan.models.index(each) if each in plan.models else -1 for each in models], np.int64)
    number, place = numbers[kind, name], places[model]
    asked = (number >= 0) & (place >= 0)
    _refuse_missing(states, day, plan, needed, np.where(asked, number, -1), place)
    _refuse_other_definitions(states, day, needed, np.where(asked, number, -1))
    of_all_models = np.array([each == "" for each in models], np.bool_)[model]
    counted = np.array([each == COUNTS.kind for each in kinds], np.bool_)[kind]
    return states.filter(pa.array(asked | (counted & (of_all_models | (place >= 0)))))


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct texts of a column, and the place of each row's text among them."""
    found = column.combine_chunks()
    encoded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def _refuse_other(states: pa.Table, day: str, what: str, expected: int | str, reader: str) -> None:
    for found in pc.unique(states[what]).to_pylist():
        if found != expected:
            raise StateError(
                f"the states of {day} are of {what} {found}, and {reader} {expected}: evaluate that day again"
            )


def _refuse_missing(
    states: pa.Table, day: str, plan: Plan, needed: Sequence[Needed], number: Ints, place: Ints
) -> None:
    """Every metric must have a state of the whole day for every model; ``number`` and ``place`` say whose a row is."""
    whole = pc.and_(pc.equal(states["slice"], ALL), pc.equal(states["slice_value"], ALL))
    of_the_day = whole.combine_chunks().to_numpy(zero_copy_only=False) & (number >= 0)
    seen = np.zeros((len(needed), len(plan.models)), np.bool_)
    seen[number[of_the_day], place[of_the_day]] = True
    if not seen.all():
        first, model = np.argwhere(~seen)[0]
        need = needed[first]
        also = " with output.blocks: true" if need.kind == BLOCKS else ""
        raise StateError(
            f"{day} has no {need.kind} state of {need.metric} for the model {plan.models[model]}: evaluate that day "
            f"again{also}, or leave {need.metric} out of metrics"
        )


def _refuse_other_definitions(states: pa.Table, day: str, needed: Sequence[Needed], number: Ints) -> None:
    definitions, found = _encoded(states["definition"])
    expected = [definitions.index(need.definition) if need.definition in definitions else -1 for need in needed]
    other = np.flatnonzero((number >= 0) & (np.append(expected, -1)[number] != found))
    if len(other):
        need = needed[number[other[0]]]
        raise StateError(
            f'{need.metric} of {day} was evaluated as "{definitions[found[other[0]]]}", and the spec asks for '
            f'"{need.definition}": evaluate that day again, or ask for what it holds'
        )
