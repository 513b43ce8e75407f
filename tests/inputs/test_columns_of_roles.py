"""Roles that are left out, that share a column, and columns that have none."""

from __future__ import annotations

import itertools
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import load_spec
from sparkrank.metrics import PooledMetric
from sparkrank.metrics.metric import CATALOG
from tests.support.numbers import without_hash


def log(rows: int = 900, users: int = 40) -> pa.Table:
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "user": rng.integers(0, users, rows),
            "score": pa.array(rng.integers(1, 90, rows) / 100, mask=rng.random(rows) < 0.05),
            "other": rng.random(rows),
            "label": pa.array(rng.integers(0, 2, rows), mask=rng.random(rows) < 0.05),
            "weight": rng.random(rows),
            "kind": rng.choice(["a", "b"], rows),
            "item": rng.integers(0, 99, rows),
            "chance": rng.uniform(0.1, 1, rows),
        }
    )


POOLED = [name for name, declared in CATALOG.items() if isinstance(declared, PooledMetric)]


@pytest.mark.parametrize(
    ("split_rows", "stored", "weight"), [(50, False, None), (50, True, "weight"), (10_000, True, None)]
)
def test_without_a_group_are_the_bits_of_any_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weight: str | None, stored: bool, split_rows: int
) -> None:
    rows = log()
    metrics = [*POOLED, "auc(exact)", "auc_up(exact)", "pr_auc(exact)"]
    roles = {"score": {"m": "score", "n": "other"}, "label": "label", "weight": weight, "slices": ["kind"]}
    roles |= {"propensity": "chance"}
    roles |= {"curve_points": 30, "score_sums": True, "uncertainty": False}  # without groups there are no parts
    expected = sr.evaluate(rows, metrics, group="user", **roles)
    monkeypatch.setattr("sparkrank.engines.local.LOCAL_SPLIT_ROWS", split_rows)
    if stored:
        pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=40)
    alone = sr.evaluate(tmp_path / "rows.parquet" if stored else rows, metrics, **roles)
    assert alone.groups is None
    assert set(alone.table["interval"].to_pylist()) == {None}  # nothing to resample; with groups it is turned off
    assert set(expected.table["interval"].to_pylist()) == {"off", None}  # auc_up has none by nature
    for table in ("table", "blocks", "curves"):
        both = (without_hash(getattr(evaluation, table)) for evaluation in (alone, expected))
        one, other = (repr(rows.drop_columns(["interval"] if table == "table" else []).to_pylist()) for rows in both)
        assert one == other
    of_rows, counts = ({(row["check"], row["model"]): row["count"] for row in evaluation.quality.to_pylist()}
                       for evaluation in (alone, expected))  # fmt: skip
    assert of_rows.items() <= counts.items()
    assert not [check for check, _ in of_rows if "groups" in check or "tie" in check]


def test_memory_is_bounded_without_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bucket has more rows than are read at once, though none tells them apart."""
    seen = []
    from sparkrank.engines import local

    evaluate = local.evaluate_table
    monkeypatch.setattr(local, "LOCAL_SPLIT_ROWS", 100)
    monkeypatch.setattr(local, "evaluate_table", lambda rows, plan: seen.append(len(rows)) or evaluate(rows, plan))
    same = pa.table({"score": [0.5] * 950, "label": [1] * 950})
    sr.evaluate(same, ["brier"], score="score", label="label")
    assert sorted(seen) == [50, *[100] * 9]


# Changes of an evaluation, or of one by groups, and the sentence that refuses them.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"metrics": ["auc", "ndcg@5"]}, "ndcg@5 is a metric of groups, but no group column is named"),
    ({"metrics": ["gini@5"], "item": "item"}, "gini@5 is a metric of groups"),
    ({"duplicates": "first", "item": "item"}, "duplicates=first is a setting of groups"),
    ({"population": "truth"}, "population=truth is a setting of groups"),
    ({"truth": log(), "item": "item"}, "lists and truth are joined by group and item, but no group column"),
    ({"score": None, "label": None, "items": "item", "true_items": "kind"}, "lists of groups, but no group column"),
    ({"buckets": 3}, "buckets is 3, but no group column is named"),
    ({"group_table": "somewhere"}, "group_table is somewhere, but no group column is named"),
    ({"group": []}, "group names no column: name at least one, or leave it out"),
    ({"group": "user", "score": "user"}, 'column "user" is both group and score: in a group all rows have the same'),
    ({"group": "user", "item": "user"}, 'column "user" is both group and item'),
    ({"group": ["user", "user"]}, 'the group column "user" is named twice'),
    ({"group": "user", "preset": "rectools"}, "^positions=given, set by preset=rectools, .* name it as rank, "),
    ({"group": "user", "positions": "given"}, "^positions=given takes ranks .* or set positions=dense$"),
]


def test_what_needs_a_group_and_roles_that_rule_each_other_out_are_refused() -> None:
    for changes, sentence in REFUSED:
        with pytest.raises(sr.SparkrankError, match=sentence):
            sr.evaluate(log(), **{"metrics": ["auc"], "score": "score", "label": "label", **changes})


def spec_at(folder: Path, columns: str, metrics: str = "[auc]") -> Path:
    path = folder / "spec.yaml"
    path.write_text(
        f"input: {{path: {folder}/in, columns: {{{columns}}}}}\nmetrics: {metrics}\noutput: {{path: {folder}/out}}\n"
    )
    return path


def test_a_spec_may_leave_out_group_and_label(tmp_path: Path) -> None:
    """A column that is a score too stands in the source, or days with another label would merge with it."""
    spec = load_spec(spec_at(tmp_path, "score: s, label: y"))
    assert (spec.plan().keys, spec.plan().group_table, spec.source()) == ((), False, "label=y")
    with pytest.raises(sr.SpecError, match="buckets is 4, but no group column is named"):
        load_spec(spec_at(tmp_path, "score: s, label: y"), ["engine.buckets=4"]).plan()
    spec = load_spec(spec_at(tmp_path, "group: u, score: {a: s, b: t}", '["kendall_tau(ref=b)"]'))
    assert spec.source() == "group=u"
    spec = load_spec(spec_at(tmp_path, "group: u, score: {a: s, b: y}, label: y, weight: y"))
    assert spec.source() == "group=u, label=y, weight=y"


@pytest.mark.parametrize(
    ("roles", "alike"),
    [
        ({"score": {"a": "score", "b": "score"}}, {"score": {"a": "score", "b": "copy"}}),
        ({"score": "score", "weight": "score"}, {"score": "score", "weight": "copy"}),
        ({"score": "score", "reference_rank": "score"}, {"score": "score", "reference_rank": "copy"}),
        ({"score": {"m": "label"}}, {"score": {"m": "copied"}}),
        ({"score": "score", "slices": ["item"]}, {"score": "score", "slices": ["named"]}),
        ({"rank": "item", "reference_rank": "item"}, {"rank": "item", "reference_rank": "named"}),
    ],
)
def test_a_column_with_two_roles_is_as_two_columns(roles: dict, alike: dict) -> None:
    rows = log()
    rows = rows.set_column(1, "score", rows["score"].fill_null(0.5)).set_column(3, "label", rows["label"].fill_null(0))
    for name, copied in (("copy", "score"), ("copied", "label"), ("named", "item")):
        rows = rows.append_column(name, rows[copied])
    metrics = ["ap", "auc", "spearman(ref=reference_rank)"] if "reference_rank" in roles else ["ap", "auc", "gauc"]
    one, other = (
        sr.evaluate(rows, metrics, **{"group": "user", "label": "label", "item": "item", "duplicates": "first", **each})
        for each in (roles, alike)
    )
    drop = ["slice", "definition", "spec_hash"]
    assert repr(one.table.drop_columns(drop).to_pylist()) == repr(other.table.drop_columns(drop).to_pylist())


def test_arrays_may_be_their_own_truth() -> None:
    """The ideal list."""
    rows = pa.table({"user": [1, 2], "act": [["a", "b"], ["c"]]})
    found = sr.evaluate(rows, ["ap", "ndcg@3"], group="user", items={"ideal": "act", "again": "act"}, true_items="act")
    assert found.table["value"].to_pylist() == [1.0] * 4


WITHOUT_LABELS = {"coverage", "gini", "entropy", "personalization", "filled", "list_length", "shown", "distinct"}
WITHOUT_LABELS |= {"category_entropy", "ild", "new", "n_ret"}
OF_THE_PAST = {"past_novelty", "past_serendipity"}  # each names a popularity of the interactions
BESIDE_A_RANK = {"overlap", "unexpected", "serendipity"}
WITH_VALUES = {"shown", "awrf", "exposure_gap", "alpha_ndcg", "strecall"}  # each names a column
OF_SAMPLES = {"sampled_hit", "sampled_r", "sampled_rr", "sampled_ndcg"}  # each says what was drawn
OF_TWO_MODELS = ["kendall_tau(ref=b)", "kendall_distance(ref=b)", "spearman(ref=b)", "rbo(ref=b)", "overlap(ref=b)@2"]


def test_two_orders_are_compared_without_a_label(caplog: pytest.LogCaptureFixture) -> None:
    rows, roles = log(), {"group": "user", "score": {"a": "score", "b": "other"}, "item": "item"}
    metrics = [*OF_TWO_MODELS, "coverage", "gini@3", "filled@3", "list_length"]
    caplog.clear()
    found = sr.evaluate(rows.drop_columns(["label"]), metrics, **roles)
    assert "has a label" not in caplog.text  # nobody asked for one
    expected = sr.evaluate(rows, metrics, label="label", **roles)
    assert repr(without_hash(found.table).to_pylist()) == repr(without_hash(expected.table).to_pylist())


def test_a_label_is_asked_for_by_every_other_metric_and_some_definitions() -> None:
    asked: dict[str, Any] = {"group": "user", "score": {"a": "score", "b": "other"}}
    for text in (
        {
            *CATALOG,
            "hit(sampled=9,items=99)@3",
            "serendipity(ref=b)",
            "kendall_tau(ref=label)",
            "median(ap)",
            "novelty@3",
        }
        - WITHOUT_LABELS
        - BESIDE_A_RANK
        - WITH_VALUES
        - OF_SAMPLES
        - OF_THE_PAST
        - {"value"}  # asks for the propensity first
    ):
        with pytest.raises(sr.SpecError, match=r"reads labels, but neither label nor a truth is given"):
            sr.evaluate(log(), [text], **asked, item="item", ties="block")
    for name, word in (("unjudged", "drop"), ("population", "both")):
        with pytest.raises(sr.SpecError, match=f"{name}=.* but neither label nor a truth is given"):
            sr.evaluate(log(), OF_TWO_MODELS, **asked, **{name: word})


NEED_AN_ORDER = ["err", "err@3", "iprec(recall=0.5)", "infap", "ap(over=hits)@5", "coverage@3"]


BY_RANK = {"group": "user", "rank": "rank", "label": "label", "item": "item"}


def ranked(tied: int = 0) -> pa.Table:
    rng = np.random.default_rng(2)
    ranks = [rng.permutation(30)[:9] + 1 for _ in range(50)]
    for of_user in ranks[:tied]:
        of_user[0] = of_user[1]
    label = rng.integers(0, 3, 450)
    return pa.table({"user": np.repeat(np.arange(50), 9), "rank": np.concatenate(ranks), "label": label, "item": label})


def test_ranks_are_an_order() -> None:
    """Without equal ranks it does not matter what is said of ties."""
    of_lists = pa.table({"user": [1, 2], "p": [[1, 2], [3]], "a": [[2], [3, 4]]})
    for rows, roles in ((ranked(), BY_RANK), (of_lists, {"group": "user", "items": "p", "true_items": "a"})):
        values = [
            sr.evaluate(rows, NEED_AN_ORDER, ties=ties, **roles).table["value"].to_pylist()
            for ties in ("expected", "worst", "best", "block", "item")
        ]
        assert values == values[:1] * 5


def test_equal_ranks_are_none() -> None:
    told = r"is not computed under ties=expected \(.*\), and 6 rows of rank share"
    for metric in NEED_AN_ORDER:
        with pytest.raises(sr.InputError, match=told):
            sr.evaluate(ranked(tied=3), ["rr", metric], **BY_RANK)
        sr.evaluate(ranked(tied=3), ["rr", metric], ties="worst", **BY_RANK)
    sr.evaluate(ranked(tied=3), ["rr", "ap"], **BY_RANK)
    with pytest.raises(sr.MetricError, match="err is not computed under ties=expected"):
        sr.evaluate(ranked(), ["err"], group="user", score="rank", label="label", ties="expected")


ODD = {
    "decimal": pa.array([Decimal("1e30")], pa.decimal256(60, 2)),
    "interval": pa.array([pa.MonthDayNano([1, 0, 0])]),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
    "union": pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]),
    "null": pa.nulls(1),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.null(), "hugeint", "duckdb"), pa.nulls(1)),
    "struct": pa.array([{"a": [{"b": b"c"}]}]),
}


@pytest.mark.parametrize("kind", ODD)
def test_columns_without_a_role_are_not_looked_at(tmp_path: Path, kind: str) -> None:
    rows = pa.table({"odd": ODD[kind], "user": [1], "score": [0.5], "label": [1], "m": [{"score": 0.25}]})
    forms: list[Any] = [rows]
    with suppress(pa.ArrowException):  # Parquet has no such type
        pq.write_table(rows, tmp_path / "rows.parquet")
        forms.append(tmp_path / "rows.parquet")
    for given, score in itertools.product(forms, ("score", "m.score")):
        assert sr.evaluate(given, ["rr"], group="user", score=score, label="label").table["value"].to_pylist() == [1.0]
