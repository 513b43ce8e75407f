"""Output to a terminal or log, only in this module, with control characters escaped and secrets removed."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext, suppress
from typing import Any

import click

from sparkrank.base.byte_texts import text_of_bytes
from sparkrank.base.errors import escape
from sparkrank.base.redaction import redact

STARTED_BY_JAVA = "PYSPARK_GATEWAY_PORT"  # set in the environment of a Python process that spark-submit has started


def tell(text: str, *, err: bool = False) -> None:
    """Print ``text`` with secrets removed and with control characters escaped, except line breaks.

    Line breaks in names must already be escaped in ``text``. If ``err`` is true, a failure to write to stderr is
    ignored, because a side message must not make a command fail.
    """
    with suppress(OSError) if err else nullcontext():
        click.echo(in_lines(redact(text)), err=err)


def print_document(text: str, *, nl: bool = True) -> None:
    """Print a document for other programs, such as YAML or JSON. The caller has removed secrets from its values."""
    click.echo(in_lines(text), nl=nl)


def in_lines(text: str) -> str:
    """Return the text with all terminal control characters escaped, except line breaks."""
    return "\n".join(map(escape, text.split("\n")))


def as_json_text(value: object) -> str:
    """Return the value as JSON, with null for NaN and infinity, and with terminal control characters escaped."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, default=_text)
    return "\n".join(line if line.isprintable() else "".join(map(_code, line)) for line in text.split("\n"))


def _text(value: object) -> str:
    return redact(text_of_bytes(value) if isinstance(value, bytes) else str(value))


def _code(letter: str) -> str:
    return letter if letter.isprintable() else json.dumps(letter)[1:-1]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {redact(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return redact(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
