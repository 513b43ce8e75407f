"""The parts of a bucket's groups, and the states of each: by the hash of the group key, the same on every day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sparkrank.bucket.grouping import Groups, keys_of
from sparkrank.bucket.impressions import one_array
from sparkrank.bucket.ranked import RankedModel
from sparkrank.bucket.slicing import Slice
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import GROUPS
from sparkrank.numeric.array_types import Codes, Floats
from sparkrank.numeric.exact_sums import LIMBS, sums_with_squares
from sparkrank.numeric.key_hashes import PARTS, hash_keys, parts_of
from sparkrank.numeric.segments import Segments
from sparkrank.states.part_bins import PartBins, PartHistograms, PartSeries
from sparkrank.states.part_states import PAIR_COUNTS, PartStates
from sparkrank.states.part_sums import Measure, PartSums, parts_of_slice

TIED = 2.0**-40  # differences of values that rounding makes: more than the error of a million terms of 1


def group_parts(rows: pa.Table, groups: Groups) -> Codes:
    """The part of each of the ``groups`` of ``rows`` (groups)."""
    return parts_of(hash_keys([one_array(column) for column in keys_of(rows, groups).columns]))


def part_states(sliced: Sequence[tuple[Slice, Codes, Sequence[RankedModel]]], plan: Plan) -> PartStates:
    """The states of parts, and of pairs of models, of each slice with the part of each of its groups and its models."""
    means, sums, pairs = {}, {}, {}
    histograms: dict[PartSeries, PartBins] = {}
    for of, part_of_group, models in sliced:
        if plan.compare is not None:
            pairs[of.name] = (*of.values,), _pairs(of, models, plan.compare.baseline)
        if not plan.parted_slices(of.name):
            continue
        parted, values, parts = _parted(of, part_of_group), (*of.values,), parts_of_slice(of.name)
        if plan.parted_metrics:
            means[of.name] = values, _by_part([model.part_means(parted) for model in models], parts)
        sums[of.name] = values, _by_part([model.part_sums(parted) for model in models], parts)
        for model in models:
            for rule, counted in model.part_bins(parted):
                histograms[PartSeries(model.name, of.name, rule)] = PartBins.of(values, parts, counted)
    averaged, added = [*map(str, plan.parted_metrics)], [GROUPS, *map(str, plan.row_sums)]
    return PartStates(
        PartSums(tuple(Measure(model, name) for model in plan.models for name in averaged), means),
        PartSums(tuple(Measure(model, name) for model in plan.models for name in added), sums),
        PartHistograms(histograms),
        PartSums(tuple(_measures_of_pairs(plan)), pairs),
    )


def _parted(of: Slice, parts: Codes) -> Slice:
    """``of`` with a segment for every part of every value: those of a value follow each other."""
    count = parts_of_slice(of.name)
    part = parts // (PARTS // count)
    code = part if of.segments.code is None else of.segments.code * np.int32(count) + part
    return Slice(of.name, of.values, Segments(len(of.values) * count, code.astype(np.int32, copy=False)))


def _by_part(of_models: Sequence[Floats], parts: int) -> Floats:
    """The numbers (values, measures, parts, columns) of all models, each given as (values times parts, measures, c)."""
    together = np.concatenate(of_models, axis=1)
    by_value: Floats = together.reshape(-1, parts, *together.shape[1:]).swapaxes(1, 2)
    return by_value


def _measures_of_pairs(plan: Plan) -> Iterator[Measure]:
    if plan.compare is not None:
        for model in plan.models:
            if model != plan.compare.baseline:
                yield from (Measure(model, str(metric)) for metric in plan.paired_metrics)


def _pairs(of: Slice, models: Sequence[RankedModel], baseline: str) -> Floats:
    """The numbers of all pairs (values, measures, 1, columns), over the groups of each value of a slice."""
    plan = models[0].plan
    base = next(model for model in models if model.name == baseline)
    metrics = [*map(str, plan.paired_metrics)]
    found = [np.empty((len(of.values), 0, len(PAIR_COUNTS) + 2 * LIMBS))]
    for model in models:
        if model is base:
            continue
        # a group in which a model is not evaluated has no value of it
        values = [(model.value_of_groups(name), base.value_of_groups(name)) for name in metrics]
        differences = [ours - theirs for ours, theirs in values]
        _, first, second = sums_with_squares(differences, 0.0, of.segments)
        counts = np.stack([_counts(of, each, *pair) for each, pair in zip(differences, values, strict=True)])
        found.append(np.concatenate([counts, first, second], axis=2).swapaxes(0, 1))
    return np.concatenate(found, axis=1)[:, :, np.newaxis]


def _counts(of: Slice, difference: Floats, ours: Floats, theirs: Floats) -> Floats:
    """The numbers of :data:`PAIR_COUNTS` (values, counts)."""
    paired = ~np.isnan(difference)
    above, below = difference > TIED, difference < -TIED
    flags = (paired, above, paired & ~above & ~below, below, np.isnan(ours) != np.isnan(theirs))
    return np.column_stack([of.segments.count_flagged(each) for each in flags]).astype(np.float64)
