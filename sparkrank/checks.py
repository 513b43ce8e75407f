"""The names of everything that is counted on the way: what a bucket counts and the ``quality`` table prints."""

from __future__ import annotations

ROWS_READ = "rows read"
ROWS_EVALUATED = "rows evaluated"

# Reasons to reject a row, in the order in which they are looked for: a row counts under the first that holds.
NULL_KEY = "rejected: null or NaN group key"
NAN_SCORE = "rejected: NaN score"
BAD_LABEL = "rejected: NaN or infinite label"
NAN_REFERENCE = "rejected: NaN reference rank"
BAD_WEIGHT = "rejected: null, NaN, infinite or negative weight"
REJECTIONS = (NULL_KEY, NAN_SCORE, BAD_LABEL, NAN_REFERENCE, BAD_WEIGHT)
ROWS_REJECTED = "rows rejected"

UNJUDGED_ROWS = "rows without a label, counted as not relevant"
GROUPS = "groups"

# Of each model.
SCORED_ROWS = "rows with a score"
TIED_ROWS = "scored rows in tie blocks"
UNRETRIEVED_GROUPS = "groups without a scored row"
OUTSIDE_ROWS = "scored rows whose score is no probability: logloss, ne, brier, ece and copc are undefined"
ONE_CLASS_GROUPS = "groups of one class"
