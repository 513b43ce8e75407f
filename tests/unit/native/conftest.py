"""The loops run in these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """By this fixture the tests of the loops are known."""
