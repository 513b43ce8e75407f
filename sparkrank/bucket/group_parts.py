"""The parts of a bucket's groups (64 subsets by the hash of the group key or cluster), and the states of each part."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sparkrank.bucket.ranked import RankedModel
from sparkrank.bucket.slicing import GroupSlice
from sparkrank.metrics import Plan
from sparkrank.metrics.needs import rule_of_values
from sparkrank.numeric.array_types import Codes, Floats
from sparkrank.numeric.exact_sums import LIMBS, sums_with_squares
from sparkrank.numeric.key_hashes import PARTS
from sparkrank.numeric.segments import Segments, codes_of
from sparkrank.numeric.whole_units import TIED, UnitTable, compared
from sparkrank.states.part_bins import PartBins, PartHistograms, PartSeries
from sparkrank.states.part_states import PAIR_COUNTS, PartStates
from sparkrank.states.part_sums import FilledSums, PartSums, SlicedSums, parts_of_slice


def part_states(sliced: Sequence[tuple[GroupSlice, Codes, Sequence[RankedModel]]], plan: Plan) -> PartStates:
    """Return the states of parts and of pairs of models. ``sliced`` has (slice, part of each group, models) tuples."""
    means: dict[str, SlicedSums] = {}
    sums: dict[str, SlicedSums] = {}
    pairs: dict[str, SlicedSums] = {}
    histograms: dict[PartSeries, PartBins] = {}
    averaged = [*map(str, (*plan.parted_metrics, *plan.checked_metrics))]
    added = [plan.groups_sum, *map(str, plan.row_sums)]
    for sliced_groups, part_of_group, models in sliced:
        if plan.compare is None and not plan.parted_slices(sliced_groups.name):
            continue
        values, tables = sliced_groups.values, [model.unit_tables() for model in models]
        if plan.compare is not None:
            pairs[sliced_groups.name] = SlicedSums(values, _pairs(sliced_groups, models, tables, plan.compare.baseline))
        if not plan.parted_slices(sliced_groups.name):
            continue
        parted, parts = _parted(sliced_groups, part_of_group), parts_of_slice(sliced_groups.name)
        if averaged:
            by_model = ((model.name, model.part_means(parted, own)) for model, own in zip(models, tables, strict=True))
            means[sliced_groups.name] = SlicedSums(
                values, {model: FilledSums.of(averaged, parts, limbs) for model, limbs in by_model}
            )
        of_rows = {}
        for model in models:
            bins = model.part_bins(parted)
            of_rows[model.name] = FilledSums.of(added, parts, model.part_sums(parted, bins))
            for rule, counted in bins.items():
                histograms[PartSeries(model.name, sliced_groups.name, rule)] = PartBins.of(values, parts, counted)
            for metric, counted in model.part_values(parted):
                series = PartSeries(model.name, sliced_groups.name, rule_of_values(metric), str(metric))
                histograms[series] = PartBins.of(values, parts, counted)
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
) -> dict[str, FilledSums]:
    """Return, for each candidate, the states of the pair (candidate, ``baseline``) for each value of a slice."""
    paired = [*zip(models, tables, strict=True)]
    (theirs,) = (pair for pair in paired if pair[0].name == baseline)
    names = [*map(str, theirs[0].plan.paired_metrics)]
    candidates = (pair for pair in paired if pair[0].name != baseline)
    return {ours[0].name: FilledSums.of(names, 1, _pair(groups, ours, theirs)) for ours in candidates}


def _pair(groups: GroupSlice, ours: tuple[RankedModel, Tables], theirs: tuple[RankedModel, Tables]) -> Floats:
    plan = ours[0].plan
    numbers = np.zeros((len(groups.values), len(plan.paired_metrics), len(PAIR_COUNTS) + 2 * LIMBS))
    places = {metric: place for place, metric in enumerate(plan.paired_metrics)}
    segment = codes_of(groups.segments, ours[0].ranking.groups)
    for (own_places, own), (other_places, other) in itertools.product(ours[1], theirs[1]):
        both = [place for place in own_places if place in other_places]
        if both:
            pair = (
                own.of([own_places.index(place) for place in both]),
                other.of([other_places.index(place) for place in both]),
            )
            at = [places[plan.coarse_metrics[place]] for place in both]
            numbers[:, at] = np.concatenate(compared(*pair, segment, len(groups.values)), axis=2)
    fine = [metric for metric in plan.paired_metrics if metric not in set(plan.coarse_metrics)]
    values = [(ours[0].value_of_groups(str(metric)), theirs[0].value_of_groups(str(metric))) for metric in fine]
    differences = [one - other for one, other in values]
    _, *sums = sums_with_squares(differences, 0.0, groups.segments) if fine else (None, (), ())
    for metric, difference, pair, first, second in zip(fine, differences, values, *sums, strict=True):
        counted = _counts(groups, difference, pair)
        numbers[:, places[metric]] = np.concatenate([counted, first, second], axis=1)
    return numbers


def _counts(groups: GroupSlice, difference: Floats, pair: tuple[Floats, Floats]) -> Floats:
    ours, theirs = map(np.isnan, pair)
    above, below = difference > TIED, difference < -TIED
    paired = ~(ours | theirs)
    flags = (paired, above, paired & ~above & ~below, below, ours != theirs)
    return np.column_stack([groups.segments.count_flagged(flag) for flag in flags]).astype(np.float64)
