"""The plan of an evaluation: the computations for a bucket of rows that the requested metrics need.

A plan is sent to every worker. Therefore plans are small, frozen, and made of names and numbers only. In this package,
*parts* are 64 fixed subsets of the groups, from which intervals and comparisons are computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.attention_metric import AttentionMetric
from sparkrank.metrics.catalogue_metric import CatalogueMetric
from sparkrank.metrics.definitions import DEFAULTS, Definitions
from sparkrank.metrics.fairness import AGAINST, RELEVANT
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.histogram_metric import HistogramMetric
from sparkrank.metrics.labels import FIRST, Judging
from sparkrank.metrics.metric import Metric, PlanPart
from sparkrank.metrics.needs import (
    INTERACTIONS,
    ROWS_AND_WEIGHT,
    Exposure,
    WeightStates,
    groups_of,
    rule_of_values,
    sum_for_label,
)
from sparkrank.metrics.policy_value import VALUE, weight_states_of
from sparkrank.metrics.pooled_metric import PooledMetric
from sparkrank.metrics.propensity import WeighedRows
from sparkrank.metrics.rank_comparison import REF, REFERENCE_RANK
from sparkrank.metrics.resolution import with_own_label, with_own_ties, without_first_label
from sparkrank.metrics.slices import ALL, Slice, SliceSource, rules_of, slice_name, sources_of
from sparkrank.metrics.uncertainty import DEFAULT, Comparison, Uncertainty
from sparkrank.metrics.unjudged import Assumption, assumption_of
from sparkrank.numeric.whole_units import LARGEST
from sparkrank.ranking.judgments import LABEL
from sparkrank.ranking.ranking import Ties
from sparkrank.ranking.value_columns import CATALOG, GROUP_ITEMS, POPULARITY, ROWS, TIER, ValueColumn, table_of_items
from sparkrank.states.item_table import ItemValues
from sparkrank.states.part_bins import coarse, rule_name
from sparkrank.states.popularity import Tiers

MOST_CURVE_POINTS = 1_000_000_000
OF_GAINS = ("auc", "capture", "lift")  # metrics whose score bins the table ``gains`` uses
UNTIL_LIST = "up to the list"  # which rows of the interactions count, in definitions


@dataclass(frozen=True)
class Plan:
    """The plan of an evaluation: the computations for every bucket of rows.

    Attributes
    ----------
    metrics : tuple of Metric
        The requested metrics, each once.
    models : tuple of str
        The names of the score columns.
    keys : tuple of str
        The columns of the group key, as in the group table. Without any, all rows are evaluated together, and metrics
        of groups are not allowed.
    definitions : Definitions
        The rules for ties, undefined values and other cases.
    group_table : bool
        Whether the values of every group are kept.
    score_sums : bool
        Whether the sum of the scores in each score bin is kept.
    weighted : bool
        Whether rows have weights, which count in the pooled metrics.
    joins : bool
        Whether a bucket contains lists and the truth, which are joined by item.
    curve_points : int
        The approximate number of points of each curve, or 0 for no curves.
    slices : tuple of Slice
        The columns of each slice. Everything is evaluated for the whole day, and again for each value of a slice.
    item : str or None
        The item column, which is part of the definitions of stored item counts.
    arrays : bool
        Whether each input row is a whole list with arrays of items, and forms a group.
    by_rank : bool
        Whether the input has ranks instead of scores.
    uncertainty : Uncertainty
        The settings of errors and intervals.
    compare : Comparison or None
        The baseline with which all other models are compared.
    shows_items : bool
        Whether each bucket contains items (if an item column is named), even if no metric or definition needs them.
    cluster : str or None
        The column of the clusters, such as users, to which groups belong. Parts are then sets of clusters, because
        groups of one cluster are not independent.
    least_groups : int
        Slice values with fewer groups have no rows in the tables.
    long : bool
        Whether each row of a bucket contains the score of one model only. Rows with the same group and item are joined.
    order : Ties or None
        The rule for tied rows for metrics that ``ties=expected`` rules out. Without it, these metrics are refused.
    ordered : tuple of Metric
        The metrics to which ``order`` was applied.
    hashes_keys : bool
        Whether each bucket returns the hashes of its group keys.
    has_catalog : bool
        Whether there is a table of items.
    items : tuple of ItemValues
        The tables in which buckets look up values of items. Workers receive the tables once, not with each copy of the
        plan.
    disparities : tuple of str
        The slices whose values are compared with one another.
    exclude : str or None
        The table of the past whose pairs of group and item are left out.
    counts_items : bool
        Whether the rows are interactions, of which only the popularity of items is counted.
    has_interactions : bool
        Whether there is a table of interactions: what groups had before.
    tiers : Tiers
        The rule for the tiers of the items in that table.
    times : tuple of str
        The tables (truth, interactions, catalog) whose times are compared with those of the lists. If empty, no
        times are read.
    popularity_days : int
        The number of stored days whose counts replace the interactions, or 0.
    stores_popularity : bool
        Whether the evaluated rows are counted, for the popularity of items on later days.
    labels : tuple of str
        The names of the labels. By default, metrics read the first.
    position_depth : int
        The number of first positions of lists at which rows are counted, or 0.
    gains : bool
        Whether the score bins of all rows are also cut into twentieths of the rows.
    judging : Judging or None
        The label choice (label and rows) to whose metrics the computation is limited. None stands for all metrics.
    own_labels : tuple of pairs (str, Judging)
        The models with a label of their own. Metrics of such a model read this label unless their text names another.
    requests : tuple of Metric
        The metrics as requested, before metrics were added for models with a label of their own.
    model : str or None
        The model to whose metrics the computation is limited. None stands for all models.
    """

    metrics: tuple[Metric, ...]
    models: tuple[str, ...]
    keys: tuple[str, ...]
    definitions: Definitions = DEFAULTS
    group_table: bool = True
    score_sums: bool = False
    weighted: bool = False
    joins: bool = False
    curve_points: int = 0
    slices: tuple[Slice, ...] = ()
    item: str | None = None
    arrays: bool = False
    by_rank: bool = False
    uncertainty: Uncertainty = DEFAULT
    compare: Comparison | None = None
    shows_items: bool = False
    cluster: str | None = None
    least_groups: int = 1
    long: bool = False
    order: Ties | None = None
    ordered: tuple[Metric, ...] = ()
    hashes_keys: bool = False
    has_catalog: bool = False
    items: tuple[ItemValues, ...] = field(default=(), compare=False, repr=False)
    disparities: tuple[str, ...] = ()
    exclude: str | None = None
    counts_items: bool = False
    has_interactions: bool = False
    tiers: Tiers = field(default_factory=Tiers)
    times: tuple[str, ...] = ()
    popularity_days: int = 0
    stores_popularity: bool = False
    labels: tuple[str, ...] = ()
    position_depth: int = 0
    gains: bool = False
    judging: Judging | None = None
    own_labels: tuple[tuple[str, Judging], ...] = ()
    requests: tuple[Metric, ...] = ()
    model: str | None = None

    @cached_property
    def judgings(self) -> tuple[Judging, ...]:
        """The label choices (label and rows) of metrics, each once. The first label in all rows always comes first."""
        return tuple(dict.fromkeys((FIRST, *(metric.judging for metric in self.metrics))))

    @cached_property
    def further_labels(self) -> dict[str, int]:
        """The labels that metrics read besides the first, each mapped to its index among all labels."""
        read = {name for judging in self.judgings for name in judging.names}
        read |= {*self.checking_labels}
        return {name: place for place, name in enumerate(self.labels) if place and name in read}

    @cached_property
    def checking_labels(self) -> tuple[str, ...]:
        """The labels that check another label in some metric, each once."""
        return tuple(dict.fromkeys(own.checked_by for own in self.metrics if own.checked_by is not None))

    @cached_property
    def by_judging(self) -> dict[Judging, Plan]:
        """The plan of the metrics of each label choice in :attr:`judgings`."""
        if self.judging is not None or len(self.judgings) == 1:
            return {self.judgings[0] if self.judging is None else self.judging: self}
        return {judging: replace(self, judging=judging) for judging in self.judgings}

    @cached_property
    def absent(self) -> frozenset[tuple[str, Metric]]:
        """The pairs (model, metric) without a value, because the model's metrics read a label of its own."""
        if not self.own_labels:
            return frozenset()
        there = {(model, self.resolved(metric, model)) for metric in self.requests for model in self.models}
        return frozenset(itertools.product(self.models, self.metrics)) - there

    @cached_property
    def by_model(self) -> Mapping[str, Plan]:
        """The plan of the metrics of each model, by model."""
        return {model: replace(self, model=model) if self.absent else self for model in self.models}

    @property
    def own_metrics(self) -> Sequence[Metric]:
        """The metrics to compute: all, or those of :attr:`judging` and of :attr:`model`."""
        of_judging = (metric for metric in self.metrics if self.judging in (None, metric.judging))
        return [metric for metric in of_judging if (self.model, metric) not in self.absent]

    @property
    def own_ordered(self) -> Sequence[Metric]:
        """The metrics of :attr:`ordered` among :attr:`own_metrics`."""
        return [metric for metric in self.own_metrics if metric in self.ordered]

    @property
    def has_parts(self) -> bool:
        return bool(self.keys) and not self.uncertainty.off

    @cached_property
    def parted_metrics(self) -> tuple[Metric, ...]:
        """The metrics of groups with means by part of the groups: :attr:`coarse_metrics`, then :attr:`fine_metrics`."""
        return (*self.coarse_metrics, *self.fine_metrics)

    @cached_property
    def coarse_metrics(self) -> tuple[Metric, ...]:
        """The :attr:`paired_metrics` with a range that fits whole units (:mod:`sparkrank.numeric.whole_units`)."""
        ranges = {metric: dict(self.group_metrics)[metric].range_of(metric) for metric in self.paired_metrics}
        counted_as = self.definitions.counts_undefined_as or 0.0
        return tuple(metric for metric, ends in ranges.items() if max(map(abs, (*ends, counted_as))) < LARGEST)

    @cached_property
    def fine_metrics(self) -> tuple[Metric, ...]:
        """The averaged metrics outside :attr:`coarse_metrics`: geometric, with weights, or with too wide a range."""
        return tuple(metric for metric in self._means if metric not in set(self.coarse_metrics))

    @cached_property
    def paired_metrics(self) -> tuple[Metric, ...]:
        """The arithmetic means in which all groups have the same weight, so that models can be compared by group."""
        declared = dict(self.averaged_metrics)
        return tuple(own for own in self._means if not own.geometric and not declared[own].is_weighted(own))

    @cached_property
    def _means(self) -> tuple[Metric, ...]:
        """The metrics of groups whose mean, and not only a percentile, is requested."""
        averaged = {metric for metric in self.metrics if metric.is_of_means}
        averaged |= {metric.group_metric for metric in self.checked_metrics}
        return tuple(metric for metric, _ in self.averaged_metrics if metric in averaged)

    @cached_property
    def parted_rules(self) -> Mapping[BinRule, bool]:
        """The rules of coarse score bins by part of the groups. The value is true if its bins need sums of scores."""
        parted = [pair for pair in self.histogram_metrics if pair[1].interval != "none"]
        return _summed((coarse(declared.rule_of(metric)), declared.score_sums) for metric, declared in parted)

    @property
    def part_bins(self) -> list[str]:
        of_groups = (rule_name(rule_of_values(metric), str(metric)) for metric in self.distributions)
        return [*map(rule_name, self.parted_rules), *of_groups]

    def parted_slices(self, name: str) -> bool:
        return self.has_parts and (name == ALL or self.uncertainty.slices)

    @cached_property
    def ref_metrics(self) -> tuple[tuple[str, Metric], ...]:
        """One pair (reference order, metric) for each metric with the parameter ``ref``."""
        return tuple((m.word(REF.name), m) for m, declared in self.group_metrics if REF.name in declared.defaults)

    @cached_property
    def model_compared_with(self) -> dict[str, str]:
        """The name of the model with which a metric compares, by the metric's string."""
        return {str(m): reference for reference, m in self.ref_metrics if reference in self.models}

    @cached_property
    def references(self) -> tuple[str, ...]:
        """The reference orders of metrics except labels, each once: names of models and :data:`REFERENCE_RANK`."""
        return tuple(dict.fromkeys(name for name, _ in self.ref_metrics if name != LABEL))

    @cached_property
    def group_metrics(self) -> tuple[tuple[Metric, GroupMetric], ...]:
        """The metrics whose per-group values are needed, each once, as pairs (metric, declaration)."""
        return _of_part("groups", dict.fromkeys(metric.group_metric for metric in self.own_metrics))

    @cached_property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The assumptions of metrics of groups about rows without a label, each once."""
        assumed = (assumption_of(metric) for metric, _ in self.group_metrics)
        return tuple(dict.fromkeys(assumption for assumption in assumed if assumption is not None))

    @cached_property
    def averaged_metrics(self) -> tuple[tuple[Metric, GroupMetric], ...]:
        """The metrics with a mean over groups as a state: :attr:`group_metrics`, and then the geometric means."""
        return self.group_metrics + _of_part("groups", (metric for metric in self.own_metrics if metric.geometric))

    @cached_property
    def checked_metrics(self) -> tuple[Metric, ...]:
        """The metrics whose mean by one label is corrected by another."""
        return tuple(metric for metric, _ in _of_part("checked", self.own_metrics))

    @cached_property
    def levels(self) -> tuple[float | None, ...]:
        """The lowest relevant labels of metrics of one label; None means that any label above 0 is relevant."""
        own = [metric for metric in self.metrics if metric.judging == (self.judging or FIRST)]
        levels = dict.fromkeys(metric.rel for metric in own if "rel" in metric.declaration.defaults)
        return (*levels,) or (None,)

    @property
    def level(self) -> float | None:
        """The lowest relevant label if all metrics use the same; otherwise None (any label above 0 is relevant)."""
        return self.levels[0] if len(self.levels) == 1 else None

    @cached_property
    def ranges(self) -> tuple[tuple[Metric, float, float], ...]:
        """The metrics of groups with a finite range, as tuples (metric, lowest value, highest value)."""
        ranges = ((metric, *declared.range_of(metric)) for metric, declared in self.group_metrics)
        return tuple(ends for ends in ranges if all(map(math.isfinite, ends[1:])))

    @cached_property
    def beatable(self) -> tuple[tuple[Metric, float], ...]:
        """The group metrics that may exceed the value of the ideal list, as (metric, value of the ideal list)."""
        return tuple(
            (metric, declared.highest)
            for metric, declared in self.group_metrics
            if (unbounded := declared.unbounded) is not None and unbounded.holds(metric) and unbounded.has_ideal(metric)
        )

    @cached_property
    def sums_gains(self) -> bool:
        """Whether any metric adds up squares of unscaled gains, in which small gains would lose digits."""
        return any(
            "gain" in declared.defaults
            and math.isinf(declared.highest)
            and isinstance(metric["gain"], str)
            and metric["gain"] != "binary"
            and not metric.gain_columns
            for metric, declared in self.group_metrics
        )

    @cached_property
    def gain_columns(self) -> Mapping[ValueColumn, bool]:
        """The columns that are gains. The value is true if some metric adds up squares of the column's values."""
        named = [(own, math.isinf(declared.highest)) for own, declared in self.group_metrics if own.gain_columns]
        summed = {column for metric, adds_up in named if adds_up for column in metric.gain_columns}
        return {column: column in summed for metric, _ in named for column in metric.gain_columns}

    @cached_property
    def listed_gains(self) -> int | None:
        """The number of labels from 0 that have a gain in every list of gains, or None if no metric lists gains."""
        listed = (metric["gain"] for metric, own in self.group_metrics if "gain" in own.defaults)
        return min((len(gains) for gains in listed if isinstance(gains, tuple)), default=None)

    @cached_property
    def cutoffs(self) -> tuple[int, ...]:
        """The cut-offs of the metrics of groups, in ascending order."""
        return tuple(sorted({metric.k for metric, _ in self.group_metrics if metric.k is not None}))

    @cached_property
    def distributions(self) -> tuple[Metric, ...]:
        """The metrics of groups with a requested percentile, or whose ranks another metric reads, each once."""
        read = (own for own in self.own_metrics if own.percentile is not None or "ranks" in own.declaration.parts)
        return tuple(dict.fromkeys(metric.group_metric for metric in read))

    @cached_property
    def pooled_metrics(self) -> tuple[tuple[Metric, PooledMetric], ...]:
        return _of_part("rows", self.own_metrics)

    def resolved(self, metric: Metric, model: str | None = None) -> Metric:
        """Return ``metric`` under its name in this evaluation, with ``ties`` only if they differ from the evaluation's.

        If ``model`` has a label of its own, the result names that label, unless ``metric`` itself names a label.
        """
        own = with_own_label(metric, dict(self.own_labels).get(model or "", FIRST))
        return with_own_ties(without_first_label(own, self.labels), self.definitions, self.order)

    def readings(self, metric: Metric) -> tuple[Metric, ...]:
        """Return ``metric`` by each label of the models, or only ``metric`` if it names a label or reads none."""
        return tuple(dict.fromkeys(self.resolved(metric, model) for model in self.models))

    def ties_of(self, metric: Metric) -> Ties:
        """Return the rule for tied rows that applies to ``metric`` in this evaluation."""
        return metric.ties or self.definitions.ties

    def definition(self, metric: Metric) -> str:
        """Return the definition of ``metric`` for the tables, which includes the settings of the evaluation."""
        if metric.ties is None:
            written = f"{metric.definition}; {self.settings}"
        else:
            of_metric = self._written(replace(self.definitions, ties=metric.ties))
            written = f"{metric.with_ties(None).definition}; {of_metric}"
        written = f"{written}{self.popularity_of(metric)}"
        timed = metric.declaration.reads_interactions and INTERACTIONS in self.times
        return f"{written}; interactions {UNTIL_LIST}" if timed else written

    def popularity_of(self, metric: Metric) -> str:
        """Return the meaning of the item popularity in ``metric``, as the end of the metric's definition."""
        columns = [ROWS if column.share_of == POPULARITY else column.name for column in metric.value_columns]
        return "".join(f"; {rule}" for rule in self._popularity_rules(columns))

    def _popularity_rules(self, columns: Sequence[str]) -> list[str]:
        """Return the meaning of the item popularity in ``columns``: the rule for tiers, and the days that count."""
        rules = [str(self.tiers)] if self.has_interactions and TIER in columns else []
        if self.popularity_days and any(self.table_of(column) == POPULARITY for column in columns):
            rules.append(f"popularity of {self.popularity_days} stored days")
        return rules

    @property
    def popularity_definition(self) -> str:
        """The definition of the popularity in the counts of a stored day."""
        of_truth = " of the truth" if self.joins else ""
        return f"rows{of_truth} with a label above 0, by {'item' if self.item is None else self.item}"

    @cached_property
    def settings(self) -> str:
        """The definitions as one string, as in tables and stored states."""
        return self._written(self.definitions)

    def _written(self, definitions: Definitions) -> str:
        """Return ``definitions`` as a string. For a join, the string includes ``duplicates`` even at its default."""
        written = definitions.written("duplicates") if self.joins else str(definitions)
        if self.exclude is None:
            return written
        until = f" {UNTIL_LIST}" if self.exclude in self.times else ""
        return f"{written}, exclude={INTERACTIONS if self.exclude == INTERACTIONS else 'pairs'}{until}"

    @cached_property
    def catalogue_metrics(self) -> tuple[tuple[Metric, CatalogueMetric], ...]:
        return _of_part("items", self.own_metrics)

    @cached_property
    def exposures(self) -> tuple[Exposure, ...]:
        """The settings of the counts per item that the catalogue metrics need, each once."""
        return tuple(dict.fromkeys(declared.exposure_of(metric) for metric, declared in self.catalogue_metrics))

    @cached_property
    def attention_metrics(self) -> tuple[tuple[Metric, AttentionMetric], ...]:
        return _of_part("values", self.own_metrics)

    @cached_property
    def value_exposures(self) -> tuple[Exposure, ...]:
        """The settings of the counts of values that metrics of attention need, each once."""
        return tuple(dict.fromkeys(declared.exposure_of(metric) for metric, declared in self.attention_metrics))

    @cached_property
    def item_targets(self) -> tuple[tuple[Exposure, str], ...]:
        """The settings of counts of values, each with the table by whose items or rows amounts are due."""
        targets = ((declared.exposure_of(own), own.word(AGAINST.name)) for own, declared in self.attention_metrics)
        return tuple(dict.fromkeys(target for target in targets if target[1] != RELEVANT))

    @property
    def reads_target_rows(self) -> bool:
        """Whether any metric compares with the shares of values in the rows of the interactions."""
        return any(column.share_of == POPULARITY for column in self.values)

    @property
    def has_item_counts(self) -> bool:
        return bool(self.exposures or self.value_exposures)

    @cached_property
    def full_lengths(self) -> tuple[int, ...]:
        """The cut-offs of metrics that count lists, each once. Lists should have a row at each position up to these."""
        cut = (metric.k for metric, declared in self.catalogue_metrics if declared.counts_lists)
        return tuple(dict.fromkeys(k for k in cut if k is not None))

    @cached_property
    def histogram_metrics(self) -> tuple[tuple[Metric, HistogramMetric], ...]:
        return _of_part("bins", self.own_metrics)

    @cached_property
    def bin_rules(self) -> Mapping[BinRule, bool]:
        """The rules for score bins of metrics. The value is true if its bins need the sums of their scores."""
        return _summed(
            (declared.rule_of(metric), self.score_sums or declared.score_sums)
            for metric, declared in self.histogram_metrics
        )

    @cached_property
    def unsummed_rules(self) -> frozenset[BinRule]:
        """The rules whose bins lack sums of scores, except exact rules (of equal scores only)."""
        return frozenset(rule for rule, summed in self.bin_rules.items() if not summed and rule.kind != "exact")

    @cached_property
    def row_sums(self) -> tuple[RowSum, ...]:
        """The sums over rows that metrics read, with the number and weight of rows for slices; each once."""
        every = (*self.catalogue_metrics, *self.attention_metrics, *self.pooled_metrics)
        judgings = dict.fromkeys(metric.judging for metric, _ in every)
        sums = [sum_for_label(total, judging) for judging in judgings for total in ROWS_AND_WEIGHT]
        for metric, declared in self.pooled_metrics:
            sums += (sum_for_label(total, metric.judging) for total in declared.sums_of(metric))
        return tuple(dict.fromkeys(sums))

    @property
    def groups_sum(self) -> str:
        """The name of the sum for the number of evaluated groups."""
        return groups_of(self.judging or FIRST)

    @cached_property
    def carriers(self) -> tuple[RowSum, ...]:
        """The sums over rows that determine the effective number of groups of the pooled metrics, each once."""
        carried = (total for metric, declared in self.pooled_metrics for total in declared.carriers_of(metric))
        return tuple(dict.fromkeys(carried))

    @cached_property
    def gains_rules(self) -> tuple[BinRule, ...]:
        """The rules of the score bins for the table ``gains``; empty if :attr:`gains` is false."""
        of_bins = self.histogram_metrics if self.gains else ()
        return tuple(dict.fromkeys(own.rule_of(metric) for metric, own in of_bins if metric.name in OF_GAINS))

    @cached_property
    def group_weights(self) -> tuple[str, ...]:
        """The names of the columns that weight the groups in the mean of a metric, each once."""
        columns = (metric.group_metric.weight_column for metric in self.metrics)
        return tuple(dict.fromkeys(filter(None, columns)))

    @cached_property
    def values(self) -> tuple[ValueColumn, ...]:
        """The columns of values in the forms for metrics (texts, numbers, shares), each once."""
        return tuple(dict.fromkeys(column for metric in self.metrics for column in metric.group_metric.value_columns))

    @cached_property
    def value_columns(self) -> tuple[ValueColumn, ...]:
        """The columns of values in the form for a bucket, each once."""
        return tuple(dict.fromkeys(column.stored for column in self.values))

    @cached_property
    def slice_sources(self) -> tuple[SliceSource, ...]:
        return sources_of(self.slices)

    @cached_property
    def slice_rules(self) -> dict[str, str]:
        """The explanation of each slice's values, by its name. Slices by the plain values of columns are left out."""
        rules = rules_of(self.slices)
        for columns in self.slices:
            own = self._popularity_rules([part.column for part in columns])
            if INTERACTIONS in self.times and any(part.column == GROUP_ITEMS for part in columns):
                own.append(UNTIL_LIST)
            if own:
                name = slice_name(columns)
                rules[name] = " ".join([*([rules[name]] if name in rules else []), *own])
        return rules

    @property
    def row_values(self) -> list[tuple[int, ValueColumn]]:
        """The columns of values in the rows themselves, each with its index in :attr:`value_columns`."""
        return [(index, value) for index, value in enumerate(self.value_columns) if value.name not in self.item_columns]

    @cached_property
    def truth_gains(self) -> tuple[ValueColumn, ...]:
        """The columns of gains in the rows of the truth themselves; empty if no truth is joined with the lists."""
        return tuple(value for _, value in self.row_values if self.joins and value in self.gain_columns)

    @cached_property
    def listed_values(self) -> tuple[ValueColumn, ...]:
        """The :attr:`value_columns` for the rows of lists, without those for gains of the truth only."""
        named = ((own, column) for own in self.metrics for column in own.group_metric.value_columns)
        of_truth = set(self.truth_gains)
        read = {column.stored for own, column in named if column not in of_truth.intersection(own.gain_columns)}
        return tuple(column for column in self.value_columns if column in read)

    @property
    def row_slices(self) -> list[tuple[int, SliceSource]]:
        """The columns of slices in the rows themselves, each with its index in :attr:`slice_sources`."""
        sources = enumerate(self.slice_sources)
        beside = {*self.item_columns, *([GROUP_ITEMS] if self.has_interactions else [])}
        return [(index, source) for index, source in sources if source.column not in beside]

    @property
    def items_had(self) -> list[int]:
        """The indices in :attr:`slice_sources` of slices by the number of items that a group had before."""
        sources = enumerate(self.slice_sources)
        return [index for index, source in sources if self.has_interactions and source.column == GROUP_ITEMS]

    @cached_property
    def item_columns(self) -> Mapping[str, str]:
        """The columns of items (not of rows) that are read, each mapped to its reader's name in messages."""
        read = {f"the slice {slice_name(parts)}": tuple(part.column for part in parts) for parts in self.slices}
        read |= {str(metric): tuple(column.name for column in metric.value_columns) for metric in self.metrics}
        named = [(column, what) for what, columns in read.items() for column in columns]
        return {column: what for column, what in reversed(named) if self.table_of(column) is not None}

    def table_of(self, column: str) -> str | None:
        """Return the table of items with ``column``, or None if it is a column of the rows."""
        return table_of_items(column, has_interactions=self.has_interactions)

    @cached_property
    def reads_items(self) -> bool:
        """Whether a named item column is read, which also orders equal rows in greedy lists by subtopics."""
        subtopics = any(column.kind == "texts" for metric in self.metrics for column in metric.relevant_columns)
        return self.item is not None and (self.shows_items or subtopics)

    @property
    def reads_popularity(self) -> bool:
        """Whether the popularity of items is counted, in a separate pass over the interactions."""
        return self.reads_target_rows or any(self.table_of(column) == POPULARITY for column in self.item_columns)

    @property
    def reads_since(self) -> bool:
        """Whether the time at which an item appeared is looked up, in the catalog or in the interactions."""
        return CATALOG in self.times or INTERACTIONS in self.times

    @property
    def counts_first_times(self) -> bool:
        """Whether the first time of each item is read from the interactions, in the pass that counts popularity."""
        return INTERACTIONS in self.times and CATALOG not in self.times

    @property
    def reads_tiers(self) -> bool:
        return self.has_interactions and TIER in self.item_columns

    @cached_property
    def past(self) -> tuple[str, ...]:
        """The names of the tables of the past whose rows are sent to buckets, each once."""
        read = [INTERACTIONS for metric in self.metrics if metric.declaration.reads_interactions]
        read += [INTERACTIONS] if self.items_had or (INTERACTIONS in self.times and not self.counts_items) else []
        return tuple(dict.fromkeys([*read, *([] if self.exclude is None else [self.exclude])]))

    @property
    def evaluates_splits(self) -> bool:
        """Whether the task that reads rows also evaluates them, because each row is a group or there are no groups."""
        return not self.keys or (self.arrays and not self.past)

    @property
    def scores_of_row(self) -> int:
        """The number of scores in each row of a bucket."""
        return 1 if self.long else len(self.models)

    @cached_property
    def orders_by_item(self) -> bool:
        """Whether some metric orders tied rows by item."""
        return any(self.ties_of(metric) == "item" for metric in self.metrics)

    @cached_property
    def needs_pairs(self) -> bool:
        """Whether a join or the rule ``duplicates`` requires the rows with the same group and item."""
        return self.joins or self.definitions.duplicates != "keep"

    def metric_reading(self, role: str) -> Metric | None:
        """Return the first metric that reads the column with the role ``role``, or None if there is no such metric."""
        return self._reading.get(role)

    @cached_property
    def _reading(self) -> dict[str, Metric]:
        return {role: metric for metric in reversed(self.metrics) for role in metric.group_metric.roles}

    @cached_property
    def weighed_rows(self) -> tuple[WeighedRows, ...]:
        """The distinct propensity weightings of relevant rows in the metrics of lists."""
        weighed = (WeighedRows.of(metric) for metric, _ in self.group_metrics)
        return tuple(dict.fromkeys(own for own in weighed if own is not None))

    @property
    def has_sparse_propensities(self) -> bool:
        """Whether only relevant rows need a propensity, and not each row of a joined item."""
        return bool(self.weighed_rows) and not (self.policy_values or self.joins or self.long)

    @cached_property
    def weight_states(self) -> tuple[WeightStates, ...]:
        """The names of the sums for each propensity weighting that a metric needs, each once."""
        of_values = dict.fromkeys(map(weight_states_of, self.policy_values))
        return (*(weighed.states for weighed in self.weighed_rows), *of_values)

    @cached_property
    def policy_values(self) -> tuple[Metric, ...]:
        """The metrics of the estimated reward of a policy that was not run."""
        return tuple(metric for metric, _ in self.pooled_metrics if metric.name == VALUE)

    @property
    def needs_reference_rank(self) -> bool:
        return REFERENCE_RANK in self.references


def _of_part(part: PlanPart, metrics: Iterable[Metric]) -> tuple[tuple[Metric, Any], ...]:
    return tuple((metric, metric.declaration) for metric in metrics if part in metric.declaration.parts)


def _summed(rules: Iterable[tuple[BinRule, bool]]) -> Mapping[BinRule, bool]:
    """Return the bin rules. The value is true if any pair of a rule in ``rules`` needs the sums of scores."""
    summed: dict[BinRule, bool] = {}
    for rule, needs_sums in rules:
        summed[rule] = summed.get(rule, False) or needs_sums
    return summed
