"""The names of all checks (counts of rows, items or groups) in the ``quality`` table.

Every row that is read is rejected, evaluated, or counted by one of the checks in :data:`GONE`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# The code by which programs identify each check, whatever its name. If the name contains a level, a metric or an ideal,
# a pattern in _CODES_OF_FORMS gives the code. A code never changes.
CODES: dict[str, str] = {}
_CODES_OF_FORMS = (
    (re.compile(r"groups of one class \(.*\)", re.DOTALL), "groups_of_one_class"),
    (re.compile(r"relevant truth, each item of a group once \(.*\)", re.DOTALL), "relevant_truth"),
    (re.compile(r"relevant truth in no list \(.*\)", re.DOTALL), "relevant_truth_in_no_list"),
    (re.compile(r"groups with .* above [^ ]+, better than its ideal list", re.DOTALL), "values_above_ideal"),
    (re.compile(r"groups with .* outside of its range, .*", re.DOTALL), "values_outside_range"),
    (re.compile(r"rows with a score that have no .*", re.DOTALL), "rows_without_value"),
    (re.compile(r"relevant rows that have no .*", re.DOTALL), "relevant_rows_without_gain"),
    (re.compile(r"rows that have the label .*", re.DOTALL), "rows_with_label"),
    (re.compile(r"rows relevant by the label .*", re.DOTALL), "rows_among_label"),
    (re.compile(r"groups that have the label .* in all rows", re.DOTALL), "groups_checked"),
    (re.compile(r"rows per block of .*", re.DOTALL), "rows_per_block"),
    (re.compile(r"most weight of one group in .*", re.DOTALL), "most_weight_of_one_group"),
    (re.compile(r"lists of fewer than \d+ rows"), "lists_shorter"),
    (re.compile(r"lists in which the order of tied rows decides .*", re.DOTALL), "lists_decided_by_ties"),
)


def _check(code: str, sentence: str) -> str:
    CODES[sentence] = code
    return sentence


ROWS_READ = _check("rows_read", "rows read")
ROWS_EVALUATED = _check("rows_evaluated", "rows evaluated")
ROWS_REJECTED = _check("rows_rejected", "rows rejected")

# Reasons to reject a row, in the order in which they are tested: a row counts under the first reason that applies.
NO_NUMBER = _check("rejected_no_number", "rejected: text that is no number")  # in days stored by earlier releases
NULL_KEY = _check("rejected_null_group", "rejected: null or NaN group key")
NAN_SCORE = _check("rejected_nan_score", "rejected: NaN score")
BAD_LABEL = _check("rejected_bad_label", "rejected: NaN or infinite label")
SMALL_LABEL = _check("rejected_small_label", "rejected: label above 0 and below 1e-6")  # if dcg or cg adds labels up
NAN_REFERENCE = _check("rejected_nan_reference_rank", "rejected: NaN reference rank")
BAD_WEIGHT = _check("rejected_bad_weight", "rejected: weight that is null, NaN, negative or above 1e288")
SMALL_WEIGHT = _check("rejected_small_weight", "rejected: weight above 0 and below 1e-15")
BAD_PROPENSITY = _check(
    "rejected_bad_propensity", "rejected: propensity that is null, NaN, below 1e-9 or above 1"
)  # of a relevant row, or of a logged action
BAD_ESTIMATE = _check("rejected_bad_estimate", "rejected: estimate that is null, NaN or beyond 4.3e9")
BAD_POLICY_ESTIMATE = _check(
    "rejected_bad_policy_estimate", "rejected: policy estimate that is null, NaN or beyond 4.3e9"
)
BEYOND_TRUE_ITEMS = _check("rejected_label_beyond_true_items", "rejected: label beyond the last true item")
NULL_ITEM = _check("rejected_null_item", "rejected: null item")  # if items distinguish rows
BAD_RANK = _check("rejected_bad_rank", "rejected: rank that is no position")  # if ranks are positions
BAD_GROUP_WEIGHT = _check(
    "rejected_bad_group_weight",
    "rejected: group weight that is null, NaN, negative or above 1e9, or not the same in all rows of its group",
)
SMALL_GROUP_WEIGHT = _check("rejected_small_group_weight", "rejected: group weight above 0 and below 1e-6")
BAD_VALUE = _check("rejected_bad_value", "rejected: value that is NaN, infinite or beyond 1e100")
BAD_VECTOR = _check(
    "rejected_bad_vector",
    "rejected: array of numbers that is empty, all 0, not finite or of another length, or that has a null",
)
BAD_GAIN = _check(
    "rejected_bad_gain", "rejected: gain of a relevant row that is negative or so small that digits are lost"
)
NO_GAIN = _check("rejected_label_without_gain", "rejected: label that the listed gains have not")
SEVERAL_CLUSTERS = _check(
    "rejected_several_clusters", "rejected: cluster that is not the same in all rows of its group"
)
REJECTIONS = tuple(check for check in CODES if check.startswith("rejected: "))

# Counted if the rows came from pandas.
NAN_LABELS = _check("nan_labels_of_pandas", "labels that are NaN in pandas, taken as not judged")
NAN_REFERENCE_OF_PANDAS = _check(
    "nan_reference_ranks_of_pandas", "reference ranks that are NaN in pandas, taken as none"
)
NAN_OF_PANDAS = _check("nan_scores_of_pandas", "scores that are NaN in pandas, taken as not retrieved")
NAN_RATINGS = _check("nan_ratings_of_pandas", "ratings that are NaN in pandas, whose items stand last in their list")

# If interactions are read. Their rows are not counted among the rows read, and may be many times as many.
PAST_ROWS = {
    "interactions": _check("interactions", "rows of the interactions"),
    "exclude": _check("pairs_to_exclude", "rows of the pairs to exclude"),
}
PAST_WITHOUT_PAIR = {
    "interactions": _check("interactions_without_pair", "rows of the interactions without a group or an item"),
    "exclude": _check("pairs_to_exclude_without_pair", "rows of the pairs to exclude without a group or an item"),
}
PAST_GROUPS = _check("groups_of_interactions", "groups of the interactions")
DAYS_WITHOUT_POPULARITY = _check("days_without_popularity", "stored days of the interactions that are missing")
# Rows of lists that are also in a table of the past, if the rows are kept.
ROWS_IN_PAST = _check("rows_in_interactions", "rows of the lists that the interactions have")
EXCLUDED_ROWS = _check("rows_excluded", "rows that the group had before")
EXCLUDED_TRUTH = _check("truth_excluded", "rows of the truth that the group had before")

TRUTH_IN_PAST = _check("truth_in_interactions", "rows of the truth that the history has")

# If lists have a time. An item is in a list too early if it appeared in the catalog or the interactions only later.
LIST_TIMES = _check("rows_of_lists_with_time", "rows of the lists with a time")
EARLY_TRUTH = _check("truth_before_list", "rows of the truth before the list")
EARLY_ITEMS = _check("items_listed_early", "items listed before they were there")
LATE_PAST = _check("interactions_after_list", "rows of the history after the list")

# If each row has the score of one model.
MODEL_ROWS = _check("rows_read_of_model", "rows read of the model")
ROWS_JOINED = _check("rows_of_other_models", "rows joined with that of another model for the same group and item")
LABELS_DIFFER = _check("labels_of_models_differ", "rows with another label than that of the row they are joined with")

# If columns of items are looked up. An item that the table lacks counts once for each row of the lists.
CATALOG_ITEMS = _check("items_of_catalog", "items of the catalog")
LACKING_ITEMS = {
    "catalog": _check("items_not_in_catalog", "items that the catalog lacks"),
    "interactions": _check("items_not_in_interactions", "items that the interactions lack"),
}

UNJUDGED_ROWS = _check("rows_without_label", "rows without a label, counted as not relevant")
UNJUDGED_DROPPED = _check("rows_without_label_dropped", "rows without a label, dropped")
GROUPS = _check("groups", "groups")
LARGEST_GROUPS = (
    _check("largest_group", "rows of the largest group"),
    _check("second_largest_group", "rows of the second largest group"),
    _check("third_largest_group", "rows of the third largest group"),
)
MOST_ROWS = _check("most_rows_of_one_group", "most rows of one group")
SEVERAL_LISTS = _check("group_keys_with_several_lists", "group keys with several lists, each of which is a group")
NULL_CLUSTER = _check("rows_without_cluster", "rows of a list without a cluster")
CLUSTERLESS_GROUPS = _check(
    "groups_without_cluster", "groups evaluated that have no row in the lists, and so no cluster"
)
ITEMLESS_ROWS = _check("rows_without_item", "rows without an item, counted in no coverage, gini or novelty")

# If lists and truth are joined.
TRUTH_ROWS = _check("truth_rows", "rows of truth")
TRUTH_ITEMS = _check("truth_items", "truth with a label, each item of a group once")
TRUTH_LISTED = _check("truth_in_a_list", "truth found in a list, its label given to the list row")
TRUTH_UNLISTED = _check("truth_in_no_list", "truth in no list")
TRUTH_REPEATED = _check("truth_repeated", "truth given again for the same group and item")
TRUTH_OVERRULED = _check("truth_overruled", "truth with a lower label than given elsewhere for the same group and item")
TRUTH_UNLABELLED = _check("truth_without_label", "truth without a label")
TRUTH_ROOM = _check("truth_with_room_in_lists", "truth for which the lists of its group have rows")
TRUTH_PAIRS = _check("pairs_of_list_and_truth", "pairs of a row of a list and truth of its group")
GROUP_ONLY = _check("rows_only_of_group", "rows that only name their group")
GROUPS_WITHOUT_TRUTH = _check("groups_without_truth", "groups without truth")
GROUPS_JOINED = _check("groups_joined", "groups in the lists and in the truth")
JOINED = (
    TRUTH_LISTED,
    TRUTH_UNLISTED,
    TRUTH_ROOM,
    TRUTH_PAIRS,
    TRUTH_REPEATED,
    TRUTH_OVERRULED,
    TRUTH_UNLABELLED,
    GROUP_ONLY,
)

# Checks of rows that are read but are not rejected and not evaluated.
GONE = (
    ROWS_JOINED,
    EXCLUDED_ROWS,
    EXCLUDED_TRUTH,
    TRUTH_LISTED,
    TRUTH_REPEATED,
    TRUTH_UNLABELLED,
    GROUP_ONLY,
    UNJUDGED_DROPPED,
)

# For each model.
SCORED_ROWS = _check("rows_with_score", "rows with a score")
SCORED_IN_GROUPS = _check("rows_with_score_of_groups", "rows with a score, of the groups evaluated")
ROWS_IN_TRUTH = _check("rows_with_score_in_truth", "rows with a score whose item is in the truth")
TIED_ROWS = _check("tied_rows", "scored rows in tie blocks")
REPEATED_ROWS = _check("repeated_rows", "scored rows that repeat an item of their list")
UNRETRIEVED_GROUPS = _check("groups_without_scored_row", "groups without a scored row")
OUTSIDE_ROWS = _check(
    "scores_no_probability",
    "scored rows whose score is no probability: logloss, ne, brier, ece, copc and value are undefined",
)
# If rows are weighed by propensity: relevant rows, or logged actions. If a row has several weights, the worst counts.
EFFECTIVE_SIZE = _check("effective_sample_size", "effective sample size")
LARGEST_WEIGHT = _check("largest_weight_by_propensity", "largest weight by propensity")
CLIPPED_WEIGHTS = _check("clipped_weights", "weights clipped")
MEAN_WEIGHT = _check("mean_weight", "mean weight of logged actions")
ERRORS_FROM_ONE = _check(
    "standard_errors_of_mean_weight", "standard errors between the mean weight of logged actions and 1"
)
WEIGHTLESS_GROUPS = _check("groups_without_weight", "groups evaluated that have no row in the lists, and so no weight")
GROUPS_LEFT_OUT = _check("groups_left_out", "groups left out by population or unretrieved")
SMALL_SLICES = _check(
    "slice_values_left_out",
    "values of slices left out of metrics and comparisons: fewer groups than least_groups.tables",
)

# A check above its limit here is not ``ok``, but the run continues.
LIMITS: Mapping[str, float] = {OUTSIDE_ROWS: 0.0, LABELS_DIFFER: 0.0, ERRORS_FROM_ONE: 4.0}
# Even the lists of ten of a good recommender may contain less than half of the truth. But if most of the truth is in no
# list, and the lists contain no more of it than chance would give, a warning is due even if no limit was set.
MOST_UNLISTED = 0.5
TIMES_CHANCE = 2.0  # lists contain more truth than chance gives if they have this multiple of it,
OF_THE_ROOM = 0.1  # or the truth by chance plus this share of the other truth that fits, if that is less


@dataclass(frozen=True)
class Limits:
    """Limits: the largest share of rows that may be rejected (``bad``), and a share or a count for each check."""

    bad: float = 0.0
    by_check: Mapping[str, float] = field(default_factory=dict)


NO_LIMITS = Limits()


def code_of(check: str) -> str | None:
    """Return the code of ``check`` for programs, or None if it has none, as for a check defined outside of the package.

    Examples
    --------
    >>> code_of("truth in no list"), code_of("groups of one class (label >= 2)")
    ('truth_in_no_list', 'groups_of_one_class')
    """
    known = CODES.get(check)
    return known or next((code for form, code in _CODES_OF_FORMS if form.fullmatch(check)), None)


def all_codes() -> tuple[str, ...]:
    return (*CODES.values(), *(code for _, code in _CODES_OF_FORMS))


def one_class_groups(level: str) -> str:
    """Return the name of the check for groups whose rows all meet ``level`` (as ``label > 0``) or all fail it."""
    return f"groups of one class ({level})"


def without_value(column: str) -> str:
    """Return the name of the check for rows with a score but no value in ``column``, which a metric reads."""
    return f"rows with a score that have no {column}"


def without_gain(column: str) -> str:
    """Return the name of the check for relevant rows, also outside the lists, without a gain in ``column``."""
    return f"relevant rows that have no {column}"


def with_label(label: str) -> str:
    """Return the name of the check for rows (of the lists or of the truth) whose ``label`` is not null.

    It is counted only if metrics read several labels.
    """
    return f"rows that have the label {label}"


def among_label(label: str) -> str:
    """Return the name of the check for rows (or rows of the truth) that a metric with ``among`` the ``label`` keeps."""
    return f"rows relevant by the label {label}"


def checked_groups(label: str) -> str:
    """Return the name of the check for the groups whose rows all have ``label``, which checks another label."""
    return f"groups that have the label {label} in all rows"


def above_ideal(metric: object, ideal: float) -> str:
    """Return the name of the check for groups whose ``metric`` is above ``ideal``, the value of the ideal list."""
    return f"groups with {metric} above {ideal:g}, better than its ideal list"


def most_weight(metric: str) -> str:
    """Return the name of the check for the largest weight of any single group in the mean of ``metric``."""
    return f"most weight of one group in {metric}"


def relevant_truth(level: str) -> str:
    """Return the name of the check for items of the truth, once per group, with a ``level`` such as ``label > 0``."""
    return f"relevant truth, each item of a group once ({level})"


def relevant_unlisted(level: str) -> str:
    """Return the name of the check for items of the truth in no list, with a ``level`` such as ``label > 0``."""
    return f"relevant truth in no list ({level})"


def short_lists(k: int) -> str:
    """Return the name of the check for lists that have no row at position ``k``."""
    return f"lists of fewer than {k} rows"


def decided_by_ties(metric: object) -> str:
    """Return the name of the check for lists whose value of ``metric`` depends on the order of tied rows."""
    return f"lists in which the order of tied rows decides {metric}"


def outside_range(metric: object, low: float, high: float) -> str:
    """Return the name of the check for groups whose ``metric`` is not from ``low`` to ``high``."""
    return f"groups with {metric} outside of its range, {low:g} to {high:g}"
