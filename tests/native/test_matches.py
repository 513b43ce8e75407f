"""Lists and truth joined by the compiled loop: beside the join in numpy, and by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from sparkrank import native
from sparkrank.base import checks
from sparkrank.bucket import BucketResult, bucket_columns, evaluate_bucket
from sparkrank.bucket.impressions import ITEM, LABEL, TRUTH, key_column, score_column
from sparkrank.bucket.matching import find_by_numpy
from sparkrank.metrics import Definitions, Plan, plan_of
from sparkrank.ranking.hit_sums import Sum, compiled_sums, hit_sums
from sparkrank.ranking.judgments import Gain, Judgments
from sparkrank.ranking.ranking import Ranking
from tests.native.with_and_without import both, calls
from tests.support.numbers import bits

METRICS = ["ndcg@2", "ndcg(ideal=retrieved)@3", "ndcg(gain=exp2)", "ap", "rr", "p@2", "r@3", "hit@1"]
METRICS += ["gauc", "auc(exact)", "r(rel=2)@2", "bpref"]
Listed = tuple[int, int, float]
Given = tuple[int, int, "float | None"]


def bucket(lists: Sequence[Listed], truth: Sequence[Given], plan: Plan) -> pa.Table:
    """Rows of lists and, behind them, of a truth."""
    sides = []
    for rows, is_truth in ((lists, False), (truth, True)):
        groups, items, numbers = zip(*rows, strict=True) if rows else ((), (), ())
        numbers = pa.array(numbers, pa.float64())
        nothing = pa.nulls(len(rows), pa.float64())
        columns = {
            key_column(0): pa.array(groups, pa.int64()),
            LABEL: numbers if is_truth else nothing,
            score_column(0): nothing if is_truth else numbers,
            ITEM: pa.array(items, pa.int64()),
            TRUTH: pa.array([is_truth] * len(rows), pa.bool_()),
        }
        sides.append(pa.table(columns))
    return pa.concat_tables(sides).select(bucket_columns(plan, 1))


PLAN = plan_of(METRICS, ["m"], ["user"], Definitions(duplicates="once"), joins=True, group_table=True, item="item")


def same(found: tuple[BucketResult, BucketResult]) -> None:
    compiled, plain = found
    assert compiled.groups is not None
    assert plain.groups is not None
    order = [("key_0" if "key_0" in compiled.groups.column_names else compiled.groups.column_names[1], "ascending")]
    assert bits(compiled.groups.sort_by(order)) == bits(plain.groups.sort_by(order))
    assert compiled.partials.counts == plain.partials.counts
    assert compiled.partials.unmatched == plain.partials.unmatched
    assert repr(compiled.partials.means.results()) == repr(plain.partials.means.results())  # NaN is not NaN


@pytest.mark.parametrize("repeated", [0, 3])
@pytest.mark.parametrize("in_turn", [True, False])
@pytest.mark.parametrize("items", [5, 49, 300])
def test_lists_of_any_length_give_the_bits_of_numpy(items: int, in_turn: bool, repeated: int) -> None:
    """Of more than 256 rows of a list, the table of its items grows."""
    random = np.random.default_rng(items)
    lists = [(group, item, float(random.random())) for group in range(4) for item in range(items)]
    lists += [(group, item, float(random.random())) for group, item, _ in lists[:: items // 2] * repeated]
    truth = random.integers([0, 0, -1], [5, 2 * items, 3], (4 * items, 3)).tolist()
    if not in_turn:
        lists = [lists[place] for place in random.permutation(len(lists))]
    rows = bucket(lists, truth, PLAN)
    with calls() as called:
        same(both(lambda: evaluate_bucket(rows, PLAN)))
    assert called["matches.find"] == 1
    assert called["hits.sum_hits"] > 0


TWO = [(1, 7, 0.5), (1, 8, 0.25), (2, 7, 0.5)]
GIVEN: list[Given] = [(1, 8, 1.0), (1, 9, 2.0)]


@pytest.mark.parametrize(("lists", "truth"), [(TWO, []), ([], GIVEN)], ids=["no truth", "no lists"])
def test_a_bucket_of_one_side_is_left_to_numpy(lists: list[Listed], truth: list[Given]) -> None:
    with calls() as called:
        found = evaluate_bucket(bucket(lists, truth, PLAN), PLAN)
    assert "matches.find" not in called
    assert found.partials.counts[checks.REPEATED_ROWS, "m"] == 0


def test_what_becomes_of_each_row_of_the_truth() -> None:
    """The higher of two labels of an item counts, of equal ones the later; a row without a label never does."""
    codes = np.array([0, 0, 1, *[0, 0, 0, 0, 0, 1, 1]], np.int32)
    items = np.array([5, 6, 5, *[5, 5, 6, 6, 9, 6, 5]], np.int64)
    grades = np.array([1.0, 2.0, 3.0, 3.0, 0.0, 1.0, np.nan])
    for find in (native.matches.find, find_by_numpy):
        given, fates, are_judged = np.empty(3, np.int32), np.empty(7, np.uint8), np.empty(3, np.uint8)
        found = [np.asarray(each).tolist() for each in find(codes, items, grades, given, fates, are_judged)]
        # of two rows and three judged items, and of one row and one
        assert found == [1, 2, 2 * 3 + 1 * 1, 2 + 1, [], []]
        assert given.tolist() == [1, 3, -1]
        assert fates.tolist() == [0, 1, 0, 1, 2, 2, 0]
        assert are_judged.tolist() == [1, 1, 0]


def test_rows_that_repeat_an_item_are_named_and_share_its_truth() -> None:
    """Two groups whose rows stand in turns. The second has item 8 three times; a table after it is not disturbed."""
    codes, items = np.array([[0, 1, 0, 1, 0, 1, 1, 1, 0, 1], [4, 8, 5, 4, 4, 8, 8, 5, 4, 8]])
    for find in (native.matches.find, find_by_numpy) * 2:
        given, fates, are_judged = np.empty(8, np.int32), np.empty(2, np.uint8), np.empty(2, np.uint8)
        *counts, rows, numbers = find(codes.astype(np.int32), items, np.ones(2), given, fates, are_judged)
        assert counts == [0, 2, 3 + 5, 2]
        assert given.tolist() == [0, 1, -1, -1, 0, 1, 1, -1]
        shared = {number: set(rows[numbers == number].tolist()) for number in numbers.tolist()}
        assert sorted(map(sorted, shared.values())) == [[0, 4], [1, 5, 6]]


def test_relevant_rows_without_a_score_are_in_the_ideal_list_alone() -> None:
    """The list has grades 0, 1 at positions 1, 2; grades 3 and 1 are not in it. A second group has no list."""
    labels = np.array([1.0, 3.0, 0.0, 1.0, 2.0])
    judgments = Judgments(np.array([0, 0, 0, 0, 1], np.int32), labels, 2)
    scored = np.array([0, 2])
    of = Ranking(judgments, np.array([0.25, 0.5]), scored, cutoffs=(2,))
    found = compiled_sums(of, None, 2, Gain())
    assert found is not None
    own = found.distinct.code
    assert found.sum(Sum.GAIN, 2)[own].tolist() == [1 / math.log2(3), 0]
    assert found.sum(Sum.IDEAL, 2)[own].tolist() == [3 + 1 / math.log2(3), 2]
    assert found.sum(Sum.IDEAL, None)[own].tolist() == [3 + 1 / math.log2(3) + 1 / math.log2(4), 2]
    hits = hit_sums(of, None)
    assert hits.relevant[own].tolist() == [3, 1]
    assert hits.length[own].tolist() == [2, 0]
    assert hits.retrieved_relevant()[own].tolist() == [1, 0]


def test_lists_alike_but_for_true_items_elsewhere_are_distinct() -> None:
    """Three groups with a hit at the first of two positions: two of them have one more true item."""
    codes = np.array([0, 0, 1, 1, 2, 2, 1, 2], np.int32)
    labels = np.array([1, 0, 1, 0, 1, 0, 1, 1])
    of = Ranking(Judgments(codes, labels, 3), np.array([2.0, 1.0] * 3), np.arange(6), cutoffs=(2,))
    found = compiled_sums(of, None, 2)
    assert found is not None
    assert len(found.distinct.rows) == 2
    own = found.distinct.code
    assert own[1] == own[2] != own[0]
    assert found.sum(Sum.IDEAL, 2)[own].tolist() == [1, 1 + 1 / math.log2(3), 1 + 1 / math.log2(3)]
