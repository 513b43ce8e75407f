"""Windows of days, through the command: merged from stored states, or refused in one sentence."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from sparkrank import cli, loops
from sparkrank.errors import InputError
from sparkrank.metrics import Plan
from sparkrank.pipeline import merge_days
from sparkrank.pipeline.runs import WINDOW_RUNS, runs_table
from sparkrank.spec import load_spec
from sparkrank.stages import Stages
from sparkrank.states import MeanStates, Partials
from sparkrank.states.keys import SliceKey
from sparkrank.states.means import MeanRows, weighted_sums
from sparkrank.tables import days
from sparkrank.tables.results import Origin
from sparkrank.tables.states import states_table
from sparkrank.tables.stored import find_days, merge_stored
from sparkrank.tables.windows import Window

DAYS = [f"2026-11-{day}" for day in range(13, 20)]
WINDOW = f"{DAYS[0]}..{DAYS[-1]}"
METRICS = [
    "ndcg@5",
    "ap",
    "rr",
    "p@3",
    "p90(ndcg@5)",
    "median(gauc)",
    "gauc",
    "auc",
    "auc(exact,rel=2)",
    "auc_up(digits=1)",
]
DAY_METRICS = ["auc", "pr_auc(exact)", "auc_up(min_rows=20)", "f1(threshold=0.25)", "copc", "brier", "logloss", "ece"]
SCORES = {"production": "score", "candidate": "other"}
VALUES = ["model", "slice", "slice_value", "metric", "value", "ci_low", "ci_high", "stderr", "n_groups", "n_undefined"]
VALUES += ["n_rows", "weight", "error_bound", "definition"]


def _impressions(day: str, rows: int) -> pd.DataFrame:
    draw = np.random.default_rng(int(day[-2:]))
    other = draw.normal(size=rows)
    user = draw.integers(0, 25, rows)
    return pd.DataFrame(
        {
            "user_id": user,
            "score": draw.random(rows).round(2),
            "other": np.where(draw.random(rows) < 0.1, np.nan, other),
            "clicked": draw.choice([0, 0, 0, 1, 2], rows),
            "weight": draw.exponential(3, rows),
            "kind": draw.choice(["film", "book", "game"][: 3 if day == DAYS[2] else 2], rows),
            "country": np.array(["de", "fr", "no"])[draw.integers(0, 3, 25)][user],
            "date": day,
        }
    )


def _spec(folder: Path, name: str = "spec", **changes: object) -> str:
    document: dict = {
        "input": {
            "path": f"{folder}/log/dt={{date}}",
            "columns": {"group": "user_id", "label": "clicked", "score": dict(SCORES)},
        },
        "metrics": METRICS,
        "output": {"path": str(folder / "tables")},
        "engine": {"lane": "local"},
    }
    for key, value in changes.items():
        *parents, last = key.split("__")
        place = document
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return str(path)


def _write(folder: Path, rows: pd.DataFrame, day: str) -> None:
    table = pa.Table.from_pandas(rows.drop(columns="date"), preserve_index=False)  # NaN becomes null: not retrieved
    (folder / f"log/dt={day}").mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / f"log/dt={day}/0.parquet")


def _run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--debug"])
    return int(ended.value.code or 0)


def _evaluate(conf: str, day: str) -> None:
    cli.main(["evaluate", "--conf", conf, "--date", day])


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Seven evaluated days of different sizes, and all their rows."""
    folder = tmp_path_factory.mktemp("week")
    days = [_impressions(day, 150 + 40 * index) for index, day in enumerate(DAYS)]
    for rows in days:
        _write(folder, rows, rows["date"].iloc[0])
        _evaluate(_spec(folder), rows["date"].iloc[0])
    return folder, pd.concat(days)


@pytest.fixture
def tables(week: tuple[Path, pd.DataFrame], tmp_path: Path) -> Path:
    """A copy of the days that a test may spoil, beside the log that they come from."""
    shutil.copytree(week[0], tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


def _merge(conf: str, *more: str, first: str = DAYS[0], last: str = DAYS[-1]) -> list[str]:
    return ["merge", "--conf", conf, "--from", first, "--to", last, *more]


def _window(folder: Path, table: str, window: str = WINDOW) -> pd.DataFrame:
    return pq.read_table(
        folder / f"tables/windows/{table}/window={window}/part-0.parquet", partitioning=None
    ).to_pandas()


def test_a_week_is_its_days_evaluated_together(tables: Path, week, monkeypatch, capsys) -> None:
    """The law through the job: the same bits as one evaluation of all rows, grouped by user and day."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", None)  # importing it fails
        cli.main(_merge(_spec(tables)))
    together = sr.evaluate(
        pa.Table.from_pandas(week[1], preserve_index=False),
        METRICS,
        group=["user_id", "date"],
        score=SCORES,
        label="clicked",
        score_sums=True,
    )
    merged = _window(tables, "metrics")
    expected = together.to_pandas()
    pd.testing.assert_frame_equal(merged[VALUES], expected[VALUES], check_exact=True)
    assert merged["n_groups"].max() > 25  # a user of several days is several groups
    assert merged["value"].notna().all()
    assert set(merged["n_days"]) == {7}
    pooling = dict(zip(merged["metric"], merged["pooling"], strict=True))
    assert pooling["ap"] == "every (user_id, day) is a group of its own: 7 days pooled"
    assert pooling["auc"] == "the rows of 7 days together"

    blocks, of_all = _window(tables, "blocks"), together.blocks.to_pandas()
    pd.testing.assert_frame_equal(blocks, of_all, check_exact=True)
    quality, counted = (
        frame.drop(columns=["limit", "ok"]) for frame in (_window(tables, "quality"), together.quality.to_pandas())
    )
    pd.testing.assert_frame_equal(quality, counted, check_exact=True)
    (run,) = _window(tables, "runs").to_dict("records")
    assert (list(run["days"]), list(run["days_missing"]), run["rows"]) == (DAYS, [], len(week[1]))
    assert run["run_id"] == merged["run_id"].iloc[0]
    assert set(json.loads(run["versions"])) == {"sparkrank", "spark", "python", "numpy", "pyarrow", "loops"}
    assert WINDOW in capsys.readouterr().out


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_week_of_metrics_of_the_day(tables: Path, week, weight: str | None) -> None:
    """Row sums, and blocks of rows with weights, through the job: the same bits as all rows evaluated together."""
    scores = {"production": "score"}  # a probability
    changes = {"metrics": DAY_METRICS, "input__columns__score": scores, "input__columns__weight": weight}
    conf = _spec(tables, **changes, output__path=f"{tables}/tables")
    for day in DAYS:
        _evaluate(conf, day)
    cli.main(_merge(conf))
    together = sr.evaluate(
        pa.Table.from_pandas(week[1], preserve_index=False),
        DAY_METRICS,
        group=["user_id", "date"],
        score=scores,
        label="clicked",
        weight=weight,
        score_sums=True,
    )
    merged, expected = _window(tables, "metrics"), together.to_pandas()
    pd.testing.assert_frame_equal(merged[VALUES], expected[VALUES], check_exact=True)
    assert merged["value"].notna().all()
    pd.testing.assert_frame_equal(_window(tables, "blocks"), together.blocks.to_pandas(), check_exact=True)


SLICES = ["country", ["kind", "country"], "kind"]


def test_a_week_by_slices(tables: Path, week, capsys) -> None:
    """The law through the job for every value of a slice, also one that a single day has."""
    changes = {"metrics": [*METRICS, "f1"], "input__columns__weight": "weight"}
    conf = _spec(tables, "sliced", slices=SLICES, **changes)
    for day in DAYS:
        _evaluate(conf, day)
    cli.main(_merge(conf))
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
    merged = _window(tables, "metrics")
    pd.testing.assert_frame_equal(merged[VALUES], together.to_pandas()[VALUES], check_exact=True)
    assert len(merged[["slice", "slice_value"]].drop_duplicates()) == 1 + 3 + 9 + 3
    assert set(merged.loc[merged["slice_value"] == "game", "n_days"]) == {7}
    pd.testing.assert_frame_equal(_window(tables, "blocks"), together.blocks.to_pandas(), check_exact=True)
    assert set(_window(tables, "curves")["slice"]) == {"all", "country", "kind", "kind,country"}

    cli.main(_merge(_spec(tables, slices=["kind"], **changes)))  # fewer than the days have
    pd.testing.assert_frame_equal(
        _window(tables, "metrics")[VALUES],
        merged.loc[merged["slice"].isin(["all", "kind"]), VALUES].reset_index(drop=True),
        check_exact=True,
    )
    _evaluate(_spec(tables, "other", slices=SLICES[:1], **changes), DAYS[2])
    capsys.readouterr()
    assert _run(*_merge(conf)) == 4
    sentence = "2026-11-15 has no mean state of p90(ndcg@5) for the model production by kind,country: evaluate that day"
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["f1", "ap"]])
@pytest.mark.parametrize("metric", ["auc", "ks(exact)", "f1", "ece", "ap", "p90(ap)", "gini@2"])
def test_one_metric_alone_has_every_value_of_a_slice(tmp_path: Path, metric: str, more: list[str]) -> None:
    """Whether the days have that metric alone or more."""
    changes = {"slices": ["country"], "input__columns__item": "item_id"}
    days = []
    for day in DAYS[:2]:
        rows = _impressions(day, 100)
        days.append(rows.assign(item_id=[f"i{row % 50}" for row in range(len(rows))]))
        _write(tmp_path, days[-1], day)
        _evaluate(_spec(tmp_path, metrics=[metric, *more], **changes), day)
    cli.main(_merge(_spec(tmp_path, metrics=[metric], **changes), last=DAYS[1]))
    together = sr.evaluate(
        pa.Table.from_pandas(pd.concat(days), preserve_index=False),
        [metric],
        group=["user_id", "date"],
        item="item_id",
        score=SCORES,
        label="clicked",
        slices=["country"],
    )
    merged = _window(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}")
    assert len(merged) == 2 * (1 + 3)
    pd.testing.assert_frame_equal(merged[VALUES], together.to_pandas()[VALUES], check_exact=True)


def test_counts_of_items_merge_over_days(tmp_path: Path) -> None:
    metrics = ["coverage", "gini(items=60)@2", "novelty@2", "ap"]
    spec = _spec(tmp_path, metrics=metrics, input__columns__item="item_id")
    days = []
    for day in DAYS[:3]:
        rows = _impressions(day, 200)
        days.append(rows.assign(item_id=[f"i{(7 * row + int(day[-2:])) % 50}" for row in range(len(rows))]))
        _write(tmp_path, days[-1], day)
        _evaluate(spec, day)
    cli.main(_merge(spec, last=DAYS[2]))
    together = sr.evaluate(
        pa.Table.from_pandas(pd.concat(days), preserve_index=False),
        metrics,
        group=["user_id", "date"],
        item="item_id",
        score=SCORES,
        label="clicked",
        score_sums=True,
    )
    merged = _window(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[2]}")
    pd.testing.assert_frame_equal(merged[VALUES], together.to_pandas()[VALUES], check_exact=True)
    assert merged["value"].notna().all()


def test_items_of_another_column_are_not_counted_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What has no item does not mind of which column they were."""
    specs = [
        _spec(tmp_path, column, metrics=["gini@2", "ap"], input__columns__item=column) for column in ("item_id", "sku")
    ]
    for day, spec in zip(DAYS, specs, strict=False):
        rows = _impressions(day, 30)
        _write(tmp_path, rows.assign(item_id=np.arange(30) % 7, sku=np.arange(30) % 5), day)
        _evaluate(spec, day)
    with pytest.raises(SystemExit) as refused:
        cli.main(_merge(specs[1], last=DAYS[1]))
    assert refused.value.code == 4
    assert (
        f'gini@2 of {DAYS[0]} was evaluated as "k=2 of item_id; ties=expected, undefined=skip", and the spec asks for '
        f'"k=2 of sku; ties=expected, undefined=skip"'
    ) in capsys.readouterr().err
    cli.main([*_merge(specs[1], last=DAYS[1]), "--set", "metrics=[ap]"])


def test_a_day_without_any_item_adds_none(tmp_path: Path) -> None:
    """Of the second day no row is judged, so none is left, for the whole day or a country; it is a day all the same."""
    metrics = ["coverage", "gini@2", "novelty"]
    spec = _spec(
        tmp_path,
        metrics=metrics,
        slices=["country"],
        input__columns__item="item_id",
        definitions={"unjudged": "drop", "ties": "worst"},
    )
    days = [_impressions(day, 60) for day in DAYS[:2]]
    days[1]["clicked"] = np.nan
    for day, rows in zip(DAYS, days, strict=False):
        rows["item_id"] = np.arange(60) % 7
        _write(tmp_path, rows, day)
        _evaluate(spec, day)
    cli.main(_merge(spec, last=DAYS[1]))
    together = sr.evaluate(
        pa.Table.from_pandas(pd.concat(days), preserve_index=False),
        metrics,
        group=["user_id", "date"],
        item="item_id",
        score=SCORES,
        label="clicked",
        slices=["country"],
        unjudged="drop",
        ties="worst",
    )
    merged = _window(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}")
    pd.testing.assert_frame_equal(merged[VALUES], together.to_pandas()[VALUES], check_exact=True)
    assert merged.loc[merged["metric"] == "coverage", "value"].eq(1).all()  # on the first day alone, seven of seven


def test_a_window_again_leaves_the_same_bits_and_the_days_alone(tables: Path) -> None:
    def days_of(table: str) -> pd.DataFrame:
        return ds.dataset(tables / f"tables/{table}", partitioning="hive").to_table().to_pandas()

    before = {name: days_of(name) for name in ("metrics", "quality", "runs", "states", "blocks")}
    cli.main(_merge(_spec(tables)))
    first = {name: _window(tables, name) for name in ("metrics", "quality", "blocks")}
    cli.main(_merge(_spec(tables)))
    cli.main(_merge(_spec(tables), last=DAYS[2]))
    for name, frame in first.items():
        pd.testing.assert_frame_equal(_window(tables, name), frame, check_exact=True)
    for name, frame in before.items():
        pd.testing.assert_frame_equal(days_of(name), frame, check_exact=True)
    windows = ds.dataset(tables / "tables/windows/metrics", partitioning="hive").to_table()
    assert set(windows["window"].to_pylist()) == {WINDOW, f"{DAYS[0]}..{DAYS[2]}"}


def test_a_window_of_one_day_is_the_day(tables: Path) -> None:
    cli.main(_merge(_spec(tables), first=DAYS[3], last=DAYS[3]))
    merged = _window(tables, "metrics", f"{DAYS[3]}..{DAYS[3]}")
    day = pq.read_table(tables / f"tables/metrics/day={DAYS[3]}/part-0.parquet", partitioning=None).to_pandas()
    pd.testing.assert_frame_equal(merged[VALUES], day[VALUES], check_exact=True)


def test_fewer_metrics_and_models_than_the_days_have(tables: Path) -> None:
    conf = _spec(tables, metrics=["auc", "ap"], input__columns__score={"candidate": "renamed"})
    cli.main(_merge(conf))
    merged = _window(tables, "metrics")
    assert merged[["model", "metric"]].to_numpy().tolist() == [["candidate", "auc"], ["candidate", "ap"]]
    assert set(_window(tables, "blocks")["rule"]) == {"bits=12"}


def _lose(tables: Path, *days: str) -> None:
    for day in days:
        (tables / f"tables/_days/{day}").unlink()


def test_the_source_of_states_leaves_out_what_may_change(tmp_path: Path) -> None:
    columns = {"group": ["user_id", "session"], "label": "clicked", "score": SCORES, "item": "item_id"}
    spec = load_spec(_spec(tmp_path, input__columns=columns))
    assert spec.source() == "group=user_id, group=session, label=clicked"


@pytest.mark.parametrize(("compiled", "named"), [(True, "compiled"), (False, "numpy")])
def test_a_run_says_whether_it_had_the_compiled_loops(tmp_path: Path, monkeypatch, compiled: bool, named: str) -> None:
    """Where one of two machines is slow, its ``versions`` tell why."""
    monkeypatch.setattr(loops, "COMPILED", compiled)
    now = dt.datetime(2026, 11, 20, tzinfo=dt.timezone.utc)
    table = runs_table(WINDOW_RUNS, load_spec(_spec(tmp_path)), Origin("hash", "run"), now, Stages(), None)
    assert json.loads(table["versions"][0].as_py())["loops"] == named


def test_missing_days(tables: Path, capsys) -> None:
    cli.main(_merge(_spec(tables)))
    whole_week = _window(tables, "runs")["run_id"].iloc[0]
    shutil.rmtree(tables / "tables/windows")
    _lose(tables, DAYS[1], DAYS[3], DAYS[4])
    assert _run(*_merge(_spec(tables))) == 4
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("sparkrank: 2026-11-14, 2026-11-16..2026-11-17 of 2026-11-13..2026-11-19 have no states")
    with pytest.raises(InputError, match="have no states"):
        merge_days(load_spec(_spec(tables)), Window.of(DAYS[0], DAYS[-1]), None, Stages())
    assert not (tables / "tables/windows").exists()

    cli.main(_merge(_spec(tables), "--allow-missing"))
    (run,) = _window(tables, "runs").to_dict("records")
    assert run["run_id"] != whole_week
    assert list(run["days"]) == [DAYS[0], DAYS[2], *DAYS[5:]]
    assert list(run["days_missing"]) == [DAYS[1], DAYS[3], DAYS[4]]
    assert set(_window(tables, "metrics")["n_days"]) == {4}
    assert "Missing: 2026-11-14, 2026-11-16..2026-11-17" in capsys.readouterr().out


def test_no_day_at_all_is_an_error_always(tables: Path, capsys) -> None:
    conf = _spec(tables, output__path=str(tables / "elsewhere"))
    assert _run(*_merge(conf, "--allow-missing")) == 4
    assert f"no day of {WINDOW} has states under {tables}/elsewhere" in capsys.readouterr().err
    assert not (tables / "elsewhere").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--from", "2026-11-19", "--to", "2026-11-13"], "--from 2026-11-19 is after --to 2026-11-13"),
        (["--from", "13.11.2026", "--to", "2026-11-13"], "--from 13.11.2026 is not a day of the form YYYY-MM-DD"),
        (["--from", "2026-11-13", "--to", "2026-11-31"], "--to 2026-11-31 is not a day of the form YYYY-MM-DD"),
        (["--from", "2026-11-13"], "Missing option '--to'"),
        (["--from", "0026-11-13", "--to", "2026-11-13"], "is a window of 730486 days: at most 36525 are allowed"),
    ],
)
def test_a_wrong_window_is_exit_2(week, capsys, arguments: list[str], sentence: str) -> None:
    assert _run("merge", "--conf", _spec(week[0]), *arguments) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"definitions__ties": "worst"},
            'ap of 2026-11-15 was evaluated as "ap(over=relevant); ties=worst, undefined=skip", and the spec asks for',
        ),
        ({"definitions__undefined": "zero"}, "undefined=zero"),
        (
            {"metrics": METRICS[:2] + METRICS[3:]},
            "2026-11-15 has no mean state of rr for the model production: evaluate that day again, or leave rr out of",
        ),
        (
            {"metrics": [*METRICS[:-1], "auc_up(digits=2)"]},
            "2026-11-15 has no blocks state of auc_up(digits=1) for the model production",
        ),
        (
            {"metrics": [each for each in METRICS if not each.startswith(("p90", "median"))]},
            "2026-11-15 has no distributions state of p90(ndcg@5) for the model production",
        ),
        (
            {"input__columns__score": {"production": "score"}},
            "2026-11-15 has no mean state of p90(ndcg@5) for the model candidate",
        ),
        (
            {"output__blocks": False},
            "has no blocks state of auc for the model production: evaluate that day again with output.blocks: true, or",
        ),
        (
            {"input__where": "clicked < 2"},
            "of source group=user_id, label=clicked, where clicked < 2, and the spec asks for group=user_id",
        ),
    ],
    ids=str,
)
def test_a_day_of_another_definition_is_refused(tables: Path, capsys, changes: dict, sentence: str) -> None:
    _evaluate(_spec(tables, "other", **changes), DAYS[2])
    assert _run(*_merge(_spec(tables), "--allow-missing")) == 4
    assert sentence in capsys.readouterr().err.splitlines()[-1]
    assert not (tables / "tables/windows").exists()


@pytest.mark.parametrize(("metric", "meant"), [("ap", "ap(over=relevant)"), ("rr", "rr")])
def test_one_state_of_another_definition_is_refused(tables: Path, capsys, metric: str, meant: str) -> None:
    """Wherever it stands among those of its day, and where nothing else is asked for."""
    _evaluate(_spec(tables, "other", metrics=["ap", "rr"], definitions__ties="worst"), DAYS[2])
    assert _run(*_merge(_spec(tables, metrics=[metric]), first=DAYS[2], last=DAYS[2])) == 4
    assert capsys.readouterr().err.splitlines()[-1] == (
        f'sparkrank: {metric} of 2026-11-15 was evaluated as "{meant}; ties=worst, undefined=skip", and the spec asks '
        f'for "{meant}; ties=expected, undefined=skip": evaluate that day again, or ask for what it holds'
    )


def _spoil(tables: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    path = tables / f"tables/{table}/day={DAYS[2]}/part-0.parquet"
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)


def test_states_of_another_version_are_refused(tables: Path, capsys) -> None:
    _spoil(tables, "states", lambda rows: rows.set_column(1, "version", pc.subtract(rows["version"], 1)))
    assert _run(*_merge(_spec(tables))) == 4
    assert (
        "the states of 2026-11-15 are of version 0, and this sparkrank reads version 1: evaluate that day again"
        in capsys.readouterr().err
    )


def test_blocks_that_are_not_whole_are_refused(tables: Path, capsys) -> None:
    _spoil(tables, "blocks", lambda rows: rows[1:])
    assert _run(*_merge(_spec(tables))) == 4
    assert (
        "2026-11-15 has 650 rows of blocks where its states tell of 651: evaluate that day again"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("table", "column"), [("states", "wv_3"), ("states", "definition"), ("states", "n_blocks"), ("blocks", "offset")]
)
@pytest.mark.parametrize("is_there", [False, True], ids=["dropped", "null"])
def test_a_table_without_a_column_is_refused(tables: Path, capsys, table: str, column: str, is_there: bool) -> None:
    def spoilt(rows: pa.Table) -> pa.Table:
        index, field = rows.schema.get_field_index(column), rows.schema.field(column)
        others = rows.drop_columns([column])
        return others.add_column(index, field, pa.nulls(len(rows), field.type)) if is_there else others

    _spoil(tables, table, spoilt)
    assert _run(*_merge(_spec(tables))) == 4
    assert f"the table {table} of 2026-11-15 lacks {column}: evaluate that day again" in capsys.readouterr().err


def test_a_column_of_states_that_a_day_has_none_of_may_lack(tables: Path) -> None:
    """What a day of before a new type of state looks like."""
    conf = _spec(tables, metrics=["ap"])
    cli.main(_merge(conf))
    expected = _window(tables, "metrics")

    def older(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.not_equal(rows["kind"], "blocks")).drop_columns(["n_blocks"])

    _spoil(tables, "states", older)
    cli.main(_merge(conf))
    pd.testing.assert_frame_equal(_window(tables, "metrics"), expected, check_exact=True)


@pytest.mark.parametrize("table", ["states", "blocks"])
@pytest.mark.parametrize("size", [0, 7, 1000])
def test_a_truncated_file_is_refused(tables: Path, capsys, table: str, size: int) -> None:
    path = tables / f"tables/{table}/day={DAYS[2]}/part-0.parquet"
    path.write_bytes(path.read_bytes()[:size])
    assert _run(*_merge(_spec(tables))) == 4
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("sparkrank: ")
    assert DAYS[2] in told


def test_a_day_replaced_meanwhile_is_named(tables: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrank.pipeline import merge

    find = merge.find_days

    def found_and_replaced(*arguments):
        found = find(*arguments)
        _evaluate(_spec(tables), DAYS[2])
        return found

    monkeypatch.setattr(merge, "find_days", found_and_replaced)
    assert _run(*_merge(_spec(tables))) == 4
    assert "2026-11-15 was evaluated again while it was read: merge once more" in capsys.readouterr().err


def test_an_output_of_each_day(tables: Path) -> None:
    """{date} in output.path: every day has its own place, and so has the window."""
    conf = _spec(tables, output__path=f"{tables}/by/{{date}}")
    for day in DAYS[:2]:
        _evaluate(conf, day)
    cli.main(_merge(conf, last=DAYS[1]))
    window = f"{DAYS[0]}..{DAYS[1]}"
    path = tables / f"by/{window}/windows/metrics/window={window}/part-0.parquet"
    assert set(pq.read_table(path, partitioning=None)["n_days"].to_pylist()) == {2}


def test_more_days_than_are_read_at_once(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrank.tables import stored

    cli.main(_merge(_spec(tables)))
    at_once = _window(tables, "metrics")
    monkeypatch.setattr(stored, "DAYS_AT_ONCE", 3)
    cli.main(_merge(_spec(tables)))
    pd.testing.assert_frame_equal(_window(tables, "metrics"), at_once, check_exact=True)


def test_slices_merge_too(tmp_path: Path) -> None:
    """A value of a slice that only some days have is no gap; the whole day must be there."""
    plan = Plan.of(["ap"], ["m"], ["u"], slices=[["country"]])

    def write(day: str, values: dict[tuple[str, str], float]) -> None:
        sums = {whose: weighted_sums(np.array([value]), None) for whose, value in values.items()}
        counts = np.array([[1, 0, 1, 4]])
        rows = [MeanRows(SliceKey("m", of, [value], "ap"), counts, limbs) for (of, value), limbs in sums.items()]
        states = states_table(Partials(MeanStates.of(rows)), plan, "", blocks=False)
        days.write_day(str(tmp_path), day, {"states": states})

    write("2026-11-13", {("all", "all"): 0.5, ("country", "de"): 0.25})
    write("2026-11-14", {("all", "all"): 1.0, ("country", "fr"): 0.75})
    found = find_days(str(tmp_path), ["2026-11-13", "2026-11-14"])
    means = merge_stored(found, plan, "").means.results()
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
    conf = _spec(tmp_path, metrics=["median(ap)", "ap"], slices=["country"])
    for day in DAYS[:2]:
        _write(tmp_path, _impressions(day, 60).assign(clicked=0), day)
        _evaluate(conf, day)
    cli.main(_merge(conf, last=DAYS[1]))
    merged = _window(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}").set_index(
        ["model", "slice", "slice_value", "metric"]
    )
    medians = merged.xs("median(ap)", level="metric")
    assert len(medians) == 2 * 4  # of two models, for the whole day and three countries
    assert medians["value"].isna().all()
    assert (medians["n_undefined"] == medians["n_groups"]).all()
    assert (medians["weight"] == 0).all()


def test_what_makes_a_label_is_part_of_the_source_and_of_the_hash(tmp_path: Path) -> None:
    """States of labels that were made otherwise do not merge; where the rows lie may change."""
    conf = tmp_path / "spec.yaml"
    conf.write_text(
        "input: {path: lists, columns: {group: user, item: item, score: {m: s}}}\nmetrics: [rr]\n"
        "output: {path: tables}\ntruth: {path: orders, where: a > 1, columns: {label: quantity}}\n"
    )
    joined = load_spec(conf)
    lists, truth = "group=user, item=item", "truth group=user, truth label=quantity, truth item=item"
    assert joined.source() == f"{lists}, {truth}, truth where a > 1"
    by_other_items = ("input.columns.item=product", "truth.columns.item=product")
    for override in ("truth.columns.label=price", "truth.where=a > 2", *by_other_items):
        other = load_spec(conf, [override])
        assert other.source() != joined.source()
        assert other.hash() != joined.hash()
    assert load_spec(conf, ["truth.path=elsewhere"]).source() == joined.source()
    conf.write_text(
        "input: {path: x, columns: {group: user, items: {m: list}, true_items: bought}}\nmetrics: [rr]\n"
        "output: {path: tables}\n"
    )
    of_arrays = load_spec(conf).source()
    assert of_arrays == "group=user, true items=bought, relevance=membership"
    ranked = load_spec(conf, ["input.columns.relevance=reciprocal_rank"]).source()
    assert ranked == "group=user, true items=bought, relevance=reciprocal_rank"


@pytest.mark.parametrize("setting", ["ties=item", "duplicates=first"])
def test_the_item_is_part_of_the_source_where_it_decides(tmp_path: Path, setting: str) -> None:
    columns = {"group": "user_id", "label": "clicked", "score": SCORES, "item": "item_id"}
    conf = _spec(tmp_path, input__columns=columns)
    assert load_spec(conf).source() == "group=user_id, label=clicked"
    assert load_spec(conf, [f"definitions.{setting}"]).source() == "group=user_id, label=clicked, item=item_id"


def test_a_day_of_scores_does_not_merge_with_a_day_of_ranks(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same columns mean the opposite: a mean over both would be of neither order."""
    ranks = {"group": "user_id", "label": "clicked", "rank": dict(SCORES)}
    assert _run(*_merge(_spec(tables, input__columns=ranks))) == 4
    told = capsys.readouterr().err.splitlines()[-1]
    assert "of source group=user_id, label=clicked, and the spec asks for group=user_id, label=clicked, models" in told


def test_a_day_of_bad_rows_alone_merges_though_its_slices_have_no_value(tmp_path: Path) -> None:
    """It has nothing to say of any country, and evaluating it again would not change that."""
    conf = _spec(tmp_path, slices=["country"], quality={"max_bad_fraction": 1.0})
    for index, day in enumerate(DAYS[:2]):
        rows = _impressions(day, 60)
        (tmp_path / f"log/dt={day}").mkdir(parents=True)
        rows["user_id"] = None if index else rows["user_id"]
        pq.write_table(pa.Table.from_pandas(rows), tmp_path / f"log/dt={day}/part-0.parquet")
        _evaluate(conf, day)
    cli.main(_merge(conf, last=DAYS[1]))
    found = _window(tmp_path, "metrics", f"{DAYS[0]}..{DAYS[1]}")
    alone = pq.read_table(tmp_path / f"tables/metrics/day={DAYS[0]}/part-0.parquet", partitioning=None).to_pandas()
    names = ["slice", "slice_value", "metric", "value", "n_groups"]
    pd.testing.assert_frame_equal(found[names], alone[names], check_exact=True)
