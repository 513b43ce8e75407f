"""The loops run in these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparkrank import native


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> Iterator[None]:
    """The loops run, also with --without-loops, which is for the tests of what they stand in for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "COMPILED", True)
        yield
