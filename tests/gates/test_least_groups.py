"""Values of slices with few groups: left out of gates and tables, and counted, in days and in windows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.config import load_spec
from sparkrank.gates.facts import Facts, IntervalEstimate, Standard
from sparkrank.gates.judge import Judge
from sparkrank.gates.rules import Cell, Rule
from sparkrank.text.gates_text import verdicts_text
from tests.support.commands import exit_code
from tests.support.nights import table_of
from tests.windows.week import DAYS, spec_of

SIZES = {"de": 60, "fr": 40, "is": 8}
CHECK = "values of slices left out of metrics and comparisons: fewer groups than least_groups.tables"
GATE = {"metric": "ndcg@5", "model": "production", "slice": {"country": "*"}, "min": 0}


def log_of(folder: Path, *days: str) -> None:
    """A log in which countries have :data:`SIZES` users a day."""
    for number, day in enumerate(days):
        draw, users = np.random.default_rng(number), sum(SIZES.values())
        country = np.repeat(np.repeat(list(SIZES), list(SIZES.values())), 4)
        rows = {
            "user": np.repeat(np.arange(users), 4),
            "item": np.tile(np.arange(4), users),
            "score": draw.random(4 * users),
            "other": draw.random(4 * users),
            "clicked": (draw.random(4 * users) < 0.5).astype(np.int32),
            "country": country,
        }
        (folder / f"log/dt={day}").mkdir(parents=True)
        pq.write_table(pa.table(rows), folder / f"log/dt={day}/rows.parquet")


def conf_of(folder: Path, **changes: Any) -> str:
    scores = {"production": "score", "candidate": "other"}
    columns = {"group": "user", "item": "item", "label": "clicked", "score": scores}
    asked = {"metrics": ["ndcg@5", "auc"], "slices": ["country"], "compare": {"baseline": "production"}, **changes}
    return spec_of(folder, input={"path": f"{folder}/log/dt={{date}}", "columns": columns}, **asked)


def evaluated(folder: Path, code: int = 0, **changes: Any) -> None:
    """Evaluate the first day, of which a log is written."""
    log_of(folder, DAYS[0])
    assert exit_code("evaluate", "--conf", conf_of(folder, **changes), "--date", DAYS[0]) == code


def values_of(folder: Path, table: str = "metrics") -> set[str]:
    """The values of slices in a table of the first day."""
    return set(table_of(folder, table, DAYS[0])["slice_value"])


def test_gates_leave_them_out_and_say_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    iceland = {**GATE, "min": 2, "slice": {"country": "is"}, "undecided": "fail"}
    evaluated(tmp_path, 5, gates=[GATE, iceland])  # it is below 2, and undecided
    printed = capsys.readouterr().out
    assert printed.count(" (1 slice value has too few groups and is left out)") == 1
    assert "1 slice value has fewer than 30 groups (least_groups): nothing is left to judge" in printed
    gates = table_of(tmp_path, "gates", DAYS[0])
    rows = gates[["slice_value", "verdict", "left_out"]].values.tolist()
    assert rows == [["de", "pass", 1], ["fr", "pass", 1], ["is", "undecided", 1]]
    assert values_of(tmp_path) == {"all", *SIZES}  # where they are all the same


def test_one_number_is_for_gates_and_tables(tmp_path: Path) -> None:
    spec = load_spec(conf_of(tmp_path, least_groups=9))
    assert (spec.least_groups.gates, spec.least_groups.tables, spec.plan().least_groups) == (9, 9, 9)
    assert load_spec(conf_of(tmp_path)).least_groups.gates == 30


@pytest.mark.parametrize(
    ("least", "there"), [(1, {"de", "fr", "is"}), (8, {"de", "fr", "is"}), (9, {"de", "fr"}), (61, set())]
)
def test_tables_lack_them_and_quality_counts_them(tmp_path: Path, least: int, there: set[str]) -> None:
    evaluated(tmp_path, least_groups={"tables": least})
    assert values_of(tmp_path) == values_of(tmp_path, "comparisons") == {"all", *there}
    quality = table_of(tmp_path, "quality", DAYS[0]).set_index("check")["count"]
    assert quality.get(CHECK) == (None if least == 1 else len(SIZES) - len(there))


def test_without_means_the_groups_of_parts_are_counted(tmp_path: Path) -> None:
    evaluated(tmp_path, metrics=["auc"], least_groups={"tables": 9})
    assert values_of(tmp_path) == {"all", "de", "fr"}


def test_a_window_counts_its_own_groups(tmp_path: Path) -> None:
    """Of 8 a day there are 16 (group, day) pairs in two days: the states of the days have what their tables lack."""
    log_of(tmp_path, *DAYS[:2])
    for least, there in ((9, {"de", "fr", "is"}), (17, {"de", "fr"})):
        conf = conf_of(tmp_path, least_groups={"tables": least})
        for day in DAYS[:2]:
            assert exit_code("evaluate", "--conf", conf, "--date", day) == 0
        assert values_of(tmp_path) == {"all", "de", "fr"}
        assert exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1]) == 0
        merged = pq.read_table(tmp_path / "tables/windows/metrics", columns=["slice_value"])
        assert set(merged["slice_value"].to_pylist()) == {"all", *there}


def test_what_it_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for changes, sentence in (
        ({"least_groups": {"gates": 5}, "gates": []}, "least_groups.gates is 5, but the spec has no gates"),
        ({"least_groups": {"tables": 5}, "slices": []}, "least_groups.tables is 5, but the spec has no slices"),
        ({"least_groups": {"tables": 0}}, "least_groups.tables is 0: a number of at least 1 is needed"),
        ({"least_groups": {"metrics": 5}}, 'unknown key "least_groups.metrics"'),
        ({"least_groups": True}, "a number is needed"),
    ):
        assert exit_code("validate", "--conf", conf_of(tmp_path, **changes)) == 2
        assert sentence in capsys.readouterr().err


def test_the_whole_day_is_never_small_and_a_small_value_may_vanish() -> None:
    """A country of 29 groups that had rows yesterday is no failure today; one of 30 is."""
    metric, places = "m", {"small": 29, "large": 30}
    rule = Rule("g", "min", metric, (metric,), ("c",), "c", (("s", "*"),), (("s",),), bound=0.1)
    whole = Rule("w", "min", metric, (metric,), ("c",), "c", bound=0.1)
    judge = Judge([rule, whole], least_groups=30)

    def row(groups: int) -> IntervalEstimate:
        return IntervalEstimate(0.5, 0.4, 0.6, 0.05, n_groups=groups)

    def day(*values: str, groups: int = 200) -> Facts:
        cells = {Cell(metric, "c", "s", value): row(places.get(value, 50)) for value in values}
        all_of_it = {Cell(metric, "c"): row(groups), **cells}
        return Facts("d", all_of_it, metrics=frozenset({metric}), models=frozenset({"c"}))

    verdicts = judge.verdicts(day("other", groups=9), "d", Standard([day("other", "small", "large")]))
    words = {judged.key.cell.slice_value: (judged.verdict, judged.left_out) for judged in verdicts}
    assert words == {"other": ("pass", 1), "large": ("fail", 1), "all": ("pass", 0)}


def test_a_gate_of_many_checks_has_one_line_that_counts_them() -> None:
    """Of 50 values 7 are below 0.45, the furthest by 35 standard errors, and the interval of one holds it."""
    rule = Rule("g", "min", "m", ("m",), ("c",), "c", (("s", "*"),), (("s",),), bound=0.45)
    values = {**dict.fromkeys(range(50), 0.5), **{place: 0.4 - place / 20 for place in range(7)}, 7: 0.46}
    cells = {
        Cell("m", "c", "s", f"{place:02}"): IntervalEstimate(value, value - 0.02, value + 0.02, 0.01)
        for place, value in values.items()
    }
    judged = Judge([rule, replace(rule, gate="h", bound=0.0)]).verdicts(Facts("d", cells), "d")
    assert verdicts_text(judged).splitlines() == [
        "Gates",
        "  fail: g: gate 1 of 2 fails, in 7 of 50 checks (1 is undecided); the worst are",
        "    fail: m, c, s=06: 0.1 (0.08 to 0.12) is below 0.45 by 0.35",
        "    fail: m, c, s=05: 0.15 (0.13 to 0.17) is below 0.45 by 0.3",
        "    fail: m, c, s=04: 0.2 (0.18 to 0.22) is below 0.45 by 0.25",
        "    fail: m, c, s=03: 0.25 (0.23 to 0.27) is below 0.45 by 0.2",
        "    fail: m, c, s=02: 0.3 (0.28 to 0.32) is below 0.45 by 0.15",
        "    and 3 more (table gates, or --verbose)",
        "  pass: h: gate 2 of 2 passes, in 50 of 50 checks",
    ]
    whole = verdicts_text(judged, is_whole=True).splitlines()
    assert len(whole) == 1 + 2 + 50 + 50
    assert "    undecided: m, c, s=07: 0.46 (0.44 to 0.48) could be below 0.45: the interval reaches 0.44" in whole
