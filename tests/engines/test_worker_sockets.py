"""The connection of a worker to its executor holds nothing back."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from sparkrank.engines.spark.worker_sockets import send_at_once


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="the system does not list the files of a process")
def test_connections_of_the_process_send_small_pieces_at_once() -> None:
    """Sockets of other kinds and other files stay as they are, and nothing is left open."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        unix = socket.socketpair()
        before = sorted(Path("/dev/fd").iterdir())
        assert not ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        send_at_once()
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sorted(Path("/dev/fd").iterdir()) == before
        unix[0].sendall(b"alive")
        assert unix[1].recv(5) == b"alive"
        theirs.sendall(b"alive")
        assert ours.recv(5) == b"alive"
        for connection in (theirs, *unix):
            connection.close()
