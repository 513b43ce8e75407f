"""What a large day prints: its verdict first and last, and no more lines than a person reads."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.text.comparison_text import comparison_lines, stored_comparisons_text
from sparkrank.text.text import MOST_LINES, fitted
from tests.support.commands import exit_code
from tests.support.reports import conf_of, rows_of, write_log

DAY = "2026-01-31"


def test_the_longest_parts_are_cut_first() -> None:
    """Of 2, 9 and 4 lines, and 2 blank ones between, 3 and 3 are left of the second and the third."""
    parts = ["a\nb", "\n".join("123456789"), "w\nx\ny\nz", ""]
    more = "  and {} more lines (--verbose prints all)"
    assert fitted(parts, 10).split("\n") == ["a", "b", "", "1", "2", more.format(7), "", "w", "x", more.format(2)]
    assert fitted(parts, 17) == "a\nb\n\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\nw\nx\ny\nz"


def test_a_heading_is_not_left_without_its_table() -> None:
    """Whatever is cut of the second of two tables, each a heading, a head of two lines and three rows."""
    table = ["heading", "", "metric  value", "------  -----", "a  1", "b  2", "c  3"]
    text = "\n".join([*table, "", *table])
    for most in range(9, 13):  # of the second table its heading and head at most
        assert fitted([text], most).split("\n") == [*table, "  and 8 more lines (--verbose prints all)"]
    rows = [*table, "", *table[:5]]
    assert fitted([text], 14).split("\n") == [*rows, "  and 2 more lines (--verbose prints all)"]


def test_slice_values_that_differ_most_come_first() -> None:
    """What is cut is the end: a loss of a half stands before gains of a tenth and a fifth."""
    relative = {"all": 0.01, "de": 0.1, "fr": -0.5, "us": 0.2}
    same = {"candidate": "new", "baseline": "old", "metric": "rr", "correction": "holm", "interval": "paired t"}
    same |= {"ci_low": 0.0, "ci_high": 0.0, "p_adjusted": 0.01, "smallest_detectable": 0.1}
    same |= dict.fromkeys(("wins", "ties", "losses"), 1) | {"n_groups": 3}
    rows = [
        {"slice": "all" if value == "all" else "country", "slice_value": value, "difference": share, "relative": share}
        for value, share in relative.items()
    ]
    text = stored_comparisons_text(pa.Table.from_pylist([{**same, **row} for row in rows]))
    heads = [line for line in text.split("\n") if line.startswith("new ")]
    assert heads == ["new against old", *(f"new where country is {value}" for value in ("fr", "us", "de"))]


def test_groups_that_are_in_no_pair_are_counted() -> None:
    """Of 9 groups 1 + 2 + 3 are paired; for a metric without a direction that is not known; of 6 all are paired."""
    row = {"correction": "none", "interval": None, "n_groups": 9, "wins": 1, "ties": 2, "losses": 3}
    row |= dict.fromkeys(("difference", "ci_low", "ci_high", "relative", "p_adjusted", "smallest_detectable"))
    titles, one, other = comparison_lines("metric", [("rr", row), ("ild", {**row, "wins": None})])
    assert [line[6:11] for line in (titles, one, other)] == [
        ("wins", "ties", "losses", "no pair", "groups"),
        ("1", "2", "3", "3", "9"),
        ("", "2", "3", "", "9"),
    ]
    assert "no pair" not in comparison_lines("metric", [("rr", {**row, "n_groups": 6})])[0]


def test_a_zero_has_no_sign() -> None:
    """One item has all exposure: its share is 1, and 1·log2 1 is 0."""
    rows = pa.table({"user": ["a", "b"], "item": ["x", "x"], "score": [0.5, 0.5], "label": [1, 0]})
    found = sr.evaluate(rows, ["entropy@1"], group="user", item="item", score="score", label="label")
    assert str(found["entropy@1"]) == "0.0"
    assert "-0.0000" not in str(found)


# Of four users new has no score for two, and old has none for one: rr is 1/2, 1, 0, 1 of old, and 1, 1, 0, 0 of new.
LOG = pa.table(
    {
        "user": [*"aabbcd"],
        "old": [0.9, 0.5, 0.7, 0.2, None, 0.4],
        "new": [0.1, 0.5, 0.7, 0.2, None, None],
        "click": [0, 1, 1, 0, 1, 1],
        "country": ["de"] * 6,
    }
)


def test_a_gate_that_fails_leads_to_the_groups_behind_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(tmp_path, DAY, LOG)
    gates = [{"metric": "rr", "model": "new", "min": 2}]
    for has_groups in (False, True):
        output = {"path": f"{tmp_path}/out", "groups": has_groups}
        conf = conf_of(tmp_path, metrics=["rr"], gates=gates, history={}, output=output)
        command = f"explain --conf {conf} --date {DAY} --metric rr --worst 10 --model new"
        for job in ("evaluate", "gate"):
            assert exit_code(job, "--conf", conf, "--date", DAY) == 3
            printed = capsys.readouterr().out
            assert "rr, new: 0.5 (" in printed
            assert " is below 2 by 1.5\n" in printed
            assert (f"\nLook closer: sparkrank {command}\n" in printed) == has_groups, job
    assert exit_code(*command.split()) == 0
    capsys.readouterr()
    asked = ("--conf", conf, "--date", DAY, "--metric", "rr")
    for worst, told in ((1, "2 groups have the value 0; the first by key is shown"), (2, f"{DAY}, by ")):
        assert exit_code("explain", *asked, "--worst", str(worst), "--model", "new") == 0
        assert capsys.readouterr().out.startswith(told)


def test_gate_repeats_the_warnings_of_the_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four groups are few, a score of 1.5 is no probability, and the gate of new is undecided."""
    write_log(tmp_path, DAY, LOG.set_column(2, "new", pa.array([0.1, 0.5, 1.5, 0.2, None, None])))
    gates = [{"metric": "rr", "model": "new", "min": 0.5}]
    conf = conf_of(tmp_path, metrics=["rr", "brier"], gates=gates, history={}, least_groups=1)
    printed = []
    for job in ("evaluate", "gate"):
        assert exit_code(job, "--conf", conf, "--date", DAY) == 0
        printed.append(capsys.readouterr().out.strip("\n").split("\n"))
    evaluated, judged = printed
    assert judged[0] == evaluated[0]
    assert "the gate is undecided: passes with " in judged[0]
    warnings = judged[judged.index("Warnings") + 1 : -1]
    first = evaluated.index("Warnings") + 1
    assert warnings[:-1] == evaluated[first : first + len(warnings) - 1]
    assert warnings[-1].startswith("  Not within its limit: new: 1 scored rows whose score is no probability")


def test_movers_without_a_list_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(tmp_path, DAY, LOG)
    asked = ("--conf", conf_of(tmp_path, metrics=["rr"], gates=[], history={}), "--date", DAY)
    assert exit_code("evaluate", "--quiet", *asked) == 0
    assert exit_code("movers", *asked, "--metric", "rr", "--baseline", "old", "--model", "new") == 0
    gains, losses = capsys.readouterr().out.split("\nLosses\n")
    assert "no list" not in gains
    titles, _, line = losses.splitlines()
    assert titles.split()[-3:] == ["no", "list", "of"]
    assert line.split() == ["d", "1.00000", "0.00000", "-1.00000", "1", "1", "candidate"]


def test_users_without_a_list_are_told_beside_the_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = conf_of(tmp_path, metrics=["rr"], gates=[], history={})
    write_log(tmp_path, DAY, LOG)
    told = [
        "1 of 4 groups has no list of old: it counts as an empty list, 0 in most metrics",
        "2 of 4 groups have no list of new: they count as empty lists, 0 in most metrics",
    ]
    for words in (["evaluate"], ["compare"], ["report", "--format", "md"]):
        assert exit_code(*words, "--conf", conf, "--date", DAY) == 0
        printed = capsys.readouterr().out.replace("\\", "")  # Markdown escapes colons
        assert ". ".join(told) in printed if words[0] == "report" else "\n".join(told) in printed, words
    assert exit_code("merge", "--conf", conf, "--from", DAY, "--to", DAY) == 0
    assert f"Metrics of {DAY}..{DAY}, 1 day pooled " in capsys.readouterr().out
    ev = sr.evaluate(LOG, ["rr"], group="user", score={"old": "old", "new": "new"}, label="click")
    assert repr(ev).splitlines()[-2:] == told
    assert all(f"<small>{sentence}</small>" in ev._repr_html_() for sentence in told)


def test_a_large_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 14 gates by country, each with two bounds and 120 checks."""
    gates = [{"name": f"g{n}", "metric": "*", "slice": {"country": "*"}, "min": 2, "max": 9} for n in range(14)]
    conf = conf_of(tmp_path, gates=gates, history={}, least_groups=1, name="home feed", owner="feed team")
    write_log(tmp_path, DAY, rows_of(0))
    printed = {}
    for words in (["evaluate"], ["evaluate", "--verbose"], ["gate"], ["gate", "--verbose"]):
        assert exit_code(*words, "--conf", conf, "--date", DAY) == 3
        lines = capsys.readouterr().out.strip("\n").split("\n")
        assert lines[0] == lines[-1]
        assert lines[0].startswith(f"✕ Fail - home feed - {DAY}: ")
        assert lines[0].endswith(" checks: does not pass (exit 3). Owner: feed team.")
        printed[" ".join(words)] = len(lines)
    assert MOST_LINES - 5 < printed["evaluate"] <= MOST_LINES
    assert MOST_LINES - 5 < printed["gate"] <= MOST_LINES
    assert min(printed["evaluate --verbose"], printed["gate --verbose"]) > 14 * 100
