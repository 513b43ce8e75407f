"""The table ``runs``: the time, the versions and the settings of each run."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkrank import native
from sparkrank._version import __version__
from sparkrank.base.errors import MOST_SENTENCE, shorten
from sparkrank.base.redaction import redact
from sparkrank.run.stages import Stages
from sparkrank.tables.rows.results import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.engines.result import Refusal

# The keys of a spec that do not change the numbers or the set of tables of a day.
_HOW_IT_RUNS = {"engine": None, "day": None, "name": None, "owner": None, "track": None, "notify": None}


def origin_of(spec: Spec, name: str, session: Mapping[str, str], days: Sequence[str] = ()) -> Origin:
    """Return the spec hash and the run ID. Both are equal for equal requests, so that a rerun writes the same rows.

    ``name`` is the day or window, ``session`` contains the session settings that affect reading, and ``days`` contains
    the days of a window.
    """
    spec_hash = spec.hash(session)
    return Origin(spec_hash, run_id_of(name, spec_hash, name, *days))


def run_id_of(name: str, *texts: str) -> str:
    """Return the run ID of the day or window ``name``. Equal ``texts`` give the same ID."""
    question = " ".join((*texts, __version__))
    return f"{name}-{hashlib.sha256(question.encode()).hexdigest()[:12]}"


def is_same_question(spec: Spec, stored: str | None) -> bool:
    """Return whether ``stored``, a spec as JSON text, equals ``spec`` except for keys that change no number."""
    document = json.loads(stored or "null")
    return isinstance(document, dict) and _question(spec.resolved()) == _question(document)


def _question(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec's ``document`` without the keys that change no number.

    These are the settings of how a run proceeds, the places of published copies, and null keys, which documents of
    earlier releases lack. ``ties``, which earlier releases wrote, is filled in.
    """
    definitions = dict(document.get("definitions") or {})
    rows = {**document["input"], "grouped": None}
    return {
        **{key: value for key, value in document.items() if value is not None},
        **_HOW_IT_RUNS,
        "input": rows,
        "output": {**document["output"], "publish": None},
        "definitions": {**definitions, "ties": definitions.get("ties") or "expected"},
    }


def runs_table(
    schema: pa.Schema,
    spec: Spec,
    origin: Origin,
    started_at: dt.datetime,
    stages: Stages,
    spark: SparkSession | None,
    session: Mapping[str, str] | None = None,
    loops: Mapping[str, int] | None = None,
    refusals: Sequence[Refusal] = (),
    warnings: Sequence[str] = (),
    **own: Any,
) -> pa.Table:
    """Return the table ``runs`` with its one row. ``own`` contains the columns of only days or only windows."""
    versions: dict[str, Any] = {
        "sparkrank": __version__,
        "spark": None if spark is None else spark.version,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "loops": "compiled" if native.COMPILED else "numpy",  # in this process: an executor may have another form
    }
    if loops:
        versions["loops of buckets"] = dict(sorted(loops.items()))  # in all processes that evaluated buckets
    if session:
        versions["session"] = dict(session)  # settings that reading depended on
    if refusals:
        versions["refused by the session"] = {
            refusal.what: shorten(f"{refusal.because}: {refusal.instead}", MOST_SENTENCE) for refusal in refusals
        }
    row = {
        "run_id": origin.run_id,
        "status": "done",
        "started_at": started_at,
        "stages": json.dumps(stages.seconds),
        "versions": json.dumps(versions),
        "spec_hash": origin.spec_hash,
        "spec": spec.as_text(),
        "warnings": json.dumps([redact(str(sentence)) for sentence in warnings], ensure_ascii=False),
        **own,
    }
    return pa.Table.from_pylist([row], schema=schema)
