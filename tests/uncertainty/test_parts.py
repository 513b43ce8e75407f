"""Intervals and comparisons from parts of the groups: against recomputation without each part, and scipy."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank.metrics import Metric
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from sparkrank.states.forms import SMALL_FORMS
from sparkrank.stats.corrections import METHODS, adjusted
from sparkrank.stats.power import smallest_detectable
from sparkrank.tables.rows.comparisons import comparisons_table
from tests.oracles.jackknife import standard_error
from tests.support.commands import exit_code
from tests.support.quantiles import RELATIVE
from tests.windows.week import DAYS, evaluate, merging, spec_of, window_table, write_log

POOLED = ["auc(bits=6)", "pr_auc(bits=6)", "ks(bits=6)", "bep(bits=6)"]
POOLED += ["logloss", "brier", "ne", "copc", "ece", "accuracy(threshold=0.4)", "f1(threshold=0.4)"]
MEANS = ["ndcg@5", "ap", "gauc", "dcg@5", "ndcg(weight=rows)@5", "rr"]
ROLES: dict[str, Any] = {"group": "user", "label": "y"}
BOTH = {"a": "one", "b": "two"}


def log(seed: int, users: int = 300, rows: int = 3000, **columns: Any) -> pa.Table:
    """Rows of users with a taste of their own, and two models of which the second is noisier."""
    draw = np.random.default_rng(seed)
    user = draw.integers(0, users, rows)
    liking = draw.normal(size=users)[user] + draw.normal(size=rows)
    y = (draw.random(rows) < 1 / (1 + np.exp(2 - liking))).astype(np.int32)
    one, two = (1 / (1 + np.exp(1.5 - liking - draw.normal(scale=scale, size=rows))) for scale in (1.0, 1.4))
    found = {"user": user, "one": one, "two": two, "y": y, "country": np.array(["de", "fr", "it"])[user % 3]}
    return pa.table({**found, "weight": draw.integers(1, 5, rows) / 4, **columns})


def part_of(rows: pa.Table) -> np.ndarray:
    return parts_of(hash_keys([rows["user"].combine_chunks()]))


def jackknifed(value: float, without: dict[int, float], sizes: dict[int, int]) -> float:
    """The standard error of the delete-a-part jackknife, by the oracle."""
    return standard_error(value, [without[part] for part in sizes], [*sizes.values()])


def values_of(rows: pa.Table, metrics: list[str], **roles: Any) -> dict[tuple[str, str], float]:
    table = sr.evaluate(rows, metrics, **{**ROLES, "score": BOTH, "uncertainty": False, **roles}).table.to_pylist()
    return {(row["model"], row["metric"]): row["value"] for row in table}


def recomputed(
    rows: pa.Table, values: Callable[[pa.Table], dict[Any, float]], parts: np.ndarray, keys: tuple[str, ...] = ("user",)
) -> dict[Any, float]:
    """The standard error of each of ``values``: everything evaluated again without each part of groups of ``keys``."""
    sizes = {part: len(rows.filter(pa.array(parts == part)).group_by(keys).aggregate([])) for part in set(parts)}
    without = {part: values(rows.filter(pa.array(parts != part))) for part in sizes}
    return {key: jackknifed(value, {p: without[p][key] for p in sizes}, sizes) for key, value in values(rows).items()}


def by_brute_force(rows: pa.Table, metrics: list[str], parts: np.ndarray, **roles: Any) -> dict[tuple[str, str], float]:
    """The standard error of each (model, metric)."""
    return recomputed(rows, lambda some: values_of(some, metrics, **roles), parts)


def merged(folder: Path, spec: str, last: int, table: str) -> pd.DataFrame:
    """A table of the window from the first day to the ``last`` one."""
    assert exit_code(*merging(spec, last=DAYS[last])) == 0
    return window_table(folder, table, f"{DAYS[0]}..{DAYS[last]}")


@pytest.mark.parametrize(
    ("rows", "roles"),
    [(log(1), {}), (log(2, users=25, rows=400), {"weight": "weight"})],
    ids=["all parts", "few groups"],
)
def test_pooled_metrics_equal_an_evaluation_without_each_part(rows: pa.Table, roles: dict) -> None:
    expected = by_brute_force(rows, POOLED, part_of(rows), **roles)
    found = sr.evaluate(rows, POOLED, **ROLES, score=BOTH, **roles).table.to_pylist()
    assert {row["interval"] for row in found} <= {"jackknife", "logit", "wilson", "upper bound"}
    degrees = len(set(part_of(rows))) - 1
    for row in found:
        assert row["stderr"] == pytest.approx(expected[row["model"], row["metric"]], rel=1e-9), row["metric"]
        assert 1 <= row["degrees"] <= degrees
        half = stats.t.ppf(0.975, row["degrees"]) * row["stderr"]
        if row["noise_floor"] is not None:  # see stats/test_noise_floor.py
            assert row["ci_low"] <= max(row["value"] - half, 0.0)
            continue
        if row["interval"] == "wilson":
            assert 0 < row["ci_low"] < row["value"] < row["ci_high"] < 1
            continue
        if row["interval"] == "jackknife":
            metric = Metric.parse(row["metric"])
            low, high = metric.declaration.range_of(metric)
            ends = max(row["value"] - half, low), min(row["value"] + half, high)
        else:
            odds, scale = np.log(row["value"] / (1 - row["value"])), row["value"] * (1 - row["value"])
            ends = tuple(1 / (1 + np.exp(-(odds + side * half / scale))) for side in (-1, 1))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(ends, rel=RELATIVE)


def test_values_of_slices_have_sixteen_parts() -> None:
    rows = log(3, users=600, rows=5000)
    metrics = ["auc(bits=6)", "logloss"]
    found = sr.evaluate(rows, metrics, **ROLES, score=BOTH, slices=["country"]).table
    for country in ("de", "fr", "it"):
        own = rows.filter(pc.equal(rows["country"], country))
        expected = by_brute_force(own, metrics, part_of(own) // 4)
        for row in found.filter(pc.equal(found["slice_value"], country)).to_pylist():
            assert row["stderr"] == pytest.approx(expected[row["model"], row["metric"]], rel=1e-9)
    alone = sr.evaluate(rows, metrics, **ROLES, score=BOTH, slices=["country"], uncertainty={"slices": False}).table
    assert alone.filter(pc.equal(alone["slice"], "country"))["stderr"].null_count == 12
    assert alone.filter(pc.equal(alone["slice"], "all"))["stderr"].null_count == 0


def test_fine_bins_deviate_as_coarse_ones_do() -> None:
    """The value is that of its own bins, and the standard error within 2 % of that of the exact ones."""
    rows = log(4)
    expected = by_brute_force(rows, ["auc(exact)", "pr_auc(exact)"], part_of(rows))
    for row in sr.evaluate(rows, ["auc(exact)", "pr_auc(exact)"], **ROLES, score=BOTH).table.to_pylist():
        assert row["stderr"] == pytest.approx(expected[row["model"], row["metric"]], rel=0.02)
        assert row["ci_low"] < row["value"] < row["ci_high"]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_means_of_a_day_have_students_interval(level: float) -> None:
    """Those without an end of the value itself; those from 0 to 1 of the log odds, by the delta method."""
    rows, asked = log(5, users=30, rows=300), {"score": "one", "uncertainty": {"level": level}}
    found = sr.evaluate(rows, ["dcg@5", "ndcg@5"], **ROLES, **asked)
    for row in found.table.to_pylist():
        values = found.groups[row["metric"]].drop_null().to_numpy()
        values = values[~np.isnan(values)]
        if row["metric"] == "ndcg@5":
            odds = np.log(values.mean() / (1 - values.mean()))
            values = odds + (values - values.mean()) / (values.mean() * (1 - values.mean()))
        test = stats.ttest_1samp(values, 0).confidence_interval(level)
        ends = [row["ci_low"], row["ci_high"]]
        if row["metric"] == "ndcg@5":
            ends = [np.log(end / (1 - end)) for end in ends]
        assert ends == pytest.approx([test.low, test.high], rel=1e-9)
        assert (row["interval"], row["degrees"]) == ("logit" if row["metric"] == "ndcg@5" else "t", len(values) - 1)


def test_percentiles_have_order_statistics_and_what_has_no_honest_interval_none() -> None:
    rows = log(6).append_column("item", pa.array([f"i{n % 70}" for n in range(3000)]))
    metrics = ["median(ap)", "coverage(ties=item)@5", "gini(ties=item)@5", "novelty(ties=item)@5"]
    found = sr.evaluate(rows, metrics, **ROLES, score="one", item="item")
    values = np.sort(found.groups["ap"].to_numpy())
    values = values[~np.isnan(values)]
    n = len(values)
    below = stats.binom.cdf(np.arange(n), n, 0.5)  # of the true median's rank
    low = values[np.flatnonzero(below <= 0.025).max()]
    high = values[np.flatnonzero(1 - below <= 0.025).min()]
    median, *others = found.table.to_pylist()
    assert (median["ci_low"], median["ci_high"], median["interval"]) == (low, high, "order statistics")
    assert median["stderr"] is None
    for row in others:
        assert (row["ci_low"], row["ci_high"], row["stderr"], row["interval"]) == (None,) * 4


def test_comparisons_of_means_are_paired_t_tests() -> None:
    metrics = ["ndcg@5", "ap", "rr", "dcg@5"]
    ev = sr.evaluate(log(7), metrics, **ROLES, score=BOTH, compare="a")
    groups = ev.groups.to_pandas().set_index(["user", "model"]).unstack()
    for row in ev.compare("a").to_pylist():
        ours, theirs = (groups[row["metric"]][model].to_numpy() for model in ("b", "a"))
        both = ~np.isnan(ours) & ~np.isnan(theirs)
        ours, theirs = ours[both], theirs[both]
        test = stats.ttest_rel(ours, theirs)
        ends = test.confidence_interval(0.95)
        assert row["interval"] == "paired t"
        assert row["wins"] + row["ties"] + row["losses"] == both.sum()
        assert (row["n_groups"], row["n_unpaired"], row["degrees"]) == (len(both), 0, both.sum() - 1)
        assert row["difference"] == pytest.approx((ours - theirs).mean(), rel=1e-9)
        assert [row[name] for name in ("p", "ci_low", "ci_high")] == pytest.approx([test.pvalue, *ends], rel=1e-7)
        difference = ours - theirs
        counts = (difference > 1e-9).sum(), (np.abs(difference) < 1e-9).sum(), (difference < -1e-9).sum()
        assert (row["wins"], row["ties"], row["losses"]) == counts
        assert row["relative"] == pytest.approx(
            row["difference"] / sr.evaluate(log(7), [row["metric"]], **ROLES, score="one").table["value"][0].as_py()
        )


def test_without_a_baseline_in_advance_parts_tell_the_same() -> None:
    rows = log(8, users=2000, rows=20000)
    ev = sr.evaluate(rows, ["ndcg@5", "ap"], **ROLES, score=BOTH, compare="a")
    later = sr.evaluate(rows, ["ndcg@5", "ap"], **ROLES, score=BOTH).compare("a")
    assert later["interval"].to_pylist() == ["jackknife"] * 2
    assert later["wins"].null_count == 2
    for name, most in (("difference", 1e-9), ("stderr", 0.3)):
        assert later[name].to_pylist() == pytest.approx(ev.compare("a")[name].to_pylist(), rel=most)


def test_pooled_differences_equal_an_evaluation_without_each_part() -> None:
    rows = log(9)
    metrics = ["auc(bits=6)", "logloss", "gauc"]

    def differences(of: pa.Table) -> dict[str, float]:
        values = values_of(of, metrics)
        return {metric: values["b", metric] - values["a", metric] for metric in metrics}

    values, errors = differences(rows), recomputed(rows, differences, part_of(rows))
    for row in sr.evaluate(rows, metrics, **ROLES, score=BOTH, compare="a").compare("a").to_pylist():
        value, expected = values[row["metric"]], errors[row["metric"]]
        assert row["difference"] == pytest.approx(value, rel=1e-12)
        assert row["stderr"] == pytest.approx(expected, rel=1e-9)
        assert 2 <= row["degrees"] <= len(set(part_of(rows))) - 1
        assert row["p"] == pytest.approx(2 * stats.t.sf(abs(value / expected), row["degrees"]), rel=1e-6)
        assert row["smallest_detectable"] == smallest_detectable(row["stderr"], row["degrees"])


def test_two_copies_of_a_model_do_not_differ() -> None:
    ev = sr.evaluate(log(10), [*MEANS, *POOLED], **ROLES, score={"a": "one", "b": "one"}, compare="a")
    for comparison in (ev.compare("a"), ev.compare("b")):
        for row in comparison.to_pylist():
            assert (row["difference"], row["relative"], row["interval"]) == (0.0, 0.0, "too few"), row
            untold = ("stderr", "p", "p_adjusted", "ci_low", "ci_high", "degrees", "smallest_detectable")
            assert [row[name] for name in untold] == [None] * len(untold), row
            if row["wins"] is not None:
                assert (row["wins"], row["losses"], row["n_unpaired"]) == (0, 0, 0)


def test_a_candidate_that_lists_fewer_groups_is_compared_by_its_value() -> None:
    """Hand-worked: of users p, q and r, both models rank p and q; r has no list of model b, where rr is left out.

    Without p the difference of the two means is 0, without q or r it is 1 - 3/4; p and q count for both models.
    """
    rows = pa.table(
        {
            "user": ["p", "p", "q", "q", "r", "r"],
            "one": [2.0, 1.0, 2.0, 1.0, 2.0, 1.0],
            "two": [1.0, 2.0, 2.0, 1.0, None, None],
            "y": [0, 1, 1, 0, 1, 0],
        }
    )
    ev = sr.evaluate(rows, ["rr"], **ROLES, score=BOTH, compare="a", unretrieved="skip")
    (row,) = ev.compare("a").to_pylist()
    assert row["difference"] == pytest.approx((1 + 1) / 2 - (1 / 2 + 1 + 1) / 3)
    assert (row["n_groups"], row["n_unpaired"], row["interval"]) == (2, 1, "jackknife")
    sizes = {0: 2, 1: 2, 2: 1}
    assert row["stderr"] == pytest.approx(jackknifed(row["difference"], {0: 0.0, 1: 1 / 4, 2: 1 / 4}, sizes))
    assert (row["wins"], row["ties"], row["losses"]) == (1, 1, 0)


def test_there_is_one_difference_whoever_is_undefined(tmp_path: Path) -> None:
    """Half of the users have no list by model b: the difference is that of the two values, however it is asked for."""
    rows = log(31, users=200, rows=2000)
    odd = pc.equal(pc.bit_wise_and(pc.cast(rows["user"], pa.int64()), 1), 1)
    rows = rows.set_column(rows.column_names.index("two"), "two", pc.if_else(odd, None, rows["two"].combine_chunks()))
    asked, metrics = {"slices": ["country"], "unretrieved": "skip"}, ["kendall_tau", "group_auc"]
    with_pairs = sr.evaluate(rows, metrics, **ROLES, score=BOTH, compare="a", **asked)
    without = sr.evaluate(rows, metrics, **ROLES, score=BOTH, **asked)
    more: dict[str, Any] = {"slices": ["country"], "definitions": {"unretrieved": "skip"}}
    spec = days_of(tmp_path, [rows], metrics=metrics, compare={"baseline": "a"}, **more)
    window = merged(tmp_path, spec, 0, "comparisons").to_dict("records")
    every = zip(with_pairs.compare("a").to_pylist(), without.compare("a").to_pylist(), window, strict=True)
    values = {(row["model"], row["metric"], row["slice_value"]): row["value"] for row in with_pairs.table.to_pylist()}
    for paired, of_parts, of_window in every:
        ours, theirs = (values[model, paired["metric"], paired["slice_value"]] for model in ("b", "a"))
        assert paired["difference"] == of_parts["difference"] == of_window["difference"] == ours - theirs
        assert paired["stderr"] == of_parts["stderr"] == of_window["stderr"] > 0
        assert {paired["interval"], of_parts["interval"], of_window["interval"]} == {"jackknife"}
        assert paired["n_unpaired"] == of_window["n_unpaired"]
        assert paired["relative"] == pytest.approx((ours - theirs) / abs(theirs))
    assert sum(row["n_unpaired"] for row in with_pairs.compare("a").to_pylist()) > 100


def days_of(folder: Path, logs: list[pa.Table], **changes: Any) -> str:
    settings = {"input__columns": {"group": "user", "label": "y", "score": BOTH}, **changes}
    for day, rows in zip(DAYS, logs, strict=False):
        write_log(folder, rows.to_pandas().assign(date=day), day)
        evaluate(spec_of(folder, **settings), day)
    return spec_of(folder, **settings)


def test_a_window_clusters_by_user(tmp_path: Path) -> None:
    """As all (user, day) pairs at once, resampled by user: everything evaluated again without each part."""
    logs = [log(seed, users=300, rows=1500) for seed in (12, 13, 14)]
    metrics = ["ndcg@5", "ap", "gauc", "auc(bits=6)", "logloss", "gmean(ap)", "median(ap)"]
    spec = days_of(tmp_path, logs, metrics=metrics, compare={"baseline": "a"})
    found = merged(tmp_path, spec, 2, "metrics")
    dated = (each.append_column("date", pa.array([day] * len(each))) for day, each in zip(DAYS, logs, strict=False))
    rows = pa.concat_tables(dated)

    def values(some: pa.Table) -> dict[tuple[str, str], float]:
        return values_of(some, metrics, group=["user", "date"])

    errors = recomputed(rows, values, part_of(rows), ("user", "date"))
    for key, value in values(rows).items():
        own = found[(found["model"] == key[0]) & (found["metric"] == key[1])].iloc[0]
        assert own["value"] == pytest.approx(value, rel=1e-12)
        if key[1] == "median(ap)":
            assert own["interval"] == "woodruff"
            assert own["ci_low"] <= own["value"] <= own["ci_high"]
            continue
        assert own["stderr"] == pytest.approx(errors[key], rel=1e-8)
        assert own["interval"] == {"logloss": "jackknife", "gmean(ap)": "log"}.get(key[1], "logit")
    told = found["pooling"].str.endswith("; standard errors cluster by user")
    assert list(told) == list(found["interval"].notna())
    compared = window_table(tmp_path, "comparisons", f"{DAYS[0]}..{DAYS[2]}")
    assert list(compared["metric"]) == metrics
    assert set(compared["interval"].dropna()) == {"jackknife", "woodruff"}


def sampled_log(seed: int, users: int = 300) -> pa.Table:
    """Lists of one relevant item and nine others, of two models; of some users one item is missing."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), 10)
    scores = {name: rng.normal(0, 1, 10 * users) + up * (np.arange(10 * users) % 10 == 0) for name, up in AHEAD}
    rows = pa.table({"user": user, **scores, "y": (np.arange(10 * users) % 10 == 0).astype(int)})
    return rows.append_column("country", pa.array(np.where(user % 3, "de", "fr"))).slice(0, 10 * users - 1)


AHEAD = (("one", 2.0), ("two", 1.0))


def test_estimates_from_sampled_ranks_merge_and_have_the_jackknifes_errors(tmp_path: Path) -> None:
    """A window is that of all ranks; errors are those of single ranks to a few percent."""
    logs, metrics = [sampled_log(seed, 120) for seed in (1, 2, 3)], ["hit(sampled=9,items=200,ties=worst)@20"]
    spec = days_of(tmp_path, logs, metrics=metrics, compare={"baseline": "a"})
    found = merged(tmp_path, spec, 2, "metrics")
    dated = (each.append_column("date", pa.array([day] * len(each))) for day, each in zip(DAYS, logs, strict=False))
    rows = pa.concat_tables(dated)

    def values(some: pa.Table) -> dict[tuple[str, str], float]:
        return values_of(some, metrics, group=["user", "date"])

    errors = recomputed(rows, values, part_of(rows), ("user", "date"))
    for key, value in values(rows).items():
        own = found[(found["model"] == key[0]) & (found["metric"] == key[1])].iloc[0]
        assert own["value"] == pytest.approx(value, rel=1e-12)
        assert own["stderr"] == pytest.approx(errors[key], rel=0.05)
        assert (own["interval"], own["n_groups"], own["n_undefined"], own["weight"]) == ("logit", 360, 3, 357)
    compared = window_table(tmp_path, "comparisons", f"{DAYS[0]}..{DAYS[2]}")
    assert list(compared["interval"]) == ["jackknife"]


def test_a_window_of_one_day_is_that_day(tmp_path: Path) -> None:
    metrics = ["ndcg@5", "gauc", "auc(bits=6)", "median(ap)", "gmean(ap)"]
    spec = days_of(tmp_path, [log(15)], metrics=metrics, compare={"baseline": "a"}, slices=["country"])
    assert exit_code(*merging(spec, last=DAYS[0])) == 0
    ev = sr.evaluate(log(15), metrics, **ROLES, score=BOTH, compare="a", slices=["country"])
    for name, expected in (("metrics", ev.table), ("comparisons", ev.compare("a"))):
        found = window_table(tmp_path, name, f"{DAYS[0]}..{DAYS[0]}")
        ours = expected.replace_schema_metadata(None).to_pandas().drop(columns=["spec_hash", "run_id"], errors="ignore")
        pd.testing.assert_frame_equal(found[ours.columns], ours, check_exact=True)


def test_days_without_parts_merge_without_intervals_where_asked(tmp_path: Path, capsys) -> None:
    without = {"metrics": ["ap", "auc"], "uncertainty": {"off": True}}
    spec = days_of(tmp_path, [log(16), log(17)], **without)
    assert not (tmp_path / "tables/parts").exists()
    assert merged(tmp_path, spec, 1, "metrics")["stderr"].isna().all()
    with_parts = spec_of(tmp_path, input__columns={"group": "user", "label": "y", "score": BOTH}, metrics=["ap", "auc"])
    capsys.readouterr()
    assert exit_code(*merging(with_parts, last=DAYS[1])) == 4
    told = capsys.readouterr().err
    assert f"{DAYS[0]} has no part_mean state of ap for the model a: evaluate that day again" in told


def test_what_makes_no_sense_is_refused() -> None:
    for asked, sentence in (
        ({"uncertainty": {"level": 1.5}}, r"^uncertainty.level is 1.5: a share from 0.5 to 0.9999 is needed$"),
        ({"uncertainty": {"levle": 0.9}}, r'^uncertainty names "levle", did you mean "level"\?'),
        ({"uncertainty": {"slices": 1}}, r"^uncertainty.slices is 1: true or false is needed$"),
        ({"uncertainty": 0.9}, r"^uncertainty is 0.9: true, false, or a mapping is needed$"),
        ({"compare": "aa"}, r'^compare.baseline is "aa".* \(models: a, b\)$'),
        ({"compare": "a", "score": {"a": "one"}}, r'^compare.baseline is "a", the only model'),
    ):
        with pytest.raises(sr.SpecError, match=sentence):
            sr.evaluate(log(19), ["ap"], **{**ROLES, "score": BOTH, **asked})


def test_corrections_take_the_rows_of_a_family() -> None:
    """What a correction does with them: tests/stats/test_corrections.py."""
    score = {"a": "one", "b": "two", "c": "three"}
    rows = log(20).append_column("three", pc.multiply(log(21)["two"], 0.9))
    ev = sr.evaluate(rows, ["ap", "rr", "auc"], **ROLES, score=score, compare="a", slices=["country"])
    columns = {"slice_column": ["slice"], "candidate": ["candidate"], "metric": ["metric"]}
    for family, correction in itertools.product((*columns, "slice"), METHODS):
        found = ev.compare("a", correction=correction, family=family).to_pandas()
        assert family != "slice_column" or set(found["family"]) == {"whole day", "slice country"}
        families = found.groupby(columns.get(family, ["slice", "slice_value"]))
        assert found["family"].nunique() == len(families)
        for _, own in families:
            expected = adjusted(own["p"].tolist(), correction)
            assert own["p_adjusted"].to_numpy() == pytest.approx(expected, rel=1e-12), (family, correction)


def test_groups_that_are_not_there_leave_no_interval() -> None:
    rows = log(22, users=1, rows=40)
    found = sr.evaluate(rows, ["ap", "auc"], **ROLES, score=BOTH, compare="a")
    assert found.table["stderr"].null_count == 4
    assert found.compare("a")["p"].null_count == 2
    alone = sr.evaluate(rows, ["auc"], score="one", label="y")
    assert alone.table["stderr"].null_count == 1
    with pytest.raises(sr.SpecError, match="compare needs groups"):
        sr.evaluate(rows, ["auc"], score=BOTH, label="y", compare="a")


def test_a_value_of_a_slice_in_which_nothing_is_defined_is_compared_as_undefined(tmp_path: Path) -> None:
    rows = log(25, users=40, rows=400)
    heard = pc.not_equal(rows["country"], "de").cast(pa.int32())
    rows = rows.set_column(rows.column_names.index("y"), "y", pc.multiply(rows["y"], heard))
    metrics = ["gauc", "ap", "ndcg(weight=rows)@5"]
    ev = sr.evaluate(rows, metrics, **ROLES, score=BOTH, compare="a", slices=["country"])
    spec = days_of(tmp_path, [rows, rows], metrics=metrics, compare={"baseline": "a"}, slices=["country"])
    of_window = merged(tmp_path, spec, 1, "comparisons")
    for found in (ev.compare("a").to_pandas(), of_window):
        undefined = found[found.slice_value == "de"]
        assert len(undefined) == len(metrics)
        assert undefined[["difference", "stderr", "p"]].isna().all(axis=None)
        assert found[found.slice_value != "de"]["stderr"].notna().all()


def test_a_candidate_that_starts_late_is_compared_over_the_days_of_both(tmp_path: Path, capsys) -> None:
    """A copy of the baseline that was there on the last days alone does not differ from it."""
    days = [log(28), log(29), log(30)]
    dull = days[0].set_column(days[0].column_names.index("one"), "one", days[0]["two"])
    metrics = ["ap", "gauc", "auc(bits=6)", "logloss"]
    alone = {"group": "user", "label": "y", "score": {"a": "one"}}
    three = {"group": "user", "label": "y", "score": {"a": "one", "b": "one", "c": "two"}}
    compare = {"baseline": "a", "family": "metric"}
    for day, rows in zip(DAYS, [dull, *days[1:]], strict=False):
        write_log(tmp_path, rows.to_pandas().assign(date=day), day)
    roles = {"a": alone, "b": {**alone, "score": {"a": "one", "c": "two"}}, "c": three}
    for day, columns in zip(DAYS, roles.values(), strict=False):
        more = {} if len(columns["score"]) == 1 else {"compare": compare}
        evaluate(spec_of(tmp_path, input__columns=columns, metrics=metrics, **more), day)
    spec = spec_of(tmp_path, input__columns=three, metrics=metrics, compare=compare)
    capsys.readouterr()
    assert exit_code(*merging(spec, last=DAYS[2])) == 0
    printed = " ".join("".join(capsys.readouterr()).split())
    assert "b is compared with a over 1 of 3 days, those that have both" in printed
    assert "c is compared with a over 2 of 3 days, those that have both" in printed
    found = window_table(tmp_path, "comparisons", f"{DAYS[0]}..{DAYS[2]}").set_index(["candidate", "metric"])
    copy, other = found.loc["b"], found.loc["c"]
    assert (copy["difference"] == 0).all()
    assert (copy["interval"] == "too few").all()
    assert exit_code(*merging(spec, first=DAYS[1], last=DAYS[2])) == 0
    last = window_table(tmp_path, "comparisons", f"{DAYS[1]}..{DAYS[2]}").set_index(["candidate", "metric"]).loc["c"]
    columns = ["difference", "relative", "stderr", "p", "wins", "n_groups"]
    pd.testing.assert_frame_equal(other[columns], last[columns], check_exact=True)


def test_the_table_of_a_merge_knows_its_baseline() -> None:
    """A pair state of one baseline serves no other."""
    ev = sr.evaluate(log(24), ["ap"], **ROLES, score=BOTH, compare="a")
    table = comparisons_table(ev.solved.merged, ev.plan, type(ev.plan.compare)("b"))
    assert table["interval"].to_pylist() == ["jackknife"]


@pytest.mark.parametrize("more", [{}, {"weight": "weight"}], ids=["rows", "weights"])
def test_parts_are_pickled_as_they_are(more: dict) -> None:
    metrics = ["ndcg@5", "gauc", "auc", "ece", "auc(exact,rel=1)", "ks(bits=3)"]
    ev = sr.evaluate(log(25), metrics, **ROLES, score=BOTH, slices=["country"], compare="a", **more)
    again = pickle.loads(pickle.dumps(ev.partials))  # noqa: S301 - by this test
    for form in SMALL_FORMS:
        assert form.to_table(again).equals(form.to_table(ev.partials)), form.kind
        assert not form.is_of_parts or form.to_table(again).num_rows
    before, after = (each.parts.histograms.rows(weighted=bool(more)) for each in (ev.partials, again))
    assert after.equals(before)
    assert set(before["rule"].to_pylist()) == {"bits=6", "bins=15", "bits=6,rel=1", "bits=3"}
