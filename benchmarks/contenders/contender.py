"""What is asked of every contender, and what it has to offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

GROUP = "user_id"
SCORE = "score"


@dataclass(frozen=True)
class Work:
    """One evaluation: the means of ``metrics`` over a log, and the table of all groups as Parquet under ``output``.

    ``label`` is the log's label column, ``graded`` whether it holds more than 0 and 1. Only ``cores`` threads may be
    used.
    """

    log: Path
    metrics: tuple[str, ...]
    label: str
    graded: bool
    cores: int
    output: Path


class Value(NamedTuple):
    """A metric's value, and how far from exact the contender's own rounding of scores may have taken it."""

    value: float
    bound: float = 0.0


class Contender(Protocol):
    """One way to do the work, as someone who knows the tool would write it.

    ``prepare`` comes once and is not timed: views, text of queries, nothing that looks at rows. ``run`` is everything
    that is timed, from the Parquet files to the means, which stay for ``values``, and to the group table in ``table``
    (absent where the way yields none). ``values`` holds those of the metrics that the way can compute.

    Scores of a group are taken to be distinct. Where they are not, a contender may put tied rows in whatever order
    they come, which is the least work; sparkrank takes the mean over all orders even so.
    """

    @property
    def name(self) -> str: ...

    @property
    def table(self) -> Path | None: ...

    def prepare(self) -> None: ...

    def run(self) -> None: ...

    def values(self) -> Mapping[str, Value]: ...


def split(metric: str) -> tuple[str, int]:
    """``ndcg@10`` as its name and cut-off; 0 without one."""
    name, _, k = metric.partition("@")
    return name, int(k or 0)
