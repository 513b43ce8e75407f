"""A window merged is its days evaluated together, through the command, by bits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank import cli
from sparkrank.metrics import Plan
from sparkrank.metrics.uncertainty import Uncertainty
from sparkrank.schemas.tables import RUNS
from sparkrank.states import MeanStates, Partials
from sparkrank.states.keys import SliceKey
from sparkrank.states.means import MeanRows, weighted_sums
from sparkrank.tables.rows.states import states_table
from sparkrank.tables.stored.stored_days import find_days, merge_stored
from tests.support.stored_files import one_file
from tests.support.written_days import write_day
from tests.windows.week import (
    DAY_METRICS,
    DAYS,
    METRICS,
    SCORES,
    VALUES,
    WINDOW,
    evaluate,
    exit_code,
    impressions_of,
    merging,
    spec_of,
    window_table,
    write_log,
)


def test_a_week_is_its_days_evaluated_together(tables: Path, week, monkeypatch, capsys) -> None:
    """The law through the job: the same bits as one evaluation of all rows, grouped by user and day."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", None)  # importing it fails
        cli.main(merging(spec_of(tables)))
    together = sr.evaluate(
        pa.Table.from_pandas(week[1], preserve_index=False),
        METRICS,
        group=["user_id", "date"],
        score=SCORES,
        label="clicked",
        score_sums=True,
    )
    merged = window_table(tables, "metrics")
    expected = together.table.to_pandas()
    pd.testing.assert_frame_equal(merged[VALUES], expected[VALUES], check_exact=True)
    assert merged["n_groups"].max() > 25  # a user of several days is several groups
    assert merged["value"].notna().all()
    assert set(merged["n_days"]) == {7}
    pooling = dict(zip(merged["metric"], merged["pooling"], strict=True))
    assert pooling["ap"] == (
        "every (user_id, day) is a group of its own: 7 days pooled; standard errors cluster by user_id"
    )
    assert pooling["auc"] == "the rows of 7 days together; standard errors cluster by user_id"

    blocks, of_all = window_table(tables, "blocks"), together.blocks.to_pandas()
    pd.testing.assert_frame_equal(blocks, of_all, check_exact=True)
    quality, counted = (
        frame.drop(columns=["limit", "ok"]) for frame in (window_table(tables, "quality"), together.quality.to_pandas())
    )
    # Which groups are the largest, and what they weigh, is known of the rows of a day alone: no state of it is stored.
    counted = counted[~counted["check"].str.contains("largest group|of one group")].reset_index(drop=True)
    pd.testing.assert_frame_equal(quality, counted, check_exact=True)
    (run,) = window_table(tables, "runs").to_dict("records")
    assert (list(run["days"]), list(run["days_missing"]), run["rows"]) == (DAYS, [], len(week[1]))
    assert run["run_id"] == merged["run_id"].iloc[0]
    assert set(json.loads(run["versions"])) == {"sparkrank", "spark", "python", "numpy", "pyarrow", "loops"}
    assert WINDOW in capsys.readouterr().out


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_week_of_metrics_of_the_day(tables: Path, week, weight: str | None) -> None:
    """Row sums, and blocks of rows with weights, through the job: the same bits as all rows evaluated together."""
    scores = {"production": "score"}  # a probability
    changes = {"metrics": DAY_METRICS, "input__columns__score": scores, "input__columns__weight": weight}
    conf = spec_of(tables, **changes, output__path=f"{tables}/tables")
    for day in DAYS:
        evaluate(conf, day)
    cli.main(merging(conf))
    together = sr.evaluate(
        pa.Table.from_pandas(week[1], preserve_index=False),
        DAY_METRICS,
        group=["user_id", "date"],
        score=scores,
        label="clicked",
        weight=weight,
        score_sums=True,
    )
    merged, expected = window_table(tables, "metrics"), together.table.to_pandas()
    pd.testing.assert_frame_equal(merged[VALUES], expected[VALUES], check_exact=True)
    assert merged["value"].notna().all()
    pd.testing.assert_frame_equal(window_table(tables, "blocks"), together.blocks.to_pandas(), check_exact=True)


SLICES = ["country", ["kind", "country"], "kind"]


def test_a_week_by_slices(tables: Path, week, capsys) -> None:
    """The law through the job for every value of a slice, also one that a single day has."""
    changes = {"metrics": ["ap", "p90(ndcg@5)", "gauc", "auc", "f1"], "input__columns__weight": "weight"}
    conf = spec_of(tables, "sliced", slices=SLICES, **changes)
    for day in DAYS:
        evaluate(conf, day)
    cli.main(merging(conf))
    together = sr.evaluate(
        pa.Table.from_pandas(week[1], preserve_index=False),
        changes["metrics"],
        group=["user_id", "date"],
        score=SCORES,
        label="clicked",
        weight="weight",
        slices=SLICES,
        score_sums=True,
    )
    merged = window_table(tables, "metrics")
    pd.testing.assert_frame_equal(merged[VALUES], together.table.to_pandas()[VALUES], check_exact=True)
    assert len(merged[["slice", "slice_value"]].drop_duplicates()) == 1 + 3 + 9 + 3
    of_country = merged[(merged["slice"] == "country") & (merged["metric"] == "ap")].set_index("slice_value")[
        "n_groups"
    ]
    groups = week[1].drop_duplicates(["user_id", "date"])["country"].value_counts(dropna=False)
    for value in ("null", None, "no"):
        assert (of_country[of_country.index.isna() if value is None else value] == 2 * [groups[value]]).all()
    assert set(merged.loc[merged["slice_value"] == "game", "n_days"]) == {7}
    pd.testing.assert_frame_equal(window_table(tables, "blocks"), together.blocks.to_pandas(), check_exact=True)
    assert set(window_table(tables, "curves")["slice"]) == {"all", "country", "kind", "kind,country"}

    cli.main(merging(spec_of(tables, slices=["kind"], **changes)))  # fewer than the days have
    pd.testing.assert_frame_equal(
        window_table(tables, "metrics")[VALUES],
        merged.loc[merged["slice"].isin(["all", "kind"]), VALUES].reset_index(drop=True),
        check_exact=True,
    )
    evaluate(spec_of(tables, "other", slices=SLICES[:1], **changes), DAYS[2])
    capsys.readouterr()
    assert exit_code(*merging(conf)) == 4
    sentence = "the slice kind,country is missing on 2026-11-15: evaluate that day again, merge with --allow"
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("metric", "more"),
    [("auc", ["f1", "ap"]), ("ks(exact)", []), ("f1", []), ("ap", []), ("p90(ap)", []), ("gini@2", [])],
)
def test_one_metric_alone_has_every_value_of_a_slice(tmp_path: Path, metric: str, more: list[str]) -> None:
    """Whether the days have that metric alone or more."""
    changes = {"slices": ["country"], "input__columns__item": "item_id"}
    days = []
    for day in DAYS[:2]:
        rows = impressions_of(day, 100)
        days.append(rows.assign(item_id=[f"i{row % 50}" for row in range(len(rows))]))
        write_log(tmp_path, days[-1], day)
        evaluate(spec_of(tmp_path, metrics=[metric, *more], **changes), day)
    cli.main(merging(spec_of(tmp_path, metrics=[metric], **changes), last=DAYS[1]))
    together = sr.evaluate(
        pa.Table.from_pandas(pd.concat(days), preserve_index=False),
        [metric],
        group=["user_id", "date"],
        item="item_id",
        score=SCORES,
        label="clicked",
        slices=["country"],
    )
    merged = window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}")
    assert len(merged) == 2 * (1 + 3)
    pd.testing.assert_frame_equal(merged[VALUES], together.table.to_pandas()[VALUES], check_exact=True)


def test_a_window_of_one_day_is_the_day(tables: Path) -> None:
    cli.main(merging(spec_of(tables), first=DAYS[3], last=DAYS[3]))
    merged = window_table(tables, "metrics", f"{DAYS[3]}..{DAYS[3]}")
    day = pq.read_table(one_file(tables / f"tables/metrics/day={DAYS[3]}"), partitioning=None).to_pandas()
    pd.testing.assert_frame_equal(merged[VALUES], day[VALUES], check_exact=True)


def test_fewer_metrics_and_models_than_the_days_have(tables: Path) -> None:
    conf = spec_of(tables, metrics=["auc", "ap"], input__columns__score={"candidate": "renamed"})
    cli.main(merging(conf))
    merged = window_table(tables, "metrics")
    assert merged[["model", "metric"]].to_numpy().tolist() == [["candidate", "auc"], ["candidate", "ap"]]
    assert set(window_table(tables, "blocks")["rule"]) == {"bits=12"}


def test_slices_merge_too(tmp_path: Path) -> None:
    """A value of a slice that only some days have is no gap; the whole day must be there."""
    plan = Plan.of(["ap"], ["m"], ["u"], slices=[["country"]], uncertainty=Uncertainty(off=True))

    def write(day: str, values: dict[tuple[str, str], float]) -> None:
        sums = {whose: weighted_sums(np.array([value]), None) for whose, value in values.items()}
        counts = np.array([[1, 0, 1, 4]])
        rows = [MeanRows(SliceKey("m", of, [value], "ap"), counts, limbs) for (of, value), limbs in sums.items()]
        states = states_table(Partials(MeanStates.of(rows)), plan, "", blocks=False)

        def runs(files: list[dict[str, object]] | None, attempt_id: str) -> pa.Table:
            row = {"run_id": f"{day}-0", "files": files, "attempt_id": attempt_id}
            return pa.Table.from_pylist([row], schema=RUNS.schema)

        write_day(str(tmp_path), day, {"states": states, "runs": runs})

    write("2026-11-13", {("all", "all"): 0.5, ("country", "de"): 0.25})
    write("2026-11-14", {("all", "all"): 1.0, ("country", "fr"): 0.75})
    found = find_days(str(tmp_path), ["2026-11-13", "2026-11-14"])
    means = merge_stored(found, plan, "")[0].means.results()
    assert {key[1:3]: (mean.value, mean.n_groups, mean.n_rows) for key, mean in means.items()} == {
        ("all", "all"): ((0.5 + 1.0) / 2, 2, 8),
        ("country", "de"): (0.25, 1, 4),
        ("country", "fr"): (0.75, 1, 4),
    }
    write("2026-11-14", {("country", "fr"): 0.75})
    with pytest.raises(sr.StateError, match="2026-11-14 has no mean state of ap for the model m"):
        merge_stored(find_days(str(tmp_path), ["2026-11-13", "2026-11-14"]), plan, "")


def test_a_percentile_that_no_group_has_merges_as_undefined(tmp_path: Path) -> None:
    """Without a relevant row anywhere no group has a value, and the table of the days has no row of them."""
    conf = spec_of(tmp_path, metrics=["median(ap)", "ap"], slices=["country"])
    for day in DAYS[:2]:
        write_log(tmp_path, impressions_of(day, 60).assign(clicked=0), day)
        evaluate(conf, day)
    cli.main(merging(conf, last=DAYS[1]))
    merged = window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}").set_index(
        ["model", "slice", "slice_value", "metric"]
    )
    medians = merged.xs("median(ap)", level="metric")
    assert len(medians) == 2 * 4  # of two models, for the whole day and three countries
    assert medians["value"].isna().all()
    assert (medians["n_undefined"] == medians["n_groups"]).all()
    assert (medians["weight"] == 0).all()


def test_more_days_than_are_read_at_once(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrank.tables.stored import stored_days as stored

    cli.main(merging(spec_of(tables)))
    at_once = window_table(tables, "metrics")
    monkeypatch.setattr(stored, "DAYS_AT_ONCE", 3)
    cli.main(merging(spec_of(tables)))
    pd.testing.assert_frame_equal(window_table(tables, "metrics"), at_once, check_exact=True)
