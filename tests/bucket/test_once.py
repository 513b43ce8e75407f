"""An item that a list repeats: credited at each place (keep), at its best one (once), or the list moves up (first)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import log2

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.states.items import UNIT, items_table
from sparkrank.text.text import quality_text
from tests.support.joined import COLUMNS, counts_of, lists_table, truth_table, values_of

METRICS = ["p@3", "r@3", "hit@3", "rr", "ap", "ndcg", "gauc"]
POOLED = "auc(exact)"
LIST = [("u", item, 5.0 - place) for place, item in enumerate("AABCD")]
TRUTH = [("u", "A", 1.0), ("u", "C", 1.0)]
FORMS = ["log", "truth", "arrays"]

# A at 1 and at 2, C at 4, or at 3 where the list moves up. Where there is a truth, R = 2; in a log as it stands, R = 3.
IDEAL = {2: 1 + 1 / log2(3), 3: 1 + 1 / log2(3) + 1 / log2(4)}
KEPT = 1 + 1 / log2(3) + 1 / log2(5)
# Of METRICS in their order; gauc and auc are the share of pairs in order.
BY_HAND = {
    # A, A and C against B and D
    "keep": (2 / 3, 2 / 2, 1, 1 / 1, (1 / 1 + 2 / 2 + 3 / 4) / 2, KEPT / IDEAL[2], (2 + 2 + 1) / (3 * 2)),
    "keep in a log": (2 / 3, 2 / 3, 1, 1 / 1, (1 / 1 + 2 / 2 + 3 / 4) / 3, KEPT / IDEAL[3], (2 + 2 + 1) / (3 * 2)),
    # A and C against A again, B and D
    "once": (1 / 3, 1 / 2, 1, 1 / 1, (1 / 1 + 2 / 4) / 2, (1 + 1 / log2(5)) / IDEAL[2], (3 + 1) / (2 * 3)),
    "first": (2 / 3, 2 / 2, 1, 1 / 1, (1 / 1 + 2 / 3) / 2, (1 + 1 / log2(4)) / IDEAL[2], (2 + 1) / (2 * 2)),
}


def evaluated(form: str, rows: Sequence, truth: Sequence, metrics: Sequence[str], **settings) -> sr.Evaluation:
    """The ``rows`` of (user, item, score) beside the ``truth``: as a log, as lists and truth, or as arrays."""
    if form == "truth":
        return sr.evaluate(lists_table(rows), metrics, truth=truth_table(truth), **COLUMNS, **settings)
    if form == "log":
        labels = {(user, item): label for user, item, label in truth}
        rows = [*rows, *((user, item, None) for user, item in sorted(labels.keys() - {row[:2] for row in rows}))]
        column = pa.array([labels.get(row[:2], 0.0) for row in rows])
        return sr.evaluate(lists_table(rows).append_column("label", column), metrics, **COLUMNS, **settings)
    listed = [item for _, item, _ in sorted(rows, key=lambda row: -row[2])]
    table = pa.table({"user": ["u"], "listed": [listed], "actual": [[item for _, item, label in truth if label]]})
    return sr.evaluate(table, metrics, group="user", items="listed", true_items="actual", **settings)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("duplicates", ["keep", "once", "first"])
def test_an_item_twice_in_a_list(form: str, duplicates: str) -> None:
    ev = evaluated(form, LIST, TRUTH, [*METRICS, POOLED], duplicates=duplicates)
    expected = BY_HAND["keep in a log" if (form, duplicates) == ("log", "keep") else duplicates]
    assert [values_of(ev, metric)["u"] for metric in METRICS] == pytest.approx(expected, rel=1e-15)
    assert ev[POOLED] == pytest.approx(expected[-1], rel=1e-15)
    (row,) = ev.groups.to_pylist()
    assert row["n_retrieved"] == (4 if duplicates == "first" else 5)
    assert row["n_relevant"] == (3 if (form, duplicates) == ("log", "keep") else 2)


@pytest.mark.parametrize(("form", "word"), [("log", "keep"), ("truth", "once"), ("arrays", "once")])
def test_where_nothing_is_said_an_item_counts_once_where_lists_are_joined(form: str, word: str) -> None:
    asked, said = (evaluated(form, LIST, TRUTH, [*METRICS, POOLED], duplicates=given) for given in (None, word))
    assert asked.metrics.equals(said.metrics)
    assert asked.groups.equals(said.groups)
    definitions = asked.metrics["definition"].unique().to_pylist()
    assert all((f"duplicates={word}" in text) == (form != "log") for text in definitions)


@pytest.mark.parametrize("form", FORMS)
def test_the_terminal_says_that_items_are_credited_again_where_they_are(form: str) -> None:
    sentence = "1 scored rows that repeat an item of their list (20.0000% of rows with a score, limit 0.0000%)"
    for duplicates in ("keep", "once", "first", None):
        ev = evaluated(form, LIST, TRUTH, ["p@3"], duplicates=duplicates)
        assert (sentence in quality_text(ev.quality)) == (duplicates == "keep" and form != "log")
        counted = None if form == "log" and duplicates in (None, "keep") else 1
        assert counts_of(ev).get(checks.REPEATED_ROWS) == counted
        assert quality_text(evaluated(form, LIST[1:], TRUTH, ["p@3"], duplicates=duplicates).quality) == ""


# One score for all: D, B twice, and A, of which one is relevant.
TIED = [("u", item, 1.0) for item in "BADB"]


@pytest.mark.parametrize("form", ["log", "truth"])
@pytest.mark.parametrize(
    ("ties", "relevant", "rr"),
    [
        ("expected", "B", (1 / 1 + 1 / 2 + 1 / 3) / 3),  # three items at three places; the second B at 4
        ("expected", "A", (1 / 1 + 1 / 2 + 1 / 3) / 3),
        ("item", "D", 1 / 1),  # D B B A
        ("item", "B", 1 / 2),
        ("item", "A", 1 / 4),
        ("worst", "B", 1 / 3),
        ("best", "B", 1 / 1),
        ("block", "B", 1 / 4),
    ],
)
def test_a_repeat_pushes_no_item_down_that_it_ties_with(form: str, ties: str, relevant: str, rr: float) -> None:
    for rows in set(itertools.permutations(TIED)):
        found = evaluated(form, rows, [("u", relevant, 1.0)], ["rr", "ap", "gauc"], ties=ties, duplicates="once")
        assert values_of(found, "rr")["u"] == pytest.approx(rr, rel=1e-15)
        assert values_of(found, "ap")["u"] == pytest.approx(rr, rel=1e-15)
        assert values_of(found, "gauc")["u"] == (1 / 2 + 1 / 2 + 1) / 3  # it ties with two items, and a repeat is below
        assert counts_of(found)[checks.TIED_ROWS] == 4


@pytest.mark.parametrize("positions", ["given", "given_from_0"])
def test_given_ranks_stay_as_they_are(positions: str) -> None:
    """A at 1 and again at 1 and 2, B at 4, both relevant."""
    ranks = [("u", "A", 1.0), ("u", "A", 1.0), ("u", "A", 2.0), ("u", "B", 4.0)]
    for rows in set(itertools.permutations(ranks)):
        table = lists_table([(user, item, rank - (positions == "given_from_0")) for user, item, rank in rows])
        roles = {"group": "user", "item": "item", "rank": "score", "label": "label", "positions": positions}
        truth = truth_table([("u", "A", 1.0), ("u", "B", 1.0)])
        found = sr.evaluate(table, ["ap", "p@1", "r@3"], truth=truth, **roles)
        assert [found[metric] for metric in ("ap", "p@1", "r@3")] == [(1 / 1 + 2 / 4) / 2, 1.0, 1 / 2]


def test_the_best_row_is_that_of_each_model() -> None:
    """A stands on two rows, of which one model has the first higher and the other the second; a third lacks it."""
    scores = {"a": [3.0, 1.0, 2.0], "b": [1.0, 3.0, 2.0], "c": [None, None, 2.0], "d": [None, 1.0, 2.0]}
    log = pa.table({"user": ["u"] * 3, "item": ["A", "A", "B"], "label": [0, 1, 0], **scores})
    roles = {**COLUMNS, "score": {model: model for model in scores}}
    columns = ["n_relevant", "n_retrieved", *(metrics := ["rr", "r", "p", "bpref"])]
    groups = sr.evaluate(log, metrics, duplicates="once", **roles).groups.to_pylist()
    # R = 1 and N = 1, the row of B, whatever the list repeats
    assert {row["model"]: tuple(row[name] for name in columns) for row in groups} == {
        "a": (1, 3, 1 / 1, 1, 1 / 3, 1),
        "b": (1, 3, 1 / 1, 1, 1 / 3, 1),
        "c": (1, 1, 0, 0, 0, 0),
        "d": (1, 2, 1 / 2, 1, 1 / 2, 0),
    }


def test_a_repeat_is_not_judged_and_stands_in_no_reference() -> None:
    """Of X A A B, of which the label 2 of A and 1 of B count: judged rows are A and B alone, in the order of labels."""
    rows = [("u", item, 4.0 - place) for place, item in enumerate("XAAB")]
    truth = [("u", "A", 2.0), ("u", "B", 1.0), ("u", "C", 0.0)]
    ev = evaluated("truth", rows, truth, ["kendall_tau", "spearman", "fitness", "bpref", "infap"], ties="item")
    for metric in ("kendall_tau", "spearman", "fitness", "bpref"):  # nothing that was judged not relevant is above
        assert values_of(ev, metric)["u"] == 1.0
    share = (1 + 1e-5) / (1 + 2e-5)  # above B, at 4, one row was judged, A
    assert values_of(ev, "infap")["u"] == pytest.approx((1 / 2 + (1 / 4 + 1 / 4 * share)) / 2, rel=1e-15)


def test_of_equal_scores_of_an_item_the_row_of_the_highest_weight_is_credited() -> None:
    """Of A's rows, which weigh 1 and 3, beside another of 2, in any order of the rows; a higher score goes before."""
    cases = (([1.0] * 3, 3), ([2.0, 1.0, 1.0], 1))
    for order, (scores, credited) in itertools.product(itertools.permutations(range(3)), cases):
        log = pa.table({"user": ["u"] * 3, "item": ["A", "A", "B"], "score": scores, "label": [1, 1, 0]})
        log = log.append_column("weight", pa.array([1.0, 3.0, 2.0])).take(list(order))
        found = sr.evaluate(log, ["precision(threshold=0)"], duplicates="once", weight="weight", **COLUMNS)
        assert found.metrics["value"].to_pylist() == [credited / (1 + 3 + 2)]


def test_the_reference_has_an_item_once_at_its_first_place() -> None:
    """A stands on two rows, of which the second has the better rank there: A before B, as the score has it."""
    log = lists_table([("u", "A", 3.0), ("u", "A", 2.0), ("u", "B", 1.0)])
    log = log.append_column("rank", pa.array([3, 1, 2])).append_column("label", pa.array([1, 0, 0]))
    metrics = [f"{name}(ref=reference_rank)" for name in ("kendall_tau", "spearman", "kendall_distance", "fitness")]
    found = sr.evaluate(log, metrics, duplicates="once", ties="item", reference_rank="rank", **COLUMNS)
    assert [values_of(found, metric)["u"] for metric in metrics] == [1.0, 1.0, 0.0, 1.0]


def test_what_repeats_show_of_the_catalogue_is_shown() -> None:
    """Each place shows an item. Of tied repeats of which k cuts one off, the order of items says which is shown."""
    rows = [("u", "A", 2.0), ("u", "B", 2.0), ("u", "A", 2.0), ("u", "B", 2.0), ("u", "C", 1.0)]
    for given in set(itertools.permutations(rows)):
        items = items_table(evaluated("truth", given, [("u", "C", 1.0)], ["gini@3"]).partials.items).to_pylist()
        # A and B in either order, then B, whose text is the greater
        assert {row["item"]: row["shown"] / UNIT for row in items} == {"A": 1, "B": 2, "C": 0}
