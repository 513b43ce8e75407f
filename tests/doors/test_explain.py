"""One group explained: by hand, by both doors, for keys of every type, and whatever its names are."""

from __future__ import annotations

import datetime as dt
import html
import json
import math
import re
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import escape
from sparkrank.doors.keywords import INPUT_DEFAULTS
from sparkrank.engines.one_group import GroupKeys
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.roles import Roles
from sparkrank.jobs.explain_job import explain_request
from sparkrank.metrics import CATALOG, Arithmetic, Definitions, Metric, TermTable
from sparkrank.metrics.arithmetic import LIST, total
from sparkrank.metrics.sampled_metric import SampledMetric
from sparkrank.run import call_request
from sparkrank.run.stages import Stages
from sparkrank.sources.columns import needed_columns
from sparkrank.sources.selection import Sides
from tests.support.commands import exit_code, write_spec
from tests.support.strategies import needed, reads_the_past

DAY = "2026-01-31"
NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.timezone.utc)
COLUMNS = {"score": "score", "label": "click", "item": "item"}
# The list of a is x (not clicked), then y and z of one score, of which y is clicked, twice as relevant as w, which is
# clicked and not in the list.
ROWS = pa.table(
    {
        "user": ["a", "a", "a", "a", "b"],
        "item": ["x", "y", "z", "w", "x"],
        "score": [0.9, 0.5, 0.5, None, 0.7],
        "click": [0, 2, 0, 1, 1],
    }
)
DCG = (2 / 2) / math.log2(3) + (2 / 2) / math.log2(4)  # y stands second or third, each with the chance 1/2
IDEAL = 2 / math.log2(2) + 1 / math.log2(3)


def test_ndcg_with_a_tie_and_a_row_that_is_not_in_the_list() -> None:
    found = sr.explain(ROWS, "ndcg@3", group={"user": "a"}, **COLUMNS).metric
    lists, ideal, unlisted = found.tables
    assert (lists.name, ideal.name, unlisted.name) == ("list", "ideal list", "judged and not in the list")
    columns = dict(lists.columns)
    assert columns.pop("discount") == pytest.approx((1, 1 / math.log2(3), 1 / 2))
    assert columns.pop("contribution") == pytest.approx((0, 1 / math.log2(3), 1 / 2))
    assert columns == {
        "position": (1, 2, 3), "item": ("x", "y", "z"), "score": (0.9, 0.5, 0.5), "label": (0, 2, 0),
        "relevant": (False, True, False), "tie block": (None, 1, 1), "gain": (0, 1, 1),
    }  # fmt: skip
    assert (ideal.columns["item"], ideal.columns["gain"]) == (("y", "w"), (2, 1))
    assert unlisted.columns == {"item": ("w",), "label": (1,)}
    texts = {"dcg@3": "Σ contribution", "ideal dcg@3": "Σ contribution (ideal list)", "ndcg@3": "dcg@3 / ideal dcg@3"}
    assert {step.name: step.formula() for step in found.steps} == texts
    assert [step.value for step in found.steps] == pytest.approx([DCG, IDEAL, DCG / IDEAL])
    assert found.value == pytest.approx(DCG / IDEAL)


def test_pairs_of_group_auc_and_hits_of_average_precision() -> None:
    """Of a, y stands below x and is tied with z: it wins no pair, ties one, loses one. R is 2: w is relevant, too."""
    auc, ap = sr.explain(ROWS, ["group_auc", "ap"], group={"user": "a"}, **COLUMNS)
    assert [auc.tables[0].columns[name] for name in ("won", "tied", "lost")] == [
        (None, 0, None), (None, 1, None), (None, 1, None),
    ]  # fmt: skip
    assert auc.value == auc.steps[-1].value == 0.25  # half of one of two pairs
    assert ap.tables[0].columns["hit"] == (0, 0.5, 0.5)
    assert ap.tables[0].columns["hits so far"] == (None, 1, 1)
    assert {step.name: step.value for step in ap.steps}["R"] == 2
    assert ap.value == pytest.approx((0.5 * 1 / 2 + 0.5 * 1 / 3) / 2)


def test_an_undefined_value_and_what_it_counts() -> None:
    rows = pa.table({"user": ["a", "a"], "score": [2.0, 1.0], "click": [0, 0]})
    asked = {"group": {"user": "a"}, "score": "score", "label": "click"}
    skipped, zero = (sr.explain(rows, "rr", **asked, undefined=word) for word in ("skip", "zero"))
    assert all(map(math.isnan, (skipped.metric.value, skipped.metric.steps[-1].value, skipped.metric.counts_as)))
    assert zero.metric.counts_as == 0
    assert "rr = undefined, counted as 0" in str(zero)


def test_a_number_of_the_group_has_its_own_name() -> None:
    """The relevant row is the third of three: that is no hit rate and no percentile, but a rank and its inverse."""
    rows = pa.table({"user": ["a"] * 3, "score": [0.9, 0.8, 0.7], "click": [0, 0, 1]})
    asked = {"group": {"user": "a"}, "score": "score", "label": "click", "ties": "worst"}
    text = str(sr.explain(rows, ["hit(sampled=2,items=5)@2", "median(rr)", "rr"], **asked))
    assert "hit(sampled=2,items=5)@2: first_rank(sampled=2) = 3  (" in text
    assert "\nmedian(rr): rr = 0.3333  (" in text
    assert "\nrr = 0.3333  (" in text
    two = sr.explain(rows, "hit(sampled=2,items=5)@2", **{**asked, "score": {"m": "score", "n": "score"}})
    assert "\n  m: first_rank(sampled=2) = 3\n" in str(two)
    assert two.to_dict()["groups"][0]["metrics"][0]["value_of"] == "first_rank(sampled=2)"


def test_weights_percentiles_and_ranks() -> None:
    rows = ROWS.append_column("worth", pa.array([3.0] * 4 + [1.0]))
    found = sr.explain(
        rows, ["rr(weight=worth)", "gauc", "rr", "gmean(rr)", "median(rr)"], group={"user": "a"}, **COLUMNS
    )
    assert [metric.weight for metric in found][:3] == [3, 3, 1]  # gauc weighs by rows of the list
    *_, geometric, median = found
    assert geometric.steps == median.steps
    assert any("gmean(rr) is the geometric mean of the values of all groups" in line for line in geometric.notes)
    assert median.steps[-1].name == "rr"
    assert any("median(rr) is the percentile of the values of all groups" in sentence for sentence in median.notes)
    rows = pa.table({"user": ["a"] * 2, "rank": [2, 1], "click": [1, 0], "item": ["x", "y"]})
    of_ranks = sr.explain(rows, "rr", group={"user": "a"}, rank="rank", label="click", item="item").metric
    assert [of_ranks.tables[0].columns[name] for name in ("rank", "item")] == [(1, 2), ("y", "x")]
    assert of_ranks.value == 0.5


def test_rows_that_are_rejected_are_counted_and_a_group_of_them_alone_is_said_so() -> None:
    rows = pa.table({"user": ["a", "a", "b"], "score": [math.nan, 1.0, math.nan], "click": [1, 1, 1]})
    asked = {"score": "score", "label": "click"}
    (key,) = sr.explain(rows, "rr", group={"user": "a"}, **asked).keys
    assert (key.groups[0].rows, dict(key.groups[0].counts)) == (2, {"rejected: NaN score": 1})
    assert "no row of it can be evaluated" in str(sr.explain(rows, "rr", group={"user": "b"}, **asked))


KEYS: list[tuple[pa.Array, Any, str | None]] = [
    (pa.array([7, 8], pa.int8()), 7, "7"),
    (pa.array([2**63 - 1, 0], pa.int64()), 2**63 - 1, "9223372036854775807"),
    (pa.array(["ü=1", "b"]), "ü=1", "ü=1"),
    (pa.array(["a", "b"], pa.large_string()), "a", "a"),
    (pa.array(["a", "b"]).dictionary_encode(), "a", "a"),
    (pa.array([dt.date(2026, 1, 31), dt.date(2026, 1, 1)]), dt.date(2026, 1, 31), "2026-01-31"),
    (pa.array([-0.0, 1.5]), 0.0, "-0.0"),
    (pa.array([0.25, 1.5], pa.float32()), 0.25, "0.25"),
    (pa.array([True, False]), True, "true"),
    (pa.array([1, 2]), np.int64(1), "1"),
    (pa.array([Decimal("1.50"), Decimal("2.00")]), Decimal("1.50"), "1.5"),
    (pa.array([Decimal("7.00"), Decimal("8.00")]), 7, "7"),
    (pa.array([b"\x12" * 16, b"\x01"]), b"\x12" * 16, "12121212-1212-1212-1212-121212121212"),
    (pa.array([b"\x12" * 16, b"\x01" * 16], pa.binary(16)), uuid.UUID(bytes=b"\x12" * 16), "12" * 16),
    (pa.array([b"\xab\xcd", b"\x01"], pa.large_binary()), b"\xab\xcd", "ABcd"),
    (pa.array([b"beef", b"\x01"]), b"beef", "beef"),
    (pa.array([NOON, NOON + dt.timedelta(1)], pa.timestamp("us", "UTC")), NOON, "2026-01-31 12:00:00Z"),
]


def test_keys_of_every_type_by_value_and_by_text(tmp_path: Path) -> None:
    asked = {"score": "score", "label": "click"}
    for column, value, text in KEYS:
        rows = pa.table({"user": column, "score": [1.0, 1.0], "click": [1, 0]})
        by_value = sr.explain(rows, "rr", group={"user": value}, **asked)
        assert [len(by_value.keys), by_value.metric.value, by_value.keys[0].groups[0].rows] == [1, 1, 1], value
        if text is not None:
            assert sr.explain(rows, "rr", group={"user": text}, **asked).to_dict() == by_value.to_dict(), text
        if not pa.types.is_timestamp(column.type):  # which Spark reads from files
            pq.write_table(rows, tmp_path / "rows.parquet")
            from_path = sr.explain(str(tmp_path / "rows.parquet"), "rr", group={"user": value}, **asked)
            assert from_path.to_dict()["groups"] == by_value.to_dict()["groups"], value


def test_a_key_of_several_columns() -> None:
    rows = pa.table({"user": [1, 1, 2], "shop": ["x", "y", "x"], "score": [1.0, 2.0, 3.0], "click": [1, 0, 0]})
    asked = {"score": "score", "label": "click"}
    (key,) = sr.explain(rows, "rr", group={"user": "1", "shop": "x"}, **asked).keys
    assert (key.key, key.groups[0].rows) == ({"user": 1, "shop": "x"}, 1)
    for group, sentence in (
        ({"user": 2, "shop": "y"}, "user=2, shop=y: each value exists, but no row has all of them"),
        ({"user": 1, "shop": "z"}, "user=1, shop=z (nearest in shop: y)"),
    ):
        with pytest.raises(sr.InputError) as raised:
            sr.explain(rows, "rr", group=group, **asked)
        assert str(raised.value).startswith(f"no row has {sentence}")


def test_a_key_that_is_not_there_is_told_with_the_nearest() -> None:
    for users, asked, sentence in (
        ([40, 43, 90], 42, "no row has user=42 (nearest in user: 40, 43)"),
        (["anna", "bert", "carla"], "brt", 'no row has user=brt, did you mean "bert"? (nearest in user: bert, carla)'),
        (["xanna", "bert"], "anna", "no row has user=anna (nearest in user: bert)"),
        ([1.5, 2.5], 2.0, "no row has user=2.0 (nearest in user: 1.5, 2.5)"),
        ([b"\xab\xcd", b"\x01"], "abce", 'no row has user=abce, did you mean "abcd"? (nearest in user: abcd)'),
        (["a\x1b[31m", "c"], "b", "no row has user=b (nearest in user: a\\x1b[31m, c)"),
    ):
        rows = pa.table({"user": users, "score": [1.0] * len(users), "click": [1] * len(users)})
        with pytest.raises(sr.InputError) as raised:
            sr.explain(rows, "rr", group={"user": asked}, score="score", label="click")
        assert str(raised.value) == sentence


def test_what_a_call_cannot_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"user": [1], "score": [1.0], "click": [1]})
    cases: list[tuple[dict[str, Any], str]] = [
        ({"group": {}}, "no group column is named: explain needs groups"),
        ({"group": {"user": None}}, "group has None for user: rows without a key are in no group"),
        ({"group": {"user": "x"}}, "group has 'x' for user, which is no int64"),
        ({"group": "user=1"}, "group is 'user=1': a mapping of columns to the values of one key"),
        ({"group": {1: 2}}, "a mapping of columns"),
        ({"models": ["scor"]}, 'models: there is no model "scor", did you mean "score"?'),
        ({"metric": "ndgc"}, 'did you mean "ndcg"'),
        ({"metric": []}, "metrics is empty"),
    ]
    for given, sentence in cases:
        with pytest.raises(sr.SpecError) as raised:
            sr.explain(rows, **{"metric": "rr", "group": {"user": 1}, **given}, score="score", label="click")
        assert sentence in str(raised.value)
    monkeypatch.setattr("sparkrank.engines.one_group.MOST_ROWS", 3)
    with pytest.raises(sr.InputError, match="the groups have 4 rows: up to 3 are explained"):
        sr.explain(ROWS, "rr", group={"user": "a"}, **COLUMNS)


def test_a_truth_and_arrays_and_the_order_of_rows() -> None:
    lists = pa.table({"user": ["a"] * 3, "item": ["x", "y", "z"], "score": [3.0, 2.0, 1.0]})
    truth = pa.table({"user": ["a", "a"], "item": ["y", "q"]})
    asked = {"group": {"user": "a"}, "item": "item", "score": "score"}
    found = sr.explain(lists, "r@2", truth=truth, **asked).metric
    assert (found.value, found.tables[-1].columns["item"]) == (0.5, ("q",))
    arrays = pa.table({"user": ["a", "a"], "found": [["x", "y", "z"], ["y"]], "liked": [["y", "q"], ["y"]]})
    several = sr.explain(arrays, "r@2", group={"user": "a"}, items="found", true_items="liked")
    assert [each.value for each in several] == [0.5, 1]
    assert "user=a, list 1 of 2: " in str(several)
    plain, *shuffled = (
        sr.explain(ROWS.take(order), ["ndcg@3", "fitness", "rbo"], group={"user": "a"}, **COLUMNS).to_dict()
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3])
    )
    assert shuffled == [plain, plain]


def test_titles_stand_beside_the_items_and_only_an_explanation_reads_them() -> None:
    """Of lists, of models apart, of a truth that names its column."""
    titles = pa.array(["Tea", "Mug", None, "Tin", "Tea"])
    titled = ROWS.append_column("name", titles.dictionary_encode())
    asked: dict[str, Any] = {"group": {"user": "a"}, **COLUMNS}
    lists, ideal, unlisted = sr.explain(titled, "ndcg@3", **asked, title="name").metric.tables
    assert (lists.columns["item"], lists.columns["title"]) == (("x", "y", "z"), ("Tea", "Mug", None))
    assert (ideal.columns["title"], unlisted.columns["title"]) == (("Mug", "Tin"), ("Tin",))
    assert re.search(r"\n1 +x +Tea ", str(sr.explain(titled, "ndcg@3", **asked, title="name")))
    with pytest.raises(
        sr.SpecError, match=r'^evaluate has no argument "title", which only sparkrank\.explain reads \('
    ):
        sr.evaluate(titled, ["ndcg@3"], group="user", **COLUMNS, title="name")  # type: ignore[call-arg]
    truth = pa.table({"user": ["a", "a"], "item": ["y", "q"], "of": ["Mug", "Pot"]})
    joined = {**asked, "label": None, "title": "name"}
    for columns, pot in (({"title": "of"}, "Pot"), ({}, None)):
        found = sr.explain(titled, "r@2", truth=truth, truth_columns=columns, **joined).metric.tables
        assert (found[0].columns["title"][:2], found[-1].columns["title"]) == (("Tea", "Mug"), (pot,))
    apart = {"old": titled, "new": titled.set_column(4, "name", pa.array([1, 2, 3, 4, 1]))}
    found = sr.explain(apart, "rr", models=["new"], **asked, title="name").metric.tables
    assert found[0].columns["title"] == ("Tea", "Mug", "3")  # of the first model that has one
    roles, plan = plan_request(Roles.of("user", "click", "score", "item", title="name"), ["rr"], Definitions())
    assert "name" not in needed_columns(roles, plan)


def _length(ranking: Any, metric: Any) -> Any:
    return ranking.length.astype(np.float64)


def _ones(ranking: Any, metric: Any) -> Arithmetic:
    return Arithmetic.of([TermTable(LIST, {"one": np.ones(len(ranking.row))}, ranking.row)], [total("rows", "one")])


def test_a_metric_from_outside_by_its_value_or_by_its_own_arithmetic() -> None:
    """And arithmetic that is none is a sentence."""
    words = {"title": "rows of a list", "formula": "rows with a score", "undefined": "never", "reference": "ours"}
    for own, sentence in (
        ({}, None),
        ({"arithmetic": _ones}, None),
        ({"arithmetic": lambda ranking, metric: 3}, "arithmetic of rows_of_list is 3: Arithmetic.of(...) is needed"),
        ({"arithmetic": lambda ranking, metric: 1 / 0}, "a function of the metric rows_of_list, raised ZeroDivisionE"),
    ):
        sr.register(sr.GroupMetric("rows_of_list", **words, highest=math.inf, values=_length, **own))
        try:
            if sentence is not None:
                with pytest.raises(sr.MetricError, match=re.escape(sentence)):
                    sr.explain(ROWS, "rows_of_list", group={"user": "a"}, **COLUMNS)
                continue
            found = sr.explain(ROWS, "rows_of_list", group={"user": "a"}, **COLUMNS).metric
        finally:
            CATALOG.remove("rows_of_list")
        assert (found.value, found.steps[-1].value) == (3, 3)
        assert ("one" in found.tables[0].columns) == bool(own)
        assert any("no arithmetic" in sentence for sentence in found.notes) != bool(own)


def test_every_declared_metric_can_be_explained() -> None:
    """Also those whose value is of all rows together, by what the group adds to it."""
    rows = ROWS.append_column("place", pa.array([1.0, 2.0, 3.0, None, 1.0]))
    rows = rows.append_column("chance", pa.array([0.5] * len(rows)))
    rows = rows.append_column("topics", pa.array([["a"], ["a", "b"], ["b"], None, ["a"]]))
    for name in CATALOG:
        columns = ",".join(f"{own}={value}" for own, value in needed(name, "place", "topics").items())
        columns += ",ties=item" if isinstance(CATALOG[name], SampledMetric) else ""
        text = f"{name}(ties=item)" if name in ("err", "iprec", "infap") else f"{name}({columns})"
        beside = {"interactions": rows.select(["user", "item"])} if reads_the_past(CATALOG[name]) else {}
        beside |= {"propensity": "chance"} if name == "value" else {}
        found = sr.explain(rows, text, group={"user": "a"}, reference_rank="place", **beside, **COLUMNS).metric
        assert found.steps, name
        assert found.is_mean == Metric.parse(text).is_over_groups  # a sampled rank is one group's
        assert not any("no arithmetic" in sentence for sentence in found.notes), name


def test_a_metric_need_not_read_the_catalog_or_the_interactions() -> None:
    """As a spec has them for other metrics: the arithmetic is that without them."""
    items, had = pa.table({"item": ["x", "y"], "price": [1.0, 2.0]}), ROWS.select(["user", "item"])
    asked = {"group": {"user": "a"}, **COLUMNS}
    found = sr.explain(ROWS, "rr", catalog=items, interactions=had, tiers={"of": "users"}, **asked)
    assert found.to_dict() == sr.explain(ROWS, "rr", **asked).to_dict()


def test_the_score_bins_of_a_pooled_metric() -> None:
    """Of user b one row with the score 0.7, of a three: 0.9, and twice 0.5, of which one is positive."""
    found = sr.explain(ROWS, "auc(exact)", group={"user": "a"}, **COLUMNS).metric
    bins = next(table for table in found.tables if table.name == "score bins")
    assert bins.columns == {"score bin": (0.9, 0.5), "positive": (0, 1), "negative": (1, 1)}
    assert math.isnan(found.value)


def test_parquet_is_read_where_the_key_may_be(tmp_path: Path) -> None:
    """Of ten row groups with 100 users each one alone can have user 250."""
    path = str(tmp_path / "rows.parquet")
    rows = {"user": np.repeat(np.arange(1000), 2), "score": np.arange(2000) / 2000, "click": [0, 1] * 1000}
    pq.write_table(pa.table(rows), path, row_group_size=200)
    asked = {"score": "score", "label": "click", **INPUT_DEFAULTS}
    request, _ = call_request.request_of_call(path, ["rr"], asked, group=["user"])
    sides = Sides.open(request.sides, request.roles, request.plan, {})
    keys = GroupKeys(("user",), ((250,), (251,)))
    for some, count in ((sides.narrowed(keys.condition), 200), (sides, 2000)):
        assert sum(split.read.args[0].rows for _, split in some.splits(request.plan, 10**6)) == count
    found = explain_request(request, keys, request.plan.metrics, ["score"], Stages())
    assert [(key.key["user"], key.groups[0].rows) for key in found.keys] == [(250, 2), (251, 2)]


HOSTILE = [
    "\x1b[31mred\x1b[0m", "a\nb\rc", "<script>alert(1)</script>", "\u202eevil", '"><img src=x onerror=alert(1)>',
    "👍 ünï", "x" * 500, "a\x00b",
]  # fmt: skip


def test_names_of_strangers_are_shown_and_nobody_obeys_them() -> None:
    for name in HOSTILE:
        rows = pa.table({name: ["a", "a"], "item": [name, "y"], "score": [2.0, 1.0], "click": [1, 0]})
        columns = {"score": {name: "score", "b": "score"}, "label": "click", "item": "item"}
        found = sr.explain(rows, "rr", group={name: "a"}, **columns)
        for width in (60, 400):
            assert all(line.isprintable() for line in found.text(width=width).split("\n")), ascii(name)
        tags, text = _parsed(found._repr_html_())
        assert tags.isdisjoint({"script", "img"})
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert escape(name) in text  # the model, whole
        assert {metric["model"] for metric in found.to_dict()["groups"][0]["metrics"]} == {name, "b"}


def _parsed(page: str) -> tuple[set[str], str]:
    """The tags of a page, and all of its texts."""
    return set(re.findall(r"<(\w+)", page)), html.unescape(re.sub(r"<[^>]*>", "", page))


def test_the_fragment_has_every_number_and_asks_for_nothing() -> None:
    found = sr.explain(ROWS, ["ndcg@3", "auc"], group={"user": "a"}, **COLUMNS)
    fragment = found._repr_html_()
    assert not re.search(r"https?://|src=|url\(|@import|<script", fragment)
    for step in found.metric.steps:
        assert f'title="{step.value!r}"' in fragment
    for values in found.metric.tables[0].columns.values():
        assert all(f'title="{value!r}"' in fragment for value in values if isinstance(value, float))
    assert "ndcg@3 = dcg@3 / ideal dcg@3" in _parsed(fragment)[1]


def test_models_stand_side_by_side_where_there_is_room() -> None:
    rows = ROWS.append_column("other", pa.array([0.1, 0.9, 0.5, 0.2, 0.3]))
    found = sr.explain(rows, "rr", group={"user": "a"}, score={"old": "score", "new": "other"}, label="click")
    assert re.search(r"list of old +\| list of new", found.text(width=300))
    assert re.search(r"\nlist of old\n(.|\n)*\nlist of new\n", found.text(width=60))
    assert "… and 2 more rows" in found.text(rows=1)


# The command.


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A stored day of two models and a hundred groups, of which some have equal values and some none."""
    folder = tmp_path_factory.mktemp("explained")
    random = np.random.default_rng(3)
    count = 600
    rows = {"user": random.integers(0, 100, count), "item": [f"i{item}" for item in random.integers(0, 30, count)]}
    rows |= {model: random.integers(0, 6, count) / 6 for model in ("old", "new")}
    pq.write_table(pa.table({**rows, "click": random.integers(0, 2, count)}), folder / f"{DAY}.parquet")
    columns = {"group": "user", "item": "item", "label": "click", "score": {"old": "old", "new": "new"}}
    document = {
        "input": {"path": f"{folder}/{{date}}.parquet", "columns": columns},
        "metrics": ["ndcg@5", "rr", "auc"],
        "output": {"path": f"{folder}/out"},
        "engine": {"lane": "local"},
    }
    path = write_spec(folder, document)
    assert exit_code("evaluate", "--quiet", "--conf", path, "--date", DAY) == 0
    return path


def _groups(conf: str) -> list[dict[str, Any]]:
    folder = Path(conf).parent / f"out/groups/day={DAY}"
    return pq.ParquetDataset(folder).read().to_pylist()


def _document(conf: str, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert exit_code("explain", "--conf", conf, "--date", DAY, *words, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_both_doors_explain_alike(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reads the day of the spec, the call the rows; ndcg@7 is no metric of the spec."""
    found = _document(conf, capsys, "--group", "user=42", "ndcg@{5,7}", "--metric", "auc")
    assert {name: found[name] for name in ("day", "spec", "models")} == {
        "day": DAY, "spec": conf, "models": ["new", "old"],
    }  # fmt: skip
    rows = pq.read_table(Path(conf).parent / f"{DAY}.parquet")
    columns = {"score": {"new": "new", "old": "old"}, "label": "click", "item": "item"}
    by_call = sr.explain(rows, ["ndcg@5", "ndcg@{7,5}", "auc"], group={"user": 42}, **columns)
    assert found["groups"] == json.loads(json.dumps(by_call.to_dict()["groups"]).replace("NaN", "null"))
    row = next(row for row in _groups(conf) if row["user"] == 42 and row["model"] == "old")
    values = {(each["metric"], each["model"]): each["value"] for each in found["groups"][0]["metrics"]}
    assert values["ndcg@5", "old"] == row["ndcg@5"]


def test_the_worst_groups_are_those_of_the_group_table(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An undefined group counts as 0 where the definitions say so, and so is among the worst. And those that moved."""
    settings = ["--set", "definitions.undefined=zero"]
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", DAY, *settings) == 0
    found = _document(conf, capsys, "--worst", "20", "--model", "new", "rr", *settings)
    own = [(row["rr"], row["user"]) for row in _groups(conf) if row["model"] == "new"]
    counted = [(0.0 if math.isnan(value) else value, user) for value, user in own]
    assert [group["key"]["user"] for group in found["groups"]] == [user for _, user in sorted(counted)[:20]]
    assert {metric["model"] for group in found["groups"] for metric in group["metrics"]} == {"new"}
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", DAY) == 0
    found = _document(conf, capsys, "--moved", "15", "--models", "old", "new", "ndcg@5")
    values = {(row["user"], row["model"]): row["ndcg@5"] for row in _groups(conf)}
    moved = [(-abs(values[user, "new"] - values[user, "old"]), user) for user in {user for user, _ in values}]
    ranked = sorted(pair for pair in moved if not math.isnan(pair[0]) and pair[0] < 0)
    assert [group["key"]["user"] for group in found["groups"]] == [user for _, user in ranked[:15]]


REFUSED = [
    (["--group", "user=1"], 2, "no metric is named"),
    (["rr"], 2, "no group is chosen: name one with --group, or some with --worst or --moved"),
    (["rr", "--group", "user=1", "--worst", "2"], 2, "--group and --worst do not go together"),
    (["rr", "--worst", "2"], 2, "--worst chooses groups by one model: name it with --model"),
    (["rr", "ap", "--worst", "2"], 2, "--worst chooses groups by one metric, but several are named"),
    (["rr", "--moved", "2", "--models", "old", "nwe"], 2, 'no model "nwe", did you mean "new"?'),
    (["rr", "--group", "user=1", "--models", "old", "new"], 2, "--models is for --moved"),
    (["rr", "--group", "user"], 2, "--group user has no value: write it as column=value"),
    (["rr", "--group", "user=1", "--group", "user=2"], 2, "--group names a column twice"),
    (["rr", "--group", "usr=1"], 2, 'group names "usr", did you mean "user"?'),
    (["rr", "--group", "user=100042"], 4, "no row has user=100042 (nearest in user: "),
    (["rr", "--worst", "0", "--model", "old"], 2, "0 is not in the range"),
    (["ap@77", "--worst", "2", "--model", "old"], 2, 'has no metric "ap@77"'),
    (["rr", "--group", "user=1", "--html", "page.html"], 2, "writes no --html: a notebook shows"),
    (["rr", "--from", "ranx"], 2, "--from and --to go together"),
    (["rr", "--from", "ranx", "--to", "trec_evl"], 2, 'did you mean "trec_eval"?'),
    (["rr", "--from", "ranx", "--to", "mllib", "--group", "user=1"], 2, "--from and --group do not go together"),
]  # fmt: skip


def test_what_cannot_be_explained_is_one_sentence(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, code, sentence in REFUSED:
        assert exit_code("explain", "--conf", conf, "--date", DAY, *words) == code, words
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("sparkrank: ")
        assert sentence in last


def _least(folder: Path, metric: str, **source: Any) -> str:
    columns = {"group": "user", "score": "score", "label": "click"}
    rest = {"metrics": [metric], "output": {"path": f"{folder}/out"}, "engine": {"lane": "local"}}
    return write_spec(folder, {"input": {"path": f"{folder}/log", "columns": columns, **source}, **rest})


def test_text_formats_and_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log/0.csv").write_text("user,score,click\n007,0.5,1\n7,0.25,1\n007,0.75,0\n", encoding="utf-8")
    conf = _least(tmp_path, "rr", format="csv", options={"header": "true"})
    (group,) = _document(conf, capsys, "--group", "user=007", "rr")["groups"]
    assert (group["key"], group["metrics"][0]["value"]) == ({"user": "007"}, 0.5)


def test_rows_are_rejected_as_the_day_of_the_spec_rejects_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """dcg, which adds labels up, takes none of 1e-9: also where rr alone is explained."""
    (tmp_path / "log").mkdir()
    rows = pa.table({"user": ["a", "a"], "score": [2.0, 1.0], "click": [1e-9, 1.0]})
    pq.write_table(rows, tmp_path / "log/0.parquet")
    (found,) = _document(_least(tmp_path, "dcg"), capsys, "--group", "user=a", "rr")["groups"]
    assert found["rejected"] == {"rejected: label above 0 and below 1e-6": 1}
    assert [each["value"] for each in found["metrics"]] == [1.0]
    called = sr.explain(rows, "rr", group={"user": "a"}, score="score", label="click")
    assert (called.metric.value, called.keys[0].groups[0].counts) == (1.0, {})
