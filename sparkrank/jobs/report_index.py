"""The index page of all reports. Each run and each export writes it again after its commit."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyarrow import fs

from sparkrank.base.errors import CodedSentence, SparkrankError, first_line, shorten
from sparkrank.config import Spec
from sparkrank.jobs.target import Target
from sparkrank.report.index_page import TITLE_BYTES, index_page, title_in
from sparkrank.sources.files import file_system, folders_in
from sparkrank.tables.commit.days import stored_names
from sparkrank.tables.stored.stored_days import READING_THREADS

REPORT = "report"  # the folder of reports, beside the folders of the tables
REPORT_FILE, INDEX_FILE = "report.html", "index.html"
_LOOKS = 3  # runs of other days may write the index at the same time


def has_index(spec: Spec) -> bool:
    """Return whether there is an index: the runs of ``spec`` write reports, and all days into one folder."""
    return spec.output.report and "{" not in spec.output.path


def write_index(spec: Spec, target: Target) -> list[str]:
    """Write the index of all days (or windows) in the folder of ``target``, after the commit of its run.

    Readers already see the day, so an error is returned as a warning.
    """
    return index_of(target.folder, target.column, target.name, spec.name) if has_index(spec) else []


def index_of(output: str, column: str, name: str, subject: str | None) -> list[str]:
    """Write the index page of the reports of all days (or windows) under ``output``, and return warnings.

    ``name``, the day of this run, is part of the name of the temporary file. ``subject`` is the name of the spec.
    """
    try:
        store, folder = file_system(f"{output.rstrip('/')}/{REPORT}")
        written: Mapping[str, str | None] | None = None
        for _ in range(_LOOKS):
            titles = _titles(store, folder, output, column)
            if titles == written:
                break
            page, written = index_page(subject, column, titles), titles
            beside = f"{folder}/.{INDEX_FILE}.{name}"
            with store.open_output_stream(beside) as opened:
                opened.write(page.encode())
            store.move(beside, f"{folder}/{INDEX_FILE}")
    except (SparkrankError, pa.ArrowException, OSError, ImportError) as error:
        sentence = f"the index of reports in {shorten(output)} is not new: {shorten(first_line(error))}"
        return [CodedSentence("report_index", sentence).capitalized()]
    return []


def _titles(store: fs.FileSystem, folder: str, output: str, column: str) -> dict[str, str | None]:
    """Return the title of the report of each day by name, or None for a day that has tables but no report."""
    beginning = f"{column}="
    names = [name.removeprefix(beginning) for name in folders_in(store, folder) if name.startswith(beginning)]

    def title(name: str) -> str | None:
        try:
            with store.open_input_file(f"{folder}/{beginning}{name}/{REPORT_FILE}") as opened:
                return title_in(opened.read(TITLE_BYTES).decode("utf-8", "replace"))
        except FileNotFoundError:  # written by an earlier release
            return None

    with ThreadPoolExecutor(READING_THREADS) as pool:
        titles = dict(zip(names, pool.map(title, names), strict=True))
    return {**dict.fromkeys(stored_names(output, column) or ()), **titles}
