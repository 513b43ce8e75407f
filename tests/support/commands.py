"""The command line as tests run it, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sparkrank import cli

PROJECT = Path(__file__).resolve().parents[2]


def exit_code(*arguments: str) -> int:
    try:
        cli.main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def write_spec(folder: Path, document: dict[str, Any]) -> str:
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)
