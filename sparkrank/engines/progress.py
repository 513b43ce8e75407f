"""Progress of a lane through its rows."""

from __future__ import annotations

import threading
from contextvars import ContextVar


class Progress:
    """Rows read and solved, of ``rows`` in all, as far as a lane counts them itself; ``rows`` is 0 where unknown."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows
        self.read = self.solved = 0
        self._lock = threading.Lock()

    def add(self, read: int = 0, solved: int = 0) -> None:
        """Count rows. Several threads may call this at once."""
        with self._lock:
            self.read += read
            self.solved += solved


# The progress of the stage that runs in this context, if somebody watches it.
watched: ContextVar[Progress | None] = ContextVar("watched", default=None)
