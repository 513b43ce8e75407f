"""Lists and truth, joined inside the bucket: what counts where, what is counted, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank import checks
from sparkrank.metrics.definitions import DUPLICATES, POPULATIONS, UNJUDGED, UNRETRIEVED
from tests.cases import Row
from tests.oracles import ORACLES, PAIRED, Given, Listed, lists_and_truth, settled
from tests.unit.buckets import or_nan
from tests.unit.strategies import PATIENT, Asked, arguments, group_metrics, impressions, text

COLUMNS = {"group": "user", "item": "item", "score": "score", "label": "label"}


def lists_table(rows: Sequence[Listed], item: pa.DataType | None = None) -> pa.Table:
    user, items, score = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "user": pa.array(user, pa.string()),
            "item": pa.array(items, item or pa.string()),
            "score": pa.array(score, pa.float64()),
        }
    )


def truth_table(rows: Sequence[Given], item: pa.DataType | None = None) -> pa.Table:
    user, items, label = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "user": pa.array(user, pa.string()),
            "item": pa.array(items, item or pa.string()),
            "label": pa.array(label, pa.float64()),
        }
    )


def values_of(evaluation: sr.Evaluation, metric: str) -> dict[str, float]:
    return dict(zip(evaluation.groups["user"].to_pylist(), evaluation.groups[metric].to_pylist(), strict=True))


def counts_of(evaluation: sr.Evaluation) -> dict[str, float]:
    return {row["check"]: row["count"] for row in evaluation.quality.to_pylist()}


LISTS = [("u", item, 5.0 - place) for place, item in enumerate("abcde")]
TRUTH = [("u", item, 1.0) for item in "abex"]


@pytest.mark.parametrize(("side", "value"), [("lists", 0.0), ("truth", math.nan)])
def test_a_column_of_nothing_but_nulls_fits_any_type(side: str, value: float) -> None:
    """An empty data frame, or one whose items are all missing, has columns of no type."""
    rows = {"lists": lists_table([("u", "a", 1.0)]), "truth": truth_table([("u", "a", 1.0)])}
    rows[side] = rows[side].set_column(1, "item", pa.nulls(1))
    found = sr.evaluate(rows["lists"], ["r"], truth=rows["truth"], max_bad_fraction=0.5, **COLUMNS)
    assert values_of(found, "r") == pytest.approx({"u": value}, nan_ok=True)  # all of one true item missed, or none
    assert counts_of(found)[checks.NULL_ITEM] == 1


def test_truth_that_is_in_no_list_counts_in_r_and_in_the_ideal() -> None:
    """Four adopted, of which a, b and e stand at 1, 2 and 5; x is in no list."""
    metrics = ["r@5", "r@2", "ap", "rprec", "ndcg", "f@5", "rr", "group_auc"]
    found = sr.evaluate(lists_table(LISTS), metrics, truth=truth_table(TRUTH), **COLUMNS)
    ideal = 1 / log2(2) + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
    expected = {
        "r@5": 3 / 4,
        "r@2": 2 / 4,
        "ap": (1 / 1 + 2 / 2 + 3 / 5) / 4,
        "rprec": 2 / 4,
        "ndcg": (1 / log2(2) + 1 / log2(3) + 1 / log2(6)) / ideal,
        "f@5": 2 * 3 / (4 + 5),
        "rr": 1.0,
        "group_auc": 4 / 6,  # of the pairs of a, b, e with c, d: both of a's and of b's
    }
    for metric, value in expected.items():
        assert values_of(found, metric) == pytest.approx({"u": value}, rel=1e-15), metric
    row = found.groups.to_pylist()[0]
    assert (row["n_rows"], row["n_retrieved"], row["n_relevant"]) == (6, 5, 4)
    counts = counts_of(found)
    assert (counts[checks.ROWS_READ], counts[checks.TRUTH_ROWS], counts[checks.ROWS_EVALUATED]) == (9, 4, 6)
    assert (counts[checks.TRUTH_LISTED], counts[checks.TRUTH_UNLISTED], counts[checks.UNJUDGED_ROWS]) == (3, 1, 2)


def test_a_truth_without_labels_is_relevant() -> None:
    """The same numbers, with every label 1 because there is none."""
    roles = {**COLUMNS, "label": None}
    bare = sr.evaluate(lists_table(LISTS), ["ap"], truth=truth_table(TRUTH).drop_columns(["label"]), **roles)
    assert values_of(bare, "ap") == {"u": (1 / 1 + 2 / 2 + 3 / 5) / 4}


def test_the_truth_may_name_its_columns_otherwise() -> None:
    renamed = truth_table(TRUTH).rename_columns(["who", "what", "stars"])
    names = {"group": "who", "item": "what", "label": "stars"}
    found = sr.evaluate(lists_table(LISTS), ["ap"], truth=renamed, truth_columns=names, **{**COLUMNS, "label": None})
    assert values_of(found, "ap") == {"u": (1 / 1 + 2 / 2 + 3 / 5) / 4}


def test_two_models_whose_rows_stand_apart_share_one_truth() -> None:
    """The first lists a, b, the second b, c, on rows of their own; b and c are true: R = 2 for both."""
    rows = {
        "user": ["u"] * 4,
        "item": ["a", "b", "b", "c"],
        "first": [2.0, 1.0, None, None],
        "second": [None, None, 2.0, 1.0],
    }
    truth = truth_table([("u", "b", 1.0), ("u", "c", 1.0)])
    roles = {**COLUMNS, "score": {"first": "first", "second": "second"}}
    found = sr.evaluate(pa.table(rows), ["ap", "r"], truth=truth, duplicates="error", **roles).groups.to_pylist()
    of = {row["model"]: (row["ap"], row["r"], row["n_retrieved"]) for row in found}
    assert of == {"first": ((1 / 2) / 2, 1 / 2, 2), "second": ((1 / 1 + 2 / 2) / 2, 2 / 2, 2)}


REPEATED = [("u", "a", 4.0), ("u", "b", 3.0), ("u", "a", 2.0), ("u", "c", 1.0)]


@pytest.mark.parametrize(
    ("duplicates", "ap", "precision", "recall"),
    [
        ("keep", (1 / 1 + 2 / 3 + 3 / 4) / 2, 3 / 4, 3 / 2),  # a, -, a, c: a counts at both places, and once in R
        ("first", (1 / 1 + 2 / 3) / 2, 2 / 3, 2 / 2),  # a, -, c
    ],
)
def test_an_item_twice_in_a_list(duplicates: str, ap: float, precision: float, recall: float) -> None:
    truth = truth_table([("u", "a", 1.0), ("u", "c", 1.0)])
    found = sr.evaluate(lists_table(REPEATED), ["ap", "p", "r"], truth=truth, duplicates=duplicates, **COLUMNS)
    for metric, value in {"ap": ap, "p": precision, "r": recall}.items():
        assert values_of(found, metric) == pytest.approx({"u": value}, rel=1e-15), metric
    assert counts_of(found)[checks.REPEATED_ROWS] == 1


@pytest.mark.parametrize("truth", [[("u", "a", 1.0)], [("u", "x", 1.0), ("u", "x", 1.0)]])
def test_duplicates_may_be_an_error(truth: list[Given]) -> None:
    lists = REPEATED if len(truth) == 1 else LISTS
    with pytest.raises(sr.InputError, match=r"duplicates=error, and there are duplicates \(.*: 1\)"):
        sr.evaluate(lists_table(lists), ["ap"], truth=truth_table(truth), duplicates="error", **COLUMNS)


def test_an_item_twice_in_an_impression_log_has_its_highest_label() -> None:
    """a was shown at 1 and at 3 and clicked at 3 only; as one item, it stands at 1 and was clicked."""
    log = pa.table(
        {"user": ["u"] * 4, "item": ["a", "b", "a", "c"], "score": [4.0, 3.0, 2.0, 1.0], "label": [0, 0, 1, 1]}
    )
    kept = sr.evaluate(log, ["ap"], **COLUMNS)
    first = sr.evaluate(log, ["ap", "ndcg"], duplicates="first", **COLUMNS)
    assert values_of(kept, "ap") == {"u": (1 / 3 + 2 / 4) / 2}
    assert values_of(first, "ap") == {"u": (1 / 1 + 2 / 3) / 2}
    assert values_of(first, "ndcg") == pytest.approx({"u": (1 + 1 / log2(4)) / (1 + 1 / log2(3))}, rel=1e-15)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_of_equal_scores_of_an_item_the_row_of_the_highest_weight_stays(order: list[int]) -> None:
    """Which of the two comes first must not show: the weights that stay are 3 for a positive and 1 for a negative."""
    log = pa.table({"user": ["a"] * 3, "item": ["x", "x", "y"], "score": [0.5, 0.5, 0.25], "label": [1, 1, 0]})
    log = log.append_column("weight", pa.array([1.0, 3.0, 1.0])).take(order)
    found = sr.evaluate(log, ["precision(threshold=0)"], duplicates="first", weight="weight", **COLUMNS)
    row = {"value": 3 / 4, "weight": 4.0, "n_rows": 2}
    assert found.metrics.select(list(row)).to_pylist() == [row]


def test_truth_given_twice_counts_once_with_its_highest_label() -> None:
    truth = truth_table([("u", "a", 1.0), ("u", "x", 2.0), ("u", "a", 3.0), ("u", "x", 2.0)])
    found = sr.evaluate(lists_table(LISTS), ["cg", "r"], truth=truth, **COLUMNS)
    assert values_of(found, "cg") == {"u": 3.0}
    assert values_of(found, "r") == {"u": 1 / 2}
    counts = counts_of(found)
    assert (counts[checks.TRUTH_REPEATED], counts[checks.TRUTH_OVERRULED]) == (2, 1)


# Group: both = a list and a truth; list = no truth; truth = no list; null = truth without a label, and a list.
SPARSE_LISTS = [("both", "a", 2.0), ("both", "b", 1.0), ("list", "a", 1.0), ("null", "a", 1.0)]
SPARSE_TRUTH = [("both", "b", 1.0), ("truth", "a", 1.0), ("null", "a", None), ("none", None, None)]


@pytest.mark.parametrize(
    ("definitions", "p", "rr"),
    [
        ({}, {"both": 1 / 2, "list": 0, "truth": 0, "null": 0, "none": 0}, (1 / 2 + 0) / 2),
        ({"undefined": "zero"}, {"both": 1 / 2, "list": 0, "truth": 0, "null": 0, "none": 0}, (1 / 2) / 5),
        ({"population": "truth"}, {"both": 1 / 2, "truth": 0}, (1 / 2 + 0) / 2),
        ({"population": "lists", "undefined": "zero"}, {"both": 1 / 2, "list": 0, "null": 0}, (1 / 2) / 3),
        ({"population": "both"}, {"both": 1 / 2}, 1 / 2),
        ({"unretrieved": "skip", "undefined": "one"}, {"both": 1 / 2, "list": 0, "null": 0}, (1 / 2 + 1 + 1) / 3),
        ({"unjudged": "drop"}, {"both": 1, "list": 0, "truth": 0, "null": 0, "none": 0}, (1 + 0) / 2),
        # a dropped list is a list all the same
        ({"unjudged": "drop", "population": "lists", "undefined": "zero"}, {"both": 1, "list": 0, "null": 0}, 1 / 3),
    ],
)
def test_which_groups_and_rows_are_evaluated(definitions: dict[str, str], p: dict, rr: float) -> None:
    found = sr.evaluate(
        lists_table(SPARSE_LISTS), ["p", "rr", "auc(exact)"], truth=truth_table(SPARSE_TRUTH), **COLUMNS, **definitions
    )
    assert values_of(found, "p") == p
    means = {row["metric"]: row for row in found.metrics.to_pylist()}
    assert means["rr"]["value"] == pytest.approx(rr, rel=1e-15)
    assert means["p"]["n_groups"] == len(p)
    assert all(name in means["p"]["definition"] for name in map("=".join, definitions.items()))
    counts = counts_of(found)
    assert counts[checks.GROUPS] == 5
    assert counts[checks.GROUPS_WITHOUT_TRUTH] == 3
    assert counts.get(checks.GROUPS_LEFT_OUT, 0) == 5 - len(p)
    assert counts[checks.TRUTH_UNLABELLED] == 1
    assert counts[checks.GROUP_ONLY] == 1


def test_the_day_is_that_of_the_groups_evaluated() -> None:
    """Without u's truth: (0.9, 0) of u falls out of the day, and v's two rows are in order."""
    lists = lists_table([("u", "a", 0.9), ("v", "a", 0.5), ("v", "b", 0.4)])
    truth = truth_table([("v", "a", 1.0)])
    days = [
        sr.evaluate(lists, ["auc(exact)"], truth=truth, population=population, **COLUMNS).to_pandas()["value"][0]
        for population in ("all", "truth")
    ]
    assert days == [1 / 2, 1.0]


def day_values(evaluation: sr.Evaluation) -> dict[tuple[str, str], float]:
    return {(row["model"], row["metric"]): row["value"] for row in evaluation.metrics.to_pylist()}


def test_a_list_row_without_truth_is_not_judged() -> None:
    """Above a stands b, which nobody judged: no judged row is above a, so bpref is 1 - 0."""
    lists = lists_table([("u", "b", 3.0), ("u", "a", 2.0), ("u", "c", 1.0)])
    truth = truth_table([("u", "a", 1.0), ("u", "c", 0.0)])
    assert values_of(sr.evaluate(lists, ["bpref"], truth=truth, **COLUMNS), "bpref") == {"u": 1.0}


@pytest.mark.parametrize("definitions", [{"population": "lists"}, {"unretrieved": "skip"}])
def test_each_model_is_evaluated_where_it_has_a_list(definitions: dict[str, str]) -> None:
    """The first lists the wrong item of u, the second the right one of v."""
    rows = {"user": ["u", "v"], "item": ["a", "b"], "first": [1.0, None], "second": [None, 1.0]}
    roles = {**COLUMNS, "score": {"first": "first", "second": "second"}}
    truth = truth_table([("u", "x", 1.0), ("v", "b", 1.0)])
    found = sr.evaluate(pa.table(rows), ["rr", "median(rr)"], truth=truth, **roles, **definitions)
    assert day_values(found) == {
        ("first", "rr"): 0.0,
        ("first", "median(rr)"): 0.0,
        ("second", "rr"): 1.0,
        ("second", "median(rr)"): 1.0,
    }


def test_two_models_are_compared_by_item_though_their_rows_stand_apart() -> None:
    """One order is the other one reversed."""
    rows = {
        "user": ["u"] * 4,
        "item": ["a", "b", "b", "a"],
        "first": [2.0, 1.0, None, None],
        "second": [None, None, 2.0, 1.0],
    }
    roles = {**COLUMNS, "score": {"first": "first", "second": "second"}}
    found = sr.evaluate(pa.table(rows), ["kendall_tau(ref=second)"], truth=truth_table(TRUTH), **roles)
    assert day_values(found)["first", "kendall_tau(ref=second)"] == -1.0


def test_the_catalogue_is_that_of_the_input_and_what_is_shown_that_of_the_groups_evaluated() -> None:
    """u is shown a twice and took it, v is shown b and took nothing. A catalogue of a and b."""
    lists = lists_table([("u", "a", 2.0), ("u", "a", 1.0), ("v", "b", 1.0)])
    truth = truth_table([("u", "a", 1.0)])
    values, groups = {}, {}
    for population in ("all", "truth"):
        found = sr.evaluate(
            lists, ["coverage@2", "novelty"], truth=truth, population=population, ties="item", **COLUMNS
        )
        values[population] = [day_values(found)["score", metric] for metric in ("coverage@2", "novelty")]
        groups[population] = found.metrics["n_groups"].to_pylist()
        counted = found.partials.items.table.to_pylist()
        assert {row["item"]: row["relevant"] for row in counted} == {"a": 1, "b": 0}
    # a is relevant in one of the two groups, as b counts to be, or in one of one
    assert values == {"all": [2 / 2, log2(2)], "truth": [1 / 2, log2(1)]}
    assert groups == {"all": [2, 2], "truth": [1, 1]}


@pytest.mark.parametrize("scores", [(None, 0.0), (0.0, None)])
def test_an_overlap_sees_an_item_once(scores: tuple[float | None, float | None]) -> None:
    """b is judged once, though it stands on a row without a score as well."""
    lists = lists_table([("u", "b", score) for score in scores])
    found = sr.evaluate(lists, ["rbo"], truth=truth_table([("u", "b", -1.0)]), **COLUMNS)
    assert values_of(found, "rbo") == {"u": pytest.approx(1.0, rel=1e-15)}


@settings(PATIENT, max_examples=60)
@given(impressions(most_rows=6), st.lists(group_metrics(tied=True), min_size=1, max_size=4, unique_by=text))
def test_joining_inside_is_evaluating_the_joined_table(rows: list[Row], metrics: list[Asked]) -> None:
    """The law of the full outer join: the two tables that a log falls into give its bits again."""
    assume(rows)
    log = pa.table(
        {
            **{name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(("user", "item"))},
            **{name: pa.array([row[i + 2] for row in rows], pa.float64()) for i, name in enumerate(("score", "label"))},
        }
    )
    names = [text(parts) for parts in metrics]
    inside = sr.evaluate(log.drop_columns(["label"]), names, truth=log.drop_columns(["score"]), **COLUMNS)
    before = sr.evaluate(log, names, **COLUMNS)

    def bits(evaluation: sr.Evaluation) -> list:
        return sorted(
            ({key: repr(value) for key, value in row.items()} for row in evaluation.groups.to_pylist()), key=str
        )

    assert bits(inside) == bits(before)
    assert [repr(row) for row in inside.metrics.to_pylist()] == [repr(row) for row in before.metrics.to_pylist()]


DEFINITIONS = st.fixed_dictionaries(
    {
        "duplicates": st.sampled_from([word for word in DUPLICATES if word != "error"]),
        "unjudged": st.sampled_from(UNJUDGED),
        "population": st.sampled_from(POPULATIONS),
        "unretrieved": st.sampled_from(UNRETRIEVED),
    }
)
GROUP, ITEM = st.sampled_from("uvw"), st.sampled_from("abcd")
SCORE = st.none() | st.integers(0, 3).map(float)
LABEL = st.sampled_from([None, -1.0, 0.0, 1.0, 2.0])


@settings(PATIENT, max_examples=200)
@given(
    st.lists(st.tuples(GROUP, ITEM, SCORE), max_size=12),
    st.lists(st.tuples(GROUP, ITEM, LABEL), max_size=8),
    DEFINITIONS,
    group_metrics(tied=False),
    st.sampled_from(["item", "worst", "best", "block"]),
)
def test_every_definition_against_a_slow_join(
    lists: list[Listed], truth: list[Given], definitions: dict[str, str], parts: Asked, ties: str
) -> None:
    assume(lists or truth)
    groups = lists_and_truth(lists, truth, **definitions)
    # An overlap of lists that repeat an item has no definition.
    repeats = any(len({item for item, *_ in listed}) < len(listed) for listed, _ in groups.values())
    assume(parts[0] != "rbo" or not repeats)
    found = sr.evaluate(
        lists_table(lists), [text(parts)], truth=truth_table(truth), ties=ties, **COLUMNS, **definitions
    )
    expected = {}
    for group, (listed, judged) in groups.items():
        if parts[0] in PAIRED:
            absent = [(None, label) for item, label in judged.items() if item not in {row[0] for row in listed}]
            value = PAIRED[parts[0]]([(score, label) for _, score, label in listed] + absent, **parts[1])
        else:
            value = ORACLES[parts[0]](settled(listed, ties), list(judged.values()), **arguments(parts))
        expected[group] = or_nan(value)
    canonical = found.groups.column_names[-1]
    assert values_of(found, canonical) == pytest.approx(expected, rel=0, abs=1e-13, nan_ok=True)
    counts = {name: found.partials.counts.get((name, ""), 0) for name in (*checks.REJECTIONS, *checks.GONE)}
    evaluated = found.partials.counts[checks.ROWS_EVALUATED, ""]
    assert sum(counts.values()) + evaluated == len(lists) + len(truth)  # nothing dropped uncounted


@pytest.mark.parametrize("duplicates", ["keep", "first"])
def test_any_order_of_the_rows_gives_the_same_bits(duplicates: str) -> None:
    rng = np.random.default_rng(5)
    lists = [(f"u{rng.integers(9)}", f"i{rng.integers(20)}", float(rng.integers(8))) for _ in range(300)]
    truth = [(f"u{rng.integers(9)}", f"i{rng.integers(20)}", float(rng.integers(-1, 4)) / 3) for _ in range(100)]
    seen = set()
    for seed, buckets in itertools.product(range(4), (1, 3)):
        order = np.random.default_rng(seed)
        shuffled = lists_table(lists).take(order.permutation(300)), truth_table(truth).take(order.permutation(100))
        found = sr.evaluate(
            shuffled[0], ["ndcg", "ap", "gauc"], truth=shuffled[1], duplicates=duplicates, buckets=buckets, **COLUMNS
        )
        seen.add(repr(found.metrics.to_pylist()) + repr(found.groups.sort_by("user").to_pylist()))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("lists", "truth"),
    [(pa.int32(), pa.int64()), (pa.int64(), pa.int8()), (pa.string(), pa.large_string()), (pa.date32(), pa.date32())],
    ids=str,
)
def test_items_of_one_kind_meet_whatever_their_width(lists: pa.DataType, truth: pa.DataType) -> None:
    whole = pa.types.is_integer(lists) or pa.types.is_date(lists)
    listed, given_ = ([7, 8, 9], [9, 5]) if whole else (["7", "8", "9"], ["9", "5"])
    first = pa.table({"user": ["u"] * 3, "item": pa.array(listed, pa.int32() if whole else None).cast(lists)})
    second = pa.table({"user": ["u"] * 2, "item": pa.array(given_, pa.int32() if whole else None).cast(truth)})
    first = first.append_column("score", pa.array([3.0, 2.0, 1.0], pa.float32()))
    found = sr.evaluate(first, ["rr", "r"], truth=second, group="user", item="item", score="score")
    assert values_of(found, "rr") == {"u": 1 / 3}
    assert values_of(found, "r") == {"u": 1 / 2}


def test_a_row_without_an_item_that_says_something_is_rejected() -> None:
    lists = lists_table([*LISTS, ("u", None, 9.0), ("named", None, None)])
    truth = truth_table([*TRUTH, ("u", None, 1.0)])
    with pytest.raises(sr.InputError, match=r"\(2 null item\)"):
        sr.evaluate(lists, ["ap"], truth=truth, **COLUMNS)
    found = sr.evaluate(lists, ["ap", "p@1"], truth=truth, max_bad_fraction=0.2, **COLUMNS)
    assert values_of(found, "p@1") == {"u": 1.0, "named": 0.0}
    assert counts_of(found)[checks.NULL_ITEM] == 2


def test_nan_is_no_item() -> None:
    """Neither that of another row of the list, nor that of the truth."""
    lists = pa.table({"user": ["u"] * 3, "item": [float("nan"), float("nan"), 7.0], "score": [3.0, 2.0, 1.0]})
    truth = pa.table({"user": ["u"] * 2, "item": [float("nan"), 7.0], "label": [1, 1]})
    with pytest.raises(sr.InputError, match=r"\(3 null item\)"):
        sr.evaluate(lists, ["rr"], truth=truth, **COLUMNS)
    found = sr.evaluate(lists, ["rr", "r"], truth=truth, max_bad_fraction=0.6, **COLUMNS)
    assert values_of(found, "rr") == {"u": 1.0}  # what is left of the list is the third row
    assert values_of(found, "r") == {"u": 1.0}
    log = lists.append_column("label", pa.array([0, 1, 0]))
    with pytest.raises(sr.InputError, match=r"\(2 null item\)"):
        sr.evaluate(log, ["rr"], duplicates="first", **COLUMNS)


SLICED = (("a", "a"), (1, "1"), (True, "true"), (None, "null"))  # values and their texts


@pytest.mark.parametrize("of_truth", SLICED)
@pytest.mark.parametrize("of_lists", SLICED)
def test_sides_are_sliced_by_whole_numbers_or_by_texts(of_lists: tuple, of_truth: tuple) -> None:
    lists = lists_table([("u", "a", 1.0)]).append_column("kind", pa.array([of_lists[0]]))
    truth = truth_table([("u", "a", 1.0)]).append_column("kind", pa.array([of_truth[0]]))
    if (of_lists[1] == "1") != (of_truth[1] == "1"):
        with pytest.raises(sr.InputError, match=r'the slice column is of type .* \("kind"\): one type is needed'):
            sr.evaluate(lists, ["r"], truth=truth, slices=["kind"], **COLUMNS)
        return
    found = sr.evaluate(lists, ["r"], truth=truth, slices=["kind"], **COLUMNS).metrics
    assert set(found["slice_value"].to_pylist()) == {"all", of_lists[1], of_truth[1]}


def test_a_whole_number_that_the_type_of_both_sides_does_not_hold_is_refused() -> None:
    lists = pa.table({"user": ["u"], "item": pa.array([2**64 - 1], pa.uint64()), "score": [1.0]})
    truth = pa.table({"user": ["u"], "item": pa.array([1], pa.int8()), "label": [1]})
    with pytest.raises(
        sr.InputError, match="a value of the lists cannot be evaluated: Integer value 18446744073709551615"
    ):
        sr.evaluate(lists, ["rr"], truth=truth, **COLUMNS)


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"item": None}, sr.SpecError, "lists and truth are joined by item, but no item column is named"),
        ({"truth": None, "label": None}, sr.SpecError, "label names no column, and there is no truth"),
        ({"truth": None, "truth_columns": {}}, sr.SpecError, "but there is no truth"),
        ({"truth_columns": "sku"}, sr.SpecError, "truth_columns is 'sku': a mapping of roles to columns of the truth"),
        ({"truth": "nowhere"}, sr.InputError, "there is no parquet truth at nowhere"),
        ({"truth_columns": {"itm": "x"}}, sr.SpecError, 'truth_columns names "itm", did you mean "item"'),
        ({"truth_columns": {"group": ["a", "b"]}}, sr.SpecError, "1 columns in the lists and 2 in the truth"),
        ({"truth_columns": {"item": "user"}}, sr.SpecError, 'column "user" of the truth is both group and item'),
        ({"score": None}, sr.SpecError, "neither score nor rank names a column"),
        ({"rank": "score"}, sr.SpecError, "both score and rank name a column"),
        ({"truth": 3}, sr.SpecError, "the truth is of type int"),
        ({"label": "lable"}, sr.InputError, 'the label column "lable" is not in the truth, did you mean "label"'),
        (
            {"truth": truth_table([("u", 3, 1.0)], pa.int64())},
            sr.InputError,
            r'the item column is of type string in the lists \("item"\) and of type int64 in the truth \("item"\)',
        ),
        ({"unretrieved": "skp"}, sr.SpecError, 'unretrieved is "skp", did you mean "skip"'),
        ({"population": "everyone"}, sr.SpecError, r"allowed: all, truth, lists, both"),
        ({"positions": "given"}, sr.SpecError, "positions=given takes ranks as positions, but no rank column is named"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict, error: type[Exception], sentence: str) -> None:
    asked = {"truth": truth_table(TRUTH), **COLUMNS, **changes}
    with pytest.raises(error, match=sentence):
        sr.evaluate(lists_table(LISTS), ["ap"], **asked)


def test_duplicates_need_an_item() -> None:
    log = pa.table({"user": ["u"], "score": [1.0], "label": [1]})
    with pytest.raises(sr.SpecError, match="duplicates are found by item, but no item column is named"):
        sr.evaluate(log, ["ap"], group="user", score="score", label="label", duplicates="first")
