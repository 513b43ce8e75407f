"""The TCP connection of a Spark worker, where Spark uses no Unix sockets. It sends the worker's last bytes at once."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

# The folder in which Linux and macOS list the open files of a process. Windows has none.
_OPEN_FILES = Path("/dev/fd")


def send_at_once() -> None:
    """Turn off Nagle's algorithm for the TCP connections of this process. A worker has one connection, to its executor.

    A worker ends a task with a second, small write. Nagle's algorithm would delay this write until the executor
    acknowledges the first write. The executor has nothing to send, so it delays the acknowledgement by 40 ms.
    """
    with suppress(OSError):  # the files cannot be listed, or one of them was closed meanwhile
        for file in _OPEN_FILES.iterdir():
            if _is_socket(number := int(file.name)):
                # options belong to the connection, not to its descriptor
                with socket.socket(fileno=os.dup(number)) as connection:
                    if connection.family in (socket.AF_INET, socket.AF_INET6):
                        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _is_socket(number: int) -> bool:
    with suppress(OSError):  # the descriptor of the listing itself is closed
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    return False
