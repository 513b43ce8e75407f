"""Columns of values in CSV and JSON, by kind and place, with values worked by hand.

Everybody's list is a (jazz, 2.5, [x, y], [1, 0]), which is relevant, then b (rock, 3.5, [y], [0, 1]).
"""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages

DAY = "2026-01-01"
LIST = [{"u": "ann", "i": "a", "s": 2.5, "y": 1}, {"u": "ann", "i": "b", "s": 1.5, "y": 0}]
ITEMS = [
    {"i": "a", "genre": "jazz", "price": 2.5, "tags": ["x", "y"], "v": [1.0, 0.0]},
    {"i": "b", "genre": "rock", "price": 3.5, "tags": ["y"], "v": [0.0, 1.0]},
]
OF_LIST = "u STRING, i STRING, s DOUBLE, y INT"
OF_ITEM = "genre STRING, price DOUBLE"
ARRAYS = "tags ARRAY<STRING>, v ARRAY<DOUBLE>"
PLAIN = {
    "shown(of={}price)@2": (2.5 + 3.5) / 2,
    "shown(of={}genre,is=jazz)@2": 1 / 2,
    "ild(by={}genre)@2": 1.0,  # of one pair, which differs
    "distinct(by={}genre,ties=item)@2": 2 / 2,
    "exposure_gap(by={}genre,discount=[1,1],ties=item)@2": 1
    / 2,  # jazz has 1/2 of the attention, and 1 of the relevant rows
}
OF_ARRAYS = {
    "ild(by={}tags,distance=jaccard)@2": 1 - 1 / 2,  # y of x and y
    "ild(by={}v,distance=cosine)@2": 1.0,  # at right angles
    "strecall(by={}tags,ties=item)@1": 2 / 2,  # a has x and y
}
ONE_GENRE = {"distinct(by={}genre,ties=item)@2": 1 / 2}  # where the genre is jazz


def text_of(rows: list[dict[str, Any]], kind: str) -> str:
    """The content of a file with ``rows``, of which CSV has no arrays."""
    if kind == "json":
        return "".join(f"{dumps(row)}\n" for row in rows)
    names = [name for name in rows[0] if name not in ("tags", "v")]
    return "".join(f"{','.join(map(str, row))}\n" for row in [names, *([row[name] for name in names] for row in rows)])


def documents(folder: Path, lane: str) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """Yield the spec and the values of each kind of file, place of the columns, and condition, and write the files."""
    whole = [row | item for row, item in zip(LIST, ITEMS, strict=True)]
    for kind in ("csv", "json"):
        for name, rows in (("rows", whole), ("lists", LIST), ("items", ITEMS)):
            (folder / f"{name}.{kind}").write_text(text_of(rows, kind), encoding="utf-8")
        for place, named, where in [(p, n, w) for p in ("", "catalog.") for n in (0, 1) for w in (0, 1)]:
            of_item = f"{OF_ITEM}, {ARRAYS}" if kind == "json" else OF_ITEM
            read = {"format": kind, "options": {"header": True} if kind == "csv" else {}}
            document: dict[str, Any] = {
                "input": {
                    **read,
                    "path": f"{folder}/{'lists' if place else 'rows'}.{kind}",
                    "columns": {"group": "u", "item": "i", "score": "s", "label": "y"},
                },
                "output": {"path": f"{folder}/{kind}-{place}{named}{where}-{lane}"},
                "engine": {"lane": lane, "buckets": 1},
            }
            if named:
                document["input"]["schema"] = OF_LIST if place else f"{OF_LIST}, {of_item}"
            if place:
                document["catalog"] = {**read, "path": f"{folder}/items.{kind}"}
                if named:
                    document["catalog"]["schema"] = f"i STRING, {of_item}"
            if where:
                document["catalog" if place else "input"]["where"] = "genre = 'jazz'"
            values = ONE_GENRE if where else PLAIN | OF_ARRAYS if kind == "json" else PLAIN
            values = {metric.format(place): value for metric, value in values.items()}
            yield document | {"metrics": [*values]}, values


def found_in(document: dict[str, Any], spark: Any = None) -> dict[str, float]:
    """Each metric's value, by the document's lane."""
    assert evaluate_day(Spec.model_validate(document), DAY, spark, Stages()).lane == document["engine"]["lane"]
    rows = pq.read_table(f"{document['output']['path']}/metrics/day={DAY}").to_pylist()
    return {row["metric"]: row["value"] for row in rows}
