"""What is asked of every contender, and what it has to offer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

GROUP, ITEM = "user_id", "item_id"
PATHS = ("log", "output", "truth", "catalog", "past")


@dataclass(frozen=True)
class Work:
    """One evaluation: the means of ``metrics`` over a log, and the table of all groups as Parquet under ``output``.

    ``label`` is the log's label column, ``graded`` whether it holds more than 0 and 1; ``scores`` are the score
    columns, one of each model. Only ``cores`` threads may be used.

    Where there is a ``truth``, the log has lists of items without labels, and the truth the items that are relevant.
    A ``catalog`` has columns of items, and ``past`` the pairs of a group and an item that are left out as they were
    before, where this is to be done (``excludes``).
    ``slices`` are sets of columns by whose values the means are asked for as well; then no group table is written.

    ``keys`` identify a group. Rows count by the column ``weight`` in metrics of all rows. Where ties are ``by_item``,
    tied rows stand by item, descending. With ``arrays`` the log has a row for each list, with its true items.
    ``days`` are the folders of the log: as a ``job`` says, each is evaluated (``backfill``), or all are merged from
    what was stored of each (``week``); a ``job`` of one ``day`` writes every table of it. ``format`` is that of the
    log.

    ``asked`` are further arguments of :func:`sparkrank.evaluate`, or sections of a spec where there is a ``job``.
    ``plain`` are the ``metrics`` and what is ``asked`` in their place of the contenders that do the same work without
    what the shape is about. Their values are other ones where rows are left out, and are not compared.
    """

    log: Path
    metrics: tuple[str, ...]
    label: str
    graded: bool
    scores: tuple[str, ...]
    cores: int
    output: Path
    truth: Path | None = None
    catalog: Path | None = None
    past: Path | None = None
    excludes: bool = False
    slices: tuple[tuple[str, ...], ...] = ()
    keys: tuple[str, ...] = (GROUP,)
    weight: str | None = None
    by_item: bool = False
    arrays: bool = False
    days: tuple[str, ...] = ()
    job: str | None = None
    format: str = "parquet"
    group_table: bool = True
    asked: Mapping[str, Any] = field(default_factory=dict)
    plain: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, text: str) -> Work:
        """The work that :meth:`to_json` made ``text`` of."""
        work = json.loads(text)
        work.update({name: Path(work[name]) for name in PATHS if work[name] is not None})
        work.update({name: tuple(work[name]) for name in ("metrics", "scores", "keys", "days")})
        return cls(**{**work, "slices": tuple(map(tuple, work["slices"]))})

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    def without(self) -> Work:
        """The same work without what the shape is about."""
        plain = dict(self.plain or {})
        metrics = tuple(plain.get("metrics", self.metrics))
        return replace(self, plain=None, asked=plain.get("asked", {}), metrics=metrics, catalog=None, excludes=False)

    @property
    def needs_item(self) -> bool:
        """Whether the items of a log are asked about."""
        of_items = any(metric.startswith("novelty") for metric in self.metrics)
        return self.by_item or self.catalog is not None or self.excludes or of_items

    def table_of(self, name: str) -> Path | None:
        """Where the contender ``name`` writes its group table, if one is asked for."""
        return self.output / name if self.group_table and not self.slices else None

    @property
    def view(self) -> str:
        """A name for the log inside Spark that no other log of the session has."""
        return re.sub(r"\W", "_", self.log.name)


class Value(NamedTuple):
    """A metric's value, and how far from exact the contender's own rounding of scores may have taken it."""

    value: float
    bound: float = 0.0


# By score column, then by metric.
Values: TypeAlias = Mapping[str, Mapping[str, Value]]


class Contender(Protocol):
    """One way to do the work, as someone who knows the tool would write it.

    ``prepare`` is called once, untimed: views, text of queries, nothing that looks at rows. ``run`` is everything
    that is timed, from the Parquet files to the means, which stay for ``values``, and to the group table in ``table``
    (absent where the way yields none). ``values`` holds, for each model, those of the metrics that the way can compute.

    Scores of a group are taken to be distinct. Where they are not, a contender may put tied rows in whatever order
    they come, which is the least work; sparkrank takes the mean over all orders even so.
    """

    @property
    def name(self) -> str: ...

    @property
    def table(self) -> Path | None: ...

    def prepare(self) -> None: ...

    def run(self) -> None: ...

    def values(self) -> Values: ...


def subject(score: str, columns: Sequence[str], values: Sequence[str]) -> str:
    """By what :data:`Values` name the model ``score`` where the ``columns`` of a slice have these ``values``."""
    return f"{score}, {','.join(columns)} = {','.join(values)}"


def split(metric: str) -> tuple[str, int]:
    """``ndcg@10`` as its name and cut-off; 0 without one."""
    name, _, k = metric.partition("@")
    return name, int(k or 0)
