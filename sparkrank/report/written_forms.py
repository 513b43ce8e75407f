"""The forms of a report: an HTML page, a page of Markdown, a LaTeX table, and JSON with all contents."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from sparkrank.base.errors import SpecError, did_you_mean, shorten, writing_errors
from sparkrank.report.data import ReportData
from sparkrank.report.one_page import latex_table, one_page
from sparkrank.text.terminal import as_json_text

ReportForm: TypeAlias = Literal["html", "md", "json", "latex"]
FORMS: tuple[ReportForm, ...] = get_args(ReportForm)
# Forms that earlier versions wrote, and their replacements.
_REMOVED = {
    **dict.fromkeys(("pdf", ".pdf"), "; print the page of html from a browser"),
    **dict.fromkeys(("png", ".png"), "; --plots writes charts as SVG, and ev.plot(...).save as PNG"),
}
ENDINGS: Mapping[str, ReportForm] = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".tex": "latex"}


def as_form(data: ReportData, form: ReportForm) -> str:
    """Return the report as text in one of its forms. Equal data give identical text.

    ``md`` is a summary, ``json`` contains all of the report, and ``latex`` is the headline as a booktabs table.
    """
    if form == "html":
        from sparkrank.report.page import page

        return page(data)
    if form == "json":
        return f"{as_json_text(report_document(data))}\n"
    return one_page(data) if form == "md" else latex_table(data)


def form_of(out: str | None, form: str | None) -> ReportForm:
    """Return ``form`` or, if ``form`` is None, the form for the suffix of ``out``.

    Raise :class:`SpecError` if the form is unknown.
    """
    ending = "" if out is None else Path(out).suffix.lower()
    instead = _REMOVED.get(ending if form is None else form, "")
    if form is not None:
        if form not in FORMS:
            near = did_you_mean(form, FORMS)
            raise SpecError(f"format is {shorten(form)}{near}: {', '.join(FORMS)} are allowed{instead}")
        return form
    if out is None:
        return "html"
    if ending not in ENDINGS:
        known = f"{', '.join(ENDINGS)} are known, or give a format{instead}"
        raise SpecError(f"out is {shorten(out)}, whose ending names no form: {known}")
    return ENDINGS[ending]


def write_report(data: ReportData, out: str, form: ReportForm) -> Path:
    """Write the report to the file ``out`` atomically, so that a reader sees either the old report or the new one.

    Raise :class:`SpecError` if the folder does not exist, and :class:`SparkrankError` if the file cannot be written.
    """
    if not out.strip():
        raise SpecError("out is empty: name the file that the report is written to")
    path = Path(out)
    if not path.parent.is_dir():
        raise SpecError(f"there is no folder for {shorten(out)}: make it first, or name another file")
    if path.is_dir():
        raise SpecError(f"{shorten(out)} is a folder: name the file that the report is written to")
    content = as_form(data, form).encode("utf-8", "backslashreplace")
    with writing_errors(f"the report {shorten(out)}"):
        beside = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:12]}")
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    return path


def report_document(data: ReportData) -> dict[str, Any]:
    """Return the whole report as plain values for JSON, with the sections from ``more`` at the top level."""
    document = asdict(data)
    more: dict[str, Any] = document.pop("more")
    return document | more
