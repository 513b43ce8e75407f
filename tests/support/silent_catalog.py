"""Catalogs of Iceberg whose servers accept connections and answer nothing, or all but the plan of a scan."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

LIMIT = 1.0  # seconds
_LOAD, _PLAN = (f"/v1/{{prefix}}/namespaces/{{namespace}}/tables/{{table}}{end}" for end in ("", "/plan"))


@contextmanager
def silent_catalog(name: str) -> Iterator[None]:
    """Make ``name`` such a catalog for pyiceberg, which is given up after :data:`LIMIT` seconds."""
    with socket.create_server(("127.0.0.1", 0)) as server, _rest(name, server.getsockname()[1]):
        yield


@contextmanager
def planning_catalog(name: str, table: Any) -> Iterator[list[dict[str, Any]]]:
    """Make ``name`` a catalog that has ``table`` alone, and plans the scans of it by itself.

    The block gets the plans that the server answers with, one for each request. Without one it stays silent.
    """
    plans: list[dict[str, Any]] = []
    ended = threading.Event()

    class Catalog(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            planning = {"scan-planning-mode": "server"}
            config = {"defaults": planning, "overrides": {}, "endpoints": [f"GET {_LOAD}", f"POST {_PLAN}"]}
            metadata = json.loads(table.metadata.model_dump_json())
            found = {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}
            self.answer(config if "/config" in self.path else found)

        def do_POST(self) -> None:
            if plans:
                self.answer(plans.pop())
            else:
                ended.wait(60)

        def answer(self, document: dict[str, Any]) -> None:
            content = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Catalog) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with _rest(name, server.server_address[1]):
            yield plans
        ended.set()
        server.shutdown()


@contextmanager
def _rest(name: str, port: int) -> Iterator[None]:
    from pyiceberg.utils.config import Config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__TYPE", "rest")
        patch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__URI", f"http://127.0.0.1:{port}")
        patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read when the module was imported
        patch.setattr("sparkrank.sources.iceberg_metadata.TIMEOUT", LIMIT)
        yield
