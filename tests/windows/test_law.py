"""A window merged is its days evaluated together, through the command, by bits."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sparkrank import cli
from sparkrank.tables.stored import stored_days
from tests.windows.week import (
    DAY_METRICS,
    DAYS,
    SCORES,
    VALUES,
    WINDOW,
    assert_same,
    evaluate,
    impressions_of,
    merging,
    refused,
    spec_of,
    together,
    window_table,
    write_log,
)


def test_a_week_is_its_days_evaluated_together(tables: Path, week, monkeypatch, capsys) -> None:
    """The law through the job: the same bits as one evaluation of all rows, grouped by user and day."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", None)  # importing it fails
        cli.main(merging(spec_of(tables)))
    of_all, merged = together([week[1]]), window_table(tables, "metrics")
    assert_same(merged, of_all.table, VALUES)
    assert merged["n_groups"].max() > 25  # a user of several days is several groups
    assert merged["value"].notna().all()
    assert set(merged["n_days"]) == {7}
    pooling = dict(zip(merged["metric"], merged["pooling"], strict=True))
    assert pooling["ap"] == (
        "every (user_id, day) is a group of its own: 7 days pooled; standard errors cluster by user_id"
    )
    assert pooling["auc"] == "the rows of 7 days together; standard errors cluster by user_id"

    assert_same(window_table(tables, "blocks"), of_all.blocks)
    quality, counted = (
        frame.drop(columns=["limit", "ok"]) for frame in (window_table(tables, "quality"), of_all.quality.to_pandas())
    )
    # Which groups are the largest, and what they weigh, is known of the rows of a day alone: no state of it is stored.
    assert_same(quality, counted[~counted["check"].str.contains("largest group|of one group")])
    (run,) = window_table(tables, "runs").to_dict("records")
    assert (list(run["days"]), list(run["days_missing"]), run["rows"]) == (DAYS, [], len(week[1]))
    assert run["run_id"] == merged["run_id"].iloc[0]
    assert set(json.loads(run["versions"])) == {"sparkrank", "spark", "python", "numpy", "pyarrow", "loops"}
    assert WINDOW in capsys.readouterr().out


SLICES = ["country", ["kind", "country"], "kind"]


def test_a_week_by_slices(tables: Path, week, capsys) -> None:
    """The law through the job for every value of a slice, also one that a single day has."""
    metrics = ["ap", "p90(ndcg@5)", "gauc", "auc", "f1", "precision(at_recall=0.5)", "tpr(at_fpr=0.2,exact)"]
    changes = {"metrics": metrics, "input__columns__weight": "weight"}
    changes |= {"output__positions": 4, "output__gains": True}
    conf = spec_of(tables, "sliced", slices=SLICES, **changes)
    for day in DAYS:
        evaluate(conf, day)
    cli.main(merging(conf))
    beside = {"weight": "weight", "position_depth": 4, "gains": True, "curve_points": 1000}
    of_all, merged = together([week[1]], metrics, slices=SLICES, **beside), window_table(tables, "metrics")
    assert_same(merged, of_all.table, VALUES)
    assert of_all.positions is not None
    assert of_all.gains is not None
    assert_same(window_table(tables, "positions"), of_all.positions)
    assert_same(window_table(tables, "gains"), of_all.gains)
    assert len(merged[["slice", "slice_value"]].drop_duplicates()) == 1 + 3 + 9 + 3
    of_country = merged[(merged["slice"] == "country") & (merged["metric"] == "ap") & (merged["model"] == "production")]
    groups = week[1].drop_duplicates(["user_id", "date"])["country"].value_counts(dropna=False)
    counted = dict(zip(of_country["slice_value"], of_country["n_groups"], strict=True))
    assert counted == {value: groups[value] for value in ("null", None, "no")}
    assert set(merged.loc[merged["slice_value"] == "game", "n_days"]) == {7}
    assert_same(window_table(tables, "blocks"), of_all.blocks)
    curves = window_table(tables, "curves")
    assert_same(curves, of_all.curves)
    best = curves[curves["metric"] != "auc"]
    names = {"precision_at_recall(recall=0.5)", "tpr_at_fpr(fpr=0.2,exact)"}
    sliced = {"all", "country", "kind", "kind,country"}
    assert {(row.metric, row.slice) for row in best.itertuples()} == set(itertools.product(names, sliced))

    cli.main(merging(spec_of(tables, slices=["kind"], **changes)))  # fewer than the days have
    assert_same(window_table(tables, "metrics"), merged[merged["slice"].isin(["all", "kind"])], VALUES)
    evaluate(spec_of(tables, "other", slices=SLICES[:1], **changes), DAYS[2])
    sentence = "the slice kind,country is missing on 2026-11-15: evaluate that day again, merge with --allow"
    assert sentence in refused(capsys, *merging(conf))


MODEL = {"production": "score"}  # a probability
OWN_LABEL = {"column": "other", "label": "weighed", "among": "click"}
LABELS = {"click": "clicked", "weighed": "heavy"}
OF_LABELS = ["ap", "ap(label=weighed)", "auc", "auc(label=weighed,among=click)", "logloss(label=weighed)"]
OF_LABELS += ["p90(rr(among=click))", "cg(gain={click:1,weighed:0.5})@3"]
OF_ITEMS = ["coverage", "gini(items=60)@2", "novelty@2", "gini(discount=zipf)@2", "personalization@2", "entropy", "ap"]
OF_CHANCES = ["value(by=snips,clip=3)", "value", "value(per=group)", "r(propensity=snips,clip=0.2)@3"]
OF_CHANCES += ["ndcg(propensity=best)"]
OF_ATTENTION = ["exposure_gap(by=kind,discount=zipf)@3", "awrf(by=kind,ties=best)@3"]
OF_CHECKS = ["ndcg(label=weighed,checked_by=click)@3", "dcg(checked_by=weighed)"]
# each day has lists of one row with a label of 2 and four others
OF_SAMPLES = ["hit(sampled=4,items=60,rel=2)@20", "ndcg(sampled=4,items=60,rel=2,by=minimal_bias)"]
# Metrics, slices and columns of days that merge; of sums, bins, percentiles, parts, items, units and counts.
QUESTIONS: dict[str, tuple[list[str], list[str], dict[str, Any]]] = {
    "of the day": ([*DAY_METRICS, *OF_SAMPLES], [], {"score": MODEL}),
    "of the day, weighted": (DAY_METRICS, [], {"score": MODEL, "weight": "weight"}),
    "of several labels": (OF_LABELS, ["country"], {"label": LABELS, "score": MODEL}),
    "of models with labels": (
        ["ap", "auc", "p90(rr)", "gauc", "coverage(items=60)@2"],
        ["country"],
        {"label": LABELS, "score": {**SCORES, "own": OWN_LABEL}, "item": "item_id"},
    ),
    "of checked groups": (OF_CHECKS, [], {"label": LABELS, "score": MODEL}),
    "of items": (OF_ITEMS, [], {"item": "item_id"}),
    "of chances": (OF_CHANCES, ["kind"], {"score": MODEL, "propensity": "chance"}),
    "of attention": (OF_ATTENTION, ["country"], {}),
    **{f"{name} alone": ([name], ["country"], {}) for name in ("auc", "ks(exact)", "f1", "ap", "p90(ap)")},
}
OWN = {"blocks": None, "exposures": ["model", "slice", "slice_value", "value", "exposure", "due", "ratio"]}
OF_PROPENSITIES = ["effective sample size", "weights clipped", "mean weight of logged actions"]


def more_of(day: str) -> pd.DataFrame:
    """A day with another label, items, and chances of what is logged."""
    rows, draw = impressions_of(day, 200), np.random.default_rng(int(day[-2:]))
    items = [f"i{(7 * row + int(day[-2:])) % 50}" for row in range(len(rows))]
    return rows.assign(heavy=(rows["weight"] > 3).astype(int), item_id=items, chance=draw.uniform(0.1, 1, len(rows)))


def test_days_are_their_rows_evaluated_together(tmp_path: Path) -> None:
    """The bits of every metric, of what else has a table, and of what quality counts by weights."""
    days, window = [more_of(day) for day in DAYS[:3]], f"{DAYS[0]}..{DAYS[2]}"
    for name, (metrics, slices, columns) in QUESTIONS.items():
        (folder := tmp_path / name).mkdir()
        asked = {f"input__columns__{column}": own for column, own in columns.items()}
        conf = spec_of(folder, metrics=metrics, slices=slices, **asked)
        for day, rows in zip(DAYS, days, strict=False):
            write_log(folder, rows, day)
            evaluate(conf, day)
        cli.main(merging(conf, last=DAYS[2]))
        whole, merged = together(days, metrics, slices=slices, **columns), window_table(folder, "metrics", window)
        assert_same(merged, whole.table, VALUES)
        assert merged["value"].notna().all(), name
        for table, own in OWN.items():
            if (expected := getattr(whole, table)) is not None and len(expected):
                assert_same(window_table(folder, table, window), expected, own)
        of_window, of_rows = (
            frame[frame["check"].isin(OF_PROPENSITIES)][["check", "count", "fraction"]]
            for frame in (window_table(folder, "quality", window), whole.quality.to_pandas())
        )
        assert len(of_rows) == (3 if name == "of chances" else 0)
        assert_same(of_window, of_rows)
    of_checks = [
        together(days[:count], *QUESTIONS["of checked groups"][:1], label=LABELS, score=MODEL) for count in (1, 3)
    ]
    assert [row["ci_low"] is None for each in of_checks for row in each.table.to_pylist()] == [True] * 2 + [False] * 2


def test_a_percentile_that_no_group_has_merges_as_undefined(tmp_path: Path) -> None:
    """Without a relevant row anywhere no group has a value, and the table of the days has no row of them."""
    conf = spec_of(tmp_path, metrics=["median(ap)", "ap"], slices=["country"])
    for day in DAYS[:2]:
        write_log(tmp_path, impressions_of(day, 60).assign(clicked=0), day)
        evaluate(conf, day)
    cli.main(merging(conf, last=DAYS[1]))
    medians = window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}").query("metric == 'median(ap)'")
    assert len(medians) == 2 * 4  # of two models, for the whole day and three countries
    assert (medians["value"].isna() & (medians["n_undefined"] == medians["n_groups"]) & (medians["weight"] == 0)).all()


def test_fewer_metrics_and_models_than_the_days_have(tables: Path) -> None:
    conf = spec_of(tables, metrics=["auc", "ap"], input__columns__score={"candidate": "renamed"})
    cli.main(merging(conf))
    merged = window_table(tables, "metrics")
    assert merged[["model", "metric"]].to_numpy().tolist() == [["candidate", "auc"], ["candidate", "ap"]]
    assert set(window_table(tables, "blocks")["rule"]) == {"bits=12"}


def test_more_days_than_are_read_at_once(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.main(merging(spec_of(tables)))
    at_once = window_table(tables, "metrics")
    monkeypatch.setattr(stored_days, "DAYS_AT_ONCE", 3)
    cli.main(merging(spec_of(tables)))
    assert_same(window_table(tables, "metrics"), at_once)


def test_positions_merge_to_the_depth_that_all_days_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def asking(depth: int | bool, metrics: list[str]) -> str:
        return spec_of(tmp_path, metrics=metrics, output__positions=depth)

    days, metrics = [impressions_of(day, 60) for day in DAYS[:2]], ["ap", "rr(rel=2)"]
    for day, rows, depth in zip(DAYS, days, (True, 3), strict=False):  # of the first day all 50
        write_log(tmp_path, rows, day)
        evaluate(asking(depth, metrics), day)
    cli.main(merging(asking(2, metrics), last=DAYS[1]))
    of_all = together(days, metrics, position_depth=2).positions
    assert of_all is not None
    assert of_all.num_rows == 2 * 2  # models and positions
    assert_same(window_table(tmp_path, "positions", f"{DAYS[0]}..{DAYS[1]}"), of_all)

    sentence = f"{DAYS[1]} has no sum state of output.positions for the model production: evaluate that day again, or "
    assert f"{sentence}leave output.positions out" in refused(capsys, *merging(asking(4, metrics), last=DAYS[1]))
    of_other_level = refused(capsys, *merging(asking(2, metrics[1:]), last=DAYS[1]))
    assert 'output.positions of 2026-11-13 was evaluated as "relevant rows (label > 0); ties=' in of_other_level


def test_items_of_another_column_are_not_counted_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What has no item does not mind of which column they were."""
    columns = ("item_id", "sku")
    specs = [spec_of(tmp_path, column, metrics=["gini@2", "ap"], input__columns__item=column) for column in columns]
    for day, spec in zip(DAYS, specs, strict=False):
        rows = impressions_of(day, 30)
        write_log(tmp_path, rows.assign(item_id=np.arange(30) % 7, sku=np.arange(30) % 5), day)
        evaluate(spec, day)
    assert (
        f'gini@2 of {DAYS[0]} was evaluated as "k=2 of item_id; ties=expected, undefined=skip", and the spec asks for '
        f'"k=2 of sku; ties=expected, undefined=skip"'
    ) in refused(capsys, *merging(specs[1], last=DAYS[1]))
    cli.main([*merging(specs[1], last=DAYS[1]), "--set", "metrics=[ap]"])
