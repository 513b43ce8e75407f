"""Why a mean moved: parts that add up, by hand where a mean falls although it rises everywhere, and for any numbers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.schemas.tables import METRICS
from tests.comparison.tables import write_metrics
from tests.support.commands import exit_code
from tests.windows.week import DAYS, impressions_of, spec_of, write_log

Values = dict  # of a slice: weight and mean by value


def day(values: Values, model: str = "m", metric: str = "rr", definition: str = "rr; ties=expected") -> list[dict]:
    """The rows of a metric by country, and of the whole day that they make."""
    weight = math.fsum(weight for weight, _ in values.values())
    mean = math.fsum(weight * value for weight, value in values.values() if weight) / weight
    whole = {"slice": "all", "slice_value": "all", "weight": weight, "value": mean}
    rows = [
        {"slice": "country", "slice_value": country, "weight": weight, "value": value}
        for country, (weight, value) in values.items()
    ]
    return [{"model": model, "metric": metric, "definition": definition, **row} for row in (whole, *rows)]


def table(values: Values, **more: str) -> pa.Table:
    return pa.Table.from_pylist(day(values, **more), schema=METRICS.schema)


def parts(split: pa.Table) -> dict[str | None, tuple[float, float, str]]:
    return {row["slice_value"]: (row["mix"], row["rate"], row["presence"]) for row in split.to_pylist()}


def test_a_mean_that_falls_although_it_rises_everywhere() -> None:
    """Simpson's paradox, worked out.

             before                after
    de   3/4 at 0.8  -> 0.6    1/4 at 0.9  -> 0.225     shares add up to 1
    fr   1/4 at 0.4  -> 0.1    3/4 at 0.5  -> 0.375
    all          0.7                   0.6              0.6 - 0.7 = -0.1, the middle M is 0.65

    mix  de: (1/4 - 3/4) · ((0.8 + 0.9)/2 - 0.65) = -1/2 ·  0.2 = -0.1
         fr: (3/4 - 1/4) · ((0.4 + 0.5)/2 - 0.65) =  1/2 · -0.2 = -0.1
    rate de: (3/4 + 1/4)/2 · (0.9 - 0.8) = 1/2 · 0.1 = 0.05
         fr: (1/4 + 3/4)/2 · (0.5 - 0.4) = 1/2 · 0.1 = 0.05        -0.1 - 0.1 + 0.05 + 0.05 = -0.1
    """
    split = sr.decompose(
        table({"de": (30, 0.8), "fr": (10, 0.4)}), table({"de": (20, 0.9), "fr": (60, 0.5)}), "country"
    )
    moved = parts(split)
    assert moved["de"] == (pytest.approx(-0.1), pytest.approx(0.05), "both")
    assert moved["fr"] == (pytest.approx(-0.1), pytest.approx(0.05), "both")
    assert split["difference"].to_pylist() == pytest.approx([-0.1, -0.1])
    assert split["part"].to_pylist() == pytest.approx([-0.05, -0.05])
    assert split["baseline_share"].to_pylist() == [0.75, 0.25]
    assert split["share"].to_pylist() == [0.25, 0.75]


def test_values_that_entered_and_left_have_lines_of_their_own() -> None:
    """From 1/2 de at 1, 1/2 fr at 0 (0.5) to 1/2 de at 1, 1/2 at at 1 (1): M = 0.75.

    de: 0 and 0; fr left: -1/2 · (0 - 0.75) = 0.375; at entered: 1/2 · (1 - 0.75) = 0.125; together 0.5.
    """
    split = sr.decompose(table({"de": (1, 1.0), "fr": (1, 0.0)}), table({"de": (5, 1.0), None: (5, 1.0)}), "country")
    assert parts(split) == {"de": (0.0, 0.0, "both"), "fr": (0.375, 0.0, "left"), None: (0.125, 0.0, "entered")}
    assert split["value"].to_pylist() == [1.0, None, 1.0]
    assert split["baseline_value"].to_pylist() == [1.0, 0.0, None]


MEANS = st.floats(-8, 8, allow_subnormal=False).map(lambda value: round(value, 6))
SIDES = st.dictionaries(
    st.sampled_from([None, "", "a", "b", "c", "d"]),
    st.tuples(st.integers(0, 10**9) | st.floats(1e-3, 1e6), MEANS),
    min_size=1,
).filter(lambda values: any(weight for weight, _ in values.values()))


@given(SIDES, SIDES)
def test_parts_add_up_and_swapping_turns_them(one: Values, other: Values) -> None:
    """The difference is computed here in fractions, of the weights and means as they are stored."""
    split = sr.decompose(table(one), table(other), "country").to_pylist()
    means = [
        sum(Fraction(weight) * Fraction(mean) for weight, mean in side.values())
        / sum(Fraction(weight) for weight, _ in side.values())
        for side in (one, other)
    ]
    sums = [row["mix"] + row["rate"] for row in split]
    near = {"rel": 1e-15, "abs": 1e-15 * math.fsum(abs(row[name]) for row in split for name in ("mix", "rate"))}
    difference = float(means[1] - means[0])
    assert {row["difference"] for row in split} == {difference}
    assert math.fsum(row[name] for row in split for name in ("mix", "rate")) == pytest.approx(difference, **near)
    assert [row["part"] for row in split] == pytest.approx(sums, **near)
    turned = {"entered": "left", "left": "entered", "both": "both"}
    expected = {
        value: (-mix, -rate, turned[presence])
        for value, (mix, rate, presence) in parts(pa.Table.from_pylist(split)).items()
    }
    assert parts(sr.decompose(table(other), table(one), "country")) == expected


def test_a_value_without_weight_is_not_there() -> None:
    before, after = table({"de": (4, 0.5), "fr": (0, math.nan)}), table({"de": (4, 0.5), "fr": (4, 1.0)})
    assert parts(sr.decompose(before, after, "country"))["fr"][2] == "entered"


def test_what_is_refused() -> None:
    for metric, asked, sentence in (
        ("rr", {"by": "contry"}, 'has no slice "contry", did you mean "country"?'),
        ("rr", {"metrics": ["ndcg@5"]}, 'the metric "ndcg@5" is not in both runs'),
        ("rr", {"left_model": "n"}, 'left_model: the left table has no model "n"'),
        ("auc", {"metrics": ["auc"]}, "auc is no mean of groups or rows"),
        ("median(rr)", {"metrics": ["median(rr)"]}, "median(rr) is no mean"),
        ("gmean(rr)", {"metrics": ["gmean(rr)"]}, "gmean(rr) is no mean"),
        ("copc", {}, "no metric of the right table is a mean (copc)"),
        ("own_metric", {"metrics": ["own_metric"]}, "own_metric is a metric that nobody here has registered"),
    ):
        side = table({"de": (4, 0.5)}, metric=metric)
        with pytest.raises(sr.SpecError) as raised:
            sr.decompose(side, side, **{"by": "country", **asked})
        assert sentence in str(raised.value)


def test_numbers_that_cannot_be_split_are_refused() -> None:
    good, rows = {"de": (4, 0.5), "fr": (4, 1.0)}, day({"de": (4, 0.5), "fr": (4, 1.0)})
    rows[0] = {**rows[0], "weight": 6.0}  # groups with rows of several values count in each
    cases = {
        "do not add up": rows,
        "is undefined where country is fr": [*rows[:2], {**rows[2], "value": float("nan")}],
        "several rows of rr of m in one value of all: the metrics of one day": [*rows, *rows],
        "is undefined, so its difference cannot be split": [
            *day({"de": (4, float("nan"))})[:1],
            {**rows[1], "weight": 0.0},
        ],
    }
    for sentence, bad in cases.items():
        with pytest.raises(sr.InputError, match=sentence):
            sr.decompose(pa.Table.from_pylist(bad, schema=METRICS.schema), table(good), "country")
    other = table(good, definition="rr; ties=item")
    with pytest.raises(sr.InputError, match="rr is defined on the left as"):
        sr.decompose(table(good), other, "country")
    assert sr.decompose(table(good), other, "country", other_definitions=True).num_rows == 2


def test_what_is_no_table_of_metrics_is_refused() -> None:
    with pytest.raises(sr.InputError, match="is not a table metrics: it lacks slice, slice_value"):
        sr.decompose(pa.table({"model": ["m"]}), table({"de": (1, 1.0)}), "country")
    with pytest.raises(sr.SpecError, match="left is of type list"):
        sr.decompose([], table({"de": (1, 1.0)}), "country")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Two evaluated days by country, which is the same in all rows of a user."""
    folder = tmp_path_factory.mktemp("days")
    for name in DAYS[:2]:
        rows = impressions_of(name, 300).assign(
            user_id=lambda rows: rows["user_id"].astype(str) + rows["country"].astype(str)
        )
        write_log(folder, rows.assign(score=rows["score"].round(1), other=rows["score"] ** 2), name)
    metrics = ["ndcg@5", "gauc", "p90(rr)", "auc", "brier", "logloss", "accuracy"]
    conf = spec_of(folder, metrics=metrics, slices=["country", "kind"])
    assert exit_code("evaluate", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1]) == 0
    return folder, conf


def test_every_mean_of_an_evaluation_splits(output: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Means over groups, weighted or not, and over rows, which a slice of rows splits even within groups."""
    _, conf = output
    means = ["ndcg@5", "gauc", "brier", "logloss", "accuracy"]
    words = ["compare", "--conf", conf, "--left-date", DAYS[0], "--right-date", DAYS[1], "--model", "production"]
    assert exit_code(*words, "--decompose", "country", "--json") == 0
    split = json.loads(capsys.readouterr().out)
    assert list(dict.fromkeys(row["metric"] for row in split["decomposition"])) == means
    assert [note.partition(" is no mean")[0] for note in split["notes"]] == ["p90(rr)", "auc"]
    for metric in means:
        rows = [row for row in split["decomposition"] if row["metric"] == metric]
        assert len(rows) == 3
        whole = math.fsum(row["part"] for row in rows)
        assert whole == pytest.approx(rows[0]["difference"], rel=1e-12, abs=1e-16)
    rows_only = ["--metric", "brier", "--metric", "logloss"]
    assert exit_code(*words, "--decompose", "kind", *rows_only) == 0
    assert exit_code(*words, "--decompose", "kind", "--metric", "ndcg@5") == 4
    assert "because some groups have rows of several values" in capsys.readouterr().err


def test_the_command_for_two_models_of_a_day(output: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, conf = output
    both = ["--model", "candidate", "--baseline", "production"]
    asked = ["--decompose", "country", "--metric", "NDCG@5"]
    assert exit_code("compare", "--conf", conf, "--date", DAYS[0], *both, *asked) == 0
    by_spec = capsys.readouterr().out
    place = f"{folder}/tables"
    assert exit_code("compare", "--left", place, "--right", place, "--date", DAYS[0], *both, *asked) == 0
    assert capsys.readouterr().out == by_spec
    assert "ndcg@5: " in by_spec
    lines = by_spec.partition("---\n")[2].splitlines()[:3]
    assert sorted(line.split()[0] for line in lines) == ["(null)", "no", "null"]


def test_the_command_refuses(output: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    no_day = ["--date", "2026-12-01", "--model", "candidate", "--baseline", "production"]
    for words, code, sentence in (
        (["--date", DAYS[0]], 2, "the spec has the models production, candidate: name one with --baseline"),
        (["--date", DAYS[0], "--model", "x"], 2, '--model: the spec has no model "x"'),
        (["--date", DAYS[0], "--model", "candidate", "--baseline", "candidate"], 2, "are both candidate"),
        (["--left-date", DAYS[0], "--right-date", DAYS[1]], 2, "name one with --model"),
        (["--left-date", DAYS[0], "--model", "candidate"], 2, "--right-date is missing"),
        (["--model", "candidate"], 2, "no day is given"),
        (no_day, 4, "there is no table metrics at"),
    ):
        assert exit_code("compare", "--conf", output[1], "--decompose", "country", *words) == code, words
        assert sentence in capsys.readouterr().err, words


def test_tables_that_nobody_evaluated_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_metrics(tmp_path, DAYS[0], day({"de": (30, 0.8), "fr": (10, 0.4)}))
    write_metrics(tmp_path, DAYS[1], day({"de": (20, 0.9), "fr": (60, 0.5)}))
    folders = [f"{tmp_path}/metrics/day={name}" for name in DAYS[:2]]
    assert exit_code("compare", "--left", folders[0], "--right", folders[1], "--decompose", "country") == 0
    assert "rr: -0.10000 = mix -0.20000 + rate +0.10000" in capsys.readouterr().out
