"""A catalog of Iceberg whose server accepts connections and answers nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LIMIT = 1.0  # seconds


@contextmanager
def silent_catalog(name: str) -> Iterator[None]:
    """Make ``name`` such a catalog for pyiceberg, which is given up after :data:`LIMIT` seconds."""
    from pyiceberg.utils.config import Config

    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__TYPE", "rest")
        patch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__URI", f"http://127.0.0.1:{server.getsockname()[1]}")
        patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
        patch.setattr("sparkrank.sources.iceberg_metadata.TIMEOUT", LIMIT)
        yield
