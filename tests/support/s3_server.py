"""A server of the interface of S3 on loopback, and how a job and Arrow find it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from pyarrow import fs

_SERVER = """
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(*server.get_host_and_port(), sep=":", flush=True)
input()
"""


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that is gone afterwards; skips the test where there is none.

    It is a process of its own, as a library that holds Python's lock while it waits would wait for itself.
    """
    pytest.importorskip("moto", reason="the S3-compatible server needs moto[server]")
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", _SERVER], text=True, **pipes) as server:  # ends with its input
        assert server.stdout is not None
        yield server.stdout.readline().strip()


def s3_environment(endpoint: str) -> Mapping[str, str]:
    """What a job has in its environment, and what its workers inherit."""
    return {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{endpoint}",
    }


def s3_with(endpoint: str, bucket: str) -> fs.S3FileSystem:
    keys = {"access_key": "testing", "secret_key": "testing"}  # the server takes any
    address = {"endpoint_override": endpoint, "scheme": "http", "region": "us-east-1"}
    store = fs.S3FileSystem(**keys, **address, allow_bucket_creation=True)
    store.create_dir(bucket)
    return store
