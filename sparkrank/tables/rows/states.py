"""The table ``states`` of a day, from which days are merged without reading the impressions again.

Every row records the meaning of its numbers: the ``version`` of the format, the ``definition`` of the metric and the
evaluation, and the ``source`` of the rows. A merge refuses a day if one of the three differs from the value of the
merge (:mod:`sparkrank.tables.stored.required_states`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.engines.result import ExactBins
from sparkrank.metrics import Plan
from sparkrank.metrics.merged import kind_of
from sparkrank.metrics.needs import Needed
from sparkrank.metrics.position_sums import needed_positions
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.subjects import slices_of
from sparkrank.numeric.text_arrays import encoded_column
from sparkrank.schemas.tables import PART, RUN_ID, STATES
from sparkrank.states import Partials
from sparkrank.states.forms import (
    BLOCKS_KIND,
    DISTRIBUTION_FORM,
    ITEM_FORM,
    PARTS_KIND,
    SMALL_FORMS,
    STATE_KEY,
    VERSION,
)
from sparkrank.states.keys import StateKey
from sparkrank.states.popularity import POPULARITY_COUNTS

SLICE_RULE = "; slice "  # separates a definition from the rule of a slice
_NO_ROWS = STATES.schema.empty_table()  # made once, because Arrow makes an array for each column


def needed_states(plan: Plan) -> Iterator[Needed]:
    """Yield the states that the metrics and the table ``positions`` of ``plan`` need, some of them repeatedly."""
    for metric in plan.metrics:
        yield from kind_of(metric).needed(metric, plan)
    yield from needed_positions(plan)


def states_table(
    partials: Partials,
    plan: Plan,
    source: str,
    *,
    blocks: bool,
    exact: ExactBins | None = None,
    run_id: str | None = None,
) -> pa.Table:
    """Return the table ``states``, sorted by kind and key. ``blocks`` is true if the table ``blocks`` is written."""
    definitions = {(need.kind, need.name): need.definition for need in needed_states(plan)}
    definitions[ITEM_FORM.kind, POPULARITY_COUNTS] = plan.popularity_definition
    small = ((form, form.to_table(partials)) for form in SMALL_FORMS)
    parts = [(form.kind, rows) for form, rows in small if rows.num_rows or not form.is_of_parts]
    large: dict[str, Iterable[tuple[StateKey, int]]] = {
        DISTRIBUTION_FORM.kind: ((key, len(state.histogram.bins)) for key, state in partials.distributions.items()),
        ITEM_FORM.kind: _item_counts(partials, plan).items(),
    }
    if blocks:
        sizes = {series: len(state.bins) for series, state in partials.blocks.items()}
        sizes |= {} if exact is None else exact.sizes
        large[BLOCKS_KIND] = ((StateKey(*series[:3], str(series.rule)), size) for series, size in sizes.items())
    if plan.has_parts and plan.part_bins:
        large[PARTS_KIND] = _bins_of_parts(partials, plan).items()
    parts += [(kind, _sizes(sizes)) for kind, sizes in large.items()]
    tables = []
    for kind, unordered in parts:
        if not unordered.num_rows:
            continue
        key = (*STATE_KEY, PART.name) if PART.name in unordered.column_names else STATE_KEY
        rows = unordered.take(_order(unordered, key))
        names = encoded_column(rows["name"])
        meant = [definitions.get((kind, name), plan.settings) for name in names.dictionary.to_pylist()]
        definition = pa.array(meant, pa.string()).take(names.indices)
        columns = {
            "kind": pa.repeat(pa.scalar(kind), rows.num_rows),
            "version": pa.repeat(pa.scalar(VERSION), rows.num_rows),
            "definition": _with_rules(definition, rows["slice"], plan),
            "source": pa.repeat(pa.scalar(source), rows.num_rows),
            RUN_ID: pa.repeat(pa.scalar(run_id, pa.string()), rows.num_rows),
        }
        names_of_columns = [*columns, *rows.column_names]
        tables.append(pa.Table.from_arrays([*columns.values(), *rows.columns], names_of_columns))
    return pa.concat_tables([_NO_ROWS, *tables], promote_options="default")


def _with_rules(definition: pa.Array, slices: pa.ChunkedArray, plan: Plan) -> pa.Array:
    """Return the definition of each state, with the rule of its slice if the slice has one."""
    for name, rule in plan.slice_rules.items():
        ruled = pc.binary_join_element_wise(definition, rule, SLICE_RULE)
        definition = pc.if_else(pc.equal(slices, name).combine_chunks(), ruled, definition)
    return definition


def _order(rows: pa.Table, key: Sequence[str]) -> pa.Array:
    """Return the indices that sort ``rows`` by the columns ``key`` in Arrow's order. Compares only distinct strings."""
    code = np.zeros(rows.num_rows, np.int64)
    for name in key:
        encoded = rows[name].combine_chunks().dictionary_encode()
        if len(encoded.dictionary) + bool(encoded.null_count) < 2:
            continue  # the value is the same in all rows
        place = np.empty(len(encoded.dictionary) + 1, np.int64)
        place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary))
        place[-1] = len(encoded.dictionary)  # nulls are last
        code = code * len(place) + place[encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()]
    return pa.array(np.argsort(code, kind="stable"))


def with_run_id(tables: Mapping[str, Any], run_id: str | None) -> dict[str, Any]:
    """Return ``tables`` with the run's ID in the metadata of each table that is merged along with ``states``."""
    named = {RUN_ID: str(run_id)}
    return {
        name: table.replace_schema_metadata({**(table.schema.metadata or {}), **named})
        if name in (BLOCKS_KIND, DISTRIBUTION_FORM.kind, ITEM_FORM.kind, PARTS_KIND) and isinstance(table, pa.Table)
        else table
        for name, table in tables.items()
    }


def _item_counts(partials: Partials, plan: Plan) -> dict[StateKey, int]:
    """Return the number of items for each model, slice value and exposure metric of ``plan``, including zeros."""
    values, exposures = slices_of(partials, plan), (*plan.exposures, *plan.value_exposures)
    keys = [*itertools.product(plan.models, values, map(str, exposures))]
    keys += itertools.product(plan.models, values, (exposure.of_target(table) for exposure, table in plan.item_targets))
    keys += [("", (ALL, ALL), POPULARITY_COUNTS)] if plan.stores_popularity else []
    parted = [value for value in values if plan.parted_slices(value[0])]
    keys += itertools.product(plan.models, parted, (exposure.by_part for exposure in plan.value_exposures))
    return {StateKey(model, *value, name): 0 for model, value, name in keys} | dict(partials.items.sizes())


def _bins_of_parts(partials: Partials, plan: Plan) -> dict[StateKey, int]:
    """Return the number of score bins, over all parts, for each model, slice value and coarse rule, including zeros."""
    values = [value for value in slices_of(partials, plan) if plan.parted_slices(value[0])]
    keys = itertools.product(plan.models, values, plan.part_bins)
    sizes = {StateKey(model, *value, name): 0 for model, value, name in keys}
    for series, bins in partials.parts.histograms.by_series.items():
        for value, count in zip(bins.values, np.bincount(bins.value, minlength=len(bins.values)).tolist(), strict=True):
            sizes[StateKey(series.model, series.slice, value, series.name)] = count
    return sizes


def _sizes(sizes: Iterable[tuple[StateKey, int]]) -> pa.Table:
    """Return a table with a row for each state key in ``sizes`` and its size in the column ``n_blocks``."""
    schema = pa.schema([*((name, pa.string()) for name in STATE_KEY), ("n_blocks", pa.int64())])
    columns = list(zip(*((*key, size) for key, size in sizes), strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
