"""The command ``sparkrank report``, which makes the report of a stored day or window from its tables alone."""

from __future__ import annotations

import re
import webbrowser
from functools import partial
from pathlib import Path

import click

from sparkrank.base.errors import escape
from sparkrank.cli.answers import answer, answer_page
from sparkrank.cli.day_options import NamedDays, stored_options
from sparkrank.cli.options import spec_options, validate_alone
from sparkrank.config import Spec
from sparkrank.jobs.report_job import report_stored
from sparkrank.report.data import ReportData
from sparkrank.report.page import require_extra
from sparkrank.report.written_forms import ReportForm, as_form, form_of, report_document, write_report
from sparkrank.run.session import command_session
from sparkrank.tables.commit.days import needs_spark

MOST_SUBJECT = 40  # characters of the subject in the name of a file


@click.command()
@partial(spec_options, for_stored=True)
@stored_options
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--out",
    metavar="FILE",
    help="The file; without it, html goes to report-DAY.html here (or NAME-DAY.html), other forms to stdout.",
)
@click.option("--plots", metavar="DIR", help="Write only the charts into this folder, as SVG.")
@click.option(
    "--format",
    "form_name",
    metavar="FORM",
    help="html (a page that needs nothing else), md (a summary), json (all of it) or latex (a table); without it, as "
    "the ending of --out says, or html.",
)
def report(
    spec: Spec, named: NamedDays, opens: bool, out: str | None, plots: str | None, form_name: str | None
) -> None:
    """Make the report of a stored day or window: one page of HTML, Markdown, JSON or LaTeX, from its tables alone."""
    form = form_of(out, form_name)
    if plots is not None:
        validate_alone("--plots", {"--out": out, "--open": opens, "--format": form_name})
        require_extra()  # before anything is read
        from sparkrank.report.charts import save_plots
    if opens and form != "html":
        raise click.UsageError(f"--open and --format {form} do not go together: a browser opens html")
    target = named.target(spec)
    with command_session("report", is_needed=needs_spark(spec.output.path)) as spark:
        data = report_stored(spec, target, spark)
    if plots is not None:
        files = save_plots(data, plots)
        document = {"name": data.name, "format": "svg", "paths": list(map(str, files)), "missing": dict(data.missing)}
        answer(lambda: f"Written: {len(files)} charts in {escape(plots)}", lambda: document)
        return
    if out is None and form != "html":
        answer_page(lambda: as_form(data, form), lambda: _document(data, form, None))
        return
    file = write_report(data, _file_name(data) if out is None else out, form)
    opened = opens and webbrowser.open(file.absolute().as_uri())
    note = "\nNo browser could be opened: open the file yourself" if opens and not opened else ""
    answer(lambda: f"Written: {escape(str(file))}{note}", lambda: _document(data, form, file))


def _file_name(data: ReportData) -> str:
    """Return the name for an HTML file: the letters and digits of the subject (or ``report``), and the day."""
    subject = "-".join(re.findall(r"\w+", data.subject or "report"))[:MOST_SUBJECT]
    return f"{subject or 'report'}-{data.name}.html"


def _document(data: ReportData, form: ReportForm, file: Path | None) -> dict[str, object]:
    """Return the JSON answer: the path ``file`` (or the report itself if it is None) and what the report lacks."""
    own = report_document(data) if form == "json" else as_form(data, form)
    made = {"path": str(file)} if file is not None else {"report": own}
    return {"name": data.name, "format": form, **made, "missing": dict(data.missing)}
