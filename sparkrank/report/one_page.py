"""A report as one page of Markdown, and its headline (metrics over all rows) as a LaTeX table, with escaped names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from sparkrank.base.errors import escape
from sparkrank.base.redaction import redact
from sparkrank.metrics.slices import ALL, shown_value
from sparkrank.report.certainty import adjusted_p, is_sure
from sparkrank.report.data import ComparisonRow, GateRow, HeadlineRow, MetricValue, ReportData, StoppedGate
from sparkrank.report.figures import charted
from sparkrank.stats.intervals import WHY_TOO_FEW
from sparkrank.text.comparison_text import probability
from sparkrank.text.text import UNDEFINED, counts_of, value_text

MOST_ROWS = 40  # the most rows of the headline
MOST_LINES = 8  # the most lines in each list: warnings, gates and slices
_LONGEST = 80  # the most characters of a name
# @ and : are escaped so that a name neither mentions people in a chat nor becomes a link; $ would start a formula.
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
_NO_METRICS = "There are no metrics."
_SIGNS = {"pass": "pass", "fail": "**fail**", "undecided": "*undecided*"}


def one_page(data: ReportData) -> str:
    """Return a summary of the report in Markdown: verdict, headline with intervals and comparisons, and problems."""
    makers = (_verdict, _headline, _sentences, _gates, _slices, _source)
    parts = [f"### {_md(data.title)}", *(part for maker in makers for part in maker(data))]
    return "\n\n".join(parts) + "\n"


def _md(text: str) -> str:
    """Escape a string for Markdown, put it on one line and shorten it."""
    return _MARKDOWN.sub(r"\\\1", _short(text))


def _short(text: str) -> str:
    line = redact(escape(text))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _verdict(data: ReportData) -> Iterator[str]:
    if data.verdict is None:
        return
    reason = data.verdict.accepted_reason
    accepted = "" if reason is None else f' Accepted: "{_md(reason)}".'
    owner = "" if data.owner is None else f" Owner: {_md(data.owner)}."
    yield f"**{data.verdict.sentence}**{accepted}{owner}"
    yield from _list("Warnings", list(map(_md_sentence, data.verdict.warnings)), "warnings")


def _headline(data: ReportData) -> Iterator[str]:
    if data.headline is None:
        yield _md_sentence(data.missing.get("headline", _NO_METRICS))
        return
    cells = data.headline.cells
    models, metrics = charted(data.headline.models, data.baseline), data.headline.metrics[:MOST_ROWS]
    compared = [model for model in models if any(cell.comparison for key, cell in cells.items() if key[1] == model)]
    counts = ["groups", "undefined"]
    head = ["metric", *map(_md, models), *counts, *(f"{_md(model)} - {_md(data.baseline or '')}" for model in compared)]
    lines = []
    for metric in metrics:
        values = ["" if (cell := cells.get((metric, model))) is None else _value(cell.row) for model in models]
        own = [cells.get((metric, model)) for model in compared]
        differences = [_difference(cell.comparison) if cell and cell.comparison else "" for cell in own]
        rows = [cell.row for model in models if (cell := cells.get((metric, model))) is not None]
        pairs = [dict.fromkeys(texts) for texts in zip(*(counts_of(vars(row)) for row in rows), strict=True)]
        lines.append([_md(metric), *values, *([" / ".join(texts) for texts in pairs] or ["", ""]), *differences])
    yield _table(head, lines)
    for shown, all_, what in ((metrics, data.headline.metrics, "metrics"), (models, data.headline.models, "models")):
        if len(all_) > len(shown):
            yield f"and {len(all_) - len(shown)} more {what}"
    if data.level is not None:
        yield f"± and [ ]: intervals of {data.level * 100:g} %"


def _md_sentence(sentence: str) -> str:
    return _MARKDOWN.sub(r"\\\1", redact(escape(sentence)))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|".join(["---", *["--:"] * (len(head) - 1)])
    rows = [f"| {' | '.join(cells)} |" for cells in (head, *lines)]
    return "\n".join([rows[0], f"|{rule}|", *rows[1:]])


def _value(row: MetricValue) -> str:
    return value_text(row.value, row.ci_low, row.ci_high, row.interval, row.error_bound)


def _difference(row: ComparisonRow) -> str:
    if row.difference is None:
        return UNDEFINED
    text = f"{row.difference:+.4f}"
    if row.ci_low is not None and row.ci_high is not None:
        text += f" [{row.ci_low:+.4f}, {row.ci_high:+.4f}]"
    elif row.interval == WHY_TOO_FEW:
        text += f" ({WHY_TOO_FEW})"
    p = adjusted_p(row)
    text = text if p is None else f"{text}, p {probability(p)}"
    return text if row.doubt is None else f"{text} ({row.doubt})"


def _sentences(data: ReportData) -> Iterator[str]:
    """Yield the sentences about the groups that count and about the changes since the previous day."""
    if data.headline is None:
        return
    if data.headline.groups:
        yield _md_sentence(data.headline.groups)
    if data.headline.since:
        yield ": ".join(map(_md_sentence, data.headline.since.split(": ", 1)))


def _gates(data: ReportData) -> Iterator[str]:
    stopped = () if data.verdict is None else data.verdict.stopped
    yield from _list("Gates", list(map(_stopped_gate, stopped)), "gates")


def _stopped_gate(gate: StoppedGate) -> str:
    """Format a gate on one line, with its worst checks on the lines below."""
    checks = [f"{_cell(row)}: {_md_sentence(row.reason)}{' (accepted)' * bool(row.accepted)}" for row in gate.rows]
    head = f"{_SIGNS[gate.verdict]} {_md(gate.gate)}: "
    if gate.n_checks == 1:
        return f"{head}{checks[0]}"
    below = (f"{_SIGNS[row.verdict]} {check}" for row, check in zip(gate.rows, checks, strict=True))
    return "\n  - ".join([f"{head}{gate.sentence}", *below])


def _cell(gate: GateRow) -> str:
    own = "" if gate.slice in (None, ALL) else f"{gate.slice} = {shown_value(gate.slice_value, gate.slice)}"
    return ", ".join(_md(text) for text in (gate.metric, gate.model or "", own) if text)


def _list(title: str, lines: Sequence[str], what: str) -> Iterator[str]:
    """Yield a list of at most :data:`MOST_LINES` lines below a bold title, unless ``lines`` is empty."""
    if lines:
        more = [f"and {len(lines) - MOST_LINES:,} more {what}"] if len(lines) > MOST_LINES else []
        yield "\n".join([f"**{title}**", "", *(f"- {line}" for line in (*lines[:MOST_LINES], *more))])


def _slices(data: ReportData) -> Iterator[str]:
    """Yield a list of the slice values in which a candidate clearly differs from the baseline."""
    rows = () if data.comparisons is None else data.comparisons.rows
    sure = [row for row in rows if row.slice != ALL and is_sure(row)]
    lines = [
        f"{_md(row.slice)} = {_md(shown_value(row.slice_value, row.slice))}: "
        f"{_md(row.candidate)} {_md(row.metric)} {_difference(row)}"
        for row in sorted(sure, key=_in_errors, reverse=True)
    ]
    yield from _list("Slices that differ", lines, "values of slices")


def _in_errors(row: ComparisonRow) -> float:
    """Return the absolute difference in standard errors. This makes metrics of different scales comparable."""
    return abs(row.difference or 0.0) / row.stderr if row.stderr else math.inf


def _source(data: ReportData) -> Iterator[str]:
    run = data.provenance
    if run is None:
        return
    versions = dict(run.versions)
    parts = [
        None if run.run_id is None else f"run {_md(run.run_id)}",
        None if run.spec_hash is None else f"spec {_md(run.spec_hash)}",
        None if run.rows is None else f"{run.rows:,} rows",
        f"sparkrank {_md(versions['sparkrank'])}" if "sparkrank" in versions else None,
    ]
    yield f"<sub>{', '.join(filter(None, parts))}</sub>"


def latex_table(data: ReportData) -> str:
    """Return the headline as a LaTeX ``tabular`` for the package booktabs, with a row per metric.

    Each model has a column.
    """
    if data.headline is None:
        return f"% {redact(escape(data.missing.get('headline', _NO_METRICS)))}\n"
    models, cells = data.headline.models, data.headline.cells
    lines = [
        f"% {redact(escape(data.name))}",
        f"\\begin{{tabular}}{{l{'r' * len(models)}}}",
        r"\toprule",
        " & ".join(["metric", *map(_tex, models)]) + r" \\",
        r"\midrule",
    ]
    for metric in data.headline.metrics:
        values = [_tex_value(cells.get((metric, model))) for model in models]
        lines.append(" & ".join([_tex(metric), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _tex_value(cell: HeadlineRow | None) -> str:
    """Format the value, with a star if the difference from the baseline is clear (see :func:`.is_sure`)."""
    if cell is None:
        return ""
    star = "$^{*}$" if cell.comparison is not None and is_sure(cell.comparison) else ""
    return _value(cell.row).replace("±", r"$\pm$") + star


def _tex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _short(text))
