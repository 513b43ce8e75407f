"""The table of positions: by hand, as sums of what ``p@k`` means, and the same bits in any order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank import native
from sparkrank.base.errors import SpecError

COLUMNS: dict[str, Any] = {"group": "user", "label": "label"}
# a: one relevant row, two tied ones of which the heavier is relevant, one more; b: two rows; c: a row that no list has
LOG = pa.table(
    {
        "user": ["a", "a", "a", "a", "b", "b", "c"],
        "score": [0.75, 0.5, 0.5, 0.25, 0.5, 0.25, None],
        "label": [2, 0, 1, 0, 1, 0, 1],
        "weight": [1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 1.0],
        "rank": pa.array([1, 2, 2, 9, 1, 3, None]),
    }
)


def rows_of(log: pa.Table = LOG, metrics: tuple[str, ...] = ("rr",), depth: int = 3, **asked: Any) -> list[tuple]:
    """The position, rows, relevant rows, sum of scores, weight, groups and relevant rows of all."""
    given = {"score": "score", **COLUMNS, **asked}
    table = sr.evaluate(log, metrics, position_depth=depth, uncertainty=False, **given).positions
    assert table is not None
    return [tuple(row.values())[3:] for row in table.to_pylist()]


def test_positions_by_hand() -> None:
    """The tied rows of a share one relevant row, and a weight of 1 + 3; of c no row has a position."""
    assert rows_of(weight="weight", metrics=("auc",)) == [
        (1, 2, 1 + 1, 0.75 + 0.5, 1 + 1, 3, 4),
        (2, 2, 1 / 2 + 0, 0.5 + 0.25, (1 + 3) / 2 + 1, 3, 4),
        (3, 1, 1 / 2, 0.5, (1 + 3) / 2, 3, 4),
    ]
    assert rows_of(depth=9)[3:] == [(4, 1, 0, 0.25, 1, 3, 4)]  # without weights their number; deeper there is no row
    assert [row[2] for row in rows_of(ties="worst")] == [2, 0, 1]
    assert [row[2] for row in rows_of(ties="best")] == [2, 1, 0]
    assert [row[:3] for row in rows_of(ties="block")] == [(1, 2, 2), (2, 1, 0), (3, 2, 1)]
    assert rows_of(metrics=("rr(rel=2)",))[0] == (1, 2, 1, 1.25, 2, 3, 1)  # the level that all metrics share
    assert rows_of(metrics=("rr(rel=2)", "ap"))[0][2] == 2
    assert [row[5:] for row in rows_of(population="lists")] == [(2, 3)] * 3


def test_groups_that_are_left_out_have_no_rows_and_truth_in_no_list_is_relevant() -> None:
    """Of a, y is found and z is not; d has no truth, and a score too far to be added."""
    lists = pa.table({"user": ["a", "a", "d"], "item": ["x", "y", "x"], "score": [2.0, 1.0, 1e10]})
    truth = pa.table({"user": ["a", "a"], "item": ["y", "z"]})
    asked = {"truth": truth, "item": "item", "label": None}
    assert rows_of(lists, population="truth", **asked) == [(1, 1, 0, 2, 1, 1, 2), (2, 1, 1, 1, 1, 1, 2)]
    assert rows_of(lists, **asked)[0] == (1, 2, 0, None, 2, 2, 2)


def test_given_positions_have_gaps_and_no_scores() -> None:
    rows = rows_of(score=None, rank="rank", positions="given", depth=9)
    assert rows == [
        (1, 2, 2, None, 2, 3, 4),
        (2, 2, 1, None, 2, 3, 4),
        (3, 1, 0, None, 1, 3, 4),
        (9, 1, 0, None, 1, 3, 4),
    ]


@pytest.mark.parametrize("far", [1e10, -np.inf])
def test_scores_too_far_to_be_added_leave_their_sums_out(far: float) -> None:
    """Of the model that has one at any position, in the slice value where it stands and in the whole day."""
    log = LOG.append_column("other", pa.array([*LOG["score"].to_pylist()[:5], far, None]))
    ev = sr.evaluate(log, ["rr"], score={"s": "score", "o": "other"}, slices=["user"],
                     position_depth=1, **COLUMNS)  # fmt: skip
    assert ev.positions is not None
    sums = {(row["model"], row["slice_value"]): row["score_sum"] for row in ev.positions.to_pylist()}
    whole = 0.75 + 0.5
    assert sums == {("s", "all"): whole, ("s", "a"): 0.75, ("s", "b"): 0.5,
                    ("o", "all"): None, ("o", "a"): 0.75, ("o", "b"): None}  # fmt: skip


def test_a_model_without_a_list_has_no_position() -> None:
    empty = LOG.set_column(1, "score", pa.nulls(len(LOG), pa.float64()))
    assert rows_of(empty) == []


def test_metrics_of_other_labels_add_nothing() -> None:
    log = LOG.append_column("paid", LOG["label"])
    both = {"label": {"click": "label", "pay": "paid"}}
    assert rows_of(log, ("rr", "ap(label=pay)", "rr(among=pay)"), **both) == rows_of()


def random_log(seed: int) -> pa.Table:
    """Lists of 0 to 9 rows, with ties, repeated items, and labels from 0 to 2."""
    draw = np.random.default_rng(seed)
    user = np.repeat(np.arange(40), draw.integers(1, 10, 40))
    score = pa.array(draw.integers(0, 5, len(user)) / 4, mask=draw.random(len(user)) < 0.1)
    return pa.table(
        {
            "user": user,
            "item": draw.integers(0, 12, len(user)).astype(str),
            "score": score,
            "label": draw.integers(0, 3, len(user)) // 2,
            "weight": draw.exponential(1, len(user)),
            "kind": draw.choice(["x", "y"], len(user)),
        }
    )


@pytest.mark.parametrize(
    "how", [{}, {"duplicates": "once"}, {"ties": "worst"}, {"ties": "item"}, {"ties": "block"}, {"unretrieved": "skip"}]
)
def test_relevant_rows_to_k_are_k_times_precision(how: dict[str, str]) -> None:
    """Added up to k, over k and the groups, they are the mean of p@k; over all relevant rows, weighted means of r@k."""
    metrics = [f"{name}@{k}" for k in range(1, 9) for name in ("p", "r(weight=relevant)")]
    ev = sr.evaluate(random_log(3), metrics, item="item", score="score", slices=["kind"], position_depth=8,
                     uncertainty=False, **COLUMNS, **how)  # fmt: skip
    assert ev.positions is not None
    rows = ev.positions.to_pylist()
    assert {row["slice_value"] for row in rows} == {"all", "x", "y"}
    for value in ("all", "x", "y"):
        own = [row for row in rows if row["slice_value"] == value]
        slice_ = None if value == "all" else f"kind={value}"
        for k in range(1, 9):
            hits = sum(row["relevant"] for row in own if row["position"] <= k)
            assert hits / (k * own[0]["n_groups"]) == pytest.approx(ev.value(f"p@{k}", slice=slice_), abs=1e-12)
            recall = ev.value(f"r(weight=relevant)@{k}", slice=slice_)
            assert hits / own[0]["n_relevant"] == pytest.approx(recall, abs=1e-12)


@pytest.mark.parametrize("ties", ["expected", "worst"])
def test_no_order_of_rows_and_no_bucket_changes_a_bit(ties: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order the tied rows with other weights come in, with compiled loops and without."""
    log = random_log(5).drop_columns(["item"])
    draw = np.random.default_rng(6)
    asked = {"metrics": ("auc",), "weight": "weight", "slices": ["kind"], "depth": 8, "ties": ties}
    expected = rows_of(log, **asked)
    assert len(expected) > 8
    assert rows_of(log.take(draw.permutation(len(log))), buckets=7, **asked) == expected
    monkeypatch.setattr(native, "COMPILED", False)
    assert rows_of(log.take(draw.permutation(len(log))), buckets=2, **asked) == expected


def test_what_has_no_positions_is_refused() -> None:
    for asked, sentence in (
        ({"position_depth": 1_001}, "position_depth is 1001: a whole number from 0 to 1000 is allowed"),
        ({"position_depth": True}, "position_depth is True: a whole number from 0 to 1000 is allowed"),
        (
            {"position_depth": 1, "group": None, "metrics": ["auc"]},
            "positions need lists, but no group",
        ),
        (
            {"position_depth": 1, "label": None, "metrics": ["list_length"]},
            "the table positions counts rows with a label",
        ),
    ):
        with pytest.raises(SpecError, match=sentence):
            sr.evaluate(LOG, **{"metrics": ["rr"], "score": "score", **COLUMNS, **asked})
