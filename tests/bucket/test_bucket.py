"""One bucket: its groups, its counts, its models, and no trace of the order in which its rows arrived."""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sparkrank.base.errors import InputError
from sparkrank.bucket import evaluate_bucket
from sparkrank.bucket.impressions import slice_column
from sparkrank.metrics import Definitions, plan_of
from sparkrank.ranking.hits import Hits
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.pairs import PairedRows
from sparkrank.ranking.ranking import Ranking
from sparkrank.states import Partials
from tests.cases import Row
from tests.support.buckets import KEY, MODEL, bits_of_groups, bits_of_partials, bucket, evaluate, group_values, mean

GROUP_METRICS = ["ndcg@3", "ndcg(gain=exp2,ideal=retrieved)", "dcg", "cg@4", "ap", "rr", "p@3", "r@3", "hit@2", "rprec"]
GROUP_METRICS += ["kendall_tau", "kendall_tau(variant=c)", "kendall_distance", "spearman", "pair_auc", "rbo"]
GROUP_METRICS += ["arhr@3", "bpref", "bpref(rel=2)"]
NEED_AN_ORDER = ["err(max_grade=3)@3", "err", "iprec(recall=0.5)", "infap", "fitness(discount=log2)", "coverage@2"]
METRICS = [*GROUP_METRICS, "f@3", "rbp", "gauc", "ndcg(ideal=[3,2,1])@3", "auc", "auc(exact)", "auc_up(digits=1)"]
METRICS += ["gini@3", "novelty@2", "p90(ndcg@3)"]


def random_rows(labels: Sequence[float | None], seed: int) -> list[Row]:
    """60 groups of 0 to 29 rows with many ties, some rows without a score."""
    draw = np.random.default_rng(seed)
    scores = (None, 0.0, 0.1, 0.2, 0.5, 0.9)
    return [
        (f"g{group}", str(item), scores[draw.integers(len(scores))], labels[draw.integers(len(labels))])
        for group in range(60)
        for item in range(draw.integers(30))
    ]


WHOLE_LABELS = [None, -1.0, 0.0, 0.0, 1.0, 2.0, 3.0]
FRACTIONS = [None, -0.1, 0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7, 1e-9]


@pytest.mark.parametrize("labels", [WHOLE_LABELS, FRACTIONS], ids=["whole labels", "fractions"])
@pytest.mark.parametrize("ties", ["expected", "item", "worst", "best", "block"])
def test_the_order_of_the_rows_leaves_no_trace(ties: str, labels: list[float | None]) -> None:
    """Nor does that of rows that no item tells apart."""
    rows = random_rows(labels, seed=1)
    rows += [("u", item, score, label) for item in ("x", None) for score, label in ((1.0, 1.0), (1.0, 0.0), (0.5, 1.0))]
    metrics = METRICS if ties == "expected" else [*METRICS, *NEED_AN_ORDER]
    whole = evaluate(rows, metrics, ties)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(rows))
        again = evaluate([rows[place] for place in order], metrics, ties)
        assert bits_of_groups(again.groups) == bits_of_groups(whole.groups)
        assert bits_of_partials(again.partials) == bits_of_partials(whole.partials)


def test_buckets_of_whole_groups_merge_to_the_bits_of_one() -> None:
    rows = random_rows(WHOLE_LABELS, seed=2)
    one, empty = evaluate(rows, METRICS), evaluate([], METRICS)
    parts = [evaluate([row for row in rows if int(row[0][1:]) % 3 == part], METRICS) for part in (2, 0, 1)] + [empty]
    assert bits_of_partials(Partials.merged(part.partials for part in parts)) == bits_of_partials(one.partials)
    assert bits_of_groups(pa.concat_tables(part.groups for part in parts)) == bits_of_groups(one.groups)
    assert (empty.groups.num_rows, math.isnan(mean(empty.partials, "ap"))) == (0, True)


@pytest.mark.parametrize("grade", [1.0, 1 / 3])
def test_groups_of_one_grade_have_the_bits_that_they_have_beside_others(grade: float) -> None:
    """Where all gains are the same, ideal lists are read off one table instead of being put in order and added up."""
    metrics = ["ndcg", "ndcg@3", "ndcg(gain=exp2)@5", "ndcg(gain=binary,rel=2)", "ndcg(gain=binary)@4"]
    rows = random_rows([None, -1.0, 0.0, 0.0, grade], seed=9)
    alone = evaluate(rows, metrics).groups
    beside = evaluate([*rows, ("graded", "0", 0.2, 2.0), ("graded", "1", 0.1, 5.0)], metrics).groups
    assert bits_of_groups(alone) == bits_of_groups(beside.filter(pc.not_equal(beside[KEY], "graded")))


def test_more_groups_than_16_bits_number() -> None:
    """70,000 groups of two rows in any order: the relevant row is first or second, which gives 1 or 1/2."""
    groups, draw = 70_000, np.random.default_rng(4)
    first = draw.random(groups) < 0.5
    label = np.tile([1.0, 0.0], groups)
    score = np.where(np.repeat(first, 2) == (label == 1), 2.0, 1.0)
    table = pa.table({"key_0": np.repeat(np.arange(groups), 2), "label": label, "score_0": score})
    result = evaluate(table.take(draw.permutation(2 * groups)), ["rr", "group_auc"])
    by_key = result.groups.sort_by(KEY)
    assert by_key["rr"].to_pylist() == np.where(first, 1.0, 0.5).tolist()
    assert by_key["group_auc"].to_pylist() == first.astype(float).tolist()
    assert mean(result.partials, "rr") == pytest.approx((first.sum() + 0.5 * (~first).sum()) / groups, rel=1e-15)


def test_a_grade_whose_gain_no_float_holds_is_refused() -> None:
    """Its group would be undefined, or 0 at the cut-off above it, and the mean would be one of the other groups."""
    rows = [("u", "a", 2.0, 0.0), ("u", "b", 1.0, 400.0)]
    second = 1 / math.log2(3)
    values = {"ndcg(gain=exp2)": second, "ndcg(gain=exp2)@1": 0.0, "dcg(gain=exp2)": 2.0**400 * second}
    for metric, value in values.items():
        assert group_values(evaluate(rows, [metric]), metric)["u"] == pytest.approx(value)
        sentence = r"dcg\(gain=exp2\)(@1)? makes 2\^1100 of a label: labels up to 400 are allowed"
        with pytest.raises(InputError, match=sentence):
            evaluate([*rows, ("v", "a", 2.0, 1.0), ("v", "b", 1.0, 1100.0)], [metric])
    for metric, most in {"cg": 2.0**400, "dcg@1": 2.0**400, "ndcg": 1.0}.items():
        assert group_values(evaluate([("u", "a", 2.0, 2.0**400)], [metric]), metric)["u"] == most
        sentence = rf"^{metric} adds up labels, but the highest label is 1e\+121: labels up to 2\^400 are allowed"
        with pytest.raises(InputError, match=sentence):
            evaluate([("u", "a", 2.0, 1.0), ("u", "b", 1.0, 1e121)], [metric])
    assert evaluate([("v", "b", 1.0, 1100.0)], ["ndcg", "ndcg(gain=binary)"]).groups.num_rows == 1


def test_a_key_of_several_columns() -> None:
    """("a", 1), ("a", 2) and ("b", 1) are three groups; so are pairs that would read the same glued together."""
    rows = {"key_0": ["a", "a", "b", "a", "a", "b", "a1", "a"], "key_1": [1, 2, 1, 1, 2, 1, 1, 11]}
    rows |= {"label": [1, 0, 1, 0, 1, 1, 0, 1], "score_0": [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]}
    plan = plan_of(["rr", "p@1"], [MODEL], ["user", "query"])
    groups = evaluate_bucket(pa.table(rows), plan).groups
    assert groups.column_names == ["model", "user", "query", "n_rows", "n_retrieved", "n_relevant", "rr", "p@1"]
    nothing = pytest.approx(math.nan, nan_ok=True)
    assert {(row["user"], row["query"]): (row["n_rows"], row["rr"]) for row in groups.to_pylist()} == {
        ("a", 1): (2, 1 / 1),
        ("a", 2): (2, 1 / 2),
        ("b", 1): (2, 1 / 1),
        ("a1", 1): (1, nothing),
        ("a", 11): (1, 1 / 1),
    }


KEYS = [
    (pa.string(), ["", "a", "é", "a "]),
    (pa.int64(), [-(2**63), 0, 2**63 - 1, 2**53 + 1]),
    (pa.int32(), [-1, 0, 1, 2]),
    (pa.float64(), [0.5, -1.0, 1e300, math.inf]),
    (pa.bool_(), [True, False]),
    (pa.date32(), [0, 1, 20000]),
    (pa.binary(), [b"", b"\x00", b"\xff"]),
]


@pytest.mark.parametrize(("kind", "values"), KEYS, ids=[str(kind) for kind, _ in KEYS])
def test_keys_of_any_type_come_back_as_they_were(kind: pa.DataType, values: list) -> None:
    """The relevant row of group i stands i-th."""
    keys = pa.array(values, kind)
    above = [place for place in range(len(keys)) for _ in range(place)]
    columns = {
        "key_0": keys.take(pa.array([*above, *range(len(keys))])),
        "label": [0.0] * len(above) + [1.0] * len(keys),
        "score_0": [2.0] * len(above) + [1.0] * len(keys),
    }
    groups = evaluate(pa.table(columns), ["rr"]).groups
    assert groups.schema.field(KEY).type == kind
    expected = {key: 1 / rank for rank, key in enumerate(keys.to_pylist(), 1)}
    assert dict(zip(groups[KEY].to_pylist(), groups["rr"].to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("ties", ["expected", "item"])
def test_a_solved_bucket_is_freed_without_the_collector(ties: str) -> None:
    """Rankings that lived on until Python's collector came by held a gigabyte of solved buckets."""
    rows = random_rows([None, 0, 1, 2], seed=5)
    table = bucket(rows).append_column(slice_column(0), pa.array(range(len(rows))))  # which divides every group
    plan = plan_of(METRICS, [MODEL], [KEY], Definitions(ties), slices=[["row"]])

    def living() -> set[int]:
        # by their types: to ask a proxy whose object is gone for its class raises, and other tests may have left one
        return {id(each) for each in gc.get_objects() if type(each) in (Ranking, Judgments, Hits, PairedRows)}

    gc.collect()
    gc.disable()
    try:
        before = living()  # what other tests keep for all of theirs
        result = evaluate_bucket(table, plan)
        left = living() - before
    finally:
        gc.enable()
    assert result.groups.num_rows > 0
    assert not left
