"""The forms of a report, where they go, and what a run says of the day before."""

from __future__ import annotations

import json
import math
import re
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sparkrank as sr
from sparkrank.base.errors import SparkrankError, SpecError
from sparkrank.jobs import report_job
from sparkrank.report.changes import Changes, changes_since, changes_text
from sparkrank.report.collect import report_data
from sparkrank.report.data import ReportData
from sparkrank.report.report_tables import DayBefore, ReportTables
from sparkrank.report.sections import group_distributions, roc_and_pr, score_histograms, slice_values, verdict
from sparkrank.report.written_forms import as_form, report_document
from sparkrank.schemas import tables
from tests.browser.made import report as made
from tests.support import nights
from tests.support.commands import PROJECT, exit_code
from tests.support.reports import DAYS, all_rows, conf_of, rows_of, spec_of, stub_page, table, write_log
from tests.support.reports import stored as stored_report

TODAY = DAYS[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days, and no page yet."""
    made = tmp_path_factory.mktemp("forms")
    for number, day in enumerate(DAYS[1:]):
        write_log(made, day, rows_of(number, 300))
        assert exit_code("evaluate", "--quiet", "--conf", conf_of(made), "--date", day) == 0
    return made


def stored(folder: Path, day: str = TODAY, **changes: Any) -> ReportData:
    return stored_report(conf_of(folder, **changes), day)


def report(folder: Path, *words: str) -> int:
    return exit_code("report", "--conf", conf_of(folder), "--date", TODAY, *words)


def test_without_a_file_text_goes_to_stdout_and_html_is_written_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub_page(monkeypatch)
    monkeypatch.chdir(tmp_path)
    data, file = stored(folder), Path(f"report-{TODAY}.html")
    for form, begins in (("md", f"### {data.title}"), ("latex", f"% {TODAY}"), ("json", "{")):
        assert report(folder, "--format", form) == 0
        printed = capsys.readouterr().out
        assert printed == as_form(data, form)
        assert printed.startswith(begins)
    assert report(folder) == 0
    assert capsys.readouterr().out == f"Written: {file}\n"
    assert file.read_text(encoding="utf-8") == as_form(data, "html")
    assert list(Path().iterdir()) == [file]


def test_the_ending_says_the_form(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub_page(monkeypatch)
    ev = sr.evaluate(rows_of(0, 50), ["rr"], group="user", score="old", label="click")
    for name, begins in (("a.md", "### "), ("a.tex", "% "), ("a.json", "{"), ("a.html", "<!"), ("A.HTM", "<!")):
        file = tmp_path / name
        ev.report(file)
        assert file.read_text(encoding="utf-8").startswith(begins)
    assert report(folder, "--out", str(file), "--format", "md", "--quiet") == 0  # what is asked for wins
    assert file.read_text(encoding="utf-8").startswith("### ")


def test_what_makes_no_sense_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        (["--out", "a.pdf"], ".html, .htm, .md, .json, .tex are known, or give a format; print the page"),
        (["--out", "none/a.md"], "there is no folder for none/a.md"),
        (["--out", " ", "--format", "md"], "out is empty"),
        (["--out", ".", "--format", "md"], ". is a folder"),
        (["--open", "--format", "md"], "--open and --format md do not go together"),
        (["--open", "--out", "a.json"], "--open and --format json do not go together"),
        (["--format", "docx"], "format is docx: html, md, json, latex are allowed"),
        (["--format", "png"], "html, md, json, latex are allowed; --plots writes charts as SVG"),
        (["--plots", "p", "--format", "md"], "--plots and --format do not go together"),
        (["--plots", "p", "--out", "x.html"], "--plots and --out do not go together"),
        (["--plots", "p", "--open"], "--plots and --open do not go together"),
        (["--from", "2026-01-30"], "--from and --to go together"),
        (["--from", "2026-01-30", "--to", "2026-01-31"], "--date and --from do not go together"),
    ):
        assert report(folder, *words) == 2
        assert sentence in capsys.readouterr().err
    ev = sr.evaluate(rows_of(0, 50), ["rr"], group="user", score="old", label="click")
    with pytest.raises(SpecError, match='format is htm, did you mean "html"'):
        ev.report("a.md", format="htm")


def test_the_page_is_opened_where_there_is_a_browser(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub_page(monkeypatch)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or len(opened) == 1)
    file = tmp_path / "a page.html"
    assert report(folder, "--open", "--out", str(file)) == 0
    assert capsys.readouterr().out == f"Written: {file}\n"
    assert report(folder, "--open", "--out", str(file)) == 0
    assert "No browser could be opened" in capsys.readouterr().out
    assert opened == [file.as_uri()] * 2
    assert "%20" in opened[0]


def test_json_has_every_field(folder: Path) -> None:
    data = stored(folder)
    document = json.loads(as_form(data, "json"))
    assert document == json.loads(json.dumps(report_document(data), allow_nan=False))
    rows = [line["row"] for line in document["headline"]["rows"]]
    values = {(row["metric"], row["model"]): row["value"] for row in all_rows(table(folder, "metrics", TODAY))}
    assert {(row["metric"], row["model"]): row["value"] for row in rows} == values


def test_markdown_and_latex_have_the_numbers_of_the_terminal(folder: Path) -> None:
    data = stored(folder)
    page, tabular = as_form(data, "md"), as_form(data, "latex")
    for row in all_rows(table(folder, "metrics", TODAY)):
        interval = " (too few)" if row["interval"] == "too few" else ""
        if row["ci_high"] is not None:
            below, above = (f"{abs(row[end] - row['value']):.4f}" for end in ("ci_low", "ci_high"))
            interval = f" ± {above}" if below == above else f" [{row['ci_low']:.4f}, {row['ci_high']:.4f}]"
        cell = f"{row['value']:.4f}{interval}"
        assert cell in page
        assert cell.replace("±", r"$\pm$") in tabular
    for row in all_rows(table(folder, "comparisons", TODAY)):
        if row["p_adjusted"] is not None:
            assert f"{row['difference']:+.4f} [{row['ci_low']:+.4f}, {row['ci_high']:+.4f}]" in page
    assert f"Since {DAYS[1]}: " in page
    assert tabular.count(r"\\") == 1 + len(data.metrics)
    assert len(page) < 10_000


def test_markdown_has_the_groups_without_a_value() -> None:
    """The first hit of a is at 1, that of b at 2, and c has none."""
    log = pa.table({"u": [*"aabbc"], "s": [2.0, 1.0, 2.0, 1.0, 1.0], "y": [1, 0, 0, 1, 0]})
    page = as_form(sr.evaluate(log, ["rr", "auc"], group="u", score="s", label="y").report(), "md")
    lines = [line.split(" | ") for line in page.splitlines() if line.startswith("|")]
    assert [line[-2:] for line in lines if line[0] in ("| metric", "| rr")] == [["groups", "undefined |"], ["3", "1 |"]]


def test_markdown_shortens_names_of_more_than_eighty_characters() -> None:
    for length, shown in ((80, 80 * "n"), (81, 79 * "n" + "…")):
        page = as_form(made((length * "n", "b"), ("rr",), ("x",), days=1), "md")
        head = next(line for line in page.split("\n") if line.startswith("| metric"))
        assert head.split(" | ")[1] == shown


HOSTILE = [
    "<script>alert(1)</script>", "a|b", "**bold**", "[x](http://evil)", "`code`", "@everyone", "x\n# y", "a & b",
    "50%_#$^~\\{}", "$x_{1}$", "\u202eright to left", "😀", "m" * 500, "=cmd()", "\x1b[31mred",
]  # fmt: skip


def hostile() -> ReportData:
    rows = rows_of(0, 60)
    country = pc.if_else(pc.equal(rows["country"], "de"), "<img src=x onerror=alert(1)>", "de|fr")
    scores = dict.fromkeys(HOSTILE, rows["old"])
    log = pa.table({"user": rows["user"], "click": rows["click"], "country": country, **scores})
    asked = {"group": "user", "label": "click", "slices": ["country"], "compare": HOSTILE[0]}
    return sr.evaluate(log, ["rr", "auc"], score={name: name for name in HOSTILE}, **asked).report()


def test_markdown_of_many_models_is_a_comment_still() -> None:
    """The first models and the baseline; a comment of GitHub takes 65,536 letters."""
    models = [f"model {number}" for number in range(200)]
    data = made(models, ("ndcg@10", "ap"), ("de", "fr"), days=2)
    data = replace(data, baseline=models[-1])
    text = as_form(data, "md")
    head = next(line for line in text.split("\n") if line.startswith("| metric"))
    assert [model in head for model in (models[0], models[6], models[7], models[-1])] == [True, True, False, True]
    assert "and 192 more models" in text
    assert len(text) < 20_000


def test_slices_that_differ_most_in_standard_errors_stand_first() -> None:
    """A difference of logloss of 0.4 with an error of 0.2 is less sure than one of rr of 0.1 with 0.01."""
    data = made(("a", "b"), ("logloss", "rr"), ("x",), days=1)
    first = next(row for row in data.comparisons.rows if row.slice != "all")
    large = replace(first, metric="logloss", difference=0.4, stderr=0.2, p=0.04, p_adjusted=0.04)
    sure = replace(first, metric="rr", difference=-0.1, stderr=0.01, p=1e-9, p_adjusted=1e-9)
    text = as_form(replace(data, comparisons=replace(data.comparisons, rows=(large, sure))), "md")
    assert text.index("b rr -0.1000") < text.index("b logloss +0.4000")


def test_names_of_strangers_are_shown_as_they_are_and_do_nothing() -> None:
    data = hostile()
    assert data.models == tuple(HOSTILE)  # the object has them as they are
    page, tabular = as_form(data, "md"), as_form(data, "latex")
    assert "<script" not in page.replace(r"\<script", "")
    assert not re.search(r"(?<!\\)[<>*`\[@#$]", _without_own(page))
    assert "http://" not in page
    lines = [line for line in page.split("\n") if line.startswith("|")]
    unescaped = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(unescaped) == 1  # no name opens a cell
    assert max(len(cell) for cell in re.split(r"(?<!\\)\|", lines[0])) < 300
    assert "\x1b" not in page + tabular
    assert r"\textbackslash{}" in tabular
    assert not re.search(r"(?<!\\)[%#_](?!.*evaluation$)", "\n".join(tabular.split("\n")[1:]))


def _without_own(page: str) -> str:
    """``page`` without what is in it of its own: headings in bold, intervals, and what is smaller."""
    own = r"^### |\*\*[A-Z][\w ]+\.?\*\*|\[[+\d.-]+, [+\d.-]+\]|± and \[ \]|</?sub>"
    return re.sub(own, "", page, flags=re.MULTILINE)


def test_a_run_writes_the_report_of_its_own_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub_page(monkeypatch)
    output = {"output": {"path": f"{tmp_path}/out", "report": True}}
    first, last = DAYS[:2]
    conf = ["--conf", conf_of(tmp_path, **output)]
    for number, day in enumerate((first, last)):
        write_log(tmp_path, day, rows_of(number, 200))
        assert exit_code("evaluate", *conf, "--date", day) == 0
    assert f"  report         {tmp_path}/out/report/day={last}" in capsys.readouterr().out
    before, value = written(tmp_path, last), table(tmp_path, "metrics", last)["value"].to_pylist()
    assert before == as_form(stored(tmp_path, last, **output), "html")
    assert exit_code("path", *conf, "--date", last, "--table", "report") == 0
    assert exit_code("merge", *conf, "--from", first, "--to", last) == 0
    window = list((tmp_path / f"out/windows/report/window={first}..{last}").iterdir())
    assert [path.suffix for path in window] == [".html"]
    # nothing else reads it as a table: days merge, export and clean as before
    assert exit_code("export", str(tmp_path / "exported"), *conf, "--date", last) == 0
    assert [path.suffix for path in (tmp_path / f"exported/report/day={last}").iterdir()] == [".html"]
    # a page that fails leaves the day as it was
    write_log(tmp_path, last, rows_of(2, 200))
    with monkeypatch.context() as patch:
        stub_page(patch, SparkrankError("the page cannot be made"))
        assert exit_code("evaluate", *conf, "--date", last) == 1
    assert (written(tmp_path, last), table(tmp_path, "metrics", last)["value"].to_pylist()) == (before, value)
    assert exit_code("evaluate", *conf, "--date", last) == 0
    assert written(tmp_path, last) != before
    # a run without it takes it away: a day never shows the report of other tables
    assert exit_code("evaluate", "--conf", conf_of(tmp_path), "--date", last) == 0
    assert not (tmp_path / f"out/report/day={last}").exists()


def written(folder: Path, day: str) -> str:
    """The report that a run of ``day`` has left."""
    (file,) = (folder / f"out/report/day={day}").iterdir()
    assert re.fullmatch(r"report\.html", file.name)
    return file.read_text(encoding="utf-8")


def test_a_day_that_a_person_lets_in_has_a_report_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files are replaced one after the other, too; an acceptance by a spec without a report leaves none."""
    stub_page(monkeypatch)
    output = {"path": f"{tmp_path}/out", "plain": True}
    changes: dict[str, Any] = {"gates": [{"metric": "rr", "model": "old", "min": 50}], "history": {}}
    with_report = {**changes, "output": {**output, "report": True}}
    write_log(tmp_path, TODAY, rows_of(0, 200))
    conf = ["--conf", conf_of(tmp_path, **with_report), "--date", TODAY]
    for words, code, is_accepted in ((("evaluate",), 3, False), (("accept", "--reason", "a holiday"), 0, True)):
        assert exit_code(*words, "--quiet", *conf) == code
        shown = written(tmp_path, TODAY)
        assert shown == as_form(stored(tmp_path, **with_report), "html")
        assert ("a person has accepted it" in shown) == is_accepted
    conf[1] = conf_of(tmp_path, **changes, output=output)
    assert exit_code("accept", "--quiet", *conf, "--reason", "another reason") == 0
    assert not (tmp_path / f"out/report/day={TODAY}").exists()


def test_what_the_page_needs_is_asked_for_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub_page(monkeypatch)
    import sys

    def lacking() -> None:
        raise SpecError("the HTML report needs jinja2")

    vars(sys.modules["sparkrank.report.page"])["require_extra"] = lacking
    conf = conf_of(tmp_path, output={"path": f"{tmp_path}/out", "report": True})
    for words in (["evaluate", "--date", TODAY], ["merge", "--from", DAYS[0], "--to", TODAY]):
        assert exit_code(*words, "--conf", conf) == 2  # there is no input at all
        assert "needs jinja2" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_run_says_in_one_line_what_changed_since_the_day_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = ["--conf", conf_of(tmp_path)]
    for number, day in ((0, DAYS[0]), (9, TODAY)):
        write_log(tmp_path, day, rows_of(number, 1500))
    assert exit_code("evaluate", *conf, "--date", DAYS[0]) == 0
    assert "Since" not in capsys.readouterr().out
    assert exit_code("evaluate", *conf, "--date", TODAY) == 0
    lines = capsys.readouterr().out.strip("\n").split("\n")
    assert lines[-2].startswith(f"Since {DAYS[0]}: ")  # the last day that is there
    assert lines[-2].count(" -> ") == 3
    assert lines[0] == lines[-1]
    assert lines[0].startswith(f"? Undecided - {TODAY}: ")
    assert exit_code("evaluate", *conf, "--date", TODAY, "--json") == 0
    document = json.loads(capsys.readouterr().out)["changes"]
    now = {(row["model"], row["metric"]): row["value"] for row in all_rows(table(tmp_path, "metrics", TODAY))}
    assert document["since"] == DAYS[0]
    assert {(row["model"], row["metric"]): row["value"] for row in document["metrics"]} == {
        key: value for key, value in now.items() if not math.isnan(value)
    }


def since(before: pa.Table, now: pa.Table) -> Changes:
    return changes_since(DayBefore("2026-01-30", before), now)


def rows(*given: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([nights.metric(**row) for row in given], tables.METRICS.schema)


def test_a_change_is_beyond_its_noise_or_not() -> None:
    """0.5 to 0.6 with standard errors of 0.03 and 0.04: 0.1 is two of 0.05; 0.09 is less than 1.96 of them."""
    for value, is_beyond in ((0.6, True), (0.59, False)):
        changes = since(rows({"value": 0.5, "stderr": 0.03}), rows({"value": value, "stderr": 0.04}))
        assert changes.changes[0].noise == pytest.approx(0.05, abs=1e-15)
        assert changes.changes[0].is_beyond_noise is is_beyond
    assert changes_text(changes) == "Since 2026-01-30: the metric is within its noise"


def test_what_has_no_noise_stands_behind_what_is_beyond_its_own() -> None:
    """In standard errors of the difference (0.1 is 3.5 of rr and 7.1 of ndcg), then by size; the rest is counted."""
    given = (("gini", 0.51, None), ("coverage", 0.6, None), ("ap", 0.5, None), ("rr", 0.6, 0.02), ("ndcg", 0.6, 0.01))
    then, now = (
        rows(*({"metric": metric, "value": value or 0.5, "stderr": error} for metric, value, error in cells))
        for cells in ([(metric, None, error) for metric, _, error in given], given)
    )
    changes = since(then, now)
    assert [change.metric for change in changes.changes if change.is_beyond_noise] == ["ndcg", "rr", "coverage", "gini"]
    assert "; 1 more; 1 of 5 within their noise" in changes_text(changes)


def test_the_line_names_what_cannot_be_compared() -> None:
    before = rows(
        {"value": 0.5, "metric": "rr"},
        {"value": 0.5, "metric": "auc", "definition": "once"},
        {"value": None, "metric": "ks"},
        {"value": 0.5, "metric": "rr", "model": "gone\x1b"},
        {"value": 0.9, "metric": "rr", "slice": "country", "slice_value": "de"},
    )
    now = rows(
        {"value": 0.25, "metric": "rr"},
        {"value": 0.6, "metric": "auc"},
        {"value": 0.1, "metric": "ks"},
        {"value": 0.5, "metric": "rr", "model": "new"},
    )
    changed = "rr 0.5000 -> 0.2500 (-0.2500, -50.0%); 1 defined otherwise; new: new; gone: gone\\x1b"
    assert changes_text(since(before, now)) == f"Since 2026-01-30: {changed}"
    assert changes_text(since(rows(), rows())) == ""


@pytest.mark.parametrize(
    ("then", "now", "warned"),
    [
        ((200, 0), (200, 194), "rr of s in 6 of 200 groups (3.0%, then 100.0%)"),
        ((2000, 1000), (2000, 1700), "rr of s in 300 of 2,000 groups (15.0%, then 50.0%)"),
        ((200, 0), (200, 90), None),  # more than half of the share is left
        ((20, 17), (20, 19), None),  # chance does as much: 0.1 is 1.05 standard errors of 0.095
        ((200, 200), (200, 200), None),
        ((200, 0), (200, 200), "rr of s in 0 of 200 groups (0.0%, then 100.0%)"),
        ((None, None), (200, 194), None),  # of an earlier release
        ((None, 0), (None, 1), None),  # rows have no group
    ],
)
def test_a_metric_that_is_defined_for_few_is_said(then: tuple, now: tuple, warned: str | None) -> None:
    values = [dict(zip(("n_groups", "n_undefined"), counts, strict=True)) for counts in (then, now)]
    changes = since(*(rows({"value": 0.5, "metric": "rr", "model": "s", **counts}) for counts in values))
    start = "Defined in far fewer groups than on 2026-01-30: "
    assert changes.warnings == (() if warned is None else (f"{start}{warned}",))


def test_every_form_says_of_the_day_before_what_the_run_says() -> None:
    """Nothing is said to be unchanged that was not compared: another definition, another model, a value undefined."""
    alike = {"value": 0.5, "stderr": 0.1}
    for then, now, line in (
        (alike, alike, "Since 2026-01-30: the metric is within its noise"),
        ({**alike, "definition": "once"}, alike, "Since 2026-01-30: 1 defined otherwise"),
        ({**alike, "model": "old"}, {**alike, "model": "new"}, "Since 2026-01-30: new: new; gone: old"),
        ({"value": None}, alike, ""),
    ):
        data = report_data(ReportTables("day", TODAY, rows(now), before=DayBefore("2026-01-30", rows(then))))
        assert data.headline.since == line
        found = [part.replace("\\", "") for part in as_form(data, "md").split("\n") if part.startswith("Since")]
        assert found == ([line] if line else [])


def test_the_groups_that_count_are_those_of_a_column() -> None:
    counted = {"value": 0.5, "n_groups": 2000, "n_undefined": 308}
    sentence = (
        "1,692 groups (user_id) count in ndcg@10; 308 without a relevant row are left out; other libraries count "
    )
    for metrics, undefined, end in (
        ([counted], "skip", f"{sentence}them as 0."),
        ([counted], "zero", "2,000 groups (user_id) count in ndcg@10; 308 without a relevant row are counted by undef"),
        ([{**counted, "n_undefined": 0}], "skip", "2,000 groups (user_id) count in ndcg@10."),
        ([counted, {**counted, "model": "b", "n_groups": 9}], "skip", f"{sentence}them as 0. These are the groups of "),
        ([{**counted, "metric": "auc"}], "skip", ""),
    ):
        data = report_data(ReportTables("day", TODAY, rows(*metrics), keys=["user_id"], undefined=undefined))
        assert data.headline.groups.startswith(end), data.headline.groups
        assert bool(data.headline.groups) == bool(end)


def test_a_star_is_of_the_same_groups() -> None:
    """Half of the groups have a value of one model only: Markdown says so, and LaTeX gives no star."""
    models = rows({"value": 0.75}, {"value": 0.95, "model": "candidate"})
    for unpaired, star, doubts in ((0, 1, 0), (50, 0, 1)):
        pair = nights.comparison(0.2, 0.05, p=0.001, p_adjusted=0.001, n_groups=50, n_unpaired=unpaired)
        compared = pa.Table.from_pylist([pair], tables.COMPARISONS.schema)
        data = report_data(ReportTables("day", TODAY, models, compared))
        assert as_form(data, "latex").count("^{*}") == star
        assert as_form(data, "md").count("in 50 of 100 groups only one of the two has a value") == doubts


def test_warnings_and_limits_stand_in_the_verdict() -> None:
    """A day without a click is no day on which all is well, and no gate is needed to say so."""
    check = {"check": "truth in no list", "count": 6.0, "fraction": 0.6, "of": "truth", "limit": 0.5, "ok": False}
    quality = pa.Table.from_pylist([check], tables.QUALITY.schema)
    given = ReportTables("day", TODAY, rows({"value": None}), quality=quality, warnings=["rr is undefined"])
    data = report_data(replace(given, subject="home feed"))
    exceeded = "Not within its limit: 6 truth in no list (60.0000% of truth, limit 50.0000%)"
    assert data.verdict.warnings == ("rr is undefined", exceeded)
    assert data.verdict.sentence == "No gate is requested: passes with 2 warnings (exit 0)."
    assert data.title == f"! Warning - home feed - {TODAY}"
    assert "- rr is undefined\n- Not within its limit" in as_form(data, "md")
    assert report_data(replace(given, warnings=(), quality=None)).verdict is None


def test_a_report_without_a_headline_is_no_reason_to_fail() -> None:
    data = report_data(ReportTables("day", TODAY, rows()))
    for form in ("md", "latex", "json"):
        assert as_form(data, form)
    assert "no row over all rows" in as_form(data, "md")
    assert replace(data, name="x") != data


PAGE = (PROJECT / "docs" / "report.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL).groups()
    exec(compile(code, "docs/report.md", "exec"), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out == printed
    assert Path("evaluation.md").read_text(encoding="utf-8").startswith("### \\! Warning - Evaluation\n")


@pytest.mark.tools
def test_the_commands_of_the_page_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub_page(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda url: True)
    days = [f"2026-11-{day}" for day in range(13, 20)]
    for number, day in enumerate(days):
        write_log(tmp_path, day, rows_of(number, 60))
    Path(conf_of(tmp_path)).rename("nightly.yaml")
    words = ["--conf", "nightly.yaml", "--quiet", "--from", days[0], "--to", days[-1]]
    assert exit_code("evaluate", *words) in (0, 3)
    lines = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).splitlines()
    assert len(lines) == 5
    for line in lines:
        program, *words = line.split()
        assert (program, exit_code(*words)) == ("sparkrank", 0), line
    names = {path.name for path in tmp_path.glob("*.*")}
    assert names == {"nightly.yaml", "report-2026-11-19.html", "week.html", "report.json"}
    assert " - Evaluation - 2026-11-19" in capsys.readouterr().out


def test_the_page_says_the_bounds_that_hold() -> None:
    for number, words in (
        (slice_values.MOST_CELLS, "values of slices"),
        (verdict.MOST_GATES, "verdicts"),
        (roc_and_pr.MOST_POINTS, "points\nof a curve"),
        (group_distributions.MOST_METRICS, "metrics over groups"),
        (report_job.TREND_DAYS, "days"),
    ):
        assert f"{number:,} {words}".replace("\n", " ") in PAGE.replace("\n", " ")
    assert f"at most {score_histograms.HISTOGRAM_BINS}" in PAGE
    assert report_job.LOOKED_BACK == 7  # "of the seven before"


def test_where_a_day_is_not_replaced_as_a_whole_no_report_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub_page(monkeypatch)
    spec = spec_of(tmp_path, output={"path": "hdfs://name/out", "report": True})

    class Replaced:
        folder = None

    with pytest.raises(SpecError, match=r"output\.report is true, but output\.path is hdfs://name/out"):
        report_job.validate_report(spec, Replaced())
    assert report_job.validate_report(spec_of(tmp_path), Replaced()) is False
