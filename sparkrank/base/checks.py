"""The names of all checks: what a bucket counts and the table ``quality`` has.

Every row read is rejected, evaluated, or gone for one of the reasons in :data:`GONE`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ROWS_READ = "rows read"
ROWS_EVALUATED = "rows evaluated"

# Reasons to reject a row, in the order in which they are looked for: a row counts under the first that holds.
NO_NUMBER = "rejected: text that is no number"  # of days that were stored before such texts stopped the job
NULL_KEY = "rejected: null or NaN group key"
NAN_SCORE = "rejected: NaN score"
BAD_LABEL = "rejected: NaN or infinite label"
SMALL_LABEL = "rejected: label above 0 and below 1e-6"  # looked for where dcg or cg adds up labels
NAN_REFERENCE = "rejected: NaN reference rank"
BAD_WEIGHT = "rejected: weight that is null, NaN, negative or above 1e288"
SMALL_WEIGHT = "rejected: weight above 0 and below 1e-15"  # looked for where rows have weights
BEYOND_TRUE_ITEMS = "rejected: label beyond the last true item"  # looked for where labels are arrays
BAD_GROUP_WEIGHT = (
    "rejected: group weight that is null, NaN, negative or above 1e9, or not the same in all rows of its group"
)
# Looked for where groups weigh by a column.
SMALL_GROUP_WEIGHT = "rejected: group weight above 0 and below 1e-6"
SEVERAL_CLUSTERS = "rejected: cluster that is not the same in all rows of its group"  # looked for where there are any
NULL_ITEM = "rejected: null item"  # looked for where rows are told apart by their item
BAD_RANK = "rejected: rank that is no position"  # looked for where ranks are positions
REJECTIONS = (
    NO_NUMBER,
    NULL_KEY,
    NAN_SCORE,
    BAD_LABEL,
    SMALL_LABEL,
    NAN_REFERENCE,
    BAD_WEIGHT,
    SMALL_WEIGHT,
    BEYOND_TRUE_ITEMS,
    NULL_ITEM,
    BAD_RANK,
    BAD_GROUP_WEIGHT,
    SMALL_GROUP_WEIGHT,
    SEVERAL_CLUSTERS,
)
ROWS_REJECTED = "rows rejected"

# Looked for where the rows came from pandas.
NAN_LABELS = "labels that are NaN in pandas, taken as not judged"
NAN_REFERENCE_OF_PANDAS = "reference ranks that are NaN in pandas, taken as none"

UNJUDGED_ROWS = "rows without a label, counted as not relevant"
GROUPS = "groups"
NULL_CLUSTER = "rows of a list without a cluster"
CLUSTERLESS_GROUPS = "groups evaluated that have no row in the lists, and so no cluster"
LARGEST_GROUPS = ("rows of the largest group", "rows of the second largest group", "rows of the third largest group")
MOST_ROWS = "most rows of one group"
SEVERAL_LISTS = "group keys with several lists, each of which is a group"
ITEMLESS_ROWS = "rows without an item, counted in no coverage, gini or novelty"

# Where lists and truth are joined.
TRUTH_ROWS = "rows of truth"
TRUTH_ITEMS = "truth with a label, each item of a group once"
TRUTH_LISTED = "truth found in a list, its label given to the list row"
TRUTH_UNLISTED = "truth in no list"
TRUTH_REPEATED = "truth given again for the same group and item"
TRUTH_OVERRULED = "truth with a lower label than given elsewhere for the same group and item"
TRUTH_UNLABELLED = "truth without a label"
GROUP_ONLY = "rows that only name their group"
JOINED = (TRUTH_LISTED, TRUTH_UNLISTED, TRUTH_REPEATED, TRUTH_OVERRULED, TRUTH_UNLABELLED, GROUP_ONLY)
GROUPS_WITHOUT_TRUTH = "groups without truth"
GROUPS_JOINED = "groups in the lists and in the truth"

UNJUDGED_DROPPED = "rows without a label, dropped"

# Rows that are read and neither rejected nor evaluated.
GONE = (TRUTH_LISTED, TRUTH_REPEATED, TRUTH_UNLABELLED, GROUP_ONLY, UNJUDGED_DROPPED)

# Of each model.
SCORED_ROWS = "rows with a score"
NAN_OF_PANDAS = "scores that are NaN in pandas, taken as not retrieved"
NAN_RATINGS = "ratings that are NaN in pandas, whose items stand last in their list"
SCORED_IN_GROUPS = "rows with a score, of the groups evaluated"
ROWS_IN_TRUTH = "rows with a score whose item is in the truth"
TIED_ROWS = "scored rows in tie blocks"
REPEATED_ROWS = "scored rows that repeat an item of their list"
UNRETRIEVED_GROUPS = "groups without a scored row"
OUTSIDE_ROWS = "scored rows whose score is no probability: logloss, ne, brier, ece and copc are undefined"
WEIGHTLESS_GROUPS = "groups evaluated that have no row in the lists, and so no weight"
GROUPS_LEFT_OUT = "groups left out by population or unretrieved"
SMALL_SLICES = "values of slices left out of metrics and comparisons: fewer groups than least_groups.tables"

# Over these a check is not ``ok``, which stops nothing. Lists of ten hold less than half of the truth of many a good
# recommender; that lists and truth hardly meet has to be said all the same where nobody has set the limit.
MOST_UNLISTED = 0.5
LIMITS: Mapping[str, float] = {TRUTH_UNLISTED: MOST_UNLISTED, OUTSIDE_ROWS: 0.0}


@dataclass(frozen=True)
class Limits:
    """Limits of the input, beyond which nothing is written.

    ``bad`` is the share of rows that may be rejected. ``by_check`` has the most of each check that was asked for, as a
    share of its whole, or as a count where it has none.
    """

    bad: float = 0.0
    by_check: Mapping[str, float] = field(default_factory=dict)


NO_LIMITS = Limits()


# The code of each check, by which programs know it whatever its sentence says; of those that name a level, a metric or
# an ideal, by the words before that. A code never changes.
CODES: Mapping[str, str] = {
    ROWS_READ: "rows_read",
    ROWS_EVALUATED: "rows_evaluated",
    ROWS_REJECTED: "rows_rejected",
    NO_NUMBER: "rejected_no_number",
    NULL_KEY: "rejected_null_group",
    NAN_SCORE: "rejected_nan_score",
    BAD_LABEL: "rejected_bad_label",
    SMALL_LABEL: "rejected_small_label",
    NAN_REFERENCE: "rejected_nan_reference_rank",
    BAD_WEIGHT: "rejected_bad_weight",
    SMALL_WEIGHT: "rejected_small_weight",
    BEYOND_TRUE_ITEMS: "rejected_label_beyond_true_items",
    BAD_GROUP_WEIGHT: "rejected_bad_group_weight",
    SMALL_GROUP_WEIGHT: "rejected_small_group_weight",
    SEVERAL_CLUSTERS: "rejected_several_clusters",
    NULL_ITEM: "rejected_null_item",
    BAD_RANK: "rejected_bad_rank",
    NAN_LABELS: "nan_labels_of_pandas",
    NAN_REFERENCE_OF_PANDAS: "nan_reference_ranks_of_pandas",
    NAN_OF_PANDAS: "nan_scores_of_pandas",
    NAN_RATINGS: "nan_ratings_of_pandas",
    UNJUDGED_ROWS: "rows_without_label",
    UNJUDGED_DROPPED: "rows_without_label_dropped",
    GROUPS: "groups",
    **dict(zip(LARGEST_GROUPS, ("largest_group", "second_largest_group", "third_largest_group"), strict=True)),
    MOST_ROWS: "most_rows_of_one_group",
    SEVERAL_LISTS: "group_keys_with_several_lists",
    NULL_CLUSTER: "rows_without_cluster",
    CLUSTERLESS_GROUPS: "groups_without_cluster",
    ITEMLESS_ROWS: "rows_without_item",
    TRUTH_ROWS: "truth_rows",
    TRUTH_ITEMS: "truth_items",
    TRUTH_LISTED: "truth_in_a_list",
    TRUTH_UNLISTED: "truth_in_no_list",
    TRUTH_REPEATED: "truth_repeated",
    TRUTH_OVERRULED: "truth_overruled",
    TRUTH_UNLABELLED: "truth_without_label",
    GROUP_ONLY: "rows_only_of_group",
    GROUPS_WITHOUT_TRUTH: "groups_without_truth",
    GROUPS_JOINED: "groups_joined",
    SCORED_ROWS: "rows_with_score",
    SCORED_IN_GROUPS: "rows_with_score_of_groups",
    ROWS_IN_TRUTH: "rows_with_score_in_truth",
    TIED_ROWS: "tied_rows",
    REPEATED_ROWS: "repeated_rows",
    UNRETRIEVED_GROUPS: "groups_without_scored_row",
    OUTSIDE_ROWS: "scores_no_probability",
    WEIGHTLESS_GROUPS: "groups_without_weight",
    GROUPS_LEFT_OUT: "groups_left_out",
    SMALL_SLICES: "slice_values_left_out",
}
_CODES_OF_FORMS = (
    (re.compile(r"groups of one class \(.*\)", re.DOTALL), "groups_of_one_class"),
    (re.compile(r"relevant truth, each item of a group once \(.*\)", re.DOTALL), "relevant_truth"),
    (re.compile(r"relevant truth in no list \(.*\)", re.DOTALL), "relevant_truth_in_no_list"),
    (re.compile(r"groups with .* above [^ ]+, better than its ideal list", re.DOTALL), "values_above_ideal"),
    (re.compile(r"groups with .* outside of its range, .*", re.DOTALL), "values_outside_range"),
    (re.compile(r"rows per block of .*", re.DOTALL), "rows_per_block"),
    (re.compile(r"most weight of one group in .*", re.DOTALL), "most_weight_of_one_group"),
)


def code_of(check: str) -> str | None:
    """The code of a ``check``; None for a check without one, as that of a role from outside the package.

    Examples
    --------
    >>> code_of("truth in no list"), code_of("groups of one class (label >= 2)")
    ('truth_in_no_list', 'groups_of_one_class')
    """
    known = CODES.get(check)
    return known or next((code for form, code in _CODES_OF_FORMS if form.fullmatch(check)), None)


def all_codes() -> tuple[str, ...]:
    """The codes of all checks."""
    return (*CODES.values(), *(code for _, code in _CODES_OF_FORMS))


def one_class_groups(level: str) -> str:
    """Groups evaluated whose list has no relevant row, or no other, at a ``level`` of the labels."""
    return f"groups of one class ({level})"


def above_ideal(metric: object, ideal: float) -> str:
    """Groups whose list is better than the ideal that ``metric`` names: labels may exceed it."""
    return f"groups with {metric} above {ideal:g}, better than its ideal list"


def most_weight(metric: str) -> str:
    """The largest weight that a group has in the mean of ``metric``."""
    return f"most weight of one group in {metric}"


def relevant_truth(level: str) -> str:
    """Truth that is relevant at a ``level`` of the labels."""
    return f"relevant truth, each item of a group once ({level})"


def relevant_unlisted(level: str) -> str:
    """Relevant truth in no list, at a ``level`` of the labels."""
    return f"relevant truth in no list ({level})"


def outside_range(metric: object, low: float, high: float) -> str:
    """Groups with a value that ``metric`` cannot have, as when a list is credited twice for an item."""
    return f"groups with {metric} outside of its range, {low:g} to {high:g}"
