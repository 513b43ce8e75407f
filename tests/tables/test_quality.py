"""The table ``quality``: what is counted on the way, as a share of what, and whether it is within its limit."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks

# User 1 has two tied scores, user 2 one class alone, user 3 no score; a row has no user and one a score of NaN.
LOG = pa.table(
    {
        "user": [1, 1, 1, 2, 2, 3, None, 4],
        "score": [0.75, 0.75, 0.25, 0.5, 1.5, None, 0.5, math.nan],
        "label": [1, 0, 0, 1, 1, 0, 1, 0],
    }
)
ROLES = {"group": "user", "score": "score", "label": "label"}


def told(evaluation: sr.Evaluation) -> dict[str, tuple]:
    rows = evaluation.quality.drop_columns(["example", "code"]).to_pylist()
    return {row["check"]: tuple(row.values())[1:] for row in rows}


def test_what_is_counted_and_as_a_share_of_what() -> None:
    metrics = ["rr", "auc", "logloss", "auc_up(digits=1)", "auc_up(digits=1,min_rows=2)"]
    found = told(sr.evaluate(LOG, metrics, max_bad_fraction=0.3, **ROLES))
    per_block = {name: row for name, row in found.items() if name.startswith("rows per block")}
    assert {name: row for name, row in found.items() if name not in per_block} == {
        checks.ROWS_READ: (None, 8, None, None, None, None),
        checks.NULL_KEY: (None, 1, checks.ROWS_READ, 1 / 8, None, None),
        checks.NAN_SCORE: (None, 1, checks.ROWS_READ, 1 / 8, None, None),
        checks.BAD_LABEL: (None, 0, checks.ROWS_READ, 0, None, None),
        checks.NAN_REFERENCE: (None, 0, checks.ROWS_READ, 0, None, None),
        checks.BAD_WEIGHT: (None, 0, checks.ROWS_READ, 0, None, None),
        checks.ROWS_REJECTED: (None, 2, checks.ROWS_READ, 2 / 8, 0.3, True),
        checks.ROWS_EVALUATED: (None, 6, checks.ROWS_READ, 6 / 8, None, None),
        checks.UNJUDGED_ROWS: (None, 0, checks.ROWS_READ, 0, None, None),
        checks.GROUPS: (None, 3, None, None, None, None),
        **{
            name: (None, size, None, None, None, None)
            for name, size in zip(checks.LARGEST_GROUPS, (3, 2, 1), strict=True)
        },
        checks.MOST_ROWS: (None, 3, checks.ROWS_EVALUATED, 3 / 6, None, None),
        checks.SCORED_ROWS: ("score", 5, checks.ROWS_EVALUATED, 5 / 6, None, None),
        checks.TIED_ROWS: ("score", 2, checks.SCORED_ROWS, 2 / 5, None, None),
        checks.UNRETRIEVED_GROUPS: ("score", 1, checks.GROUPS, 1 / 3, None, None),
        "groups of one class (label > 0)": ("score", 1, checks.GROUPS, 1 / 3, None, None),
        "groups with rr outside of its range, 0 to 1": ("score", 0, checks.GROUPS, 0, 0, True),
        checks.OUTSIDE_ROWS: ("score", 1, checks.SCORED_IN_GROUPS, 1 / 5, 0, False),  # 1.5 is no probability
    }
    # Blocks of one digit: 1.5, 0.8 with two rows, 0.5 and 0.2 or 0.3; joined to two rows: 1.5 with 0.8, and the rest.
    rows = [(name.split()[4].rstrip(":"), row[1:]) for name, row in per_block.items()]
    assert rows == [
        ("auc_up(digits=1)", (5 / 4, None, None, 20, False)),
        ("auc_up(digits=1,min_rows=2)", (5 / 2, None, None, 20, False)),
    ]


@pytest.mark.parametrize(("rows", "ok"), [(39, False), (40, True), (41, True)])
def test_blocks_of_twenty_rows_are_not_few(rows: int, ok: bool) -> None:
    log = pa.table({"user": [1] * rows, "score": [0.25, 0.75] * (rows // 2) + [0.25] * (rows % 2), "label": [1] * rows})
    (block,) = (row for row in sr.evaluate(log, ["auc_up"], **ROLES).quality.to_pylist() if row["limit"] == 20)
    assert (block["count"], block["ok"]) == (rows / 2, ok)


def test_more_bad_rows_than_are_allowed_are_refused() -> None:
    found = told(sr.evaluate(LOG, ["rr"], max_bad_fraction=0.25, **ROLES))
    assert found[checks.ROWS_REJECTED] == (None, 2, checks.ROWS_READ, 0.25, 0.25, True)
    with pytest.raises(sr.InputError, match=r"^25.0000% of the rows .*\(1 null or NaN group key, 1 NaN score\)"):
        sr.evaluate(LOG, ["rr"], max_bad_fraction=0.24, **ROLES)


def test_scores_that_are_no_probability_are_counted_where_groups_are_evaluated() -> None:
    """Of three rows with a score two are of user 1, who has a label; one of these is no probability."""
    log = pa.table({"user": [1, 1, 2], "score": [0.5, 1.5, 2.0], "label": pa.array([1, 0, None], pa.int64())})
    found = told(sr.evaluate(log, ["brier"], population="truth", **ROLES))
    assert found[checks.OUTSIDE_ROWS][1:4] == (1, checks.SCORED_IN_GROUPS, 1 / 2)
    assert found[checks.SCORED_ROWS][1] == 3
