"""A table of what was measured, which keeps its command: as Markdown and as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Table:
    """``command`` is how to measure it again."""

    command: str
    titles: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def text(self) -> str:
        return markdown(self.titles, self.rows)

    def tell(self, output: Path | None) -> None:
        """Print it, and write it as JSON to ``output`` too."""
        print(self.text)
        if output:
            self.write(output)

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Table:
        return cls(**json.loads(path.read_text()))


def arguments(description: str | None, repeats: int) -> argparse.ArgumentParser:
    """What every module that measures a table can be told; it is measured ``repeats`` times unless told otherwise."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repeats", type=int, default=repeats, help="times that each is measured (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, help="write the table as JSON to this file too")
    return parser


def write_whole(path: Path, text: str) -> None:
    """The file and its folder: whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text)
    unfinished.rename(path)


def markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, the first column of names, the others of figures."""
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (width + 1) + (":" if column else "-") for column, width in enumerate(widths))
    return "\n".join((line(titles), f"|{rule}|", *map(line, rows)))
