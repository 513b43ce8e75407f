"""How far a lane is with its rows, for whoever watches."""

from __future__ import annotations

import threading
from contextvars import ContextVar


class Progress:
    """Rows that are read and solved, of ``rows`` in all, as far as a lane counts them itself; 0 where none is known."""

    def __init__(self, rows: int = 0) -> None:
        self.rows = rows
        self.read = self.solved = 0
        self._lock = threading.Lock()

    def add(self, read: int = 0, solved: int = 0) -> None:
        """Count rows, which threads do at once."""
        with self._lock:
            self.read += read
            self.solved += solved


# That of the stage which runs in this context and somebody watches.
watched: ContextVar[Progress | None] = ContextVar("watched", default=None)
