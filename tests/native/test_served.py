"""Where the compiled loops serve, and where they leave the work to numpy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.bucket.impressions import ITEM, LABEL, WEIGHT, key_column, score_column, slice_column
from sparkrank.metrics import Definitions, plan_of
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.ranking.hit_sums import compiled_sums
from sparkrank.ranking.judgments import Gain
from tests.native.with_and_without import calls, ranking

GRADED = (0, 1, 2, 0, 1, 3)


def user_rows(**other: pa.Array) -> pa.Table:
    """Six rows of two groups with a tie, with ``other`` columns in place of some."""
    columns = {
        key_column(0): pa.array([1, 1, 1, 2, 2, 2]),
        LABEL: pa.array(GRADED),
        score_column(0): pa.array([0.5, 0.5, 0.25, 0.75, 0.5, 0.5]),
        ITEM: pa.array(list("abcabc")),
        WEIGHT: pa.array([1.0, 2.0, 0.5, 1.0, 1.0, 1.0]),
        slice_column(0): pa.array(list("xyxyxy")),
    }
    return pa.table({**columns, **other})


def called_for(metrics: Sequence[str], rows: pa.Table, **more: Any) -> Counter[str]:
    plan = plan_of(metrics, ["m"], ["user"], **{"uncertainty": Uncertainty(off=True), **more})
    with calls() as called:
        evaluate_bucket(rows.select(bucket_columns(plan, 1)), plan)
    return called


USUAL = ["ndcg@10", "p@10", "auc(digits=1)", "auc(bits=2)"]


FRACTION = {LABEL: pa.array([0.0, 0.1, 0.2, 0.0, 1.0, 3.0])}
HUGE = {LABEL: pa.array([0, 1, 2**52, 0, 1, 3])}
TWICE = {ITEM: pa.array(list("aabcbc"))}
# What is asked for, columns in place of the usual ones, and the loop that leaves it to numpy.
LEFT_OUT: dict[str, tuple[str, dict[str, pa.Array], Definitions, str]] = {
    "worst": ("ap", {}, Definitions("worst"), "hits.sum_hits"),
    "items on several rows under ties=item": ("ndcg", TWICE, Definitions("item", duplicates="once"), "hits.sum_hits"),
    "duplicates": ("ap", TWICE, Definitions(duplicates="first"), "hits.sum_hits"),
    "text keys": ("ap", {key_column(0): pa.array(list("aaabbb"))}, Definitions(), "keys.number"),
    "scores without decimals": (
        "auc(digits=1)",
        {score_column(0): pa.array([0.5, 0.5, 0.25, 2.0**52, 0.5, 0.5])},
        Definitions(),
        "blocks.kept",
    ),
    "blocks that lie far apart": ("auc(exact)", {}, Definitions(), "blocks.kept"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_the_loops_do_not_serve_is_left_to_numpy(case: str) -> None:
    metric, other, definitions, left_out = LEFT_OUT[case]
    assert left_out in called_for(USUAL, user_rows())
    assert left_out not in called_for([metric], user_rows(**other), definitions=definitions)


@pytest.mark.parametrize("other", [FRACTION, HUGE], ids=["fractions", "huge"])
def test_gains_that_do_not_add_exactly_are_left_to_numpy_where_rows_are_tied(other: dict[str, pa.Array]) -> None:
    """Of tied rows the order of adding would show. Without ties, and of the other gains, the loop serves."""
    labels = other[LABEL].to_numpy()
    tied = ranking([0.5, 0.5, 0.25, 0.75, 0.4, 0.3], labels)
    assert compiled_sums(tied, None, None) is None
    assert compiled_sums(tied, 1.0, None) is not None
    assert compiled_sums(tied, None, None, Gain("binary")) is not None
    assert compiled_sums(ranking([0.5, 0.6, 0.25, 0.75, 0.4, 0.3], labels), None, None) is not None


def test_a_group_too_long_for_the_tables_of_the_loop_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both groups have three rows."""
    monkeypatch.setattr("sparkrank.ranking.hit_sums.LONGEST", 3)
    assert called_for(["ap"], user_rows())["hits.sum_hits"] == 1
    monkeypatch.setattr("sparkrank.ranking.hit_sums.LONGEST", 2)
    assert "hits.sum_hits" not in called_for(["ap"], user_rows())
