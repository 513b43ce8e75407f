"""Group metrics of the lists of an Arrow batch: the bits of ``sr.evaluate``, and values of slow definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import InputError, MetricError, SpecError
from sparkrank.functions import list_values
from sparkrank.functions.column_plans import column_plan
from sparkrank.functions.list_values import values_of_lists
from sparkrank.functions.pooled_rows import PooledRows, pooled_values_of_lists
from sparkrank.metrics import CATALOG, GroupMetric, Metric, PooledMetric
from tests.cases import Row
from tests.oracles import ORACLES
from tests.support.strategies import PATIENT, impressions, needed, reads_the_past

OF_GROUPS = [name for name, declared in CATALOG.items() if isinstance(declared, GroupMetric)]
# Every group metric of the catalogue, whole and cut off, in an order of tied rows where it has no mean over them.
METRICS = [
    f"{name}{'(ties=item)' if CATALOG[name].needs_order else ''}{cut}"
    for name in OF_GROUPS
    # the others compare with a column, or read one, or the interactions
    if CATALOG[name].defaults.get("ref", "label") == "label" and not needed(name) and not reads_the_past(CATALOG[name])
    for cut in (("", "@2") if CATALOG[name].cutoff == "optional" else ("",))
]
POOLED = [name for name, declared in CATALOG.items() if isinstance(declared, PooledMetric) and name != "value"]
ROLES = ("score", "label", "item")
GROUPS = ("a", "b", "c", "d")


def known(metrics: Sequence[str]) -> list[str]:
    """Those that go with the defaults of their parameters."""
    found = []
    for metric in metrics:
        try:
            column_plan([metric], ROLES, {})
        except MetricError:
            continue
        found.append(metric)
    return found


KINDS = {"item": pa.string(), "score": pa.float64(), "label": pa.float64()}


def lists_of_structs(rows: Sequence[Row]) -> pa.Array:
    """The rows of each of :data:`GROUPS` as a list."""
    lists = [[dict(zip(KINDS, row[1:], strict=True)) for row in rows if row[0] == group] for group in GROUPS]
    return pa.array(lists, pa.list_(pa.struct(KINDS)))


def lists_of_values(rows: Sequence[Row]) -> list[pa.Array]:
    """The same as an array for each role."""
    structs = lists_of_structs(rows).to_pylist()
    return [pa.array([[row[key] for row in part] for part in structs], pa.list_(KINDS[key])) for key in ROLES]


def evaluated(rows: Sequence[Row], metrics: Sequence[str], **settings: str) -> dict[str, dict[str, float]]:
    """The group table of ``sr.evaluate``: the value of each metric by group."""
    log = pa.Table.from_pylist(
        [dict(zip(("user", *KINDS), row, strict=True)) for row in rows], pa.schema({"user": pa.string(), **KINDS})
    )
    roles = {"group": "user", "score": "score", "label": "label", "item": "item"}
    return {row["user"]: row for row in sr.evaluate(log, metrics, **roles, **settings, lane="local").groups.to_pylist()}


def bits(value: float | None) -> str:
    return "undefined" if value is None or math.isnan(value) else value.hex()


@settings(PATIENT, max_examples=20)
@given(impressions(6, GROUPS), st.sampled_from(["expected", "item", "worst", "best", "block"]))
def test_every_metric_of_the_catalogue_has_the_bits_of_evaluate(rows: list[Row], ties: str) -> None:
    if not rows:
        return
    metrics = [metric for metric in METRICS if ties == "expected" or "ties" not in metric]
    metrics = [metric for metric in metrics if not (ties == "block" and metric.startswith(("err", "iprec", "infap")))]
    asked = column_plan(metrics, ROLES, {"ties": ties})
    expected = evaluated(rows, metrics, ties=ties)
    for arrays in ([lists_of_structs(rows)], lists_of_values(rows)[: len(asked.roles)]):
        for name, values in zip(asked.names, values_of_lists(arrays, asked), strict=True):
            by_group = dict(zip(GROUPS, map(bits, values.to_pylist()), strict=True))
            assert {group: by_group[group] for group in expected} == {
                group: bits(row[name]) for group, row in expected.items()
            }, name


@settings(PATIENT, max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from([None, 0.0, 1.0, 2.0]), min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from([None, 1, 3]),
)
def test_lists_in_order_have_the_values_of_plain_definitions(labels: list[list[float | None]], k: int | None) -> None:
    names = [name for name in ("ap", "rr", "ndcg", "p", "r", "hit", "rprec", "dcg") if k is None or name != "rprec"]
    scores = pa.array([[float(-place) for place in range(len(each))] for each in labels])
    asked = column_plan([name + (f"@{k}" if k else "") for name in names], ROLES, {})
    found = values_of_lists([scores, pa.array(labels, pa.list_(pa.float64()))], asked)
    for name, values in zip(names, found, strict=True):
        cut = {} if name == "rprec" else {"k": k}
        expected = [ORACLES[name](list(enumerate(each, 1)), each, **cut) for each in labels]
        assert [value is None for value in values.to_pylist()] == [value is None for value in expected], name
        pairs = zip(values.to_pylist(), expected, strict=True)
        assert all(value is None or math.isclose(value, other, rel_tol=1e-12) for value, other in pairs), name


SCORES = pa.array([[0.9, 0.5], None, [], [0.7, None], [math.nan, 1.0], [0.2, 0.1]])
LABELS = pa.array([[0, 1], [1], [], [0, 1], [1, 0], None])


def test_nulls_and_what_cannot_be_evaluated() -> None:
    """A null list is null. An empty one has no relevant row. A row without a score is relevant and not found: rr is 0.
    NaN is NaN.
    """
    for undefined, empty in {"skip": None, "zero": 0.0, "one": 1.0}.items():
        asked = column_plan(["rr", "p@1"], ROLES, {"undefined": undefined})
        values, precision = values_of_lists([SCORES, LABELS], asked)
        assert precision.to_pylist()[:4] == [0.0, None, 0.0, 0.0]
        assert math.isnan(precision[4].as_py())  # and not that of an empty list
        assert values.to_pylist()[:4] == [0.5, None, empty, 0.0]
        assert math.isnan(values[4].as_py())
        assert values[5].as_py() is None


def test_undefined_and_duplicates_may_stop() -> None:
    twice = [pa.array([[2.0, 1.0]]), pa.array([[1, 1]]), pa.array([["x", "x"]])]
    for arrays, words, sentence in (
        ([SCORES, LABELS], {"undefined": "error"}, "rr is undefined in 1 lists of a batch, and undefined=error"),
        (twice, {"duplicates": "error"}, "duplicates=error, and there are duplicates"),
    ):
        with pytest.raises(InputError, match=sentence):
            values_of_lists(arrays, column_plan(["rr"], ROLES, words))
    # R is 1 for an item that stands twice: p@2 is 1/2 where its repeat is a miss
    assert values_of_lists(twice, column_plan(["p@2"], ROLES, {"duplicates": "once"}))[0].to_pylist() == [0.5]


def test_ranks_columns_and_other_orders() -> None:
    decimals, of_ranks = pa.array([[0, 1]], pa.list_(pa.decimal128(20, 0))), ("rank", "label")
    ref = ("score", "label", "reference_rank")
    for arrays, metric, roles, words, value in (
        ([pa.array([[2, 1]]), decimals], "rr", of_ranks, {}, 1.0),
        ([pa.array([[4, 2]]), pa.array([[0, 1]])], "rr", of_ranks, {"positions": "given"}, 0.5),
        ([pa.array([[3.0, 1.0]]), pa.array([[1, 1]]), pa.array([[3, 1]])], f"kendall_tau(ref={ref[2]})", ref, {}, -1.0),
    ):
        asked = column_plan([metric], roles, words)
        assert asked.roles == roles
        assert values_of_lists(arrays, asked)[0].to_pylist() == [value], metric


RANKS = pa.list_(pa.struct({"rank": pa.int64(), "label": pa.int64()}))


def test_structs_by_name_or_by_place() -> None:
    asked = column_plan(["rr"], ROLES, {})
    of_pairs = pa.list_(pa.struct({"s": pa.float64(), "l": pa.int64()}))
    by_place = pa.array([[(2.0, 0), (1.0, 1), None]], of_pairs)  # a null row has no score and no label
    by_name = pa.array([[{"label": 0, "score": 2.0}, {"label": 1, "score": 1.0}]])
    beside = pa.array([[{"film": 7, "label": 0, "score": 2.0}, {"film": 8, "label": 1, "score": 1.0}]])
    empty = pa.array([[]], pa.list_(pa.null()))
    assert [values_of_lists([each], asked)[0].to_pylist() for each in (by_place, by_name, beside)] == [[0.5]] * 3
    untyped = [pa.nulls(2), pa.nulls(2)]  # NULL of SQL has no type
    assert [values_of_lists(given, asked)[0].to_pylist() for given in (untyped, untyped[:1])] == [[None, None]] * 2
    assert values_of_lists([empty], asked)[0].to_pylist() == [None]
    sliced = pa.concat_arrays([by_name, by_name]).slice(1)
    assert values_of_lists([sliced], asked)[0].to_pylist() == [0.5]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ([pa.array([1.0]), pa.array([1])], 'the score column is double: an array is needed.*of="rows"'),
        ([pa.array([[1.0]]), pa.array([["x"]])], "the label column is string: a number is needed"),
        ([pa.array([[[1.0]]]), pa.array([[1]])], 'the score column is list<.*a number is needed.*of="lists"'),
        ([pa.array([[1.0], [1.0, 2.0]]), pa.array([[1], [1]])], "a row has 2 scores and 1 labels: arrays of one row"),
        ([pa.array([[1.0]])], "1 columns are given, and 2 are needed"),
        ([pa.array([[{"score": 1.0}]])], r"the structs have 1 fields \(score\), and score, label are needed"),
        ([pa.array([[{"label": 0, "s": 0.5}]])], r"2 fields \(label, s\), and score, label are needed"),
        ([pa.array([[(1, 0)]], RANKS)], r"the structs have 2 fields \(rank, label\), and score, label"),
        ([pa.array([[{"film": 7, "score": 0.5, "l": 0}]])], "the structs have 3 fields .* by these names or no more"),
        ([pa.array([[{"film": 7, "s": 0.5, "l": 0}]])], "the structs have 3 fields .*in this order"),
    ],
)
def test_what_is_no_list_of_scores_and_labels(arrays: list[pa.Array], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        values_of_lists(arrays, column_plan(["rr"], ("score", "label"), {}))


def test_parts_of_a_batch_are_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 9, 50)
    arrays = [pa.array([draw(size) for size in sizes]) for draw in (rng.random, lambda size: rng.integers(0, 2, size))]
    asked = column_plan(["ndcg@3", "ap"], ROLES, {})
    whole = [values.to_pylist() for values in values_of_lists(arrays, asked)]
    monkeypatch.setattr(list_values, "MOST_ROWS", 7)
    assert len(list(list_values.lists_of(arrays, asked.roles).chunks())) > 20
    assert [values.to_pylist() for values in values_of_lists(arrays, asked)] == whole


def test_pooled_metrics_have_the_bits_of_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    """However rows come in batches, and as one list."""
    monkeypatch.setattr("sparkrank.functions.pooled_rows.FOLDED_ROWS", 100)
    rng = np.random.default_rng(5)
    log = pa.table({"score": rng.random(500).round(3), "label": rng.integers(0, 2, 500), "weight": rng.random(500)})
    lists = [pa.ListArray.from_arrays([0, 0, len(log)], column.combine_chunks()) for column in log.columns]
    metrics = known(POOLED)
    day = sr.evaluate(log, metrics, score="score", label="label", weight="weight", lane="local")
    for name in metrics:
        rows = PooledRows(asked := column_plan([name], ("score", "label", "weight"), {}))
        for batch in log.to_batches(max_chunksize=60):
            rows.add(batch.columns)
        of_lists = pooled_values_of_lists(lists, asked)[0].to_pylist()
        assert [bits(*rows.values()), bits(of_lists[1])] == [bits(day[name])] * 2, name


def test_pooled_rows_of_nothing_and_of_bad_rows() -> None:
    for words, value in (({}, None), ({"undefined": "zero"}, 0.0)):
        assert PooledRows(column_plan(["auc"], ROLES, words)).values() == [value]
    with pytest.raises(InputError, match="auc is undefined, and undefined=error"):
        PooledRows(column_plan(["auc"], ROLES, {"undefined": "error"})).values()
    rows = PooledRows(asked := column_plan(["auc"], ROLES, {}))
    rows.add([pa.array([1.0, math.nan, 0.5]), pa.array([1, 0, 0])])
    assert math.isnan(rows.values()[0] or 0)
    assert pooled_values_of_lists([SCORES.slice(0, 3), LABELS.slice(0, 3)], asked)[0].to_pylist() == [0.0, None, None]


@pytest.mark.parametrize(
    ("metrics", "given", "sentence"),
    [
        (["coverage@10"], {}, "coverage@10 is a property of all lists together"),
        (["median(ap)"], {}, "median.ap. is a percentile over groups.*take a percentile of ap"),
        (["gmean(ap)"], {}, "gmean.ap. is a mean over groups.*take the geometric mean of ap"),
        (["ndcg(weight=rows)"], {}, "sets the weight of a group in a mean"),
        (["ap", "auc"], {}, "ap is a metric of a group and auc of all rows together"),
        ([], {}, "metrics is empty"),
        (["ndgc"], {}, 'unknown metric "ndgc".*did you mean "ndcg"'),
        (["ap"], {"ties": "lucky"}, 'ties is "lucky"'),
        (["kendall_tau(ref=other)"], {}, "ref=other of kendall_tau.*names no order"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(
    metrics: list[str], given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SpecError, match=sentence):
        column_plan(metrics, ("score", "label"), given)


def test_a_preset_and_a_metric_from_outside() -> None:
    asked = column_plan(["ndcg@10"], ROLES, {}, "mllib")
    assert asked.names == (str(Metric.parse("ndcg(gain=binary)@10")),)
    assert asked.plan.definitions.undefined == "zero"
    declared = {"title": "t", "formula": "f", "undefined": "never", "reference": "here", "highest": np.inf}
    sr.register(sr.GroupMetric("list_size", **declared, values=lambda ranking, _: ranking.length.astype(float)))
    (sizes,) = values_of_lists([SCORES, LABELS], column_plan(["list_size"], ROLES, {}))
    assert sizes.to_pylist()[:4] == [2, None, 0, 1]
