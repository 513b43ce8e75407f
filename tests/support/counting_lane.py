"""A lane from outside the package: the local lane, which counts its calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sparkrank.engines.local_lane import LocalLane

if TYPE_CHECKING:
    from sparkrank.engines.group_files import GroupFiles
    from sparkrank.engines.request import Request
    from sparkrank.engines.result import Solved
    from sparkrank.metrics import Plan


@dataclass(frozen=True)
class CountingLane(LocalLane):
    """The rows of the local lane."""

    name: ClassVar[str] = "counting"
    calls: ClassVar[Counter[str]] = Counter()

    @classmethod
    def why_not(cls, request: Request) -> str | None:
        cls.calls["why_not"] += 1
        return "a truth is not counted" if request.truth is not None else super().why_not(request)

    def check(self, plan: Plan) -> None:
        self.calls["check"] += 1
        super().check(plan)

    def rows(self) -> int:
        self.calls["rows"] += 1
        return super().rows()

    def evaluate(self, plan: Plan, buckets: int, files: GroupFiles | None = None) -> Solved:
        self.calls["evaluate"] += 1
        return super().evaluate(plan, buckets, files)

    def session_settings(self, request: Request, *, own_zone: bool) -> dict[str, str]:
        self.calls["session_settings"] += 1
        return super().session_settings(request, own_zone=own_zone)


class RowlessLane(CountingLane):
    """One that holds no rows itself, and reads by SQL."""

    name: ClassVar[str] = "rowless"
    takes_row_memory: ClassVar[bool] = False
    takes_time_zone: ClassVar[bool] = True
