"""Each name that is given to ``native.runs`` is compared in both forms: compiled, and by numpy.

By this the tests of metrics need no second pass without loops: what they hold true of one form is true of the other.
Random examples of each loop stand in the other files of this folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sparkrank import native
from sparkrank.bucket import evaluate_bucket
from sparkrank.bucket.encoding import encode
from sparkrank.bucket.grouping import groups_of
from sparkrank.bucket.unmatched_rows import unmatched_rows
from sparkrank.engines.shuffle.partition import partition_rows
from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.row_histogram import histograms_of_rows
from sparkrank.histogram.scored_rows import ScoredRows
from sparkrank.histogram.state import ScoreHistogram
from sparkrank.histogram.threshold_sweep import Extent, RowSteps, Sweep
from sparkrank.metrics import Definitions
from sparkrank.numeric import elementary, exact_sums, key_hashes, narrow_integers, segments, text_arrays, whole_units
from sparkrank.numeric.ordered_integers import Range
from sparkrank.ranking.first_rows import first_rows
from sparkrank.ranking.hit_sums import hit_sums
from tests.native.test_matches import bucket, plan_of
from tests.native.with_and_without import array_bits, bits, ranking

RNG = np.random.default_rng(11)
ROWS = 3000
CODES = RNG.integers(0, 90, ROWS).astype(np.int32)
FLAGS, VALUES = RNG.random(ROWS) < 0.3, RNG.normal(size=ROWS)
SCORES = np.round(RNG.random(ROWS), 2)
KEYS = RNG.integers(-900, 900, ROWS)
TEXTS = [f"key {key}" for key in KEYS]
SCORED = ScoredRows(SCORES, FLAGS, np.abs(VALUES))
CENTS = BinRule("digits", 2)
LISTS = [(int(group), int(item), float(score)) for group, item, score in zip(CODES, KEYS, SCORES, strict=True)]
TRUTH = [(int(group), int(item), float(grade)) for group, item, grade in zip(CODES, KEYS[::-1], FLAGS, strict=True)]


def chunked(values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def plain(value: object) -> object:
    """What two results are compared by: arrays and floats by their bits."""
    if isinstance(value, np.ndarray):
        return array_bits(value)
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return value.to_pylist()
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return bits(pa.table(value))
    return value.hex() if isinstance(value, float) else value


def units(width: int) -> whole_units.UnitTable:
    return whole_units.UnitTable.of_values(RNG_UNITS[:, :width], np.arange(ROWS, dtype=np.int32) % 700, None)


RNG_UNITS = np.where(RNG.random((700, 3)) < 0.1, np.nan, RNG.random((700, 3)))


def sums_of_hits() -> object:
    hits = hit_sums(ranking(SCORES.tolist(), FLAGS.tolist(), CODES.tolist(), (3,)), None)
    own = np.arange(90) if hits.distinct is None else hits.distinct.code
    values = [hits.count(3), hits.precisions(None), hits.any(3), hits.first(None), hits.mid_rank_sum()]
    return [np.asarray(value, np.float64)[own] for value in values]


def histogram(rows: slice) -> ScoreHistogram:
    (counted,) = ScoreHistogram.of_each(CENTS, ScoredRows(SCORES[rows], FLAGS[rows]), sums=True)
    return counted


def of_histogram(found: ScoreHistogram) -> object:
    return [found.bins, found.pos, found.neg, found.offset]


def swept() -> object:
    steps = RowSteps(FLAGS, np.abs(VALUES))
    sweep = Sweep(steps, Extent.of(steps.steps()))
    return [sweep.pos, sweep.neg, sweep.tp, sweep.fp]


def joined() -> object:
    plan = plan_of(Definitions())
    result = evaluate_bucket(bucket(LISTS[:400], TRUTH[:400], pa.int64(), plan), plan)
    assert result.groups is not None
    key = [(result.groups.column_names[1], "ascending")]
    for choice, times in result.partials.loops.items():  # counted by the bucket for itself
        for _ in range(times):
            native.runs(*choice.rsplit(" ", 1)[:1], serves=choice.endswith("compiled"))
    return [result.partials.counts, result.partials.unmatched, result.groups.sort_by(key)]


def numbered_pairs() -> object:
    codes = groups_of([chunked(KEYS), chunked(CODES)]).codes
    return codes.tolist()


FORMS: dict[str, Callable[[], object]] = {
    "ascending": lambda: narrow_integers.widen_ascending(*narrow_integers.narrow_ascending(np.sort(KEYS))),
    "buckets": lambda: [key_hashes.buckets_of_keys([pa.array(each)], 700).tolist() for each in (KEYS, TEXTS)],
    "codes": lambda: of_histogram(histogram(slice(0, 9)).merge(histogram(slice(9, ROWS)))),
    "count": lambda: [of_histogram(counts) for counts in ScoreHistogram.of_each(CENTS, SCORED, sums=True)],
    "first place": lambda: unmatched_rows({"lists": (0, FLAGS)}, KEYS, None, None),
    "hashes": lambda: key_hashes.hash_keys([pa.array(TEXTS)]),
    "hits": sums_of_hits,
    "join": joined,
    "keys": lambda: encode(chunked(KEYS)),
    "logarithms": lambda: elementary.log(np.abs(VALUES) + 0.5),
    "merge": lambda: of_histogram(histogram(slice(0, 1500)).merge(histogram(slice(1500, ROWS)))),
    "order of groups": lambda: segments.order_by_code(CODES, 90),
    "order of rows": lambda: [
        [run.bins, run.relevant, run.weights]
        for rows in histograms_of_rows(BinRule("exact"), ScoredRows(VALUES, FLAGS, np.abs(VALUES)))
        for run in rows.runs  # type: ignore[attr-defined]
    ],
    "pairs of keys": numbered_pairs,
    "partition": lambda: [
        (bucket_, pa.table(rows)) for bucket_, rows in partition_rows(PARTITIONED, CODES.astype(np.uint16), 90)
    ],
    "range of scores": lambda: tuple(Range.of(VALUES)),
    "rows of groups": lambda: segments.count_both(CODES, 90, FLAGS),
    "rows shown": lambda: first_rows(ranking(SCORES.tolist(), FLAGS.tolist(), CODES.tolist()), 3, 2**32),
    "sums": lambda: exact_sums.exact_sums(VALUES, segments.Segments(90, CODES)),
    "sums with squares": lambda: exact_sums.sums_with_squares([VALUES, SCORES], 0.5, segments.Segments(90, CODES)),
    "sweep": swept,
    "texts": lambda: text_arrays.coded(pa.array(TEXTS)),
    "units": lambda: [
        whole_units.sums_by_segment(units(3), CODES, 90),
        whole_units.compared(units(3), units(3).of([2, 1, 0]), CODES, 90),
    ],
}
PARTITIONED = pa.table({"whole": KEYS, "real": VALUES, "text": TEXTS})
NAMES = {
    name
    for file in Path(native.__file__).parents[1].rglob("*.py")
    for name in re.findall(r'native\.runs\(\s*"([^"]+)"', file.read_text())
}


def test_every_choice_between_a_loop_and_numpy_is_compared_here() -> None:
    assert FORMS.keys() == NAMES


@pytest.mark.parametrize("name", FORMS)
def test_both_forms_run_and_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for compiled, form in ((True, "compiled"), (False, "numpy")):
        monkeypatch.setattr(native, "COMPILED", compiled)
        native.counted()
        result = FORMS[name]()
        assert native.counted().get(f"{name} {form}"), name
        results.append(plain(result))
    assert results[0] == results[1]
