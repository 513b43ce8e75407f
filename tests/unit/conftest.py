"""No unit test waits for a disk."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _quick_disk() -> Iterator[None]:
    """What is written is asked for, but not waited for, which would be a fifth of the time of these tests.

    No reader sees a difference while the machine runs. When a run calls for its files is told by the tests that count
    its calls, and the jobs of tests/jobs wait, as those of tests/faults, which cut the power.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: os.fstat(handle) and None)  # it fails for what is not open, too
        yield
