"""Counts of items over windows: coverage, gini and novelty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sparkrank import cli
from tests.windows.week import (
    DAYS,
    VALUES,
    assert_same,
    evaluate,
    exit_code,
    impressions_of,
    merging,
    spec_of,
    together,
    window_table,
    write_log,
)


def test_counts_of_items_merge_over_days(tmp_path: Path) -> None:
    metrics = ["coverage", "gini(items=60)@2", "novelty@2", "ap"]
    spec = spec_of(tmp_path, metrics=metrics, input__columns__item="item_id")
    days = []
    for day in DAYS[:3]:
        rows = impressions_of(day, 200)
        days.append(rows.assign(item_id=[f"i{(7 * row + int(day[-2:])) % 50}" for row in range(len(rows))]))
        write_log(tmp_path, days[-1], day)
        evaluate(spec, day)
    cli.main(merging(spec, last=DAYS[2]))
    merged = window_table(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[2]}")
    assert_same(merged, together(days, metrics, item="item_id").table, VALUES)
    assert merged["value"].notna().all()


def test_items_of_another_column_are_not_counted_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What has no item does not mind of which column they were."""
    columns = ("item_id", "sku")
    specs = [spec_of(tmp_path, column, metrics=["gini@2", "ap"], input__columns__item=column) for column in columns]
    for day, spec in zip(DAYS, specs, strict=False):
        rows = impressions_of(day, 30)
        write_log(tmp_path, rows.assign(item_id=np.arange(30) % 7, sku=np.arange(30) % 5), day)
        evaluate(spec, day)
    assert exit_code(*merging(specs[1], last=DAYS[1])) == 4
    assert (
        f'gini@2 of {DAYS[0]} was evaluated as "k=2 of item_id; ties=expected, undefined=skip", and the spec asks for '
        f'"k=2 of sku; ties=expected, undefined=skip"'
    ) in capsys.readouterr().err
    cli.main([*merging(specs[1], last=DAYS[1]), "--set", "metrics=[ap]"])
