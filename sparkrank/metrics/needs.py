"""The names and definitions of the states (stored sums and counts) from which metrics are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.labels import FIRST, Judging
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.parameters import discount_of, format_number
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.numeric.key_hashes import HASH_VERSION, PARTS
from sparkrank.ranking.discounts import Discount
from sparkrank.ranking.ranking import Ties
from sparkrank.states.forms import SUM_FORM
from sparkrank.states.part_bins import RANKS, VALUES

WEIGHT = RowSum("weight")
ROWS_AND_WEIGHT = (RowSum("rows"), WEIGHT)  # tables show both for every pooled metric
POSITIVES, NEGATIVES = "positives", "negatives"
# The tables of the past: the interactions (what groups had before), and other pairs of group and item to leave out.
INTERACTIONS, EXCLUDE = "interactions", "exclude"
TRUTH = "truth"  # a side with times of its own
GROUPS = "groups"  # the name of the sum that counts the groups evaluated


def sum_for_label(total: RowSum, judging: Judging) -> RowSum:
    """Return ``total`` for the label choice ``judging`` of metrics (the label and the rows that they read)."""
    return replace(total, judging=str(judging)) if judging != FIRST else total


def groups_of(judging: Judging) -> str:
    """Return the name of the sum for the number of evaluated groups, for the label choice ``judging``."""
    return f"{GROUPS}({judging})" if judging != FIRST else GROUPS


def counts_ranks(metric: Metric) -> bool:
    """Return whether the per-group values of ``metric`` are ranks among sampled items.

    Other metrics read the distribution of such ranks.
    """
    return metric.declaration.defaults.get("sampled", 0) is None and metric["sampled"] is not None


def rule_of_values(metric: Metric) -> BinRule:
    """Return the rule for bins of per-group values of ``metric``, by part of the groups."""
    return RANKS if counts_ranks(metric) else VALUES


def positives_of(metric: Metric) -> RowSum:
    return RowSum(POSITIVES, rel=metric.rel)


def negatives_of(metric: Metric) -> RowSum:
    return RowSum(NEGATIVES, rel=metric.rel)


def both_classes(metric: Metric) -> tuple[RowSum, RowSum]:
    """Return the sums of the weights of relevant rows and of non-relevant rows."""
    return positives_of(metric), negatives_of(metric)


@dataclass(frozen=True)
class Needed:
    """A state from which ``metric`` is computed: the stored rows with this ``kind``, ``name`` and ``definition``.

    If ``optional`` is true, days that were stored before this state existed can be merged without the state.
    """

    kind: str
    name: str
    metric: str
    definition: str
    optional: bool = False


class StatePlan(Protocol):
    """The properties of a plan on which the states of its metrics depend."""

    @property
    def settings(self) -> str: ...

    @property
    def has_parts(self) -> bool: ...

    @property
    def cluster(self) -> str | None: ...

    @property
    def item(self) -> str | None: ...

    @property
    def has_catalog(self) -> bool: ...

    @property
    def compare(self) -> Comparison | None: ...

    @property
    def paired_metrics(self) -> tuple[Metric, ...]: ...

    def definition(self, metric: Metric) -> str: ...

    def popularity_of(self, metric: Metric) -> str: ...


class WeightStates(NamedTuple):
    """The names of the sums over rows with weights by propensity.

    ``rows`` names the number of rows, ``weights`` the sum of their weights, ``squares`` the sum of the squared weights,
    and ``clipped`` the number of rows whose weight is clipped. ``unclipped`` contains the names of the sums of
    unclipped weights and of their squares, if the mean weight is known to be 1; otherwise None.
    """

    rows: str
    weights: str
    squares: str
    clipped: str
    unclipped: tuple[str, str] | None = None

    @property
    def sums(self) -> tuple[str, ...]:
        return (self.rows, self.weights, self.squares, self.clipped, *(self.unclipped or ()))


def amounts_by_group(carrier: RowSum) -> tuple[str, str]:
    return f"{carrier} by group", f"{carrier} by group, squared"


def part_definition(definition: str, plan: StatePlan) -> str:
    """Return the definition of a state by part: ``definition``, followed by the rule that assigns groups to parts."""
    hashed = "group" if plan.cluster is None else f"cluster {plan.cluster}"
    return f"{definition}; {PARTS} parts by hash {HASH_VERSION} of the {hashed}"


def sums_needed(metric: Metric, plan: StatePlan, sums: Sequence[RowSum]) -> Iterator[Needed]:
    for total in (sum_for_label(own, metric.judging) for own in sums):
        yield Needed(SUM_FORM.kind, str(total), str(metric), f"{total}; {plan.settings}")


class Exposure(NamedTuple):
    """The settings of two counts per item: its rows among the first ``k`` of lists, and its relevant groups.

    The second count is the number of groups with a relevant label of the item, and ``rel`` is the lowest relevant
    label. ``ties`` is the metric's rule for tied rows, or None if the rule of the evaluation applies. With
    ``discount``, a row counts the discount of its position. If ``once`` is true, a list counts an item once, however
    often the item is among its first rows. If ``by`` is given, the values of this column are counted instead of items.
    ``judging`` names the label, if there are several, and the included rows.
    """

    k: int | None
    rel: float | None
    ties: Ties | None = None
    discount: Discount | None = None
    once: bool = False
    by: str | None = None
    judging: str = ""

    @classmethod
    def of(cls, metric: Metric, *, once: bool = False) -> Exposure:
        defaults = metric.declaration.defaults
        rel = metric.rel if "rel" in defaults else None
        has_discount = "discount" in defaults and metric["discount"] != "none"
        discount = discount_of(metric["discount"]) if has_discount else None
        shows_all = metric.k is None and discount is None  # whole lists show all rows, tied or not
        return cls(metric.k, rel, None if shows_all else metric.ties, discount, once, None, str(metric.judging))

    def __str__(self) -> str:
        rel = "" if self.rel is None else f",rel={format_number(self.rel)}"
        ties = "" if self.ties is None else f",ties={self.ties}"
        discount = "" if self.discount is None else f",discount={self._discount_text(self.discount)}"
        once = ",once" if self.once else ""
        by = "" if self.by is None else f",by={self.by}"
        judging = f",{self.judging}" if self.judging else ""
        return f"k={'all' if self.k is None else self.k}{rel}{ties}{discount}{once}{by}{judging}"

    @property
    def by_part(self) -> str:
        """The name of the same counts for each part of the groups."""
        return f"{self},parts"

    def of_target(self, table: str) -> str:
        """Return the name of the counts by value of the catalog's items, or of the interactions' rows."""
        return f"{table},by={self.by}"

    @staticmethod
    def _discount_text(discount: Discount) -> str:
        return f"[{','.join(map(format_number, discount.listed))}]" if discount.listed else discount.kind
