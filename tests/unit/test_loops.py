"""Compiled loops: the bits of the numpy kernels, which other tests hold to oracles, and cases worked by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparkrank import loops
from sparkrank.bucket import BucketResult, bucket_columns, evaluate_bucket
from sparkrank.engine.packing import cut, pieces_by_bucket
from sparkrank.errors import InputError, MetricError, SpecError
from sparkrank.grouping import groups_of
from sparkrank.impressions import ITEM, LABEL, REFERENCE_RANK, WEIGHT, key_column, score_column, slice_column
from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.coding import block_scores
from sparkrank.kernels.counting import count_blocks
from sparkrank.kernels.exact import MOST, UNITS, exact_sum, sums_with_squares
from sparkrank.kernels.hit_sums import hit_sums, tied_rows
from sparkrank.kernels.judgments import Gain, Judgments
from sparkrank.kernels.merging import JoinedInPlace, join_blocks
from sparkrank.kernels.order import count_by
from sparkrank.kernels.ranking import Ranking
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.kernels.walked import Sum, Walked, walked
from sparkrank.metrics import Definitions, Plan
from sparkrank.states import Partials
from tests.unit.strategies import PATIENT, asked, text

NAMES = ("blocks", "buckets", "hits", "keys", "sums")
if not all(hasattr(loops, name) for name in NAMES):
    pytest.skip("sparkrank was installed without a C++ compiler: it has no compiled loops", allow_module_level=True)

T = TypeVar("T")
MODELS = ("m", "n", "o")
log2 = math.log2


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> Iterator[None]:
    """The loops run, also with --without-loops, which is for the tests of what they stand in for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "COMPILED", True)
        yield


def both(function: Callable[[], T]) -> tuple[T, T]:
    """What ``function`` gives with the loops and without."""
    compiled = function()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "COMPILED", False)
        return compiled, function()


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """How often each function of the loops is called in the meantime."""
    counted: Counter[str] = Counter()

    def spied(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            counted[name] += 1
            return function(*given)

        return call

    with ExitStack() as stack:
        for module in NAMES:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            functions = {name: each for name, each in vars(getattr(loops, module)).items() if callable(each)}
            for name, function in functions.items():
                if not name.startswith("_"):
                    patch.setattr(getattr(loops, module), name, spied(f"{module}.{name}", function))
        yield counted


# Buckets with and without the loops.

FEW = (0.0, -0.0, 0.25, 0.5, 0.75, 1.0, -1.0)
EXTREME = (*FEW, math.inf, -math.inf, 5e-324, -5e-324, 1e-310, 1.7e308, math.nextafter(0.5, 1.0))
Rng = np.random.Generator
SCORES: dict[str, Callable[[Rng, int], NDArray[np.float64]]] = {
    "few": lambda rng, n: rng.choice(FEW, n),
    "tied": lambda rng, n: rng.choice([0.0, -0.0], n),
    "distinct": lambda rng, n: rng.permutation(n) / 7 - 2,
    "two tied": lambda rng, n: np.maximum(rng.permutation(n), 1) / 7 - 2,
    "extreme": lambda rng, n: rng.choice(EXTREME, n),
    "logits": lambda rng, n: rng.normal(0, 3, n),
    "probabilities": lambda rng, n: rng.random(n).round(2),
}
LABELS = {
    "clicks": (0, 0, 0, 1),
    "grades": (-1, 0, 0, 1, 2, 3),
    "none": (-2, 0),
    "alike": (0, 7),
    "all": (1,),
    "all graded": (1, 2, 5),
    "fractions": (-0.1, 0, 0.1, 0.2, 1 / 3, 1.5),
    "one fraction": (0, 1 / 3),
    "unjudged": (None, 0, 1, 2),
}
LABEL_TYPES = (pa.int8(), pa.int32(), pa.int64(), pa.float64())
DEFINITIONS = (
    *[Definitions()] * 8,
    Definitions(undefined="zero"),
    Definitions(undefined="one", unjudged="drop"),
    Definitions(unjudged="drop"),
    Definitions(duplicates="first"),
    Definitions(ties="item"),
    Definitions(ties="worst", undefined="zero"),
    Definitions(ties="best"),
    Definitions(ties="block"),
)
# At least these are evaluated, beside some of the whole catalogue.
METRICS = ["ndcg@5", "ndcg", "dcg(gain=exp2)@3", "ndcg(gain=binary,rel=2)@4", "p@1", "r(rel=2)@7", "hit@2", "ap"]
METRICS += ["ap@3", "rr", "rr@2", "group_auc", "gauc", "auc", "auc(bits=3)", "auc(exact)", "auc_up(digits=1)"]
METRICS += ["p90(ndcg@5)"]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Some metrics under some definitions, of one to three models."""
    definitions = draw(st.sampled_from(DEFINITIONS))
    models = MODELS[: draw(st.integers(1, 3))]
    keys = ["user", "query"][: draw(st.sampled_from([1, 1, 2]))]
    more: dict[str, Any] = {
        "weighted": draw(st.sampled_from([False, False, True])),
        "slices": draw(st.sampled_from([(), (), [["country"]]])),
        "score_sums": draw(st.booleans()),
    }
    small = asked(thresholds=st.sampled_from([0.5, 1.0, 2.0]), cutoffs=st.integers(1, 70))
    chosen: list[str] = []
    for metric in [*METRICS, *map(text, draw(st.lists(small, max_size=6)))]:
        try:
            Plan.of([metric], models, keys, definitions, **more)
        except (MetricError, SpecError):
            continue  # not under these definitions
        chosen.append(metric)
    return Plan.of(chosen, models, keys, definitions, **more)


@st.composite
def buckets(draw: st.DrawFn, plan: Plan) -> pa.Table:
    """Rows of a few groups of 1 to 60 rows, in any order, with labels and scores of several types and habits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(1, 12) | st.integers(20, 60) | st.sampled_from([24, 25, 32, 33]), max_size=6))
    n, group = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    kind = draw(st.sampled_from(sorted(LABELS)))
    per_group = [rng.choice(np.array(LABELS[draw(st.sampled_from([kind, kind, "none"]))], object), s) for s in sizes]
    label_type = pa.float64() if "fraction" in kind else draw(st.sampled_from(LABEL_TYPES))
    key = rng.choice(draw(st.sampled_from([[-(2**63), 2**63 - 1, -1, 0, 1, 10**12], range(6)])), 6, replace=False)
    order = rng.permutation(n)
    key_type = draw(st.sampled_from([pa.int64(), pa.int64(), pa.int32(), pa.string()]))
    if key_type == pa.int32():
        key = np.arange(6)
    columns: dict[str, pa.Array] = {
        key_column(0): pa.array(key[group][order]).cast(key_type),
        key_column(1): pa.array((group[order] + rng.integers(0, 2, n)) % 3),
        LABEL: pa.array(np.concatenate([np.empty(0, object), *per_group])[order], label_type),
        slice_column(0): pa.array(
            rng.choice(["a", "b"], n) if draw(st.booleans()) else np.array(["a", "b"])[group[order] % 2]
        ),
        ITEM: pa.array(rng.integers(0, 80, n)[order].astype(str)),
        WEIGHT: pa.array(rng.choice([0.0, 1.0, 0.1, 2.5], n)),
        REFERENCE_RANK: pa.array(rng.integers(1, 50, n)),
    }
    for index in range(len(plan.models)):
        wide = np.concatenate([np.empty(0), *(SCORES[draw(st.sampled_from(sorted(SCORES)))](rng, s) for s in sizes)])
        with np.errstate(over="ignore"):  # 1.7e308 is infinite as a float32
            scores = wide[order].astype(draw(st.sampled_from([np.float64, np.float32])))
        missing = rng.random(n) < 0.1 if draw(st.sampled_from([False, False, False, True])) else None
        columns[score_column(index)] = pa.array(scores, mask=missing)
    return pa.table(columns).select(bucket_columns(plan, len(plan.keys)))


def bits(table: pa.Table) -> tuple[pa.Schema, list[list[object]]]:
    """The schema of a table and its columns, floats as the text of their bits."""
    columns = (column.to_pylist() for column in table.columns)
    return table.schema, [[each.hex() if isinstance(each, float) else each for each in column] for column in columns]


def array_bits(array: NDArray[Any] | None) -> object:
    return None if array is None else (array.dtype.str, array.shape, array.tobytes())


def partial_bits(partials: Partials) -> dict[str, object]:
    blocks = {
        **{str(key): found for key, found in partials.blocks.items()},
        **{str(key): found.blocks for key, found in partials.distributions.items()},
    }
    return {
        "means": bits(partials.means.table),
        "sums": bits(partials.sums.table),
        "items": bits(
            partials.items.table.sort_by([(name, "ascending") for name in partials.items.table.column_names])
        ),
        "counts": list(partials.counts.items()),
        "blocks": {
            key: (found.rule, *(array_bits(getattr(found, name)) for name in ("block", "pos", "neg", "offset", "rows")))
            for key, found in blocks.items()
        },
    }


def everything(rows: pa.Table, plan: Plan) -> dict[str, object]:
    """All that a bucket yields, and two times that merged, or what is wrong with it."""
    try:
        found: BucketResult = evaluate_bucket(rows, plan)
    except InputError as error:  # an item twice, a label that makes too much of a gain
        return {"error": str(error)}
    merged = Partials.merged([found.partials, found.partials])
    return {**partial_bits(found.partials), "merged": partial_bits(merged), "groups": bits(found.groups)}


@given(st.data())
@settings(PATIENT, max_examples=500)
def test_a_bucket_has_the_same_bits_with_loops_and_without(data: st.DataObject) -> None:
    """Ties, long groups, groups of one class, negative, graded and fractional labels, infinite scores, -0.0, nulls."""
    plan = data.draw(plans())
    rows = data.draw(buckets(plan))
    compiled, plain = both(lambda: everything(rows, plan))
    assert compiled.keys() == plain.keys()
    for part in plain:
        assert compiled[part] == plain[part], part


# hits: sums over the hits of each group.


def ranking(
    scores: Sequence[float], labels: Sequence[float], codes: Sequence[int] | None = None, cutoffs: tuple[int, ...] = ()
) -> Ranking:
    """The rows of groups with ``codes`` (absent: of one group)."""
    group = np.zeros(len(scores), np.int32) if codes is None else np.array(codes, np.int32)
    judgments = Judgments(group, np.array(labels), int(group.max()) + 1)
    return Ranking(judgments, np.array(scores), cutoffs=cutoffs)


def walk(of: Ranking, gain: Gain | None = None) -> Walked:
    found = walked(of, None, None, gain)
    assert found is not None
    return found


# A row, a block of three with two relevant ones at positions 2 to 4, a relevant row, two blocks of their own.
SCORE = (5.0, 3.0, 1.0, 3.0, 0.0, 3.0)
GRADE = (0, 3, 2, 1, 0, 0)
CLICK = (0, 1, 1, 1, 0, 0)
# Rows below, which change nothing above them: of more than 32 rows ties are found in another way, and hits of more than
# 24 relevant ones.
BELOW = {
    "alone": ((), ()),
    "beside few": ([-1.0 - row for row in range(26)], [0] * 26),
    "in a long list": ([-1.0 - row for row in range(40)], [0] * 40),
    "before 21 relevant": ([-1.0 - row for row in range(21)], [1] * 21),  # 24 in all
    "before 22 relevant": ([-1.0 - row for row in range(22)], [1] * 22),
    "before many relevant": ([-1.0 - row for row in range(40)], [1] * 40),
}


@pytest.mark.parametrize("below", BELOW)
def test_sums_up_to_cutoffs_across_a_tie_block(below: str) -> None:
    """In the block at 2 to 4, a row is relevant with chance 2/3, and after s rows of it s/2 of the other hit were."""
    scores, labels = BELOW[below]
    found = walk(ranking([*SCORE, *scores], [*CLICK, *labels], cutoffs=(1, 2, 3, 5)))
    expected = {
        Sum.COUNT: [0, 2 / 3, 2 / 3 * 2, 3],
        Sum.PRECISION: [
            0,
            2 / 3 * 1 / 2,
            2 / 3 * (1 / 2 + 1.5 / 3),
            2 / 3 * (1 / 2 + 1.5 / 3 + 2 / 4) + 3 / 5,
        ],
        # the first hit is the block's first row with chance 2/3, else its second
        Sum.ANY: [0, 2 / 3, 1, 1],
        Sum.FIRST: [0, 2 / 3 / 2, 2 / 3 / 2 + 1 / 3 / 3, 2 / 3 / 2 + 1 / 3 / 3],
        Sum.GAIN: [
            0,
            2 / 3 / log2(3),
            2 / 3 * (1 / log2(3) + 1 / log2(4)),
            2 / 3 * (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) + 1 / log2(6),
        ],
    }
    for each, sums in expected.items():
        assert found.sums[each, :4, 0] == pytest.approx(sums, rel=1e-15), each.name
    if not any(labels):
        ideal = [1, 1 + 1 / log2(3), 1 + 1 / log2(3) + 1 / log2(4), 1 + 1 / log2(3) + 1 / log2(4)]
        assert found.sums[Sum.IDEAL, :4, 0] == pytest.approx(ideal, rel=1e-15)
    for each in (Sum.COUNT, Sum.ANY, Sum.FIRST):
        rest = sum(labels) if each is Sum.COUNT else 0
        assert found.sums[each, 4, 0] == pytest.approx(expected[each][-1] + rest, rel=1e-15)  # over the whole list
    # 2 to 4 have the mid-rank 3; the rows below stand at 7, 8, ...
    below_sum = sum(position for position, label in enumerate(labels, 7) if label)
    assert found.mid_ranks.tolist() == [3 + 3 + 5 + below_sum]
    assert found.tied_pairs.tolist() == [2 * 1]
    assert found.tied_rows == 3


@pytest.mark.parametrize("below", ["alone", "beside few", "in a long list"])
def test_gains_of_a_tie_block_are_their_mean_and_the_ideal_list_is_in_order_of_gain(below: str) -> None:
    """The block of the labels 3, 1 and 0 has the gain 4/3 in each place, or (7 + 1 + 0) / 3 of 2^label - 1."""
    scores, labels = BELOW[below]
    of = ranking([*SCORE, *scores], [*GRADE, *labels], cutoffs=(2, 3))
    linear, exp2 = walk(of), walk(of, Gain("exp2"))
    whole = 4 / 3 * (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) + 2 / log2(6)
    assert linear.sums[Sum.GAIN, :, 0] == pytest.approx(
        [4 / 3 / log2(3), 4 / 3 * (1 / log2(3) + 1 / log2(4)), whole], rel=1e-15
    )
    ideal = [3 + 2 / log2(3), 3 + 2 / log2(3) + 1 / log2(4), 3 + 2 / log2(3) + 1 / log2(4)]
    assert linear.sums[Sum.IDEAL, :, 0] == pytest.approx(ideal, rel=1e-15)
    assert exp2.sums[Sum.GAIN, 0, 0] == pytest.approx(8 / 3 / log2(3), rel=1e-15)
    assert exp2.sums[Sum.IDEAL, 0, 0] == pytest.approx(7 + 3 / log2(3), rel=1e-15)


def test_a_tie_block_of_relevant_rows_needs_no_chances() -> None:
    """Whatever their order, hits stand at 1 and 2: the precision there is 1 and 2/2."""
    found = walk(ranking([0.0, -0.0, -1.0], [1, 1, 0], cutoffs=(1,)))
    assert found.sums[: Sum.FIRST + 1, 0, 0].tolist() == [1, 1, 1, 1]
    assert found.sums[: Sum.FIRST + 1, 1, 0].tolist() == [2, 1 + 2 / 2, 1, 1]
    assert found.sums[Sum.GAIN, :, 0].tolist() == [1, 1 + 1 / log2(3)]
    graded = walk(ranking([0.0, -0.0, -1.0], [3, 1, 0], cutoffs=(1,)))
    assert graded.sums[Sum.GAIN, :, 0] == pytest.approx([(3 + 1) / 2, (3 + 1) / 2 * (1 + 1 / log2(3))], rel=1e-15)
    assert (found.mid_ranks.tolist(), found.tied_pairs.tolist(), found.tied_rows) == ([3], [0], 2)


@pytest.mark.parametrize("others", [0, 30, 40])
def test_zeros_of_either_sign_are_tied(others: int) -> None:
    """The relevant of four zeros has the mid-rank 2.5 and is tied with three others; ``others`` stand below."""
    scores = [0.0, -0.0, -0.0, 0.0, *(-1.0 - row for row in range(others))]
    found = walk(ranking(scores, [0, 1, 0, 0, *[0] * others]))
    assert (found.mid_ranks.tolist(), found.tied_pairs.tolist(), found.tied_rows) == ([2.5], [3], 4)
    assert found.sums[Sum.FIRST, -1, 0] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, rel=1e-15)


def test_infinite_scores_stand_at_the_ends_and_are_tied_among_themselves() -> None:
    """Places 1 and 2 are tied, and 4 and 5; of each one is relevant."""
    found = walk(ranking([math.inf, -math.inf, 0.0, math.inf, -math.inf], [1, 0, 0, 0, 1]))
    assert (found.mid_ranks.tolist(), found.tied_pairs.tolist(), found.tied_rows) == ([1.5 + 4.5], [1 + 1], 4)
    assert found.sums[Sum.COUNT, -1, 0] == 2


def test_groups_do_not_see_each_other() -> None:
    """Rows of four groups mixed, equal scores among them: of one row, without a relevant row, and of 40 rows."""
    long = [(2, float(row), int(row == 38)) for row in range(40)]  # the relevant row is second
    rows = [(0, 7.0, 1), (1, 7.0, 0), (3, 7.0, 0), *long[:20], (1, 8.0, 0), (3, 7.0, 1), *long[20:]]
    codes, scores, labels = zip(*rows, strict=True)
    found = walk(ranking(scores, labels, codes, cutoffs=(1,)))
    assert found.sums[Sum.FIRST].tolist() == [[1, 0, 0, 0.5], [1, 0, 1 / 2, 0.5 + 0.5 / 2]]
    assert found.sums[Sum.IDEAL].tolist() == [[1, 0, 1, 1], [1, 0, 1, 1]]
    assert found.mid_ranks.tolist() == [1, 0, 2, 1.5]
    assert found.tied_pairs.tolist() == [0, 0, 0, 1]
    assert found.tied_rows == 2


def test_a_group_without_rows_has_no_hits() -> None:
    """It is there where all of its rows were dropped."""
    judgments = Judgments(np.array([1, 1], np.int32), np.array([0, 1]), 3)
    found = walk(Ranking(judgments, np.array([2.0, 1.0])))
    assert found.sums[:, -1, 0].tolist() == found.sums[:, -1, 2].tolist() == [0.0] * len(Sum)
    assert found.sums[Sum.FIRST, -1, 1] == 1 / 2
    assert found.mid_ranks.tolist() == [0, 2, 0]


HASH = 0x9E3779B97F4A7C15  # keys and scores are hashed by the upper bits of their product with it
BACK = pow(HASH, -1, 2**64)


def test_scores_that_hash_to_the_end_of_the_table_go_on_at_its_start() -> None:
    """Two lists of 40 distinct scores whose hashes all are the last one; 3 of them stand twice and 1 thrice."""
    words = np.array([(2**64 - 1 - place) * BACK % 2**64 for place in range(90)], np.uint64)
    scores = words.view(np.float64)
    distinct = scores[np.isfinite(scores)][:40]
    assert len(np.unique(distinct)) == 40
    one = [*distinct, *distinct[:3], *distinct[10:11], *distinct[10:11]]
    found = walk(ranking(one + one, [1, *[0] * 44] * 2, [0] * 45 + [1] * 45))
    assert found.tied_rows == 2 * (3 * 2 + 3)


@pytest.mark.parametrize("tied", range(2, 13))
def test_a_hit_of_a_block_is_sure_by_its_end(tied: int) -> None:
    """The chances of its rows to be the first hit add up to 1, but for their rounding; and the count to the hits."""
    for inside in range(1, tied + 1):
        found = walk(ranking([0.5] * tied + [0.25], [1] * inside + [0] * (tied - inside + 1), cutoffs=(tied,)))
        assert found.sums[Sum.ANY, :, 0].tolist() == [1.0, 1.0]
        assert found.sums[Sum.COUNT, :, 0] == pytest.approx([inside, inside], rel=1e-15)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=4),
    st.sampled_from([3, 30, 1000]),
)
@settings(PATIENT, max_examples=100)
def test_ranks_and_ties_are_those_of_comparing_all_pairs(
    seed: int, sizes: list[tuple[int, int]], distinct: int
) -> None:
    """``sizes`` are the relevant rows of each group, and how many others but one."""
    rng = np.random.default_rng(seed)
    rows = np.array(
        [(group, label) for group, (hits, others) in enumerate(sizes) for label in [1] * hits + [0] * (others + 1)]
    )
    codes, labels = rng.permutation(rows).T
    scores = rng.integers(0, distinct, len(rows)) / 3
    same = codes[:, np.newaxis] == codes
    above = (same & (scores > scores[:, np.newaxis])).sum(axis=1)
    equal = same & (scores == scores[:, np.newaxis])
    mid_rank = above + (equal.sum(axis=1) + 1) / 2
    pairs = (equal & (labels == 0)).sum(axis=1)
    found = walk(ranking(scores.tolist(), labels.tolist(), codes.tolist()))
    for group in range(len(sizes)):
        hits = (codes == group) & (labels == 1)
        assert found.mid_ranks[group] == mid_rank[hits].sum()
        assert found.tied_pairs[group] == pairs[hits].sum()
        assert found.sums[Sum.COUNT, -1, group] == pytest.approx(sizes[group][0], rel=1e-13)
    assert found.tied_rows == np.count_nonzero(equal.sum(axis=1) > 1)


# keys: groups numbered, and their rows counted.


def numbered(keys: Sequence[int]) -> tuple[list[int], list[int]]:
    """The code of each of ``keys``, and the distinct ones."""
    found = groups_of([pa.chunked_array([pa.array(keys, pa.int64())])])
    assert found.values is not None
    return found.codes.tolist(), found.values.to_pylist()


def test_keys_are_numbered_in_order_of_first_occurrence() -> None:
    assert numbered([7, -3, 7, 0, -3, 2**63 - 1, -(2**63)]) == ([0, 1, 0, 2, 1, 3, 4], [7, -3, 0, 2**63 - 1, -(2**63)])
    assert numbered([]) == ([], [])


# The first table has 256 places, and becomes larger when more than half of them are taken.
MANY = {
    "half a table": [key * 1000 for key in range(128)],
    "more than half": [key * 1000 for key in range(129)] * 2,
    "two larger tables": [-key for key in range(700)],
    "more rows than the first table is for": [key % 900 for key in range(5000)],
    "one place": [(key * BACK + 2**63) % 2**64 - 2**63 for key in range(300)],
    "the last place": [((2**64 - 1 - key) * BACK + 2**63) % 2**64 - 2**63 for key in range(300)],
}


@pytest.mark.parametrize("kind", MANY)
def test_more_keys_than_the_first_table_holds(kind: str) -> None:
    keys = MANY[kind] + MANY[kind][::-1]
    codes, distinct = numbered(keys)
    place = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    assert distinct == list(place)
    assert codes == [place[key] for key in keys]


def test_rows_are_counted_by_group() -> None:
    groups, flags = np.array([2, 0, 2, 2, 3], np.int32), np.array([True, True, False, True, False])
    assert count_by(groups, 5).tolist() == [1, 0, 3, 1, 0]
    assert count_by(groups, 5, flags).tolist() == [1, 0, 2, 0, 0]
    assert count_by(groups[:0], 2, flags[:0]).tolist() == [0, 0]


# buckets: rows to their buckets.


def mixed(key: int) -> int:
    """The hash of a whole number: SplitMix64."""
    word = (key + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


@pytest.mark.parametrize("count", [1, 2, 7, 255, 256, 257, 1000, 65_535, 65_536])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_a_row_goes_to_the_bucket_of_the_upper_half_of_its_hash(width: int, count: int) -> None:
    least = -(2 ** (width - 1))
    keys = [least, least + 1, -1, 0, 1, 77, -least - 1, *np.random.default_rng(1).integers(least, -least, 200).tolist()]
    rows = pa.table({key_column(0): pa.array(keys, f"int{width}"), LABEL: pa.array(range(len(keys)), pa.int32())})
    with calls() as called:
        pieces = list(pieces_by_bucket(rows, count))
    assert called["buckets.buckets_of"] == 1
    expected: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        expected.setdefault((mixed(key) >> 32) * count >> 32, []).append(row)
    assert {bucket: piece[LABEL].to_pylist() for bucket, piece in pieces} == expected
    assert [bucket for bucket, _ in pieces] == sorted(expected)


def unmixed(word: int) -> int:
    """The whole number whose hash is ``word``."""
    word ^= word >> 31 ^ word >> 62
    word = word * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    word ^= word >> 27 ^ word >> 54
    word = word * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    word ^= word >> 30 ^ word >> 60
    return (word - 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63


def test_hashes_at_the_edges_of_buckets() -> None:
    """The third of three buckets begins at two thirds of 2^32, which is 0xAAAAAAAA and 2/3."""
    edges = {0: 0, 0x55555555: 0, 0x55555556: 1, 0xAAAAAAAA: 1, 0xAAAAAAAB: 2, 2**32 - 1: 2}
    keys = [unmixed(upper * 2**32 + lower) for upper in edges for lower in (0, 2**32 - 1)]
    assert [mixed(key) >> 32 for key in keys[::2]] == list(edges)
    pieces = pieces_by_bucket(pa.table({key_column(0): keys}), 3)
    assert [piece[0].to_pylist() for _, piece in pieces] == [keys[:4], keys[4:8], keys[8:]]


def chunked(array: pa.Array) -> pa.ChunkedArray:
    """``array`` in chunks that begin inside their memory, one of them without rows."""
    padded = pa.concat_arrays([array[-3:], array])
    return pa.chunked_array([padded[3:40], padded[40:40], padded[40:41], padded[41:]])


NUMBERS = [f"{kind}{width}" for kind in ("int", "uint") for width in (8, 16, 32, 64)] + ["float", "double", "halffloat"]


@pytest.mark.parametrize("count", [1, 5, 300, 65_536])
@pytest.mark.parametrize("in_chunks", [False, True], ids=["whole", "in chunks"])
def test_columns_of_any_width_are_cut_by_bucket(in_chunks: bool, count: int) -> None:
    """Numbers, and columns that are none, each with the rows of a bucket in their order; many buckets have no rows."""
    rng = np.random.default_rng(2)
    columns = {kind: pa.array(rng.integers(0, 120, 200).astype(np.float16)).cast(kind) for kind in NUMBERS[:-1]}
    columns["halffloat"] = pa.array(rng.normal(size=200).astype(np.float16))
    columns["double"] = pa.array(rng.choice([-0.0, 0.0, math.inf, 5e-324, 0.1], 200))
    columns["wide"] = pa.array(rng.integers(-(2**63), 2**63 - 1, 200))
    columns["text"] = pa.array(rng.choice(["", "a", "long and long"], 200))
    columns["missing"] = pa.array(rng.integers(0, 9, 200), mask=rng.random(200) < 0.5)
    columns["flag"] = pa.array(rng.random(200) < 0.5)
    columns["day"] = pa.array(rng.integers(0, 9, 200).astype("datetime64[D]"))
    columns["coded"] = columns["text"].dictionary_encode()
    whole = pa.table(columns)
    rows = pa.table({name: chunked(column) for name, column in columns.items()}) if in_chunks else whole
    buckets_of_rows = rng.choice(rng.integers(0, count, 9), 200)
    with calls() as called:
        found = dict(cut(rows, buckets_of_rows.astype(np.uint16), count))
    assert called["buckets.spread"] >= len(NUMBERS)
    assert list(found) == sorted(set(buckets_of_rows.tolist()))
    for bucket, piece in found.items():
        expected = whole.take(np.flatnonzero(buckets_of_rows == bucket))
        assert bits(pa.table(piece)) == bits(expected)


@pytest.mark.parametrize("numbers", [True, False])
def test_rows_without_numbers_and_no_rows_are_cut_too(numbers: bool) -> None:
    rows = pa.table({"x": pa.array([3, 1, 2] if numbers else ["c", "a", "b"])})
    found = {bucket: piece["x"].to_pylist() for bucket, piece in cut(rows, np.array([1, 0, 1], np.uint8), 2)}
    assert found == ({0: [1], 1: [3, 2]} if numbers else {0: ["a"], 1: ["c", "b"]})
    assert list(cut(rows[:0], np.empty(0, np.uint8), 2)) == []


# sums: exact sums of values and of squares.

LENGTHS = (0, 1, 7, 8, 9, 511, 512, 513, 520, 1031)
UNIT = 2.0**-60  # of values below 2^-7: they are exact


def small_values(rows: int) -> NDArray[np.float64]:
    return np.random.default_rng(rows).integers(-(2**53), 2**53, rows) * UNIT


def fractions(values: NDArray[np.float64]) -> Fraction:
    return sum(map(Fraction, values.tolist()), Fraction())


def limbs_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with calls() as called:
        found = exact_sum(values)
    assert called["sums.add"] == 1
    return found


@pytest.mark.parametrize("rows", LENGTHS)
def test_limbs_are_the_sum_of_all_values(rows: int) -> None:
    """Whatever the order of magnitude: each limb is a whole number of its unit, and together they are the sum."""
    values = small_values(rows) * 2.0 ** np.random.default_rng(1).choice([-20, 0, 7, 20, 40], rows)
    limbs = limbs_of(values)
    assert fractions(limbs) == fractions(values)
    assert all((limbs / UNITS) % 1 == 0)
    assert array_bits(limbs) == array_bits(both(lambda: exact_sum(values))[1])


def test_a_value_is_cut_at_each_unit_to_the_nearest() -> None:
    """0.75 of a unit is one of it less 0.25, a half is none of it, for that is even, and more than a half is one."""
    for index, unit in enumerate(UNITS[:-1]):
        finer = UNITS[index + 1]
        three_quarters, half, more = np.zeros((3, 6))
        three_quarters[index : index + 2] = unit, -0.25 * unit
        half[index + 1] = 0.5 * unit
        more[index : index + 2] = -unit, 0.5 * unit - finer
        assert limbs_of(np.array([0.75 * unit])).tolist() == three_quarters.tolist()
        assert limbs_of(np.array([0.5 * unit])).tolist() == half.tolist()
        assert limbs_of(np.array([-0.5 * unit - finer])).tolist() == more.tolist()


def test_sums_in_any_order_are_those_of_fsum() -> None:
    values = np.random.default_rng(3).normal(size=2000)
    assert {math.fsum(limbs_of(np.roll(values, turn))) for turn in (0, 3, 600)} == {math.fsum(values)}


@pytest.mark.parametrize("place", [0, 511, 512, 700])
@pytest.mark.parametrize("value", [MOST, -MOST, math.inf, -math.inf])
def test_values_that_are_too_large_are_refused(place: int, value: float) -> None:
    """The sum comes from numpy then; the largest value below still comes from the loop."""
    values = small_values(701)
    values[place] = math.copysign(math.nextafter(MOST, 0.0), value)
    assert fractions(limbs_of(values)) == fractions(values)
    assert add(values) == fractions(values)
    values[place] = value
    assert add(values) is None
    if math.isfinite(value):
        assert fractions(exact_sum(values)) == fractions(values)


def add(values: NDArray[np.float64]) -> Fraction | None:
    """What the loop sums up, or nothing where it refuses to."""
    limbs = np.zeros(6)
    return fractions(limbs) if loops.sums.add(values, np.array(UNITS), MOST, limbs) else None


def add_with_squares(values: NDArray[np.float64]) -> tuple[int, Fraction, Fraction]:
    """How many values are undefined, the sum of the others and that of their squares."""
    first, second = np.zeros((2, 6))
    undefined = loops.sums.add_with_squares(values, 0.0, np.array(UNITS), MOST, first, second)
    return undefined, fractions(first), fractions(second)


@pytest.mark.parametrize("rows", range(1, 10))
def test_values_that_were_refused_leave_nothing_behind(rows: int) -> None:
    """Sums go on in eight lanes: those that no value fills must hold zeros, whatever was there before."""
    refused, ones = np.array([1.5] * 20 + [MOST]), np.ones(rows)
    assert (add(refused), add(ones)) == (None, rows)
    assert add_with_squares(refused)[0] == -1
    assert add_with_squares(ones) == (0, rows, rows)


@pytest.mark.parametrize("rows", LENGTHS[1:])
@pytest.mark.parametrize("counted_as", [0.0, 0.5, 1.0])
def test_sums_of_values_and_squares_count_what_is_undefined(counted_as: float, rows: int) -> None:
    """Values of 20 bits, whose squares have 40; every third is undefined, and another array has its own sums."""
    values = np.random.default_rng(rows).integers(-(2**20), 2**20, rows) * 2.0**-18
    holes = np.arange(rows) % 3 == 0
    filled, values[holes] = np.where(holes, counted_as, values), np.nan
    ones = np.ones(rows)
    with calls() as called:
        undefined, first, second = sums_with_squares([values, ones], counted_as)
    assert called["sums.add_with_squares"] == 2
    assert undefined.tolist() == [np.count_nonzero(holes), 0]
    assert [fractions(limbs) for limbs in first] == [fractions(filled), rows]
    assert [fractions(limbs) for limbs in second] == [fractions(filled * filled), rows]
    plain = both(lambda: sums_with_squares([values, ones], counted_as))[1]
    assert [array_bits(each) for each in (undefined, first, second)] == [array_bits(each) for each in plain]


@pytest.mark.parametrize("place", [0, 511, 512, 700])
@pytest.mark.parametrize("value", [2.0**20, -(2.0**20), 2.0**40, math.inf])
def test_squares_that_are_too_large_are_refused(place: int, value: float) -> None:
    """2^20 has the square 2^40; numpy sums up both arrays then, of which one would have served."""
    values, ones = np.full(1100, 0.25), np.ones(1100)
    values[1090:], ones[0] = math.nan, math.nan  # values far behind the one that is refused
    values[place] = math.nextafter(2.0**20, 0.0)
    assert add_with_squares(values)[0] == 10
    values[place] = value
    assert add_with_squares(values)[0] == -1
    if math.isfinite(value):
        undefined, first, second = sums_with_squares([ones, values], 0.0)
        assert undefined.tolist() == [1, 10]
        assert [fractions(limbs) for limbs in first] == [1099, 1089 * Fraction(1, 4) + Fraction(value)]
        assert [fractions(limbs) for limbs in second] == [1099, 1089 * Fraction(1, 16) + Fraction(value) ** 2]


# blocks: rows counted by score block, and blocks put together.


def counted(rule: BlockRule, scores: Sequence[float], labels: Sequence[float]) -> dict[float, tuple[int, int]]:
    """The relevant and the other rows of the block of each score."""
    with calls() as called:
        (found,) = count_blocks(rule, ScoredRows(np.array(scores), np.array(labels)), sums=False)
    assert called["blocks.kept"] == 1
    assert found.offset.tolist() == [0] * len(found.block)
    blocks = block_scores(found.block).tolist()
    assert blocks == sorted(blocks)
    return dict(zip(blocks, zip(found.pos.tolist(), found.neg.tolist(), strict=True), strict=True))


def test_blocks_of_leading_bits() -> None:
    """With one bit of the mantissa, blocks begin at 1, 1.5, 2, 3, 4 and so on, and at the same below 0."""
    scores = [1.0, 1.25, 1.4999, 1.5, 1.75, 2.0, 2.999, 3.0, 3.0, 5.0]
    found = counted(BlockRule("bits", 1), scores, [1, 0, 0, 0, 1, 1, 1, 0, 0, 1])
    assert found == {1.0: (1, 2), 1.5: (1, 1), 2.0: (2, 0), 3.0: (0, 2), 4.0: (1, 0)}
    below = counted(BlockRule("bits", 1), [-score for score in scores], [1] * 10)
    assert below == {-1.0: (3, 0), -1.5: (2, 0), -2.0: (2, 0), -3.0: (2, 0), -4.0: (1, 0)}


@pytest.mark.parametrize(
    "rule", [BlockRule("exact"), BlockRule("bits", 52), BlockRule("bits", 3), BlockRule("digits", 2)]
)
def test_zeros_of_either_sign_share_a_block(rule: BlockRule) -> None:
    assert counted(rule, [0.0, -0.0, -0.0, 0.0], [1, 1, 0, 0]) == {0.0: (2, 2)}


def test_what_leading_bits_cut_to_zero_is_zero() -> None:
    """The smallest float64 have no leading bits; with all bits each is a block of its own."""
    scores = [-5e-324, 5e-324, -0.0, 5e-324]
    assert counted(BlockRule("bits", 3), scores, [1, 0, 0, 1]) == {0.0: (2, 2)}
    assert counted(BlockRule("exact"), scores, [1, 0, 0, 1]) == {-5e-324: (1, 0), 0.0: (0, 1), 5e-324: (1, 1)}


def test_blocks_of_decimals() -> None:
    """To the nearest tenth, a half to the even one, below 0 too; -0.04 is 0. There are no blocks without rows."""
    scores = [0.25, 0.15625, 0.35, -0.04, 0.04, -0.25, -0.26, 0.9, 1.06]
    found = counted(BlockRule("digits", 1), scores, [1, 1, 0, 0, 1, 1, 0, 0, 1])
    assert found == {-0.3: (0, 1), -0.2: (1, 0), 0.0: (1, 1), 0.2: (2, 0), 0.4: (0, 1), 0.9: (0, 1), 1.1: (1, 0)}


def test_equal_blocks_of_several_parts_add_up() -> None:
    rule = BlockRule("digits", 1)
    scores = [[-0.1, 0.0, 0.3], [0.0, 0.2, 0.3], [0.3]]
    joined = join_blocks(rule, [rule.numbers(np.array(each)) for each in scores])
    assert isinstance(joined, JoinedInPlace)
    with calls() as called:
        sums = joined.sum([np.array([1, 2, 3]), np.array([40, 50, 60]), np.array([-(2**40)])])
    assert called["blocks.add"] == 3
    assert block_scores(joined.block).tolist() == [-0.1, 0.0, 0.2, 0.3]
    assert sums.tolist() == [1, 2 + 40, 50, 3 + 60 - 2**40]
    limbs = joined.sum([np.full((3, 6), 0.5), np.full((3, 6), 0.25), np.ones((1, 6))])  # of rows with weights
    assert limbs.T.tolist() == [[0.5, 0.75, 0.25, 1.75]] * 6


# Where the loops serve, and where they do not.

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
    plan = Plan.of(metrics, ["m"], ["user"], **more)
    with calls() as called:
        evaluate_bucket(rows.select(bucket_columns(plan, 1)), plan)
    return called


USUAL = ["ndcg@10", "p@10", "auc(digits=1)", "auc(bits=2)"]


def test_a_usual_bucket_is_evaluated_by_the_loops() -> None:
    """Groups and their rows, hits in one walk for all metrics, means, and the blocks of two rules."""
    called = called_for(USUAL, user_rows())
    assert called.pop("keys.tally") >= 2  # rows, relevant rows, and what more is counted
    assert called == {
        "keys.number": 1,
        "hits.walk": 1,
        "sums.add_with_squares": 2,
        "blocks.decimals": 1,
        "blocks.leading_bits": 1,
        "blocks.kept": 2,
    }


NO_SCORE = {score_column(0): pa.array([0.5, None, 0.25, 0.75, 0.5, 0.5])}
FRACTION = {LABEL: pa.array([0.0, 0.1, 0.2, 0.0, 1.0, 3.0])}
HUGE = {LABEL: pa.array([0, 1, 2**52, 0, 1, 3])}


@pytest.mark.parametrize(
    ("metrics", "other", "more", "left_out"),
    [
        (["ndcg", "ap"], NO_SCORE, {}, "hits.walk"),
        (["ndcg", "ap"], {}, {"definitions": Definitions("worst")}, "hits.walk"),
        (["ndcg", "ap"], {}, {"definitions": Definitions("item")}, "hits.walk"),
        (["ap"], {ITEM: pa.array(list("aabcbc"))}, {"definitions": Definitions(duplicates="first")}, "hits.walk"),
        (["ap"], {key_column(0): pa.array(list("aaabbb"))}, {}, "keys.number"),
        (["auc(digits=1)"], {}, {"weighted": True}, "blocks.kept"),
        (["auc(digits=1)"], {}, {"score_sums": True}, "blocks.kept"),
        (["auc(exact)"], {}, {}, "blocks.kept"),  # its blocks lie too far apart
        (["ece(bins=4)"], {}, {}, "blocks.kept"),
    ],
    ids=[
        "no score",
        "worst",
        "item",
        "duplicates",
        "text keys",
        "weights",
        "sums of scores",
        "exact blocks",
        "bins",
    ],
)
def test_what_the_loops_do_not_serve_is_left_to_numpy(
    metrics: list[str], other: dict[str, pa.Array], more: dict[str, Any], left_out: str
) -> None:
    assert left_out in called_for(USUAL, user_rows())
    assert left_out not in called_for(metrics, user_rows(**other), **more)


@pytest.mark.parametrize("other", [FRACTION, HUGE], ids=["fractions", "huge"])
def test_gains_that_do_not_add_exactly_are_not_summed_by_the_walk_where_rows_are_tied(
    other: dict[str, pa.Array],
) -> None:
    """Of tied rows the order of adding would show. Without ties, and of the other gains, the walk serves."""
    labels = other[LABEL].to_numpy()
    tied = ranking([0.5, 0.5, 0.25, 0.75, 0.4, 0.3], labels)
    assert walked(tied, None, None) is None
    assert walked(tied, 1.0, None) is not None
    assert walked(tied, None, None, Gain("binary")) is not None
    assert walked(ranking([0.5, 0.6, 0.25, 0.75, 0.4, 0.3], labels), None, None) is not None


def test_sums_of_a_threshold_are_those_of_its_hits() -> None:
    """At rel=2 the labels 2 and 3 are hits, at 1 and at 2 to 3; ranks of ties are counted at each threshold anew."""
    of = ranking([9.0, 5.0, 5.0, 1.0], [2, 3, 1, 1], cutoffs=(2,))
    at_2, at_1 = hit_sums(of, 2.0), hit_sums(of, 1.0)
    assert (at_2.count(2)[0], at_1.count(2)[0]) == (1.5, 2.0)
    assert (at_2.count(None)[0], at_1.count(None)[0]) == (2, 4)
    assert at_2.precisions(2)[0] == 1 + 1 / 2 * 2 / 2
    assert (at_2.mid_rank_sum()[0], at_1.mid_rank_sum()[0]) == (1 + 2.5, 1 + 2.5 + 2.5 + 4)
    assert (at_2.tied_pairs()[0], at_1.tied_pairs()[0]) == (1, 0)
    assert tied_rows(of) == 2


def test_a_group_too_long_for_the_tables_of_the_walk_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both groups have three rows."""
    monkeypatch.setattr("sparkrank.kernels.walked.LONGEST", 3)
    assert called_for(["ap"], user_rows())["hits.walk"] == 1
    monkeypatch.setattr("sparkrank.kernels.walked.LONGEST", 2)
    assert "hits.walk" not in called_for(["ap"], user_rows())
