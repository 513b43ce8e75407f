"""A lane from outside the package: the local lane, which counts its calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sparkrank.engines.local_lane import LocalLane

if TYPE_CHECKING:
    from sparkrank.engines.request import Request


def counted(name: str) -> Any:
    """A method that counts its call and calls that of the local lane."""

    def call(self: CountingLane, *arguments: Any, **more: Any) -> Any:
        self.calls[name] += 1
        return getattr(LocalLane, name)(self, *arguments, **more)

    return call


@dataclass(frozen=True)
class CountingLane(LocalLane):
    """The rows of the local lane."""

    name: ClassVar[str] = "counting"
    calls: ClassVar[Counter[str]] = Counter()
    check, rows, evaluate, session_settings = map(counted, ("check", "rows", "evaluate", "session_settings"))

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        cls.calls["why_not"] += 1
        return "a truth is not counted" if request.truth is not None else super().why_not(request)


class RowlessLane(CountingLane):
    """One that holds no rows itself, and reads by SQL."""

    name: ClassVar[str] = "rowless"
    takes_row_memory: ClassVar[bool] = False
    takes_time_zone: ClassVar[bool] = True
