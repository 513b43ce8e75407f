"""What every kind of notifier has. A new kind needs a class in a module of its own, and a line in the register."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

TIMEOUT = 10.0  # seconds for one event


class Notifier(ABC):
    """A program that gets the events of days, which are documents as OpenLineage's JSON has them."""

    word: ClassVar[str]  # the value under ``notify`` in a spec

    @property
    @abstractmethod
    def namespace(self) -> str:
        """The namespace of jobs, by the configuration of the program."""

    @abstractmethod
    def require_library(self) -> None:
        """Raise :class:`sparkrank.base.errors.SpecError` if the library of the program is not installed."""

    @abstractmethod
    def send(self, event: dict[str, Any]) -> None:
        """Send ``event``, which arrives before this returns."""
