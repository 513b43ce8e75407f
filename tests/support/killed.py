"""A run that dies at a chosen step: each call that changes a file system, or a store, is a step."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

CHANGES = (
    *((Path, name) for name in ("mkdir", "symlink_to", "replace", "rename", "unlink", "chmod", "touch", "write_text")),
    *((os, "open"), (os, "chown"), (pq, "write_table"), (shutil, "rmtree")),
)


class Killed(BaseException):
    """Nothing in the code may catch this, as nothing catches SIGKILL."""


Counted = Callable[[Callable[..., Any]], Callable[..., Any]]


def counting(steps: int, how: type[BaseException] = Killed) -> Counted:
    """What makes functions count their calls together: ``steps`` go through, the next raises ``how`` in its place.

    Calls after that go through again, as where a run that is told to stop tidies up; but not after :class:`Killed`.
    """
    raised = itertools.chain(itertools.repeat(None, steps), itertools.repeat(how) if how is Killed else [how])

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if (stop := next(raised, None)) is not None:
                raise stop
            return original(*arguments, **options)

        return call

    return counted


def stop_after(patch: pytest.MonkeyPatch, steps: int, how: type[BaseException]) -> Counted:
    """Let ``steps`` changes of folders and files through and raise ``how`` at the next; returns what counts more."""
    counted = counting(steps, how)
    for owner, name in CHANGES:
        patch.setattr(owner, name, counted(getattr(owner, name)))
    return counted
