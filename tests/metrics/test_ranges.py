"""Every metric lies within the range that it declares, under every setting, or ``quality`` counts where it does not."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, GroupMetric, Metric
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.text.text import declaration_text, quality_text
from tests.cases import CASES
from tests.extent import examples
from tests.support.joined import COLUMNS, counts_of, lists_table, truth_table
from tests.support.logged import warnings_about_input
from tests.support.strategies import PATIENT, Asked, group_metrics, has_unjudged, text

POOLED = [
    *("auc(exact)", "auc", "auc_up(exact)", "auc_up(digits=1)", "pr_auc(exact)", "pr_auc(bits=1)", "bep(exact)"),
    *("ks(bits=1)", "accuracy", "precision", "recall", "specificity", "fpr", "tpr", "f1", "fbeta(beta=2)", "brier"),
    *("recall_at_precision(precision=0.5)", "precision_at_recall", "tpr_at_fpr(fpr=0.5,exact)", "capture(top=0.4)"),
    *("partial_auc(max_fpr=0.5)", "lift(top=0.4)", "mcc", "balanced_accuracy", "rmse", "mae", "bias", "r2"),
    *("rig", "mce", "ece_by_mass(mass=3)", "mcb", "dsc(bits=1)", "unc"),
    *("ece", "ece(bins=2)", "logloss", "ne", "copc", "coverage", "gini", "gini(items=9)", "novelty"),
    *("gini(discount=log2)@2", "entropy(scale=unit)", "personalization"),
]
MODELS = {"a": "first", "b": "second"}
ROUNDING = 1e-9  # of a test: far more than rounding, far less than any value of so few rows
NEVER_OUTSIDE = ("once", "first")
# Why an evaluation of a few random rows has no values to look at.
NO_VALUES = (
    "is not computed under ties=expected",
    "no row is left to evaluate",
    "no group is left to evaluate",
)


def test_hand_worked_values_lie_within_their_range() -> None:
    for case in CASES:
        metric = Metric.parse(case.metric)
        low, high = metric.declaration.range_of(metric)
        assert low < high
        for value in [case.mean, *(case.groups or {}).values()]:
            assert value is None or low - ROUNDING <= value <= high + ROUNDING, case


def test_a_range_is_printed() -> None:
    for name, declared in CATALOG.items():
        (told,) = (line for line in declaration_text(declared).splitlines() if line.startswith("  range: "))
        low, high = declared.lowest, declared.highest
        bounded = f"from {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"
        assert told.startswith(f"  range: {'any number' if math.isinf(low) else bounded}"), name
        assert ("ideal=k_relevant" in told) == (name == "ndcg")
        # least squares may give a rank less than 0
        is_sampled = name in ("sampled_hit", "sampled_ndcg", "sampled_r", "sampled_rr")
        assert (told == "  range: 0 to 1; any number with by=minimal_bias") == is_sampled, name


def test_a_range_is_that_of_the_metric_with_its_parameters() -> None:
    """A grade of 2 is more than the gain of 1 that the ideal list has, and two relevant rows are more than one."""
    bounded = ("ndcg@3", "ndcg(ideal=retrieved)", "ndcg(gain=binary,ideal=k_relevant)@3")
    unbounded = ("ndcg(ideal=k_relevant)@3", "ndcg(gain=binary,ideal=[1])", "dcg", "arhr")
    for metric in map(Metric.parse, (*bounded, *unbounded)):
        assert metric.declaration.range_of(metric) == (0, 1 if str(metric) in bounded else math.inf), metric


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, str]:
    found = {
        name: draw(st.sampled_from([word for word in words if word != "error"]))
        for name, words in ALLOWED.items()
        if name != "undefined"
    }
    if found["positions"] != "dense":
        found["ties"] = draw(st.sampled_from(["expected", "block"]))
    return found


GROUP, ITEM = st.sampled_from("uv"), st.sampled_from("abc")
POSITION = st.none() | st.integers(1, 4)
LABEL = st.sampled_from([None, -1.0, 0.0, 1.0, 1.0, 2.0])
WEIGHT = st.sampled_from([0.0, 0.1, 1.0, 2.5])
ROWS = st.lists(st.tuples(GROUP, ITEM, POSITION, POSITION, LABEL, WEIGHT), min_size=1, max_size=12)
# Every metric of a group that has a range: the thresholds and cut-offs are those of small lists.
BOUNDED = group_metrics(tied=False)


@settings(PATIENT, max_examples=examples(150))
@given(ROWS, st.lists(BOUNDED, min_size=1, max_size=4, unique_by=text), definitions(), st.booleans())
def test_a_value_lies_within_its_range_or_is_counted(
    rows: list[tuple], metrics: list[Asked], words: dict[str, str], joins: bool
) -> None:
    assume(all(has_unjudged(parts, words) for parts in metrics))
    names = ("user", "item", "first", "second", "label", "weight")
    columns = dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True))
    columns |= {name: columns[name].cast(pa.float64()) for name in names[2:]}
    is_dense, asked = words["positions"] == "dense", {"group": "user", "item": "item", "label": "label", **words}
    if is_dense:  # probabilities, so that no metric of the day is undefined for want of any
        columns |= {name: pc.divide(columns[name], 4) for name in MODELS.values()}
    asked |= (
        {"score": MODELS, "weight": "weight"} if is_dense else {"rank": MODELS}
    )  # of groups no metric reads weights
    log = pa.table(columns)
    truth = log.select(["user", "item", "label"]) if joins else None
    given_rows = log.drop_columns(["label"]) if joins else log
    names_of = [*map(text, metrics), *(POOLED if is_dense else ())]
    try:
        found = sr.evaluate(given_rows, names_of, truth=truth, **asked)
    except (MetricError, sr.InputError) as error:
        assume(not any(reason in str(error) for reason in NO_VALUES))
        raise
    counts = {(row["check"], row["model"]): row["count"] for row in found.quality.to_pylist()}
    groups, days = found.groups.to_pylist(), found.metrics.to_pylist()
    for metric in set(map(Metric.parse, names_of)):
        low, high = metric.declaration.range_of(metric)
        of_groups = isinstance(metric.declaration, GroupMetric)
        for model in MODELS:
            values = (
                [row[str(metric)] for row in groups if row["model"] == model]
                if of_groups
                else [row["value"] for row in days if (row["metric"], row["model"]) == (str(metric), model)]
            )
            outside = [value for value in values if value < low - ROUNDING or value > high + ROUNDING]
            if of_groups and math.isfinite(high):
                assert counts[checks.outside_range(metric, low, high), model] == len(outside)
            if not of_groups or (is_dense and (not joins or words["duplicates"] in NEVER_OUTSIDE)):
                assert outside == [], metric


def test_groups_outside_of_a_range_are_told_with_their_count() -> None:
    """u finds a twice and v once; w, who is left out, has no truth."""
    lists = lists_table([("u", "a", 2.0), ("u", "a", 1.0), ("v", "a", 1.0), ("w", "a", 2.0), ("w", "a", 1.0)])
    truth = truth_table([("u", "a", 1.0), ("v", "a", 1.0)])
    asked = {"truth": truth, "population": "truth", **COLUMNS}
    found = sr.evaluate(lists, ["r@2", "p@2", "dcg"], duplicates="keep", **asked)
    told = quality_text(found.quality)
    assert "score: 1 groups with r@2 outside of its range, 0 to 1 (33.3333% of groups, limit 0.0000%)" in told
    assert "p@2" not in told
    assert counts_of(found)[checks.outside_range("p@2", 0, 1)] == 0
    assert not any("dcg" in check for check in counts_of(found))  # which has no highest value
    once = sr.evaluate(lists, ["r@2", "p@2", "dcg"], **asked)
    assert (quality_text(once.quality), counts_of(once)[checks.outside_range("r@2", 0, 1)]) == ("", 0)
    # of R = 2 and N = 1, the one judged row that is not relevant stands above both hits twice: 1 - min(2, 2) / 1
    lists = lists_table([("u", item, 4.0 - place) for place, item in enumerate("XXAB")])
    truth = truth_table([("u", "A", 1.0), ("u", "B", 1.0), ("u", "X", 0.0)])
    below = sr.evaluate(lists, ["bpref"], truth=truth, duplicates="keep", **COLUMNS)
    assert below["bpref"] == -1.0
    assert "1 groups with bpref outside of its range, 0 to 1" in quality_text(below.quality)


def test_who_calls_hears_of_values_that_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    """Of arrays, a truth and ranks: what the terminal shows of a job. One list of three is credited twice."""

    def heard(*words: str, **asked) -> list[str]:
        caplog.clear()
        sr.evaluate(**asked)
        return [line for line in warnings_about_input(caplog) if any(word in line for word in words or ("",))]

    lists = {"p": [["A", "A", "X"], ["A"], ["B"]], "t": [["A"], ["A"], ["C"]]}
    arrays = {"impressions": pa.table({"u": ["a", "b", "c"], **lists}), "metrics": ["ap", "r@3"]}
    arrays |= {"group": "u", "items": "p", "true_items": "t"}
    assert heard("range", "repeat", **arrays, preset="mllib") == [
        "p: 1 groups with ap outside of its range, 0 to 1 (33.3333% of groups)",
        "p: 1 groups with r@3 outside of its range, 0 to 1 (33.3333% of groups)",
        "p: 1 scored rows that repeat an item of their list (20.0000% of rows with a score)",
    ]
    assert heard(**arrays) == []  # each item counts once
    ranks = {"impressions": pa.table({"user": ["u", "u"], "rank": [1, 1], "label": [1, 1]}), "metrics": ["p@1"]}
    ranks |= {"group": "user", "rank": {"m": "rank"}, "label": "label", "positions": "given"}
    told = checks.outside_range("p@1", 0, 1)
    assert heard(**ranks) == [f"m: 1 {told} (100.0000% of groups)"]
    assert heard(**ranks, limits={told: 1.0}) == []  # which is what was allowed
    with pytest.raises(sr.InputError, match="outside of its range"):
        heard(**ranks, limits={told: 0.5})
    assert heard("no probability", impressions=LEVELS, metrics=["logloss"], **ROLES) == [
        f"score: 3 {checks.OUTSIDE_ROWS} (42.8571% of {checks.SCORED_IN_GROUPS})"  # of seven rows three have score 2
    ]


@pytest.mark.parametrize("ideal", ["ideal=[3,2,1]", "ideal=k_relevant"])
def test_a_list_that_beats_a_fixed_ideal_is_told(ideal: str, caplog: pytest.LogCaptureFixture) -> None:
    """Labels 9 and 5 against 3, 2 and 1, or 1, 1 and 1: u is better than the ideal, v is not, w is left out."""
    log = pa.table({"u": list("uuvww"), "s": [2.0, 1.0, 1.0, 2.0, 1.0], "y": pa.array([9, 5, 1, None, None])})
    text, roles = f"ndcg({ideal})@3", {"group": "u", "score": "s", "label": "y"}
    found = sr.evaluate(log, [text, "ndcg@3"], **roles, population="truth")
    best = 3 + 2 / math.log2(3) + 1 / 2 if "[" in ideal else 1 + 1 / math.log2(3) + 1 / 2
    values = [row[text] for row in found.groups.to_pylist() if row["u"] != "w"]
    assert sorted(values) == pytest.approx([1 / best, (9 + 5 / math.log2(3)) / best])
    check = checks.above_ideal(text, 1)
    assert counts_of(found)[check] == 1
    assert warnings_about_input(caplog) == [f"s: 1 {check} (33.3333% of groups)"]
    assert f"s: 1 {check} (33.3333% of groups, limit 0.0000%)" in quality_text(found.quality)
    caplog.clear()
    below = log.set_column(2, "y", pa.array([1, 1, 1, None, None]))
    found = sr.evaluate(below, [text, "ndcg@3"], **roles, population="truth")
    assert (counts_of(found)[check], warnings_about_input(caplog)) == (0, [])
    with pytest.raises(sr.InputError, match="better than its ideal list"):
        sr.evaluate(log, [text], **roles, limits={check: 0.1})
    binary = sr.evaluate(log, ["ndcg(ideal=k_relevant,gain=binary)@3"], **roles)
    assert not any("ideal list" in name for name in counts_of(binary))  # which no list beats


def test_groups_without_a_scored_row_are_those_evaluated() -> None:
    """b has truth and no list, c a list and no truth."""
    lists = pa.table({"user": ["a", "c"], "item": ["x", "x"], "score": [1.0, 1.0]})
    truth = pa.table({"user": ["a", "b"], "item": ["x", "x"], "label": [1, 1]})
    for population, unretrieved, count in (
        *(("all", "zero", 1), ("truth", "zero", 1), ("lists", "zero", 0)),
        *(("both", "zero", 0), ("all", "skip", 0)),
    ):
        words = {"population": population, "unretrieved": unretrieved}
        counts = counts_of(sr.evaluate(lists, ["r"], **ROLES, item="item", truth=truth, **words))
        assert counts[checks.UNRETRIEVED_GROUPS] == count, words


# Labels of four groups: of one class at any label above 0 or from 4 on, and one that no population counts.
LEVELS = pa.table(
    {
        "user": ["u", "u", "v", "v", "w", "w", "x"],
        "score": [2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0],
        "label": pa.array([5, 1, 3, 0, 4, None, None], pa.int64()),
    }
)
ROLES = {"group": "user", "score": "score", "label": "label"}


@pytest.mark.parametrize(
    ("metrics", "levels", "relevant"),
    [
        (["r@1"], {"label > 0": 2}, [2, 1, 1, 0]),  # u is all relevant, x has nothing
        (["gauc(rel=4)", "auc(rel=4)", "err"], {"label >= 4": 2}, [1, 0, 1, 0]),  # err has no level of its own
        (["r@1", "r(rel=4)@1"], {"label > 0": 2, "label >= 4": 2}, [2, 1, 1, 0]),
        (["r(rel=4)", "r(rel=5)@1"], {"label >= 4": 2, "label >= 5": 3}, [2, 1, 1, 0]),
        (["median(r(rel=4)@1)"], {"label >= 4": 2}, [1, 0, 1, 0]),
    ],
)
def test_a_check_says_its_level_and_there_is_one_for_each(
    metrics: list[str], levels: dict, relevant: list[int]
) -> None:
    found = sr.evaluate(LEVELS, metrics, ties="worst" if "err" in metrics else "expected", **ROLES)
    counts = {check: count for check, count in counts_of(found).items() if check.startswith("groups of one class")}
    assert counts == {checks.one_class_groups(level): count for level, count in levels.items()}
    assert found.groups.sort_by("user")["n_relevant"].to_pylist() == relevant


def test_what_is_counted_is_what_some_model_is_evaluated_in() -> None:
    """x, of whom nothing is known, is left out where groups are those with truth. Then u is listed by a alone and v by
    b alone, w by nobody; each has a row without a label.
    """
    for population, count in (("all", 2), ("truth", 1)):
        counts = counts_of(sr.evaluate(LEVELS, ["r@1"], population=population, **ROLES))
        assert counts[checks.one_class_groups("label > 0")] == counts[checks.UNJUDGED_ROWS] == count
    scores = {"a": [1.0, 2.0, None, None], "b": [None, None, 1.0, None]}
    log = pa.table({"user": list("uuvw"), **scores, "label": pa.array([1, None, None, None], pa.int64())})
    models = {"group": "user", "label": "label"}
    for scores, unjudged in (("a", 1), ("b", 1), ({"a": "a", "b": "b"}, 2)):
        found = sr.evaluate(log, ["p@1"], score=scores, unretrieved="skip", **models)
        assert counts_of(found)[checks.UNJUDGED_ROWS] == unjudged
    assert counts_of(sr.evaluate(log, ["p@1"], score="a", **models))[checks.UNJUDGED_ROWS] == 3
