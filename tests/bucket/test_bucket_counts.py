"""Nothing dropped uncounted: what a bucket rejects, counts and says of each model and group."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.bucket import evaluate_bucket
from sparkrank.metrics import plan_of
from sparkrank.metrics.slices import ALL
from tests.support.buckets import MODEL, bits_of_groups, bits_of_partials, evaluate, group_values
from tests.support.joined import COLUMNS, counts_of

NAN, INF = math.nan, math.inf

GOOD = [("u", "a", 2.0, 0.0), ("u", "b", 1.0, 1.0), ("v", "a", None, 1.0), ("v", "b", INF, None), ("v", "c", -INF, 1.0)]
BAD = {
    checks.NULL_KEY: [(None, "a", 9.0, 1.0), (None, "a", NAN, NAN)],  # a row counts under the first reason that holds
    checks.NAN_SCORE: [("u", "c", NAN, 1.0), ("w", "a", NAN, 0.0), ("u", "d", NAN, INF)],
    checks.BAD_LABEL: [("u", "e", 9.0, NAN), ("u", "f", 9.0, INF), ("u", "g", None, -INF), ("x", "a", 9.0, NAN)],
}


def test_a_row_that_cannot_be_evaluated_is_rejected_and_counted() -> None:
    rows = [*BAD[checks.NULL_KEY], *GOOD, *BAD[checks.BAD_LABEL], *BAD[checks.NAN_SCORE]]
    result, clean = (evaluate(given, ["ap", "ndcg", "auc"]) for given in (rows, GOOD))
    assert bits_of_groups(result.groups) == bits_of_groups(clean.groups)
    rejected = {(reason, ""): len(bad) for reason, bad in BAD.items()}
    read = {(checks.ROWS_READ, ""): len(GOOD) + 2 + 3 + 4}
    assert result.partials.counts == {**clean.partials.counts, **rejected, **read}
    assert [clean.partials.counts[check, ""] for check in (checks.ROWS_EVALUATED, checks.GROUPS)] == [len(GOOD), 2]
    bits, clean_bits = bits_of_partials(result.partials), bits_of_partials(clean.partials)
    assert (bits["means"], bits["blocks"]) == (clean_bits["means"], clean_bits["blocks"])


@pytest.mark.parametrize("floating", [pa.float32(), pa.float64()], ids=str)
def test_null_or_nan_in_any_column_of_the_key_is_a_missing_key(floating: pa.DataType) -> None:
    keys = {"key_0": pa.array([1.5, NAN, None, 1.5, 1.5], floating), "key_1": ["a", "a", "a", None, "a"]}
    rows = pa.table({**keys, "label": [1.0] * 5, "score_0": [1.0] * 5})
    result = evaluate_bucket(rows, plan_of(["p"], [MODEL], ["user", "query"]))
    assert result.partials.counts[checks.NULL_KEY, ""] == 3
    assert result.groups["n_rows"].to_pylist() == [2]


def test_the_counts_of_a_group() -> None:
    rows = [*GOOD, ("v", "d", 0.0, -1.0), ("w", "a", None, 0.5), ("w", "b", None, None)]
    groups = evaluate(rows, ["p@1"]).groups.to_pylist()
    counts = {row["user"]: (row["n_rows"], row["n_retrieved"], row["n_relevant"]) for row in groups}
    assert counts == {"u": (2, 2, 1), "v": (4, 3, 2), "w": (2, 0, 1)}


def test_the_counts_of_a_model() -> None:
    rows = [
        *[("tied", str(item), 1.0, float(item == 0)) for item in range(3)],  # one class on each side, three rows tied
        *[("negative", str(item), float(item % 2), 0.0) for item in range(4)],  # one class, two blocks of two
        ("positive", "a", 1.0, 2.0),  # one class; its non-relevant row is not listed
        ("positive", "b", None, 0.0),
        ("unlisted", "a", None, 1.0),
        ("unjudged", "a", 3.0, None),
    ]
    counts = evaluate(rows, ["ap"]).partials.counts
    assert counts[checks.SCORED_ROWS, MODEL] == 3 + 4 + 1 + 1
    assert counts[checks.TIED_ROWS, MODEL] == 3 + 2 + 2
    assert counts[checks.UNRETRIEVED_GROUPS, MODEL] == 1
    assert counts[checks.one_class_groups("label > 0"), MODEL] == 3  # negative, positive, unjudged; not an empty list
    assert (counts[checks.UNJUDGED_ROWS, ""], counts[checks.GROUPS, ""]) == (1, 5)


def test_what_a_mean_says_it_is_over() -> None:
    for undefined, counted in (("skip", 2), ("zero", 3)):
        result = evaluate([*GOOD, ("none", "a", 1.0, 0.0)], ["ap"], undefined=undefined)
        found = result.partials.means.results()[MODEL, ALL, ALL, "ap"]
        assert (found.n_groups, found.n_undefined, found.n_rows, found.weight) == (3, 1, 6, counted)
        assert found.value == pytest.approx((1 / 2 + 1 / 4) / counted, rel=1e-15)


def test_models_share_judgments_and_nothing_else() -> None:
    """Two score columns in one pass give what each gives alone; a row may be retrieved by one of them only."""
    labels, items = [1.0, 0.0, 1.0, 0.0, None], list("abcde")
    scores = {"prod": [3.0, 2.0, 1.0, None, 0.5], "cand": [None, 2.0, 2.0, 1.0, 3.0]}
    columns = {"key_0": ["u"] * 5, "label": labels, "item": items}
    together = pa.table({**columns, "score_0": scores["prod"], "score_1": scores["cand"]})
    metrics = ["ap", "p@2", "ndcg", "group_auc", "auc(exact)"]
    both = evaluate_bucket(together, plan_of(metrics, list(scores), ["user"]))
    for model, column in scores.items():
        rows = pa.table({**columns, "score_0": column})
        alone = evaluate_bucket(rows, plan_of(metrics, [model], ["user"]))
        bits, of_both = bits_of_partials(alone.partials), bits_of_partials(both.partials)
        for part in ("means", "blocks", "counts"):
            assert bits[part].items() <= of_both[part].items()
        assert bits_of_groups(alone.groups)[0] in bits_of_groups(both.groups)
    # a NaN score of one model rejects the row for all: models are compared on the same rows
    nan = together.set_column(3, "score_0", pa.array([NAN, *scores["prod"][1:]]))
    rejected = evaluate_bucket(nan, plan_of(["p"], list(scores), ["user"]))
    assert rejected.partials.counts[checks.NAN_SCORE, ""] == 1
    assert rejected.groups["n_rows"].to_pylist() == [4, 4]
    # prod lists a b c e: 1 and 3. cand lists e, then b and c tied, then d: c is second or third, a not retrieved.
    assert {row["model"]: row["ap"] for row in both.groups.to_pylist()} == {
        "prod": pytest.approx((1 / 1 + 2 / 3) / 2),
        "cand": pytest.approx(((1 / 2 + 1 / 3) / 2) / 2),
    }


AT_A_TENTH = {"p(rel=0.1)@2": 1 / 2, "rr(rel=0.1)": 1 / 2, "r(rel=0.1)@1": 0 / 1, "cg(gain=binary,rel=0.1)": 1}


def test_a_row_that_was_not_judged_is_not_relevant_at_any_threshold() -> None:
    result = evaluate([("u", "a", 2.0, None), ("u", "b", 1.0, 0.1)], list(AT_A_TENTH))
    assert {metric: group_values(result, metric)["u"] for metric in AT_A_TENTH} == AT_A_TENTH


def test_rows_without_an_item_are_told_where_items_are_counted() -> None:
    log = pa.table({"user": ["a", "a", "b"], "item": ["x", None, "x"], "score": [2.0, 1.0, 1.0], "label": [1, 0, 0]})
    assert counts_of(sr.evaluate(log, ["coverage", "gini"], ties="item", **COLUMNS))[checks.ITEMLESS_ROWS] == 1
    assert checks.ITEMLESS_ROWS not in counts_of(sr.evaluate(log, ["ap"], **COLUMNS))
