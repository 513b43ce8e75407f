"""A store that fails is no fault of the input: the same command may do it later."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, StoreError, unreadable
from sparkrank.tables.stored.day_files import day_files

STORE = "s3://somebody:secret@bucket"
ROLES = {"group": "user", "score": "score", "label": "label"}


class Answer(BaseHTTPRequestHandler):
    """The one answer of a store of ``s3://``."""

    status = 503

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 - the name by which it is looked for

    def log_message(self, *_: object) -> None:
        pass


# Arrow asks again for seconds where the answer is 503, whose error is in REASONS.
@pytest.mark.parametrize("status", [pytest.param(503, marks=pytest.mark.long), 403])
def test_who_asks_a_store_that_fails_may_ask_again(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told of no password."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setattr(Answer, "status", status)
    error = StoreError if status >= 500 else InputError
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()  # seconds until it ends
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(error, match=r"^(the input|there is no parquet input at) s3://bucket/log") as told:
            sr.evaluate(f"{STORE}/log", ["rr"], **ROLES)
        assert (type(told.value), told.value.exit_code) == ((StoreError, 1) if status >= 500 else (InputError, 4))
        assert "secret" not in str(told.value)
        if status == 403:
            sentence = r"^the tables under s3://bucket/tables cannot be opened: .*ACCESS_DENIED"
            with pytest.raises(InputError, match=sentence):
                day_files(f"{STORE}/tables", "2026-11-19", ["states"], None)
        server.shutdown()


REASONS = {
    "AWS Error SLOW_DOWN during ListObjectsV2 operation: Please reduce your request rate.": StoreError,
    "AWS Error INTERNAL_FAILURE during GetObject operation: We encountered an internal error.": StoreError,
    "AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No response body.": StoreError,
    "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect": StoreError,
    "AWS Error UNKNOWN (HTTP status 400) during HeadObject operation: No response body.": StoreError,
    "AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: The bucket does not exist": InputError,
    "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of 503": StoreError,
    "google::cloud::Status(RESOURCE_EXHAUSTED: Retry policy exhausted, with a last message of 429": StoreError,
    "google::cloud::Status(PERMISSION_DENIED: Permanent error, with a last message of 403": InputError,
    "google::cloud::Status(NOT_FOUND: Permanent error, with a last message of 404": InputError,
    "Couldn't deserialize thrift: don't know what type: ": InputError,
}


def test_what_is_the_fault_of_the_store() -> None:
    """As Arrow 26 tells it."""
    errors = {reason: unreadable("log", OSError(reason), advice=" (evaluate it again)") for reason in REASONS}
    assert {reason: type(error) for reason, error in errors.items()} == REASONS
    assert all(("again)" in str(error)) == (type(error) is InputError) for error in errors.values())


def test_a_file_that_is_broken_is_a_fault_of_the_input(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        sr.evaluate(tmp_path / "log.parquet", ["rr"], **ROLES)
