"""The answer of a command: text, one JSON document with ``--json``, or nothing with ``--quiet``.

The message of an error is one sentence on the last line of stderr, and with ``--json`` also a document on stdout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from sparkrank.base.errors import escape
from sparkrank.base.redaction import shown_url
from sparkrank.report.changes import changes_document
from sparkrank.text.terminal import as_json_text, print_document, tell

if TYPE_CHECKING:
    from sparkrank.config import Spec
    from sparkrank.gates.day_verdict import DayVerdict
    from sparkrank.gates.judgment import Judgment
    from sparkrank.gates.verdicts import GateVerdict
    from sparkrank.metrics.metric import Declaration
    from sparkrank.metrics.parameters import Parameter
    from sparkrank.metrics.presets import Preset
    from sparkrank.results.run_results import BackfilledDay, DayResult, WindowResult
    from sparkrank.schemas.tables import TableSchema

AnswerForm: TypeAlias = Literal["text", "json", "quiet"]
Document: TypeAlias = dict[str, Any]
_FORM = "sparkrank.form"


def form() -> AnswerForm:
    """Return the form in which the running command prints its answer. Outside of a command, it is "text"."""
    context = click.get_current_context(silent=True)
    answer_form: AnswerForm = "text" if context is None else context.meta.get(_FORM, "text")
    return answer_form


def set_form(answer_form: AnswerForm) -> None:
    """Make the running command print its answer in ``answer_form``. Raise a usage error if another form is set."""
    context = click.get_current_context()
    if context.meta.get(_FORM, answer_form) != answer_form:
        raise click.UsageError("--json and --quiet do not go together: one prints a document, the other nothing")
    context.meta[_FORM] = answer_form


def answer(text: Callable[[], str], document: Callable[[], object]) -> None:
    """Print the result of ``text`` or, with ``--json``, of ``document``. Only one of the two functions is called."""
    if form() == "json":
        print_document(as_json_text(document()))
    elif form() == "text" and (lines := text()):
        tell(lines)


def answer_page(page: Callable[[], str], document: Callable[[], object]) -> None:
    """Print the result of ``page`` (text for programs, such as YAML) or, with ``--json``, of ``document``."""
    if form() == "text":
        print_document(page().removesuffix("\n"))
    else:
        answer(str, document)


def answer_line(text: Callable[[], str]) -> None:
    """Print the result of ``text``, a line that precedes the answer, unless ``--json`` or ``--quiet`` was given."""
    if form() == "text":
        tell(text())


def _fields(value: object, *names: str) -> Document:
    return {name: getattr(value, name) for name in names}


def day_document(result: DayResult) -> Document:
    """Return the JSON document for an evaluated day."""
    changes = changes_document(result.changes)
    return {**_fields(result, "day", "lane", "lane_reason"), **_result(result), "changes": changes}


def window_document(result: WindowResult) -> Document:
    """Return the JSON document for a merged window."""
    return {**_fields(result, "window", "days", "missing"), **_result(result)}


def _result(result: DayResult | WindowResult) -> Document:
    judgment = result.judgment
    return {
        "exit_code": 0 if judgment is None else judgment.exit_code,
        "run_id": result.metrics["run_id"][0].as_py(),
        "metrics": result.metrics.to_pylist(),
        "comparisons": None if result.comparisons is None else result.comparisons.to_pylist(),
        "quality": result.quality.to_pylist(),
        "gates": None if judgment is None else _verdicts(judgment.verdicts),
        "warnings": _warnings(result.warnings),
        "tables": {name: shown_url(str(folder)) for name, folder in sorted(result.folders.items())},
        "stages": dict(result.seconds),
    }


def backfill_document(days: Iterable[BackfilledDay]) -> Document:
    """Return the JSON document for a backfill, with one entry for each day."""
    documents = [
        {
            "day": day.day,
            "state": day.state.replace(" ", "_"),
            "seconds": round(day.seconds, 3),
            "reason": day.reason or None,
            "exit_code": day.exit_code,
            "run_id": day.run_id,
            "gates": None if day.stored is None else _verdicts(day.stored.verdicts),
            "result": None if day.result is None else day_document(day.result),
        }
        for day in days
    ]
    return {"days": documents}


def judgment_document(judgment: Judgment) -> Document:
    """Return the JSON document for the verdicts on a stored day or window."""
    return {
        **_fields(judgment, "name", "exit_code"),
        "run_id": None if judgment.facts is None else judgment.facts.run_id,
        "gates": _verdicts(judgment.verdicts),
        "accepted": judgment.acceptance.get("accepted_reason"),
        "warnings": _warnings(judgment.stored_warnings),
    }


def _warnings(warnings: Iterable[str]) -> list[Document]:
    # stored warnings are plain texts, without the code of their kind
    return [{"code": getattr(warning, "code", None), "sentence": str(warning)} for warning in warnings]


def _verdicts(verdicts: Iterable[GateVerdict]) -> list[Document]:
    plain = ("verdict", "stops", "reason", "value", "bound", "p", "p_adjusted", "left_out", "accepted")
    return [
        {
            **_fields(check.key, "gate", "kind"),
            **_fields(check.key.cell, "metric", "model", "slice", "slice_value"),
            **_fields(check, *plain),
        }
        for check in verdicts
    ]


def declaration_document(declaration: Declaration) -> Document:
    """Return the JSON document for the declaration of a metric."""
    return {
        "name": declaration.written,
        **_fields(declaration, "title", "formula", "cutoff"),
        "parameters": list(map(_parameter_document, declaration.all_parameters)),
        **_fields(declaration, "undefined", "lowest", "highest", "higher_is_better", "aliases", "reference"),
    }


def _parameter_document(parameter: Parameter) -> Document:
    is_flag, default = parameter.is_flag, parameter.default
    return {
        "name": parameter.name,
        "flag": is_flag,
        "allowed": None if is_flag else parameter.allowed,
        "default": None if is_flag or default is None else parameter.write(default),
        "doc": parameter.doc,
    }


def preset_document(preset: Preset) -> Document:
    """Return the JSON document for a preset, with its definitions and default parameters."""
    sets = {"definitions": dict(preset.definitions), "parameters": list(map(asdict, preset.defaults))}
    return {**_fields(preset, "name", "library"), **sets, "unmatched": preset.unmatched}


def table_document(table: TableSchema) -> Document:
    """Return the JSON document for the schema of a table, with the meaning of each column."""
    more = () if table.more is None else table.more[1]
    columns = [
        {"name": field.name, "type": str(field.type), "meaning": column.meaning, "always": column not in more}
        for column in (*table.columns, *more)
        for field in column.fields
    ]
    return {"name": table.name, "about": table.about, "columns": columns, "notes": table.notes}


def verdict_line(name: str, spec: Spec, verdict: DayVerdict) -> str:
    """Return the line with the verdict on a day. Text output begins and ends with this line."""
    owner = "" if spec.owner is None else f" Owner: {spec.owner}."
    return escape(f"{verdict.title(spec.name, name)}: {verdict.sentence}{owner}")
