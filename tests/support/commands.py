"""The command line as tests run it, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sparkrank import cli
from sparkrank.config import Spec

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


def local_spec(folder: Path, source: dict[str, Any], **more: Any) -> Spec:
    """The spec of an input that is evaluated without Spark into ``folder``."""
    document = {"input": source, "metrics": ["rr"], "output": {"path": f"{folder}/out"}, "engine": {"lane": "local"}}
    return Spec.model_validate({**document, **more})


def local_conf(folder: Path, path: str, columns: dict[str, Any], metrics: list[str], **sections: Any) -> str:
    """The path of a spec that evaluates ``path`` in the lane local, with tables in ``folder``/out."""
    document = {"input": {"path": path, "columns": columns}, "metrics": metrics, "output": {"path": f"{folder}/out"}}
    return write_spec(folder, {**document, "engine": {"lane": "local"}, **sections})
