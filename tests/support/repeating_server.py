"""A server that refuses every request, and repeats it with all of its headers, as some gateways do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def repeating_server() -> Iterator[tuple[str, list[str]]]:
    """The address of such a server, and the requests that it gets."""
    requests: list[str] = []

    class Refusal(BaseHTTPRequestHandler):
        def refuse(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("latin-1")
            text = f"{self.requestline} {dict(self.headers)} {body if 'secret' in body else ''}"
            requests.append(text)
            error = {"type": "ForbiddenException", "code": 403, "message": text}
            answer = json.dumps({"error": error, "error_code": "PERMISSION_DENIED", "message": text}).encode()
            self.send_response(403)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else answer)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = refuse  # noqa: N815 - the names of the base class

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", requests
        server.shutdown()
