"""How many groups stand behind a value, why one has no interval, and what is said of both."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.merged import effective_number
from sparkrank.text.text import metrics_text, value_text
from tests.extent import examples
from tests.support.commands import exit_code
from tests.support.stored_files import list_again, one_file
from tests.support.strategies import PATIENT
from tests.windows.week import DAYS, evaluate, merging, spec_of, window_table, write_log

ROLES: dict[str, Any] = {"group": "user", "score": "score", "label": "click"}
LISTS = {"a": [1, 1, 0, 0], "b": [1, 0], "c": [0, 0, 0, 0, 0, 0], "d": [1, 1, 1, 0]}


def rows_of(lists: dict[str, list[int]] = LISTS, **columns: list[Any]) -> pa.Table:
    """Rows of each user, with scores from 0.9 down; ``columns`` have a value for each user."""
    user = [name for name, clicks in lists.items() for _ in clicks]
    score = [0.9 - 0.1 * place for clicks in lists.values() for place in range(len(clicks))]
    click = [each for clicks in lists.values() for each in clicks]
    of_user = {name: place for place, name in enumerate(lists)}
    more = {name: [given[of_user[each]] for each in user] for name, given in columns.items()}
    return pa.table({"user": user, "score": score, "click": click, **more})


def of_metrics(rows: pa.Table, *metrics: str, **more: Any) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in sr.evaluate(rows, [*metrics], **{**ROLES, **more}).table.to_pylist()}


def effective(*amounts: float) -> float:
    return sum(amounts) ** 2 / sum(each**2 for each in amounts)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_value_rests_on_what_carries_it(weighted: bool) -> None:
    """The relevant rows of the four users are 2, 1, 0, 3, the others 2, 1, 6, 1, and those with 0.75 or more 2 each;
    with weights of 1, 2, 1, 4 a row, as many times more.
    """
    weight = [1.0, 2.0, 1.0, 4.0] if weighted else [1.0] * 4
    positives, negatives, rows, predicted = (
        effective(*(w * n for w, n in zip(weight, each, strict=True)))
        for each in ((2, 1, 0, 3), (2, 1, 6, 1), (4, 2, 6, 4), (2, 2, 2, 2))
    )
    expected = {
        "auc": min(positives, negatives),
        "pr_auc": min(positives, negatives),
        "recall(threshold=0.75)": positives,
        "precision(threshold=0.75)": predicted,
        "f1(threshold=0.75)": min(positives, predicted),
        "specificity(threshold=0.75)": negatives,
        "fpr(threshold=0.75)": negatives,
        "accuracy(threshold=0.75)": rows,
        **dict.fromkeys(("logloss", "brier", "ne", "ece"), min(positives, negatives)),
        "copc": min(rows, positives),
    }
    table = rows_of(w=weight)
    for buckets in (1, 3):
        found = of_metrics(table, *expected, weight="w" if weighted else None, buckets=buckets)
        assert {name: row["n_effective"] for name, row in found.items()} == pytest.approx(expected, rel=1e-12)
        assert {row["n_groups"] for row in found.values()} == {4}


def test_a_mean_rests_on_the_weights_of_the_groups_in_it() -> None:
    found = of_metrics(rows_of(w=[1.0, 2.0, 5.0, 4.0]), "rr", "rr(weight=w)", "gauc", "p@1", "median(rr)")
    number = {name: row["n_effective"] for name, row in found.items()}
    assert number == pytest.approx(  # c has no relevant row, so it is in no rr or gauc
        {"rr": 3, "rr(weight=w)": effective(1, 2, 4), "gauc": effective(4, 2, 4), "p@1": 4, "median(rr)": 3}
    )


def test_values_of_slices_have_their_own_number() -> None:
    rows = rows_of(side=["x", "x", "y", "y"]).append_column("turn", pa.array([0, 1] * 8))
    table = sr.evaluate(rows, ["auc"], **ROLES, slices=["side", "turn"]).table.to_pylist()
    number = {(row["slice"], row["slice_value"]): row["n_effective"] for row in table if row["slice"] != "all"}
    assert number == pytest.approx(
        {
            ("side", "x"): effective(2, 1),
            ("side", "y"): 1,  # all clicks are of d
            ("turn", "0"): min(effective(1, 1, 0, 2), effective(1, 0, 3, 0)),  # every other row of a, b, c and d
            ("turn", "1"): min(effective(1, 0, 0, 1), effective(1, 1, 3, 1)),
        }
    )


def test_without_groups_or_parts_the_number_is_not_known() -> None:
    assert of_metrics(rows_of(), "auc", group=None)["auc"]["n_effective"] is None
    off = of_metrics(rows_of(), "auc", "p@1", "coverage", uncertainty=False, item="score")
    assert (off["auc"]["n_effective"], off["auc"]["interval"], off["auc"]["stderr"]) == (None, "off", None)
    assert off["p@1"]["interval"] == "wilson"  # of independent groups no parts are needed
    assert off["coverage"]["interval"] is None


def test_parts_tell_the_number_of_equal_groups() -> None:
    """Σ S² of equal groups in 64 parts by chance is 1/64 + (1 - 1/64)/n: the mean over many draws gives n back."""
    draw = np.random.default_rng(4)
    for n in (20, 300):
        shares = draw.multinomial(n, [1 / 64] * 64, 4_000) / n
        excess = [1 / effective_number(each) for each in shares if effective_number(each)]
        assert 1 / np.mean(excess) == pytest.approx(n, rel=0.05)
    assert effective_number(np.array([5.0, 0.0, 0.0, 0.0])) == pytest.approx(1)
    assert effective_number(np.zeros(4)) == 0
    assert effective_number(np.ones(1)) is None


ONE = {"a": [1, 0], **{f"u{n}": [0, 0] for n in range(39)}}
ENDS = ("interval", "stderr", "ci_low", "ci_high", "degrees")


def test_one_group_that_carries_a_value_says_nothing() -> None:
    for row in of_metrics(rows_of(ONE), "auc", "pr_auc", "rr", "ndcg@2", "gauc", "recall", "f1", "median(rr)").values():
        assert [row[name] for name in ENDS] == ["too few", *[None] * 4], row["metric"]


OF_PROBABILITIES = ["logloss", "brier", "ne", "copc", "ece"]


@pytest.mark.parametrize("clicks", [{}, {"a": [1, 0]}, {"a": [1, 1], "b": [0, 0]}], ids=["none", "one", "two of one"])
@pytest.mark.parametrize("more", [{}, {"item": "score"}])
def test_losses_with_clicks_of_one_group_have_no_interval(clicks: dict[str, list[int]], more: dict[str, str]) -> None:
    """Thirty users without a click vary in what they lose, and say nothing of what those with one would."""
    rows = rows_of({**clicks, **{f"u{n}": [0] * (1 + n % 3) for n in range(30)}})
    for name, row in of_metrics(rows, *OF_PROBABILITIES, **more).items():
        assert row["n_effective"] == (1 if clicks else 0), name
        is_defined = not math.isnan(row["value"])
        assert row["interval"] == ("too few" if is_defined else None), name
        assert [row[each] for each in ("stderr", "ci_low", "ci_high", "degrees")] == [None] * 4
        assert is_defined or name == "ne"


def test_degrees_of_losses_are_those_of_the_groups_with_clicks() -> None:
    """Four users have a click each, thirty have none: three degrees at most, of the value and of the difference."""
    rows = rows_of({f"u{n}": [1, 0] if n < 4 else [0, 0, 0] for n in range(34)})
    rows = rows.append_column("other", pa.array(np.random.default_rng(1).random(len(rows))))
    ev = sr.evaluate(rows, ["logloss", "brier"], **{**ROLES, "score": {"a": "score", "b": "other"}}, compare="a")
    for row in [*ev.table.to_pylist(), *ev.compare("a").to_pylist()]:
        assert row["n_effective"] == pytest.approx(4)
        assert 1 <= row["degrees"] <= 3 + 1e-9


@pytest.mark.parametrize("beside", [[], ["auc", "ne"]])
def test_in_a_window_a_click_of_one_user_is_too_few_whatever_else_is_asked(tmp_path: Path, beside: list[str]) -> None:
    """Parts have no sum of clicks for `logloss`: those of each day tell that there are too few."""
    lists = {f"u{n:03}": [int(n == 7), 0] for n in range(40)}
    settings: dict[str, Any] = {"metrics": ["logloss", "brier", *beside]}
    settings["input__columns"] = {"group": "user", "label": "click", "score": {"a": "score"}}
    for day in DAYS[:2]:
        clicks = lists if day == DAYS[0] else {user: [0, 0] for user in lists}
        write_log(tmp_path, rows_of(clicks).to_pandas().assign(date=day), day)
        evaluate(spec_of(tmp_path, **settings), day)
    assert exit_code(*merging(spec_of(tmp_path, **settings), last=DAYS[1])) == 0
    found = window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}").set_index("metric")
    for metric in settings["metrics"]:
        assert found["interval"][metric] == "too few", metric
        assert found["n_effective"][metric] == pytest.approx(1), metric


def test_what_has_no_interval_by_nature_is_null() -> None:
    names = [name for name, declared in CATALOG.items() if declared.interval == "none"]
    for row in of_metrics(rows_of(), *names, item="score").values():
        assert [row[name] for name in ENDS] == [None] * 5, row["metric"]


def test_shares_at_a_bound_have_wilsons_interval() -> None:
    """Of n of n, it is n / (n + z²) to 1."""
    for row in of_metrics(rows_of({f"u{n}": [1, 0] for n in range(20)}), "hit@1", "p@1", "r", "rprec").values():
        assert [row["value"], row["ci_low"], row["ci_high"]] == pytest.approx([1, 20 / (20 + 1.959964**2), 1], rel=1e-6)
        assert (row["interval"], row["stderr"], row["degrees"]) == ("wilson", None, 19.0)


def test_other_values_without_variation_have_none() -> None:
    found = of_metrics(rows_of({f"u{n}": [0, 1, 0, 0] for n in range(40)}), "rr", "dcg@2", "logloss", "p@4")
    assert {row["interval"] for row in found.values()} == {"too few"}


PARAMETERS = {"ndcg": "ndcg@3", "hit": "hit@1", "p": "p@2", "r": "r@2", "rbp": "rbp(p=0.5)"}
OF_OTHER_COLUMNS = ("new", "value")
WITHOUT_ORDER = [
    name
    for name, each in CATALOG.items()
    if "ref" not in each.defaults and each.needs_order is None and name not in OF_OTHER_COLUMNS
]
PARAMETERS |= {"ild": "ild(by=click)", "exposure_gap": "exposure_gap(by=click)"}
PARAMETERS |= {"past_novelty": "novelty(of=users)", "past_serendipity": "serendipity(of=rows)"}
KNOWN = [PARAMETERS.get(name, name) for name in WITHOUT_ORDER]


@settings(PATIENT, max_examples=examples(30))
@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=2, max_size=12), st.integers(0, 2**32 - 1)
)
def test_no_interval_leaves_the_range_of_its_metric(lists: list[list[int]], seed: int) -> None:
    rows = rows_of({f"u{n}": clicks for n, clicks in enumerate(lists)})
    score = np.random.default_rng(seed).random(len(rows)).round(1)
    rows = rows.set_column(1, "score", pa.array(score)).append_column("item", pa.array(range(len(rows))))
    had = rows.select(["user", "item"])[::2]
    for name, row in of_metrics(rows, *KNOWN, item="item", interactions=had).items():
        metric = Metric.parse(name)
        lowest, highest = metric.declaration.range_of(metric)
        if row["ci_low"] is None:
            assert row["interval"] in (None, "too few", "order statistics")
            assert row["ci_high"] is None
            continue
        assert lowest <= row["ci_low"] <= row["ci_high"] <= highest, row
        assert row["ci_low"] - 1e-9 <= row["value"] <= row["ci_high"] + 1e-9, row
        assert row["ci_low"] < row["ci_high"], row
        assert row["n_effective"] >= 2 - 1e-9, row
        assert row["n_groups"] == len(lists)


def test_the_terminal_says_too_few_in_place_of_no_width() -> None:
    table = sr.evaluate(rows_of(ONE), ["auc", "hit@1", "logloss"], **ROLES).table
    lines = {line.split()[0]: line for line in metrics_text(table).split("\n") if line}
    assert "1.0000 (too few)" in lines["auc"] or "(too few)" in lines["auc"]
    assert "0.0000" not in lines["auc"].replace("1.0000", "")
    assert value_text(0.5, None, None, "off") == "0.5000"
    assert value_text(0.5, 0.4, 0.6, "t") == "0.5000 ± 0.1000"
    assert value_text(0.9, 0.7, 0.95, "wilson") == "0.9000 [0.7000, 0.9500]"
    assert value_text(math.nan, None, None, None) == "undefined"


def told(caplog: pytest.LogCaptureFixture, rows: pa.Table, *metrics: str, **more: Any) -> dict[str, str]:
    with caplog.at_level(logging.WARNING):
        sr.evaluate(rows, [*metrics], **ROLES, **more)
    return {record.code: record.getMessage() for record in caplog.records if getattr(record, "code", None)}


def test_what_few_groups_carry_is_named(caplog: pytest.LogCaptureFixture) -> None:
    few = {f"u{n}": [1 if n < 5 else 0, 0] for n in range(40)}
    rows = rows_of(few, side=["x"] * 35 + ["y"] * 5)
    sentences = told(caplog, rows, "auc", "logloss", "hit@1", slices=["side"])
    assert sentences["few_groups"] == (
        "Fewer than 30 effective groups stand behind auc, logloss, hit@1 (5 at least); metrics of 2 of the 2 values "
        "of side"
    )
    caplog.clear()
    many = rows_of({f"u{n}": [1, 0] for n in range(40)})
    assert told(caplog, many, "p@1", "logloss", "coverage", item="score") == {}


def test_a_group_of_much_is_named_and_stands_in_quality(caplog: pytest.LogCaptureFixture) -> None:
    lists = {f"u{n}": [1, 0] for n in range(40)} | {"whale": [1, 0] * 10}
    large = told(caplog, rows_of(lists), "gauc", "p@1")["large_group"]
    assert large == "One of 41 groups has 20.0% of the weight in gauc of score"
    sentences = [record.getMessage() for record in caplog.records]
    assert "The largest of 41 groups has 20.0% of the rows (20 of 100): metrics of all rows depend on it" in sentences
    quality = {row["check"]: row for row in sr.evaluate(rows_of(lists), ["gauc", "p@1"], **ROLES).quality.to_pylist()}
    of_rows, of_weight = quality["most rows of one group"], quality["most weight of one group in gauc"]
    assert (of_rows["count"], of_rows["of"], of_rows["fraction"]) == (20, "rows evaluated", 0.2)
    assert (of_weight["count"], of_weight["model"], of_weight["fraction"]) == (20, "score", 0.2)
    caplog.clear()
    assert "large_group" not in told(caplog, rows_of({f"u{n}": [1, 0] for n in range(5)}), "gauc")  # all are equal


def test_days_stored_before_have_the_number_of_their_parts(tmp_path: Path) -> None:
    """Their merge needs no state that they lack; values and standard errors are as they were."""
    draw = np.random.default_rng(1)
    lists = {f"u{n:03}": draw.integers(0, 2, 1 + n % 7).tolist() for n in range(400)}
    settings: dict[str, Any] = {"metrics": ["auc", "recall(threshold=0.6)", "gauc"]}
    settings["input__columns"] = {"group": "user", "label": "click", "score": {"a": "score"}}
    write_log(tmp_path, rows_of(lists).to_pandas().assign(date=DAYS[0]), DAYS[0])
    evaluate(spec_of(tmp_path, **settings), DAYS[0])
    tables = []
    for _ in range(2):
        assert exit_code(*merging(spec_of(tmp_path, **settings), last=DAYS[0])) == 0
        tables.append(window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[0]}").set_index("metric"))
        file = one_file(tmp_path / f"tables/states/day={DAYS[0]}")
        states = pq.read_table(file, partitioning=None)
        kept = pc.invert(pc.match_substring(states["name"], " by group"))
        assert pc.any(pc.invert(kept)).as_py() or len(tables) == 2
        pq.write_table(states.filter(kept), file)
        list_again(tmp_path / "tables", DAYS[0], "states")
    now, before = tables
    for metric in settings["metrics"]:
        assert before["stderr"][metric] == now["stderr"][metric]
        assert before["n_groups"][metric] == now["n_groups"][metric] == 400
        assert before["n_effective"][metric] == pytest.approx(now["n_effective"][metric], rel=0.6)
    assert before["n_effective"]["auc"] != now["n_effective"]["auc"]
    assert before["n_effective"]["gauc"] == now["n_effective"]["gauc"]  # of means, the day had all that is needed
