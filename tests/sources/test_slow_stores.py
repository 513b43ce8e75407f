"""A store that does not answer, or whose token has expired: exit code 1, for the same command may do it later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, StoreError, unreadable
from sparkrank.sources import files

EXPIRED = b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>The token has expired.</Message></Error>"


@contextmanager
def store(answer: Callable[[int, BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """A path on a store of S3 that calls ``answer`` with the number of each request, from 1."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer(len(asked), self)

        do_HEAD = do_GET  # noqa: N815 - the name by which it is looked for

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        server.block_on_close = False
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"s3://key:secret@bucket/log?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
        server.shutdown()


def say(request: BaseHTTPRequestHandler, code: int, body: bytes = b"") -> None:
    request.send_response(code)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body if request.command == "GET" else b"")


def evaluate(path: str) -> sr.Evaluation:
    return sr.evaluate(path, ["rr"], group="u", score="s", label="y")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of a second, for a test."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(files, "S3_REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(files, "S3_CONNECT_SECONDS", 1.0)


@pytest.mark.parametrize("unanswered", [100, pytest.param(2, marks=pytest.mark.long)])
def test_a_request_that_stalls_is_sent_again(monkeypatch: pytest.MonkeyPatch, unanswered: int) -> None:
    """As often as is allowed; where only the first two get no answer, the others say that nothing is there."""
    monkeypatch.setattr(files, "S3_ATTEMPTS", 2 if unanswered > 2 else files.S3_ATTEMPTS)
    wait, begun = Event(), time.monotonic()

    def answer(number: int, request: BaseHTTPRequestHandler) -> None:
        if number <= unanswered:
            wait.wait(60)
        else:
            say(request, 404)

    with store(answer) as path:
        with pytest.raises(sr.SparkrankError) as told:
            evaluate(path)
        wait.set()
    assert 2 <= time.monotonic() - begun < 30
    if unanswered > 2:
        assert (type(told.value), told.value.exit_code) == (StoreError, 1)
    else:
        assert "there is no parquet input" in str(told.value)


@pytest.mark.parametrize("where", ["GET", "HEAD"])
def test_an_expired_token(where: str) -> None:
    """A store tells why where its answer has a body; a question for one object has none."""
    refused = store(lambda _, request: say(request, 400 if request.command == where else 404, EXPIRED))
    with refused as path, pytest.raises(StoreError) as told:
        evaluate(path)
    assert told.value.exit_code == 1


KINDS: dict[str, type[sr.SparkrankError]] = {
    "UNKNOWN (HTTP status 400) during ListObjectsV2: Unable to parse ExceptionName: ExpiredToken": StoreError,
    "REQUEST_EXPIRED during GetObject operation": StoreError,
    "NETWORK_CONNECTION during GetObject operation: curlCode: 28, Timeout was reached": StoreError,
    "ACCESS_DENIED during ListObjectsV2 operation: Access Denied": InputError,
}


def test_what_arrow_says() -> None:
    for said, kind in KINDS.items():
        assert type(unreadable("it cannot be read", OSError(f"AWS Error {said}"))) is kind
    lacking = unreadable("it cannot be read", MemoryError("malloc of size 8 failed"))  # no fault of the file
    assert (type(lacking), lacking.exit_code) == (sr.SparkrankError, 1)
