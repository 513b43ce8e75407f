"""The result of a pass over a day's rows, the same for every lane."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.metrics.merged import MeasuredTerms, Merged
from sparkrank.states import Partials, ScoreHistogram, ScoreSeries
from sparkrank.states.keys import StateKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _release_nothing() -> None:
    """Do nothing: there is nothing to release."""


class _Lease:
    """A token held by whatever may still read Spark's cached rows; once it is collected, nothing does."""


def _release_unheld(process: int, release: Callable[[], object]) -> None:
    """Call ``release`` on a thread of its own: the collector may run amid a call of the JVM that awaits its answer."""

    def quietly() -> None:
        with contextlib.suppress(Exception):  # the session has ended, and its rows with it
            release()

    if os.getpid() == process:  # a fork has no part in the session of its parent
        with contextlib.suppress(RuntimeError):  # no thread starts while Python ends, and Spark ends with it
            threading.Thread(target=quietly, name="sparkrank-release", daemon=True).start()


def _release_once(unheld: weakref.finalize[..., _Lease], release: Callable[[], object]) -> None:
    if unheld.detach() is not None:
        release()


@dataclass(frozen=True)
class Refusal:
    """Something that a session of Spark does not permit: why (``because``), and what an evaluation does ``instead``.

    It ``is_usual`` where all sessions of the kind do so: then it is no reason to warn anybody.
    """

    what: str
    because: str
    instead: str
    is_usual: bool = False

    def __str__(self) -> str:
        return f"the session refuses {self.what} ({self.because}): {self.instead}"


@dataclass(frozen=True)
class ExactBins:
    """Exact bins that are too many for one process: the metrics that read them, and rows of the table ``blocks``.

    ``sizes`` is the number of bins of each series; ``sketches`` are coarser histograms, where curves are requested.
    """

    measured: Mapping[StateKey, MeasuredTerms]
    table: DataFrame
    sizes: Mapping[ScoreSeries, int]
    sketches: Mapping[ScoreSeries, ScoreHistogram]


@dataclass(frozen=True)
class Solved:
    """The states of the day, and its group table unless none is requested or it was written to files.

    ``exact`` are the exact bins that the states lack. ``release`` frees the memory and the disk behind Spark's tables.
    """

    partials: Partials
    groups: DataFrame | pa.Table | None
    exact: ExactBins | None = None
    release: Callable[[], object] = _release_nothing
    lease: object = field(default=None, repr=False)
    refusals: tuple[Refusal, ...] = ()

    def leased(self) -> Solved:
        """A result that is released once neither it nor one of its tables of Spark is referenced any more."""
        if self.release is _release_nothing:
            return self
        lease = _Lease()
        unheld = weakref.finalize(lease, _release_unheld, os.getpid(), self.release)
        unheld.atexit = False  # Spark ends first
        for table in (self.groups, None if self.exact is None else self.exact.table):
            if table is not None and not isinstance(table, pa.Table):
                table.__dict__["_sparkrank_lease"] = lease
        return replace(self, release=partial(_release_once, unheld, self.release), lease=lease)

    def releasing(self, more: Callable[[], object]) -> Solved:
        """A result that also calls ``more`` first when it is released."""

        before = self.release  # alone: who holds this result by what releases it would hold it for ever

        def release() -> None:
            more()
            before()

        return replace(self, release=release)

    def noting(self, *refusals: Refusal | None) -> Solved:
        """A result with ``refusals``, but those that are None, before its own."""
        return replace(self, refusals=(*filter(None, refusals), *self.refusals))

    @cached_property
    def merged(self) -> Merged:
        """The states, with the metrics that they lack the bins of, as the tables read them."""
        return Merged(self.partials, self.measured)

    @property
    def measured(self) -> Mapping[StateKey, MeasuredTerms]:
        """The metrics whose bins the states lack."""
        return {} if self.exact is None else self.exact.measured
