"""Metrics that assume something of rows without a label, against evaluations of rows of which that holds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base.errors import MetricError
from sparkrank.metrics import Metric
from sparkrank.metrics.definitions import ALLOWED
from tests.cases import Row
from tests.extent import examples
from tests.oracles import ORACLES, settled
from tests.support.buckets import evaluate, group_values, or_nan
from tests.support.joined import COLUMNS, lists_table, truth_table, values_of
from tests.support.strategies import PATIENT, Asked, arguments, group_metrics, impressions, text

WORDS = ("duplicates", "population", "unretrieved", "undefined")
DEFINITIONS = st.fixed_dictionaries(
    {name: st.sampled_from([word for word in ALLOWED[name] if word != "error"]) for name in WORDS}
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from("uvw"),
        st.sampled_from("abcd"),
        st.none() | st.integers(0, 3).map(float),
        st.sampled_from([None, None, -1.0, 0.0, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=14,
)


def of_day(ev: sr.Evaluation) -> list[list[str]]:
    """The bits of the values of the day and of slices, without their names."""
    columns = ("slice", "slice_value", "value", "n_groups", "n_undefined", "weight")
    return sorted([repr(row[name]) for name in columns] for row in ev.metrics.to_pylist())


@settings(PATIENT, max_examples=examples(40))
@given(
    ROWS,
    DEFINITIONS,
    group_metrics(tied=True),
    st.sampled_from(ALLOWED["ties"]),
    st.sampled_from(["log", "joined", "sliced"]),
)
def test_a_condensed_list_is_that_of_an_evaluation_that_drops_rows(
    rows: list[tuple], definitions: Mapping[str, str], parts: Asked, ties: str, shape: str
) -> None:
    name, asked, k = parts
    assume(name not in ("judged", "unj") and any(label is not None for *_, label in rows))
    log = lists_table([row[:3] for row in rows]).append_column(
        "label", pa.array([row[3] for row in rows], pa.float64())
    )
    given_: dict[str, object] = {**COLUMNS, **definitions, "ties": ties, "uncertainty": {"off": True}}
    if shape == "joined":
        truth = [(group, item, label) for group, item, _, label in rows if label is not None]
        log, given_ = log.drop_columns(["label"]), {**given_, "truth": truth_table(truth)}
    if shape == "sliced":
        log = log.append_column("kind", pa.array([place % 2 for place in range(len(rows))]))
        given_["slices"] = ["kind"]
    condensed = text((name, {**asked, "unjudged": "drop"}, k))
    try:
        one = sr.evaluate(log, [condensed], **given_)
    except sr.InputError:  # no group is left
        with pytest.raises(sr.InputError):
            sr.evaluate(log, [text(parts)], unjudged="drop", **given_)
        return
    other = sr.evaluate(log, [text(parts)], unjudged="drop", **given_)
    names = (str(Metric.parse(condensed)), str(Metric.parse(text(parts))))
    values = [
        {key: repr(value) for key, value in values_of(*each).items()} for each in zip((one, other), names, strict=True)
    ]
    assert values[0] == values[1]
    if shape != "sliced":  # a value of a slice may have rows that nobody judged alone
        assert of_day(one) == of_day(other)


GRADES = (0.0, 1.0, 2.0, 3.0)
OF_BEST: Sequence[Asked] = [
    ("p", {}, 2),
    ("p", {"over": "retrieved"}, 3),
    ("hit", {}, 1),
    ("hit", {"rel": 2.0}, 2),
    ("rr", {}, None),
    ("rr", {"rel": 3.0}, 3),
    ("rbp", {}, None),
    ("rbp", {"gain": "linear", "max_grade": 3.0}, 2),
    ("cg", {"gain": "linear", "max_grade": 3.0}, 2),
    ("cg", {"gain": "binary"}, None),
    ("dcg", {"gain": "exp2", "max_grade": 3.0}, None),
    ("dcg", {"gain": (0.0, 1.0, 2.0, 5.0)}, 3),
    ("err", {"max_grade": 3.0}, None),
]


@pytest.mark.parametrize("parts", OF_BEST, ids=text)
@settings(PATIENT, max_examples=examples(25))
@given(
    impressions(5, ("a",), labels=(None, None, *GRADES)).filter(
        lambda rows: 0 < sum(row[3] is None for row in rows) < 4
    ),
    st.sampled_from(["item", "worst", "best", "block"]),
)
def test_the_highest_value_is_that_of_the_best_of_all_grades(parts: Asked, rows: list[Row], ties: str) -> None:
    """Of all ways to grade the rows that nobody judged, walked one by one."""
    name, asked, k = parts
    open_rows = [place for place, row in enumerate(rows) if row[3] is None]
    oracle = {key: value for key, value in asked.items() if key != "max_grade" or name in ("rbp", "err")}
    values = []
    for grades in itertools.product(GRADES, repeat=len(open_rows)):
        labels = {**dict(enumerate(row[3] for row in rows)), **dict(zip(open_rows, grades, strict=True))}
        listed = [(row[1], row[2], labels[place]) for place, row in enumerate(rows) if row[2] is not None]
        value = ORACLES[name](settled(listed, ties), [*labels.values()], **arguments((name, oracle, k)))
        values += [] if value is None else [value]
    metric = str(Metric.parse(text((name, {**asked, "unjudged": "best"}, k))))
    assert group_values(evaluate(rows, [metric], ties), metric) == pytest.approx({"a": or_nan(max(values))}, abs=1e-13)


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("dcg(unjudged=best)", "gives unjudged=best alone: add max_grade="),
        ("cg(max_grade=3)", "gives max_grade, which only unjudged=best with gain=linear or gain=exp2 takes"),
        ("dcg(max_grade=3,gain=binary,unjudged=best)", "gives max_grade, which only"),
        ("cg(gain=price,unjudged=best)", "the gains of a column have no highest one"),
        ("dcg(gain=exp2,max_grade=500,unjudged=best)", "grades up to 400 are allowed"),
        ("p(over=min_k_relevant,unjudged=best)@3", "R then grows too"),
        ("rbp(propensity=ips,unjudged=best)", "the propensity of a row without a label is not read"),
        ("r(unjudged=best)", "unjudged takes drop\\)$"),
        ("judged(unjudged=drop)", "judged takes none: it counts rows by whether they have a label"),
    ],
)
def test_what_means_nothing_is_refused(metric: str, told: str) -> None:
    with pytest.raises(MetricError, match=told):
        Metric.parse(metric)


@pytest.mark.parametrize("metric", ["judged@3", "unj", "p(unjudged=best)", "median(judged)"])
def test_an_evaluation_that_drops_such_rows_has_none_to_count(metric: str) -> None:
    log = pa.table({"user": ["u", "u"], "score": [0.5, 0.2], "label": [1, None]})
    with pytest.raises(
        MetricError, match=r"is about rows without a label, and unjudged=drop leaves none: leave it out"
    ):
        sr.evaluate(log, [metric], group="user", score="score", label="label", unjudged="drop")


def test_a_repeat_without_credit_has_no_label() -> None:
    """Of a twice listed only the first counts, which has a label; b has none."""
    rows = [("u", "a", 3.0), ("u", "a", 2.0), ("u", "b", 1.0)]
    found = sr.evaluate(lists_table(rows), ["judged"], truth=truth_table([("u", "a", 1.0)]), **COLUMNS)
    assert values_of(found, "judged") == {"u": 1 / 3}


def test_explained_rows_are_those_that_the_metric_sees() -> None:
    log = pa.table({"user": ["u"] * 3, "item": ["a", "b", "c"], "score": [3.0, 2.0, 1.0], "label": [None, 0, 1]})
    told = {}
    for metric in ("rr(unjudged=drop)", "rr(unjudged=best)"):
        (found,) = sr.explain(log, metric, **{**COLUMNS, "group": {"user": "u"}})
        told[metric] = (found.tables[0].columns["item"], found.value, found.notes[0])
    assert told == {
        "rr(unjudged=drop)": (("b", "c"), 1 / 2, "rows without a label are left out"),
        "rr(unjudged=best)": (("a", "b", "c"), 1.0, "rows without a label count as labelled 1"),
    }
