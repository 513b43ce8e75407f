"""The result of one pass over the rows of a day, which has the same form in every lane."""

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
    """Do nothing. Results that hold no resources have this function as ``release``."""


class _Lease:
    """A token to which all readers of Spark's cached rows refer. Once it is garbage-collected, no reader is left."""


def _release_unheld(process: int, release: Callable[[], object]) -> None:
    """Call ``release`` on a new thread, because garbage collection may run in the middle of a call to the JVM."""

    def quietly() -> None:
        with contextlib.suppress(Exception):  # the session has ended, and its rows with it
            release()

    if os.getpid() == process:  # a forked process does not own the session of its parent
        with contextlib.suppress(RuntimeError):  # no thread can start while Python ends, and Spark ends with it
            threading.Thread(target=quietly, name="sparkrank-release", daemon=True).start()


def _release_once(unheld: weakref.finalize[..., _Lease], release: Callable[[], object]) -> None:
    if unheld.detach() is not None:
        release()


@dataclass(frozen=True)
class Refusal:
    """A feature (``what``) that a Spark session refuses, the reason (``because``), and what sparkrank does ``instead``.

    If ``is_usual`` is true, the refusal causes no warning.
    """

    what: str
    because: str
    instead: str
    is_usual: bool = False

    def __str__(self) -> str:
        return f"the session refuses {self.what} ({self.because}): {self.instead}"


@dataclass(frozen=True)
class ExactBins:
    """Exact score bins (one per score) that are too many for one process, as a Spark ``table``, and their metrics.

    ``exact_terms`` contains the terms (sums that make up a value) of these metrics. A series is the scores of a model
    in a slice value: ``sizes`` maps it to its number of bins, and ``sketches`` to its histogram with coarser bins.
    """

    exact_terms: Mapping[StateKey, MeasuredTerms]
    table: DataFrame
    sizes: Mapping[ScoreSeries, int]
    sketches: Mapping[ScoreSeries, ScoreHistogram]


@dataclass(frozen=True)
class PassResult:
    """The result of a pass: the states of a day (``partials``), and its group table (``groups``).

    ``groups`` is None if the table was not requested or was written to files. ``exact`` contains bins that the states
    lack. ``before_pooling`` contains the states of all values of slices, if some values are pooled in the tables.
    Calling ``release`` frees the memory and disk space behind Spark's tables. ``refusals`` lists the features that the
    session refused.
    """

    partials: Partials
    groups: DataFrame | pa.Table | None
    exact: ExactBins | None = None
    release: Callable[[], object] = _release_nothing
    lease: object = field(default=None, repr=False)
    refusals: tuple[Refusal, ...] = ()
    before_pooling: Partials | None = None

    @property
    def stored(self) -> PassResult:
        """The result with the states of all values of slices, for storage."""
        return self if self.before_pooling is None else replace(self, partials=self.before_pooling, before_pooling=None)

    @property
    def holds_rows(self) -> bool:
        """Whether Spark keeps rows for this result until ``release`` is called."""
        return self.release is not _release_nothing

    def leased(self) -> PassResult:
        """Return a copy that Python releases once nothing refers to the result or to its Spark tables."""
        if not self.holds_rows:
            return self
        lease = _Lease()
        unheld = weakref.finalize(lease, _release_unheld, os.getpid(), self.release)
        unheld.atexit = False  # at exit Spark has already ended
        for table in (self.groups, None if self.exact is None else self.exact.table):
            if table is not None and not isinstance(table, pa.Table):
                table.__dict__["_sparkrank_lease"] = lease
        return replace(self, release=partial(_release_once, unheld, self.release), lease=lease)

    def releasing(self, more: Callable[[], object]) -> PassResult:
        """Return a copy of this result whose ``release`` calls ``more`` first."""

        before = self.release  # a function that refers to ``self`` would keep this result alive for ever

        def release() -> None:
            more()
            before()

        return replace(self, release=release)

    def noting(self, *refusals: Refusal | None) -> PassResult:
        """Return a copy of this result with ``refusals`` (except None) before the existing refusals."""
        return replace(self, refusals=(*filter(None, refusals), *self.refusals))

    @cached_property
    def merged(self) -> Merged:
        """The states in the form for result tables, with the terms of the exact bins that the states lack."""
        return Merged(self.partials, self.exact_terms)

    @property
    def exact_terms(self) -> Mapping[StateKey, MeasuredTerms]:
        """The terms of the metrics whose exact bins (of equal scores) the states lack; empty if there are none."""
        return {} if self.exact is None else self.exact.exact_terms
