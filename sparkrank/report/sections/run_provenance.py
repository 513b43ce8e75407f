"""The report section on the origin of the results, from the row of the table ``runs``."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from sparkrank.report.data import FileRow, Provenance
from sparkrank.report.report_tables import ReportTables, json_object
from sparkrank.report.section import Made, ReportSection
from sparkrank.report.sections.verdict import instant


def _provenance(tables: ReportTables) -> Made:
    run = tables.run
    if not run:
        return None, None
    names = {field.name for field in fields(Provenance)}  # type: ignore[arg-type]
    plain = {name: value for name, value in run.items() if name in names and not isinstance(value, (list, dict))}
    versions, stages = (json_object(run.get(name)).items() for name in ("versions", "stages"))
    named = {
        "started_at": instant(run.get("started_at")),
        "accepted_at": instant(run.get("accepted_at")),
        "days": tuple(run.get("days") or ()),
        "days_missing": tuple(run.get("days_missing") or ()),
        "stages": tuple((name, float(s)) for name, s in stages if isinstance(s, (int, float))),
        "versions": tuple((name, _in_words(value)) for name, value in versions if value is not None),
        "spec": _spec_text(run.get("spec")),
        "files": tuple(
            FileRow(file["table"], file["name"], file.get("rows"), file.get("bytes"), file.get("checksum"))
            for file in run.get("files") or ()
        ),
    }
    return Provenance(**{**plain, **named}), None


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(inner)}" for name, inner in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _spec_text(text: str | None) -> str | None:
    spec = json_object(text)
    return json.dumps(spec, indent=2, ensure_ascii=False, sort_keys=True) if spec else text


RUN_PROVENANCE = ReportSection("provenance", "Provenance", _provenance, "There is no table runs.")
