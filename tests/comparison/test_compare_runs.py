"""Two runs compared over the groups of both: as scipy has it, the same bits in any order, and what does not match."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank.comparison import group_pairs
from tests.comparison.tables import METRICS, groups, joined, write_run
from tests.support.commands import exit_code
from tests.support.quantiles import RELATIVE

LEFT, RIGHT = groups(1, range(60)), groups(2, range(10, 75))
PAIRED = joined(LEFT, RIGHT)
DAYS = ("2026-01-01", "2026-01-02")


def row(compared: sr.RunComparison, metric: str) -> dict:
    return next(row for row in compared.table.to_pylist() if row["metric"] == metric)


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "gauc"])
def test_the_paired_t_test_is_that_of_scipy(metric: str) -> None:
    pairs = PAIRED[[f"{metric}_x", f"{metric}_y"]]
    defined = pairs.dropna()
    left, right = defined.to_numpy().T
    expected = stats.ttest_rel(right, left)
    interval = expected.confidence_interval(0.9)
    compared = row(sr.compare_runs(LEFT, RIGHT, level=0.9), metric)
    assert compared["n_groups"] == len(defined)
    assert compared["n_unpaired"] == (pairs.isna().sum(axis=1) == 1).sum() > 0
    assert compared["difference"] == pytest.approx(np.mean(right - left), rel=1e-12)
    assert compared["relative"] == pytest.approx(np.mean(right - left) / np.mean(left), rel=1e-12)
    assert compared["stderr"] == pytest.approx(stats.sem(right - left), rel=1e-12)
    assert compared["p"] == pytest.approx(expected.pvalue, rel=1e-12)
    assert (compared["ci_low"], compared["ci_high"]) == pytest.approx(tuple(interval), rel=max(RELATIVE, 1e-9))
    assert compared["interval"] == "paired t"
    better, worse = (right < left, right > left) if metric == "kendall_distance" else (right > left, right < left)
    counts = [better.sum(), (right == left).sum(), worse.sum()]
    assert [compared[name] for name in ("wins", "ties", "losses")] == counts
    assert min(counts) > 0


def test_a_weighted_mean_is_compared_by_the_delta_method() -> None:
    """Two passes over the pairs in floats, where the code has exact sums of products in one."""
    pairs = PAIRED.dropna(subset=["gauc_x", "gauc_y"])
    w, v, u, z = (pairs[name].to_numpy() for name in ("n_retrieved_x", "gauc_x", "n_retrieved_y", "gauc_y"))
    left, right = np.average(v, weights=w), np.average(z, weights=u)
    influence = u * (z - right) / u.mean() - w * (v - left) / w.mean()
    compared = row(sr.compare_runs(LEFT, RIGHT), "gauc")
    assert compared["difference"] == pytest.approx(right - left, rel=1e-12)
    assert compared["relative"] == pytest.approx((right - left) / left, rel=1e-12)
    assert compared["stderr"] == pytest.approx(np.std(influence, ddof=1) / math.sqrt(len(pairs)), rel=1e-12)
    assert compared["n_groups"] == len(pairs)


def test_the_weighted_difference_is_that_of_the_metrics() -> None:
    """Where all groups are on both sides and defined, it is the difference of the two numbers of the day."""
    draw = np.random.default_rng(3)
    user = np.repeat(np.arange(30), 8)
    label = np.tile([0, 1] * 4, 30)  # both classes in each group
    log = pa.table({"user": user, "label": label, "a": draw.random(240), "b": draw.random(240)})
    ev = sr.evaluate(log, ["gauc", "ap"], group="user", label="label", score={"a": "a", "b": "b"})
    compared = sr.compare_runs(ev, ev, left_model="a", right_model="b")
    for metric in ("gauc", "ap"):
        expected = ev.value(metric, model="b") - ev.value(metric, model="a")
        assert row(compared, metric)["difference"] == pytest.approx(expected, rel=1e-12)
        assert row(compared, metric)["definition"].startswith(metric)


def test_two_equal_runs_differ_by_exactly_nothing() -> None:
    for compared in sr.compare_runs(LEFT, LEFT).table.to_pylist():
        assert (compared["difference"], compared["interval"]) == (0.0, "too few")
        assert [compared[name] for name in ("stderr", "p", "p_adjusted", "ci_low", "smallest_detectable")] == [None] * 5
        assert (compared["wins"], compared["losses"], compared["ties"]) == (0, 0, compared["n_groups"])


def of_rr(*sides: list[float]) -> list[pa.Table]:
    """Group tables of the users 1, 2 and 3 with rr alone."""
    rows = groups(0, [1, 2, 3]).drop_columns(list(METRICS))
    return [rows.append_column("rr", pa.array(side)) for side in sides]


def test_what_rounding_makes_is_a_tie() -> None:
    """0.1 + 0.2 and 0.3, which are not the same float, either way, and a real difference."""
    compared = row(sr.compare_runs(*of_rr([0.3, 0.1 + 0.2, 0.5], [0.1 + 0.2, 0.3, 0.6])), "rr")
    assert (compared["wins"], compared["ties"], compared["losses"]) == (1, 2, 0)


def test_p_is_adjusted_over_all_metrics() -> None:
    p = np.array(sr.compare_runs(LEFT, RIGHT).table["p"].to_pylist())
    order = np.sort(p)
    holm = np.array([min(1, max(order[: i + 1] * (len(p) - np.arange(i + 1)))) for i in range(len(p))])
    for method, expected in (
        ("holm", holm[np.argsort(np.argsort(p))]),
        ("benjamini-hochberg", stats.false_discovery_control(p)),
        ("none", p),
    ):
        compared = sr.compare_runs(LEFT, RIGHT, correction=method)
        assert compared.table["p_adjusted"].to_pylist() == pytest.approx(expected, rel=1e-12)


def test_any_order_and_cut_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, draw = sr.compare_runs(LEFT, RIGHT), np.random.default_rng(3)
    monkeypatch.setattr(group_pairs, "KEYS_AT_ONCE", 7)
    monkeypatch.setattr(group_pairs, "PAIRS_AT_ONCE", 5)
    sides = [side.take(draw.permutation(side.num_rows)) for side in (LEFT, RIGHT)]
    folders = [str(write_run(tmp_path / str(place), DAYS[0], side, files=4)) for place, side in enumerate(sides)]
    for left, right in (sides, folders, (folders[0], ds.dataset(sides[1]))):
        compared = sr.compare_runs(left, right)
        assert compared.table.equals(expected.table)
        assert (compared.n_common, compared.n_left_only, compared.n_right_only) == (50, 10, 15)


def test_keys_of_several_columns_and_of_texts_of_another_width() -> None:
    site = pa.array(["a", "b"] * 30)
    left, right = LEFT.add_column(2, "site", site), LEFT.add_column(2, "site", site.cast(pa.large_string()))
    right = right.set_column(1, "user", right["user"].cast(pa.int32()))
    assert sr.compare_runs(left, right).n_common == 60
    assert sr.compare_runs(left, LEFT.add_column(2, "site", pa.array(["a"] * 60))).n_common == 30


def test_what_does_not_match_is_told() -> None:
    compared = sr.compare_runs(LEFT, RIGHT.rename_columns([*RIGHT.column_names[:-1], "p@1"]))
    assert compared.table["metric"].to_pylist() == list(METRICS[:-1])
    sentences = (
        "metrics on the left only: gauc",
        "metrics on the right only: p@1",
        "10 groups are on the left only",
        "15 groups are on the right only",
        "groups with a value on one side only are in no pair: ndcg@5",
        "definitions are taken as equal",
    )
    assert [sentence for sentence in sentences if sentence not in "\n".join(compared.notes)] == []
    assert not [note for note in sr.compare_runs(LEFT, LEFT).notes if "groups" in note]


def test_a_weight_that_the_table_has_not_is_told() -> None:
    name = "group_auc(weight=pairs)"
    sides = [table.append_column(name, table["rr"]) for table in (LEFT, RIGHT)]
    compared = sr.compare_runs(*sides)
    assert name not in compared.table["metric"].to_pylist()
    assert (
        f"the groups of {name} are weighted by pairs, which the group table lacks: it is not compared" in compared.notes
    )
    with pytest.raises(sr.SpecError, match="weighted by pairs"):
        sr.compare_runs(*sides, metrics=[name])


def test_an_undefined_value_counts_as_the_definition_says(tmp_path: Path) -> None:
    """rr of three groups: undefined becomes 0, so that the mean difference is (0.5 - 0 + 0 - 1 + 0 - 0) / 3."""
    definition = {"rr": "rr; ties=expected, undefined=zero"}
    sides = of_rr([math.nan, 1.0, math.nan], [0.5, math.nan, math.nan])
    places = [str(write_run(tmp_path / str(at), DAYS[0], side, definition)) for at, side in enumerate(sides)]
    compared = row(sr.compare_runs(*places), "rr")
    assert (compared["n_groups"], compared["n_unpaired"]) == (3, 0)
    assert compared["difference"] == pytest.approx(-0.5 / 3, rel=1e-15)


OF_TEXTS = LEFT.set_column(1, "user", LEFT["user"].cast(pa.string()))
REFUSED = {
    "another key": (LEFT.rename_columns(["model", "visitor", *LEFT.column_names[2:]]), {}, 4, "groups are by visitor"),
    "a key of another type": (OF_TEXTS, {}, 4, 'the key "user" is of type string'),
    "no common group": (groups(1, range(100, 110)), {}, 4, "nothing can be paired"),
    "a key twice": (pa.concat_tables([LEFT, LEFT]), {}, 4, "several groups of m with one key"),
    "no common metric": (LEFT.select(LEFT.column_names[:5]), {}, 4, "no metric of"),
    "no group table": (pa.table({"a": [1]}), {}, 4, "is not a group table: it lacks model"),
    "no such metric": (LEFT, {"metrics": ["ndcg@6"]}, 2, 'is not in both runs, did you mean "ndcg@5"? (there are: '),
    "a model that is not there": (LEFT, {"left_model": "n"}, 2, 'left_model: the left rows has no model "n"'),
    "models left open": (groups(1, range(9), ("a", "b")), {}, 2, "has the models a, b: name one with left_model"),
    "a level": (LEFT, {"level": 95}, 2, "level is 95"),
    "a correction": (LEFT, {"correction": "bonferroni"}, 2, "correction is 'bonferroni'"),
    "a day of rows in memory": (LEFT, {"left_day": "2026-01-01"}, 2, "left is not a path"),
    "no rows": ([1], {}, 2, "left is of type list"),
}


def test_what_is_refused_in_one_sentence() -> None:
    for name, (left, given, code, sentence) in REFUSED.items():
        with pytest.raises(sr.SparkrankError) as raised:
            sr.compare_runs(left, RIGHT, **given)
        assert (sentence in str(raised.value), raised.value.exit_code) == (True, code), name


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """An output with two days, whose rr is not defined alike."""
    for day, rows, ties in zip(DAYS, (LEFT, RIGHT), ("expected", "item"), strict=True):
        definitions = {name: f"{name}; ties={ties if name == 'rr' else 'expected'}" for name in METRICS}
        write_run(tmp_path, day, rows, definitions)
    return tmp_path


def test_the_command_reads_every_form_of_a_place(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = sr.compare_runs(LEFT, RIGHT, metrics=["ndcg@5"]).table.to_pylist()[0]
    folders = [f"{runs}/groups/day={day}" for day in DAYS]
    for words in (
        ["--left", folders[0], "--right", folders[1]],
        ["--left", f"{folders[0]}/", "--right", str(runs), "--right-date", DAYS[1]],
        ["--left", str(runs), "--right", str(runs), "--left-date", DAYS[0], "--right-date", DAYS[1]],
    ):
        assert exit_code("compare", *words, "--metric", "NDCG@5", "--json") == 0
        compared = json.loads(capsys.readouterr().out)
        assert compared["n_common"] == 50
        (only,) = compared["comparisons"]
        stored = {"spec_hash": "0" * 12, "run_id": f"{DAYS[1]}-{'0' * 12}"}
        assert only == {**expected, "definition": "ndcg@5; ties=expected", **stored}


def test_the_command_prints_the_largest_relative_difference_first(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "--left", f"{runs}/groups/day={DAYS[0]}", "--right", f"{runs}/groups/day={DAYS[1]}"]
    assert exit_code(*words, "--other-definitions") == 0
    out = capsys.readouterr().out
    rows = sr.compare_runs(LEFT, RIGHT).table.to_pylist()
    names = [row["metric"] for row in sorted(rows, key=lambda row: -abs(row["relative"]))]
    lines = out.partition("---\n")[2].splitlines()
    assert [line.split()[0] for line in lines[:4]] == names
    assert "over the 50 groups of both" in out
    assert "rr is defined on the left as rr; ties=expected, and on the right as rr; ties=item" in out
    assert exit_code(*words) == 4
    assert "rr is defined on the left as rr; ties=expected" in capsys.readouterr().err
    assert exit_code(*words, "--metric", "gauc") == 0  # nobody asks for the other


REFUSED_WORDS = [
    ([], 2, "--left and --right are missing"),
    (["--left", "{0}"], 2, "--right is missing"),
    (["--conf", "x.yaml", "--left", "{0}"], 2, "--conf and --left do not go together"),
    (["--left", "{0}", "--right", "{0}"], 2, "has the group tables of 2 days (2026-01-01, 2026-01-02): name one"),
    (["--left", "{0}", "--right", "{0}", "--date", "2026-01-03"], 4, "there is no group table at"),
    (["--left", "{0}", "--right", "{0}", "--date", "1.1.2026"], 2, "--date 1.1.2026 is not a day"),
    (["--left", "{0}", "--right", "{0}", "--date", DAYS[0], "--left-date", DAYS[0]], 2, "--date and --left-date"),
    (["--left", "{0}/groups/day=2026-01-01", "--right", "{0}", "--date", DAYS[1]], 2, "is the groups of 2026-01-01"),
    (["--left", "{0}/no", "--right", "{0}/no"], 4, "there is no group table at"),
    (["--left", "{0}", "--right", "{0}", "--date", DAYS[0], "--model", "n"], 2, "--right-model: "),
    (["--left", "{0}", "--right", "{0}", "--date", DAYS[0], "--plugin", "no_such"], 2, "no_such"),
    (["--left", "{0}", "--right", "{0}", "--lane", "frame"], 2, "comparisons take no --lane: group tables"),
]


def test_the_command_refuses(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, code, sentence in REFUSED_WORDS:
        assert exit_code("compare", *(word.format(runs) for word in words)) == code, words
        assert sentence in capsys.readouterr().err, words
