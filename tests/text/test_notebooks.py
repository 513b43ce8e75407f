"""What a notebook shows of results, in which types pandas gets them, and what an interrupt leaves."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.config.document import _settings_of_rows as of_document
from sparkrank.engines import local
from sparkrank.inputs.spec_hash import hash_of_plan
from sparkrank.text.notebook import MOST_METRICS, MOST_MODELS
from tests.support.doors import GOOD, document_of, written

# Two users: a has the click second under old and first under new, b has it first under both.
LOG = pa.table(
    {
        "user": ["a", "a", "b", "b"],
        "old": [0.9, 0.5, 0.7, 0.2],
        "new": [0.1, 0.5, 0.7, 0.2],
        "click": [0, 1, 1, 0],
        "country": ["de", "de", "fr", "fr"],
    }
)
ASKED: dict[str, Any] = {"group": "user", "score": {"old": "old", "new": "new"}, "label": "click"}


class _Parsed(HTMLParser):
    """The tags of a page, all closed in their order, and the texts of the cells, line by line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.lines: list[list[str]] = []
        self.attributes: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "br":
            self._open.append(tag)
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th"):
            self.lines[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if any(tag in ("td", "th") for tag in self._open):
            self.lines[-1][-1] += data


def test_the_text_has_a_line_per_metric_and_a_column_per_model() -> None:
    ev = sr.evaluate(LOG, ["mrr", "hit@1", "auc"], **ASKED, slices=["country"], uncertainty=False)
    head, titles, rule, *lines = repr(ev).splitlines()
    assert head == "Evaluation in the lane local, 2 groups, intervals of 95 %"
    assert titles.split() == ["metric", "old", "new", "groups", "undefined"]
    assert set(rule) == {"-", " "}
    # t of one degree of freedom: 12.7062 standard errors, which are 0.25 of 0.5 and 1, on the scale of log odds
    ends = [1 / (1 + math.exp(-(math.log(3) + side * 12.706205 * 0.25 / (0.75 * 0.25)))) for side in (-1, 1)]
    assert re.split(r"  +", lines[0]) == ["rr", "0.7500 [{:.4f}, {:.4f}]".format(*ends), "1.0000 (too few)", "2", "0"]
    assert lines[2].split() == ["auc", "0.5000", "1.0000", "0"]
    assert lines[-1] == "Also by country (values: 2): see the table metrics"


def test_the_text_leads_to_the_differences_that_were_asked_for() -> None:
    ev = sr.evaluate(LOG, ["mrr"], **ASKED, compare="old")
    assert repr(ev).splitlines()[0].endswith(", intervals of 95 %, differences in compare('old')")


def test_the_page_has_models_side_by_side_with_intervals_and_no_script() -> None:
    ev = sr.evaluate(LOG, ["mrr", "auc"], **ASKED, uncertainty=False)
    page = _Parsed(ev._repr_html_())
    assert page.lines == [
        ["metric", "old", "new", "groups", "undefined"],
        ["rr", "0.7500 [0.0000, 1.0000]", "1.0000 too few", "2", "0"],
        ["auc", "0.5000", "1.0000", "", "0"],
    ]
    assert set(page.tags) <= {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "small", "br"}
    assert set(page.attributes) <= {"class", "scope"}
    # the colours are those of the page around it, light or dark
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb|white|black|url|import", ev._repr_html_())


def test_models_that_differ_in_their_groups_have_these_in_their_cells() -> None:
    ev = sr.evaluate(LOG.set_column(2, "new", pa.array([None, None, 0.7, 0.2])), ["mrr"], **ASKED, unretrieved="skip")
    lines = _Parsed(ev._repr_html_()).lines
    assert (lines[0], lines[1][2]) == (["metric", "old", "new"], "1.0000 too fewgroups: 1, undefined: 0")
    assert [line.split()[-2:] for line in repr(ev).splitlines()[3:]] == [["2", "0"], ["1", "0"]]


def test_names_of_strangers_are_text() -> None:
    names = {"<script>alert(1)</script>": "old", "\x1b[31m&\u202e": "new"}
    ev = sr.evaluate(LOG, ["mrr"], **{**ASKED, "score": names}, slices=["country"])
    page = _Parsed(ev._repr_html_())
    assert "script" not in page.tags
    assert page.lines[0][1:3] == ["<script>alert(1)</script>", "\\x1b[31m&\\u202e"]
    for text in (repr(ev), ev._repr_html_()):
        assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_of_many_metrics_and_models_the_first_are_shown() -> None:
    metrics = [f"p@{k}" for k in range(1, MOST_METRICS + 4)]
    models = {f"m{index}": "old" for index in range(MOST_MODELS + 2)}
    ev = sr.evaluate(LOG, metrics, **{**ASKED, "score": models})
    for text in (repr(ev), ev._repr_html_()):
        assert all(shown in text for shown in (f"p@{MOST_METRICS}", "and 3 more metrics", "and 2 more models"))
        assert not any(cut in text for cut in (f"p@{MOST_METRICS + 1}", f"m{MOST_MODELS}"))
    assert len(ev.to_pandas()) == len(metrics) * len(models)


def test_a_chart_is_shown_without_a_network() -> None:
    """Front ends prefer HTML to SVG, and altair's HTML loads its scripts."""
    alt = pytest.importorskip("altair")
    chart = sr.evaluate(LOG, ["mrr"], **ASKED, slices=["country"]).plot("slices")
    bundle = chart.properties(width=100)._repr_mimebundle_()
    kinds = sorted(bundle)
    assert kinds == [f"application/vnd.vegalite.{alt.SCHEMA_VERSION[:2]}+json", "image/svg+xml"]
    assert bundle["image/svg+xml"].startswith("<svg ")
    assert re.search(r'<rect width="\d+" height="\d+" fill="white"/>', bundle["image/svg+xml"])  # its ink is black
    assert bundle[kinds[0]]["width"] == 100
    with alt.renderers.enable("html"):  # as the user wants it
        assert "text/html" in str(chart._repr_mimebundle_())


@pytest.mark.parametrize("is_decided", [False, True])
def test_tables_of_the_local_lane_have_a_form_of_html(monkeypatch: pytest.MonkeyPatch, is_decided: bool) -> None:
    """They stay Arrow's tables: IPython's formatter of HTML knows how to show these, unless the user has told it."""

    class Formatter(dict[type, Any]):
        for_type = dict.__setitem__

    formatter = Formatter({pa.Table: str} if is_decided else {})
    display = types.SimpleNamespace(formatters={"text/html": formatter})
    shell = types.SimpleNamespace(display_formatter=display)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    ev = sr.evaluate(LOG, ["mrr"], **ASKED)
    assert type(ev.metrics) is type(ev.groups) is pa.Table
    if is_decided:
        assert formatter == {pa.Table: str}
        return
    page = _Parsed(formatter[pa.Table](ev.groups))
    assert page.lines[0] == ev.groups.column_names
    assert ["new", "a", "2", "2", "1", "0.5"] not in page.lines
    assert ["old", "a", "2", "2", "1", "0.5"] in page.lines
    assert "script" not in page.tags
    many = formatter[pa.Table](pa.table({"x": pa.array([None, "<b>", *map(str, range(50))])}))
    assert _Parsed(many).lines[1:3] == [[""], ["<b>"]]
    assert "rows: 52, of which the first 20 are shown" in many


def test_a_comparison_of_runs_shows_itself() -> None:
    ev = sr.evaluate(LOG, ["mrr", "hit@1"], **ASKED)
    found = sr.compare_runs(ev, ev, left_model="old", right_model="new", groups="common")
    text, page = repr(found), _Parsed(found._repr_html_())
    assert "2 groups of both" in text
    assert re.search(r"^rr +\+0\.25000 ", text, re.MULTILINE)
    assert [line[:2] for line in page.lines] == [["metric", "difference"], ["hit@1", "+0.50000"], ["rr", "+0.25000"]]


def test_whole_numbers_are_whole_in_pandas_with_and_without_nulls() -> None:
    asked: dict[str, Any] = {"metrics": ["mrr", "auc"], **ASKED}
    ev, without = sr.evaluate(LOG, **asked), sr.evaluate(LOG, **asked, uncertainty=False).to_pandas()
    counts = ["n_groups", "n_undefined", "n_rows"]
    of_pairs = ("wins", "ties", "losses", "n_groups", "n_unpaired")
    for frame in (ev.to_pandas(), ev.metrics.to_pandas(), sr.evaluate(LOG, ["mrr"], **ASKED).to_pandas()):
        assert [frame[name].dtype for name in counts] == [pd.Int64Dtype()] * 3
    assert {ev.compare("old").to_pandas()[name].dtype for name in of_pairs} == {pd.Int64Dtype()}
    assert ev.to_pandas()["n_groups"].tolist() == [2, 2, 2, 2]
    assert without["n_groups"].tolist() == [2, pd.NA, 2, pd.NA]


def test_the_hash_is_that_of_a_spec_without_the_place_of_its_rows(tmp_path: Path) -> None:
    """For rows by path and in memory alike."""
    for asked in GOOD:
        paths = written(asked, tmp_path)
        spec = Spec.model_validate(document_of(asked, paths, tmp_path))
        sides = [None if rows is None else {**of_document(spec.resolved()[what], rows), "path": None}
                 for what, rows in (("input", spec.input), ("truth", spec.truth))]  # fmt: skip
        expected = hash_of_plan(spec.plan(), sides[0], sides[1])
        for rows, truth in ((paths["input"], paths["truth"]), (asked.rows, asked.truth)):
            beside = {} if asked.truth is None else {"truth": truth, "truth_columns": asked.truth_columns}
            more = {**asked.columns, **beside, **asked.settings, **asked.quality, **asked.engine}
            metrics = sr.evaluate(rows, list(asked.metrics), slices=list(asked.slices), **more).metrics
            assert (set(metrics["spec_hash"].to_pylist()), set(metrics["run_id"].to_pylist())) == ({expected}, {None})


def test_the_hash_changes_with_the_question() -> None:
    asked: dict[str, Any] = {"metrics": ["mrr"], **ASKED}
    first, again = (sr.evaluate(LOG, **asked) for _ in range(2))
    assert first.origin == again.origin
    assert re.fullmatch("[0-9a-f]{12}", str(first.origin.spec_hash))
    assert set(first.compare("old")["spec_hash"].to_pylist()) == {first.origin.spec_hash}
    changes: dict[str, Any] = {"metrics": ["mrr", "auc"], "ties": "worst", "slices": ["country"], "score": "old"}
    changes |= {"uncertainty": {"level": 0.9}, "label": "old", "compare": "old", "preset": "ranx"}
    hashes = [sr.evaluate(LOG, **{**asked, name: value}).origin.spec_hash for name, value in changes.items()]
    assert first.origin.spec_hash not in hashes


def test_results_show_themselves_without_matplotlib_and_ipython() -> None:
    script = (
        "import sys\nsys.modules |= dict.fromkeys(('matplotlib', 'IPython', 'tqdm'))\n"
        "import pyarrow as pa, sparkrank as sr\n"
        "asked = dict(group='u', score='s', label='y', uncertainty=False)\n"
        "ev = sr.evaluate(pa.table({'u': [1], 's': [1.0], 'y': [1]}), ['rr'], **asked)\n"
        "print(ev)\nassert '<table>' in ev._repr_html_()\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert "rr" in told.stdout


def test_an_interrupt_leaves_no_thread_and_no_file_and_the_next_call_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_files() -> set[str]:
        return {file.name for file in Path("/proc/self/fd").iterdir()}

    def slow(*_: object) -> Any:
        begun.set()
        time.sleep(0.3)
        return iter(())

    begun, before = threading.Event(), open_files()
    thread = threading.Thread(target=lambda: (begun.wait(20), os.kill(os.getpid(), signal.SIGINT)))
    asked: dict[str, Any] = {"metrics": ["mrr"], **ASKED, "group_table": str(tmp_path / "groups")}
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(local, "evaluate_buckets", slow)
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                sr.evaluate(LOG, **asked, buckets=64, row_memory=0)
    finally:
        signal.signal(signal.SIGINT, handler)
    thread.join()
    assert not [each.name for each in threading.enumerate() if each.name == "sparkrank-worker"]
    assert not list(tmp_path.rglob("*.parquet"))
    assert len(open_files() - before) <= 1  # what is looked at by is one
    assert sr.evaluate(LOG, **asked).value("mrr", model="new") == 1.0
    assert pq.read_table(tmp_path / "groups").num_rows == 4
