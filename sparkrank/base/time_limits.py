"""Time limits for programs that may never answer, such as catalogs and trackers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from sparkrank.base.errors import StoreError

_T = TypeVar("_T")
TIMEOUT = 60.0  # seconds


def within(word: str, timeout: float, call: Callable[[], _T]) -> _T:
    """Return the result of ``call``, which runs on a thread that is abandoned after ``timeout`` seconds.

    Raise :class:`StoreError` if the call takes longer. The message begins with ``word``, the name of the program that
    ``call`` asks. Errors of ``call`` pass unchanged. The limit is needed because the clients of such programs have no
    time limit, or only one for each of many attempts.
    """
    answers: SimpleQueue[tuple[_T, None] | tuple[None, Exception]] = SimpleQueue()

    def answer() -> None:
        try:
            answers.put((call(), None))
        except Exception as error:  # noqa: BLE001 - it is raised below
            answers.put((None, error))

    threading.Thread(target=answer, name=f"sparkrank-{word}", daemon=True).start()
    try:
        result, error = answers.get(timeout=timeout)
    except Empty:
        raise StoreError(f"{word} has not answered within {timeout:g} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value] # it has an error or a result
