"""The answer of a command: text for people, one JSON document with ``--json``, nothing with ``--quiet``.

An error is a sentence in all three, the last line on stderr; with ``--json`` it stands on stdout too, as a document, so
that stdout is one in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal, TypeAlias

import click
import pyarrow as pa

from sparkrank.base.redaction import shown_url
from sparkrank.report.changes import changes_document
from sparkrank.text.terminal import as_json_text, print_document, tell

if TYPE_CHECKING:
    from sparkrank.gates.chance import GateRecord
    from sparkrank.gates.judgment import Judgment
    from sparkrank.gates.verdicts import Judged
    from sparkrank.metrics.metric import Declaration
    from sparkrank.metrics.parameters import Parameter
    from sparkrank.metrics.presets import Preset
    from sparkrank.results.run_results import BackfilledDay, DayResult, WindowResult
    from sparkrank.schemas.tables import TableSchema

AnswerForm: TypeAlias = Literal["text", "json", "quiet"]
_FORM = "sparkrank.form"


def form() -> AnswerForm:
    """The form that was asked for in the command that runs."""
    context = click.get_current_context(silent=True)
    asked: AnswerForm = "text" if context is None else context.meta.get(_FORM, "text")
    return asked


def ask_for(asked: AnswerForm) -> None:
    """Answer in the form ``asked`` from now on. Raises a usage error where another was asked for before."""
    context = click.get_current_context()
    if context.meta.get(_FORM, asked) != asked:
        raise click.UsageError("--json and --quiet do not go together: one prints a document, the other nothing")
    context.meta[_FORM] = asked


def answer(text: Callable[[], str], document: Callable[[], object]) -> None:
    """Print the ``text`` or the ``document``, whichever was asked for; what is not is not made."""
    asked = form()
    if asked == "json":
        print_document(as_json_text(document()))
    elif asked == "text" and (lines := text()):
        tell(lines)


def answer_page(page: Callable[[], str], document: Callable[[], object]) -> None:
    """The same of a page that another program may read, which no sentence is in: as YAML or Markdown."""
    if form() == "text":
        print_document(page().removesuffix("\n"))
    else:
        answer(str, document)


def answer_line(text: Callable[[], str]) -> None:
    """Print lines before the answer, in text form alone."""
    if form() == "text":
        tell(text())


def day_document(result: DayResult) -> dict[str, object]:
    """A day that was evaluated."""
    return {
        "day": result.day,
        "lane": result.lane,
        "lane_reason": result.lane_reason,
        **_result(result),
        "changes": changes_document(result.changes),
    }


def window_document(result: WindowResult) -> dict[str, object]:
    """A window that was merged."""
    return {
        "window": result.window,
        "days": list(result.days),
        "missing": list(result.missing),
        **_result(result),
    }


def _result(result: DayResult | WindowResult) -> dict[str, object]:
    judgment = result.judgment
    return {
        "exit_code": 0 if judgment is None else judgment.exit_code,
        "metrics": result.metrics.to_pylist(),
        "comparisons": _rows(result.comparisons),
        "quality": result.quality.to_pylist(),
        "gates": None if judgment is None else verdicts(judgment.judged),
        "warnings": warnings_document(result.warnings),
        "tables": {name: shown_url(str(folder)) for name, folder in sorted(result.folders.items())},
        "stages": dict(result.seconds),
    }


def backfill_document(days: Iterable[BackfilledDay]) -> dict[str, object]:
    """The days of a backfill, with their results."""
    documents = [
        {
            "day": day.day,
            "state": day.state.replace(" ", "_"),
            "seconds": round(day.seconds, 3),
            "told": day.reason or None,
            "result": None if day.result is None else day_document(day.result),
        }
        for day in days
    ]
    return {"days": documents}


def judgment_document(judgment: Judgment) -> dict[str, object]:
    """The verdicts of a stored day or window."""
    return {
        "name": judgment.name,
        "exit_code": judgment.exit_code,
        "gates": verdicts(judgment.judged),
        "accepted": judgment.acceptance.get("accepted_reason"),
    }


def replay_document(first: str, last: str, nights: int, days: int, records: Iterable[GateRecord]) -> dict[str, object]:
    """On which nights each gate would have stopped."""
    return {"first": first, "last": last, "nights": nights, "days": days, "gates": list(map(asdict, records))}


def verdicts(judged: Iterable[Judged]) -> list[dict[str, object]]:
    """Verdicts with what they are about."""
    plain = ("verdict", "stops", "reason", "value", "bound", "p", "p_adjusted", "left_out", "accepted")
    return [
        {
            "gate": check.key.gate,
            "kind": check.key.kind,
            **{name: getattr(check.key.cell, name) for name in ("metric", "model", "slice", "slice_value")},
            **{name: getattr(check, name) for name in plain},
        }
        for check in judged
    ]


def warnings_document(warnings: Iterable[str]) -> list[dict[str, object]]:
    """Warnings with their codes."""
    return [{"code": getattr(warning, "code", None), "sentence": str(warning)} for warning in warnings]


def declaration_document(declaration: Declaration) -> dict[str, object]:
    """A metric as it is declared."""
    before, after = ("name", "title", "formula", "cutoff"), ("undefined", "lowest", "highest", "higher_is_better")
    return {
        **{name: getattr(declaration, name) for name in before},
        "parameters": list(map(_parameter_document, declaration.all_parameters)),
        **{name: getattr(declaration, name) for name in after},
        "aliases": list(declaration.aliases),
        "reference": declaration.reference,
    }


def _parameter_document(parameter: Parameter) -> dict[str, object]:
    is_flag, default = parameter.is_flag, parameter.default
    return {
        "name": parameter.name,
        "flag": is_flag,
        "allowed": None if is_flag else parameter.allowed,
        "default": None if is_flag or default is None else parameter.write(default),
        "doc": parameter.doc,
    }


def preset_document(preset: Preset) -> dict[str, object]:
    """A preset: its definitions and defaults."""
    return {
        "name": preset.name,
        "library": preset.library,
        "definitions": dict(preset.definitions),
        "parameters": list(map(asdict, preset.defaults)),
        "unmatched": list(preset.unmatched),
    }


def table_document(table: TableSchema) -> dict[str, object]:
    """A table: its columns, and what they mean."""
    more = () if table.more is None else table.more[1]
    columns = [
        {"name": field.name, "type": str(field.type), "meaning": column.meaning, "always": column not in more}
        for column in (*table.columns, *more)
        for field in column.fields
    ]
    return {"name": table.name, "about": table.about, "columns": columns, "notes": table.notes}


def _rows(table: pa.Table | None) -> list[dict[str, object]] | None:
    return None if table is None else table.to_pylist()
