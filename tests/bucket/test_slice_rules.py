"""Slices by a rule: the intervals between edges, the values of most groups, and the values of relevant rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.bucket import slicing
from sparkrank.config import load_spec
from tests.support.commands import exit_code
from tests.windows.week import DAYS, spec_of

COLUMNS = {"group": "user", "score": "score", "label": "label"}
AGE = {"column": "age", "edges": [18, 25]}


def values_of(evaluation: sr.Evaluation, slice_: str, metric: str = "rr") -> dict[str | None, tuple[float, int]]:
    """The value and the number of groups of each value of a slice."""
    rows = [row for row in evaluation.table.to_pylist() if (row["slice"], row["metric"]) == (slice_, metric)]
    return {row["slice_value"]: (row["value"], row["n_groups"]) for row in rows}


def users() -> pa.Table:
    """Five users with lists of two rows: first or second row relevant, by turns; one has no age."""
    ages = [17.5, 18.0, 24.9, 25.0, float("nan")]
    return pa.table(
        {
            "user": [user for user in range(5) for _ in range(2)],
            "age": [age for age in ages for _ in range(2)],
            "country": ["de", "de"] * 3 + ["fr", "fr"] * 2,
            "score": [2.0, 1.0] * 5,
            "label": [1, 0, 0, 1] * 2 + [1, 0],
        }
    )


def test_an_interval_has_its_lower_edge_and_lacks_its_upper_one() -> None:
    """Users 1 and 2 are in [18, 25): their relevant rows are second and first, so rr is (1/2 + 1)/2."""
    evaluation = sr.evaluate(users(), ["rr"], **COLUMNS, slices=[AGE, ["country", AGE]], buckets=2)
    assert values_of(evaluation, "age") == {
        "(-inf, 18)": (1.0, 1),
        "[18, 25)": (0.75, 2),
        "[25, inf)": (0.5, 1),
        None: (1.0, 1),
    }
    assert values_of(evaluation, "country,age") == {
        "de,(-inf\\, 18)": (1.0, 1),
        "de,[18\\, 25)": (0.75, 2),
        "fr,[25\\, inf)": (0.5, 1),
        "fr,\\N": (1.0, 1),
    }
    assert evaluation.value("mrr", slice={"country": "de", "age": "[18, 25)"}) == 0.75


ADS = {"column": "ad", "top": 2}


def shown_ads(sizes: dict[str | None, int], start: int = 0) -> pa.Table:
    """Lists of one ad each, as many of an ad as ``sizes`` has; in the first of each the second row is relevant."""
    ads = [ad for ad, groups in sizes.items() for _ in range(groups)]
    is_first = [number == 0 for groups in sizes.values() for number in range(groups)]
    return pa.table(
        {
            "user": [start + user for user in range(len(ads)) for _ in range(2)],
            "ad": pa.array([ad for ad in ads for _ in range(2)], pa.string()),
            "score": [0.9, 0.4] * len(ads),
            "label": [label for first in is_first for label in ([0, 1] if first else [1, 0])],
        }
    )


@pytest.mark.parametrize("buckets", [1, 7])
def test_the_values_of_most_groups_have_rows_and_the_rest_is_one(buckets: int) -> None:
    """An ad of n groups has the mean (1/2 + n - 1)/n; b and c are as many, and b is the first by text."""
    rows = shown_ads({"a": 5, "c": 2, "b": 2, "d": 1, "(other)": 3, None: 4})
    evaluation = sr.evaluate(rows, ["rr"], **COLUMNS, slices=[ADS], buckets=buckets)
    assert values_of(evaluation, "ad") == {
        "a": (4.5 / 5, 5),
        "b": (1.5 / 2, 2),
        "(other)": ((1.5 + 0.5 + 2.5) / 6, 6),  # c, d, and the text itself
        None: (3.5 / 4, 4),
    }
    few = sr.evaluate(rows, ["rr"], **COLUMNS, slices=[{**ADS, "top": 9}], buckets=buckets)
    assert list(values_of(few, "ad")) == ["(other)", "a", "b", "c", "d", None]


def test_a_group_counts_in_the_rest_once_for_each_of_its_values() -> None:
    """A list of the ads a, b, c, d, one row each, in which c alone is relevant: rr of c is 1, that of d undefined."""
    rows = pa.table({"user": [1] * 4, "ad": list("abcd"), "score": [4.0, 3.0, 2.0, 1.0], "label": [0, 0, 1, 0]})
    more = pa.table({"user": [2, 3], "ad": ["a", "b"], "score": [1.0, 1.0], "label": [1, 1]})
    evaluation = sr.evaluate(pa.concat_tables([rows, more]), ["rr", "auc"], **COLUMNS, slices=[ADS])
    rest = next(row for row in evaluation.table.to_pylist() if row["slice_value"] == "(other)")
    assert (rest["value"], rest["n_groups"], rest["n_undefined"], rest["n_rows"]) == (1.0, 2, 1, 2)


@pytest.mark.parametrize("metrics", [["rr", "median(rr)", "auc", "logloss", "gini@1", "p@1"], ["auc"]])
def test_what_is_pooled_is_what_the_rest_would_be_under_one_name(metrics: list[str]) -> None:
    """The law where no group has two values: the same numbers as of a log that names the rest (other) itself."""
    sizes = {"a": 40, "b": 35, "c": 20, "d": 15, "e": 3}
    rows = shown_ads(sizes)
    rows = rows.append_column("item", pa.array([str(row % 7) for row in range(len(rows))]))
    named = pa.array([ad if ad in ("a", "b") else "(other)" for ad in rows["ad"].to_pylist()])
    by_hand = rows.set_column(1, "ad", named)
    tables = [
        sr.evaluate(log, metrics, **COLUMNS, item="item", slices=slices, buckets=3).table.drop_columns(["spec_hash"])
        for log, slices in ((rows, [ADS]), (by_hand, ["ad"]))
    ]
    numbers = [name for name in tables[0].column_names if name in ("model", "slice", "slice_value", "metric", "value")]
    assert tables[0].select([*numbers, "n_rows", "weight"]).equals(tables[1].select([*numbers, "n_rows", "weight"]))


def test_days_merge_by_all_values_so_the_top_ones_are_those_of_the_window(tmp_path: Path) -> None:
    """a leads on the first day, d on the second; in both days b, who is second on each, has most groups."""
    sizes = ({"a": 5, "b": 4, "c": 1}, {"d": 5, "b": 4, "a": 1})
    conf = conf_of(tmp_path, {**ADS, "top": 1})
    for day, own in zip(DAYS, sizes, strict=False):
        pq.write_table(shown_ads(own), tmp_path / f"log/dt={day}/0.parquet")
    evaluate(conf, *DAYS[:2])
    assert merge(conf) == 0
    assert merged(tmp_path, "ad") == {"b": (7 / 8, 8), "(other)": ((4.5 + 0.5 + 4.5 + 0.5) / 12, 12)}
    assert merge(conf_of(tmp_path, "ad")) == 0  # the stored states are those of the column
    assert list(merged(tmp_path, "ad")) == ["a", "b", "c", "d"]


def test_more_values_than_can_be_kept_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = shown_ads(dict.fromkeys("abcdef", 1))
    for limit, most, sentence in (
        ("MOST_POOLED_VALUES", 5, 'the slice "ad" has 6 values'),
        ("MOST_POOLED_STATES", 11, "with 12 states of 2 metrics and 1 models: at most 11 are allowed"),
    ):
        for buckets in (1, 6):
            monkeypatch.setattr(slicing, limit, most)
            with pytest.raises(sr.InputError, match=sentence):
                sr.evaluate(rows, ["rr", "ap"], **COLUMNS, slices=[ADS], buckets=buckets)
        monkeypatch.undo()


TIER = {"column": "tier", "of": "relevant"}
OF_RELEVANT = "tier of relevant"


def test_a_slice_of_relevant_rows_keeps_the_whole_list() -> None:
    """One list, best first: head*, tail, tail*, head* and tail in no list but relevant; stars are relevant.

    Of the relevant tail items, the third and one that is in no list, the list has one in its first three: r@3 is 1/2,
    rr is 1/3. The slice of rows has another list, tail and tail*: r@3 is 1/2 too, but rr is 1/2.
    """
    lists = pa.table(
        {"user": [1] * 4, "item": list("abcd"), "tier": ["head", "tail", "tail", "head"], "score": [4.0, 3, 2, 1]}
    )
    truth = pa.table({"user": [1] * 4, "item": list("acde"), "tier": ["head", "tail", "head", "tail"]})
    columns = {"group": "user", "item": "item", "score": "score"}
    evaluation = sr.evaluate(lists, ["r@3", "rr", "p@3"], truth=truth, **columns, slices=["tier", TIER])
    assert values_of(evaluation, OF_RELEVANT, "r@3") == {"head": (1 / 2, 1), "tail": (1 / 2, 1)}
    assert values_of(evaluation, OF_RELEVANT) == {"head": (1.0, 1), "tail": (1 / 3, 1)}
    assert values_of(evaluation, OF_RELEVANT, "p@3") == {"head": (1 / 3, 1), "tail": (1 / 3, 1)}
    assert values_of(evaluation, "tier") == {"head": (1.0, 1), "tail": (1 / 2, 1)}
    assert evaluation.value("r@3", slice={OF_RELEVANT: "tail"}) == 0.5


def tiered(seed: int, rows: int = 400) -> tuple[pa.Table, pa.Table]:
    """Lists and truth of 30 users, whose items have a tier each, some none; some labels are 0 or below."""
    draw = np.random.default_rng(seed)
    tiers = np.array(["head", "torso", "tail", None], object)

    def keys(count: int) -> dict[str, Any]:
        item = draw.integers(0, 40, count)
        return {"user": draw.integers(0, 30, count), "item": item, "tier": pa.array(tiers[item % 4], pa.string())}

    lists = {**keys(rows), "score": draw.integers(0, 9, rows) / 9, "label": draw.choice([-1, 0, 0, 1, 2], rows)}
    return pa.table(lists), pa.table({**keys(rows // 2), "label": draw.choice([-1.0, 0.0, 1.0, 3.0], rows // 2)})


def masked(rows: pa.Table, tier: str | None, users: set[int]) -> pa.Table:
    """The rows of ``users``, with the label 0 where the label is above 0 and the tier is another."""
    rows = rows.filter(pc.is_in(rows["user"], pa.array(sorted(users), pa.int64())))
    of_tier = [own == tier for own in rows["tier"].to_pylist()]
    labels = [label if own or label <= 0 else 0 for own, label in zip(of_tier, rows["label"].to_pylist(), strict=True)]
    return rows.set_column(rows.column_names.index("label"), "label", pa.array(labels, rows.schema.field("label").type))


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("batches", [False, True])
def test_its_values_are_those_of_a_log_with_the_other_labels_masked(joins: bool, batches: bool) -> None:
    """Every number of every metric, over the users with a relevant row of the tier, whatever the size of buckets."""
    metrics = ["ndcg@3", "ap", "r@2", "p@3", "rr(rel=2)", "p90(ap)", "gauc", "auc", "f1(threshold=0.4)", "gini@2"]
    lists, truth = tiered(int(joins))
    judged = truth if joins else lists
    lists = lists.drop_columns(["label"]) if joins else lists

    def evaluated(rows: pa.Table, labels: pa.Table, slices: list[Any]) -> list[dict[str, Any]]:
        settings: dict[str, Any] = {**COLUMNS, "item": "item", "ties": "item", "uncertainty": False}
        settings["buckets"] = 9 if batches else 1
        both = sr.evaluate(rows, metrics, truth=labels, slices=slices, **settings)
        return (
            both.table.drop_columns(["spec_hash", "slice", "slice_value"]).to_pylist()
            if not slices
            else [row for row in both.table.drop_columns(["spec_hash"]).to_pylist() if row.pop("slice") == OF_RELEVANT]
        )

    found = evaluated(lists, truth if joins else None, [TIER])
    for tier in ("head", "torso", "tail", None):
        users = {row["user"] for row in judged.to_pylist() if row["tier"] == tier and row["label"] > 0}
        if joins:
            own_lists = lists.filter(pc.is_in(lists["user"], pa.array(sorted(users), pa.int64())))
            expected = evaluated(own_lists, masked(truth, tier, users), [])
        else:
            expected = evaluated(masked(lists, tier, users), None, [])
        own = [{**row} for row in found if row["slice_value"] == tier]
        assert [repr({key: row[key] for key in expected[0]}) for row in own] == list(map(repr, expected))
        assert own[0]["n_groups"] == len(users)


def test_its_days_merge(tmp_path: Path) -> None:
    """rr of tail is 1/3 in the list of the first day, and 1 in that of the second, where tail is the first row."""
    for day, tiers, labels in ((DAYS[0], ["head", "tail", "tail"], [1, 0, 1]), (DAYS[1], ["tail", "head"], [1, 1])):
        rows = {"user": [1] * len(tiers), "tier": tiers, "score": [0.9, 0.8, 0.7][: len(tiers)], "label": labels}
        (tmp_path / f"log/dt={day}").mkdir(parents=True)
        pq.write_table(pa.table(rows), tmp_path / f"log/dt={day}/0.parquet")
    columns = {"path": f"{tmp_path}/log/dt={{date}}", "columns": COLUMNS}
    conf = spec_of(tmp_path, input=columns, metrics=["rr", "auc"], slices=[TIER])
    evaluate(conf, *DAYS[:2])
    assert merge(conf) == 0
    assert merged(tmp_path, OF_RELEVANT) == {"head": (pytest.approx((1 + 1 / 2) / 2), 2), "tail": ((1 / 3 + 1) / 2, 2)}


def test_small_values_are_left_out_and_counted_after_pooling(tmp_path: Path) -> None:
    """(other) has the two groups of c and d, [25, inf) one of the five users."""
    rows = shown_ads({"a": 5, "b": 3, "c": 1, "d": 1}).append_column("age", pa.array([17.0] * 4 + [30.0] * 16))
    for day in DAYS[:1]:
        (tmp_path / f"log/dt={day}").mkdir(parents=True)
        pq.write_table(rows, tmp_path / f"log/dt={day}/0.parquet")
    columns = {"path": f"{tmp_path}/log/dt={{date}}", "columns": COLUMNS}
    conf = spec_of(tmp_path, input=columns, metrics=["rr"], slices=[AGE, ADS], least_groups={"tables": 3})
    evaluate(conf, DAYS[0])
    table = pq.read_table(tmp_path / "tables/metrics").to_pylist()
    assert {row["slice_value"] for row in table} == {"all", "a", "b", "[25, inf)"}
    quality = pq.read_table(tmp_path / "tables/quality").to_pylist()
    (small,) = (row["count"] for row in quality if row["check"] == checks.SMALL_SLICES)
    assert small == 2  # (other) and (-inf, 18)
    called = sr.evaluate(rows, ["rr"], slices=[[AGE], [ADS]], least_groups=3, **COLUMNS)
    assert {row["slice_value"] for row in called.metrics.to_pylist()} == {"all", "a", "b", "[25, inf)"}
    called.write(str(tmp_path / "called"), day=DAYS[0])
    (spec,) = pq.read_table(tmp_path / "called/runs")["spec"].to_pylist()
    assert '"least_groups": {"gates": 30, "tables": 3}' in spec
    for least, slices, sentence in (
        (3, [], "least_groups is 3, but there are no slices"),
        (0, [[AGE]], "least_groups is 0: a whole number from 1 is allowed"),
    ):
        with pytest.raises(sr.SpecError, match=sentence):
            sr.evaluate(rows, ["rr"], slices=slices, least_groups=least, **COLUMNS)


def test_the_precisions_of_its_values_add_up_to_that_of_the_day() -> None:
    """A relevant row in the first three has one tier: Σ n_v p_v = n p, with n_v the users who want the tier."""
    lists, _ = tiered(7)
    evaluation = sr.evaluate(lists, ["p@3"], **COLUMNS, item="item", ties="item", slices=[TIER])
    total = sum(value * groups for value, groups in values_of(evaluation, OF_RELEVANT, "p@3").values())
    assert total == pytest.approx(evaluation["p@3"] * 30)


def test_a_rule_that_makes_no_sense_is_refused() -> None:
    for slice_, sentence in (
        ({**AGE, "edges": [25, 18]}, "slices[0].edges is [25, 18]: different numbers in ascending order are needed"),
        ({**AGE, "edges": [18, 18]}, "slices[0].edges is [18, 18]: different numbers"),
        ({**AGE, "edges": []}, "slices[0].edges is []: different numbers"),
        ({**AGE, "edges": [float("nan")]}, "slices[0].edges is [nan]: different numbers"),
        ({**AGE, "edges": "18"}, "slices[0].edges is '18': different numbers"),
        ({"column": "age", "egdes": [18]}, 'slices[0] has the key "egdes", did you mean "edges"?'),
        ({"edges": [18]}, "slices[0].column is None: the name of a column is needed"),
        ({"column": "country", "edges": [18]}, 'the slice column "country" is of type string: a number is needed'),
        ({**ADS, "top": 0}, "slices[0].top is 0: a whole number from 1 to 1,000 is needed"),
        ({**ADS, "top": True}, "slices[0].top is True: a whole number"),
        ({**AGE, "top": 2}, "slices[0] has edges and top: give one of the two, as all intervals have rows"),
        ({**TIER, "of": "relevnt"}, "slices[0].of is 'relevnt', did you mean \"relevant\"? (allowed: rows, relevant)"),
        (["age", TIER], "slices[0] has of=relevant with several columns: it is for a slice of one column"),
        (["age", ADS], "slices[0] has top with several columns: it is for a slice of one column"),
        ([AGE, "age"], "slices[0] is [{'column': 'age', 'edges': [18, 25]}, 'age']: a column or several different"),
    ):
        with pytest.raises(sr.SparkrankError, match=f"^{re.escape(sentence)}"):
            sr.evaluate(users(), ["rr"], **COLUMNS, slices=[slice_])


def conf_of(folder: Path, *slices: Any, **changes: Any) -> str:
    """The path of a spec of :func:`users`, of whom two days have a log."""
    for day in DAYS[:2]:
        (folder / f"log/dt={day}").mkdir(parents=True, exist_ok=True)
        pq.write_table(users(), folder / f"log/dt={day}/0.parquet")
    columns = {"path": f"{folder}/log/dt={{date}}", "columns": COLUMNS}
    return spec_of(folder, input=columns, metrics=["rr", "auc"], slices=[*slices], **changes)


def evaluate(conf: str, *days: str) -> None:
    for day in days:
        assert exit_code("evaluate", "--conf", conf, "--date", day) == 0


def merge(conf: str) -> int:
    return exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1])


def merged(folder: Path, slice_: str, metric: str = "rr") -> dict[str | None, tuple[float, int]]:
    rows = pq.read_table(folder / "tables/windows/metrics").to_pylist()
    rows = [row for row in rows if (row["slice"], row["metric"]) == (slice_, metric)]
    return {row["slice_value"]: (row["value"], row["n_groups"]) for row in rows}


def test_edges_are_part_of_what_a_stored_state_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Days of one set of edges merge; a day of other edges, or of the column itself, is refused by name."""
    evaluate(conf_of(tmp_path, AGE), *DAYS[:2])
    assert merge(conf_of(tmp_path, AGE)) == 0
    assert merged(tmp_path, "age")["[18, 25)"] == (0.75, 4)
    evaluate(conf_of(tmp_path, {**AGE, "edges": [18, 30]}), DAYS[1])
    assert merge(conf_of(tmp_path, AGE)) != 0
    assert (
        f"the slice age of {DAYS[1]} is age by edges 18, 30, and the spec asks for age by edges 18, 25: evaluate that "
        f"day again, or leave age out of slices"
    ) in capsys.readouterr().err


def test_a_gate_takes_an_interval_as_a_value_and_not_as_a_pattern(tmp_path: Path) -> None:
    gates = [{"metric": "rr", "slice": {"age": "[18, 25)"}, "min": 0.7}]
    spec = load_spec(conf_of(tmp_path, AGE, gates=gates))
    judge = spec.judge(spec.plan())
    assert judge is not None
    assert [cell.slice_value for cell in judge.rules[0].cells([])] == ["[18, 25)"]  # so it fails if it vanishes


def test_what_a_spec_says_wrongly_is_refused_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for slice_, sentence in (
        ({"column": "age", "egdes": [18]}, 'unknown key "slices.0.0.egdes", did you mean "edges"?'),
        ({"column": "age", "edges": [True]}, "slices.0.0.edges.0"),
        (7, "slices.0 is 7: a text or a list of texts is needed"),
    ):
        assert exit_code("validate", "--conf", conf_of(tmp_path, slice_)) == 2
        assert sentence in capsys.readouterr().err
