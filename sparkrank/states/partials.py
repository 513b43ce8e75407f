"""The states of one bucket of whole groups, and their merging into the states of the day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.histogram.state import ScoreHistogram, ScoreSeries
from sparkrank.histogram.wire import NarrowHistogram, NarrowRows, merged
from sparkrank.states.distinct_items import merged_hashes
from sparkrank.states.distributions import Distribution
from sparkrank.states.first_times import FirstTimes
from sparkrank.states.items import ItemCounts
from sparkrank.states.keys import StateKey, by_key, in_order
from sparkrank.states.largest import LargestGroups, largest_of, merged_largest
from sparkrank.states.means import MeanStates
from sparkrank.states.part_states import PartStates
from sparkrank.states.pickling import pickled, unpickled
from sparkrank.states.repeated_keys import RepeatedKeys
from sparkrank.states.row_sums import RowSums
from sparkrank.states.unmatched import Unmatched, merged_unmatched

# The number of large states in memory while many merge: a state of many models and slice values takes megabytes.
MERGED_AT_ONCE = 8
MERGED_BYTES = 256 << 20  # if the sums of fewer states exceed this many bytes, they are merged earlier


@dataclass(frozen=True)
class Partials:
    """The merged states of one or several buckets.

    ``counts`` maps (check, model) to the counts of the table ``quality``; "" means all models. ``unmatched`` contains
    one unmatched row from the lists and one from the truth. ``item_hashes`` are the lowest hashes of the items in the
    lists and in the truth. ``loops`` counts the runs of each step in compiled loops and in numpy. ``largest`` contains
    the groups with the most rows. ``heaviest`` contains the largest weight of a single group, by (metric, model).
    ``failure`` is the message of a task that ran out of memory, or empty; the message is returned because Spark would
    run a failed task three times. ``repeated`` counts the group keys of several groups, if each row of the input is a
    group. ``first_times`` contains the first time of each item, if interactions with times are counted.
    ``largest_weights`` maps models to the largest weight of a row by its propensity.
    """

    means: MeanStates = field(default_factory=MeanStates.empty)
    blocks: Mapping[ScoreSeries, ScoreHistogram] = field(default_factory=dict)
    sums: RowSums = field(default_factory=RowSums.empty)
    distributions: Mapping[StateKey, Distribution] = field(default_factory=dict)
    items: ItemCounts = field(default_factory=ItemCounts.empty)
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unmatched: Unmatched = field(default_factory=dict)
    loops: Mapping[str, int] = field(default_factory=dict)
    parts: PartStates = field(default_factory=PartStates)
    largest: LargestGroups = ()
    heaviest: Mapping[tuple[str, str], float] = field(default_factory=dict)
    failure: str = ""
    item_hashes: tuple[int, ...] = ()
    repeated: RepeatedKeys = field(default_factory=RepeatedKeys)
    first_times: FirstTimes = field(default_factory=FirstTimes)
    largest_weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def merged(cls, parts: Iterable[Partials]) -> Partials:
        gathered = list(parts)
        if not gathered:
            return cls()
        first, *others = gathered
        counts: Counter[tuple[str, str]] = Counter()
        loops: Counter[str] = Counter()
        heaviest: dict[tuple[str, str], float] = {}
        for part in gathered:
            counts.update(part.counts)
            loops.update(part.loops)
            heaviest |= {key: max(weight, heaviest.get(key, 0.0)) for key, weight in part.heaviest.items()}
        by_series = by_key(part.blocks for part in gathered)
        by_metric = by_key(part.distributions for part in gathered)
        return cls(
            first.means.merge(*(part.means for part in others)),
            {series: histograms[0].merge(*histograms[1:]) for series, histograms in by_series.items()},
            first.sums.merge(*(part.sums for part in others)),
            {key: own[0].merge(*own[1:]) for key, own in by_metric.items()},
            first.items.merge(*(part.items for part in others)),
            dict(counts),
            merged_unmatched(part.unmatched for part in gathered),
            dict(loops),
            first.parts.merge(part.parts for part in others),
            merged_largest(part.largest for part in gathered),
            heaviest,
            max(part.failure for part in gathered),
            merged_hashes(part.item_hashes for part in gathered),
            RepeatedKeys.merged(part.repeated for part in gathered),
            FirstTimes.merged(part.first_times for part in gathered),
            largest_of([pair for part in gathered for pair in part.largest_weights.items()]),
        )

    def slice_values(self, slice_: str) -> list[str | None]:
        """Return the values of a slice, sorted as strings, None last."""
        tables = (self.means.table, self.sums.table)
        columns = (table.filter(pc.equal(table["slice"], slice_))["slice_value"] for table in tables)
        return sorted({value for values in columns for value in values.unique().to_pylist()}, key=in_order)

    def pack(self) -> bytes:
        """Pack the states for transfer between workers of one run. Longer-lived states are stored as tables."""
        narrow = {series: NarrowHistogram.of(histogram) for series, histogram in self.blocks.items()}
        return pickled((replace(self, blocks={}), narrow))

    @staticmethod
    def unpack(packed: Iterable[bytes | pa.Buffer]) -> Partials:
        """Unpack the results of :meth:`pack` and merge the states. Only a few states are in memory at a time."""
        parts: list[Partials] = []
        narrow: list[dict[ScoreSeries, NarrowHistogram | NarrowRows]] = []
        for bytes_ in packed:
            part, own = unpickled(bytes_)
            add_partials(parts, part)
            narrow.append(own)
        blocks = {series: merged(histograms) for series, histograms in by_key(narrow).items()}
        return replace(Partials.merged(parts), blocks=blocks)


def add_partials(parts: list[Partials], part: Partials) -> None:
    """Append the states ``part`` to ``parts``, in place.

    If ``parts`` is then large or contains :data:`MERGED_AT_ONCE` states, their merged state replaces them.
    """
    parts.append(part)
    wide = [own.means.nbytes + own.parts.means.nbytes + own.parts.sums.nbytes for own in parts]
    is_large = len(parts) > 1 and sum(wide) > MERGED_BYTES
    if is_large or len(parts) == MERGED_AT_ONCE:
        parts[:] = [Partials.merged(parts)]
