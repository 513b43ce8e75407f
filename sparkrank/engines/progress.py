"""Counters of the rows that a lane has read and evaluated so far."""

from __future__ import annotations

import threading
from contextvars import ContextVar


class Progress:
    """Counters of the rows ``read`` and evaluated (``solved``) so far. ``rows`` is the number of all rows (0: unknown).

    The counters stay 0 in a lane that does not count rows.
    """

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows
        self.read = self.solved = 0
        self._lock = threading.Lock()

    def add(self, read: int = 0, solved: int = 0) -> None:
        """Add ``read`` and ``solved`` rows to the counters. Several threads may call this method at once."""
        with self._lock:
            self.read += read
            self.solved += solved


# The counters of the stage that runs in this context, or None if the caller has not asked for counters.
watched: ContextVar[Progress | None] = ContextVar("watched", default=None)
