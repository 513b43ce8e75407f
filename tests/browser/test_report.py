"""Readers open the report: light and dark, with and without scripts, by keyboard, on a phone and on paper."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest

from sparkrank.report.data import ReportData
from tests.browser.conftest import PAPER, PHONE, Open, Opened
from tests.browser.made import gate, report
from tests.support.commands import exit_code
from tests.support.reports import DAYS, conf_of, rows_of, stored, write_log

FEW = ("ndcg@10", "logloss")
HOSTILE = (
    "<script>window.hit=1</script><img src=x onerror=window.hit=1>",
    '"\' onmouseover=window.hit=1 x="',
    "שלום עולם \u202egnp.exe",
    "👩‍👩‍👧 🏳️‍🌈 {{ 7 * 7 }} </style></script><!--",
    "x" * 500,
)


def evaluated(days: Sequence[str] = DAYS, clicks: int | None = None, **changes: Any) -> ReportData:
    """The report of the last of some stored nights; with ``clicks`` all labels are that number."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number, day in enumerate(days):
            rows = rows_of(number, 400)
            write_log(folder, day, rows if clicks is None else rows.set_column(3, "click", pa.array([clicks] * 400)))
            assert exit_code("evaluate", "--quiet", "--conf", conf_of(folder, **changes), "--date", day) in (0, 3)
        return stored(conf_of(folder, **changes), days[-1])


REPORTS = {
    "nights": evaluated,
    "a failed night": lambda: evaluated(gates=[{"metric": "ndcg@10", "min": 0.999}], metrics=[*FEW], history={}),
    "an undefined night": lambda: evaluated(DAYS[-1:], clicks=0),
    "one model": lambda: report(("only",), FEW, ("de", "fr")),
    "two models": lambda: report(("old", "new"), FEW, ("de", "fr", None), state="fail"),
    "twenty models and 1,000 values": lambda: report(
        [f"model {number}" for number in range(20)], ("ndcg@10",), [f"value {number}" for number in range(1000)], days=7
    ),
    "nothing": lambda: ReportData("day", "2026-01-31", (), (), missing={"headline": "evaluate the day first"}),
    "hostile names": lambda: report(HOSTILE, FEW, HOSTILE, slice_name=HOSTILE[0], state="fail"),
}


@cache
def made(name: str) -> tuple[ReportData, str]:
    """A report and its page, which is made once."""
    from sparkrank.report.page import page

    data = REPORTS[name]()
    return data, page(data)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "hostile names" else pytest.mark.tools) for name in REPORTS]
)
def test_it_opens_without_a_word_of_complaint_and_asks_for_nothing(name: str, opened: Open) -> None:
    """Neither the console nor the policy has anything to say, nothing is wider than a phone, and axe finds nothing.

    Axe looks for contrast in light and dark, names, roles, order and all else that it has a rule for; of long tables
    the first rows stand for the rest.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    view = opened(made(name)[1], PHONE)
    view.eval("document.querySelectorAll('details').forEach((each, at) => each.open = at < 60)")
    assert view.page.title() == made(name)[0].title
    assert view.eval("document.documentElement.scrollWidth") <= PHONE[0]
    assert view.eval("[window.hit ?? null, document.scripts.length, document.images.length]") == [None, 1, 0]
    names = set(view.eval("[...document.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => a.name))"))
    assert {name for name in names if name.startswith("on") or name == "style"} == set()
    ids = view.eval("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert (view.told, view.asked) == ([], [])

    looked = opened(made(name)[1], bypass_csp=True)  # axe is a script that the policy would not let in
    looked.eval("document.querySelectorAll('details').forEach((each, at) => each.open = at < 12)")
    looked.eval("document.querySelectorAll('tbody').forEach(b => [...b.rows].slice(3).forEach(r => r.remove()))")
    assert violations(axe.run(looked.page)) == []
    looked.page.emulate_media(color_scheme="dark")
    assert violations(axe.run(looked.page, options={"runOnly": ["color-contrast"]})) == []


def test_the_index_opens_as_a_report_does(opened: Open) -> None:
    from sparkrank.report.index_page import index_page

    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    titles = {
        DAYS[0]: f"✕ Fail - {HOSTILE[0]} - {DAYS[0]}",
        DAYS[2]: "! Warning - a - b",
        "2026-02-01": "✓ Pass - a - b",
    }
    page = index_page(HOSTILE[0], "day", titles)
    view = opened(page, PHONE)
    assert view.eval("document.documentElement.scrollWidth") <= PHONE[0]
    assert (view.told, view.asked, view.eval("window.hit ?? null")) == ([], [], None)
    looked = opened(page, bypass_csp=True)
    assert violations(axe.run(looked.page)) == []
    looked.page.emulate_media(color_scheme="dark")
    assert violations(axe.run(looked.page, options={"runOnly": ["color-contrast"]})) == []


def violations(results: Any) -> list[tuple[str, str, list[str]]]:
    rules = results.response["violations"]
    return [(rule["id"], rule["help"], [node["html"][:200] for node in rule["nodes"][:3]]) for rule in rules]


@pytest.mark.tools
def test_axe_would_tell(opened: Open) -> None:
    """Text of too little contrast and a chart without a name are found, in either scheme."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    view = opened(made("one model")[1], color_scheme="dark", bypass_csp=True)
    view.eval("document.querySelector('h2').style.color = '#555'")
    view.eval("document.querySelector('figure svg').removeAttribute('aria-labelledby')")
    rules = {"runOnly": ["color-contrast", "svg-img-alt"]}
    assert {each[0] for each in violations(axe.run(view.page, options=rules))} == {"color-contrast", "svg-img-alt"}


def test_it_says_the_same_without_scripts(opened: Open) -> None:
    """The script adds search fields and buttons; the words and numbers are those of the page."""
    pages = [opened(made("two models")[1], java_script_enabled=enabled).page for enabled in (True, False)]
    texts = [page.inner_text("main").split() for page in pages]
    assert texts[0] == texts[1]
    assert "+0." in " ".join(texts[1])


def cells(view: Opened, column: int, table: str = "#slices table") -> list[str]:
    script = """([q, c]) =>
      [...document.querySelector(q).tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[c].textContent)"""
    texts: list[str] = view.eval(script, [table, column])
    return texts


def test_tables_can_be_sorted_and_searched_by_keyboard(opened: Open) -> None:
    view = opened(report(("a", "b"), ("ap",), [f"value {number}" for number in range(12)], days=1))
    before = cells(view, 3)
    assert before == sorted(before, reverse=True)
    button = view.page.locator("#slices table thead button").nth(3)
    button.focus()
    view.page.keyboard.press("Enter")
    assert cells(view, 3) == sorted(before)
    assert view.page.locator("#slices table th").nth(3).get_attribute("aria-sort") == "ascending"
    view.page.keyboard.press("Space")
    assert cells(view, 3) == before
    view.page.locator("#slices table thead button").nth(1).click()
    values = [float(text[:6]) for text in cells(view, 1)]
    assert values == sorted(values)
    assert len(set(values)) > 5
    view.page.get_by_label("Search country").first.fill("VALUE 1")
    assert sorted(cells(view, 0)) == ["value 1", "value 10", "value 11"]
    assert view.page.get_by_role("status").first.inner_text() == "3 of 12"
    view.page.get_by_label("Search country").first.fill("")
    view.page.get_by_label("Rows from").first.fill("19900")  # 19,987, and 13 fewer with each value
    assert view.page.get_by_role("status").first.inner_text() == "7 of 12"


def test_the_keyboard_reaches_everything_in_order(opened: Open) -> None:
    """First the link to the verdict, then the sections, each with a ring around it that can be seen."""
    view = opened(made("two models")[1])
    reached = []
    for _ in range(12):
        view.page.keyboard.press("Tab")
        reached.append(view.eval("document.activeElement.getAttribute('href') || document.activeElement.tagName"))
        assert view.eval("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    sections = view.eval("[...document.querySelectorAll('main > section')].map(e => '#' + e.id)")
    assert reached[0] == "#verdict"
    assert reached[1 : 1 + len(sections)] == sections[:11]


NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?")


def numbers(value: Any) -> set[str]:
    """All forms in which the numbers of a report may stand in the page, by fields and not by sections."""
    if dataclasses.is_dataclass(value):
        return set().union(*(numbers(getattr(value, each.name)) for each in dataclasses.fields(value)))
    if isinstance(value, (tuple, list)):
        return set().union(*map(numbers, value))
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, (int, float)):
        forms = (format(value, form) for form in (".4f", "+.5f", ".5f", "+.2%", ".4%", "g", ".3f"))
        return {*forms, repr(value), f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}", "0.0001"}
    return set(NUMBER.findall(value)) if isinstance(value, str) else set()


def test_every_number_is_one_of_the_report(opened: Open) -> None:
    """What stands in a cell of a table, or behind one as all of its digits, stands in the report's data."""
    data, text = made("two models")
    view = opened(text)
    texts = view.eval("""[...document.querySelectorAll('td, [title]')].flatMap(e => [e.title,
      ...[...e.childNodes].filter(n => n.nodeType === 3 || n.tagName === 'SMALL').map(n => n.textContent)])""")
    shown = {number for text in texts for number in NUMBER.findall(text)}
    assert len(shown) > 500
    assert shown - numbers(data) == set()


def test_every_value_of_the_metrics_is_there_to_the_last_digit(opened: Open) -> None:
    """By row and column: the value and its interval as on the terminal, and behind it as in the table."""
    data, text = made("two models")
    view = opened(text)
    script = """q => Object.fromEntries([...document.querySelectorAll(q)].flatMap(t => {
      const heads = [...t.tHead.rows[0].cells].map(c => c.textContent);
      const of = t.closest("details")?.querySelector("summary bdi").textContent ?? "";
      return [...t.tBodies[0].rows].flatMap(r => [...r.cells].map((c, at) =>
        [[of, r.cells[0].textContent, heads[at]].join("|"), [c.title, c.textContent]]));
    }))"""
    headline, sliced = (view.eval(script, query) for query in ("#headline > .scroll table", "#slices table"))
    rows = [(headline, "", line.row.metric, line.row) for line in data.headline.rows]
    rows += [
        (sliced, row.metric, row.slice_value or "(null)", cell)
        for row in data.slices.rows
        for cell in row.cells
        if cell is not None
    ]
    assert len(rows) == 4 + 12
    for table, metric, first, cell in rows:
        title, text = table[f"{metric}|{first}|{cell.model}"]
        assert float(title.split(" ")[0]) == cell.value
        assert text.startswith(f"{cell.value:.4f}[{cell.ci_low:.4f}, {cell.ci_high:.4f}]")


def test_names_of_strangers_are_shown_as_they_are(opened: Open) -> None:
    """As text, each in its own direction; marks that would turn the rest of the line around are written out."""
    view = opened(made("hostile names")[1])
    heads = view.eval("[...document.querySelectorAll('#headline > .scroll thead th bdi')].map(e => e.textContent)")
    assert heads == [name.replace("\u202e", r"\u202e") for name in HOSTILE]
    values = view.eval("[...document.querySelector('#slices table').tBodies[0].rows].map(r => r.cells[0].textContent)")
    assert values == heads
    assert view.eval("getComputedStyle(document.querySelector('#headline thead bdi')).unicodeBidi") == "isolate"


def test_every_chart_has_a_name_a_description_and_a_table_beside_it(opened: Open) -> None:
    view = opened(made("two models")[1])
    charts = view.eval("""[...document.querySelectorAll('figure svg')].map(e => [
      e.getAttribute('role'),
      ...['labelledby', 'describedby'].map(a => document.getElementById(e.getAttribute('aria-' + a)).textContent),
      e.closest('section').querySelectorAll('table').length])""")
    assert len(charts) > 12
    assert all(role == "img" and name and about and tables for role, name, about, tables in charts)


def test_paper_has_no_navigation_and_is_light(opened: Open) -> None:
    view = opened(made("two models")[1], PAPER, color_scheme="dark")
    dark = view.eval("getComputedStyle(document.body).backgroundColor")
    view.page.emulate_media(media="print")
    assert view.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)" != dark
    assert not view.page.locator("nav").is_visible()
    assert view.page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.tools
def test_tables_of_words_and_numbers_fit_on_a_desktop(opened: Open) -> None:
    """Gates with names of their own length, and comparisons that are all sure: nothing is behind an edge."""
    name = "ndcg@10 of candidate where country=* not worse than baseline by 1%"
    reason = (
        "its difference to production, -0.0145035 (-0.0589994 to 0.0299924), may or may not be worse than the "
        "margin allows (-0.00740517)"
    )
    check = gate(name, "ndcg@10", "candidate", "undecided", reason)
    data = report(("production", "candidate"), ("ndcg@10", "coverage(ties=item)@10"), days=1)
    sure = {"p_adjusted": 1e-9, "relative": -0.9999, "wins": 10_000}
    rows = tuple(dataclasses.replace(row, **sure) for row in data.comparisons.rows)
    checks = (dataclasses.replace(check, slice="country", slice_value="Germany"),) * 12
    data = dataclasses.replace(data, gates=checks, comparisons=dataclasses.replace(data.comparisons, rows=rows))
    view = opened(data)
    wide = "[...document.querySelectorAll('#gates .scroll,#comparisons .scroll')]"
    assert view.eval(f"{wide}.length") == 2
    assert view.eval(f"{wide}.map(each => each.scrollWidth - each.clientWidth)") == [0, 0]
    heights = view.eval("[...document.querySelectorAll('#gates tbody th')].map(each => each.offsetHeight)")
    assert max(heights) < 200  # lines of a name: some words each, not one


def test_charts_have_the_colours_of_the_scheme(opened: Open) -> None:
    """From one file: ink that is the colour of the text, lines that are lighter on dark."""
    colours = []
    for scheme in ("light", "dark"):
        view = opened(made("two models")[1], color_scheme=scheme)
        ink = view.eval("getComputedStyle(document.querySelector('figure svg text')).fill")
        assert ink == view.eval("getComputedStyle(document.body).color")
        colours.append((ink, view.eval("getComputedStyle(document.querySelector('figure .sc0')).stroke")))
    assert all(light != dark for light, dark in zip(*colours, strict=True))


@pytest.mark.tools
def test_a_reason_for_doubt_leaves_the_values_of_slices_on_a_phone(opened: Open) -> None:
    from sparkrank.report.page import page

    data = report(("old", "new"), FEW, ("de", "fr"))
    assert data.comparisons is not None
    reason = "clear by itself; not after correction for 42 comparisons"
    rows = tuple(dataclasses.replace(row, doubt=reason) for row in data.comparisons.rows)
    view = opened(page(dataclasses.replace(data, comparisons=dataclasses.replace(data.comparisons, rows=rows))), PHONE)
    widths = view.eval(
        "[...document.querySelectorAll('#slices tbody tr')].slice(0, 2).map(r => r.cells[2].offsetWidth)"
    )
    assert len(widths) == 2
    assert max(widths) < PHONE[0] / 2


@pytest.mark.tools
def test_tables_of_twenty_models_are_whole_on_paper(opened: Open) -> None:
    """They turn to landscape; charts beside them are cut at no edge, and the whole takes at most forty pages."""
    metrics = [f"{name}@{k}" for name in ("ndcg", "p", "r", "hit", "ap") for k in range(1, 7)]
    models = [f"model {at:02}" for at in range(20)]
    data, first = report(models, metrics, days=7), report(models, metrics[:1], [f"value {at}" for at in range(200)])
    data = dataclasses.replace(data, slices=first.slices, comparisons=first.comparisons)  # of one metric alone
    inside = (1017, 688)  # CSS pixels of A4 in landscape, without the margins
    view = opened(data, inside)
    wide = "[...document.querySelectorAll('table, figure')].map(e => Math.ceil(e.getBoundingClientRect().right))"
    assert max(view.eval(wide)) > inside[0]
    view.page.emulate_media(media="print")
    assert max(view.eval(wide)) <= inside[0]
    heads = view.eval("[...document.querySelectorAll('#slices thead th bdi')].map(e => e.getClientRects().length)")
    assert heads[:21] == [1] * 21  # the slice and all models
    pages = re.findall(rb"/MediaBox\s*\[([^\]]*)\]", view.page.pdf(prefer_css_page_size=True))
    broad = [float(box.split()[2]) > float(box.split()[3]) for box in pages]
    assert 2 < sum(broad) < len(broad) <= 40
