"""A report on one page: Markdown for a pull request or a chat, and the headline as a table of LaTeX.

Names are those of strangers: what Markdown, HTML or LaTeX would take for its own is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from sparkrank.base.errors import escaped
from sparkrank.base.redaction import redact
from sparkrank.metrics.slices import ALL, shown_value
from sparkrank.report.data import Comparison, GateRow, HeadlineRow, MetricValue, ReportData
from sparkrank.stats.intervals import WHY_TOO_FEW
from sparkrank.text.text import UNDEFINED, value_text

MOST_ROWS = 40  # of the headline
MOST_MODELS = 8  # of the headline: a comment on a pull request takes 65,536 letters
MOST_LINES = 8  # of gates, checks and slices each
_LONGEST = 80  # letters of a name
# @ and : too: a name must not call anybody in a chat, nor become a link; $ would begin a formula.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&@:$])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
_SIGNS = {"pass": "pass", "fail": "**fail**", "undecided": "*undecided*"}


def one_page(data: ReportData) -> str:
    """The summary in Markdown: verdict, headline with intervals and comparisons, and what is not as it should be.

    Parameters
    ----------
    data : ReportData
        What it says.

    Returns
    -------
    str
        It ends in a newline.
    """
    parts = [
        f"### {_title(data)}",
        *_verdict(data),
        *_headline(data),
        *_changes(data),
        *_gates(data),
        *_slices(data),
        *_quality(data),
        *_source(data),
    ]
    return "\n\n".join(parts) + "\n"


def _title(data: ReportData) -> str:
    return "Evaluation" if data.kind == "evaluation" else f"Evaluation of {_md(data.name)}"


def _md(text: str) -> str:
    """``text`` as Markdown shows it literally, in one line."""
    return _MARKDOWN.sub(r"\\\1", _short(text))


def _short(text: str) -> str:
    line = redact(escaped(text))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _verdict(data: ReportData) -> Iterator[str]:
    if data.verdict is None:
        return
    reason = data.verdict.accepted_reason
    accepted = "" if reason is None else f' Accepted: "{_md(reason)}".'
    yield f"**{data.verdict.sentence}**{accepted}"


def _headline(data: ReportData) -> Iterator[str]:
    if data.headline is None:
        yield _md_sentence(data.missing.get("headline", "There are no metrics."))
        return
    by_key = {(each.row.metric, each.row.model): each for each in data.headline.rows}
    models = _first_models(data.headline.models, data.baseline)
    compared = [model for model in models if any(each.comparison for each in data.headline.rows if _is(each, model))]
    head = ["metric", *map(_md, models), *(f"{_md(model)} - {_md(data.baseline or '')}" for model in compared)]
    lines = []
    metrics = data.headline.metrics[:MOST_ROWS]
    for metric in metrics:
        rows = {model: by_key.get((metric, model)) for model in models}
        cells = [_md(metric), *("" if row is None else _value(row.row) for row in rows.values())]
        of_compared = [rows[model] for model in compared]
        cells += ["" if row is None or row.comparison is None else _difference(row.comparison) for row in of_compared]
        lines.append(cells)
    yield _table(head, lines)
    if len(data.headline.metrics) > len(metrics):
        yield f"and {len(data.headline.metrics) - len(metrics)} more metrics"
    if len(data.headline.models) > len(models):
        yield f"and {len(data.headline.models) - len(models)} more models"
    if data.level is not None:
        yield f"± and [ ]: intervals of {data.level * 100:g} %"


def _first_models(models: Sequence[str], baseline: str | None) -> list[str]:
    """The first models, the baseline always among them."""
    first = list(models[:MOST_MODELS])
    return first if baseline is None or baseline in first or baseline not in models else [*first[:-1], baseline]


def _is(row: HeadlineRow, model: str) -> bool:
    return row.row.model == model


def _md_sentence(sentence: str) -> str:
    return _MARKDOWN.sub(r"\\\1", redact(escaped(sentence)))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|".join(["---", *["--:"] * (len(head) - 1)])
    rows = [f"| {' | '.join(cells)} |" for cells in (head, *lines)]
    return "\n".join([rows[0], f"|{rule}|", *rows[1:]])


def _value(row: MetricValue) -> str:
    """The value of a row with its interval, as the terminal has it."""
    return value_text(row.value, row.ci_low, row.ci_high, row.interval, row.error_bound)


def _difference(row: Comparison) -> str:
    if row.difference is None:
        return UNDEFINED
    text = f"{row.difference:+.4f}"
    if row.ci_low is not None and row.ci_high is not None:
        text += f" [{row.ci_low:+.4f}, {row.ci_high:+.4f}]"
    elif row.interval == WHY_TOO_FEW:
        text += f" ({WHY_TOO_FEW})"
    p = row.p if row.p_adjusted is None else row.p_adjusted
    return text if p is None else f"{text}, p {_p(p)}"


def _p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _changes(data: ReportData) -> Iterator[str]:
    if data.headline is None or data.previous is None:
        return
    moved = [each for each in data.headline.rows if each.change]
    moved.sort(key=lambda each: -_size(each))
    told = [
        f"{_md(each.row.model)} {_md(each.row.metric)} {each.before:.4f} → {each.row.value:.4f} ({each.change:+.4f})"
        for each in moved[:3]
    ]
    yield f"Since {_md(data.previous)}: {'; '.join(told) if told else 'nothing changed'}"


def _size(row: HeadlineRow) -> float:
    """A change in standard errors, for the order; without them as a share of the value."""
    change = abs(row.change or 0.0)
    return change / row.row.stderr if row.row.stderr else change / (abs(row.before or 0.0) or 1.0)


def _gates(data: ReportData) -> Iterator[str]:
    told = [gate for gate in data.gates if gate.verdict != "pass" or gate.accepted]
    if told:
        lines = [
            f"- {_SIGNS[gate.verdict]} {_md(gate.gate)}: {_cell(gate)}: {_md_sentence(gate.reason)}" for gate in told
        ]
        yield "\n".join(["**Gates**", "", *lines[:MOST_LINES], *_more(len(lines), "verdicts")])


def _cell(gate: GateRow) -> str:
    own = (
        "" if gate.slice is None or gate.slice == ALL else f"{gate.slice} = {shown_value(gate.slice_value, gate.slice)}"
    )
    return ", ".join(_md(text) for text in (gate.metric, gate.model or "", own) if text)


def _more(count: int, what: str) -> list[str]:
    return [f"- and {count - MOST_LINES:,} more {what}"] if count > MOST_LINES else []


def _slices(data: ReportData) -> Iterator[str]:
    """The values of slices where a candidate differs from the baseline beyond chance."""
    rows = [] if data.comparisons is None else [row for row in data.comparisons.rows if row.slice != ALL]
    sure = [
        row for row in rows if (p := row.p_adjusted if row.p_adjusted is not None else row.p) is not None and p < 0.05
    ]
    sure.sort(key=_in_errors, reverse=True)
    if sure:
        lines = [
            f"- {_md(row.slice)} = {_md(shown_value(row.slice_value, row.slice))}: "
            f"{_md(row.candidate)} {_md(row.metric)} {_difference(row)}"
            for row in sure
        ]
        yield "\n".join(["**Slices that differ**", "", *lines[:MOST_LINES], *_more(len(lines), "values of slices")])


def _in_errors(row: Comparison) -> float:
    """How large a difference is in standard errors: metrics have scales of their own."""
    return abs(row.difference or 0.0) / row.stderr if row.stderr else math.inf


def _quality(data: ReportData) -> Iterator[str]:
    bad = [line for line in data.quality if line.ok is False]
    if bad:
        lines = [
            f"- {_md_sentence(line.check)}{'' if line.model is None else f' ({_md(line.model)})'}: {line.count:,.6g}"
            + ("" if line.fraction is None else f" ({line.fraction:.4%} of {_md(line.of or '')})")
            for line in bad
        ]
        yield "\n".join(["**Not within its limit**", "", *lines[:MOST_LINES], *_more(len(lines), "checks")])


def _source(data: ReportData) -> Iterator[str]:
    found = data.provenance
    if found is None:
        return
    versions = dict(found.versions)
    told = [
        None if found.run_id is None else f"run {_md(found.run_id)}",
        None if found.spec_hash is None else f"spec {_md(found.spec_hash)}",
        None if found.rows is None else f"{found.rows:,} rows",
        f"sparkrank {_md(versions['sparkrank'])}" if "sparkrank" in versions else None,
    ]
    yield f"<sub>{', '.join(filter(None, told))}</sub>"


def latex_table(data: ReportData) -> str:
    """The headline as a ``tabular`` of LaTeX: a row a metric, a column a model, intervals behind the values.

    Parameters
    ----------
    data : ReportData
        What it says.

    Returns
    -------
    str
        It needs the package booktabs, and ends in a newline.
    """
    if data.headline is None:
        return f"% {redact(escaped(data.missing.get('headline', 'There are no metrics.')))}\n"
    models, by_key = data.headline.models, {(each.row.metric, each.row.model): each for each in data.headline.rows}
    lines = [
        f"% {redact(escaped(data.name))}",
        f"\\begin{{tabular}}{{l{'r' * len(models)}}}",
        r"\toprule",
        " & ".join(["metric", *map(_tex, models)]) + r" \\",
        r"\midrule",
    ]
    for metric in data.headline.metrics:
        rows = [by_key.get((metric, model)) for model in models]
        cells = ["" if row is None else _value(row.row).replace("±", r"$\pm$") + _stars(row) for row in rows]
        lines.append(" & ".join([_tex(metric), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _stars(row: HeadlineRow) -> str:
    """A star where the model differs from the baseline at 5 %, after correction."""
    of = row.comparison
    p = None if of is None else of.p if of.p_adjusted is None else of.p_adjusted
    return "$^{*}$" if p is not None and p < 0.05 else ""


def _tex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _short(text))
