"""The blocks of code on a page, and how tests run those of Python."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.commands import PROJECT, exit_code

INDENTED = "indented"  # the language of a block without a fence
_FENCED = re.compile(r"^( *)```(\S*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n(?:\n(?= {4}))?)+")


@dataclass(frozen=True)
class Block:
    """A block of code: where it stands, what its fence names as its language, and its lines."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path, project: Path = PROJECT) -> list[Block]:
    """All blocks of a page in their order, those without a fence too."""
    text = page.read_text(encoding="utf-8")
    found = [(match.start(), match[2], match[3], match[1]) for match in _FENCED.finditer(text)]
    prose = _FENCED.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), text)  # each line stays where it is
    found += [(match.start(), INDENTED, match[0], " " * 4) for match in _INDENTED.finditer(prose)]
    return [
        Block(
            page.relative_to(project).as_posix(),
            text.count("\n", 0, start) + 1,
            language,
            "\n".join(line.removeprefix(indent) for line in lines.split("\n")),
        )
        for start, language, lines, indent in sorted(found)
    ]


def run_python(blocks: list[Block], names: dict[str, Any]) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page one after the other, with ``names``; yields each that shows an output, and what it is.

    The output of Python stands in the block of ``text`` after it, that of a command beside it (``console``).
    """
    printed = ""
    for block, before in zip(blocks, [None, *blocks], strict=False):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            if block.language == "python":
                exec(compile(block.text, str(block), "exec"), names)  # noqa: S102 - our own page
            elif block.language == "console":
                command = block.text.partition("\n")[0]
                assert exit_code(*shlex.split(command.removeprefix("$ sparkrank "))) == 0, block
                yield block, f"{command}\n{out.getvalue()}"
        if block.language == "text" and before is not None and before.language == "python":
            yield block, printed
        printed = out.getvalue()
