"""The table ``comparisons``: each candidate compared with the baseline on the same groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.slices import ALL
from sparkrank.metrics.subjects import are_pooled, subjects_of
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.numeric.array_types import Ints
from sparkrank.schemas.tables import COMPARISONS
from sparkrank.states.keys import Subject
from sparkrank.stats.corrections import adjusted
from sparkrank.stats.intervals import TOO_FEW, lesser
from sparkrank.stats.power import smallest_detectable
from sparkrank.stats.sequential import LEAST_EVENTS, LEAST_GROUPS, always_valid_p, confidence_sequence, radius
from sparkrank.tables.rows.results import NO_ORIGIN, Origin, subject_columns, table_of
from sparkrank.uncertainty.differences import ComparisonColumns, PairSums, compare_samples
from sparkrank.uncertainty.samples import Samples


def comparisons_table(
    merged: Merged,
    plan: Plan,
    comparison: Comparison,
    origin: Origin = NO_ORIGIN,
    *,
    clustered: bool = False,
    of_candidates: Mapping[str, tuple[Merged, bool]] | None = None,
) -> pa.Table:
    """Return the table ``comparisons``, with a row for each candidate, slice value and metric, in this order.

    ``clustered`` is true if a group may occur on several days, so that the differences in single groups are not
    independent. For each candidate that lacks some of the baseline's days, ``of_candidates`` contains the merged states
    of the common days, and the value of ``clustered`` for these days.
    """
    subjects: list[Subject] = []
    parts: list[list[dict[str, NDArray[Any]]]] = []
    for (own, is_clustered), several in _by_states(merged, plan, of_candidates or {}, clustered=clustered):
        samples = Samples.of(own, subjects_of(own.partials, plan), plan, clustered=is_clustered)
        places = _pairs(samples.subjects, several, comparison)
        subjects += [samples.subjects[place] for place in places[0].tolist()]
        pooled = are_pooled([samples.subjects[place] for place in places[0].tolist()], plan)
        made = (partial(_columns, places=places, plan=plan, metric=metric) for metric in plan.metrics)
        parts.append([samples.by_pooling(pooled, columns_of) for columns_of in made])
    columns = [
        {name: np.concatenate([part[name] for part in own]) for name in own[0]} for own in zip(*parts, strict=True)
    ]
    texts = subject_columns(subjects)
    texts = {"candidate": texts.pop("model"), "baseline": [comparison.baseline] * len(subjects), **texts}
    return _corrected(table_of(COMPARISONS.schema, texts, plan, columns, origin), comparison)


def _by_states(
    merged: Merged, plan: Plan, of_candidates: Mapping[str, tuple[Merged, bool]], *, clustered: bool
) -> Iterator[tuple[tuple[Merged, bool], list[str]]]:
    """Yield, for each run of consecutive candidates with the same states, ``((states, is_clustered), candidates)``."""
    states = [of_candidates.get(candidate, (merged, clustered)) for candidate in plan.models]
    by_states = itertools.groupby(zip(plan.models, states, strict=True), lambda pair: (id(pair[1][0]), pair[1][1]))
    for _, several in by_states:
        candidates, ((own, is_clustered), *_) = zip(*several, strict=True)
        yield (own, is_clustered or plan.cluster is not None), list(candidates)


def _pairs(there: Sequence[Subject], candidates: Sequence[str], comparison: Comparison) -> tuple[Ints, Ints]:
    """Return the indices in ``there`` of the candidates, and of their baselines, for slice values that have both."""
    place_of = {subject: place for place, subject in enumerate(there)}
    compared = set(candidates) - {comparison.baseline}
    pairs = [
        (place, place_of[baseline])
        for place, subject in enumerate(there)
        if subject.model in compared and (baseline := subject._replace(model=comparison.baseline)) in place_of
    ]
    ours, theirs = np.array(pairs, np.int64).reshape(-1, 2).T
    return ours, theirs


def _columns(samples: Samples, places: tuple[Ints, Ints], plan: Plan, metric: Metric) -> dict[str, NDArray[Any]]:
    level, uncertainty = plan.uncertainty.look_level, plan.uncertainty
    pairs = _pair_sums(samples, places, plan, metric)
    comparison = compare_samples(samples, samples, places, metric, level, None if samples.clustered else pairs)
    columns = comparison.columns(level)
    if uncertainty.sequential:
        for place in range(len(places[0])):
            for name, number in _at_all_looks(comparison, place, level, pairs).items():
                columns[name][place] = np.nan if number is None else number
    else:
        columns["p"] = np.where(np.isnan(columns["p"]), np.nan, lesser(1.0, columns["p"] * uncertainty.nights))
    return columns | _wins(pairs, metric, len(places[0]))


def _wins(pairs: PairSums | None, metric: Metric, count: int) -> dict[str, NDArray[Any]]:
    """Return the columns that count wins, ties, losses and unpaired groups: NaN where ``pairs`` has no counts.

    ``count`` is the number of rows. The four counts cannot be computed from sums for parts of the groups.
    """
    none, up = np.full(count, np.nan), metric.declaration.higher_is_better
    columns = {"n_unpaired": none, "wins": none, "ties": none, "losses": none}
    if pairs is not None:
        columns["n_unpaired"] = np.where(pairs.there, pairs.n_unpaired, none)
    if pairs is not None and up is not None:
        counts = (pairs.n_above, pairs.n_equal, pairs.n_below)[:: 1 if up else -1]
        columns |= {
            name: np.where(pairs.there, own, none) for name, own in zip(("wins", "ties", "losses"), counts, strict=True)
        }
    return columns


def _at_all_looks(comparison: ComparisonColumns, place: int, level: float, pairs: PairSums | None) -> dict[str, Any]:
    """Return the columns of row ``place`` to replace for sequential looks at the results, such as one look each night.

    The interval, the p-value and the smallest detectable difference are then valid for all looks together. The three
    are None while there are too few groups.
    """
    stderr, degrees, difference = (
        float(column[place]) for column in (comparison.test.stderr, comparison.test.degrees, comparison.difference)
    )
    groups = float(np.nan_to_num(comparison.n_groups[place]))
    of_one_look: dict[str, Any] = {"relative_low": None, "relative_high": None}
    if math.isnan(stderr):
        return of_one_look
    events = math.inf if pairs is None or not pairs.there[place] else pairs.n_above[place] + pairs.n_below[place]
    if groups < LEAST_GROUPS or events < LEAST_EVENTS:
        numbers = dict.fromkeys(("stderr", "ci_low", "ci_high", "degrees", "p", "smallest_detectable"))
        return {**of_one_look, **numbers, "interval": TOO_FEW.method}
    interval = confidence_sequence(difference, stderr, groups, level)
    half = radius(stderr, groups, level)
    return {
        **of_one_look,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "interval": interval.method,
        "p": always_valid_p(difference, stderr, groups, level),
        "smallest_detectable": smallest_detectable(stderr, degrees, level, half=half),
    }


def _pair_sums(samples: Samples, places: tuple[Ints, Ints], plan: Plan, metric: Metric) -> PairSums | None:
    """Return the sums over groups that candidate and baseline share; None if the states have no such sums."""
    baselines = {samples.subjects[place].model for place in places[1].tolist()}
    if plan.compare is None or baselines != {plan.compare.baseline} or metric not in plan.paired_metrics:
        return None
    subjects = [samples.subjects[place] for place in places[0].tolist()]
    there, numbers = samples.merged.partials.parts.pairs.of_each(subjects, metric)
    return PairSums.of(there, numbers) if there.any() else None


def _corrected(table: pa.Table, comparison: Comparison) -> pa.Table:
    """Return ``table`` with the columns ``p_adjusted``, ``correction`` and ``family`` filled in."""
    families = _families(table, comparison).dictionary_encode()
    p, family = table["p"].to_numpy(), families.indices.to_numpy()
    values, order = np.full(len(p), np.nan), np.argsort(family, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(family[order])) + 1):
        values[own] = adjusted(p[own], comparison.correction)
    columns = {
        "p_adjusted": pa.array(values, from_pandas=True),
        "correction": pa.repeat(pa.scalar(comparison.correction, pa.string()), len(p)),
        "family": families.dictionary.take(families.indices),
    }
    for name, column in columns.items():
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), column)
    return table


def _families(table: pa.Table, comparison: Comparison) -> pa.Array:
    """Return an array with the name of the family of p-values to which each row of ``table`` belongs."""
    texts = {name: pc.fill_null(table[name].combine_chunks(), "None") for name in ("slice", "slice_value")}
    if comparison.family == "slice_column":
        named = pc.binary_join_element_wise("slice", texts["slice"], " ")
        return pc.if_else(pc.equal(texts["slice"], ALL), "whole day", named)
    if comparison.family == "slice":
        value = pc.binary_join_element_wise(*texts.values(), "=")
        return pc.binary_join_element_wise("slice", value, " ")
    named = table[comparison.family].combine_chunks()
    return pc.binary_join_element_wise(comparison.family, named, " ")
