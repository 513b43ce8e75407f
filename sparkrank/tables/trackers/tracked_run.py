"""The content of one day for a tracker: names with numbers, parameters, tags, and small tables as files.

A name is made of a model, perhaps the value of a slice, and a metric: ``production/ndcg_at_10``. Names contain only the
few characters that trackers allow.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sparkrank.base.errors import SpecError, quote, shorten
from sparkrank.base.redaction import HIDDEN
from sparkrank.gates.verdicts import WORST_FIRST
from sparkrank.metrics.slices import ALL, shown_value

Parts: TypeAlias = "tuple[str, ...]"  # the texts of a name: a model, perhaps a slice and its value, and a metric

_SIGN = re.compile(r"[^\w.-]")
_BESIDE = ("ci_low", "ci_high", "n_groups")  # columns that are logged beside the value
_EPOCH = dt.date(1970, 1, 1)
_ACCEPTED = "accepted"  # the verdict of a gate whose failures a person has accepted


@dataclass(frozen=True)
class TrackedRun:
    """A day in the form for trackers. Runs of the same spec and day share a ``run_id``.

    ``parameters`` depend only on the spec and the day; ``tags`` depend on the rows too. ``source`` names the input with
    its version. ``tables`` and ``spec``, a document without secrets, are logged as files.
    """

    name: str
    day: str
    run_id: str
    parameters: Mapping[str, str]
    tags: Mapping[str, str]
    values: Mapping[str, float]
    source: str
    tables: Mapping[str, pa.Table]
    spec: Mapping[str, Any]

    @property
    def step(self) -> int:
        """The number of days since 1970-01-01."""
        return (dt.date.fromisoformat(self.day) - _EPOCH).days

    @cached_property
    def digest(self) -> str:
        """A hash of all logged content except the report, different for runs with different results."""
        texts = json.dumps([dict(own) for own in (self.parameters, self.tags, self.values)], sort_keys=True)
        digest = hashlib.sha256(f"{self.source} {texts}".encode())
        for content in self._files.values():
            digest.update(content)
        return digest.hexdigest()[:32]

    def write_files(self, folder: Path) -> None:
        """Write the tables and the spec into ``folder``."""
        for name, content in self._files.items():
            (folder / name).write_bytes(content)

    @cached_property
    def _files(self) -> dict[str, bytes]:
        files = {f"{name}.csv": _as_csv(table) for name, table in self.tables.items()}
        return {**files, "spec.json": json.dumps(self.spec, indent=2, sort_keys=True).encode()}


def names_without_clash(texts: Iterable[Parts]) -> dict[Parts, str]:
    """Return the name in a tracker for each of ``texts``. Raise :class:`SpecError` if two texts get the same name.

    Examples
    --------
    >>> list(names_without_clash([("production", "ndcg@10"), ("v1/b", "rr")]).values())
    ['production/ndcg_at_10', 'v1_b/rr']
    """
    names: dict[Parts, str] = {}
    owners: dict[str, Parts] = {}
    for text in texts:
        name = "/".join(map(_name_of_part, text))
        if (owner := owners.setdefault(name, text)) != text:
            both = " and ".join(quote("/".join(own)) for own in (owner, text))
            raise SpecError(f"{both} would both be {shorten(name)} in a tracker: rename one of them")
        names[text] = name
    return names


def _name_of_part(text: str) -> str:
    """Return ``text`` with allowed characters only. A part that consists of dots would be a step in a path."""
    name = _SIGN.sub("_", text.replace("@", "_at_"))
    return name if name.strip(".") else f"_{name}"


def values_of(metrics: pa.Table, comparisons: pa.Table | None, slices: Collection[str]) -> dict[str, float]:
    """Return the numbers of the whole day and of each value of ``slices``, by their names in a tracker.

    Null and NaN are left out. Raise :class:`SpecError` if two numbers would get the same name.
    """
    numbers = [*_numbers(metrics, "value", slices)]
    numbers += [] if comparisons is None else _numbers(comparisons, "difference", slices)
    names = names_without_clash(text for text, _ in numbers)
    return {names[text]: float(number) for text, number in numbers if number is not None and not math.isnan(number)}


def verdicts_of(gates: pa.Table) -> dict[str, str]:
    """Return the worst verdict of each gate, as the tags ``gate.<name>``."""
    ranks = (*WORST_FIRST[:-1], _ACCEPTED, WORST_FIRST[-1])
    worst: dict[str, str] = {}
    for row in gates.select(["gate", "verdict", "accepted"]).to_pylist():
        verdict = _ACCEPTED if row["accepted"] else row["verdict"]
        worst[row["gate"]] = min(verdict, worst.get(row["gate"], verdict), key=ranks.index)
    names = names_without_clash((f"gate.{gate}",) for gate in worst)
    return dict(zip(names.values(), worst.values(), strict=True))


def without_options(document: Any) -> Any:
    """Return the document of a spec with the values of all reader options hidden, even those of harmless options."""
    if isinstance(document, Mapping):
        return {
            key: dict.fromkeys(value, HIDDEN)
            if key == "options" and isinstance(value, Mapping)
            else without_options(value)
            for key, value in document.items()
        }
    return [*map(without_options, document)] if isinstance(document, (list, tuple)) else document


def _numbers(table: pa.Table, value: str, slices: Collection[str]) -> Iterator[tuple[Parts, float | None]]:
    """Yield the texts and numbers of a table ``metrics``, or of ``comparisons`` if ``value`` is ``difference``."""
    models = ("candidate", "baseline") if value == "difference" else ("model",)
    table = table.filter(pc.is_in(table["slice"].cast(pa.string()), pa.array([ALL, *slices])))
    for row in table.select([*models, "slice", "slice_value", "metric", value, *_BESIDE]).to_pylist():
        subject = "-".join(row[model] for model in models)
        where = [] if row["slice"] == ALL else [row["slice"], shown_value(row["slice_value"], row["slice"])]
        text = (subject, *where, row["metric"])
        yield text, row[value]
        yield from (((*text, name), row[name]) for name in _BESIDE)


def _as_csv(table: pa.Table) -> bytes:
    """Return ``table`` as CSV, which trackers show. Null is empty, and NaN is ``nan``."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    sink = pa.BufferOutputStream()
    csv.write_csv(table.cast(pa.schema(fields)), sink)
    return bytes(sink.getvalue())
