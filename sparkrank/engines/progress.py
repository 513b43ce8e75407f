"""Counts a lane's progress through its rows."""

from __future__ import annotations

import threading
from contextvars import ContextVar


class Progress:
    """The numbers of rows read and solved so far, if the lane counts them. ``rows`` is the total, or 0 if unknown."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows
        self.read = self.solved = 0
        self._lock = threading.Lock()

    def add(self, read: int = 0, solved: int = 0) -> None:
        """Add to the numbers of rows. Several threads may call this at once."""
        with self._lock:
            self.read += read
            self.solved += solved


# The progress of the stage that runs in this context, if somebody watches it.
watched: ContextVar[Progress | None] = ContextVar("watched", default=None)
