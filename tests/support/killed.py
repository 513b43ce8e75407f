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


def counting(steps: int, how: type[BaseException] = Killed) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What makes a function count its calls: with all others that it makes so, ``steps`` go through, and the next one
    raises ``how`` in place of the call. Calls after that go through again, as where a run that is told to stop tidies
    up; but not after :class:`Killed`.
    """
    raised = itertools.chain(itertools.repeat(None, steps), itertools.repeat(how) if how is Killed else [how])

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            stop = next(raised, None)
            if stop is not None:
                raise stop
            return original(*arguments, **options)

        return call

    return counted


def survives(steps: int, how: type[BaseException], write: Callable[[], object], *, counts_syncs: bool = True) -> bool:
    """Whether ``write`` is not stopped by ``how`` after ``steps`` changes of folders and files. Nothing is synced: that
    takes long, and changes nothing that a reader sees.
    """
    counted = counting(steps, how)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in CHANGES:
            patch.setattr(owner, name, counted(getattr(owner, name)))
        patch.setattr(os, "fsync", counted(lambda _: None) if counts_syncs else lambda _: None)
        try:
            write()
        except how:
            return False
    return True
