# ruff: noqa: E501 - a row of a Markdown table is one line
"""The schemas of all tables that a run writes, and the number columns of states.

:mod:`sparkrank.tables.rows.outputs` makes the rows, and lists the tables in the order used in ``docs/tables.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sparkrank.numeric.exact_sums import LIMBS

TEXT, FLOAT, WHOLE, FLAG = pa.string(), pa.float64(), pa.int64(), pa.bool_()
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class TableColumn:
    """A column: its ``name``, ``type`` and ``meaning`` (in Markdown).

    If ``limbs`` is true, the column contains exact sums, stored as six columns of floats that add up to them.
    """

    name: str
    type: pa.DataType
    meaning: str = ""
    limbs: bool = False

    @property
    def fields(self) -> list[pa.Field]:
        """The Arrow fields of this column: one field, or the six fields ``name_0`` to ``name_5`` if ``limbs``."""
        names = [f"{self.name}_{limb}" for limb in range(LIMBS)] if self.limbs else [self.name]
        return [pa.field(name, self.type) for name in names]


_TYPES = {
    "text": TEXT,
    "texts": pa.list_(TEXT),
    "float": FLOAT,
    "limbs": FLOAT,
    "whole": WHOLE,
    "flag": FLAG,
    "time": TIME,
}


def columns(text: str) -> tuple[TableColumn, ...]:
    """Return the columns in ``text``. Each line describes columns as ``names type: meaning``.

    A line that begins with four spaces continues the line before it. The type ``limbs`` means an exact sum as six
    floats (:mod:`sparkrank.numeric.exact_sums`).
    """
    listed = []
    for line in text.replace("\n    ", " ").splitlines():
        head, _, meaning = line.partition(": ")
        *names, kind = head.split()
        listed += [TableColumn(name, _TYPES[kind], meaning, kind == "limbs") for name in names]
    return tuple(listed)


def schema_of(columns: Iterable[TableColumn]) -> pa.Schema:
    return pa.schema([field for column in columns for field in column.fields])


@dataclass(frozen=True)
class TableSchema:
    """A table: its ``name``, the meaning of a row (``about``), its ``columns``, and ``notes``. Texts are Markdown.

    ``more`` contains a text and further columns: the text names the runs that write these columns. If ``columns`` is
    empty, the columns depend on the input.
    """

    name: str
    about: str
    columns: tuple[TableColumn, ...] = ()
    more: tuple[str, tuple[TableColumn, ...]] | None = None
    notes: str = ""

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the table, without the columns of ``more``."""
        return schema_of(self.columns)

    @cached_property
    def whole_schema(self) -> pa.Schema:
        """The Arrow schema of the table, including the columns of ``more``."""
        return schema_of((*self.columns, *(() if self.more is None else self.more[1])))


SUBJECT = columns("model slice slice_value text")

METRICS = TableSchema(
    "metrics",
    "A row per model, slice value and metric, in the order in which the spec names the metrics.",
    (
        *SUBJECT,
        *columns("""\
metric text: the metric's text, which identifies it: `ndcg@10`
value float: NaN where it is undefined
ci_low float: the lower end of the interval, at the level that the spec sets; null if no interval is valid
ci_high float: the other end
stderr float: the standard error; null if there is none, and for a percentile
interval text: the method of the interval: `t`, `wilson`, `logit`, `log`, `jackknife`, `order statistics`, `woodruff`,
    `upper bound` (only one end is estimated) or `confidence sequence`; `too few` if the data cannot give an interval,
    `off` if the spec turned off the parts that it needs; null for metrics that never have one (`auc_up`, `coverage`,
    `gini`, `novelty`, `entropy`, `personalization`)
degrees float: the degrees of freedom of the standard error; null if there are none
noise_floor float: the approximate value by chance alone: for `ece`, of a calibrated model on equally many rows; for
    `ks`, of scores without information; for `exposure_gap`, of rows drawn by the shares that are due; null for other
    metrics
n_groups whole: groups evaluated; null if rows have no group
n_effective float: the number of equal groups that would carry as much information: 1 / Σ share², with the shares of the
    groups in the mean's weight (for `auc` or `logloss`, in the relevant or in the other rows, whichever gives fewer); 0
    if all shares are 0
n_undefined whole: the number of these groups for which the metric is undefined; for a metric of all rows, 1 if it is
    undefined, else 0
n_rows whole: rows of these groups; for a metric of all rows, rows with a score
weight float: the total weight of the groups in the mean (their number if all weigh the same), or of the rows of the day
    (their number without `columns.weight`); for a percentile, the number of its groups
error_bound float: the largest possible distance of the value from the value of exact scores, because blocks are coarse;
    null for a mean, or if the value is undefined
definition text: every setting written out
spec_hash text: twelve hex digits that change with every setting that may change a number; those of `sr.evaluate` do not
    depend on the location of the rows
run_id text: the run in `runs`; null for `sr.evaluate`, which stores no runs"""),
    ),
    more=(
        "A window has two more columns:",
        columns("""\
n_days whole: the number of available days that have the row's model and slice
pooling text: a sentence that says how the days of the row are pooled"""),
    ),
)
COMPARISONS = TableSchema(
    "comparisons",
    """\
A row per candidate, slice value and metric, if the spec has `compare`: the candidate against the baseline, over the
groups of both; in a window, over the days that have both.""",
    columns("""\
candidate text: the model that is compared
baseline text: the model that all others are compared with
slice slice_value text
metric text
difference float: the candidate's value in `metrics` minus the baseline's
relative float: the difference as a share of the baseline's value; null if that value is 0 or undefined
relative_low float: the lower end of the interval of `relative` (Fieller 1954); null if the baseline's own interval
    reaches 0
relative_high float: the other end
stderr float: the standard error of the difference; null where there is none
ci_low float: end of the interval of the difference
ci_high float: the other end
interval text: the method of the interval: `paired t`, `jackknife`, `swapped parts`, `woodruff` or `confidence
    sequence`; `too few`, `off` and null as in `metrics`
degrees float: the degrees of freedom of the standard error; null where it has none
p float: the two-sided p-value for no difference, by Student's t, at least 2^(1-m) if m groups (or parts) differ; null
    if `interval` is `too few`, for example if the models are equal in every group
p_adjusted float: `p` after the correction within its family
correction text: `holm`, `benjamini-hochberg` or `none`
family text: the rows that were corrected together: `whole day`, `slice country`; by other words `candidate b`,
    `metric auc`, `slice country=de`
wins whole: groups in which the candidate is better; null if only parts are compared, or if the metric has no direction
ties whole: groups in which both are equal, up to rounding
losses whole: groups in which the candidate is worse
smallest_detectable float: the smallest difference that would have been found in 80 of 100 cases, at this level; null if
    so few groups differ that no difference would be found, however large
n_groups whole: as in `metrics`: the smaller number of the two models
n_effective float: as in `metrics`: the smaller number of the two models
n_unpaired whole: groups with a value for only one of the two models; if there are any, the difference is tested by
    parts; null if groups are not paired
definition text: as in `metrics`
spec_hash text: as in `metrics`
run_id text: the run in `runs`"""),
)
DISPARITIES = TableSchema(
    "disparities",
    """\
The distance between the values of a slice: a row per model, slice of `disparities` and metric. The day's data choose
the two ends: even if all values are equal in truth, the largest and the smallest differ by chance. Rows without a slice
value are left out, and so are values that `least_groups.tables` leaves out.""",
    columns("""\
model slice metric text
n_values whole: the number of slice values that have the metric; with fewer than two there is no difference
lowest text: the slice value for which the metric is lowest; among equal ones, the first by text
lowest_value float: the metric there
highest text: the slice value for which the metric is highest
highest_value float: the metric there
difference float: the highest value minus the lowest
ci_low float: the lower end of the interval of the difference between these two slice values
ci_high float: the other end
stderr float: the standard error of the difference, from 16 parts of the groups: such intervals are wide
interval text: the method of the interval, as in `comparisons`
degrees float: as in `comparisons`
ratio float: the lowest value as a share of the highest; null if a value is below 0 or the highest is 0
ratio_low float: end of the interval of the ratio (Fieller 1954)
ratio_high float: the other end
n_groups whole: the number of groups of the end that has fewer
n_effective float: the same, as in `metrics`
definition text: as in `metrics`
spec_hash text: as in `metrics`
run_id text: the run in `runs`"""),
)
DECOMPOSITION = TableSchema(
    "decomposition",
    """\
The reasons why a mean changed: a row per metric and slice value; the parts add up to the difference of the two means.
`sparkrank compare --decompose` prints this table, and `sr.decompose` makes it from two tables `metrics`; no run writes
it.""",
    (
        *columns("""\
candidate text: the model that is compared
baseline text: the model that it is compared with, or the same on another day
slice slice_value text
metric text: as in `metrics`
presence text: `both`, or `entered` or `left` if only the candidate, or only the baseline, has the value
baseline_share float: the value's share of the weight of the baseline's mean
share float: the value's share of the weight of the candidate's mean
baseline_value float: the mean of the baseline for this slice value; null if the value entered
value float: the mean of the candidate for this slice value; null if the value left
mix float: the contribution of the changed share: (share - baseline_share) · (the midpoint of both means here - the
    midpoint of both means of the whole day); for a value that entered or left, its share · (its mean - the midpoint of
    the whole day), with the sign of the change
rate float: the contribution of the changed mean: the midpoint of both shares · (value - baseline_value)
part float: mix + rate"""),
        *(
            TableColumn(
                f"{name}_{end}", FLOAT, f"{what} of the interval of `{name}`, by parts of the groups; null without one"
            )
            for name in ("mix", "rate", "part")
            for end, what in (("low", "lower end"), ("high", "upper end"))
        ),
        *columns("""\
interval text: the method of the interval of `part`: `jackknife`; `too few` and `off` as in `metrics`; null if only the
    two tables are available
difference float: candidate - baseline: the sum of all parts of the metric
definition text: as in `metrics`
candidate_run_id text: the run in `runs`
baseline_run_id text: the run of the baseline in `runs`"""),
    ),
)
GROUPS = TableSchema(
    "groups",
    """\
A row per model and group: `model`, the columns of the group key under their own names and types, `n_rows`,
`n_retrieved` (rows with a score) and `n_relevant` (int64 each), and a column of doubles for each metric of groups,
under its text. Nothing is null; an undefined value is NaN. In SQL an average with NaN is NaN; in Spark and in DuckDB,
`avg(nullif(ap, cast('NaN' as double)))` leaves undefined values out. Rows have no order. A window has no such table, nor has a day without a group key. `n_relevant` is R, retrieved or not: rows with a label of at least `rel` if
all metrics that need relevant rows have the same `rel`, else rows with a label above 0. If the input has arrays of
items, each of its rows is a list and a separate group: a key on two rows there has two rows for each model here, and
`n_groups` counts lists.""",
)
BLOCKS = TableSchema(
    "blocks",
    "A row per model, slice value, bin rule and score bin, ascending by score.",
    (
        *SUBJECT,
        *columns("""\
rule text: the rule by which scores share a bin: `bits=12`, `digits=5`, `bins=15` or `exact`, with `rel` if a metric
    names it
block whole: the number of the bin, in the order of scores; equal numbers are the same bin on any day
score float: the score that names the bin: the end nearer to 0 (`bits`), the rounded score (`digits`), the lower edge
    (`bins`), or the score itself (`exact`)
pos whole: relevant rows
neg whole: other rows
offset whole: the sum of the distances of the scores from `score`, in 2^-32 of the bin's width; null if no metric reads
    sums of scores
score_sum float: the sum of the scores, computed from `offset`; null if `offset` is null"""),
    ),
    more=(
        """\
If rows have weights, `pos`, `neg` and `offset` are doubles: rounded sums of the weights and of weighted offsets. A
merge uses these further columns instead:""",
        columns("""\
rows whole: rows, whatever their weight
pos limbs: the exact sum `pos`, as multiples of six units that add up without rounding
neg limbs: the exact sum `neg`
offset limbs: the exact sum `offset`; null if `offset` is null"""),
    ),
)
CURVES = TableSchema(
    "curves",
    """\
A row per model, slice value, curve and point, in the order of falling thresholds; about `output.curves` points a
curve. `recall(at_precision=)`, `precision(at_recall=)` and `tpr(at_fpr=)` have one row where they are defined: the point
where they have their value, and its threshold. Of several such points it is the one with the most relevant rows, and
then with the highest threshold.""",
    (
        *SUBJECT,
        *columns("""\
curve text: `roc` for each `auc` and `tpr(at_fpr=)`; `pr` for each `pr_auc`, `recall(at_precision=)` and
    `precision(at_recall=)`
metric text: the metric that is the area under it, or a coordinate of its best point
point whole: from 0
x float: the false positive rate; for `pr`, recall
y float: the true positive rate; for `pr`, precision
threshold float: rows with at least this score, with `digits` rounded, are predicted positive; infinite at the point
    without any such row"""),
    ),
)
POSITIONS = TableSchema(
    "positions",
    """\
A row per model, slice value and position that some row has, from 1 to `output.positions`, where the spec asks for them.
`relevant / rows` is the rate by position. With both added up to position k, `relevant / (k * n_groups)` is the mean of
`p@k`, `relevant / rows` is P@k of all lists together, in which a list counts by its rows, and `relevant / n_relevant` is
R@k of all groups together, in which a group counts by its relevant rows: the mean of `r(weight=relevant)@k`. A row is
relevant as in `n_relevant` of the table `groups`, but by the label of its model if that has [its
own](inputs.md#several-labels).""",
    (
        *SUBJECT,
        *columns("""\
position whole: from 1
rows whole: rows that stand there; under `ties=block` tied rows stand at the last of their positions
relevant float: relevant rows there; under `ties=expected` each of n tied rows, r of which are relevant, counts r / n
score_sum float: the sum of their scores; null where rows have ranks, or where a list of the model has a score beyond
    4.3e9 (2^32)
weight float: the sum of the weights of the rows (their number without `columns.weight`); tied rows share theirs evenly
n_groups whole: groups evaluated, with or without a row there
n_relevant whole: relevant rows of these groups, at any position or in no list"""),
    ),
    notes="""\
Of three rows of ann the first and the third are relevant, of two rows of bob the second, and one more row that bob's list
lacks. The rate is 1 / 2, 1 / 2 and 1 / 1. P@2 is (1 + 1) / (2 · 2) = 0.500, and R@2 of all groups together is
(1 + 1) / 4 = 0.500, where the mean of `r@2`, of 1 / 2 and 1 / 2, weighs ann and bob alike. At position 3 the rate is of
ann alone: a rate over positions compares lists of different lengths. It falls with the position also because users see
less of what stands below, so it is no measure of what they would have clicked there.""",
)
DISTRIBUTIONS = TableSchema(
    "distributions",
    "A row per model, slice value, metric of which a percentile is asked for, and value.",
    (
        *SUBJECT,
        *columns("""\
metric text: the metric of groups
rule text: `exact`, or beyond 65,536 distinct values `bits=16`: values that share 16 bits of their mantissa
block whole: the value's number, in the order of values
value float
groups whole: groups with that value"""),
    ),
)
ITEMS = TableSchema(
    "items",
    """\
A row per model, slice value, what is counted, and item, where a metric of all lists together is asked for, or
`output.popularity`.""",
    (
        *SUBJECT,
        *columns("""\
exposure text: the number of first positions that count, and other settings that matter: the least relevant label, the
    order of ties, a discount, or that a list counts an item once: `k=10`, `k=all,rel=3`, `k=10,discount=log2`,
    `k=10,once`. Attention to values also names the column, `k=10,discount=log2,by=brand`, and counts by part of the
    groups end in `,parts`; `catalog,by=catalog.brand` has the amounts due by the catalog (or `interactions,...`).
    `popularity` counts the rows of a day (or of its truth) with a label above 0; the model of these rows is an empty
    text
item text: the item as text; a value if values are counted, and for counts by part, the number of the part, a blank and
    the value
shown whole: the number of times that the item is shown there, in units of 2^-32, because each row of a tie block that
    `k` divides is shown in part
relevant whole: groups in which the item is relevant; for a value, the amount that it is due"""),
    ),
)
EXPOSURES = TableSchema(
    "exposures",
    """\
A row per model, slice value, `exposure_gap` and value of its column, by descending attention. If there are more than
1,000 values, all but the first 999 are pooled as `(other)`; the metric itself uses all values.""",
    (
        *SUBJECT,
        *columns("""\
metric text: the metric that compares the shares
value text: a value of the column, as text
exposure float: the value's share of the attention of all lists; null if no list shows any value
due float: the value's share of the relevant rows, or of the items or rows of `against`; null if no value is due any
    attention
ratio float: `exposure / due`: above 1 if the value gets more than it is due; null if it is due nothing
ci_low float: the lower end of the interval of `ratio`, by the jackknife over parts of the groups; null if no interval
    is valid
ci_high float: the other end
stderr float: the standard error of `ratio`"""),
    ),
)
PARTS = TableSchema(
    "parts",
    """\
A row per model, slice value, rule, part of the groups and score block; the standard errors of pooled metrics come from
these rows. A part is one of 64 sets of groups, by the hash of the group key or, if groups have clusters, of the
cluster. The sets are the same on every day; slice values have 16 parts.""",
    (
        *SUBJECT,
        *columns("""\
rule text: as in `blocks`, but coarse: `bits=6` if a metric has more bits; `bits=6 of ap` for the values of groups, if a
    percentile of `ap` is requested
part whole: from 0
block whole: as in `blocks`
pos whole: relevant rows
neg whole: other rows; for values of groups, groups
offset whole: as in `blocks`, 0 if no metric reads sums of scores"""),
    ),
    more=(
        "If rows have weights, these columns replace the last three:",
        columns("""\
pos limbs: the exact sum of the weights of relevant rows
neg limbs: the same of other rows
offset limbs: the same of weighted offsets
rows whole: rows, whatever their weight"""),
    ),
)
QUALITY = TableSchema(
    "quality",
    """\
A row per check. `groups without a scored row`, `groups of one class (label > 0)` and `groups with r@2 outside of its
range, 0 to 1` are counted among the groups in which the model is evaluated: the second once for each `rel` that metrics
name, the last for each metric that has a lowest and a highest value. `ndcg` of an `ideal` that labels may exceed has
`groups with ndcg(ideal=[3,2,1])@3 above 1, better than its ideal list` instead. `rows without a label` are those of
groups in which some model is evaluated. Rows with a score, and shares of these, are counted over all groups.""",
    columns("""\
check text: what is counted
model text: null where it concerns all models
count float: rows, groups, or rows per block
of text: the check whose count is the total; null if there is none
fraction float: `count` as a share of the total; null without a total, or if the total is 0
limit float: the upper limit of `fraction`, or of `count` if there is no fraction, or the least number of rows per
    block; null without a limit
ok flag: whether the limit is met; null without a limit
example text: for `truth in no list` or `relevant truth in no list` above its limit, a row of the lists and one of the
    truth without a match, as they are written (with the group if there is a group table); for one of the largest
    groups, its key, such as `user "anna"`, if it has 1,000 rows and there is a group table; else null
code text: the name of the check for programs, such as `truth_in_no_list`, the same for each level, metric and ideal
    that `check` names. It never changes; tables of older runs lack this column"""),
    notes="""\
`quality.limits` of the spec, or `limits=` of `sr.evaluate`, bounds any check by its name, as `truth in no list: 0.8`:
over the limit a run ends with exit code 4 and writes nothing. A limit is a share of the whole from 0 to 1. For `rows
read`, `groups` and `rows of the largest group`, which have no whole, it is a count, and for `rows per block` the least
count. A limit for `rows rejected` replaces `max_bad_fraction`. A name that is not a check, or a check that the run does
not count, is refused before anything is read.

Default limits stop nothing, but a run warns above them: 0 for scores that are not probabilities and for values outside
their range, 20 rows per block, and a limit for `truth in no list` and, if some of the truth is not relevant, for
`relevant truth in no list`. The last two are exceeded if more than half of the truth is in no list, and the lists have
hardly more of it than chance would give them. Chance gives a list of 10 rows 10 T / N of its T true items, where lists
and truth have N items; the lists must have less than twice as much, or less than that plus a tenth of the other truth
that would fit. Merged days have no count of items: their limit is 1, and a window warns only if nothing matches. The
limit does not depend on the day before: if lists suddenly have less of the truth, recall falls too, and a gate with
`not_worse_than: history` judges that fall with its error. The checks, whose names never change:

| check | of | counted |
|---|---|---|
| `rows read` | | always |
| `rows of truth` | `rows read` | with a truth or `true_items` |
| `rejected: null or NaN group key`, `rejected: NaN score`, `rejected: NaN or infinite label` | `rows read` | always |
| `rejected: label above 0 and below 1e-6` | `rows read` | with `dcg` or `cg`, whose gains are labels |
| `rejected: gain of a relevant row that is negative or so small that digits are lost` | `rows read` | with `gain=<column>`; small is below 1e-6, with `dcg` or `cg` |
| `rejected: label that the listed gains have not` | `rows read` | with `gain=[0,1,3,7]` |
| `rejected: NaN reference rank` | `rows read` | always; bounded where a metric reads reference ranks |
| `rejected: weight that is null, NaN, negative or above 1e288` | `rows read` | always; bounded with a weight |
| `rejected: weight above 0 and below 1e-15` | `rows read` | with a weight |
| `rejected: propensity that is null, NaN, below 1e-9 or above 1` | `rows read` | where a metric reads propensities: of relevant rows, or with `value` of all rows that have a label |
| `rejected: estimate that is null, NaN or beyond 4.3e9`, `rejected: policy estimate that is null, NaN or beyond 4.3e9` | `rows read` | with `value(by=dr)` |
| `rejected: group weight that is null, NaN, negative or above 1e9, or not the same in all rows of its group`, `rejected: group weight above 0 and below 1e-6` | `rows read` | where groups weigh by a column |
| `rejected: cluster that is not the same in all rows of its group` | `rows read` | where groups have clusters |
| `rejected: text that is no number` | `rows read` | in CSV and JSON, of days that older releases stored |
| `rejected: label beyond the last true item` | `rows read` | with `true_items` |
| `rejected: null item` | `rows read` | where rows are told apart by item |
| `rejected: value that is NaN, infinite or beyond 1e100` | `rows read` | where a metric reads a column as numbers |
| `rejected: array of numbers that is empty, all 0, not finite or of another length, or that has a null` | `rows read` | with `distance=cosine`; also where the array of a catalog has another length than most of its arrays |
| `rejected: rank that is no position` | `rows read` | with `positions=given` |
| `rows rejected`, `rows evaluated` | `rows read` | always |
| `rows joined with that of another model for the same group and item` | `rows read` | where the rows of models are apart |
| `rows with another label than that of the row they are joined with` | `rows read` | where the rows of models are apart, without a truth; above 0 it is not `ok` |
| `rows without a label, counted as not relevant` | `rows read` | with `unjudged=nonrelevant` |
| `rows without a label, dropped` | `rows read` | with `unjudged=drop` |
| `labels that are NaN in pandas, taken as not judged`, `reference ranks that are NaN in pandas, taken as none` | `rows read` | where rows come from pandas |
| `rows of a list without a cluster` | `rows read` | where groups have clusters; a single one stops the evaluation |
| `items of the catalog` | | with a catalog |
| `items that the catalog lacks` | `rows read` | with a catalog: rows of lists with such an item |
| `items that the interactions lack` | `rows read` | where the popularity of items is read: rows of lists with such an item |
| `rows of the interactions`, `rows of the pairs to exclude` | | where these are read; they are no `rows read` |
| `rows of the interactions without a group or an item` | `rows of the interactions` | where these are read; such rows are not used |
| `stored days of the interactions that are missing` | | with `interactions.states`; above 0 it needs `optional: true` |
| `groups of the interactions` | | where the popularity of items is read: those that have an item |
| `rows of the pairs to exclude without a group or an item` | `rows of the pairs to exclude` | where these are read; such rows are not used |
| `rows of the lists that the interactions have` | `rows read` | where interactions come to the groups, unless `exclude` names them |
| `rows of the truth that the history has` | `rows of truth` | as the check above, with a truth; up to the time of the list where both have a time |
| `rows of the truth before the list` | `rows of truth` | with times of lists and truth |
| `rows of the lists with a time` | `rows read` | with a time of the lists |
| `items listed before they were there` | the check above | with a time of the lists, and `since` of the catalog or a time of the interactions: rows of lists |
| `rows of the history after the list` | `rows of the interactions` | with times of lists and interactions: rows of groups that have a list, left out for it |
| `rows that the group had before` | `rows read` | with `exclude`: rows of lists that it leaves out |
| `rows of the truth that the group had before` | `rows of truth` | with `exclude` and a truth: rows of the truth that it leaves out |
| `rows without an item, counted in no coverage, gini or novelty` | `rows evaluated` | with one of these metrics, or `output.popularity` |
| `truth with a label, each item of a group once` | `rows of truth` | with a truth |
| `truth found in a list, its label given to the list row`, `truth in no list` | the check above | with a truth |
| `truth for which the lists of its group have rows` | `truth with a label, each item of a group once` | with a truth: more than that cannot be in a list |
| `pairs of a row of a list and truth of its group` | | with a truth: divided by the number of items, it is how much truth chance would give the lists |
| `truth given again for the same group and item`, `truth with a lower label than given elsewhere for the same group and item`, `truth without a label` | `rows of truth` | with a truth |
| `rows that only name their group` | `rows read` | with a truth |
| `relevant truth, each item of a group once (label > 0)` | `truth with a label, each item of a group once` | with a truth, for each level that a metric names |
| `relevant truth in no list (label > 0)` | the check above | with a truth, for each level that a metric names |
| `groups` | | always |
| `rows of the largest group`, `rows of the second largest group`, `rows of the third largest group` | | where rows are read; not of days that are merged |
| `most rows of one group` | `rows evaluated` | as these |
| `groups without truth`, `groups in the lists and in the truth` | `groups` | with a truth |
| `group keys with several lists, each of which is a group` | | with `true_items` |
| `rows read of the model` | `rows read` | of each model, where the rows of models are apart |
| `rows with a score` | `rows evaluated` | of each model |
| `rows with a score whose item is in the truth` | `rows with a score` | of each model, with a truth |
| `scores that are NaN in pandas, taken as not retrieved` | `rows read` | of each model, where rows come from pandas |
| `ratings that are NaN in pandas, whose items stand last in their list` | `rows read` | of each model, where arrays of items with ratings come from pandas |
| `scored rows in tie blocks` | `rows with a score` | of each model |
| `scored rows that repeat an item of their list` | `rows with a score` | of each model, where rows are told apart by item |
| `groups without a scored row`, `groups of one class (label > 0)` | `groups` | of each model, the latter for each level that a metric names |
| `groups evaluated that have no row in the lists, and so no weight` | `groups` | of each model, where groups weigh by a column |
| `groups evaluated that have no row in the lists, and so no cluster` | `groups` | of each model, where groups have clusters and there is a truth; a single one stops the evaluation |
| `most weight of one group in gauc` | `weight` | of each model and mean in which groups weigh differently; not of days that are merged |
| `effective sample size` | | of each model, where a metric weighs rows by propensity: (Σ v)² / Σ v² of their weights; of several such metrics the lowest; a limit is the least that is allowed |
| `largest weight by propensity` | | of each model, of the same rows; not of days that are merged |
| `weights clipped` | `weights` | of each model, of the same rows: how many have a weight that `clip` changes, in the metric with most |
| `mean weight of logged actions` | | of each model with `value`: the mean of score / propensity, which is about 1 if propensities are right |
| `standard errors between the mean weight of logged actions and 1` | | of each model with `value`; above 4 it is not ok, and a warning is due (`weights_not_one`) |
| `groups with r@2 outside of its range, 0 to 1` | `groups` | of each model and metric of groups that has such a range |
| `lists in which the order of tied rows decides err(ties=item)@10` | `groups` | of each model and metric that takes an order of tied rows because nobody asked for any |
| `rows with a score that have no price` | `rows with a score` | of each model, for each column of values that metrics read |
| `lists of fewer than 10 rows` | `groups` | of each model, for each cut-off of `personalization` |
| `values of slices left out of metrics and comparisons: fewer groups than least_groups.tables` | | where `least_groups.tables` is above 1 |
| `groups left out by population or unretrieved` | `groups` | of each model, where these leave some out |
| `scored rows whose score is no probability: logloss, ne, brier, ece, copc and value are undefined` | `rows with a score, of the groups evaluated` | of each model, with one of these metrics |
| `rows per block of auc_up: few mean a value near 1 by construction` | | of each model and metric `auc_up`, under its text |""",
)
GATES = TableSchema(
    "gates",
    """\
A row per gate of the spec and row of `metrics` that the gate checks, or should check if the row is missing
(docs/gates.md). A gate with `min` and `max` has two rows. Runs without `gates` in their spec have no such table.""",
    columns("""\
gate text: its `name`, or its text
kind text: `min`, `max`, `not_worse_than` (a model), `equivalent_to`, `history`
metric text: as in `metrics`; the pattern of the gate if no row matches
model slice slice_value text
value float: the value of the row in `metrics`; null if there is none
against text: for `not_worse_than` and `equivalent_to`, the baseline and its value; for `history`, the mean and the
    band; else null
bound float: the number that decides: that of `min` or `max`; the nearer end of the band, or the worse one; for
    `not_worse_than`, the least difference to the baseline that is good enough (the greatest if lower is better); for
    `equivalent_to`, the end of the margin that is nearer to being exceeded
ci_low float: the lower end of the interval that is compared with `bound`: for `not_worse_than` and `equivalent_to`,
    that of the difference, including the error of a margin that is a share; null without an interval. A history has a
    band instead, which includes the standard error of the day
ci_high float: the other end
p float: the one-sided p-value of the hypothesis that the true value is good enough; a small one supports `fail`. Null
    if there was no test
p_adjusted float: `p` after the gate's `correction` for all rows of the gate and `kind` that have a `p`
left_out whole: the number of slice values that the gate leaves out because they have fewer groups than
    `least_groups.gates`; equal in all rows of the gate
verdict text: `pass`, `fail` or `undecided`
reason text: a sentence
policy text: the consequence if the verdict is `undecided`: `fail`, `warn` or `pass`
accepted flag: whether a person has accepted the day although this verdict is not `pass`
accepted_reason text: the person's reason; null without an acceptance
from_now_on flag: whether a person has restarted the history of this row of `metrics` with the day
spec_hash text: as in `metrics`
run_id text: the run in `runs`"""),
)
# The columns of the numbers in each type of small state. Their names are unique among all types.
MEAN_NUMBERS = columns("""\
n_groups whole: of a mean: groups evaluated
n_undefined whole: of a mean: those where the metric is undefined
n_averaged whole: of a mean: groups in it
n_rows whole: of a mean: rows of the groups evaluated
w limbs: of a mean over groups with weight w and value v: Σ w
wv limbs: Σ wv
ww limbs: Σ w²
wwv limbs: Σ w²v
wwvv limbs: Σ w²v²""")
SUM_NUMBERS = columns("total limbs: of a sum over rows: its value")
COUNT_NUMBERS = columns("count whole: of a count")
PART = TableColumn("part", WHOLE, "of the states of parts: which part of the groups, from 0")
PART_MEAN_NUMBERS = columns("""\
part_w limbs: of a mean, of one part: Σ w
part_wv limbs: Σ wv""")
PART_SUM_NUMBERS = columns("part_total limbs: of a sum over rows, of one part: its value")
PAIR_NUMBERS = columns("""\
n_pairs whole: of a pair of models: groups where both are defined
n_above whole: of them, those where the candidate's value is the higher one
n_equal whole: those where both are equal, up to rounding
n_below whole: those where the baseline's value is the higher one
n_unpaired whole: groups where one of the two alone is defined
d limbs: with d the difference of candidate and baseline in a group: Σ d
dd limbs: Σ d²""")
SIZE_NUMBERS = columns("n_blocks whole: rows in the larger table")
RUN_ID = "run_id"
ATTEMPT_ID = "attempt_id"
STATES = TableSchema(
    "states",
    """\
A row per state, from which days merge: the means of metrics of groups (`mean`), sums over rows (`sum`), counts of
`quality` (`count`), the means and sums of each part of the groups (`part_mean`, `part_sum`), the differences of pairs of
models (`pair`), and how many rows the larger states have in `blocks`, `distributions`, `items` and `parts`. Sums are
exact: six columns of multiples of six units, which add up without rounding in any order.""",
    (
        *columns("""\
kind text: one of these kinds
version whole: the version of the meaning of the numbers: days of another version are refused
definition text: every setting written out
source text: the definition of a row, a group and a label: the columns, the condition, and `partition_types` if it is
    `text`
model text: empty if a count concerns all models
slice slice_value text
name text: the metric, sum, check, bin rule or exposure
run_id text: the run in `runs`; a merge refuses states of another run"""),
        *MEAN_NUMBERS,
        *SUM_NUMBERS,
        *COUNT_NUMBERS,
        *SIZE_NUMBERS,
        PART,
        *PART_MEAN_NUMBERS,
        *PART_SUM_NUMBERS,
        *PAIR_NUMBERS,
    ),
    notes="Columns that do not concern the kind are null.",
)
FILES = TableColumn(
    "files",
    pa.list_(pa.struct([("table", TEXT), ("name", TEXT), ("rows", WHOLE), ("bytes", WHOLE), ("checksum", TEXT)])),
    "what the run has written before this table: `table`, `name` of the file, its `rows`, `bytes` and `checksum` "
    "(SHA-256); null where the store of the output does not say. Every command that reads or copies a table refuses "
    "one that holds anything else",
)
DAY_RUNS = TableColumn(
    "day_runs",
    pa.list_(pa.struct([("day", TEXT), ("run_id", TEXT), ("started_at", TEXT)])),
    "for each of `days` the run whose states were merged, by its `run_id` and `started_at` in the table `runs` of the "
    "day. If the day has another run now, `sparkrank gate` of the window ends with 4 and its report warns; null in "
    "windows of earlier releases",
)
ATTEMPT = TableColumn(
    ATTEMPT_ID,
    TEXT,
    "what no other run has: the names of this run's files end in it, and their metadata of Parquet have it",
)
FROM_NOW_ON = "from_now_on"
ACCEPTED = columns("""\
accepted_at time: the time at which a person accepted the day although a gate had stopped it; null without an acceptance
accepted_reason text: the person's reason (`sparkrank accept`); null if `accepted_at` is null
from_now_on flag: whether the history of every value restarts with the day (`sparkrank accept --from-now-on`); null if
    `accepted_at` is null""")
RUNS = TableSchema(
    "runs",
    "One row: the last run of the day.",
    (
        *columns("""\
run_id text: the day, and twelve hex digits that are the same for the same spec: a rerun has the same ID"""),
        ATTEMPT,
        *columns("""\
status text: `done`; a run that fails leaves no tables
started_at time
lane text: `frame`, `scan` or `local`
lane_reason text: the reason why this lane was chosen
input text: the path or table, and those of the truth, of the tables of the past and of the catalog
rows whole: rows read
buckets whole
stages text: JSON: seconds of each stage before the tables were written
versions text: JSON: sparkrank, Spark, Python, numpy, pyarrow, and whether the driver had compiled loops; `loops of
    buckets` counts how often a loop or numpy served, where buckets were solved; `session` has the settings of the Spark
    session that reading depended on, if it did; `refused by the session` says what made the run slower, and why
spec_hash text: as in `metrics`
spec text: JSON: the spec with every default; `***` stands for hidden secrets
warnings text: JSON: the sentences about numbers that probably come from unsuitable input; null in days of earlier
    releases"""),
        *ACCEPTED,
        FILES,
    ),
    notes="""\
For a window, `days` and `days_missing` (lists of strings) and `day_runs` replace `lane`, `lane_reason`, `input` and
`buckets`. `day_runs` has, for each of `days`, the `run_id` and the `started_at` of the run whose states were
merged.""",
)
_OF_WINDOWS = ("rows", "stages", "versions", "spec_hash", "spec", "warnings")
WINDOW_RUNS = TableSchema(
    "runs",
    "One row: the last run of the window.",
    (
        *(column for column in RUNS.columns if column.name in ("run_id", ATTEMPT_ID, "status", "started_at")),
        *columns("""\
days texts: the days that were merged
days_missing texts: the days that were missing"""),
        DAY_RUNS,
        *(column for column in RUNS.columns if column.name in _OF_WINDOWS),
        *ACCEPTED,
        FILES,
    ),
)
