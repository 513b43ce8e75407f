"""The parts of a bucket's groups (64 subsets by the hash of the group key or cluster), and the states of each part."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sparkrank.bucket.ranked import RankedModel
from sparkrank.bucket.slicing import GroupSlice
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.needs import rule_of_values
from sparkrank.numeric.array_types import Codes, Floats
from sparkrank.numeric.exact_sums import LIMBS, sums_with_squares
from sparkrank.numeric.key_hashes import PARTS
from sparkrank.numeric.segments import Segments, codes_of
from sparkrank.numeric.whole_units import TIED, UnitTable, compared
from sparkrank.states.part_bins import PartBins, PartHistograms, PartSeries
from sparkrank.states.part_states import PAIR_COUNTS, PartStates
from sparkrank.states.part_sums import NonzeroSums, PartSums, SlicedSums, parts_of_slice


def part_states(sliced: Sequence[tuple[GroupSlice, Codes, Sequence[RankedModel]]], plan: Plan) -> PartStates:
    """Return the states by part of the groups and by pair of models. ``sliced`` lists tuples (slice, parts, models)."""
    means: dict[str, SlicedSums] = {}
    sums: dict[str, SlicedSums] = {}
    pairs: dict[str, SlicedSums] = {}
    histograms: dict[PartSeries, PartBins] = {}
    for sliced_groups, part_of_group, models in sliced:
        if plan.compare is None and not plan.parted_slices(sliced_groups.name):
            continue
        values, tables = sliced_groups.values, [model.unit_tables() for model in models]
        compare = plan.compare
        if compare is not None and (of_pairs := _pairs(sliced_groups, models, tables, compare.baseline)):
            pairs[sliced_groups.name] = SlicedSums(values, of_pairs)
        if not plan.parted_slices(sliced_groups.name):
            continue
        parted, parts = _parted(sliced_groups, part_of_group), parts_of_slice(sliced_groups.name)
        of_means, of_rows = {}, {}
        for model, own in zip(models, tables, strict=True):
            if averaged := [*map(str, (*model.plan.parted_metrics, *model.plan.checked_metrics))]:
                of_means[model.name] = NonzeroSums.of(averaged, parts, model.part_means(parted, own))
            added = [plan.groups_sum, *map(str, model.plan.row_sums)]
            bins = model.part_bins(parted)
            of_rows[model.name] = NonzeroSums.of(added, parts, model.part_sums(parted, bins))
            for rule, counted in bins.items():
                histograms[PartSeries(model.name, sliced_groups.name, rule)] = PartBins.of(values, parts, counted)
            for metric, counted in model.part_values(parted):
                series = PartSeries(model.name, sliced_groups.name, rule_of_values(metric), str(metric))
                histograms[series] = PartBins.of(values, parts, counted)
        if of_means:
            means[sliced_groups.name] = SlicedSums(values, of_means)
        sums[sliced_groups.name] = SlicedSums(values, of_rows)
    return PartStates(PartSums(means), PartSums(sums), PartHistograms(histograms), PartSums(pairs))


def _parted(groups: GroupSlice, parts: Codes) -> GroupSlice:
    count = parts_of_slice(groups.name)
    part = parts // (PARTS // count)
    code = part if groups.segments.code is None else groups.segments.code * np.int32(count) + part
    return GroupSlice(
        groups.name, groups.values, Segments(len(groups.values) * count, code.astype(np.int32, copy=False))
    )


Tables: TypeAlias = "Sequence[tuple[list[int], UnitTable]]"


def _pairs(
    groups: GroupSlice, models: Sequence[RankedModel], tables: Sequence[Tables], baseline: str
) -> dict[str, NonzeroSums]:
    """Return, for each candidate, the states of the pair (candidate, ``baseline``) for each value of a slice."""
    paired = [*zip(models, tables, strict=True)]
    return {
        ours[0].name: NonzeroSums.of([*map(str, metrics)], 1, _pair(groups, ours, theirs, metrics))
        for theirs in paired
        for ours in paired
        if theirs[0].name == baseline != ours[0].name
        and (metrics := [own for own in ours[0].plan.paired_metrics if own in theirs[0].plan.paired_metrics])
    }


def _pair(
    groups: GroupSlice,
    ours: tuple[RankedModel, Tables],
    theirs: tuple[RankedModel, Tables],
    metrics: Sequence[Metric],
) -> Floats:
    """Return, for each of ``metrics``, counts and sums of the differences between two models, by value of a slice."""
    coarse, of_theirs = ours[0].plan.coarse_metrics, theirs[0].plan.coarse_metrics
    numbers = np.zeros((len(groups.values), len(metrics), len(PAIR_COUNTS) + 2 * LIMBS))
    segment = codes_of(groups.segments, ours[0].ranking.groups)
    for (own_places, own), (other_places, other) in itertools.product(ours[1], theirs[1]):
        place_of = {of_theirs[place]: index for index, place in enumerate(other_places)}
        both = [(index, coarse[place]) for index, place in enumerate(own_places) if coarse[place] in place_of]
        if both:
            pair = own.of([index for index, _ in both]), other.of([place_of[metric] for _, metric in both])
            at = [metrics.index(metric) for _, metric in both]
            numbers[:, at] = np.concatenate(compared(*pair, segment, len(groups.values)), axis=2)
    fine = [metric for metric in metrics if metric not in coarse]
    values = [(ours[0].value_of_groups(str(metric)), theirs[0].value_of_groups(str(metric))) for metric in fine]
    differences = [one - other for one, other in values]
    _, *sums = sums_with_squares(differences, 0.0, groups.segments) if fine else (None, (), ())
    for metric, difference, pair, first, second in zip(fine, differences, values, *sums, strict=True):
        counted = _counts(groups, difference, pair)
        numbers[:, metrics.index(metric)] = np.concatenate([counted, first, second], axis=1)
    return numbers


def _counts(groups: GroupSlice, difference: Floats, pair: tuple[Floats, Floats]) -> Floats:
    ours, theirs = map(np.isnan, pair)
    above, below = difference > TIED, difference < -TIED
    paired = ~(ours | theirs)
    flags = (paired, above, paired & ~above & ~below, below, ours != theirs)
    return np.column_stack([groups.segments.count_flagged(flag) for flag in flags]).astype(np.float64)
