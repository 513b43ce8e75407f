"""The one place through which sentences and tables go to a terminal or a log: no control character, nothing secret."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from sparkrank.base.errors import escape
from sparkrank.base.redaction import redact


def tell(text: str, *, err: bool = False) -> None:
    """Print ``text``, the lines of which are our own: one that is in a name was escaped where the name was put in."""
    click.echo(in_lines(redact(text)), err=err)


def print_document(text: str, *, nl: bool = True) -> None:
    """Print a document that another program may read, as YAML or JSON, of which each value was cleaned before."""
    click.echo(in_lines(text), nl=nl)


def in_lines(text: str) -> str:
    """``text`` whose lines no terminal obeys."""
    return "\n".join(map(escape, text.split("\n")))


def as_json_text(value: object) -> str:
    """``value`` as JSON, in which the undefined (NaN) is null, and what a terminal might obey is in JSON's escapes."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, default=lambda other: redact(str(other)))
    return "\n".join(line if line.isprintable() else "".join(map(_code, line)) for line in text.split("\n"))


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
