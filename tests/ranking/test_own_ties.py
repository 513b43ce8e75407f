"""A metric's own rule for tied rows, beside others in one evaluation."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import MetricError, SpecError
from sparkrank.metrics import (
    CATALOG,
    PRESETS,
    CatalogueMetric,
    Definitions,
    GroupMetric,
    Metric,
    PooledMetric,
    plan_of,
)
from sparkrank.metrics.attention_metric import AttentionMetric
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.role_reasons import item_reason
from sparkrank.metrics.sampled_metric import SampledMetric
from tests.cases import Row
from tests.cases.rows import FOUR_TIED
from tests.extent import examples
from tests.support.buckets import evaluate, group_values, mean
from tests.support.logged import warnings_about_input
from tests.support.strategies import OF_NUMBERS, PATIENT, Asked, group_metrics, impressions, text

RULES = ALLOWED["ties"]
TAKING = [name for name, declared in CATALOG.items() if "ties" in declared.defaults]


def with_ties(metric: str, ties: str) -> str:
    return str(Metric.parse(metric).with_ties(ties))


@pytest.mark.parametrize("evaluation", RULES)
@settings(PATIENT, max_examples=examples(25))
@given(impressions(most_rows=8), st.lists(group_metrics(tied=True), min_size=1, max_size=4, unique_by=text))
def test_it_has_the_bits_of_an_evaluation_under_it(evaluation: str, rows: list[Row], metrics: list[Asked]) -> None:
    texts = [text(parts) for parts in metrics if parts[0] in TAKING]
    own = [with_ties(each, ties) for each in texts for ties in RULES if ties != evaluation]
    if not own:
        return
    beside = evaluate(rows, [*own, *texts], evaluation)
    for ties in RULES:
        alone = evaluate(rows, texts, ties) if texts else beside
        for each in texts:
            name = str(Metric.parse(each)) if ties == evaluation else with_ties(each, ties)
            wanted, got = group_values(alone, str(Metric.parse(each))), group_values(beside, name)
            assert {key: repr(value) for key, value in got.items()} == {k: repr(v) for k, v in wanted.items()}, name
            assert repr(mean(beside.partials, name)) == repr(mean(alone.partials, str(Metric.parse(each))))


def test_a_metric_that_has_no_expectation_stands_beside_the_others() -> None:
    """Of FOUR_TIED the first and the last are alone; 10, a hit, ties with three others from 2 to 5, and stands at 4."""
    found = evaluate(FOUR_TIED, ["err(ties=item,max_grade=1)@5", "rr", "median(err(ties=item,max_grade=1)@5)"])
    assert group_values(found, "err(max_grade=1,ties=item)@5") == {"u": 1 / 2 * 1 / 4}
    assert group_values(found, "rr") == {"u": (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4}
    assert [str(key[3]) for key in found.partials.distributions] == ["err(max_grade=1,ties=item)@5"]


OWN = {"group_auc", "gauc", "pair_auc", "kendall_tau", "kendall_distance", "spearman", "rbo"}
OWN |= {*OF_NUMBERS}


def test_the_others_say_why_they_take_none() -> None:
    assert set(CATALOG) - set(TAKING) == OWN | {n for n, each in CATALOG.items() if isinstance(each, PooledMetric)}
    for name in set(CATALOG) - set(TAKING):
        with pytest.raises(MetricError, match=f"gives ties, but {name} takes none: "):
            Metric.parse(f"{name}(ties=item)")
    kinds = (GroupMetric, CatalogueMetric, AttentionMetric, SampledMetric)
    assert all(isinstance(CATALOG[name], kinds) for name in TAKING)


def test_a_rule_that_is_that_of_the_evaluation_is_not_written() -> None:
    """So one metric is one column, and is found by either text."""
    plan = plan_of(["ndcg(ties=expected)@10", "ndcg@10", "median(ndcg(ties=expected)@10)"], ["m"], ["u"])
    assert [str(metric) for metric in plan.metrics] == ["ndcg@10", "median(ndcg@10)"]
    item = plan_of(["ndcg(ties=item)@10", "ndcg(ties=expected)@10"], ["m"], ["u"], Definitions("item"))
    assert [str(metric) for metric in item.metrics] == ["ndcg@10", "ndcg(ties=expected)@10"]
    log = pa.table({"u": ["a", "a"], "s": [1.0, 1.0], "y": [1, 0], "i": ["a", "b"]})
    asked = {"group": "u", "score": "s", "label": "y", "item": "i"}
    ev = sr.evaluate(log, ["rr(ties=expected)", "rr", "rr(ties=item)"], **asked)
    assert ev.table["metric"].to_pylist() == ["rr", "rr(ties=item)"]
    assert ev["rr(ties=expected)"] == ev["mrr"] == 0.75
    assert ev["MRR(ties=item)"] == 0.5
    assert ev.groups.column_names[-2:] == ["rr", "rr(ties=item)"]


@pytest.mark.parametrize("text_", ["rr(ties=item)", "median(err(ties=item))", "gini(ties=item)@2"])
def test_item_needs_the_item(text_: str) -> None:
    log = pa.table({"u": ["a", "a"], "s": [1.0, 1.0], "y": [1, 0]})
    with pytest.raises(SpecError, match=r"ties=item .*but no item column is named"):
        sr.evaluate(log, [text_], group="u", score="s", label="y")
    assert item_reason(plan_of([text_], ["m"], ["u"]))
    assert not item_reason(plan_of(["rr(ties=worst)"], ["m"], ["u"]))


@pytest.mark.parametrize("ties", ["item", "worst", "best"])
def test_given_positions_leave_no_order_to_name(ties: str) -> None:
    with pytest.raises(MetricError, match=rf"rr\(ties={ties}\) orders tied rows, but positions=given takes them"):
        plan_of([f"rr(ties={ties})"], ["m"], ["u"], Definitions(positions="given"))
    for fine in ("expected", "block"):
        plan = plan_of([f"rr(ties={fine})"], ["m"], ["u"], Definitions(positions="given"))
        assert [str(metric) for metric in plan.metrics] == ["rr"]


def test_an_expectation_that_is_not_there_is_refused_where_it_is_named_too() -> None:
    with pytest.raises(MetricError, match=r"err\(ties=expected\)@3 is not computed under ties=expected"):
        plan_of(["err(ties=expected)@3"], ["m"], ["u"], Definitions("item"))
    with pytest.raises(MetricError, match=r"as in err\(ties=item\)@3, for this metric"):
        plan_of(["err@3"], ["m"], ["u"])


def test_a_preset_names_the_order_of_what_has_no_expectation_alone() -> None:
    torch = PRESETS["torchmetrics"]
    asked = ["map@3", "ndcg@3", "err", "map", "median(map@3)", "ap(over=relevant)@3", "ap(over=hits,ties=best)@3"]
    plan = plan_of(asked, ["m"], ["u"], Definitions.of(torch, {}), preset=torch)
    assert [str(metric) for metric in plan.metrics] == [
        "ap(over=hits,ties=worst)@3",
        "ndcg@3",
        "err(ties=worst)",
        "ap",
        "median(ap(over=hits,ties=worst)@3)",
        "ap@3",
        "ap(over=hits,ties=best)@3",
    ]
    given_ = plan_of(["map@3"], ["m"], ["u"], Definitions.of(torch, {"ties": "block"}), preset=torch)
    assert [str(metric) for metric in given_.metrics] == ["ap(over=hits)@3"]  # what is given wins
    log = pa.table({"u": ["a", "a"], "s": [1.0, 1.0], "y": [1, 0]})
    ev = sr.evaluate(log, ["map@3"], group="u", score="s", label="y", preset="torchmetrics")
    assert ev["map@3"] == ev["RetrievalMAP@3"] == ev["ap(over=hits,ties=worst)@3"] == 1 / 2


# Of a the relevant row is tied with another and stands first by item, of b both are relevant, c has one row.
TIED = pa.table(
    {"u": [*"aaabbc"], "i": [*"xyzxyw"], "s": [0.5, 0.5, 0.2, 0.9, 0.9, 1.0], "y": [0, 1, 0, 1, 1, 0]},
)
FIRST, SECOND = (
    1 / 16,
    1 / 2 * 1 / 16,
)  # what a relevant row of grade 1 adds to err at 1 and, below one that is not, at 2
BOTH = 1 / 16 + 1 / 2 * 15 / 16 * 1 / 16
WARNED = "No order of tied rows was asked for: they are ordered {}, which decides {}"
UNASKED = {
    ("err", "item"): ("err(ties=item)", (FIRST + BOTH) / 3, ("by item", "err(ties=item) on 1 of 3 lists")),
    ("err", None): (
        "err(ties=worst)",
        (SECOND + BOTH) / 3,
        ("with relevant rows last", "err(ties=worst) on 1 of 3 lists"),
    ),
    ("p50(err)", "item"): ("median(err(ties=item))", FIRST, ("by item", "median(err(ties=item)) on 1 of 3 lists")),
    ("coverage@1", "item"): ("coverage(ties=item)@1", 2 / 4, ("by item", "coverage(ties=item)@1 on 2 of 3 lists")),
    ("coverage@2", "item"): ("coverage(ties=item)@2", 3 / 4, None),
    ("err(ties=item)", "item"): ("err(ties=item)", (FIRST + BOTH) / 3, None),
    ("rr", "item"): ("rr", (3 / 4 + 1) / 2, None),
}


@pytest.mark.parametrize(("metric", "by"), UNASKED)
def test_where_nobody_asks_tied_rows_have_an_order(metric: str, by: str, caplog: pytest.LogCaptureFixture) -> None:
    """The text and a warning say which, and on how many lists it decides; only by request is there an expectation."""
    named, value, warned = UNASKED[metric, by]
    asked = {"group": "u", "score": "s", "label": "y", "item": by and "i"}
    ev = sr.evaluate(TIED, [metric], **asked)
    assert ev.table["metric"].to_pylist() == [named]
    assert ev[metric] == ev[named] == pytest.approx(value, rel=1e-12)
    assert warnings_about_input(caplog) == ([] if warned is None else [WARNED.format(*warned)])
    if "ties" not in metric and named != metric:
        with pytest.raises(MetricError, match="is not computed under ties=expected"):
            sr.evaluate(TIED, [metric], ties="expected", **asked)
        plain = sr.evaluate(TIED, [metric], ties="worst" if by is None else "item", **asked)
        assert plain[metric] == ev[metric]


def test_one_ranking_for_each_rule_and_one_sort_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrank.ranking import ranking

    sorts, made = [], []
    rank_rows, create = ranking.rank_rows, ranking.Ranking.__init__
    monkeypatch.setattr(ranking, "rank_rows", lambda *rows: sorts.append(1) or rank_rows(*rows))
    monkeypatch.setattr(ranking.Ranking, "__init__", lambda self, *a, **k: made.append(1) or create(self, *a, **k))
    evaluate(FOUR_TIED, ["rr", "ndcg@3", "auc"])
    assert len(made) == 1
    sorts.clear(), made.clear()
    evaluate(FOUR_TIED, ["rr", "err(ties=item)", "rr(ties=item)", "err(ties=worst)", "fitness"])
    assert (len(made), len(sorts)) == (3, 1)


def test_fitness_of_two_tied_rows() -> None:
    """a is 1 and b is 2 by reference; each stands at 1 or 2 by score, with chance 1/2."""
    rows = [("u", "a", 1.0, 2.0), ("u", "b", 1.0, 1.0)]
    found = evaluate(rows, ["fitness", "fitness(alpha=1)", "fitness(alpha=0)", "fitness(discount=log2,alpha=1)"])
    right, wrong = 1 / 1 + 1 / 1.5, 1 / (0.5 * 2 + 0.5 * 2) + 1 / (0.5 * 2 + 0.5 * 1)
    assert group_values(found, "fitness")["u"] == pytest.approx((right + wrong) / 2 / right, rel=1e-15)
    assert group_values(found, "fitness(alpha=1)")["u"] == pytest.approx((2 + 1 / 2 + 1 / 2) / 2 / 2, rel=1e-15)
    assert group_values(found, "fitness(alpha=0)") == {"u": 1.0}
    w = 1 / math.log2(3)
    expected = ((1 + w) + (1 / 2 + w / 2)) / 2 / (1 + w)
    assert group_values(found, "fitness(alpha=1,discount=log2)")["u"] == pytest.approx(expected, rel=1e-15)


def test_fitness_of_rows_that_both_orders_tie_is_that_of_the_order_they_stand_in() -> None:
    """a and b are alike, c is last by reference and ties with them: it stands first, second or third."""
    rows = [("u", "a", 1.0, 1.0), ("u", "b", 1.0, 1.0), ("u", "c", 1.0, 0.0)]
    found = evaluate(rows, ["fitness(alpha=1)"])
    orders = [(1 + 1 + 1), (1 + 1 / 2 + 1 / 2), (1 / 2 + 1 / 2 + 1 / 3)]  # c at 3, at 2 and at 1
    assert group_values(found, "fitness(alpha=1)")["u"] == pytest.approx(sum(orders) / 3 / 3, rel=1e-15)
    alike = evaluate([("u", str(i), 1.0, 1.0) for i in range(9)], ["fitness", "fitness(alpha=0.3,discount=log2)"])
    for metric in ("fitness", "fitness(alpha=0.3,discount=log2)"):
        assert group_values(alike, metric)["u"] == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("alpha", [0, 1e-9, 0.3, 0.5 - 1e-12, 0.5, 0.5 + 1e-16, 0.5 + 1e-9, 0.7, 1])
@pytest.mark.parametrize("n", [2, 17, 40, 1000])
def test_fitness_of_a_long_block_is_the_mean_over_its_positions(alpha: float, n: int) -> None:
    """Ten rows, then n tied ones whose labels all differ: each term added one by one."""
    labels = np.random.default_rng(n).permutation(n + 10)
    rows = [("u", str(i), 2.0 + i if i < 10 else 1.0, float(label)) for i, label in enumerate(labels)]
    q = n + 10 - labels
    terms = [1 / (alpha * (abs(10 - i - q[i]) + 1) + (1 - alpha) * (10 - i)) for i in range(10)]
    terms += [
        1 / (alpha * (abs(p - each) + 1) + (1 - alpha) * p) / n for each in q[10:].tolist() for p in range(11, n + 11)
    ]
    best = math.fsum(1 / (alpha + (1 - alpha) * each) for each in range(1, n + 11))
    found = evaluate(rows, [f"fitness(alpha={alpha!r})"])
    assert mean(found.partials, found.groups.column_names[-1]) == pytest.approx(math.fsum(terms) / best, rel=1e-13)


def test_digamma_differences_have_all_digits() -> None:
    mpmath = pytest.importorskip("mpmath", reason="digamma to thirty digits")
    from sparkrank.metrics.fitness import digamma_difference

    x = np.array([0.01, 0.5, 1.0, 3.7, 15.9, 16.1, 400.25, 1e6, 1e12, 4.5e15])
    for count in (0.0, 1.0, 2.0, 16.0, 17.0, 40.0, 1e4, 1e7):
        found = digamma_difference(x, np.full(len(x), count))
        with mpmath.workdps(50):
            exact = [mpmath.mpf(each) for each in x]
            expected = [float(mpmath.digamma(each + count) - mpmath.digamma(each)) for each in exact]
        assert found == pytest.approx(expected, rel=4e-15, abs=0)


def test_fitness_of_very_many_rows_that_both_tie_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrank.metrics import rank_comparison as comparison

    monkeypatch.setattr(comparison, "MOST_ALIKE", 4)
    rows = [("u", str(i), 1.0, float(i > 2)) for i in range(5)]
    with pytest.raises(sr.InputError, match=r"mean over all orders of 5 rows of equal score.*up to 4 are allowed"):
        evaluate(rows, ["fitness"])
    assert evaluate(rows, ["fitness(ties=item)"]).groups.num_rows == 1
    distinct = [("u", str(i), 1.0, float(i)) for i in range(5)]
    assert evaluate(distinct, ["fitness"]).groups.num_rows == 1
